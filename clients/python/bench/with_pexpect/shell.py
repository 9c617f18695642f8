from pexpect import replwrap

bash = replwrap.bash()
bash.run_command("bind 'set enable-bracketed-paste off'")
bash.run_command("cd /tmp && export WHO=Ada")
output = bash.run_command('echo "hello $WHO"; false')
status, directory = bash.run_command("echo $? $PWD").split()
print(output.strip(), status, directory)
