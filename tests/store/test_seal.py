"""Sealing: files become safe, read-only and known by their digest, in this order; what changed later is found out."""

from __future__ import annotations

import errno
from collections.abc import Callable
from hashlib import sha256

import pytest

from cairn.errors import StoreCorrupt
from cairn.store.format.seal import Remembered, Sealed, digest_files, require, seal_files
from tests.conformance import conforms
from tests.store.disks import FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import rewrite

FILES = {"b": b"second", "a": b"first", "c": b""}


def folder() -> MemoryDisk:
    fs = MemoryDisk()
    fs.make_folder("x")
    for name, data in FILES.items():
        fs.create_bytes(f"x/{name}", data)
    return fs


def sealed() -> tuple[MemoryDisk, Sealed]:
    fs = folder()
    return fs, seal_files(fs, "x", Remembered())


def test_the_digest_of_an_artifact_is_over_one_line_for_each_file_in_order_of_name() -> None:
    found = sealed()[1]
    lines = "".join(f"{name}\0{len(FILES[name])}\0{sha256(FILES[name]).hexdigest()}\n" for name in sorted(FILES))
    assert found.sha256 == sha256(lines.encode()).hexdigest()
    assert found.size_bytes == sum(map(len, FILES.values()))
    assert [file.name for file in found.files] == ["a", "b", "c"]


@conforms("003.ISO4", "003.ISO6")
def test_every_file_is_read_only_and_safe_before_any_is_hashed() -> None:
    fs = TracingDisk(folder())
    seal_files(fs, "x", Remembered())
    done = [(call.what, call.path) for call in fs.calls if call.what in ("seal", "sync_file", "open_map")]
    for name in FILES:
        assert done.index(("seal", f"x/{name}")) < done.index(("sync_file", f"x/{name}"))
    first_hash = next(place for place, (what, _) in enumerate(done) if what == "open_map")
    assert {path for what, path in done[:first_hash] if what == "sync_file"} == {f"x/{name}" for name in FILES}
    assert [what for what, _ in done[first_hash:]] == ["open_map"] * 3
    assert {fs.stat(f"x/{name}").mode & 0o777 for name in FILES} == {0o400}


def test_a_file_is_hashed_once_while_it_stays_the_same() -> None:
    disk, _ = sealed()
    fs, remembered = TracingDisk(disk), Remembered()
    first = digest_files(fs, "x", FILES, remembered)
    fs.calls.clear()
    assert digest_files(fs, "x", FILES, remembered) == first
    assert {call.what for call in fs.calls} == {"stat"}


@conforms("003.SUM4")
def test_a_file_whose_stat_changed_is_hashed_again() -> None:
    disk, before = sealed()
    fs, remembered = TracingDisk(disk), Remembered()
    digest_files(fs, "x", FILES, remembered)
    rewrite(disk, "x/a", b"FIRST")
    fs.calls.clear()
    assert digest_files(fs, "x", FILES, remembered) != before
    assert [call.path for call in fs.calls if call.what == "open_map"] == ["x/a"]


def test_what_was_sealed_is_accepted() -> None:
    fs, found = sealed()
    require(fs, "x", found.size_bytes, found.sha256, Remembered())


def _remove_all(fs: MemoryDisk) -> None:
    for name in FILES:
        fs.remove(f"x/{name}")
    fs.remove_folder("x")


def _swap(fs: MemoryDisk) -> None:
    rewrite(fs, "x/a", FILES["b"])
    rewrite(fs, "x/b", FILES["a"])


def _file_instead(fs: MemoryDisk) -> None:
    _remove_all(fs)
    fs.create_bytes("x", b"")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (_remove_all, "a part of it is missing"),
        (_file_instead, "a part of it is missing"),
        (lambda fs: fs.make_folder("x/d"), "a part of it is missing"),
        (lambda fs: fs.remove("x/a"), "its size is not"),
        (lambda fs: rewrite(fs, "x/a", b"fir"), "its size is not"),
        (lambda fs: rewrite(fs, "x/a", b"First"), "its bytes are not"),
        (lambda fs: fs.remove("x/c"), "its bytes are not"),
        (lambda fs: fs.create_bytes("x/d", b""), "its bytes are not"),
        (_swap, "its bytes are not"),
    ],
)
@conforms("003.SUM3")
def test_whatever_is_not_what_was_sealed_is_damage(damage: Callable[[MemoryDisk], object], why: str) -> None:
    fs, found = sealed()
    damage(fs)
    with pytest.raises(StoreCorrupt, match=f"segment x of the index is damaged: {why}"):
        require(fs, "x", found.size_bytes, found.sha256, Remembered())


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_what_cannot_be_read_is_the_trouble_of_the_disk(number: int) -> None:
    disk, found = sealed()
    at, numbers = 1, set()
    while True:
        fs = FailingDisk(disk, Fault(at, number))
        try:
            require(fs, "x", found.size_bytes, found.sha256, Remembered())
        except OSError as error:
            numbers.add(error.errno)
        if fs.fired is None:
            break
        at += 1
    assert at > 4
    assert numbers == {number}
