import pexpect

child = pexpect.spawn("bash", ["-c", 'read -s -p "Password: " p; echo; echo "got ${#p} characters: $p"'], encoding="utf-8")
child.waitnoecho()
child.sendline("hunter2")
child.expect(pexpect.EOF)
print(child.before.strip())
