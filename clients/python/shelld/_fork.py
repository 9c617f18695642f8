"""Forks of this process: they must not keep its servers alive, nor use its clients."""
from __future__ import annotations

import os
import weakref
from typing import IO, TYPE_CHECKING

from ._errors import ForkedClient

if TYPE_CHECKING:
    from ._connection import Connection

_connections: "weakref.WeakSet[Connection]" = weakref.WeakSet()


class Owner:
    """The process that has connected."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of it."""
        return os.getpid() != self._pid

    def check(self) -> None:
        """Raises in a fork."""
        if self.forked:
            raise ForkedClient(
                f"this process is a fork of process {self._pid}, whose client and jobs these are: "
                "connect here again, or have multiprocessing use spawn"
            )


def watch(connection: "Connection") -> None:
    """Has forks of this process give up the pipes of a server, which ends at the end of the last holder of its stdin."""
    _connections.add(connection)


def _after_fork() -> None:
    for connection in _connections:
        for pipe in connection.pipes:
            if pipe is not None and not pipe.closed:
                _give_up(pipe)


def _give_up(pipe: "IO[bytes]") -> None:
    """Puts /dev/null in the place of a pipe: the event loop, which is copied, goes on using the descriptor's number."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
    except OSError:  # there is no descriptor left
        pipe.close()
        return
    os.dup2(null, pipe.fileno(), inheritable=False)
    os.close(null)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
