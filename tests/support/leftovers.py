"""No test changes the process for those after it: its file mask, its folder, its signals and its environment."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

from tests.support.forker import file_mask

__all__ = ["Leftovers"]

_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)
# Written by pytest itself as a test goes on.
_OF_PYTEST = "PYTEST_CURRENT_TEST"


class Leftovers:
    """Fails the teardown of a test after which the process is not as it was before."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        item.stash[_BEFORE] = shared_state()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        before, after = item.stash[_BEFORE], shared_state()
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed:
            restore(before)
            said = "; ".join(f"{name}: {before.get(name)!r} became {after.get(name)!r}" for name in changed)
            pytest.fail(f"The test leaves the process changed for those after it: {said}", pytrace=False)


_BEFORE = pytest.StashKey[dict[str, object]]()


def shared_state() -> dict[str, object]:
    """Return by name what all tests of a process share."""
    found: dict[str, object] = {f"variable {name}": text for name, text in os.environ.items() if name != _OF_PYTEST}
    found.update((f"handler of {number.name}", signal.getsignal(number)) for number in _SIGNALS)
    return {**found, "file mask": file_mask(), "folder": _folder()}


def restore(before: dict[str, object]) -> None:
    """Undo what would make the tests that follow fail too."""
    mask = before["file mask"]
    assert isinstance(mask, int)
    os.umask(mask)
    if isinstance(before["folder"], str):
        os.chdir(before["folder"])


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
