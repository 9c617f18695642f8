"""What the methods of a server and a job return."""
from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union, cast

if TYPE_CHECKING:
    from . import protocol

Command = Union[str, Sequence[Union[str, "os.PathLike[str]"]]]
"""A line for the shell, or a program and its arguments, which run without one."""


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it wrote. An exit code other than 0 is no error: test ok, or use check=True."""

    exit_code: Optional[int]
    """None if a signal or a time limit ended it."""
    signal: Optional[str]
    """The signal that ended it, such as "SIGTERM"."""
    stdout: str
    """What it wrote; of a command on a terminal (mode="pty") all of it."""
    stderr: str
    timed_out: bool
    """Whether timeout ended it, with all that it had started."""
    truncated: bool
    """Whether the middle of the output is left out, since it is longer than maxBytes (1 MiB)."""
    raw: protocol.JobRunResult = field(repr=False)
    """The answer as it came."""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit code 0: a command that was ended may have it as well."""
        end = self.raw["exit"]
        return bool(end) and end["reason"] == "exited" and self.exit_code == 0 and not self.timed_out

    @property
    def job(self) -> int:
        """The handle of its job."""
        return self.raw["job"]["handle"]

    @property
    def background(self) -> bool:
        """Whether something of it was alive when this was returned: shelld.job(result.job).kill() ends that."""
        return self.raw["job"]["status"] != "closed"


def result_of(raw: protocol.JobRunResult) -> Result:
    end = raw["exit"]
    return Result(
        exit_code=end["code"] if end else None,
        signal=end["signal"] if end else None,
        stdout=raw.get("stdout", raw.get("output", "")),
        stderr=raw.get("stderr", ""),
        timed_out=raw["timedOut"] or bool(end and end["reason"] == "timeout"),
        truncated="truncated" in raw,
        raw=raw,
    )


@dataclass(frozen=True)
class Execution:
    """How a command of a shell ended, and what it wrote."""

    output: str
    exit_code: Optional[int]
    """That of the shell if it has ended with the command (exit 7). None if the command has not ended, or has none."""
    cwd: Optional[str]
    """The shell's directory after it."""
    finished: bool
    """False if it goes on: it asks, or on_timeout is "leave"."""
    timed_out: bool
    truncated: bool
    """Whether the middle of the output is left out, since it is longer than maxBytes (16 KiB)."""
    ran: bool
    """False if it never began: the time was over while the shell was busy, or was starting."""
    question: Optional[protocol.WaitingForInput]
    """With input=True: the question for which this was returned, and not for the command's end."""
    raw: protocol.JobExecResult = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.exit_code == 0 and not self.timed_out


def execution_of(raw: protocol.JobExecResult) -> Execution:
    outcome, ran, code = raw["outcome"], "range" in raw, raw["exitCode"]
    end = outcome["job"].get("exit")
    if code is None and ran and end and end["reason"] == "exited":
        code = end["code"]
    return Execution(
        output=raw["output"],
        exit_code=code,
        cwd=raw.get("cwd"),
        finished=raw["finished"],
        timed_out=outcome["reason"] == "timeout",
        truncated="truncated" in raw,
        ran=ran,
        question=outcome["job"].get("waitingForInput") if outcome["reason"] == "input" else None,
        raw=raw,
    )


