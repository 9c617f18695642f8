"""Starts a server that builds first, waits for its port, and learns who has one that is taken."""
import http.client
import os
import socket
import tempfile

from shelld_client import Client, server_command

# What `npm run dev` and its like do: a while of work, then a server. It says nothing.
BUILD_AND_SERVE = "sleep 0.3; exec python3 -m http.server %d --bind 127.0.0.1 >/dev/null 2>&1"

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]

with tempfile.TemporaryDirectory() as directory, Client(server_command()) as shelld:
    print("Starting a server, and waiting until it listens on port", port)
    result = shelld.request("job/start", name="dev", cwd=directory, command=BUILD_AND_SERVE % port,
                            wait={"until": [{"port": port}]})
    outcome = result["outcome"]
    assert outcome["reason"] == "port", outcome  # portInUse: somebody else was faster
    assert outcome["match"]["address"] == "127.0.0.1", outcome
    server = outcome["match"]["pid"]

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()

    print("Starting it once more.")
    result = shelld.request("job/start", name="again", cwd=directory, command=BUILD_AND_SERVE % port,
                            wait={"until": [{"port": port}]})
    outcome = result["outcome"]
    assert outcome["reason"] == "portInUse", outcome
    assert outcome["match"]["pid"] == server, outcome
    print("The port is taken by:", outcome["match"]["command"])

    ports = shelld.request("job/get", handle="dev")["job"]["ports"]
    assert [p["port"] for p in ports] == [port], ports
    shelld.request("job/kill", handle="dev")

print("The server ended with status 0.")
