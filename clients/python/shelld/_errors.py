"""The errors of the package. Each says what failed and what to do."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, cast

if TYPE_CHECKING:
    from ._results import Execution, Result
    from .protocol import Kind


class ShelldError(Exception):
    """The base of all errors of this package."""


class RequestError(ShelldError):
    """The server answered a request with an error. Decide by kind; the message is for people."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("message", "the server answered with an error without a message"))
        self.code: int = error.get("code", 0)
        self.data: Dict[str, Any] = error.get("data") or {}

    @property
    def kind(self) -> Optional[Kind]:
        """The stable name of the error, such as "jobNotFound"."""
        return cast("Optional[Kind]", self.data.get("kind"))


class MessageTooLarge(ShelldError):
    """A request is longer than the server takes. It was not sent; the connection and its jobs go on.

    size is the length of the message in bytes, limit the server's maxMessageBytes (connect: options.limits).
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the message has {size} bytes, and the server takes {limit}: send less at once, or raise maxMessageBytes")
        self.size = size
        self.limit = limit


class ExitError(ShelldError):
    """A command with check=True did not end with exit code 0. result has its output."""

    def __init__(self, message: str, result: "Result | Execution") -> None:
        super().__init__(message)
        self.result = result


class ServerEnded(ShelldError, ConnectionError):
    """The server ended, or the connection was closed, before a request was answered.

    Its jobs have ended as well. status is the server's exit status, None if it is not known; negative: the signal.
    stderr is the end of what it logged.
    """

    def __init__(self, message: str, status: Optional[int] = None, stderr: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.stderr = stderr


class ForkedClient(ShelldError, ConnectionError):
    """A fork of the process that has connected called its client, which the fork cannot use."""


class ProtocolError(ServerEnded):
    """Something that is no message of the protocol came from the server, which was ended for it."""


class ConnectError(ShelldError):
    """The server could not be started. path is its program."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class ServerNotFound(ConnectError):
    """There is no such program, or it may not be run."""


class NotShelld(ConnectError):
    """The program runs, and does not speak the protocol."""


class UnsupportedPlatform(ConnectError):
    """The program is made for another system or processor, or this system cannot run it."""


class UnsupportedVersion(ConnectError):
    """The server speaks another version of the protocol."""
