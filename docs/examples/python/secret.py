"""Runs a script that asks for a password, which a person types and the agent never sees.

On a terminal you are that person; else a stand-in is, so that this runs anywhere.
"""
import getpass
import json
import os
import sys
import tempfile

from shelld_client import Client, ShelldError, server_command

SCRIPT = r"""
stty -echo
printf 'Password for the vault: '
read -r password
stty echo
echo
(umask 077 && printf '%s' "$password" > vault)
printf 'Lock the vault now? (yes/no) '
read -r answer
echo "Done. Locked: $answer."
"""

asked = []  # what the person was shown
typed = []  # and typed: for the checks at the end alone


def ask_person(request):
    """Answers client/secret, in the client's own window: the agent takes no part in it."""
    asked.append(request)
    print("  The person is asked:", request["prompt"], "(by: %s)" % request["command"].split()[0])
    if sys.stdin.isatty():
        value = getpass.getpass("  Type something, it is not shown: ")
    else:
        value = "open sesame 4711"
    if not value:
        return {"declined": True}
    typed.append(value)
    return {"value": value}


seen = []  # all that the agent gets to see


def agent(method, **params):
    seen.append(shelld.request(method, **params))
    return seen[-1]


with tempfile.TemporaryDirectory() as directory, \
        Client(server_command(), answers={"client/secret": ask_person}, capabilities={"secret": True},
               options={"secretInput": "clientOnly"}) as shelld:
    with open(os.path.join(directory, "vault.sh"), "w") as f:
        f.write(SCRIPT)

    print("Starting a script, and waiting until it asks something that is no password.")
    started = agent("job/start", name="vault", cwd=directory, argv=["sh", "vault.sh"],
                    wait={"until": [{"input": {"kinds": ["line"]}}], "timeoutMs": 30000})
    outcome = started["outcome"]
    if outcome["reason"] == "timeout":
        sys.exit("Nobody has typed a password.")
    assert outcome["reason"] == "input", outcome
    now = outcome["job"]["waitingForInput"]
    assert now["prompt"] == "Lock the vault now? (yes/no)", now
    assert [(a["prompt"], a["attempt"]) for a in asked] == [("Password for the vault:", 1)], asked

    print("The agent answers that itself:", now["prompt"])
    outcome = agent("job/write", handle="vault", input="yes", appendNewline=True, ifWaiting=now["waitId"],
                    wait={"until": [{"exit": True}]})["outcome"]
    assert outcome["reason"] == "exit" and outcome["job"]["exit"]["code"] == 0, outcome
    with open(os.path.join(directory, "vault")) as f:
        assert [f.read()] == typed, "the script has read something else"

    text = agent("job/read", handle="vault", offset=0)["text"]
    assert text.endswith("Done. Locked: yes.\r\n") or text.endswith("Done. Locked: yes.\n"), text
    agent("job/get", handle="vault")
    while True:  # the events of the job, to its end
        method, params = shelld.next_of_any()
        seen.append(params)
        if method == "job/closed":
            break
    assert typed[0] not in json.dumps(seen, ensure_ascii=False), "the value is in what the agent sees"

with Client(server_command(), capabilities={"secret": True}, options={"secretInput": "clientOnly"}) as shelld:
    print("A client that answers nothing: the program goes on waiting, and the agent may not type there.")
    started = shelld.request("job/start", name="again", command="stty -echo; printf 'Password: '; read -r p",
                             wait={"until": [{"input": {"kinds": ["password"]}}]})
    assert started["outcome"]["reason"] == "input", started
    try:
        shelld.request("job/write", handle="again", input="a guess", appendNewline=True)
        raise AssertionError("it was typed")
    except ShelldError as refused:
        assert refused.kind == "policyDenied", refused
    shelld.request("job/kill", handle="again")

print("The server ended with status 0.")
