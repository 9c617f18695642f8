"""An agent's shell tool: begins a command, or goes on with one, and returns what the agent has to know."""
from shelld import connect


def shell_tool(shelld, jobs, command=None, job=None, input=None, timeout=30, terminal=False):
    place = {"mode": "pty"} if terminal else {"mode": "pipe", "stdin": "open"}
    running = jobs[job] if command is None else shelld.start(command, **place)
    jobs[running.handle] = running  # it knows which question an input is for
    if input is None:
        answer = running.question(timeout)
    else:
        answer = running.answer(input, timeout=timeout, from_="unread")
    if answer.exit:
        del jobs[running.handle]
    return {
        "stdout": answer.stdout, "stderr": answer.stderr, "truncated": answer.truncated, "timed_out": answer.timed_out,
        "prompt": answer.prompt if answer.question else None, "exit_code": answer.exit_code,
        "signal": answer.signal, "job": running.handle,
    }


with connect() as shelld:
    jobs = {}
    asked = shell_tool(shelld, jobs, 'echo careful >&2; printf "Name? "; read n; echo "Hello, $n"; exit 3')
    print(asked)
    print(shell_tool(shelld, jobs, job=asked["job"], input="Ada"))
