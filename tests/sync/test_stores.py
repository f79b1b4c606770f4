"""The collection of unused stores: what goes, what stays and why, and that nothing else is ever touched."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import cairn.store.door as door_module
from cairn.core.clock import SYSTEM_PROCESSES, rfc3339
from cairn.errors import StoreNotOurs
from cairn.store.disk import Disk
from cairn.store.format.layout import READERS_LOCK
from cairn.store.publish.lease import RunKind, acquire
from cairn.store.repair.verify import check
from cairn.sync import stores
from cairn.sync.stores import KeptBecause, StoresCollected, collect_stores
from tests.conformance import conforms
from tests.support.clock import ManualClock
from tests.support.faults import Faults
from tests.sync.shelf import DAY, Shelf
from tests.sync.test_inventory import RUN_ID, from_the_future


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def collect(shelf: Shelf, *current: str, **chosen: object) -> StoresCollected:
    ids = frozenset(map(shelf.id, current))
    return collect_stores(str(shelf.home), current=ids, clock=shelf.clock, **chosen)  # type: ignore[arg-type]


def reasons(shelf: Shelf, found: StoresCollected) -> dict[str, KeptBecause]:
    return {kept.entry.store_id.partition("__")[0]: kept.because for kept in found.kept}


@conforms("003.SL1")
def test_what_was_not_used_for_thirty_days_goes_and_nothing_else(shelf: Shelf) -> None:
    for name, days in (("new", 0), ("month", 29.9), ("old", 30.1), ("older", 400)):
        shelf.put(name, days=days)
    size = sum(
        path.stat().st_size for name in ("old", "older") for path in shelf.path(name).rglob("*") if path.is_file()
    )
    kept = {name: shelf.ledger(name) for name in ("new", "month")}
    found = collect(shelf)
    assert {entry.store_id for entry in found.removed} == {shelf.id("old"), shelf.id("older")}
    assert found.freed_bytes == size
    assert reasons(shelf, found) == {"new": KeptBecause.RECENT, "month": KeptBecause.RECENT}
    assert all("last used at 2" in one.why for one in found.kept)
    assert (found.notes, shelf.names()) == ((), {shelf.id("new"), shelf.id("month")})
    assert {name: shelf.ledger(name) for name in kept} == kept


@conforms("003.SL1")
def test_the_store_of_the_current_root_goes_only_with_force(shelf: Shelf) -> None:
    shelf.put("here", days=400)
    shelf.put("there", days=400)
    found = collect(shelf, "here")
    assert reasons(shelf, found) == {"here": KeptBecause.CURRENT}
    assert "--force" in found.kept[0].why
    assert shelf.names() == {shelf.id("here")}
    assert [entry.store_id for entry in collect(shelf, "here", force=True).removed] == [shelf.id("here")]
    assert shelf.names() == set()


def test_force_does_not_take_what_was_used_lately(shelf: Shelf) -> None:
    shelf.put("here", days=1)
    assert reasons(shelf, collect(shelf, "here", force=True)) == {"here": KeptBecause.RECENT}
    assert collect(shelf, unused_days=0).freed_bytes > 0
    assert shelf.names() == set()


@pytest.mark.parametrize("days", [-5, 10**9])
def test_a_senseless_number_of_days_is_no_overflow(shelf: Shelf, days: int) -> None:
    shelf.put("one", days=400)
    assert len(collect(shelf, unused_days=days).removed) == (days < 0)


def test_a_dry_run_says_the_same_and_changes_nothing(shelf: Shelf) -> None:
    shelf.put("old", days=40)
    shelf.put("new")
    shelf.put("cut", days=40).rename(shelf.data / f"removed_{shelf.id('cut')}")
    before = {name: shelf.ledger(name) for name in ("old", "new")}
    dry = collect(shelf, dry_run=True)
    assert len(shelf.names()) == 3
    assert {name: shelf.ledger(name) for name in before} == before
    assert collect(shelf) == dry


@pytest.mark.parametrize("home", ["none", "empty", "no stores"])
def test_where_there_is_nothing_nothing_is_collected_and_nothing_is_made(shelf: Shelf, home: str) -> None:
    if home != "none":
        shelf.home.mkdir(mode=0o700)
    if home == "no stores":
        shelf.data.mkdir(mode=0o700)
    assert collect(shelf) == StoresCollected()
    assert shelf.home.exists() == (home != "none")


# --- never ------------------------------------------------------------------------------------------------------------


def test_a_store_that_a_run_is_writing_stays_even_with_force(shelf: Shelf) -> None:
    shelf.put("busy", days=400)
    with Disk.at(str(shelf.home), f"data/{shelf.id('busy')}") as disk:
        taken = acquire(
            disk, run_id=RUN_ID, kind=RunKind.SYNC, floor_epoch=9, clock=shelf.clock, processes=SYSTEM_PROCESSES
        )
        with taken:
            found = collect(shelf, "busy", force=True)
    assert [(one.because, one.why) for one in found.kept] == [(KeptBecause.BUSY, "A run is writing it.")]
    assert shelf.names() == {shelf.id("busy")}
    assert len(collect(shelf, "busy", force=True).removed) == 1


def test_a_run_that_begins_after_the_look_keeps_its_store(shelf: Shelf, faults: Faults) -> None:
    shelf.put("busy", days=400)
    seen = shelf.look()
    faults.answer(stores, "inventory", seen)
    with Disk.at(str(shelf.home), f"data/{shelf.id('busy')}") as disk:
        taken = acquire(
            disk, run_id=RUN_ID, kind=RunKind.SYNC, floor_epoch=9, clock=shelf.clock, processes=SYSTEM_PROCESSES
        )
        with taken:
            assert reasons(shelf, collect(shelf)) == {"busy": KeptBecause.BUSY}
    assert shelf.names() == {shelf.id("busy")}


def test_a_store_that_is_used_after_the_look_stays(shelf: Shelf, faults: Faults) -> None:
    store = shelf.put("one", days=400)
    seen = shelf.look()
    faults.answer(stores, "inventory", seen)
    (store / "last_used").write_text(rfc3339(shelf.clock.wall_ns()) + "\n")
    assert reasons(shelf, collect(shelf)) == {"one": KeptBecause.RECENT}
    assert shelf.names() == {shelf.id("one")}


def test_a_store_that_somebody_else_removes_meanwhile_is_no_trouble(shelf: Shelf, faults: Faults) -> None:
    shelf.put("one", days=400)
    seen = shelf.look()
    faults.answer(stores, "inventory", seen)
    assert len(collect(shelf).removed) == 1
    assert reasons(shelf, collect(shelf)) == {"one": KeptBecause.BUSY}


def test_a_store_that_is_being_opened_stays(shelf: Shelf) -> None:
    shelf.put("read", days=400)
    with (
        Disk.at(str(shelf.home), f"data/{shelf.id('read')}") as disk,
        disk.lock(READERS_LOCK, exclusive=False, timeout=0),
    ):
        found = collect_stores(str(shelf.home), clock=ManualClock(shelf.clock.wall_ns()))
    assert reasons(shelf, found) == {"read": KeptBecause.BUSY}
    assert shelf.names() == {shelf.id("read")}


def test_a_store_of_a_later_version_goes_only_with_force(shelf: Shelf) -> None:
    from_the_future(shelf.put("later", days=400))
    before = shelf.ledger("later")
    found = collect(shelf)
    assert reasons(shelf, found) == {"later": KeptBecause.TROUBLE}
    assert "--force" in found.kept[0].why
    assert shelf.ledger("later") == before
    assert len(collect(shelf, force=True).removed) == 1


def test_a_store_that_is_not_ours_or_holds_what_is_not_stays_even_with_force(shelf: Shelf) -> None:
    shelf.put("open", days=400)
    shelf.put("diary", days=400)
    (shelf.path("diary") / "my notes.txt").write_text("dear diary")
    os.utime(shelf.path("diary") / "last_used")
    shelf.path("open").chmod(0o777)
    found = collect(shelf, force=True)
    assert reasons(shelf, found) == {"open": KeptBecause.TROUBLE, "diary": KeptBecause.TROUBLE}
    assert (shelf.path("diary") / "my notes.txt").read_text() == "dear diary"


@pytest.mark.parametrize(("mode", "why"), [(0o500, "Permission denied"), (0o777, "others may write in it")])
def test_a_store_whose_rights_change_after_the_look_stays(shelf: Shelf, faults: Faults, mode: int, why: str) -> None:
    shelf.put("one", days=400)
    seen = shelf.look()
    faults.answer(stores, "inventory", seen)
    shelf.path("one").chmod(mode)
    found = collect(shelf)
    shelf.path("one").chmod(0o700)
    assert reasons(shelf, found) == {"one": KeptBecause.TROUBLE}
    assert why in found.kept[0].why
    assert shelf.names() == {shelf.id("one")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder to somebody else")
def test_a_store_of_somebody_else_stays_even_with_force(shelf: Shelf) -> None:
    shelf.put("theirs", days=400)
    os.chown(shelf.path("theirs"), 12345, 12345)
    before = shelf.ledger("theirs")
    found = collect(shelf, force=True)
    assert [(one.because, one.entry.trouble and one.entry.trouble.code) for one in found.kept] == [
        (KeptBecause.TROUBLE, StoreNotOurs.code)
    ]
    assert shelf.ledger("theirs") == before


def test_foreign_names_files_and_links_are_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("old", days=400)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    shelf.path("link").symlink_to(elsewhere)
    (shelf.data / f"removed_{shelf.id('link')}").symlink_to(elsewhere)
    shelf.path("file").write_text("x")
    (shelf.data / "removed_things").mkdir()
    left = shelf.names() - {shelf.id("old")}
    assert len(collect(shelf, force=True, unused_days=0).removed) == 1
    assert shelf.names() == left
    assert (elsewhere / "file").exists()


def test_a_clock_that_was_set_back_removes_nothing(shelf: Shelf) -> None:
    shelf.put("one", days=400)
    earlier = ManualClock(shelf.clock.wall_ns() - 1000 * DAY * 1_000_000_000)
    found = collect_stores(str(shelf.home), clock=earlier)
    assert [one.because for one in found.kept] == [KeptBecause.RECENT]


# --- what is half there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", ["locks", "generations", "ACTIVE_SNAPSHOT", "segments"])
def test_a_half_deleted_store_goes_like_any_other(shelf: Shelf, gone: str) -> None:
    store = shelf.put("half", days=400)
    (store / gone).rename(shelf.home / "out of the way")
    assert len(collect(shelf).removed) == 1
    assert shelf.names() == set()


def test_what_a_killed_removal_left_goes_next_time_and_counts(shelf: Shelf) -> None:
    store = shelf.put("cut", days=400)
    size = shelf.size("cut")
    store.rename(shelf.data / f"removed_{store.name}")
    assert collect(shelf) == StoresCollected(freed_bytes=size)
    assert shelf.names() == set()


def test_a_leftover_in_which_a_run_still_writes_is_left_to_it(shelf: Shelf) -> None:
    store = shelf.put("cut", days=400)
    with Disk.at(str(shelf.home), f"data/{store.name}") as disk:
        taken = acquire(
            disk, run_id=RUN_ID, kind=RunKind.SYNC, floor_epoch=9, clock=shelf.clock, processes=SYSTEM_PROCESSES
        )
        with taken:
            store.rename(shelf.data / f"removed_{store.name}")
            found = collect(shelf)
    assert (found.freed_bytes, len(found.notes)) == (0, 1)
    assert "cannot go yet" in found.notes[0]


def test_a_removal_that_the_disk_stops_is_told_and_goes_on_next_time(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("one", days=400)

    def stop(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(door_module, "finish_removal", stop)
        found = collect(shelf)
    assert (len(found.removed), found.freed_bytes) == (1, 0)
    assert "the next call goes on: Input/output error." in found.notes[0]
    assert shelf.names() == {f"removed_{shelf.id('one')}"}
    assert collect(shelf).freed_bytes > 0
    assert shelf.names() == set()


@conforms("003.SL4")
def test_a_collection_that_is_killed_anywhere_leaves_every_store_whole_or_gone(shelf: Shelf) -> None:
    """A ledger of every byte: what has the name of a store has all that its manifests name, at every step."""
    shelf.put("new")
    changing = ("move", "remove", "remove_folder", "unseal", "sync_folder")
    ends = set()
    for number in range(1, 200):
        shelf.put("old", days=400)
        before = {name: shelf.ledger(name) for name in ("old", "new")}
        child = os.fork()
        if child == 0:
            _kill_at(number, changing)
            collect(shelf)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert shelf.ledger("new") == before["new"]
        there = shelf.path("old").exists()
        ends.add((there, (shelf.data / f"removed_{shelf.id('old')}").exists()))
        if there:
            assert shelf.ledger("old") == before["old"]
            with Disk.at(str(shelf.home), f"data/{shelf.id('old')}") as disk:
                assert check(disk) == []
        if os.WIFEXITED(status):
            break
        collect(shelf)
        assert shelf.names() == {shelf.id("new")}
    else:
        pytest.fail("the collection never ended")
    assert number > 20
    assert ends == {(True, False), (False, True), (False, False)}


def _kill_at(number: int, methods: tuple[str, ...]) -> None:
    """In this process, the call of this number never happens: it is killed instead."""
    left = [number]

    def killing(method: str) -> None:
        real = getattr(Disk, method)

        def call(self: Disk, *arguments: str) -> object:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, *arguments)

        setattr(Disk, method, call)

    for method in methods:
        killing(method)
