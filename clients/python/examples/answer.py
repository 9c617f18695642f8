"""Answers a question, without a pattern for the prompt."""
from shelld import connect

with connect() as shelld, shelld.start('read -p "Name? " n; echo "Hello, $n"') as job:
    print(job.question().prompt)
    print(job.answer("Ada").text.strip())
