"""Finds the server's program."""
from __future__ import annotations

import os
import platform
import shutil
import sys
from typing import Optional

from ._errors import ServerNotFound

_NAME = "shelld.exe" if sys.platform == "win32" else "shelld"


def find_server(path: Optional[str] = None) -> str:
    """Returns the path of the server's program.

    The first of these that is given or there: path, $SHELLD, the program in this package, shelld on PATH.
    """
    if path:
        return _existing(path, "connect")
    if os.environ.get("SHELLD"):
        return _existing(os.environ["SHELLD"], "the environment variable SHELLD")
    bundled = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", _NAME)
    if os.path.isfile(bundled):
        return bundled
    found = shutil.which("shelld")
    if found:
        return os.path.abspath(found)
    raise ServerNotFound(
        f"there is no shelld on PATH, and none for {sys.platform} {platform.machine()} in this package: build one with "
        "go build ./cmd/shelld, and name it with SHELLD or connect(path=...)",
        "shelld",
    )


def _existing(path: str, source: str) -> str:
    """Returns the absolute path of a program that the user has named."""
    found = shutil.which(path)
    if found:
        return os.path.abspath(found)
    if os.path.isdir(path):
        problem = "is a directory"
    elif os.path.exists(path):
        problem = "is not executable"
    else:
        problem = "does not exist"
    raise ServerNotFound(f"{path}, named by {source}, {problem}: name the program shelld there", path)
