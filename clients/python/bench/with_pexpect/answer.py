import pexpect

child = pexpect.spawn("bash", ["-c", 'read -p "Name? " n; echo "Hello, $n"'], encoding="utf-8")
child.expect_exact("Name? ")
print(child.after)
child.sendline("Ada")
child.expect(pexpect.EOF)
print(child.before.split("\r\n")[1])
