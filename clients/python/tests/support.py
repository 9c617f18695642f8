"""What the tests share. The server is the one that the environment variable SHELLD names."""
import contextlib
import itertools
import logging.handlers
import os
import pathlib
import queue
import select
import sys
import unittest

PACKAGE = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(PACKAGE))

WATCHDOG_S = 60  # bounds what would otherwise wait forever

# The loop of a test is in debug mode, and warns of each callback that a busy machine delays.
logging.getLogger("asyncio").setLevel(logging.ERROR)

_numbers = itertools.count(1)


def marker():
    """Returns a command line whose process can be found, and runs for an hour."""
    return f"sleep 3600.{os.getpid()}{next(_numbers):04d}"


def processes(command):
    """Returns the pids of the processes with this command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b" ".join(words).strip() == command.encode():
                found.append(int(entry))
    return found


def wait_until_gone(*pids):
    """Returns when these processes have ended; fails after a minute."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([descriptor], [], [], WATCHDOG_S)[0]:
                raise AssertionError(f"process {pid} is still there")
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def logged():
    """A queue of what the package logs, in place of the usual output."""
    records = queue.Queue()
    handler = logging.handlers.QueueHandler(records)
    handler.prepare = lambda record: record
    logger = logging.getLogger("shelld")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


async def settle(client):
    """Returns when the server has answered all requests, the withdrawn ones too.

    For each withdrawn start that is answered all the same the client sends a kill: hence two rounds.
    """
    for _ in range(2):
        while client._connection._late or (await client.request("server/stats"))["connection"]["requestsInFlight"] > 1:
            await client.request("server/stats")


def descriptors(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


def environment():
    """The environment of a client in a process of its own."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


needs_linux = unittest.skipUnless(sys.platform == "linux", "looks into /proc")
