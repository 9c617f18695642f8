"""Waits until a server of its own listens."""
import urllib.request

from shelld import connect

with connect() as shelld, shelld.start("python3 -m http.server 0 --bind 127.0.0.1") as web:
    answer = web.wait(port=0)
    print(answer.reason, urllib.request.urlopen(f"http://127.0.0.1:{answer.port}/").status)
