"""Fixtures of every room that serves: a workspace over a small tree, empty or indexed, each in a place of its own.

The `conftest.py` of such a room imports them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.core.clock import SystemClock
from tests.support.servers import Agent, indexed_agent
from tests.support.waiting import until
from tests.sync.desk import extract_here


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Threads of ours that a test has started have ended when the next one begins."""
    before = set(threading.enumerate())
    yield

    def left() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one not in before and one.name.startswith("cairn ")]

    until(lambda: not left(), left)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    found = Agent(tmp_path)
    yield found
    found.close()


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Agent]:
    """An agent whose tree is indexed."""
    found = indexed_agent(tmp_path)
    yield found
    found.close()


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are parsed in this process: to start a worker for each test would take longer than all else in it."""
    extract_here(monkeypatch, SystemClock())
