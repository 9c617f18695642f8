import pexpect

output, status = pexpect.run("bash -c 'echo hi; exit 3'", withexitstatus=True)
print(status, output.decode().strip())
