"""What is told of a root waits until a run takes it, and waits again when the run has failed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cairn.core.limits import MAX_HINTED_FILES, WATCH_DEBOUNCE_MS
from cairn.errors import WatchFailed
from cairn.source.watch import Hints
from cairn.watch.pending_changes import PendingChanges
from tests.support.clock import ManualClock

QUIET = WATCH_DEBOUNCE_MS / 1000


class Teller:
    """A watch that tells what it is given."""

    def __init__(self) -> None:
        self.next: list[Hints | WatchFailed] = []
        self.new_folder = False
        self.closed = False
        self.folders = 1

    def take(self) -> Hints | None:
        found = self.next.pop(0) if self.next else None
        if isinstance(found, WatchFailed):
            raise found
        return found

    def poll(self, timeout: float) -> Hints | None:
        raise AssertionError(timeout)

    def follow(self, folders: Iterable[bytes]) -> bool:
        if b"bad" in folders:
            raise WatchFailed(path="here", why="no watch left")
        return self.new_folder

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def teller() -> Teller:
    return Teller()


@pytest.fixture
def hearing(teller: Teller) -> PendingChanges:
    """One that has compared everything once."""
    found = PendingChanges("/here", ManualClock(monotonic=1_000.0))
    found.listen(teller)
    assert found.take() is None
    found.done()
    return found


def told(*raws: bytes, overflow: bool = False) -> Hints:
    return Hints(frozenset(raws), overflow)


def clock_of(hearing: PendingChanges) -> ManualClock:
    clock = hearing._clock
    assert isinstance(clock, ManualClock)
    return clock


def test_names_wait_until_the_tree_is_quiet_for_a_moment(hearing: PendingChanges, teller: Teller) -> None:
    assert (hearing.waits, hearing.due()) == (False, None)
    teller.next = [told(b"a"), told(b"b")]
    hearing.hear()
    clock_of(hearing).advance(QUIET / 2)
    hearing.hear()
    assert hearing.due() == clock_of(hearing).monotonic() + QUIET
    assert (hearing.pending, hearing.take(), hearing.waits) == (2, frozenset({b"a", b"b"}), False)


def test_a_tree_that_is_never_quiet_is_due_all_the_same(hearing: PendingChanges, teller: Teller) -> None:
    began = clock_of(hearing).monotonic()
    for _ in range(200):
        teller.next = [told(b"a")]
        hearing.hear()
        clock_of(hearing).advance(QUIET / 2)
    due = hearing.due()
    assert due is not None
    assert due <= began + 1.0


@pytest.mark.parametrize(
    "hints", [told(overflow=True), told(*(b"%d" % number for number in range(MAX_HINTED_FILES + 1)))]
)
def test_lost_events_and_very_many_mean_everything(hearing: PendingChanges, teller: Teller, hints: Hints) -> None:
    teller.next = [hints]
    hearing.hear()
    assert (hearing.waits, hearing.pending, hearing.take()) == (True, 0, None)
    assert hearing.overflows == hints.overflow


def test_what_failed_waits_again_and_longer_each_time(hearing: PendingChanges) -> None:
    clock = clock_of(hearing)
    rests = []
    for _ in range(12):
        hearing.put_back(frozenset({b"a"}))
        due = hearing.due()
        assert due is not None
        rests.append(due - clock.monotonic())
    assert rests[:3] == [0.5, 1.0, 2.0]
    assert max(rests) == 60.0
    hearing.done()
    assert hearing.take() == {b"a"}
    hearing.put_back(None)
    hearing.put_back(frozenset({b"a"}))
    assert hearing.take() is None


def test_a_folder_that_was_not_watched_means_everything(hearing: PendingChanges, teller: Teller) -> None:
    hearing.cover(frozenset({b"src"}))
    assert not hearing.waits
    teller.new_folder = True
    hearing.cover(frozenset({b"src"}))
    assert (hearing.waits, hearing.take()) == (True, None)


def test_a_watch_that_fails_is_closed_and_says_why(hearing: PendingChanges, teller: Teller) -> None:
    teller.next = [WatchFailed(path="here", why="it was moved or deleted")]
    hearing.hear()
    assert (hearing.watch, hearing.why, teller.closed) == (None, "it was moved or deleted", True)
    assert hearing.take() is None
    hearing.hear()
    hearing.cover(frozenset())
    hearing.close()


def test_no_watch_left_for_a_folder_ends_the_watching(hearing: PendingChanges, teller: Teller) -> None:
    hearing.cover(frozenset({b"bad"}))
    assert (hearing.why, teller.closed) == ("no watch left", True)
