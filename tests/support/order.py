"""Tests that load gRPC come last, in whatever order the others are.

A process with threads of gRPC forks no worker that parses, as the command that a person types forks them: each is a
Python of its own from then on, which costs what ten small tests cost. So every test that came behind would pay.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

_IMPORTS = ("from tests.engine", "from tests.sync.team")
_NAME = "milvus"


def with_grpc_last(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests, those that ask a search server behind all others and else in their order."""
    return sorted(items, key=loads_grpc)


def loads_grpc(item: pytest.Item) -> bool:
    """Whether a test asks a search server: its file has the tools for that, or its text names one."""
    imports, names = _says(item.path)
    return imports or (names and isinstance(item, pytest.Function) and _NAME in inspect.getsource(item.function))


@cache
def _says(path: Path) -> tuple[bool, bool]:
    """Whether a file of tests has the tools to ask a search server, and whether it names one."""
    text = path.read_text("utf-8")
    return any(line.startswith(_IMPORTS) for line in text.splitlines()), _NAME in text
