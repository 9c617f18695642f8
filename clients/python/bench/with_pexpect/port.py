import urllib.request

import pexpect

child = pexpect.spawn("python3 -u -m http.server 0 --bind 127.0.0.1", encoding="utf-8")
child.expect(r"port (\d+)")
print("port", urllib.request.urlopen(f"http://127.0.0.1:{child.match.group(1)}/").status)
child.close(force=True)
