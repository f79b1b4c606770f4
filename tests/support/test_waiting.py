"""A test that waits ends with what it waits for, fails when that never comes, and leaves no process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import waiting
from tests.support.waiting import end, is_alive, until


def test_what_is_waited_for_is_given_back() -> None:
    looks: list[int] = []
    assert until(lambda: looks.append(1) or (len(looks) > 2 and "here")) == "here"
    assert len(looks) == 3


def test_what_never_comes_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    with pytest.raises(AssertionError, match="nobody came"):
        until(lambda: False, lambda: "nobody came")


def test_a_process_that_was_ended_is_not_alive_though_nobody_has_asked_for_its_status() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert is_alive(process.pid)
        end(process.pid)
        assert process.returncode is None
        assert not is_alive(process.pid)
    end(process.pid)
