"""The ten programs: what they print, and that each is short. And the files that are generated."""
import importlib.util
import re
import subprocess
import sys
import unittest

from .support import PACKAGE, environment, needs_linux

EXPECTED = {
    "run": r"3 hi\n",
    "stream": r"line 1\nline 2\nline 3\n4\n",
    "answer": r"Name\?\nHello, Ada\n",
    "repl": r"'>>> '\n'42\\n>>> '\n",
    "port": r"port 200\n",
    "kill": r"\['SIGKILL'.*\] left: 0\n",
    "shell": r"hello Ada 1 /tmp\n",
    "vim": r"hello b'PNG'\n",
    "secret": r"Password: \ngot 7 characters: \*\*\*\n",
    "several": r"\[0, 0, 1\] True\n",
}
MOST_LINES = 4
BOILERPLATE = re.compile(r"import |from |async def main|asyncio\.run|\s*#|\"\"\"|\s*$")


class Examples(unittest.TestCase):
    @needs_linux
    def test_output(self):
        self.assertEqual(sorted(EXPECTED), sorted(path.stem for path in (PACKAGE / "examples").glob("*.py")))
        for name, pattern in EXPECTED.items():
            with self.subTest(name):
                program = PACKAGE / "examples" / f"{name}.py"
                done = subprocess.run(
                    [sys.executable, str(program)], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    timeout=60, check=True, universal_newlines=True,
                )
                self.assertRegex(done.stdout, f"^{pattern}$")

    def test_length(self):
        for program in (PACKAGE / "examples").glob("*.py"):
            lines = [line for line in program.read_text().splitlines() if not BOILERPLATE.match(line)]
            self.assertLessEqual(len(lines), MOST_LINES, program.name)


class Generated(unittest.TestCase):
    def test_blocking_client(self):
        spec = importlib.util.spec_from_file_location("make_sync", PACKAGE / "make_sync.py")
        make_sync = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(make_sync)
        stored = (PACKAGE / "shelld" / "_sync.py").read_text()
        self.assertEqual(stored, make_sync.generated(), "run python3 make_sync.py in clients/python")

    def test_types_can_be_imported(self):
        import shelld.protocol

        self.assertIn("command", shelld.protocol.JobRunParams.__annotations__)


if __name__ == "__main__":
    unittest.main()
