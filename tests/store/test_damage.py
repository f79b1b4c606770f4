"""What is read of a damaged store."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from cairn.store.format.layout import manifest_path
from cairn.store.format.manifest import encode_manifest
from cairn.store.format.seal import Remembered
from cairn.store.repair.salvage import content_of, health_of, look_at, names_in, pointed_id
from tests.store.disks import FailingDisk, Fault, TracingDisk
from tests.store.little import ROOT, STORE_ID, rewrite
from tests.store.test_salvage import RUN, resign, store


def test_a_manifest_in_the_folder_of_another_snapshot_is_none_of_its_own() -> None:
    fs, made = store()
    fs.make_folder(f"snapshots/{RUN}")
    fs.create_bytes(manifest_path(RUN), encode_manifest(made[0]))
    assert set(look_at(fs, Remembered()).own) == {manifest.snapshot_id for manifest in made}


def test_a_file_that_is_live_twice_spoils_a_snapshot() -> None:
    fs, made = store()
    assert made[1].completion
    # Without its tombstones the first version of a changed file is live beside the second.
    counts = replace(made[1].counts, files_indexed=4, chunks_live=4, tombstones_added=0)
    proof = replace(made[1].completion, indexed_files=4, total_chunks=4)
    doubled = replace(made[1], tombstones=(), counts=counts, completion=proof)
    resign(fs, doubled)
    found = health_of(look_at(fs, Remembered()), doubled, STORE_ID, ROOT)
    assert found.why == "A file is live in two segments."
    assert not found.salvageable


def test_a_link_in_a_segment_is_damage_and_trouble_of_the_disk_is_not() -> None:
    disk, made = store()
    ref = made[2].segments[0]
    traced = TracingDisk(disk)
    content_of(look_at(traced, Remembered()), ref)
    at = next(at for at, call in enumerate(traced.calls, 1) if call.what == "open_map")
    for number, damage in ((errno.ELOOP, True), (errno.EIO, False)):
        look = look_at(FailingDisk(disk, Fault(at, number)), Remembered())
        if damage:
            assert content_of(look, ref).why == f"A file of segment {ref.name} is no file."
        else:
            with pytest.raises(OSError, match="Input/output"):
                content_of(look, ref)


def test_the_pointer_is_read_whether_or_not_it_leads_somewhere() -> None:
    fs, made = store()
    assert pointed_id(fs) == made[2].snapshot_id
    rewrite(fs, "ACTIVE_SNAPSHOT", RUN.encode() + b"\n")
    assert pointed_id(fs) == RUN
    rewrite(fs, "ACTIVE_SNAPSHOT", b"rot")
    assert pointed_id(fs) is None
    assert names_in(fs, "nowhere") == names_in(fs, "ACTIVE_SNAPSHOT") == []
