"""A purge: everything of Cairn goes but the settings, and nothing that is not Cairn's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cairn.store.door as door_module
from cairn.core.clock import SYSTEM_PROCESSES
from cairn.errors import StoreBusy, StoreNotOurs
from cairn.store.disk import Disk
from cairn.store.publish.lease import RunKind, acquire
from cairn.sync import stores as purge_module
from cairn.sync.stores import Purged, purge
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.shelf import Shelf
from tests.sync.test_inventory import RUN_ID, from_the_future


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Two stores, and one thing of every other kind that Cairn keeps."""
    shelf = Shelf(tmp_path)
    shelf.put("one")
    shelf.put("two", days=400)
    for folder in ("cache/embeddings", "logs", "models", "semantic", "run"):
        (shelf.home / folder).mkdir(parents=True)
        (shelf.home / folder / "file").write_bytes(b"12345")
    for file in ("registry.db", "registry.db-wal", "config.toml"):
        (shelf.home / file).write_bytes(b"12345")
    return shelf


def left(shelf: Shelf) -> set[str]:
    return set(os.listdir(shelf.home))


@conforms("003.SL1")
def test_everything_goes_but_the_settings_and_what_was_freed_is_told(shelf: Shelf) -> None:
    size = shelf.size("one") + shelf.size("two") + 7 * 5
    dry = purge(str(shelf.home), dry_run=True)
    assert len(left(shelf)) == 9
    found = purge(str(shelf.home))
    assert found == dry
    assert left(shelf) == {"config.toml"}
    assert found.freed_bytes == size
    assert found.stayed == ()
    assert set(found.removed) == {
        *(f"data/{shelf.id(name)}" for name in ("one", "two")),
        *("cache", "logs", "models", "semantic", "run", "registry.db", "registry.db-wal"),
    }
    assert purge(str(shelf.home)) == Purged()


def test_without_a_home_there_is_nothing_to_purge(tmp_path: Path) -> None:
    assert purge(str(tmp_path / "home")) == Purged()
    assert not (tmp_path / "home").exists()


def test_while_a_run_writes_nothing_at_all_is_removed(shelf: Shelf) -> None:
    with Disk.at(str(shelf.home), f"data/{shelf.id('two')}") as disk:
        taken = acquire(
            disk, run_id=RUN_ID, kind=RunKind.SYNC, floor_epoch=9, clock=shelf.clock, processes=SYSTEM_PROCESSES
        )
        with taken:
            for dry_run in (True, False):
                with pytest.raises(StoreBusy, match=f"sync, process {os.getpid()}"):
                    purge(str(shelf.home), dry_run=dry_run)
    assert len(left(shelf)) == 9
    assert shelf.names() == {shelf.id("one"), shelf.id("two")}


def test_a_run_that_begins_after_the_look_keeps_its_store(shelf: Shelf, faults: Faults) -> None:
    seen = shelf.look()
    faults.answer(purge_module, "inventory", seen)
    with Disk.at(str(shelf.home), f"data/{shelf.id('two')}") as disk:
        taken = acquire(
            disk, run_id=RUN_ID, kind=RunKind.SYNC, floor_epoch=9, clock=shelf.clock, processes=SYSTEM_PROCESSES
        )
        with taken:
            found = purge(str(shelf.home))
    assert [stayed.name for stayed in found.stayed] == [f"data/{shelf.id('two')}"]
    assert shelf.names() == {shelf.id("two")}


def test_damaged_stores_those_of_a_later_version_and_leftovers_go_too(shelf: Shelf) -> None:
    from_the_future(shelf.path("one"))
    (shelf.path("two") / "ACTIVE_SNAPSHOT").write_text("nonsense")
    shelf.put("cut").rename(shelf.data / f"removed_{shelf.id('cut')}")
    assert purge(str(shelf.home)).stayed == ()
    assert left(shelf) == {"config.toml"}


