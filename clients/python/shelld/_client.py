"""The client for asyncio. The blocking one, in _sync.py, is generated from this file."""
from __future__ import annotations

import asyncio
import base64
import inspect
import logging
import re
import threading
import weakref
from collections import deque
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Deque,
    Dict,
    Generator,
    Generic,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
    cast,
)

from . import _results
from ._connection import Connection, server_environment
from ._errors import ExitError, NotShelld, RequestError, ShelldError, UnsupportedVersion
from ._find import find_server
from ._fork import Owner
from ._questions import Questions
from ._requests import AsyncRequests
from ._results import Answer, Command, Execution, Output, Result, Screen

if TYPE_CHECKING:
    import sys

    from . import protocol
    from ._results import Until
    from .protocol import InitializeOptions, JobExecOptions, JobRunOptions, JobSearchOptions, JobStartOptions, JobWriteOptions

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

T = TypeVar("T")
Secret = Callable[["protocol.ClientSecretParams"], Union[Optional[str], Awaitable[Optional[str]]]]
Confirm = Callable[["protocol.ClientConfirmParams"], Union["protocol.ConfirmOutcome", Awaitable["protocol.ConfirmOutcome"]]]

PROTOCOL_VERSION = "1"
_MAX_BYTES = 1 << 20  # the most that a server with default limits answers with
_EVENTS_KEPT = 10000
_CLOSE_GRACE = 0.5  # seconds between TERM and KILL at the end of a job's block
_log = logging.getLogger("shelld")


class AsyncStream(Generic[T]):
    """An iterator over what comes from the server. It may be left at any time; aclose leaves it at once.

    A read that is cancelled, as by asyncio.wait_for, loses nothing: the next one goes on there.
    """

    def __init__(self, batches: AsyncIterator[List[T]]) -> None:
        self._batches = batches
        self._owner = Owner()
        self._items: Deque[T] = deque()
        self._reading: Optional[asyncio.Future[List[T]]] = None  # a task: it goes on if a read is cancelled

    def __aiter__(self) -> "AsyncStream[T]":
        return self

    async def __anext__(self) -> T:
        while not self._items:
            self._owner.check()
            reading = self._reading
            if reading is None:
                reading = self._reading = asyncio.ensure_future(self._batches.__anext__())
                reading.add_done_callback(_retrieve)
            await asyncio.wait({reading})
            if self._reading is reading:
                self._reading = None
                self._items.extend(reading.result())
        return self._items.popleft()

    async def next_batch(self) -> List[T]:
        """Returns the items that are there, at least one; raises StopAsyncIteration at the end."""
        items = [await self.__anext__(), *self._items]
        self._items.clear()
        return items

    async def aclose(self) -> None:
        """Ends the iteration."""
        self._items.clear()
        reading, self._reading = self._reading, None
        if self._owner.forked:
            return
        if reading:
            reading.cancel()
            await asyncio.wait({reading})
        close = getattr(self._batches, "aclose", None)
        if close:
            await close()

    def __del__(self) -> None:
        if self._reading:
            try:
                self._reading.get_loop().call_soon_threadsafe(self._reading.cancel)
            except RuntimeError:
                pass  # the loop is closed


def _retrieve(reading: "asyncio.Future[Any]") -> None:
    """Marks the error of a read as seen: it is no mistake if the iterator was left meanwhile."""
    if not reading.cancelled():
        reading.exception()


class AsyncStarting(Coroutine[Any, Any, "AsyncJob"]):
    """A job that is being started: await it, or use it with "async with", which ends the job at the end of the block.

    It is a coroutine, so that asyncio.create_task takes it.
    """

    def __init__(self, start: Callable[[], Coroutine[Any, Any, "AsyncJob"]]) -> None:
        self._start = start
        self._begun: Optional[Coroutine[Any, Any, AsyncJob]] = None

    def _coroutine(self) -> Coroutine[Any, Any, "AsyncJob"]:
        """Returns the one coroutine of the start. It is made late: one that is never awaited has a warning."""
        if self._begun is None:
            self._begun = self._start()
        return self._begun

    def __await__(self) -> Generator[Any, None, "AsyncJob"]:
        return self._coroutine().__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine().throw(*error)

    def close(self) -> None:
        if self._begun is not None:
            self._begun.close()

    async def __aenter__(self) -> "AsyncJob":
        self._job = await self
        return self._job

    async def __aexit__(self, *_: object) -> None:
        await self._job.close()


