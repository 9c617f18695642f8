"""Drives a REPL."""
from shelld import connect

with connect() as shelld, shelld.start(["python3", "-q"]) as python:
    python.question()
    for line in ("x = 6", "x * 7"):
        print(repr(python.answer(line).text))
