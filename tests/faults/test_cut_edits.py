"""An edit of a tree that is killed, or meets a full disk, at any write: no file is torn, and all is whole again."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.edit.applying import mend, undo
from cairn.edit.journal import is_any_open
from cairn.errors import EditError, StoreFull
from tests.edit.test_applying import AFTER, FILES, Desk
from tests.faults.writes import Writes, in_a_fork
from tests.support.faults import Faults

State = dict[str, bytes]


class Scenes:
    """Desks on which an edit or an undo is due, a fresh one each time."""

    def __init__(self, folder: Path, *, taken_back: bool) -> None:
        self._folder, self._taken_back = folder, taken_back
        self._count = 0
        self.before, self.after = (AFTER, FILES) if taken_back else (FILES, AFTER)

    def desk(self) -> Desk:
        self._count += 1
        desk = Desk(self._folder / str(self._count))
        if self._taken_back:
            desk.apply()
        return desk

    def do(self, desk: Desk) -> None:
        """What is due."""
        if self._taken_back:
            undo(desk.home, desk.root)
        else:
            desk.apply()

    def calls(self) -> int:
        """How many calls that can change a disk it makes."""
        desk = self.desk()
        with Faults.meanwhile() as faults:
            writes = Writes(faults)
            self.do(desk)
        return writes.count


def judge(scenes: Scenes, desk: Desk) -> bool:
    """No file is torn as it was left, and the next command makes the tree whole. Whether it happened."""
    found = desk.held()
    for name in FILES:
        assert found[name] in (scenes.before[name], scenes.after[name])
    if not is_any_open(desk.home):
        assert found in (scenes.before, scenes.after), "nobody would know that it was cut off"
    mend(desk.home)
    found = desk.held()
    assert found in (scenes.before, scenes.after)
    assert not is_any_open(desk.home)
    # And it can go on from there: what happened is taken back, what did not is done.
    scenes.do(desk) if found == scenes.before else None
    assert desk.held() == scenes.after
    return found == scenes.after


@pytest.fixture(params=[False, True], ids=["an edit", "an undo"])
def scenes(request: pytest.FixtureRequest, tmp_path: Path) -> Scenes:
    return Scenes(tmp_path, taken_back=request.param)


def killed(scenes: Scenes, numbers: range, *, after: bool) -> list[bool]:
    """Kill it at these calls; which of them it survived in full."""
    happened = []
    for number in numbers:
        desk = scenes.desk()

        def run(desk: Desk = desk, number: int = number) -> None:
            with Faults.meanwhile() as faults:
                Writes(faults, number).kill(after=after)
                scenes.do(desk)

        assert in_a_fork(run) == -signal.SIGKILL
        happened.append(judge(scenes, desk))
    return happened


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_an_edit_may_be_killed_at_any_write(scenes: Scenes, every: int) -> None:
    """The fast run tries every fifth of about fifty."""
    calls = scenes.calls()
    assert calls >= 40
    happened = killed(scenes, range(1, calls + 1, every), after=False)
    # First nothing has happened, from one call on all of it: whoever comes next goes on from there.
    assert happened == sorted(happened)
    assert set(happened) == {False, True}


@pytest.mark.long
def test_an_edit_may_be_killed_behind_any_write(scenes: Scenes) -> None:
    assert set(killed(scenes, range(1, scenes.calls() + 1), after=True)) == {False, True}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_disk_that_is_full_from_any_write_on_leaves_all_or_nothing(scenes: Scenes, every: int) -> None:
    """Finishing takes no room: the disk is still full then."""
    ended = []
    for number in range(1, scenes.calls() + 1, every):
        desk = scenes.desk()
        with Faults.meanwhile() as faults:
            Writes(faults, number).fill()
            try:
                scenes.do(desk)
                ended.append("")
            except (EditError, StoreFull) as problem:
                ended.append(problem.code)
            mend(desk.home)
            assert desk.held() in (scenes.before, scenes.after)
            assert not is_any_open(desk.home)
        assert (desk.held() == scenes.after) == (ended[-1] == ""), "what failed has changed nothing"
    assert {"", "edit_failed", "store_full"} <= set(ended)


@pytest.mark.long
def test_finishing_may_be_killed_at_any_write_too(scenes: Scenes) -> None:
    """Killed in its middle, then killed again at each write of what comes after."""
    middle = [
        number for number, done in enumerate(killed(scenes, range(1, scenes.calls() + 1), after=False), 1) if done
    ]
    for first in middle[:4]:
        second = 0
        while True:
            second += 1
            desk = scenes.desk()
            assert in_a_fork(_killing(first, lambda desk=desk: scenes.do(desk))) == -signal.SIGKILL  # type: ignore[misc]
            status = in_a_fork(_killing(second, lambda desk=desk: mend(desk.home)))  # type: ignore[misc]
            judge(scenes, desk)
            if status == 0:
                break


def _killing(number: int, do: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with Faults.meanwhile() as faults:
            Writes(faults, number).kill(after=False)
            do()

    return run
