"""Where things lie in a store, and who may touch them: names, what a store cannot do without, and its permissions."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.errors import StoreNotOurs
from cairn.store.disk import Disk
from cairn.store.format.layout import (
    FOLDERS,
    LEASE_LOCK,
    READERS_LOCK,
    batch_folder,
    batch_seal,
    create_store,
    generation_number,
    generation_path,
    is_created,
    is_temp,
    manifest_path,
    segment_folder,
    snapshot_folder,
    staging_folder,
    temp_path,
)
from cairn.store.format.seal import Remembered
from cairn.store.format.segment import Segment
from cairn.store.publish.staging import Staging
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.store.little import all_files, load, save
from tests.support.faults import Faults

RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


@contextlib.contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


@conforms("003.LAY1", "003.PHY1")
def test_a_store_has_its_required_files_under_their_names_and_one_kind_of_segment() -> None:
    fs = MemoryDisk()
    first = save(fs, {"a.txt": b"a\n"})
    second = save(fs, {"b.txt": b"b\n"})
    assert first
    assert second
    one, two = first.snapshot_id, second.snapshot_id
    assert all_files(fs) == [
        "ACTIVE_SNAPSHOT",
        "digests.json",
        "generations/1",
        "generations/2",
        "index_state.json",
        "last_used",
        "locks/compact.flock",
        "locks/lease.flock",
        "locks/readers.lock",
        "locks/writer_lease.json",
        *sorted(f"segments/seg_{run}_0/{name}" for run in (one, two) for name in ("data.bin", "rows.sqlite")),
        *sorted(
            [f"snapshots/{run}/{name}" for run in (one, two) for name in ("manifest.json", "segment_file_index.jsonl")]
            + [f"snapshots/{two}/tombstones.jsonl"]
        ),
    ]
    assert fs.list_folder("staging") == []


def test_names_are_made_in_one_place_only() -> None:
    assert snapshot_folder(RUN) == f"snapshots/{RUN}"
    assert manifest_path(RUN) == f"snapshots/{RUN}/manifest.json"
    assert segment_folder("seg_x_0") == "segments/seg_x_0"
    assert generation_path(7) == "generations/7"
    assert staging_folder(RUN) == f"staging/{RUN}"
    assert batch_folder(RUN, 3) == f"staging/{RUN}/3"
    assert batch_seal(RUN, 3) == f"staging/{RUN}/3.json"


def test_two_runs_never_share_a_temporary_name_and_it_is_known_as_one() -> None:
    ours, theirs = temp_path("ACTIVE_SNAPSHOT", RUN), temp_path("ACTIVE_SNAPSHOT", RUN.replace("1", "2"))
    assert ours != theirs
    assert is_temp(ours)
    assert is_temp(theirs)
    assert not is_temp("ACTIVE_SNAPSHOT")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("1", 1),
        ("1234567890123456789", 1234567890123456789),
        ("0", None),
        ("01", None),
        ("-1", None),
        ("1.tmp", None),
        ("", None),
        ("12345678901234567890", None),
        ("\u0661", None),
        ("1\n", None),
    ],
)
def test_only_a_plain_number_is_a_generation(name: str, number: int | None) -> None:
    assert generation_number(name) == number


@pytest.mark.parametrize("missing", [*FOLDERS, LEASE_LOCK, READERS_LOCK])
def test_a_store_with_a_part_missing_is_not_created_and_is_completed(missing: str) -> None:
    fs = MemoryDisk()
    assert not is_created(fs)
    create_store(fs)
    assert is_created(fs)
    for path in [file for file in all_files(fs) if file.startswith(missing)]:
        fs.remove(path)
    if missing in FOLDERS:
        fs.remove_folder(missing)
    assert not is_created(fs)
    create_store(fs)
    assert is_created(fs)


def test_creating_a_store_twice_leaves_what_is_there() -> None:
    fs = MemoryDisk()
    save(fs, {"a.txt": b"a\n"})
    before = {path: (fs.stat(path), fs.read(path, 1 << 20)) for path in all_files(fs)}
    create_store(fs)
    assert {path: (fs.stat(path), fs.read(path, 1 << 20)) for path in all_files(fs)} == before


def test_a_store_that_was_created_survives_a_power_cut() -> None:
    fs = MemoryDisk()
    create_store(fs)
    assert is_created(fs.crash("lose"))


# --- S11: nobody else reads or writes, whatever the umask -------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o000, 0o022, 0o077, 0o777])
def test_a_store_is_ours_alone_under_any_umask(tmp_path: Path, bits: int) -> None:
    with umask(bits), Disk.at(str(tmp_path / "home"), "data/store", create=True) as fs:
        save(fs, {"a.txt": b"a\n", "b.txt": b"b\n"})
        save(fs, {"a.txt": b"other\n"})
        staging = Staging(fs, RUN, Remembered())
        fs.create_bytes(f"{staging.begin()}/x", b"")
        assert load(fs) == {"a.txt": b"other\n"}
    modes: dict[str, set[int]] = {}
    for folder, _, files in os.walk(tmp_path / "home"):
        for path in [folder, *(os.path.join(folder, file) for file in files)]:
            found = os.lstat(path)
            place = os.path.relpath(path, tmp_path / "home/data/store").split("/")
            kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
            sealed = "sealed " if place[0] == "segments" and len(place) > 1 else ""
            modes.setdefault(sealed + kind, set()).add(stat.S_IMODE(found.st_mode))
    assert modes == {"folder": {0o700}, "file": {0o600}, "sealed folder": {0o500}, "sealed file": {0o400}}


@pytest.mark.parametrize("open_to", [0o020, 0o002])
@pytest.mark.parametrize("place", ["", "data", "data/store"])
def test_a_store_that_others_may_write_is_refused_and_left_alone(tmp_path: Path, place: str, open_to: int) -> None:
    home = tmp_path / "home"
    with Disk.at(str(home), "data/store", create=True) as fs:
        save(fs, {"a.txt": b"a\n"})
    os.chmod(home / place, 0o700 | open_to)
    for create in (False, True):
        with pytest.raises(StoreNotOurs, match="others may write in it"):
            Disk.at(str(home), "data/store", create=create)
    assert stat.S_IMODE(os.stat(home / place).st_mode) == 0o700 | open_to


@pytest.mark.parametrize("place", ["", "data", "data/store"])
def test_a_store_of_somebody_else_is_refused(tmp_path: Path, place: str, faults: Faults) -> None:
    home = tmp_path / "home"
    Disk.at(str(home), "data/store", create=True).close()
    foreign = os.stat(home / place).st_ino

    def fstat(real: Callable[..., os.stat_result], fd: int) -> os.stat_result:
        found = real(fd)
        fields = list(found)
        fields[stat.ST_UID] += found.st_ino == foreign
        return os.stat_result(fields)

    faults.around(os, "fstat", fstat)
    with pytest.raises(StoreNotOurs, match="it belongs to another user"):
        Disk.at(str(home), "data/store")


# --- S19: names that somebody planted before us -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data", "data/store"])
def test_a_store_behind_a_link_is_refused(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place = tmp_path / "home" / name
    place.parent.mkdir(mode=0o700, parents=True)
    place.symlink_to(elsewhere)
    with pytest.raises(StoreNotOurs):
        Disk.at(str(tmp_path / "home"), "data/store", create=True)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", [*FOLDERS, LEASE_LOCK, READERS_LOCK])
def test_a_link_planted_for_a_part_of_the_store_is_never_followed(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "precious").write_bytes(b"precious")
    with Disk.at(str(tmp_path / "home"), "data/store", create=True) as fs:
        planted = tmp_path / "home/data/store" / name
        planted.parent.mkdir(mode=0o700, exist_ok=True)
        planted.symlink_to(elsewhere if name in FOLDERS else elsewhere / "precious")
        with pytest.raises(OSError):  # noqa: PT011 - each kind of name has its own
            save(fs, {"a.txt": b"a\n"})
    assert [(path.name, path.read_bytes()) for path in elsewhere.iterdir()] == [("precious", b"precious")]


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_planted_under_a_lock_is_refused_and_blocks_nobody(tmp_path: Path, kind: str) -> None:
    with Disk.at(str(tmp_path / "home"), "data/store", create=True) as fs:
        create_store(fs)
        planted = tmp_path / "home/data/store" / LEASE_LOCK
        planted.unlink()
        if kind == "link":
            planted.symlink_to(tmp_path / "nowhere")
        else:
            os.mkfifo(planted)
        with pytest.raises(OSError):  # noqa: PT011 - each kind of name has its own
            save(fs, {"a.txt": b"a\n"})
    assert not (tmp_path / "nowhere").exists()


def test_a_segment_cannot_be_changed_by_its_own_owner_by_mistake(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path / "home"), "data/store", create=True) as fs:
        save(fs, {"a.txt": b"a\n"})
        (name,) = fs.list_folder("segments")
        for change in (lambda: fs.remove(f"segments/{name}/data.bin"), lambda: fs.create(f"segments/{name}/more")):
            with pytest.raises(PermissionError):
                change()
        with Segment.open(fs, f"segments/{name}") as segment:
            assert segment.files == 1
