"""Runs a command: its exit code and output."""
from shelld import connect

with connect() as shelld:
    result = shelld.run("echo hi; exit 3")
    print(result.exit_code, result.stdout.strip())