@dataclass(frozen=True)
class Answer:
    """How a wait ended, and what the job wrote meanwhile."""

    reason: str
    """What ended the wait: "exit", "closed", "pattern", "input", "quietMs", "bytes", "port", "portInUse", "command",
    "timeout" or "patternFailed"."""
    text: str
    """The output since the last wait, without escape sequences; behind answer that since the line, without its echo. Of
    a job on pipes it is stderr and then stdout."""
    match: Optional[protocol.Match]
    """What the pattern or the port has found."""
    question: Optional[protocol.WaitingForInput]
    """The question that the program asks, if it waits for input."""
    exit: Optional[protocol.Exit]
    """How the job ended, if it has."""
    screen: str
    """With screen=True: the rows of the terminal, which are "" otherwise."""
    raw: protocol.Outcome = field(repr=False)

    @property
    def stdout(self) -> str:
        """The part of text that is stdout; of a job on a terminal, which has one stream, all of it."""
        return self._text("stdout") or self._text("pty")

    @property
    def stderr(self) -> str:
        """The part of text that is stderr; of a job on a terminal ""."""
        return self._text("stderr")

    def _text(self, stream: str) -> str:
        output = self.raw["output"].get(stream)
        return output.get("text", "") if output else ""

    @property
    def truncated(self) -> bool:
        """Whether the middle of a stream's text is left out, since it is longer than maxBytes (16 KiB)."""
        return any("truncated" in stream for stream in self.raw["output"].values())

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code; None if the command has not ended, or was ended without one, as by a signal: exit has that."""
        return self.exit["code"] if self.exit else None

    @property
    def signal(self) -> Optional[str]:
        """The signal that ended the command, such as "SIGTERM"; None if none has."""
        return self.exit["signal"] if self.exit else None

    @property
    def running(self) -> bool:
        """Whether the command has not ended."""
        return self.exit is None

    @property
    def prompt(self) -> str:
        """The prompt of the question; "" if nothing is asked."""
        return self.question.get("prompt", "") if self.question else ""

    @property
    def offsets(self) -> Dict[str, int]:
        """For each stream, where text ends in it: a reader of output() has text when its pieces have come that far."""
        return {name: stream["nextOffset"] for name, stream in self.raw["output"].items()}

    @property
    def port(self) -> int:
        """The port that was waited for; 0 if there is none."""
        return self.match.get("port", 0) if self.match else 0

    @property
    def timed_out(self) -> bool:
        """Whether the time limit ended the wait, and none of its conditions."""
        return self.reason == "timeout"


def answer_of(raw: protocol.Outcome) -> Answer:
    screen = raw.get("screen")
    asked = raw["job"].get("waitingForInput")
    return Answer(
        reason=raw["reason"],
        text="".join(stream.get("text", "") for stream in raw["output"].values()),
        match=raw.get("match"),
        question=asked if asked and asked["waiting"] else None,
        exit=raw["job"].get("exit"),
        screen="\n".join(screen["lines"]) if screen else "",
        raw=raw,
    )


@dataclass(frozen=True)
class Screen:
    """What a job's terminal shows."""

    lines: List[str]
    cursor: Tuple[int, int]
    """Row and column, from 0."""
    cols: int
    rows: int
    title: str
    alternate: bool
    """Whether a full-screen program has switched to the alternate screen."""
    raw: protocol.JobScreenResult = field(repr=False)

    @property
    def text(self) -> str:
        """The rows, without the blanks at their ends."""
        return "\n".join(self.lines)


def screen_of(raw: protocol.JobScreenResult) -> Screen:
    cursor = raw.get("cursor")
    return Screen(
        lines=raw.get("lines", []),
        cursor=(cursor["row"], cursor["col"]) if cursor else (0, 0),
        cols=raw.get("cols", 0),
        rows=raw.get("rows", 0),
        title=raw.get("title", ""),
        alternate=raw.get("alternate", False),
        raw=raw,
    )


@dataclass(frozen=True)
class Output:
    """A piece of a job's output. Pieces of a stream join without loss, except at a gap."""

    stream: str
    """"pty", "stdout" or "stderr"."""
    offset: int
    """Where data begins in the stream, in bytes."""
    data: bytes
    gap: Optional[protocol.Gap] = None
    """The bytes ahead of this piece that are not kept any more."""


class Until(TypedDict, total=False):
    """What ends a wait. The first that holds does, and the end of the job does in any case."""

    pattern: Union[str, "re.Pattern[str]"]
    """An ECMAScript regular expression is found in the output; of a compiled one the flags i, m and s count."""
    port: int
    """The job listens on this TCP port; 0: on any. If another process does: reason "portInUse"."""
    input: Union[bool, protocol.InputCondition]
    """The program waits for input; with {"kinds": [...]} of one of these kinds."""
    exit: bool
    """The job's command has ended."""
    closed: bool
    """The command and all that it started have ended."""
    quiet: float
    """Nothing was written for so many seconds."""
    bytes: int
    """So many bytes came."""
    command: int
    """The shell's command with this commandId has ended."""
    from_: protocol.WaitFrom
    """From where on output counts: an offset, "start", "now" or "unread"."""


def wait_of(until: Until, timeout: Optional[float], screen: bool, maxBytes: Optional[int]) -> protocol.Wait:
    """The wait of the protocol. With screen, the pattern looks at the screen, and the answer has it as well."""
    conditions: List[Dict[str, Any]] = []
    for name, value in cast(Mapping[str, Any], until).items():
        if name == "pattern":
            conditions.append({**pattern_of(value), "on": "screen" if screen else "plain"})
        elif name == "quiet":
            conditions.append({"quietMs": milliseconds(value)})
        elif name != "from_" and value is not False and value is not None:
            conditions.append({name: value})
    wait: Any = {"until": conditions, "timeoutMs": milliseconds(timeout)}
    wait.update({"format": "screen"} if screen else {"stripEcho": True})
    if maxBytes is not None:
        wait["maxBytes"] = maxBytes
    if "from_" in until:
        wait["from"] = until["from_"]
    return wait


