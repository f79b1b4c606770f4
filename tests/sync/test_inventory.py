"""Which stores there are: one level of one folder, and trouble with one of them hides none of the others."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from cairn.core.clock import SYSTEM_PROCESSES
from cairn.errors import StoreIo, StoreNotOurs
from cairn.store.disk import Disk, DiskUsage
from cairn.store.fs import DiskStat
from cairn.store.publish.lease import RunKind, acquire
from cairn.sync.inventory import Inventory, inventory, time_text
from tests.conformance import conforms
from tests.store.little import FINGERPRINT, ROOT
from tests.support.faults import Faults
from tests.sync.shelf import Shelf

RUN_ID = "01KA3M7Q2W0000000000000000"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def from_the_future(store: Path) -> None:
    """Let every manifest of a store be of version 99, whole and sealed."""
    for file in (*store.glob("generations/*"), *store.glob("snapshots/*/manifest.json")):
        fields = json.loads(file.read_bytes())
        (digest,) = (name for name in fields if name.startswith("manifest_"))
        del fields[digest]
        fields["schema_version"] = 99
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        fields[digest] = sha256(text.encode()).hexdigest()
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        file.parent.chmod(0o700)
        file.unlink()
        file.write_text(text)


def test_without_a_home_there_is_nothing_and_none_is_made(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert inventory(str(home)) == Inventory()
    assert not home.exists()
    home.mkdir(mode=0o700)
    assert inventory(str(home)) == Inventory()
    (home / "data").mkdir(mode=0o700)
    assert inventory(str(home)) == Inventory()


@conforms("003.SL1")
def test_a_store_is_told_with_all_that_is_known_of_it(shelf: Shelf) -> None:
    path = shelf.put("one", days=3)
    (found,) = shelf.look().stores
    assert (found.store_id, found.path, found.root, found.root_exists) == (shelf.id("one"), str(path), ROOT, False)
    assert found.last_used_at == (path / "last_used").read_text().strip()
    assert found.created_at is not None
    assert found.size_bytes == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    assert found.active_snapshot_id == (path / "ACTIVE_SNAPSHOT").read_text().strip()
    assert found.config_fingerprint == FINGERPRINT.digest
    assert (found.writer_alive, found.trouble) == (False, None)


def test_looking_changes_nothing(shelf: Shelf) -> None:
    shelf.put("one")
    before = shelf.ledger("one")
    shelf.look()
    assert shelf.ledger("one") == before


@conforms("003.SL2")
def test_only_the_first_level_is_looked_at(shelf: Shelf) -> None:
    """Decoys that are whole stores lie one level deeper, in a store and beside it."""
    shelf.put("one")
    decoy = shelf.put("decoy")
    (shelf.data / "folder").mkdir()
    decoy.rename(shelf.data / "folder" / decoy.name)
    inside = shelf.put("inside")
    inside.rename(shelf.path("one") / inside.name)
    found = shelf.look()
    assert [entry.store_id for entry in found.stores] == [shelf.id("one")]
    assert found.unknown == ("folder",)


def test_foreign_names_files_and_links_are_named_and_not_taken_for_stores(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("one")
    (tmp_path / "elsewhere").mkdir()
    shelf.path("link").symlink_to(tmp_path / "elsewhere")
    shelf.path("file").write_text("x")
    (shelf.data / "removed_link").symlink_to(tmp_path / "elsewhere")
    (shelf.data / "my notes").mkdir()
    (shelf.data / os.fsdecode(b"\xff")).write_text("x")
    (shelf.data / f"removed_{shelf.id('old')}").mkdir()
    found = shelf.look()
    assert [entry.store_id for entry in found.stores] == [shelf.id("one")]
    assert found.leftovers == (f"removed_{shelf.id('old')}",)
    names = {shelf.id("link"), shelf.id("file"), "removed_link", "my notes", os.fsdecode(b"\xff")}
    assert set(found.unknown) == names


def test_a_store_of_a_later_version_is_listed_with_its_trouble(shelf: Shelf) -> None:
    from_the_future(shelf.put("one"))
    found = shelf.entry("one")
    assert found.trouble is not None
    assert (found.trouble.code, "version 99" in found.trouble.message) == ("incompatible", True)
    # As far as it can be read, it is: somebody has to know which one it is.
    assert (found.root, found.active_snapshot_id is not None) == (ROOT, True)


def test_a_damaged_store_is_listed_with_its_trouble(shelf: Shelf) -> None:
    store = shelf.put("one")
    for file in (*store.glob("generations/*"), *store.glob("snapshots/*/manifest.json")):
        file.chmod(0o600)
        file.write_bytes(b"{")
    found = shelf.entry("one")
    assert (found.trouble and found.trouble.code, found.active_snapshot_id) == ("store_corrupt", None)
    # What it is the index of is still known from its state.
    assert found.root == ROOT


@pytest.mark.parametrize("gone", ["locks", "generations", "snapshots", "segments", "last_used", "index_state.json"])
def test_a_half_deleted_store_is_still_listed(shelf: Shelf, gone: str) -> None:
    store = shelf.put("one", days=3)
    (store / gone).rename(store.parent.parent / "out of the way")
    found = shelf.entry("one")
    assert (found.last_used_at is not None, found.writer_alive) == (True, False)


def test_a_file_where_a_folder_was_is_damage(shelf: Shelf) -> None:
    store = shelf.put("one")
    (store / "ACTIVE_SNAPSHOT").unlink()
    (store / "generations").rename(store.parent.parent / "out of the way")
    (store / "generations").write_text("x")
    found = shelf.entry("one")
    assert found.trouble is not None
    assert found.trouble.code == "store_corrupt"


def test_an_empty_folder_with_the_name_of_a_store_is_one_that_was_never_filled(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.path("empty").mkdir(mode=0o700)
    found = shelf.entry("empty")
    assert (found.root, found.created_at, found.size_bytes, found.trouble) == (None, None, 0, None)


def test_a_store_that_others_may_write_in_is_listed_and_not_opened(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.put("two")
    shelf.path("two").chmod(0o777)
    one, two = shelf.look().stores
    assert one.trouble is None
    assert (two.trouble and two.trouble.code, two.root) == (StoreNotOurs.code, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder to somebody else")
def test_a_store_of_somebody_else_is_listed_and_not_opened(shelf: Shelf) -> None:
    shelf.put("one")
    os.chown(shelf.path("one"), 12345, 12345)
    found = shelf.entry("one")
    assert found.trouble is not None
    assert (found.trouble.code, "another user" in found.trouble.message) == (StoreNotOurs.code, True)


def test_a_name_in_a_store_that_cairn_never_gives_is_told(shelf: Shelf) -> None:
    (shelf.put("one") / "segments" / "my notes\x1b.txt").write_text("dear diary")
    found = shelf.entry("one")
    assert found.trouble is not None
    assert found.trouble.code == "foreign_name"
    assert "my notes\\x1b.txt" in found.trouble.message
    assert found.root == ROOT


def test_a_live_run_is_seen(shelf: Shelf) -> None:
    shelf.put("one")
    with Disk.at(str(shelf.home), f"data/{shelf.id('one')}") as disk:
        taken = acquire(
            disk,
            run_id=RUN_ID,
            kind=RunKind.SYNC,
            floor_epoch=9,
            clock=shelf.clock,
            processes=SYSTEM_PROCESSES,
        )
        with taken:
            assert shelf.entry("one").writer_alive
    assert not shelf.entry("one").writer_alive


def test_a_date_out_of_this_world_is_shown_as_unknown() -> None:
    assert time_text(1_790_000_000_000_000_000) == "2026-09-21T14:13:20Z"
    assert [time_text(when) for when in (None, 1 << 70, -(1 << 70))] == [None, None, None]


def test_a_folder_of_stores_that_others_may_write_in_is_refused(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.data.chmod(0o777)
    with pytest.raises(StoreNotOurs):
        shelf.look()


def test_measuring_tells_how_many_names_were_seen(shelf: Shelf) -> None:
    store = shelf.put("one")
    told: list[int] = []
    inventory(str(shelf.home), tell=told.append)
    assert sum(told) == sum(1 for _ in store.rglob("*"))


def test_a_store_that_the_disk_refuses_or_that_goes_meanwhile_hides_no_other(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("broken", "gone", "whole"):
        shelf.put(name)
    real, real_read = DiskUsage.stats, Disk.read

    def stats(self: DiskUsage, path: str) -> list[tuple[str, DiskStat]]:
        if path.startswith("gone"):
            os.rename(shelf.path("gone"), shelf.home / "elsewhere")
        return real(self, path)

    def read(self: Disk, path: str, cap: int) -> bytes:
        if "broken" in self.path and path == "ACTIVE_SNAPSHOT":
            raise OSError(5, "Input/output error")
        return real_read(self, path, cap)

    monkeypatch.setattr(DiskUsage, "stats", stats)
    monkeypatch.setattr(Disk, "read", read)
    broken, gone, whole = shelf.look().stores
    assert (broken.trouble and broken.trouble.code) == "store_io"
    assert (gone.trouble and gone.trouble.message) == "It was removed while it was looked at."
    assert whole.trouble is None


def test_a_disk_that_fails_is_told_with_the_place(shelf: Shelf, faults: Faults) -> None:
    shelf.put("one")

    faults.fail(DiskUsage, "stats", OSError(5, "Input/output error"))
    with pytest.raises(StoreIo, match=str(shelf.data)):
        shelf.look()
