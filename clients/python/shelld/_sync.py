# Generated from _client.py by make_sync.py. DO NOT EDIT.
"""The blocking client: the names of _client.py, without await."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, Union

from . import _client
from ._errors import ServerEnded
from ._loop import LoopThread, Stream
from ._requests import Requests

if TYPE_CHECKING:
    import sys

    from . import protocol
    from ._results import Answer, Command, Execution, Output, Result, Screen, Until
    from .protocol import JobExecOptions, JobRunOptions, JobSearchOptions, JobStartOptions, JobWriteOptions

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack


async def _started(starting: _client.AsyncStarting) -> _client.AsyncJob:
    return await starting


class Shelld(Requests):
    """A running server. connect() makes one."""

    def __init__(self, loop: LoopThread, client: _client.AsyncShelld) -> None:
        self._loop = loop
        self._async = client

    def __enter__(self) -> "Shelld":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server(self) -> protocol.InitializeResult:
        """What the server said about itself: version, capabilities, limits, warnings."""
        return self._async.server

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._async.pid

    def close(self) -> None:
        """Ends all jobs, and the server."""
        if not self._loop.closed:
            try:
                self._loop.call(self._async.close())
            except ServerEnded:
                pass  # another thread has closed it meanwhile
            finally:
                self._loop.close()

    def run(
        self, command: Command, *, check: bool = False, timeout: Optional[float] = None, **options: Unpack[JobRunOptions]
    ) -> Result:
        """Runs a command to its end, and returns its output and exit code.

        command is a line for the shell, or a list: a program and its arguments. timeout, in seconds, ends the command
        with all that it started, and so does cancelling the task. check raises ExitError unless the exit code is 0.
        """
        return self._loop.call(self._async.run(command, check=check, timeout=timeout, **options))

    def start(
        self, command: Optional[Command] = None, *, shell: Optional[str] = None, **options: Unpack[JobStartOptions]
    ) -> Job:
        """Starts a job on a terminal, or with mode="pipe" on pipes. Without a command it is an interactive shell.

        Use it with a block, at whose end the job ends with all that it started. shell is that for the command.
        """
        return Job(self._loop, self._loop.call(_started(self._async.start(command, shell=shell, **options))))

    def shell(self, shell: str = "bash", **options: Unpack[JobStartOptions]) -> Job:
        """Starts a shell for exec: bash, zsh or fish, without pagers, editors and colours."""
        return Job(self._loop, self._loop.call(_started(self._async.shell(shell, **options))))

    def job(self, handle: Union[int, str]) -> "Job":
        """Returns a job by its handle or name."""
        return Job(self._loop, self._loop.call(self._async.job(handle)))

    def events(self) -> Stream[protocol.Event]:
        """Returns an iterator over the events of all jobs from now on: a dict with method and params.

        A job has those that its start has asked for with events=[...], such as "output" and "exited".
        """
        return Stream(self._loop, self._loop.make(lambda: self._async.events()))

    def _request(self, method: str, params: Optional[Mapping[str, Any]]) -> Any:
        return self._loop.call(self._async._request(method, params))


class Job:
    """A job of a server: a command, on a terminal or on pipes, with all that it starts."""

    def __init__(self, loop: LoopThread, client: _client.AsyncJob) -> None:
        self._loop = loop
        self._async = client

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def handle(self) -> int:
        """The job's number, which requests take."""
        return self._async.handle

    @property
    def info(self) -> protocol.JobInfo:
        """The job as it was when it was started, or asked for with job()."""
        return self._async.info

    @property
    def started(self) -> Optional[Answer]:
        """How the wait of the start ended, if it had one (the option wait)."""
        return self._async.started

    def close(self) -> None:
        """Ends the job with all that it started. It is no error if it has ended."""
        try:
            self._loop.call(self._async.close())
        except ConnectionError:
            pass  # the server's end has ended it, or this process is a fork

    def lines(self, stream: Optional[str] = None) -> Stream[str]:
        """Returns an iterator over the lines of the output, from the first on, until the command has ended.

        A program is as slow as the reader: from then on it waits when 1 MiB was not taken. stream is "stdout" or
        "stderr" for one of a job on pipes; both come otherwise. Use run or wait for output without escape sequences.
        """
        return Stream(self._loop, self._loop.make(lambda: self._async.lines(stream)))

    def output(self) -> Stream[Output]:
        """Returns an iterator over the output in pieces, as bytes; otherwise as lines."""
        return Stream(self._loop, self._loop.make(lambda: self._async.output()))

    def exit(self) -> protocol.Exit:
        """Waits for the command's end, without a time limit, and returns how it ended."""
        return self._loop.call(self._async.exit())

    def wait(
        self, *, timeout: Optional[float] = 30, screen: bool = False, maxBytes: Optional[int] = None, **until: Unpack[Until]
    ) -> Answer:
        """Waits for one of the conditions, or the job's end, or the time limit: reason says which it was.

        The conditions: exit=True, closed=True, pattern="ready", input=True, port=8080, quiet=0.5, bytes=1, command=ID.
        screen: the pattern looks at the screen, and the answer has the screen in place of the output. maxBytes: the
        answer has so much of each stream at most, head and tail.
        """
        return self._loop.call(self._async.wait(timeout=timeout, screen=screen, maxBytes=maxBytes, **until))

    def question(
        self,
        timeout: Optional[float] = 30,
        *,
        maxBytes: Optional[int] = None,
        kinds: Optional[Sequence[protocol.InputKind]] = None,
    ) -> Answer:
        """Waits until the program asks for input: prompt has its question, and reason is "input" or "exit".

        kinds: those that count, of "line", "password", "raw", "fullscreen". By default all; if connect has a secret, all
        but "password".
        """
        return self._loop.call(self._async.question(timeout, maxBytes=maxBytes, kinds=kinds))

    def answer(
        self,
        line: str,
        *,
        timeout: Optional[float] = 30,
        screen: bool = False,
        secret: bool = False,
        maxBytes: Optional[int] = None,
        kinds: Optional[Sequence[protocol.InputKind]] = None,
        ifWaiting: Optional[str] = None,
        **until: Unpack[Until],
    ) -> Answer:
        """Types a line, and waits until the program asks again or has ended, or for the conditions of wait.

        text is what it wrote meanwhile. secret keeps the line out of logs, events and files. kinds: as of question.

        Once the program was waited for or answered, the line is typed only if it still waits for the input that was
        reported last: a question that came after a timeout, and that nobody has seen, gets no answer. The RequestError
        is "inputNotExpected" then: call question() first, use write() to type ahead, or give ifWaiting, the waitId of
        any question.
        """
        return self._loop.call(self._async.answer(line, timeout=timeout, screen=screen, secret=secret, maxBytes=maxBytes, kinds=kinds, ifWaiting=ifWaiting, **until))

    def write(self, text: str, **options: Unpack[JobWriteOptions]) -> None:
        """Types a text, as it is. appendNewline=True ends the line, eof=True the input."""
        self._loop.call(self._async.write(text, **options))

    def press(self, *keys: str) -> None:
        """Presses keys, by their names: "Enter", "Ctrl-C", "Up"; a single character is typed."""
        self._loop.call(self._async.press(*keys))

    def interrupt(self) -> None:
        """Presses Ctrl-C on a terminal, and sends the signal INT on pipes."""
        self._loop.call(self._async.interrupt())

    def exec(
        self,
        command: str,
        *,
        check: bool = False,
        timeout: Optional[float] = None,
        on_timeout: Literal["leave", "interrupt", "kill"] = "interrupt",
        input: bool = False,
        maxBytes: Optional[int] = None,
        **options: Unpack[JobExecOptions],
    ) -> Execution:
        """Runs a command in a shell, which keeps its directory and variables, and returns its output and exit code.

        on_timeout says what happens to the command when timeout is over, and when the task is cancelled. input: also
        return when the command asks a question, as question() does; answer() types the answer, and the command goes on.
        maxBytes: the output has so much at most, head and tail. check raises ExitError unless the exit code is 0, or
        the command asks. ifBusy="fail": a shell that is busy is an error; otherwise the command waits for its turn.
        """
        return self._loop.call(self._async.exec(command, check=check, timeout=timeout, on_timeout=on_timeout, input=input, maxBytes=maxBytes, **options))

    def screen(self) -> Screen:
        """Returns what the job's terminal shows."""
        return self._loop.call(self._async.screen())

    def screenshot(self) -> bytes:
        """Returns a picture of the job's terminal: a PNG."""
        return self._loop.call(self._async.screenshot())

    def resize(self, cols: int, rows: int) -> None:
        """Changes the size of the job's terminal."""
        self._loop.call(self._async.resize(cols, rows))

    def search(self, pattern: Union[str, re.Pattern[str]], **options: Unpack[JobSearchOptions]) -> protocol.JobSearchResult:
        """Finds an ECMAScript regular expression in the job's output; of a compiled one the flags i, m and s count."""
        return self._loop.call(self._async.search(pattern, **options))

    def signal(self, signal: str, target: protocol.SignalTarget = "foreground") -> None:
        """Sends one signal, such as "INT", and does not wait for its effect."""
        self._loop.call(self._async.signal(signal, target))

    def kill(self, grace: float = 5) -> protocol.KillReport:
        """Ends the job with all that it started: TERM, and KILL after grace seconds. Returns what was ended, and how."""
        return self._loop.call(self._async.kill(grace))
