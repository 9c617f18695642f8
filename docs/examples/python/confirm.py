"""Has a person allow what an agent does: once, always, or not at all. A rule answers what only looks.

On a terminal you are that person; else a stand-in is, so that this runs anywhere.
"""
import os
import queue
import sys
import tempfile
import threading

from shelld_client import Client, ShelldError, server_command

ONLY_LOOK = {"ls", "wc", "echo", "true"}
ONE_AT_A_TIME = threading.Lock()  # questions may come while others wait
PERSON = "person"
RULE = "rule"

answered = []  # (who, question, outcome)
asked = queue.Queue()  # the questions that a person was shown
taken_back = []  # those that the server has withdrawn
given_up = threading.Event()  # there is one


def rule(question):
    """Returns an outcome where nobody need be asked; None: it takes a person.

    Roots say which programs run, and not what with. What a line writes into (echo x >file) is no
    root, so a rule has to look for that itself; nor are the files that a start names. "once" each time, not "always": that would be for
    the roots alone, whatever else is in the line.
    """
    if question["action"] != "start" or question["unknown"] or not set(question["roots"]) <= ONLY_LOOK:
        return None
    files = "stdinFile" in question or "stdoutFile" in question or "stderrFile" in question
    return None if files or ">" in question["command"] else "once"


def shown(text):
    """Text as it can be shown: what a terminal would obey might hide what is really run."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def ask_person(question):
    print("  The agent wants to %s: %s" % (question["action"], shown(question["command"])))
    print("    in %s; it runs: %s%s" % (shown(question["cwd"]), shown(", ".join(question["roots"])) or "?",
                                        ", and what cannot be known" if question["unknown"] else ""))
    for name, value in question.get("variables", {}).items():  # with BASH_ENV or PATH, ls may be anything
        print("    with %s" % shown("%s unset" % name if value is None else "%s=%s" % (name, value)))
    for stream in ("stdin", "stdout", "stderr"):
        if stream + "File" in question:
            print("    %s is the file %s" % (stream, shown(question[stream + "File"])))
    asked.put(question)
    if not sys.stdin.isatty():
        return stand_in(question)
    always = "[a]lways for these programs, " if question["alwaysKept"] else ""
    answer = input("    Allow it? [o]nce, %s[n]o: " % always).strip().lower()
    return {"o": "once", "a": "always"}.get(answer, "deny")  # nobody allows anything by mistake


def is_over(question):
    return any(question is other for other in taken_back)


def withdraw(question):
    """Tells the person that a question is over, as when its request was cancelled.

    A window would close here. What a terminal still reads is answered to nobody: the client drops it.
    """
    taken_back.append(question)
    print("    Nobody has to say any more whether to %s: %s" % (question["action"], shown(question["command"])))
    given_up.set()


def stand_in(question):
    if question["command"] == "sleep 2000":
        given_up.wait(60)  # a person who thinks about it for too long
        return "deny"
    if question["unknown"] or "rm" in question["roots"]:
        return "deny"
    return "always" if "touch" in question["roots"] else "once"


def confirm(question):
    """Answers client/confirm, in the client's own window: the agent takes no part in it."""
    who, outcome = RULE, rule(question)
    if outcome is None:
        with ONE_AT_A_TIME:
            if is_over(question):  # while another one was on the screen
                return {"outcome": "deny"}
            who, outcome = PERSON, ask_person(question)
    if is_over(question):
        return {"outcome": outcome}  # which the client does not send
    answered.append((who, question, outcome))
    print("    %s by the %s" % (outcome, who))
    return {"outcome": outcome}


def run(line):
    """Runs a line as an agent does that takes no for an answer. Returns whether it was allowed."""
    print("$", line)
    before = len(answered)
    try:
        result = shelld.request("job/run", command=line, cwd=directory)
    except ShelldError as refused:
        assert refused.kind == "confirmationDenied" and answered[-1][2] == "deny", refused
        return False
    assert all(outcome != "deny" for _, _, outcome in answered[before:]), answered
    print(result["stdout"], end="")
    return True


# No bound on answers: whoever is asked may take as long as he likes, and the server waits with him.
with tempfile.TemporaryDirectory() as directory, \
        Client(server_command(), answers={"client/confirm": confirm}, withdrawn=withdraw, capabilities={"confirm": True},
               rootDirectory=directory, allowedDirectories=[directory],
               options={"confirm": {"start": "ask", "kill": "ask"}}, watchdog=None) as shelld:
    notes = os.path.join(directory, "notes")

    assert run("ls | wc -l") and answered[-1][0] == RULE, answered

    allowed = run("touch notes && ls")
    assert answered[-1][0] == PERSON and answered[-1][1]["roots"] == ["touch", "ls"], answered
    assert os.path.exists(notes) == allowed

    before, always = len(answered), answered[-1][2] == "always"
    run("ls && touch notes")
    assert len(answered) == before + (0 if always else 1), "always is for these roots, and nobody is asked again"

    there = os.path.exists(notes)
    for line in ("rm notes", "$(echo rm) notes", "echo precious >notes"):
        run(line)
        assert answered[-1][0] == PERSON, answered
        if answered[-1][2] == "deny":
            assert os.path.exists(notes) == there, "what was denied has been done"
        there = os.path.exists(notes)
    assert [question["unknown"] for _, question, _ in answered[-3:]] == [False, True, False], answered

    print("$ sleep 2000, which the agent gives up:")
    while not asked.empty():
        asked.get()
    request_id, gives_up = shelld.send("job/run", command="sleep 2000")
    assert asked.get()["requestId"] == request_id, "a question tells for which request it is"
    shelld.notify("$/cancelRequest", id=request_id)
    failure = gives_up.exception()
    assert isinstance(failure, ShelldError) and failure.kind == "canceled", failure
    assert given_up.wait(60), "nobody was told that the question is over"
    assert [question["command"] for question in taken_back] == ["sleep 2000"], taken_back

    print("$ sleep 1000, and its end:")
    try:
        shelld.request("job/start", name="sleeper", argv=["sleep", "1000"])
        shelld.request("job/kill", handle="sleeper")
    except ShelldError as refused:
        assert refused.kind == "confirmationDenied", refused
    assert answered[-1][1]["command"] == "sleep 1000", answered

with Client(server_command(), options={"confirm": {"start": "ask"}}) as shelld:
    print("A client that cannot ask: nothing is allowed.")
    try:
        shelld.request("job/run", command="ls")
        raise AssertionError("it was run")
    except ShelldError as refused:
        assert refused.kind == "policyDenied", refused

print("The server ended with status 0.")
