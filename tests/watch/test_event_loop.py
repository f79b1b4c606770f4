"""One thread waits for many descriptors; any other adds one, takes one away, or wakes it."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator

import pytest

from cairn.watch.event_loop import EventLoop
from tests.support.waiting import PATIENCE


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


@pytest.fixture(params=["epoll", "none"])
def ears(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventLoop[str]]:
    if request.param == "none":
        monkeypatch.delattr(select, "epoll")
    found: EventLoop[str] = EventLoop()
    yield found
    found.close()
    found.close()


def test_whoever_is_woken_goes_on(ears: EventLoop[str]) -> None:
    heard: list[list[str]] = []
    thread = threading.Thread(target=lambda: heard.append(ears.wait(2 * PATIENCE)))
    thread.start()
    ears.wake()
    thread.join(PATIENCE)
    assert heard == [[]]
    assert ears.wait(0.0) == []


def test_a_descriptor_that_has_something_to_say_is_heard(pipe: tuple[int, int]) -> None:
    ears: EventLoop[str] = EventLoop()
    try:
        ears.listen("a", pipe[0])
        ears.listen("a", pipe[0])
        assert ears.wait(0.0) == []
        os.write(pipe[1], b"x")
        assert ears.wait(PATIENCE) == ["a"]
        ears.forget("a")
        assert ears.wait(0.0) == []
    finally:
        ears.close()
    ears.listen("a", pipe[0])
    ears.wake()
