"""The connection with a server: one JSON object a line, over the stdin and stdout of a child process."""
from __future__ import annotations

import asyncio
import errno
import itertools
import json
import logging
import os
import signal
import sys
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, cast

from ._errors import (
    MessageTooLarge,
    NotShelld,
    ProtocolError,
    RequestError,
    ServerEnded,
    ServerNotFound,
    ShelldError,
    UnsupportedPlatform,
)
from ._fork import Owner, watch

# The longest line of a server is maxMessageBytes of initialize, at most 1 GiB, and a line end.
_LONGEST_LINE = (1 << 30) + 2
_DEFAULT_LIMIT = 16 << 20  # bytes of a message to the server, until initialize names another limit
_STDERR_KEPT = 16384
# How long the server may take to end its jobs, and then itself. After that it is killed; its keepers end the jobs.
_SHUTDOWN_SECONDS = 60.0
_END_SECONDS = 10.0
# How long its output is still read after its process has ended: another process may hold it open.
_DRAIN_SECONDS = 1.0

OnEvent = Callable[[Dict[str, Any]], None]
OnEnd = Callable[[ShelldError], None]
OnQuestion = Callable[[str, Dict[str, Any]], Awaitable[Dict[str, Any]]]


class Connection(asyncio.SubprocessProtocol):
    """A running server. It reads from the transport itself: a StreamReader would limit the length of a line."""

    def __init__(
        self, path: str, on_event: OnEvent, on_end: OnEnd, on_question: OnQuestion, log: Optional[Callable[[str], None]]
    ) -> None:
        self._path, self._log = path, log
        self.owner = Owner()
        self._on_event, self._on_end, self._on_question = on_event, on_end, on_question
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._pending: Dict[int, asyncio.Future[Any]] = {}
        self._late: Dict[int, Callable[[Mapping[str, Any]], None]] = {}  # takes the answer of a withdrawn request
        self._arrived: Dict[int, Callable[[], None]] = {}
        self._questions: Dict[Any, asyncio.Task[None]] = {}  # the server's requests, by their ids
        self._line: List[bytes] = []  # the pieces of an incomplete line
        self._line_length = 0
        self._stderr = bytearray()
        self._writable: Optional[asyncio.Future[None]] = None  # there while the server does not read
        self._problem: Optional[str] = None  # set when something else than a message came
        self._closing: Optional[asyncio.Task[None]] = None
        self._limit = _DEFAULT_LIMIT
        self.speaks = False  # whether initialize was answered as a shelld does
        self.ended: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(
        cls,
        path: str,
        args: Sequence[str],
        env: Optional[Mapping[str, str]],
        on_event: OnEvent,
        on_end: OnEnd,
        on_question: OnQuestion,
        log: Optional[Callable[[str], None]],
    ) -> "Connection":
        """Starts the server, without a shell, and in a session of its own: a Ctrl-C is for the client to handle."""
        try:
            _, connection = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(path, on_event, on_end, on_question, log), path, *args, env=env, start_new_session=True
            )
        except NotImplementedError as error:
            raise UnsupportedPlatform("this event loop cannot start programs: use the default loop of asyncio", path) from error
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                raise UnsupportedPlatform(f"{path} is no program for this system and processor: build shelld here", path) from error
            raise ServerNotFound(f"{path} cannot be started: {error.strerror}", path) from error
        return connection

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        late: Optional[Callable[[Mapping[str, Any]], None]] = None,
        arrived: Optional[Callable[[], None]] = None,
    ) -> Any:
        """Sends a request and returns its result. If its task is cancelled, the request is withdrawn.

        late is called with the answer that a withdrawn request gets all the same, and arrived when a result has come,
        before any message behind it is taken.
        """
        self._check()
        request_id = next(self._ids)
        line = self._encode({"id": request_id, "method": method, "params": params})
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._pending[request_id] = answer
        if late:
            self._late[request_id] = late
        if arrived:
            self._arrived[request_id] = arrived
        self._stdin.write(line)
        try:
            if self._writable is not None:
                await asyncio.shield(self._writable)
            result = await answer
        except asyncio.CancelledError:
            if self._pending.pop(request_id, None):
                self.post("$/cancelRequest", {"id": request_id}, notification=True)
            else:
                late = self._late.pop(request_id, None)
                if late and not answer.cancelled() and answer.exception() is None:
                    late({"result": answer.result()})  # it came just before the cancellation
            raise
        except ShelldError:
            self._late.pop(request_id, None)
            raise
        self._late.pop(request_id, None)
        return result

    def post(self, method: str, params: Mapping[str, Any], notification: bool = False) -> None:
        """Sends a notification, or a request whose answer does not matter."""
        if not self.ended.done() and not self.owner.forked:
            self._send({"method": method, "params": params, **({} if notification else {"id": next(self._ids)})})

    async def close(self) -> None:
        """Ends all jobs, and the server. The end goes on if the task is cancelled."""
        if self.owner.forked:
            return  # they are the other process's
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def abort(self) -> None:
        """Ends a server that cannot be talked to."""
        self._kill()
        await asyncio.shield(self.ended)

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._transport.get_pid()

    @property
    def closing(self) -> bool:
        """Whether close was called."""
        return self._closing is not None

    async def _close(self) -> None:
        try:
            if not self.ended.done():
                answered = self._pending[0] = self._loop.create_future()
                self._send({"id": 0, "method": "shutdown", "params": {}})
                await asyncio.wait({answered}, timeout=_SHUTDOWN_SECONDS)
                self.post("exit", {}, notification=True)
        finally:
            self._pending.pop(0, None)
            for task in self._questions.values():
                task.cancel()
            self._questions.clear()
            self._stdin.close()  # which ends the server, too
        await asyncio.wait({self.ended}, timeout=_END_SECONDS)
        self._kill()
        await self.ended

    def _check(self) -> None:
        """Raises if no request can be answered any more."""
        self.owner.check()
        if self._closing is not None:
            raise ServerEnded("the connection is closed: connect again")
        if self.ended.done():
            raise self._failure()

    def _failure(self) -> ShelldError:
        """The error of requests that cannot be answered any more."""
        stderr = self._stderr.decode(errors="replace").strip()
        status = self._transport.get_returncode()
        if self._problem is not None:
            return (ProtocolError if self.speaks else self._not_shelld)(self._problem, status, stderr)
        if self._closing is not None:
            return ServerEnded("the connection was closed before this was answered", status, stderr)
        how = "ended" if status is None else f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        logged = f"; its last words: {stderr[-2000:]}" if stderr else "; it logged nothing"
        if not self.speaks:
            return self._not_shelld(f"{self._path} {how} before it answered initialize{logged}", status, stderr)
        return ServerEnded(f"the server {how}, and with it all jobs{logged}", status, stderr)

    def _not_shelld(self, message: str, _status: Optional[int], _stderr: str) -> ShelldError:
        return NotShelld(f"{message}; name the program shelld with SHELLD or connect(path=...)", self._path)

    def _send(self, message: Dict[str, Any]) -> None:
        self._stdin.write(self._encode(message))

    def _encode(self, message: Dict[str, Any]) -> bytes:
        """Returns the line of a message. It raises for one that the server cannot read: the answer would have no id."""
        whole = {"jsonrpc": "2.0", **message}
        text = json.dumps(whole, separators=(",", ":"), allow_nan=False, default=_path)  # ASCII; line ends are escaped
        if len(text) > self._limit:
            raise MessageTooLarge(len(text), self._limit)
        return text.encode() + b"\n"

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self.pipes = [cast(asyncio.BaseTransport, self._transport.get_pipe_transport(fd)).get_extra_info("pipe") for fd in range(3)]
        watch(self)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._take_log(data)
            return
        start = 0
        while self._problem is None:
            end = data.find(b"\n", start)
            self._line.append(data[start:] if end < 0 else data[start:end])
            self._line_length += len(self._line[-1])
            if self._line_length > _LONGEST_LINE:
                self._fail("a line of the server is longer than any message")
                return
            if end < 0:
                return
            line = b"".join(self._line)
            self._line.clear()
            self._line_length = 0
            start = end + 1
            if line.strip():
                self._take(line)

    def pipe_connection_lost(self, fd: int, exc: Optional[Exception]) -> None:
        if fd == 1 and self._transport.get_returncode() is None:
            # A server closes its stdout when it ends. Nothing more can come, whatever it does.
            self._loop.call_later(_END_SECONDS if self._closing else _DRAIN_SECONDS, self._kill)

    def process_exited(self) -> None:
        self._loop.call_later(_DRAIN_SECONDS, self._finish)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._finish()

    # What comes of it.

    def _take_log(self, data: bytes) -> None:
        self._stderr += data
        del self._stderr[:-_STDERR_KEPT]
        if self._log:
            try:
                self._log(data.decode(errors="replace"))
            except Exception:
                logging.getLogger("shelld").exception("the callback log failed")

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise ValueError
        except (ValueError, RecursionError):
            self._fail(f"the server was ended, since it wrote what is no message: {line[:200]!r}; its log goes to stderr")
            return
        if "method" not in message:
            self._take_answer(message)
        elif "id" in message:
            if not self.speaks:  # a program such as cat, which sends back what it gets
                self._fail(f"{self._path} answered initialize with {line[:200]!r}")
                return
            task = self._loop.create_task(self._answer(message))
            self._questions[message["id"]] = task
        elif message["method"] == "$/cancelRequest":
            question = self._questions.pop(message.get("params", {}).get("id"), None)
            if question:
                question.cancel()
        else:
            self._on_event(message)

    def _take_answer(self, message: Dict[str, Any]) -> None:
        request_id = message.get("id")
        if request_id is None and "error" in message:  # the server could not read a message of ours
            self._fail(f"the server could not read a message: {message['error'].get('message')}")
            return
        if not isinstance(request_id, int):
            return
        answer = self._pending.pop(request_id, None)
        arrived = self._arrived.pop(request_id, None)
        if answer is None or answer.done():
            # Its task is cancelled, perhaps in this turn of the loop, and does not know it yet.
            late = self._late.pop(request_id, None)
            if late:
                late(message)
            return
        if "error" in message:
            answer.set_exception(RequestError(message["error"]))
        else:
            result = message.get("result")
            if not self.speaks and isinstance(result, dict) and "protocolVersion" in result:
                self.speaks = True
                self._limit = result.get("limits", {}).get("maxMessageBytes", _DEFAULT_LIMIT)
            answer.set_result(result)
            if arrived:
                arrived()

    async def _answer(self, question: Dict[str, Any]) -> None:
        """Answers a request of the server. It is cancelled if the server withdraws it."""
        reply: Dict[str, Any] = {"error": {"code": -32603, "message": "the client's callback failed"}}
        try:
            reply = await self._on_question(question["method"], question.get("params", {}))
        finally:  # also if the callback cancels itself: a question that goes unanswered holds up the server
            asked = self._questions.pop(question["id"], None)
            if asked and not self.ended.done():
                self._stdin.write(self._reply(question, reply))

    def _reply(self, question: Dict[str, Any], reply: Dict[str, Any]) -> bytes:
        try:
            return self._encode({"id": question["id"], **reply})
        except Exception as error:  # its text may hold a secret
            problem = f"the callback for {question['method']} returned what cannot be sent: {type(error).__name__}"
            logging.getLogger("shelld").error("%s; it counts as no", problem)
            return self._encode({"id": question["id"], "error": {"code": -32603, "message": problem}})

    def _fail(self, problem: str) -> None:
        self._problem = problem
        self._kill()

    def _kill(self) -> None:
        if self._transport.get_returncode() is None and not self.owner.forked:
            try:
                # What is no shelld ends with all that it has started. The keepers of a shelld must live on: they
                # end its jobs.
                if self.speaks or sys.platform == "win32":
                    self._transport.kill()
                else:
                    os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended, which the transport does not know yet

    def _finish(self) -> None:
        """Rejects what is pending, once the server has ended."""
        if self.ended.done():
            return
        self.ended.set_result(None)
        self._transport.close()
        self.resume_writing()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(self._failure())
                answer.exception()  # it is no mistake if nothing waits for it any more
        self._pending.clear()
        self._late.clear()
        self._arrived.clear()
        for task in self._questions.values():
            task.cancel()
        self._questions.clear()
        self._on_end(self._failure())


def _path(value: object) -> str:
    """Returns a path as a text."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"a message cannot have {value!r:.100}, a {type(value).__name__}: use a str in its place")


def server_environment(env: Optional[Mapping[str, str]]) -> Optional[Dict[str, str]]:
    """Returns the server's environment: this process's, and env on top of it."""
    return None if env is None else {**os.environ, **env}