class _Events:
    """The events that an iterator of events() has not taken yet."""

    def __init__(self) -> None:
        self.waiting: Deque[Any] = deque()
        self.arrived = asyncio.Event()
        self.end: Optional[ShelldError] = None

    def put(self, event: Any) -> None:
        if len(self.waiting) >= _EVENTS_KEPT:
            self.end = self.end or ShelldError(f"over {_EVENTS_KEPT} events were not taken from events(): read them faster, or leave the iterator")
        else:
            self.waiting.append(event)
        self.arrived.set()


class AsyncShelld(AsyncRequests):
    """A running server, for asyncio. connect() makes one."""

    def __init__(self, secret: Optional[Secret], confirm: Optional[Confirm]) -> None:
        self._secret, self._confirm = secret, confirm
        self._connection: Connection
        self._server: protocol.InitializeResult
        self._outputs: Dict[int, asyncio.Queue[Any]] = {}  # by handle: where a reader of the output takes events
        self._wanted: Dict[int, Sequence[str]] = {}  # by handle: the events that its start has asked for
        self._events: weakref.WeakSet[_Events] = weakref.WeakSet()

    @classmethod
    async def _connect(
        cls,
        path: Optional[str],
        args: Sequence[str],
        env: Optional[Mapping[str, str]],
        secret: Optional[Secret],
        confirm: Optional[Confirm],
        log: Optional[Callable[[str], None]],
        connect_timeout: float,
        initialize: InitializeOptions,
    ) -> "AsyncShelld":
        program = find_server(path)
        self = cls(secret, confirm)
        params = cast(Dict[str, Any], dict(initialize))
        options = params["options"] = dict(params.get("options") or {})
        options.setdefault("events", [])  # each job says what it wants
        if confirm:
            options.setdefault("confirm", {"start": "ask", "write": "ask"})
        if secret:
            options.setdefault("secretInput", "clientOnly")
        params["clientInfo"] = {"name": "shelld-python"}
        params["protocolVersion"] = PROTOCOL_VERSION
        params["capabilities"] = {"ack": True, "secret": secret is not None, "confirm": confirm is not None}
        self._connection = await Connection.open(
            program, args, server_environment(env), self._on_event, self._on_end, self._on_question, log
        )
        try:
            self._server = await self._initialize(program, params, connect_timeout)
        except BaseException:
            await self._connection.abort()
            raise
        return self

    async def _initialize(self, program: str, params: Dict[str, Any], timeout: float) -> protocol.InitializeResult:
        try:
            result = await asyncio.wait_for(self._connection.request("initialize", params), timeout)
        except asyncio.TimeoutError:
            raise NotShelld(f"{program} did not answer initialize within {timeout:g} s: name the program shelld", program) from None
        except RequestError as error:
            if error.kind == "unsupportedVersion":
                spoken = ", ".join(error.data.get("supported", []))
                raise _other_version(program, spoken) from error
            raise
        if not isinstance(result, dict) or "protocolVersion" not in result:
            raise NotShelld(f"{program} answered initialize without a protocolVersion: name the program shelld", program)
        if result["protocolVersion"] != PROTOCOL_VERSION:
            raise _other_version(program, result["protocolVersion"])
        return cast("protocol.InitializeResult", result)

    async def __aenter__(self) -> "AsyncShelld":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server(self) -> protocol.InitializeResult:
        """What the server said about itself: version, capabilities, limits, warnings."""
        return self._server

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._connection.pid

    async def close(self) -> None:
        """Ends all jobs, and the server."""
        await self._connection.close()

    async def run(
        self, command: Command, *, check: bool = False, timeout: Optional[float] = None, **options: Unpack[JobRunOptions]
    ) -> Result:
        """Runs a command to its end, and returns its output and exit code.

        command is a line for the shell, or a list: a program and its arguments. timeout, in seconds, ends the command
        with all that it started, and so does cancelling the task. check raises ExitError unless the exit code is 0.
        """
        params = {"maxBytes": _MAX_BYTES, **options, **_results.command_of(command), "timeoutMs": _results.limit_of(timeout, options)}
        raw = await self._request("job/run", params)
        result = _results.result_of(raw)
        if check and not result.ok:
            raise ExitError(_results.failure_of(command, raw, result), result)
        return result

    def start(
        self, command: Optional[Command] = None, *, shell: Optional[str] = None, **options: Unpack[JobStartOptions]
    ) -> AsyncStarting:
        """Starts a job on a terminal, or with mode="pipe" on pipes. Without a command it is an interactive shell.

        Use it with a block, at whose end the job ends with all that it started. shell is that for the command.
        """
        named = {"shell": shell} if shell else {}
        return AsyncStarting(lambda: self._start({**options, **named, **_results.command_of(command)}))

    def shell(self, shell: str = "bash", **options: Unpack[JobStartOptions]) -> AsyncStarting:
        """Starts a shell for exec: bash, zsh or fish, without pagers, editors and colours."""
        return AsyncStarting(lambda: self._start({"profile": "agent", **options, "shell": shell}))

    async def job(self, handle: Union[int, str]) -> "AsyncJob":
        """Returns a job by its handle or name."""
        return AsyncJob(self, (await self.request("job/get", {"handle": handle}))["job"], None)

    def events(self) -> AsyncStream[protocol.Event]:
        """Returns an iterator over the events of all jobs from now on: a dict with method and params.

        A job has those that its start has asked for with events=[...], such as "output" and "exited".
        """
        events = _Events()
        self._events.add(events)
        return AsyncStream(self._event_batches(events))

    async def _event_batches(self, events: _Events) -> AsyncIterator[List[protocol.Event]]:
        while True:
            while events.waiting:
                event = events.waiting.popleft()
                yield [event]
                if event["method"] == "job/output" and event["params"]["handle"] not in self._outputs:
                    self._ack(event["params"])
            if events.end is not None:
                if self._connection.closing:
                    return
                raise events.end
            events.arrived.clear()
            await events.arrived.wait()

    def _ack(self, output: protocol.JobOutputParams) -> None:
        """Reports output as taken: the server may send more."""
        end = output["offset"] + output["bytes"]
        self._connection.post("job/ack", {"handle": output["handle"], "stream": output["stream"], "offset": end}, notification=True)

    def _asks(self, kinds: Optional[Sequence[protocol.InputKind]]) -> Union[bool, protocol.InputCondition]:
        """The condition that a program asks. If a person types passwords, it goes on meanwhile, unless kinds has them."""
        if kinds is None and self._secret:
            kinds = ("line", "raw", "fullscreen")
        return True if kinds is None else {"kinds": list(kinds)}

    async def _start(self, params: Dict[str, Any]) -> "AsyncJob":
        result = await self._connection.request("job/start", params, late=self._end_late)
        handle = result["job"]["handle"]
        if params.get("events"):
            self._wanted[handle] = params["events"]
        return AsyncJob(self, result["job"], result.get("outcome"), params.get("wait"))

    def _end_late(self, answer: Mapping[str, Any]) -> None:
        """Ends the job of a start that was cancelled too late."""
        if "result" in answer:
            handle = answer["result"]["job"]["handle"]
        else:
            handle = answer["error"].get("data", {}).get("handle")
        if handle is not None:
            self._connection.post("job/kill", {"handle": handle, "graceMs": _results.milliseconds(_CLOSE_GRACE)})

    async def _request(self, method: str, params: Optional[Mapping[str, Any]]) -> Any:
        return await self._connection.request(method, params or {})

    def _on_event(self, event: Dict[str, Any]) -> None:
        handle = event.get("params", {}).get("handle")
        if handle in self._outputs:
            self._outputs[handle].put_nowait(event)
        if event["method"] == "job/closed":
            self._wanted.pop(handle, None)
        for events in self._events:
            events.put(event)

    def _on_end(self, error: ShelldError) -> None:
        for queue in self._outputs.values():
            queue.put_nowait(error)
        for events in self._events:
            events.end = events.end or error
            events.arrived.set()

    async def _on_question(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """Returns the reply to a request of the server: what the user's callback says."""
        try:
            if method == "client/secret" and self._secret:
                value = await _call(self._secret, params)
                return {"result": {"declined": True} if value is None else {"value": value}}
            if method == "client/confirm" and self._confirm:
                return {"result": {"outcome": await _call(self._confirm, params)}}
        except (Exception, SystemExit) as error:  # its text may hold a secret
            _log.exception("the callback for %s failed, which counts as no", method)
            return {"error": {"code": -32603, "message": f"the client's callback failed: {type(error).__name__}"}}
        return {"error": {"code": -32601, "message": f"this client does not answer {method}"}}


class AsyncJob:
    """A job of a server, for asyncio: a command, on a terminal or on pipes, with all that it starts."""

    def __init__(
        self,
        shelld: AsyncShelld,
        info: protocol.JobInfo,
        outcome: Optional[protocol.Outcome],
        wait: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._shelld = shelld
        self._info = info
        self._outcome = outcome
        self._questions = Questions()
        if outcome:
            self._answer_of(outcome, wait or {})

    async def __aenter__(self) -> "AsyncJob":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def handle(self) -> int:
        """The job's number, which requests take."""
        return self._info["handle"]

    @property
    def info(self) -> protocol.JobInfo:
        """The job as it was when it was started, or asked for with job()."""
        return self._info

    @property
    def started(self) -> Optional[Answer]:
        """How the wait of the start ended, if it had one (the option wait)."""
        return _results.answer_of(self._outcome) if self._outcome else None

    async def close(self) -> None:
        """Ends the job with all that it started. It is no error if it has ended."""
        try:
            await self.kill(_CLOSE_GRACE)
        except ConnectionError:
            pass  # the server's end has ended it
        except RequestError as error:
            if error.kind not in ("jobNotFound", "shuttingDown"):
                raise

    def lines(self, stream: Optional[str] = None) -> AsyncStream[str]:
        """Returns an iterator over the lines of the output, from the first on, until the command has ended.

        A program is as slow as the reader: from then on it waits when 1 MiB was not taken. stream is "stdout" or
        "stderr" for one of a job on pipes; both come otherwise. Use run or wait for output without escape sequences.
        """
        return AsyncStream(self._line_batches(stream))

    def output(self) -> AsyncStream[Output]:
        """Returns an iterator over the output in pieces, as bytes; otherwise as lines."""
        return AsyncStream(self._output_batches())

    async def exit(self) -> protocol.Exit:
        """Waits for the command's end, without a time limit, and returns how it ended."""
        answer = await self.wait(exit=True, timeout=None)
        return cast("protocol.Exit", answer.exit)

    async def wait(
        self, *, timeout: Optional[float] = 30, screen: bool = False, maxBytes: Optional[int] = None, **until: Unpack[Until]
    ) -> Answer:
        """Waits for one of the conditions, or the job's end, or the time limit: reason says which it was.

        The conditions: exit=True, closed=True, pattern="ready", input=True, port=8080, quiet=0.5, bytes=1, command=ID.
        screen: the pattern looks at the screen, and the answer has the screen in place of the output. maxBytes: the
        answer has so much of each stream at most, head and tail.
        """
        wait = _results.wait_of(until, timeout, screen, maxBytes)
        outcome = (await self._request("job/wait", cast(Dict[str, Any], wait)))["outcome"]
        return self._answer_of(outcome, wait)

    def _answer_of(self, outcome: protocol.Outcome, wait: Mapping[str, Any]) -> Answer:
        self._questions.note(outcome, wait.get("until") or ())
        return _results.answer_of(outcome)

    async def question(
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
        return await self.wait(timeout=timeout, maxBytes=maxBytes, input=self._shelld._asks(kinds))

    async def answer(
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
        if not until.keys() - {"from_"}:
            until["input"] = self._shelld._asks(kinds)
        wait = _results.wait_of(until, timeout, screen, maxBytes)
        params: Dict[str, Any] = {"input": line, "appendNewline": True, "secret": secret, "wait": wait}
        waiting = self._questions.next(self.handle) if ifWaiting is None else ifWaiting
        if waiting is not None:
            params["ifWaiting"] = waiting
        outcome = (await self._request("job/write", params))["outcome"]
        self._questions.answered()
        return self._answer_of(outcome, cast(Dict[str, Any], wait))

    async def write(self, text: str, **options: Unpack[JobWriteOptions]) -> None:
        """Types a text, as it is. appendNewline=True ends the line, eof=True the input."""
        await self._request("job/write", {**options, "input": text})

    async def press(self, *keys: str) -> None:
        """Presses keys, by their names: "Enter", "Ctrl-C", "Up"; a single character is typed."""
        await self._request("job/write", {"send": [{"text": key} if len(key) == 1 else {"key": key} for key in keys]})

    async def interrupt(self) -> None:
        """Presses Ctrl-C on a terminal, and sends the signal INT on pipes."""
        if self._info["mode"] == "pty":
            await self.press("Ctrl-C")
        else:
            await self.signal("INT")

    async def exec(
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
        limit = {"onTimeout": on_timeout, **options, "timeoutMs": _results.limit_of(timeout, options)}
        wait = _results.exec_wait_of(options.get("wait"), self._shelld._asks(None) if input else None, maxBytes)
        raw = await self._request("job/exec", {**limit, **wait, "command": command})
        self._questions.note(raw["outcome"], wait.get("wait", {}).get("until") or ())
        result = _results.execution_of(raw)
        if check and not result.ok and result.question is None:
            raise ExitError(_results.failure_of(command, raw, result), result)
        return result

    async def screen(self) -> Screen:
        """Returns what the job's terminal shows."""
        return _results.screen_of(await self._request("job/screen", {}))

    async def screenshot(self) -> bytes:
        """Returns a picture of the job's terminal: a PNG."""
        return base64.b64decode((await self._request("job/screen", {"format": "png"}))["png"])

    async def resize(self, cols: int, rows: int) -> None:
        """Changes the size of the job's terminal."""
        await self._request("job/resize", {"cols": cols, "rows": rows})

    async def search(self, pattern: Union[str, re.Pattern[str]], **options: Unpack[JobSearchOptions]) -> protocol.JobSearchResult:
        """Finds an ECMAScript regular expression in the job's output; of a compiled one the flags i, m and s count."""
        found = _results.pattern_of(pattern)
        return cast("protocol.JobSearchResult", await self._request("job/search", {**found, **options}))

    async def signal(self, signal: str, target: protocol.SignalTarget = "foreground") -> None:
        """Sends one signal, such as "INT", and does not wait for its effect."""
        await self._request("job/signal", {"signal": signal, "target": target})

    async def kill(self, grace: float = 5) -> protocol.KillReport:
        """Ends the job with all that it started: TERM, and KILL after grace seconds. Returns what was ended, and how."""
        return await self._request("job/kill", {"graceMs": _results.milliseconds(grace)})

    async def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._shelld._request(method, {"handle": self.handle, **params})

    async def _line_batches(self, stream: Optional[str]) -> AsyncIterator[List[str]]:
        splitters: Dict[str, _results.LineSplitter] = {}
        batches = self._output_batches()
        try:
            async for pieces in batches:
                lines: List[str] = []
                for piece in pieces:
                    if stream in (None, piece.stream):
                        lines += splitters.setdefault(piece.stream, _results.LineSplitter()).feed(piece)
                if lines:
                    yield lines
            last = [line for splitter in splitters.values() for line in splitter.end()]
            if last:
                yield last
        finally:
            await cast(Any, batches).aclose()

    async def _output_batches(self) -> AsyncIterator[List[Output]]:
        """Subscribes to the output, and acknowledges each piece when it was taken."""
        shelld = self._shelld
        queue: asyncio.Queue[Any] = asyncio.Queue()
        if self.handle in shelld._outputs:  # there is one subscription for a job
            shelld._outputs[self.handle].put_nowait(
                ShelldError(f"another iterator reads the output of job {self.handle} now: have one at a time")
            )
        shelld._outputs[self.handle] = queue
        wanted = shelld._wanted.get(self.handle, ())
        subscription = {"events": sorted({*wanted, "output", "exited"}), "from": "start", "whenSlow": "block", "encoding": "text"}
        try:
            try:
                params = {"handle": self.handle, **subscription}
                answer = await shelld._connection.request("job/subscribe", params, arrived=lambda: _drop_events(queue))
                job = answer["job"]
            except RequestError as error:
                if error.kind != "jobExited":
                    raise
                job = None
            if job is None:  # nothing is sent of a closed job any more
                async for batch in self._stored_output():
                    yield batch
                return
            async for event in _output_events(queue, job):
                yield [_piece(event)]
                if shelld._outputs.get(self.handle) is queue:
                    shelld._ack(event)
        finally:
            if shelld._outputs.get(self.handle) is queue:
                del shelld._outputs[self.handle]
                if wanted:
                    restored = {"handle": self.handle, "events": wanted, "whenSlow": "spool"}
                    shelld._connection.post("job/subscribe", restored)
                else:
                    shelld._connection.post("job/unsubscribe", {"handle": self.handle})

    async def _stored_output(self) -> AsyncIterator[List[Output]]:
        """Reads the output of a closed job page by page."""
        job = (await self._shelld.request("job/get", {"handle": self.handle}))["job"]
        for stream in job["streams"]:
            offset, more = 0, True
            while more:
                page = await self._request("job/read", {"stream": stream, "offset": offset})
                yield [_piece({**page, "stream": stream})]
                offset, more = page["nextOffset"], page["hasMore"]


def _drop_events(queue: "asyncio.Queue[Any]") -> None:
    """Drops the events ahead of the answer to a subscription: they are of the one before it. Errors stay."""
    for item in [queue.get_nowait() for _ in range(queue.qsize())]:
        if isinstance(item, ShelldError):
            queue.put_nowait(item)


async def _output_events(queue: "asyncio.Queue[Any]", job: protocol.JobState) -> AsyncIterator[Any]:
    """Takes the output of a subscription from its beginning to its end.

    If the job had exited, its state says where the output ends, since the event exited may have come before. Otherwise
    that event is the end.
    """
    ends = {name: stream["nextOffset"] for name, stream in job["streams"].items()}
    exited = job["status"] in ("exited", "closed")
    reached: Dict[str, int] = {}
    while not exited or any(reached.get(name, 0) < end for name, end in ends.items()):
        event = await queue.get()
        if isinstance(event, ShelldError):
            raise event
        if event["method"] == "job/exited" and not exited:
            return
        if event["method"] != "job/output":
            continue
        params = event["params"]
        if params.get("restart") or params["stream"] in reached:  # else it is of an earlier subscription
            reached[params["stream"]] = params["offset"] + params["bytes"]
            yield params


def _piece(output: Any) -> Output:
    data = output["text"].encode() if "text" in output else base64.b64decode(output["base64"])
    return Output(output["stream"], output["offset"], data, output.get("gap"))


async def _call(callback: Callable[[Any], Any], params: Dict[str, Any]) -> Any:
    """Calls a callback of the user: a coroutine function here, any other in a thread, since a person may take long."""
    if asyncio.iscoroutinefunction(callback):
        return await callback(params)
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: Optional[Exception]) -> None:
        if result.done():
            return  # the question was withdrawn
        if error:
            result.set_exception(error)
        else:
            result.set_result(value)

    def work() -> None:
        value: Any = None
        failure: Optional[Exception] = None
        try:
            value = callback(params)
        except BaseException as error:
            failure = error if isinstance(error, Exception) else ShelldError(f"the callback raised {type(error).__name__}")
            if isinstance(error, StopIteration):  # which a future does not take
                failure = ShelldError("the callback raised StopIteration")
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            pass  # the loop is closed: the answer comes too late

    threading.Thread(target=work, name="shelld-callback", daemon=True).start()
    value = await result
    return await value if inspect.isawaitable(value) else value


def _other_version(program: str, spoken: str) -> UnsupportedVersion:
    return UnsupportedVersion(
        f"{program} speaks version {spoken} of the protocol, and this package version {PROTOCOL_VERSION}: "
        "use the two of one release",
        program,
    )
