"""What the callers of a job know of its program's waits for input."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional

from ._errors import RequestError

if TYPE_CHECKING:
    from . import protocol

_INPUT_NOT_EXPECTED = -32023


class Questions:
    """Has an answer reach only the question that was reported last, and never one that nobody has seen."""

    def __init__(self) -> None:
        self._guarded = False  # a question was asked for, or answered
        self._waiting: Optional[str] = None  # the wait that was reported last, and has no answer

    def next(self, handle: int) -> Optional[str]:
        """Returns the waitId that an answer is for; None: any, since no question was asked for yet."""
        if self._guarded and self._waiting is None:
            message = (
                "the last answer has no question, and nothing was typed: "
                "call question() first, or use write() with appendNewline=True to type ahead"
            )
            raise RequestError({"code": _INPUT_NOT_EXPECTED, "message": message, "data": {"kind": "inputNotExpected", "handle": handle}})
        self._guarded = True
        return self._waiting

    def answered(self) -> None:
        self._waiting = None

    def note(self, outcome: protocol.Outcome, until: Iterable[Mapping[str, Any]]) -> None:
        """Takes the question of an outcome. Without one, an older question stays: if it is over, the server refuses its answer."""
        asked = outcome["job"].get("waitingForInput")
        waiting = asked.get("waitId") if asked else None
        if outcome["job"].get("exit"):
            self._guarded, self._waiting = False, None  # the server refuses all input, and says why
        elif outcome["reason"] == "input" and waiting:
            self._guarded, self._waiting = True, waiting
        elif any(condition.get("input") for condition in until):
            self._guarded = True
