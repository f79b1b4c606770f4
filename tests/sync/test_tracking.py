"""What runs leave in the registry, and the list of codebases, which trouble cannot shorten."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cairn.sync.catchup as catchup_module
from cairn.errors import Cancelled, FilesFailed
from cairn.store.disk import Disk, DiskUsage, LooseFiles
from cairn.store.registry import REGISTRY, RunOutcome, Tracked, read_registry
from cairn.sync.inventory import at_home
from cairn.sync.tracking import Members, remembered
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, Model, extract_here
from tests.sync.shelf import Shelf


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "x = 1\n")
    return desk


def known(desk: Desk) -> Tracked:
    return remembered(desk.place) or pytest.fail("it is not tracked")


def ended(desk: Desk) -> tuple[str | None, RunOutcome | None, str | None]:
    entry = known(desk)
    return entry.last_run_kind, entry.last_run_outcome, entry.last_error_code


@conforms("004.MD1", "004.MD5")
def test_each_run_notes_how_it_ended_and_the_model_outlives_a_clear(desk: Desk) -> None:
    desk.index()
    assert ended(desk) == ("create", RunOutcome.SUCCEEDED, None)
    desk.put("a.py", "x = 2\n")
    desk.sync()
    assert ended(desk) == ("sync", RunOutcome.SUCCEEDED, None)
    desk.reindex()
    assert ended(desk) == ("reindex", RunOutcome.SUCCEEDED, None)
    desk.clear()
    entry = known(desk)
    assert (entry.cleared, entry.claims_index, entry.last_run_kind) == (True, False, "clear")
    assert entry.embedding_model == desk.model.identity.model
    assert entry.store_id == desk.place.store_id


@conforms("004.MD1")
def test_before_a_create_does_anything_its_model_is_noted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tracked] = []

    def go(_: object) -> None:
        seen.append(known(desk))
        raise Cancelled

    monkeypatch.setattr(catchup_module.CatchUp, "go", go)
    with pytest.raises(Cancelled):
        desk.index()
    (entry,) = seen
    assert (entry.last_run_outcome, entry.embedding_model) == (RunOutcome.BEGUN, desk.model.identity.model)
    assert desk.model.texts == []
    assert ended(desk) == ("create", RunOutcome.CANCELLED, None)
    assert not known(desk).failed


def test_a_run_that_fails_says_why_and_a_sync_that_is_cut_short_says_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.model = Model(poison=b"poison")
    desk.put("b.py", "poison = 1\n")
    with pytest.raises(FilesFailed):
        desk.index()
    assert ended(desk) == ("create", RunOutcome.FAILED, "files_failed")
    assert (known(desk).failed, known(desk).claims_index) == (True, False)
    desk.put("b.py", "fine = 1\n")
    desk.index()
    desk.put("b.py", "poison = 2\n")
    with pytest.raises(FilesFailed):
        desk.sync()
    assert ended(desk) == ("sync", RunOutcome.FAILED, "files_failed")
    assert known(desk).claims_index
    for trouble, outcome in ((Cancelled(), "files_failed"), (OSError(errno.EIO, "x"), "store_io")):
        monkeypatch.setattr(catchup_module.CatchUp, "go", raising(trouble))
        with pytest.raises(Exception):  # noqa: B017, PT011
            desk.sync()
        assert ended(desk)[2] == outcome


def raising(problem: Exception) -> Any:
    def go(_: object) -> None:
        raise problem

    return go


def test_a_sync_that_finds_nothing_or_nothing_new_to_say_does_not_touch_the_registry(
    desk: Desk, faults: Faults
) -> None:
    desk.index()
    desk.put("a.py", "x = 2\n")
    desk.sync()
    opened: list[str] = []
    faults.around(LooseFiles, "database", lambda original, self, path: (opened.append(path), original(self, path))[1])
    before = (desk.home / REGISTRY).stat()
    desk.put("a.py", "x = 3\n")
    assert desk.sync().published
    assert not desk.sync().published
    assert not desk.index().published
    assert opened == []
    assert (desk.home / REGISTRY).stat().st_mtime_ns == before.st_mtime_ns
    desk.reindex()
    assert opened == [REGISTRY, REGISTRY]


def test_a_registry_that_cannot_be_written_fails_no_run(desk: Desk) -> None:
    desk.home.mkdir(mode=0o700)
    (desk.home / REGISTRY).mkdir()
    assert desk.index().published
    desk.put("a.py", "x = 2\n")
    assert desk.sync().published
    desk.clear()
    assert remembered(desk.place) is None


def test_a_lost_or_damaged_registry_is_made_anew_from_the_stores_by_the_next_run_that_writes(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.put("first")
    root = shelf.entry("first").root
    for damage in (b"", b"no database", None):
        path = shelf.home / REGISTRY
        path.unlink(missing_ok=True)
        if damage is not None:
            path.write_bytes(damage)
        desk = Desk(tmp_path / f"desk{damage!r}")
        desk.home = shelf.home
        desk.put("a.py", "x = 1\n")
        desk.index()
        with at_home(str(shelf.home), "") as disk:
            roots = [entry.root for entry in read_registry(disk)]
        assert {root, str(desk.tree)} <= set(roots)


# --- the list ---------------------------------------------------------------------------------------------------------


@conforms("001.INV1", "001.INV7", "001.AC5", "001.DR1")
def test_two_hundred_lists_of_which_a_third_of_all_reads_fail_never_lose_a_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(tmp_path)
    for name in ("one", "two", "three"):
        shelf.put(name)
    members = Members(str(shelf.home))
    whole = members.look()
    assert len(whole.stores) == 3
    ledger = [shelf.ledger(name) for name in ("one", "two", "three")]
    draw = Random(7)
    doors: tuple[tuple[type, str], ...] = ((Disk, "read"), (DiskUsage, "stats"), (Disk, "stat"), (Disk, "list_folder"))
    for owner, door in doors:
        original = getattr(owner, door)

        def fails(self: Disk, *arguments: Any, original: Any = original) -> Any:
            if draw.random() < 0.3:
                raise OSError(draw.choice([errno.EIO, errno.EACCES, errno.ETIMEDOUT]), "injected")
            return original(self, *arguments)

        monkeypatch.setattr(owner, door, fails)
    for _ in range(200):
        found = members.look()
        assert [one.store_id for one in found.stores] == [one.store_id for one in whole.stores]
        assert [one.root for one in found.stores] == [one.root for one in whole.stores]
    monkeypatch.undo()
    assert [shelf.ledger(name) for name in ("one", "two", "three")] == ledger
    assert members.look() == whole


def test_a_store_that_is_really_gone_is_listed_no_more_and_one_that_is_broken_hides_no_other(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.put("one")
    shelf.put("two")
    members = Members(str(shelf.home))
    members.look()
    shutil.rmtree(shelf.path("one"))
    for path in shelf.path("two").glob("generations/*"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    for path in shelf.path("two").glob("snapshots/*/manifest.json"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    (entry,) = members.look().stores
    assert entry.store_id == shelf.id("two")
    assert entry.trouble is not None
    assert (entry.root, entry.files) == (Members(str(shelf.home)).look().stores[0].root or entry.root, 2)


def test_where_there_is_nothing_the_list_is_empty_and_nothing_is_made(tmp_path: Path) -> None:
    found = Members(str(tmp_path / "home")).look()
    assert (found.stores, found.tracked) == ((), ())
    assert not (tmp_path / "home").exists()
