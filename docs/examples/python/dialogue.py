"""Answers what programs ask, each when it asks: npm init, ssh-keygen, git add -p, an installer.

No pattern says what a question looks like, and nothing sleeps: the server says when a program
waits for input. What it asks is then the line on which the cursor stands.
"""
import json
import os
import shutil
import subprocess
import tempfile

from shelld_client import Client, server_command

# The next thing to happen: the program waits for input, or it ends.
ASKED_OR_OVER = {"until": [{"input": True}]}

INSTALLER = r"""
printf 'Install to /opt/demo? [Y/n] '
read -r answer
case $answer in [nN]*) echo 'Nothing was done.'; exit 1 ;; esac
echo 'Copying files ...'
sleep 0.3  # it is at work, and not asking
stty -echo
printf 'Password for the key: '
read -r password
stty echo
echo
[ "$password" = sesame ] || { echo 'Wrong password.'; exit 1; }
printf 'Start it now? (yes/no) '
read -r answer
echo "Done. Start: $answer."
"""


def dialogue(shelld, name, answer, **start):
    """Starts a job and answers each of its questions until it ends. Returns the questions."""
    asked = []
    result = shelld.request("job/start", name=name, wait=ASKED_OR_OVER, **start)
    handle = result["job"]["handle"]
    while result["outcome"]["reason"] == "input":
        now = result["outcome"]["job"]["waitingForInput"]
        assert now["state"] == "reading" and now["confidence"] != "guess", now
        asked.append((now["kind"], now["prompt"]))
        reply = answer(now["kind"], now["prompt"])
        shown = "(hidden)" if now["kind"] == "password" else repr(reply)
        print("  %-9s %-52s %s" % (now["kind"], now["prompt"][-52:], shown))
        # ifWaiting: the reply is for this question, and for no other that may have come since.
        result = shelld.request("job/write", handle=handle, input=reply, appendNewline=True,
                                ifWaiting=now["waitId"], wait=ASKED_OR_OVER)
    outcome = result["outcome"]
    assert outcome["reason"] == "exit", outcome
    assert outcome["job"]["exit"]["code"] == 0, outcome
    return asked


def git(directory, *arguments):
    subprocess.run(["git", "-C", directory, "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
                   check=True, stdout=subprocess.DEVNULL)


def numbered(changes):
    return "".join("line %d%s\n" % (n, " changed" if n in changes else "") for n in range(40))


with tempfile.TemporaryDirectory() as directory, Client(server_command()) as shelld:
    def file(*parts):
        return os.path.join(directory, *parts)

    print("An installer that asks twice, and for a password:")
    with open(file("install.sh"), "w") as f:
        f.write(INSTALLER)
    replies = {"Install to /opt/demo? [Y/n]": "y", "Password for the key:": "sesame", "Start it now? (yes/no)": "no"}
    asked = dialogue(shelld, "installer", lambda _, prompt: replies[prompt], argv=["sh", file("install.sh")])
    assert [kind for kind, _ in asked] == ["line", "password", "line"], asked
    shown = shelld.request("job/read", handle="installer", offset=0, format="plain")["text"]
    assert "sesame" not in shown and shown.endswith("Done. Start: no.\n"), shown

    if shutil.which("ssh-keygen"):
        print("ssh-keygen, which asks for a passphrase twice:")
        asked = dialogue(shelld, "ssh-keygen",
                         lambda kind, _: "correct horse" if kind == "password" else file("key"),
                         argv=["ssh-keygen", "-t", "ed25519", "-C", "demo"])
        assert [kind for kind, _ in asked] == ["line", "password", "password"], asked
        assert os.path.exists(file("key.pub"))
    else:
        print("There is no ssh-keygen here.")

    print("git add -p, where one of two changes is to be taken:")
    os.mkdir(file("work"))
    git(file("work"), "init", "-q")
    for changes in ((), (3, 33)):
        with open(file("work", "poem"), "w") as f:
            f.write(numbered(changes))
        if not changes:
            git(file("work"), "add", ".")
            git(file("work"), "commit", "-qm", "begun")
    hunks = iter(["n", "y"])
    asked = dialogue(shelld, "git", lambda *_: next(hunks), cwd=file("work"),
                     argv=["git", "-c", "core.pager=cat", "add", "-p"])
    assert len(asked) == 2 and all("Stage this hunk" in prompt for _, prompt in asked), asked
    staged = subprocess.run(["git", "-C", file("work"), "show", ":poem"], check=True, capture_output=True, text=True)
    assert staged.stdout == numbered((33,)), staged.stdout

    if shutil.which("npm"):
        print("npm init, which asks for one thing after the other:")
        os.mkdir(file("package"))
        known = {"package name": "demo", "description": "a package", "license": "MIT"}

        def reply(_, prompt):
            return next((value for word, value in known.items() if word in prompt), "")  # else the default

        asked = dialogue(shelld, "npm", reply, cwd=file("package"), argv=["npm", "init"],
                         env={"npm_config_update_notifier": "false", "npm_config_cache": file("cache")})
        assert len(asked) >= 9, asked
        with open(file("package", "package.json")) as f:
            package = json.load(f)
        assert package["name"] == "demo" and package["description"] == "a package", package
    else:
        print("There is no npm here.")

print("The server ended with status 0.")
