"""digests.json saves hashing, and nothing is lost without it."""

from __future__ import annotations

import errno

import pytest

from cairn.store.format.document import DIGESTS, seal
from cairn.store.format.layout import DIGESTS as PATH
from cairn.store.format.seal import Remembered, digest_files, load_digests, save_digests
from tests.store.disks import FailingDisk, Fault, MemoryDisk
from tests.store.little import rewrite

RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


def hashed() -> tuple[MemoryDisk, Remembered]:
    fs = MemoryDisk()
    for name in ("a", "b", "c"):
        fs.create_bytes(name, name.encode())
    fs.make_folder("x")
    fs.create_bytes("x/d", b"d")
    remembered = Remembered()
    digest_files(fs, "x", ["d"], remembered)
    for name in ("a", "b"):
        remembered.digest(fs, name)
    return fs, remembered


def test_what_was_hashed_is_remembered_by_the_next_process() -> None:
    fs, remembered = hashed()
    save_digests(fs, RUN, remembered, ["x/d", "b", "a"])
    assert load_digests(fs) == remembered
    assert isinstance(load_digests(fs), Remembered)
    assert len(remembered) == 3


def test_files_that_are_not_named_are_forgotten_and_those_never_hashed_are_not_made_up() -> None:
    fs, remembered = hashed()
    save_digests(fs, RUN, remembered, ["a", "c"])
    assert load_digests(fs) == {fs.stat("a")[:5]: remembered[fs.stat("a")[:5]]}


def test_a_file_that_changed_since_it_was_hashed_is_not_remembered() -> None:
    fs, remembered = hashed()
    rewrite(fs, "a", b"A")
    save_digests(fs, RUN, remembered, ["a", "b"])
    assert list(load_digests(fs)) == [fs.stat("b")[:5]]


def test_without_the_file_nothing_is_remembered() -> None:
    assert load_digests(MemoryDisk()) == {}


def _sealed(**fields: object) -> bytes:
    return seal(DIGESTS, "digests_sha256", fields)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        _sealed(),
        _sealed(files=[{"device": 1}]),
        _sealed(files=[dict.fromkeys(("device", "inode", "size", "mtime_ns", "ctime_ns"), 1) | {"sha256": "0"}]),
        _sealed(files=7),
        _sealed(files=[], schema_version=2),
        b" " * (2 << 20),
    ],
)
def test_a_file_that_is_damaged_or_of_the_future_is_not_believed(data: bytes) -> None:
    fs = MemoryDisk()
    fs.create_bytes(PATH, data)
    assert load_digests(fs) == {}


def test_a_file_that_cannot_be_read_costs_only_time() -> None:
    fs, remembered = hashed()
    save_digests(fs, RUN, remembered, ["a"])
    assert load_digests(FailingDisk(fs, Fault(1, errno.EIO))) == {}


def test_it_is_replaced_as_one_and_leaves_no_temporary_file() -> None:
    fs, remembered = hashed()
    save_digests(fs, RUN, remembered, ["a"])
    save_digests(fs, RUN, remembered, ["b"])
    assert list(load_digests(fs)) == [fs.stat("b")[:5]]
    assert fs.list_folder("") == ["a", "b", "c", PATH, "x"]
