"""Has a person type a password, which the program gets and nothing else: here a stand-in for a dialog."""
from shelld import connect

with connect(secret=lambda ask: "hunter2") as shelld:
    with shelld.start('read -s -p "Password: " p; echo; echo "got ${#p} characters: $p"') as job:
        print(job.wait(exit=True).text.strip())
