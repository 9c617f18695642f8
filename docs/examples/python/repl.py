"""Talks to Python's own prompt: an expression, a function over several lines, an exception."""
from shelld_client import Client, server_command

# Which of the two prompts came is told by the outcome's index.
READY, MORE = 0, 1
PROMPTS = {"until": [{"pattern": "^>>> ", "flags": "m"}, {"pattern": r"^\.\.\. ", "flags": "m"}]}


def enter(shelld, line, prompt=READY):
    """Types a line, waits for the prompt that must follow, and returns what stands between them."""
    result = shelld.request("job/write", handle="repl", input=line, appendNewline=True, wait={**PROMPTS, "stripEcho": True})
    outcome = result["outcome"]
    assert (outcome["reason"], outcome["index"]) == ("pattern", prompt), outcome
    # A terminal shows what is typed. That is left out; the last line is the prompt.
    return outcome["output"]["pty"]["text"].rpartition("\n")[0]


with Client(server_command()) as shelld:
    print("Starting python3 on a terminal.")
    # -q: no banner. -I: nothing from the user's own set-up, nothing into the user's history.
    # A dumb terminal keeps newer versions from colours and from redrawing the line.
    started = shelld.request("job/start", argv=["python3", "-I", "-q"], env={"TERM": "dumb"},
                             name="repl", wait=PROMPTS)
    assert started["outcome"]["index"] == READY, started["outcome"]

    answer = enter(shelld, "6*7")
    print("6*7 is", answer)
    assert answer == "42", answer

    print("Defining a function, line by line.")
    enter(shelld, "def square(n):", MORE)
    enter(shelld, "    return n * n", MORE)
    enter(shelld, "")  # an empty line ends it
    answer = enter(shelld, "square(12)")
    print("square(12) is", answer)
    assert answer == "144", answer

    answer = enter(shelld, "1/0")
    print("1/0 is\n" + answer)
    assert answer.endswith("ZeroDivisionError: division by zero"), answer

    print("Ending it with the terminal's end-of-file character, as Ctrl-D does.")
    result = shelld.request("job/write", handle="repl", eof=True, wait={"until": [{"exit": True}]})
    outcome = result["outcome"]
    assert outcome["reason"] == "exit", outcome
    assert outcome["job"]["exit"]["code"] == 0, outcome["job"]["exit"]

print("The server ended with status 0.")
