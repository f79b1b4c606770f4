"""The version of everything that a snapshot is made of, and what of it is to be written anew."""

from __future__ import annotations

import pytest

from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA
from cairn.store.read.snapshot import open_view
from cairn.store.tend.upgrade import Format, formats_of, older_segments
from tests.store.disks import MemoryDisk
from tests.store.little import save
from tests.store.raising import raised


def formats(disk: MemoryDisk) -> tuple[Format, ...]:
    with open_view(disk, "here") or pytest.fail("nothing is published") as view:
        return formats_of(disk, view)


def test_every_artifact_of_a_snapshot_says_which_version_it_has() -> None:
    disk = MemoryDisk()
    save(disk, {"a": b"one\n"})
    with raised(SEGMENT_DATA, MANIFEST):
        save(disk, {"a": b"one\n", "b": b"two\n"})
        found = formats(disk)
        (first, second) = dict.fromkeys(each.segment for each in found if each.segment)
        assert found == (
            Format(MANIFEST, 2),
            Format(CHUNK_ROWS, 1),
            Format(CHUNK_ROWS, 1, first),
            Format(SEGMENT_DATA, 1, first),
            Format(CHUNK_ROWS, 1, second),
            Format(SEGMENT_DATA, 2, second),
        )
        assert [each for each in found if each.is_older] == [Format(SEGMENT_DATA, 1, first)]
        assert older_segments(found) == [first]


def test_when_the_manifest_is_older_every_segment_is_written_anew() -> None:
    disk = MemoryDisk()
    save(disk, {"a": b"one\n"})
    save(disk, {"a": b"one\n", "b": b"two\n"})
    found = formats(disk)
    assert older_segments(found) == []
    with raised(MANIFEST):
        assert len(older_segments(found)) == 2
