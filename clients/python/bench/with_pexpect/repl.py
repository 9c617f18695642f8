import pexpect

child = pexpect.spawn("python3", ["-q"], encoding="utf-8")
child.expect_exact(">>> ")
for line in ("x = 6", "x * 7"):
    child.sendline(line)
    child.expect_exact(">>> ")
    print(repr(child.before.partition("\r\n")[2]))
