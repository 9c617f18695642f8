"""A client for shelld, which runs shell jobs: for asyncio, and blocking.

    from shelld import connect

    with connect() as shelld:
        print(shelld.run("ls").stdout)
"""
from ._client import AsyncJob, AsyncShelld, AsyncStream
from ._connect import connect
from ._errors import (
    ConnectError,
    ExitError,
    ForkedClient,
    MessageTooLarge,
    NotShelld,
    ProtocolError,
    RequestError,
    ServerEnded,
    ServerNotFound,
    ShelldError,
    UnsupportedPlatform,
    UnsupportedVersion,
)
from ._find import find_server
from ._loop import Stream
from ._results import Answer, Command, Execution, Output, Result, Screen
from ._sync import Job, Shelld

__all__ = [
    "Answer",
    "AsyncJob",
    "AsyncShelld",
    "AsyncStream",
    "Command",
    "ConnectError",
    "Execution",
    "ExitError",
    "ForkedClient",
    "Job",
    "MessageTooLarge",
    "NotShelld",
    "Output",
    "ProtocolError",
    "RequestError",
    "Result",
    "Screen",
    "ServerEnded",
    "ServerNotFound",
    "Shelld",
    "ShelldError",
    "Stream",
    "UnsupportedPlatform",
    "UnsupportedVersion",
    "connect",
    "find_server",
]
