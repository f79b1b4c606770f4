"""The quarantine: what is put there keeps its bytes and its path, and numbers stay taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.store.disk import Disk
from cairn.store.repair.salvage import Quarantine
from tests.store.disks import FailingDisk, Fault, MemoryDisk, TracingDisk

RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


def store() -> MemoryDisk:
    fs = MemoryDisk()
    for folder in ("generations", "snapshots", "segments", "segments/one"):
        fs.make_folder(folder)
    fs.create_bytes("segments/one/data.bin", b"data")
    fs.seal("segments/one")
    fs.create_bytes("generations/3", b"third")
    fs.sync_file("generations/3")
    return fs


def test_a_sealed_folder_and_a_file_are_moved_whole_and_safely() -> None:
    fs = store()
    quarantine = Quarantine(fs, RUN)
    assert fs.list_folder("") == ["generations", "segments", "snapshots"], "nothing is made before it is needed"
    quarantine.take("segments/one")
    quarantine.take("generations/3")
    after = fs.crash("lose")
    assert after.list_folder("segments") == after.list_folder("generations") == []
    assert after.list_folder(f"quarantine/{RUN}/segments") == ["one"]
    assert quarantine.moved == ["segments/one", "generations/3"]


def test_what_is_not_there_is_no_trouble_and_a_name_that_is_taken_gets_a_number() -> None:
    fs = store()
    quarantine = Quarantine(fs, RUN)
    quarantine.take("segments/none")
    assert quarantine.moved == []
    for data in (b"one", b"two", b"three"):
        fs.create_bytes("stray", data)
        quarantine.take("stray")
    found = [fs.read(f"quarantine/{RUN}/stray{end}", 9) for end in ("", ".1", ".2")]
    assert found == [b"one", b"two", b"three"]


def test_a_fence_takes_the_place_of_a_generation_or_of_nothing_and_its_bytes_are_kept() -> None:
    fs = store()
    quarantine = Quarantine(fs, RUN)
    quarantine.fence(3)
    quarantine.fence(4)
    fs.make_folder("generations/5")
    quarantine.fence(5)
    after = fs.crash("lose")
    assert [after.read(f"generations/{number}", 9) for number in (3, 4, 5)] == [b"", b"", b""]
    assert after.read(f"quarantine/{RUN}/generations/3", 9) == b"third"
    assert after.stat(f"quarantine/{RUN}/generations/5").is_folder


def test_at_no_moment_a_number_that_was_taken_is_free() -> None:
    fs = store()
    seen = []
    Quarantine(TracingDisk(fs, lambda _: seen.append("3" in fs.list_folder("generations"))), RUN).fence(3)
    assert seen
    assert all(seen)


def test_a_name_that_was_lost_leads_to_the_same_file_again() -> None:
    fs = store()
    quarantine = Quarantine(fs, RUN)
    quarantine.mend("generations/3", "snapshots/three/manifest.json")
    assert fs.stat("snapshots/three/manifest.json").inode == fs.stat("generations/3").inode
    fs.create_bytes("generations/4", b"rot")
    fs.sync_file("generations/4")
    quarantine.mend("snapshots/three/manifest.json", "generations/4")
    after = fs.crash("lose")
    assert after.read("generations/4", 9) == after.read("snapshots/three/manifest.json", 9) == b"third"
    assert after.read(f"quarantine/{RUN}/generations/4", 9) == b"rot"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), "store", create=True) as found:
        found.make_folder("generations")
        yield found


def test_links_and_odd_names_stay_where_they_are_and_are_told(disk: Disk) -> None:
    here = Path(disk.path)
    (here / "link").symlink_to("/etc")
    (here / "odd name").write_bytes(b"")
    os.mkfifo(here / "pipe")
    quarantine = Quarantine(disk, RUN)
    for name in ("link", "odd name", "pipe"):
        quarantine.take(name)
    assert quarantine.left == ["link", "odd name", "pipe"]
    assert (here / "link").is_symlink()


def test_a_link_in_the_place_of_a_generation_gives_way_to_a_fence(disk: Disk) -> None:
    here = Path(disk.path)
    (here / "generations" / "7").symlink_to("/etc/passwd")
    quarantine = Quarantine(disk, RUN)
    quarantine.fence(7)
    assert disk.read("generations/7", 9) == b""
    assert quarantine.moved == []


@pytest.mark.parametrize("what", ["take", "fence"])
def test_trouble_of_the_disk_is_raised(what: str) -> None:
    disk = store()
    fs = FailingDisk(disk, Fault(1, 5))
    quarantine = Quarantine(fs, RUN)
    with pytest.raises(OSError, match="Input/output"):
        quarantine.take("generations/3") if what == "take" else quarantine.fence(3)
    assert disk.read("generations/3", 9) == b"third"