def test_names_that_are_not_ours_stay_and_are_told(shelf: Shelf, tmp_path: Path) -> None:
    (shelf.data / "notes").mkdir()
    (shelf.data / os.fsdecode(b"\xff")).write_text("x")
    (shelf.path("two") / "my diary").write_text("x")
    found = purge(str(shelf.home))
    assert {stayed.name for stayed in found.stayed} == {"data/notes", "data/\\xff", f"data/{shelf.id('two')}"}
    assert shelf.names() == {"notes", os.fsdecode(b"\xff"), shelf.id("two")}
    assert left(shelf) == {"config.toml", "data"}


def test_in_a_folder_that_may_be_somebodys_own_only_stores_go(shelf: Shelf) -> None:
    """Somebody set CAIRN_HOME to their home: `models` and `logs` there are theirs."""
    (shelf.home / "Documents").mkdir()
    found = purge(str(shelf.home))
    assert left(shelf) == {
        *("Documents", "cache", "logs", "models", "semantic", "run", "registry.db", "registry.db-wal", "config.toml")
    }
    assert set(found.removed) == {f"data/{shelf.id(name)}" for name in ("one", "two")}
    told = {stayed.name: stayed.why for stayed in found.stayed}
    assert told["Documents"] == "It is not Cairn's."
    assert told["models"] == "It may not be Cairn's: Documents beside it is not."


def test_links_are_neither_followed_nor_removed(shelf: Shelf, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (shelf.home / "cache").rename(elsewhere)
    (shelf.home / "cache").symlink_to(elsewhere)
    (shelf.home / "registry.db").unlink()
    (shelf.home / "registry.db").symlink_to(elsewhere / "embeddings" / "file")
    (shelf.home / "logs" / "out").symlink_to(elsewhere)
    found = purge(str(shelf.home))
    assert {stayed.name for stayed in found.stayed} == {"cache", "registry.db"}
    assert left(shelf) == {"config.toml", "cache", "registry.db"}
    assert (elsewhere / "embeddings" / "file").read_bytes() == b"12345"


def test_a_file_where_a_folder_belongs_stays(shelf: Shelf) -> None:
    (shelf.home / "logs" / "file").unlink()
    (shelf.home / "logs").rmdir()
    (shelf.home / "logs").write_text("mine")
    (shelf.home / "models" / "my model").write_text("mine")
    found = purge(str(shelf.home))
    assert {stayed.name for stayed in found.stayed} == {"logs", "models"}
    assert (shelf.home / "models" / "my model").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder to somebody else")
def test_what_belongs_to_somebody_else_stays(shelf: Shelf) -> None:
    os.chown(shelf.home / "cache", 12345, 12345)
    os.chown(shelf.path("one"), 12345, 12345)
    found = purge(str(shelf.home))
    assert {stayed.name for stayed in found.stayed} == {"cache", f"data/{shelf.id('one')}"}
    assert (shelf.home / "cache" / "embeddings" / "file").exists()


def test_what_the_disk_does_not_let_go_is_told_with_what_it_still_takes(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    would = purge(str(shelf.home), dry_run=True)

    def stop(disk: Disk, name: str) -> None:
        if name == "cache":
            raise OSError(5, "Input/output error")
        disk.remove(f"{name}/file")
        disk.remove_folder(name)

    monkeypatch.setattr(door_module, "remove_tree", stop)
    found = purge(str(shelf.home))
    assert [(stayed.name, stayed.why) for stayed in found.stayed] == [("cache", "Input/output error.")]
    assert found.freed_bytes == would.freed_bytes - 5


def test_a_home_that_others_may_write_in_is_refused(shelf: Shelf) -> None:
    shelf.home.chmod(0o777)
    with pytest.raises(StoreNotOurs):
        purge(str(shelf.home))
    assert len(left(shelf)) == 9


def test_indexers_that_the_user_has_installed_stay_and_are_no_strangers(shelf: Shelf) -> None:
    (shelf.home / "tools/bin").mkdir(parents=True)
    found = purge(str(shelf.home))
    assert left(shelf) == {"config.toml", "tools"}
    assert found.stayed == ()


def test_the_record_of_what_agents_were_told_stays_and_is_no_stranger(shelf: Shelf) -> None:
    (shelf.home / "installed.json").write_text("{}")
    found = purge(str(shelf.home))
    assert found.stayed == ()
    assert left(shelf) == {"config.toml", "installed.json"}
