"""Collecting the index of a real folder on the real disk."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

import cairn.sync.health as health_module
import cairn.sync.upkeep as upkeep_module
from cairn.core.clock import SYSTEM_PROCESSES
from cairn.core.config import EngineConfig
from cairn.core.limits import RETAIN_SNAPSHOTS_MIN
from cairn.errors import NotIndexed, StoreBusy
from cairn.store.disk import Disk
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import IN_USE, NO_LOCKS, open_view
from cairn.store.repair.verify import check
from cairn.store.tend.collect import is_due
from cairn.sync import upkeep as collect
from cairn.sync.health import check_health
from cairn.sync.upkeep import CollectReport, gc
from tests.conformance import conforms
from tests.sync.desk import Desk, silent, texts_of


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def run(desk: Desk, **chosen: bool) -> CollectReport:
    with patch.object(collect, "place_of", lambda *_: desk.place):
        return gc(desk.codebase, desk.options(), silent, clock=desk.clock, **chosen)


def sync_often(desk: Desk, times: int) -> None:
    # The upkeep at the end of a sync would do it by itself.
    with patch.object(upkeep_module, "look_after", lambda *_, **__: None):
        for number in range(times):
            desk.put("a.py", f"a = {number}\n")
            desk.put("b.py", "b = 1\n")
            desk.clock.advance(3_600)
            desk.sync()
    desk.clock.advance(3_600)


def test_a_codebase_that_is_collected_keeps_five_snapshots_and_its_answers(desk: Desk) -> None:
    sync_often(desk, 8)
    before = desk.texts()
    ahead = run(desk, dry_run=True)
    store = desk.store()
    assert (ahead.dry_run, len(ahead.snapshots), ahead.kept) == (True, 3, 5)
    assert desk.store() == store, "a look ahead changes nothing"
    done = run(desk)
    assert (done.snapshots, done.segments, done.freed_bytes) == (ahead.snapshots, ahead.segments, ahead.freed_bytes)
    assert (done.dry_run, done.kept, done.note) == (False, 5, None)
    assert desk.texts() == before
    with desk.place.make_disk() as disk:
        assert check(disk) == []
    assert run(desk).snapshots == ()


def test_a_server_that_cannot_be_asked_keeps_nothing_here_and_is_said(desk: Desk) -> None:
    sync_often(desk, 8)
    engine = EngineConfig("milvus", "http://127.0.0.1:1", "NOBODY_SET_THIS")
    codebase = desk.codebase._replace(config=replace(desk.codebase.config, engine=engine))
    with patch.object(collect, "place_of", lambda *_: desk.place):
        done = gc(codebase, desk.options(), silent, clock=desk.clock)
    assert len(done.snapshots) == 3
    [told] = done.warnings
    assert "(config_invalid)" in told


@conforms("003.GC3")
def test_a_snapshot_that_somebody_holds_open_answers_to_the_end_though_its_names_are_gone(desk: Desk) -> None:
    sync_often(desk, 1)
    before = desk.texts()
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as held:
        sync_often(desk, 8)
        done = run(desk)
        assert held.manifest.snapshot_id in done.snapshots
        assert texts_of(held) == before
    assert desk.texts() != before


def test_without_an_index_there_is_nothing_to_collect(desk: Desk) -> None:
    with pytest.raises(NotIndexed):
        run(desk)
    assert not Path(desk.place.path).exists()


def test_a_store_that_was_begun_and_never_published_to_is_left_as_it_is(desk: Desk) -> None:
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC):
        pass
    assert run(desk, dry_run=True).kept == run(desk).kept == 0


@conforms("003.RDR5", "003.GC5")
def test_idx_must_004_while_another_run_writes_the_collector_refuses_and_a_look_ahead_does_not(desk: Desk) -> None:
    sync_often(desk, 8)
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC, processes=SYSTEM_PROCESSES):
        with pytest.raises(StoreBusy):
            run(desk)
        assert len(run(desk, dry_run=True).snapshots) == 3


@conforms("003.RDR6")
def test_idx_must_005_while_a_reader_opens_the_index_nothing_goes(desk: Desk) -> None:
    sync_often(desk, 8)
    with desk.place.make_disk() as disk, disk.lock("locks/readers.lock", exclusive=False, timeout=0):
        done = run(desk)
    assert (done.note, done.snapshots) == (IN_USE, ())


@conforms("003.RDR7")
def test_a_disk_without_locks_is_read_never_collected_and_told_in_status_and_health(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_often(desk, 8)
    before = desk.texts()

    @contextlib.contextmanager
    def no_lock(_disk: Disk, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        raise OSError(errno.ENOLCK, "no locks available", path)
        yield

    assert desk.status().warnings == ()
    monkeypatch.setattr(Disk, "lock", no_lock)
    for dry_run in (True, False):
        assert run(desk, dry_run=dry_run).note == NO_LOCKS
    assert desk.texts() == before
    assert desk.status().warnings == (NO_LOCKS,)
    with patch.object(health_module, "place_of", lambda *_: desk.place):
        found = check_health(desk.codebase, str(desk.home), lambda *_: None)
    assert "locks_unavailable" in [finding.code for finding in found]


def test_it_is_due_when_five_snapshots_have_been_out_of_date_for_long(desk: Desk) -> None:
    sync_often(desk, 10)
    with desk.place.make_disk() as disk:
        assert not is_due(disk, desk.clock), "ten are too few to be worth it"
        sync_often(desk, 1)
        assert is_due(disk, desk.clock)
        desk.clock.move(wall=-7 * 3_600)
        assert not is_due(disk, desk.clock), "somebody may still be reading them"


def test_numbers_that_nobody_won_make_it_due_as_well(desk: Desk) -> None:
    sync_often(desk, 1)
    with desk.place.make_disk() as disk:
        for number in range(2, 12):
            disk.create_bytes(f"generations/{number}", b"")
        assert is_due(disk, desk.clock)
    assert RETAIN_SNAPSHOTS_MIN == 5
