import pexpect

children = [pexpect.spawn(command) for command in ("true", "sleep 0.3", "false")]
for child in children:
    child.expect(pexpect.EOF)
    child.close()
slow = pexpect.spawn("sleep 100")
timed_out = slow.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=0.3) == 1
slow.close(force=True)
print([child.exitstatus for child in children], timed_out)
