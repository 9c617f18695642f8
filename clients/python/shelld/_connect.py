"""connect, the way in."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Generator, Mapping, Optional, Sequence

from ._client import AsyncShelld, Confirm, Secret
from ._loop import LoopThread
from ._sync import Shelld

if TYPE_CHECKING:
    import sys

    from .protocol import InitializeOptions

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack


class Connecting:
    """A server that is about to be started: use it with "with", "async with", "await" or open()."""

    def __init__(self, *args: Any) -> None:
        self._args = args

    def __await__(self) -> Generator[Any, None, AsyncShelld]:
        return AsyncShelld._connect(*self._args).__await__()

    async def __aenter__(self) -> AsyncShelld:
        self._async = await self
        return self._async

    async def __aexit__(self, *_: object) -> None:
        await self._async.close()

    def open(self) -> Shelld:
        """Returns a blocking client. close() ends it."""
        loop = LoopThread()
        try:
            return Shelld(loop, loop.call(AsyncShelld._connect(*self._args)))
        except BaseException:
            loop.close()
            raise

    def __enter__(self) -> Shelld:
        self._sync = self.open()
        return self._sync

    def __exit__(self, *_: object) -> None:
        self._sync.close()


def connect(
    path: Optional[str] = None,
    *,
    args: Sequence[str] = (),
    env: Optional[Mapping[str, str]] = None,
    secret: Optional[Secret] = None,
    confirm: Optional[Confirm] = None,
    log: Optional[Callable[[str], None]] = None,
    connect_timeout: float = 30,
    **initialize: Unpack[InitializeOptions],
) -> Connecting:
    """Starts a server, and ends it with all its jobs at the end of the block.

    "with connect() as shelld" is a blocking client, "async with connect() as shelld" one for asyncio, with the same
    names.

    path: the program; otherwise $SHELLD, the one in this package, or shelld on PATH. args: its arguments, such as
    ["serve", "-log", "debug"]. env: variables on top of this process's own.
    secret: is asked when a program wants a password, and returns it, or None; no one else sees it.
    confirm: is asked before anything is started or typed (see options.confirm), and returns "once", "always" or "deny".
    Both may be functions, which run in a thread, or coroutine functions.
    log: takes what the server logs. connect_timeout: seconds for the server's first answer.
    All other arguments are params of initialize, such as rootDirectory and options.
    """
    return Connecting(path, args, env, secret, confirm, log, connect_timeout, initialize)
