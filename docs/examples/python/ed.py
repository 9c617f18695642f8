"""Edits a file with ed, the standard editor, on a terminal of its own."""
import os
import tempfile

from shelld_client import Client, server_command

PROMPT = {"pattern": "^ED> ", "flags": "m"}  # flag m: ^ matches at the start of each line


def command(shelld, line):
    """Types a line, waits for ed's next prompt, and returns all that the terminal showed."""
    result = shelld.request("job/write", handle="editor", input=line, appendNewline=True,
                            wait={"until": [PROMPT]})
    outcome = result["outcome"]
    assert outcome["reason"] == "pattern", outcome
    return outcome["output"]["pty"]["text"]


with tempfile.TemporaryDirectory() as directory, Client(server_command()) as shelld:
    path = os.path.join(directory, "poem.txt")
    with open(path, "w") as f:
        f.write("Roses are red\n")

    print("Starting ed on a file with one line.")
    started = shelld.request("job/start", argv=["ed", "-p", "ED> ", path], name="editor",
                             wait={"until": [PROMPT]})
    assert started["outcome"]["reason"] == "pattern", started["outcome"]
    assert "14\n" in started["outcome"]["output"]["pty"]["text"], "ed did not tell the file's size"

    print("Appending two lines, and correcting one.")
    command(shelld, "a\nViolets are green\nSugar is sweet\n.")  # a lone dot ends the text
    shown = command(shelld, "2s/green/blue/p")
    assert "Violets are blue\n" in shown, shown

    print("Writing the file.")
    shown = command(shelld, "w")
    assert "46\n" in shown, shown

    print("Leaving ed.")
    result = shelld.request("job/write", handle="editor", input="q", appendNewline=True,
                            wait={"until": [{"exit": True}]})
    outcome = result["outcome"]
    assert outcome["reason"] == "exit", outcome
    assert outcome["job"]["exit"]["code"] == 0, outcome["job"]["exit"]

    with open(path) as f:
        text = f.read()
    assert text == "Roses are red\nViolets are blue\nSugar is sweet\n", text
    print("The file now reads:\n\n" + text)

print("The server ended with status 0.")
