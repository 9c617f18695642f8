import os
import signal

import pexpect

child = pexpect.spawn("bash", ["-c", "setsid sh -c 'echo $$; exec sleep 1000' & trap '' TERM; sleep 1000; wait"], encoding="utf-8")
child.expect(r"(\d+)\r\n")
child.close(force=True)
os.kill(int(child.match.group(1)), signal.SIGKILL)  # an error, had close ended it as well
print([child.signalstatus], "left: 1")
