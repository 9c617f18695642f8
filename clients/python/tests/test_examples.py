"""The programs of the README: what they print, and that each is short. And the files that are generated."""
import ast
import contextlib
import importlib.util
import re
import subprocess
import sys
import unittest

from .support import PACKAGE, environment, needs_linux

from shelld import RequestError, connect

TOOL = PACKAGE / "examples" / "tool.py"

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
    "tool": (
        r"{'stdout': 'Name\? ', 'stderr': 'careful\\n', 'truncated': False, 'timed_out': False, "
        r"'prompt': 'Name\?', 'exit_code': None, 'signal': None, 'job': 1}\n"
        r"{'stdout': 'Hello, Ada\\n', 'stderr': '', 'truncated': False, 'timed_out': False, "
        r"'prompt': None, 'exit_code': 3, 'signal': None, 'job': 1}\n"
    ),
}
MOST_LINES = 4
MOST_LINES_OF_TOOL = 15  # of its function, which is in the README as well
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
        for program in set((PACKAGE / "examples").glob("*.py")) - {TOOL}:
            lines = [line for line in program.read_text().splitlines() if not BOILERPLATE.match(line)]
            self.assertLessEqual(len(lines), MOST_LINES, program.name)


class Tool(unittest.TestCase):
    def setUp(self):
        source = TOOL.read_text()
        (self.function,) = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        self.text = ast.get_source_segment(source, self.function)

    def test_readme(self):
        self.assertLessEqual(len(self.text.splitlines()), MOST_LINES_OF_TOOL)
        shown = f"```python\n{self.text}\n```" in (PACKAGE / "README.md").read_text()
        self.assertTrue(shown, "copy the function of examples/tool.py into the README")

    @needs_linux
    def test_calls(self):
        scope = {}
        exec(self.text, scope)
        shell_tool = scope["shell_tool"]
        with connect() as client:
            jobs = {}
            asked = shell_tool(client, jobs, 'test -t 0; echo $?; read -p "Name? " n; echo $n >&2; seq 20000', terminal=True)
            self.assertEqual((asked["stdout"], asked["prompt"], asked["exit_code"]), ("0\nName? ", "Name?", None))
            ended = shell_tool(client, jobs, job=asked["job"], input="Ada")
            self.assertTrue(ended["stdout"].startswith("Ada\n1\n"))
            self.assertEqual((ended["stderr"], ended["truncated"], ended["prompt"], ended["exit_code"]), ("", True, None, 0))

            begun = shell_tool(client, jobs, "sleep 0.3; echo late; read n; echo $n", timeout=0)
            with contextlib.closing(client.job(begun["job"]).lines()) as lines:
                self.assertEqual(next(lines), "late")
            with self.assertRaises(RequestError) as caught:
                shell_tool(client, jobs, job=begun["job"], input="a question that nobody has seen")
            self.assertEqual(caught.exception.kind, "inputNotExpected")
            asked = shell_tool(client, jobs, job=begun["job"])
            ended = shell_tool(client, jobs, job=begun["job"], input="Ada")
            self.assertEqual(begun["stdout"] + asked["stdout"] + ended["stdout"], "late\nAda\n", "output between the calls is lost")

            begun = shell_tool(client, jobs, "echo begun; sleep 1000", timeout=0.05)
            self.assertEqual((begun["timed_out"], begun["prompt"], begun["exit_code"], begun["signal"]), (True, None, None, None))
            client.job(begun["job"]).signal("KILL", "leader")
            ended = shell_tool(client, jobs, job=begun["job"])
            self.assertEqual((ended["timed_out"], ended["exit_code"], ended["signal"]), (False, None, "SIGKILL"))
            self.assertEqual(jobs, {})


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
