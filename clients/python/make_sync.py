"""Writes shelld/_sync.py, the blocking client, from shelld/_client.py: python3 make_sync.py

Each public method of a class there becomes one that waits for it, with the same arguments and description.
"""
import ast
import pathlib

PACKAGE = pathlib.Path(__file__).parent / "shelld"
CLASSES = {"AsyncShelld": "Shelld", "AsyncJob": "Job"}
NAMES = {"AsyncJob": "Job", "AsyncShelld": "Shelld", "AsyncStarting": "Job", "AsyncStream": "Stream", "AsyncRequests": "Requests"}

HEADER = '''# Generated from _client.py by make_sync.py. DO NOT EDIT.
"""The blocking client: the names of _client.py, without await."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, Union

from . import _client
from ._errors import ServerEnded
from ._loop import LoopThread, Stream
from ._requests import Requests

if TYPE_CHECKING:
    import sys

    from . import protocol
    from ._results import Answer, Command, Execution, Output, Result, Screen, Until
    from .protocol import JobExecOptions, JobRunOptions, JobSearchOptions, JobStartOptions, JobWriteOptions

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack


async def _started(starting: _client.AsyncStarting) -> _client.AsyncJob:
    return await starting
'''

CONSTRUCTOR = '''
    def __init__(self, loop: LoopThread, client: _client.{source}) -> None:
        self._loop = loop
        self._async = client

    def __enter__(self) -> "{name}":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
'''

CLOSE = '''        if not self._loop.closed:
            try:
                {call}
            except ServerEnded:
                pass  # another thread has closed it meanwhile
            finally:
                self._loop.close()
'''

JOB_CLOSE = '''        try:
            {call}
        except ConnectionError:
            pass  # the server's end has ended it, or this process is a fork
'''

REQUEST = '''
    def _request(self, method: str, params: Optional[Mapping[str, Any]]) -> Any:
        return self._loop.call(self._async._request(method, params))
'''


def arguments(function):
    """The arguments of a function, as they are passed on."""
    spec = function.args
    passed = [a.arg for a in spec.posonlyargs + spec.args][1:]
    passed += ["*" + spec.vararg.arg] if spec.vararg else []
    passed += ["%s=%s" % (a.arg, a.arg) for a in spec.kwonlyargs]
    passed += ["**" + spec.kwarg.arg] if spec.kwarg else []
    return ", ".join(passed)


def renamed(text):
    for old, new in NAMES.items():
        text = text.replace(old, new)
    return text


def signature(function, lines):
    """The text from the name to the colon ahead of the description."""
    text = "\n".join(lines[function.lineno - 1 : function.body[0].lineno - 1])
    return renamed(text.replace("async def", "def"))


def body(function, returns):
    call = "self._async.%s(%s)" % (function.name, arguments(function))
    if "property" in [getattr(d, "id", None) for d in function.decorator_list]:
        return "return " + call[: call.index("(")]
    if returns == "AsyncStarting":
        return "return Job(self._loop, self._loop.call(_started(%s)))" % call
    if returns.strip('"') == "AsyncJob":
        return "return Job(self._loop, self._loop.call(%s))" % call
    if returns.startswith("AsyncStream"):
        return "return Stream(self._loop, self._loop.make(lambda: %s))" % call
    return ("" if returns == "None" else "return ") + "self._loop.call(%s)" % call


def method(function, source, lines, owner):
    returns = ast.get_source_segment(source, function.returns)
    text = "".join("    @%s\n" % d.id for d in function.decorator_list)
    text += signature(function, lines) + "\n"
    description = function.body[0]
    text += "\n".join(lines[description.lineno - 1 : description.end_lineno]) + "\n"
    call = body(function, returns)
    if function.name == "close" and owner == "AsyncShelld":
        return text + CLOSE.format(call=call)  # the loop ends with the server
    if function.name == "close":
        return text + JOB_CLOSE.format(call=call)
    return text + "        " + call + "\n"


def generated():
    """The text of _sync.py."""
    source = (PACKAGE / "_client.py").read_text()
    lines = source.splitlines()
    out = HEADER
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef) or node.name not in CLASSES:
            continue
        name = CLASSES[node.name]
        base = "(Requests)" if name == "Shelld" else ""
        what = (ast.get_docstring(node) or "").replace(", for asyncio", "")
        out += '\n\nclass %s%s:\n    """%s"""\n' % (name, base, what)
        out += CONSTRUCTOR.format(source=node.name, name=name)
        for function in node.body:
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.name.startswith("_"):
                continue
            out += "\n" + method(function, source, lines, node.name)
        out += REQUEST if base else ""
    return out


if __name__ == "__main__":
    (PACKAGE / "_sync.py").write_text(generated())
