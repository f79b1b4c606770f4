"""The table of states: what may follow what, in the code, on its page, and in real runs."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from cairn.ask.gate import CAUSES, TRANSITIONS, ForbiddenTransition, Lifecycle, lifecycle, moved
from cairn.ask.whereabouts import where
from cairn.errors import FilesFailed, StoreBusy
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.registry import RunOutcome, Tracked
from cairn.sync.proof import ProofOutcome, ProofReason
from cairn.sync.status import State
from tests.conformance import conforms
from tests.sync.desk import Desk, Model, extract_here

PAGE = (Path(__file__).parents[2] / "docs" / "STATES.md").read_text()
PAIRS = [pair for pair in itertools.product(Lifecycle, repeat=2) if pair[0] is not pair[1]]


@conforms("000.SM1")
@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_what_is_not_in_the_table_raises(before: Lifecycle, after: Lifecycle) -> None:
    if (before, after) in TRANSITIONS:
        assert moved(before, after) is after
    else:
        with pytest.raises(ForbiddenTransition):
            moved(before, after)
    assert moved(before, before) is before


@conforms("000.SM1", "000.SM2", "000.PRF1")
def test_nothing_is_promoted_but_by_a_run() -> None:
    asked = {(Lifecycle.NOT_FOUND, Lifecycle.INDEXING), (Lifecycle.INDEXING, Lifecycle.INDEXED)}
    asked |= {(Lifecycle.INDEXING, Lifecycle.INDEXFAILED), (Lifecycle.INDEXFAILED, Lifecycle.INDEXING)}
    for searchable in (Lifecycle.INDEXED, Lifecycle.SYNC_COMPLETED):
        asked |= {(searchable, Lifecycle.REQUIRES_REINDEX), (searchable, Lifecycle.INDEXING)}
        for closed in (Lifecycle.NOT_FOUND, Lifecycle.INDEXFAILED):
            assert (closed, searchable) not in TRANSITIONS
    assert asked <= TRANSITIONS
    assert (Lifecycle.INDEXING, Lifecycle.REQUIRES_REINDEX) not in TRANSITIONS


@conforms("000.DOC", "001.DR2")
def test_the_page_shows_the_same_table_and_every_word_of_the_proof() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    shown = [(Lifecycle(before), Lifecycle(after)) for before, after, _ in rows]
    assert dict(zip(shown, (why for *_, why in rows), strict=True)) == CAUSES
    for word in (*Lifecycle, *ProofOutcome, *ProofReason):
        assert f"`{word}`" in PAGE


@pytest.mark.parametrize(
    ("state", "known", "expected"),
    [
        (State.NOT_INDEXED, {}, Lifecycle.NOT_FOUND),
        (State.CLEARED, {}, Lifecycle.NOT_FOUND),
        (State.CORRUPT, {"failed": True}, Lifecycle.NOT_FOUND),
        (State.NOT_INDEXED, {"failed": True}, Lifecycle.INDEXFAILED),
        (State.NOT_INDEXED, {"differs": True}, Lifecycle.REQUIRES_REINDEX),
        (State.INDEXED, {"differs": True}, Lifecycle.REQUIRES_REINDEX),
        (State.INDEXING, {"differs": True}, Lifecycle.INDEXING),
        (State.INDEXED, {}, Lifecycle.INDEXED),
    ],
)
def test_a_state_follows_from_where_the_store_stands(state: State, known: dict[str, bool], expected: Lifecycle) -> None:
    assert lifecycle(state, **known) is expected


def test_a_sync_that_went_well_is_told_apart() -> None:
    entry = Tracked("/r", "x", "then", last_run_kind="sync", last_run_outcome=RunOutcome.SUCCEEDED)
    assert lifecycle(State.INDEXED, entry) is Lifecycle.SYNC_COMPLETED
    failed = Tracked("/r", "x", "then", last_run_kind="sync", last_run_outcome=RunOutcome.FAILED)
    assert lifecycle(State.INDEXED, failed) is Lifecycle.INDEXED


@conforms("000.LIFE1", "000.LIFE2", "000.SM1", "001.INV4")
def test_real_runs_take_only_steps_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    path = [Lifecycle.NOT_FOUND]

    def see(expected: Lifecycle) -> None:
        path.append(moved(path[-1], where(desk.status()).state))
        assert path[-1] is expected

    see(Lifecycle.NOT_FOUND)
    desk.put("a.py", "poison = 1\n")
    desk.model = Model(poison=b"poison")
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.CREATE):
        see(Lifecycle.INDEXING)
        with pytest.raises(StoreBusy):
            desk.index()
    path.append(moved(path[-1], Lifecycle.NOT_FOUND))
    with pytest.raises(FilesFailed):
        desk.index()
    path.append(moved(path[-1], Lifecycle.INDEXING))
    see(Lifecycle.INDEXFAILED)
    path.append(moved(path[-1], Lifecycle.INDEXING))
    desk.put("a.py", "x = 1\n")
    desk.index()
    see(Lifecycle.INDEXED)
    desk.put("a.py", "x = 2\n")
    desk.sync()
    see(Lifecycle.SYNC_COMPLETED)
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.REINDEX, rebuild=True):
        # Its proof is there and does not count.
        see(Lifecycle.INDEXING)
    see(Lifecycle.SYNC_COMPLETED)
    first, desk.model = desk.model, Model(dimension=16)
    see(Lifecycle.REQUIRES_REINDEX)
    desk.model = first
    see(Lifecycle.SYNC_COMPLETED)
    desk.clear()
    see(Lifecycle.NOT_FOUND)
