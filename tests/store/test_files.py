"""Small moves: a file is read whole, replaced as one, removed with or without what is below it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cairn.errors import StoreCorrupt
from cairn.store.disk import Disk
from cairn.store.fs import Fs, despite_a_sleeper, read_whole, remove_file, remove_tree, replace_file
from tests.store.disks import FAULTS, Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.store.little import all_files


def test_a_file_that_is_larger_than_anybody_writes_it_is_damaged() -> None:
    fs = MemoryDisk()
    fs.create_bytes("x", b"12345")
    assert read_whole(fs, "x", 5, "thing") == b"12345"
    with pytest.raises(StoreCorrupt, match="thing of the index is damaged: it is larger than 4 bytes"):
        read_whole(fs, "x", 4, "thing")


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_what_is_no_file_is_damaged_and_blocks_nobody(tmp_path: Path, kind: str) -> None:
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        planted = tmp_path / "home/store/x"
        if kind == "folder":
            fs.make_folder("x")
        elif kind == "link":
            planted.symlink_to(tmp_path)
        else:
            os.mkfifo(planted)
        with pytest.raises(StoreCorrupt, match="thing of the index is damaged: it is not a file"):
            read_whole(fs, "x", 4, "thing")


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_file_that_cannot_be_read_is_not_said_to_be_damaged(number: int) -> None:
    fs = MemoryDisk()
    fs.create_bytes("x", b"12345")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is compared below
        read_whole(FailingDisk(fs, Fault(1, number)), "x", 5, "thing")
    assert caught.value.errno == number


def test_removing_what_is_not_there_is_no_trouble() -> None:
    fs = MemoryDisk()
    remove_file(fs, "x")
    remove_tree(fs, "x")
    fs.create_bytes("x", b"")
    remove_file(fs, "x")
    assert fs.list_folder("") == []


def test_a_tree_goes_with_all_that_is_sealed_below_it() -> None:
    fs = MemoryDisk()
    for folder in ("a", "a/b", "a/b/c", "keep"):
        fs.make_folder(folder)
    for file in ("a/1", "a/b/2", "a/b/c/3", "keep/4"):
        fs.create_bytes(file, b"")
        fs.seal(file)
    for folder in ("a/b/c", "a/b", "a"):
        fs.seal(folder)
    remove_tree(fs, "a")
    assert all_files(fs) == ["keep/4"]
    assert fs.list_folder("") == ["keep"]


def test_a_link_in_a_tree_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/x").write_bytes(b"x")
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        fs.make_folder("a")
        (tmp_path / "home/store/a/link").symlink_to(tmp_path / "precious")
        remove_tree(fs, "a")
        assert fs.list_folder("") == []
    assert (tmp_path / "precious/x").read_bytes() == b"x"


def old_file() -> MemoryDisk:
    fs = MemoryDisk()
    fs.make_folder("folder")
    fs.create_bytes("folder/x", b"old")
    fs.sync_file("folder/x")
    fs.sync_folder("folder")
    fs.sync_folder("")
    return fs


def replace(fs: Fs, *, safe: bool = True) -> None:
    replace_file(fs, "folder/x", "folder/x.tmp", b"new", safe=safe)


@pytest.mark.parametrize("safe", [True, False])
def test_a_file_is_replaced_in_the_order_that_survives(safe: bool) -> None:
    fs = TracingDisk(old_file())
    fs.create_bytes("folder/x.tmp", b"left by a run that was killed")
    fs.calls.clear()
    replace(fs, safe=safe)
    expected = ["remove folder/x.tmp", "create_bytes folder/x.tmp", "swap folder/x.tmp -> folder/x"]
    if safe:
        expected = [*expected[:2], "sync_file folder/x.tmp", expected[2], "sync_folder folder"]
    assert [str(call) for call in fs.calls] == expected
    assert fs.list_folder("folder") == ["x"]
    assert fs.read("folder/x", 9) == b"new"


def test_a_file_of_the_store_itself_is_made_safe_in_its_root() -> None:
    fs = TracingDisk(MemoryDisk())
    replace_file(fs, "x", "x.tmp", b"new", safe=True)
    assert str(fs.calls[-1]) == "sync_folder ."


@pytest.mark.parametrize("mode", ["kill", "lose", "tear"])
def test_a_power_cut_leaves_the_old_bytes_or_the_new(mode: Mode) -> None:
    found: set[bytes] = set()
    inner = old_file()
    disk = TracingDisk(inner)
    disk.before = lambda _: found.update(inner.crash(mode, seed).read("folder/x", 9) for seed in range(20))
    replace(disk)
    assert found <= {b"old", b"new"}
    assert {inner.crash(mode, seed).read("folder/x", 9) for seed in range(20)} == {b"new"}


@pytest.mark.parametrize(("number", "how"), FAULTS)
def test_when_it_fails_the_old_bytes_or_the_new_are_there_and_nothing_beside_them(number: int, how: str) -> None:
    numbers = set()
    for at in range(1, 20):
        fs = FailingDisk(old_file(), Fault(at, number, how))  # type: ignore[arg-type]
        try:
            replace(fs)
        except OSError as error:
            numbers.add(error.errno)
        if fs.fired is None:
            break
        assert fs.inner.read("folder/x", 9) in (b"old", b"new")
        assert fs.inner.list_folder("folder") == ["x"]
    else:
        pytest.fail("it never ran without a fault")
    assert numbers == {number}


def test_trouble_is_told_even_when_the_temporary_file_cannot_be_removed() -> None:
    inner = old_file()

    class Broken(TracingDisk):
        def swap(self, temp: str, target: str) -> None:
            raise OSError(errno.ENOSPC, "full")

        def remove(self, path: str) -> None:
            raise OSError(errno.EIO, "broken") if self.calls[1:] else FileNotFoundError(path)

    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is compared below
        replace(Broken(inner))
    assert caught.value.errno == errno.ENOSPC
    assert inner.read("folder/x", 9) == b"old"


@pytest.mark.parametrize("kind", ["link to a file", "link to nothing", "fifo"])
def test_what_somebody_planted_under_the_temporary_name_is_never_written_to(tmp_path: Path, kind: str) -> None:
    precious = tmp_path / "precious"
    if kind != "link to nothing":
        precious.write_bytes(b"precious")
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        fs.create_bytes("x", b"old")
        planted = tmp_path / "home/store/x.tmp"
        if kind == "fifo":
            os.mkfifo(planted)
        else:
            planted.symlink_to(precious)
        replace_file(fs, "x", "x.tmp", b"new", safe=True)
        assert fs.read("x", 9) == b"new"
        assert fs.list_folder("") == ["x"]
    assert not (tmp_path / "home/store/x").is_symlink()
    assert precious.exists() is (kind != "link to nothing")
    assert kind == "link to nothing" or precious.read_bytes() == b"precious"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTEMPTY])
def test_tidying_that_somebody_works_against_is_given_up(number: int) -> None:
    with despite_a_sleeper():
        raise OSError(number, "somebody was faster")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMFILE])
def test_trouble_of_the_disk_is_not_taken_for_somebody_who_works_against_us(number: int) -> None:
    with pytest.raises(OSError, match="broken"), despite_a_sleeper():
        raise OSError(number, "broken")


def test_a_tree_that_somebody_else_removes_at_the_same_time_is_gone_all_the_same() -> None:
    inner = MemoryDisk()
    for folder in ("a", "a/b"):
        inner.make_folder(folder)
    for file in ("a/1", "a/b/2", "a/b/3"):
        inner.create_bytes(file, b"")
    calls = TracingDisk(inner.crash("kill"))
    remove_tree(calls, "a")
    for moment in range(len(calls.calls)):
        disk = inner.crash("kill")
        seen = 0

        def other(_: Call, disk: MemoryDisk = disk, moment: int = moment) -> None:
            nonlocal seen
            seen += 1
            if seen == moment + 1:
                remove_tree(disk, "a")

        remove_tree(TracingDisk(disk, other), "a")
        assert disk.list_folder("") == []
