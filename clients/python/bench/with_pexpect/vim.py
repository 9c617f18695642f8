import os

import pexpect
from pexpect import ANSI

vim = pexpect.spawn("vim -u NONE -i NONE -N -n", dimensions=(12, 60), env={**os.environ, "TERM": "vt100"}, encoding="utf-8")
screen = ANSI.ANSI(12, 60)
vim.send("ihello\x1b")
vim.expect_exact("hello")
screen.write(vim.before + vim.after)
print(str(screen).splitlines()[0].rstrip())
vim.close(force=True)
