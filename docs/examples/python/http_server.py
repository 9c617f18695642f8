"""Starts a web server, learns its port from its log, uses it, and ends it."""
import http.client
import os
import tempfile

from shelld_client import Client, server_command

LISTENING = r"Serving HTTP on \S+ port (?<port>\d+) "

with tempfile.TemporaryDirectory() as directory, Client(server_command()) as shelld:
    with open(os.path.join(directory, "hello.txt"), "w") as f:
        f.write("Hello from a job\n")

    print("Starting a web server on a free port, and watching its log for the number.")
    # A program that is only watched needs no terminal: in pipe mode stdout and stderr stay apart.
    shelld.request("job/start", name="web", mode="pipe", cwd=directory,
                   argv=["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
                   watch=[{"pattern": LISTENING, "once": True}])
    matched = shelld.next_notification("job/patternMatched")
    port = int(matched["named"]["port"])
    print("It listens on port", port)

    print("Asking it for a page.")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/hello.txt")
    response = connection.getresponse()
    body = response.read().decode()
    assert (response.status, body) == (200, "Hello from a job\n"), (response.status, body)
    connection.close()

    print("Waiting for the line in its access log.")
    # A wait looks at what no earlier wait has returned, so a line that is there already counts too.
    result = shelld.request("job/wait", handle="web", until=[
        {"pattern": r'"GET /hello\.txt HTTP/1\.[01]" (\d+)', "stream": "stderr"}])
    outcome = result["outcome"]
    assert outcome["reason"] == "pattern", outcome
    assert outcome["match"]["groups"] == ["200"], outcome["match"]

    print("Ending it.")
    report = shelld.request("job/kill", handle="web")
    # SIGTERM was enough. (The SIGCONT beside it is for jobs that are stopped.)
    assert [s["signal"] for s in report["signals"]] == ["SIGTERM", "SIGCONT"], report
    assert [p["how"] for p in report["killed"]] == ["SIGTERM"], report
    assert report["survivors"] == [], report
    assert report["job"]["status"] == "closed", report
    assert report["job"]["exit"]["reason"] == "killed", report
    shelld.next_notification("job/closed")  # always a job's last

    try:
        http.client.HTTPConnection("127.0.0.1", port, timeout=30).connect()
        raise AssertionError("something still listens on port %d" % port)
    except ConnectionRefusedError:
        print("Nothing listens on port", port, "any more.")

print("The server ended with status 0.")
