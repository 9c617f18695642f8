"""Prints the lines of a program while it writes them."""
from shelld import connect

with connect() as shelld, shelld.start("for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 4") as job:
    for line in job.lines():
        print(line)
    print(job.exit()["code"])
