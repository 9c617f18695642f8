"""Answers a shell script that asks a question."""
from shelld_client import Client, server_command

SCRIPT = 'read -p "Your name? " n; echo "Hello, $n"'

with Client(server_command()) as shelld:
    print("Starting a script that asks for a name.")
    # bash shows the question only where its input is a terminal; a job has one unless told otherwise.
    started = shelld.request("job/start", argv=["bash", "-c", SCRIPT],
                             wait={"until": [{"pattern": r"Your name\? "}]})
    outcome = started["outcome"]
    assert outcome["reason"] == "pattern", outcome
    print("It asks:", outcome["match"]["text"])

    print("Answering, and waiting for its end.")
    result = shelld.request("job/write", handle=started["job"]["handle"], input="Ada",
                            appendNewline=True, wait={"until": [{"exit": True}]})
    outcome = result["outcome"]
    assert outcome["reason"] == "exit", outcome
    assert outcome["job"]["exit"]["code"] == 0, outcome["job"]["exit"]

    # What the terminal showed since the answer was typed: the answer's echo, then the greeting.
    text = outcome["output"]["pty"]["text"]
    assert text == "Ada\nHello, Ada\n", text
    print("It says:", text.splitlines()[1])

print("The server ended with status 0.")