def exec_wait_of(given: Optional[protocol.ExecWait], asks: object, maxBytes: Optional[int]) -> Dict[str, Any]:
    """The wait of an exec, as its params have it: the given one, with the other two arguments."""
    wait: Dict[str, Any] = dict(given or {})
    if asks is not None:
        wait["until"] = [*wait.get("until", ()), {"input": asks}]
    if maxBytes is not None:
        wait["maxBytes"] = maxBytes
    return {"wait": wait} if wait else {}


def pattern_of(pattern: Any) -> Dict[str, Any]:
    """The members of a params for a pattern, with the flags of a compiled one."""
    if not isinstance(pattern, re.Pattern):
        return {"pattern": pattern}
    flags = (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL))
    return {"pattern": pattern.pattern, "flags": "".join(letter for letter, flag in flags if pattern.flags & flag)}


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    """The protocol's form of a time; None: no limit."""
    return None if seconds is None else round(seconds * 1000)


def limit_of(timeout: Optional[float], options: Mapping[str, Any]) -> Optional[int]:
    """The time limit: timeout in seconds, or the protocol's timeoutMs."""
    if "timeoutMs" not in options:
        return milliseconds(timeout)
    if timeout is not None:
        raise TypeError("timeout and timeoutMs are both given: use one")
    return cast(Optional[int], options["timeoutMs"])


def command_of(command: Optional[Command]) -> Dict[str, Any]:
    """The members of a start for a command; none for an interactive shell."""
    if command is None:
        return {}
    if isinstance(command, (bytes, bytearray, os.PathLike)):
        raise TypeError(f"the command {command!r:.100} is no command: give a str, a line for the shell, or a list, a program and its arguments")
    return {"command": command} if isinstance(command, str) else {"argv": list(command)}


_LONGEST_LINE = 1 << 20


class LineSplitter:
    """Joins the pieces of one stream, and splits them into lines, without their ends.

    A line of more than 1 MiB is broken, so that memory stays flat: into lines of so many characters.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: List[str] = []
        self._length = 0  # of the rest

    def feed(self, piece: Output) -> List[str]:
        """Returns the lines that are complete with this piece. A gap is a line that says so."""
        lines: List[str] = []
        if piece.gap:
            start, end = piece.gap["from"], piece.gap["to"]
            lines = [*self.end(), f"[shelld: {end - start} bytes omitted here, offsets {start} to {end}]"]
        first, *others = self._decoder.decode(piece.data).split("\n")
        self._append(first)
        if others:
            complete = [self._take(), *others[:-1]]
            self._append(others[-1])
            for line in complete:
                lines += _broken(line.rstrip("\r"))
        if self._length > _LONGEST_LINE + 1:
            rest = self._take()
            end = (len(rest) - 2) // _LONGEST_LINE * _LONGEST_LINE  # the last character may be the CR of its end
            lines += _broken(rest[:end])
            self._append(rest[end:])
        return lines

    def end(self) -> List[str]:
        """Returns the last line, if it has no end."""
        self._append(self._decoder.decode(b"", final=True))
        rest = self._take()
        return _broken(rest.rstrip("\r")) if rest else []

    def _append(self, text: str) -> None:
        self._rest.append(text)
        self._length += len(text)

    def _take(self) -> str:
        rest = "".join(self._rest)
        self._rest.clear()
        self._length = 0
        return rest


def _broken(line: str) -> List[str]:
    """Returns a line in pieces of the longest length."""
    if len(line) <= _LONGEST_LINE:
        return [line]
    return [line[at : at + _LONGEST_LINE] for at in range(0, len(line), _LONGEST_LINE)]


def failure_of(command: object, raw: Mapping[str, Any], result: Union[Result, Execution]) -> str:
    """The message of an ExitError."""
    if isinstance(result, Result) and result.signal is not None:
        how = f"was ended by {result.signal}"
    elif result.timed_out:
        began = isinstance(result, Result) or result.ran
        how = "did not end in time" if began else "did not begin in time: the shell was busy"
    elif isinstance(result, Result) and result.exit_code == 0:
        end = result.raw["exit"]
        how = f"was ended: {end['reason'] if end else 'unknown'}"
    else:
        how = f"ended with exit code {result.exit_code}"
    text = (result.stderr or result.stdout) if isinstance(result, Result) else result.output
    suggestions = raw.get("hint", {}).get("suggestions")
    meant = f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""
    return f"{command!r} {how}{meant}" + (f": {text.strip()[-2000:]}" if text.strip() else "")
