"""Types into vim, and takes a picture of it."""
from shelld import connect

with connect() as shelld, shelld.start("vim -u NONE -i NONE -N -n", cols=60, rows=12) as vim:
    vim.question()
    vim.press("i", *"hello", "Escape")
    print(vim.wait(pattern="hello", screen=True).screen.splitlines()[0], vim.screenshot()[1:4])
