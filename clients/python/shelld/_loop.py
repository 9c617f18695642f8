"""What the blocking client stands on: an event loop in a thread of its own."""
from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any, Callable, Coroutine, Deque, Generic, Iterator, TypeVar
from collections import deque

from ._client import AsyncStream
from ._errors import ServerEnded, ShelldError
from ._fork import Owner

T = TypeVar("T")


class LoopThread:
    """Runs an event loop until close. It ends with the process, too: the thread is a daemon."""

    def __init__(self) -> None:
        self._owner = Owner()
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # guards _closed: what is called before it is set ends with the loop
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="shelld", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether close was called. In a fork, which has no thread of the loop, it counts as called."""
        return self._closed or self._owner.forked

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for a coroutine's result. An interrupt (Ctrl-C) cancels it, which withdraws its request."""
        if self._owner.forked:
            work.close()
            self._owner.check()
        if threading.current_thread() is self._thread:
            work.close()
            raise _called_by_a_coroutine()
        with self._lock:
            if self._closed:
                work.close()
                raise _closed()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException as error:
            future.cancel()
            if isinstance(error, concurrent.futures.CancelledError) and self._closed:
                raise _closed() from None
            raise

    def make(self, function: Callable[[], T]) -> T:
        """Calls a function in the loop's thread."""

        async def work() -> T:
            return function()

        return self.call(work())

    def close(self) -> None:
        """Ends the loop, with what still runs in it."""
        if threading.current_thread() is self._thread:
            raise _called_by_a_coroutine()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ended = asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
        ended.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()  # type: ignore[union-attr]
        await asyncio.gather(*others, return_exceptions=True)  # type: ignore[arg-type]
        await self._loop.shutdown_asyncgens()


def _closed() -> ServerEnded:
    return ServerEnded("the connection is closed: connect again")


def _called_by_a_coroutine() -> ShelldError:
    return ShelldError("a coroutine has called the blocking client: use an ordinary function, or connect() with await")


class Stream(Generic[T]):
    """An iterator over what comes from the server. It may be left at any time; close leaves it at once."""

    def __init__(self, loop: LoopThread, stream: AsyncStream[T]) -> None:
        self._loop = loop
        self._stream = stream
        self._items: Deque[T] = deque()  # all that is there is taken at once, since a change of threads costs

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if not self._items:
            try:
                self._items.extend(self._loop.call(self._stream.next_batch()))
            except StopAsyncIteration:
                raise StopIteration from None
        return self._items.popleft()

    def close(self) -> None:
        """Ends the iteration."""
        self._items.clear()
        try:
            self._loop.call(self._stream.aclose())
        except ConnectionError:
            pass  # the server's end has ended it, or this process is a fork
