"""Runs commands in one shell, which remembers."""
from shelld import connect

with connect() as shelld, shelld.shell("bash") as bash:
    bash.exec("cd /tmp && export WHO=Ada")
    result = bash.exec('echo "hello $WHO"; false')
    print(result.output.strip(), result.exit_code, result.cwd)
