import pexpect

child = pexpect.spawn("bash", ["-c", "for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 4"], encoding="utf-8")
for line in child:
    print(line.rstrip())
child.close()
print(child.exitstatus)
