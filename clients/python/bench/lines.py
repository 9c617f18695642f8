"""Runs the ten programs with this package and with pexpect. Prints what both print, and how many lines each has.

Lines are those without imports, the description, and the frame of an asyncio program. Needs pexpect.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
FRAME = re.compile(r"import |from |async def main|asyncio\.run|\s*#|\"\"\"|\s*$")
NAMES = ("run", "stream", "answer", "repl", "port", "kill", "shell", "vim", "secret", "several")


def row(program):
    """Runs a program in a folder of its own, and returns its row of the table."""
    command = [sys.executable, "-W", "ignore::UserWarning", str(program)]
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.check_output(
            command, env={**os.environ, "PYTHONPATH": str(HERE.parent)}, cwd=folder, stdin=subprocess.DEVNULL, text=True
        )
    lines = [line for line in program.read_text().splitlines() if not FRAME.match(line)]
    return "| %s | %d | %r |" % (program.relative_to(HERE.parent), len(lines), output)


print("| program | lines | prints |\n| --- | --- | --- |")
for name in NAMES:
    print(row(HERE.parent / "examples" / (name + ".py")))
    print(row(HERE / "with_pexpect" / (name + ".py")))
