"""Runs the ten programs with this package and with pexpect, and prints how many lines each has: a Markdown table.

Lines are those without imports, the description, and the frame of an asyncio program. Needs pexpect.
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FRAME = re.compile(r"import |from |async def main|asyncio\.run|\s*#|\"\"\"|\s*$")
NAMES = ("run", "stream", "answer", "repl", "port", "kill", "shell", "vim", "secret", "several")


def lines_of(program):
    """Runs a program and returns the number of its lines; None if there is none."""
    if not program.exists():
        return None
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    subprocess.run([sys.executable, str(program)], env=env, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
    return len([line for line in program.read_text().splitlines() if not FRAME.match(line)])


print("| program | shelld | pexpect |\n| --- | --- | --- |")
for name in NAMES:
    ours = lines_of(HERE.parent / "examples" / (name + ".py"))
    theirs = lines_of(HERE / "with_pexpect" / (name + ".py"))
    print("| %s | %d | %s |" % (name, ours, "no" if theirs is None else theirs))
