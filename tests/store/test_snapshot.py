"""A view is one whole, verified snapshot: it hides what tombstones hide, and nothing that happens later changes it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.types import SkipReason
from cairn.errors import Incompatible, NoValidSnapshot
from cairn.store.disk import Disk
from cairn.store.format import manifest as manifests
from cairn.store.format.document import MANIFEST
from cairn.store.format.layout import (
    DIGESTS,
    POINTER,
    READERS_LOCK,
    create_store,
    generation_path,
    manifest_path,
    segment_folder,
)
from cairn.store.format.manifest import Manifest, encode_manifest
from cairn.store.format.seal import Remembered
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.fs import Fs
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Layer
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import LiveCounts, SnapshotView, open_view
from tests.conformance import conforms
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import (
    FactsOf,
    FewProcesses,
    all_files,
    contents,
    draft,
    facts,
    load,
    rewrite,
    save,
    write_batch,
)
from tests.store.segments import PYTHON, analyzed, skipped
from tests.support.clock import ManualClock
from tests.support.faults import Faults

FIRST = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
SECOND = {"a.txt": b"alpha two\n", "b.txt": b"beta\n", "c.txt": b"gamma\n"}
THIRD = {"b.txt": b"beta\n", "c.txt": b"gamma\n"}


def store(*states: dict[str, bytes], facts_of: FactsOf = facts) -> tuple[MemoryDisk, list[Manifest]]:
    fs = MemoryDisk()
    made = [save(fs, files, facts_of=facts_of) for files in states or (FIRST, SECOND, THIRD)]
    return fs, [manifest for manifest in made if manifest is not None]


def view_of(fs: Fs, remembered: Remembered | None = None) -> SnapshotView:
    view = open_view(fs, "here", remembered=remembered)
    assert view is not None
    return view


def drop_segment(fs: MemoryDisk, name: str) -> None:
    fs.unseal(segment_folder(name))
    for file in fs.list_folder(segment_folder(name)):
        fs.remove(f"{segment_folder(name)}/{file}")
    fs.remove_folder(segment_folder(name))


# --- tombstones -------------------------------------------------------------------------------------------------------


@conforms("003.TMB1", "003.TMB2", "003.ROW3")
def test_the_tombstone_of_a_modified_file_hides_its_old_rows_and_not_its_new_ones() -> None:
    fs, (_, second) = store(FIRST, SECOND)
    with view_of(fs) as view:
        assert contents(view) == SECOND
        assert [chunk.text for chunk in view.chunks("a.txt")] == ["alpha two\n"]
        assert [(row.path_key, row.ordinal) for key in SECOND for row in view.chunks(key)] == [
            (key, 0) for key in SECOND
        ]
        record = view.file("a.txt")
        assert record == view.records()["a.txt"]
        assert record is not None
        assert record.size == len(SECOND["a.txt"])
    assert len(second.segments) == 2, "the old rows are still there"


@conforms("003.TMB2", "003.TMB5")
def test_a_deleted_file_is_gone_even_while_its_rows_sit_in_an_old_segment() -> None:
    """IDX.MUST.001"""
    fs, (*_, third) = store()
    old_rows = b"".join(fs.read(f"{segment_folder(ref.name)}/data.bin", 1 << 20) for ref in third.segments)
    assert b"alpha two\n" in old_rows
    with view_of(fs) as view:
        assert "a.txt" not in view.records()
        assert "a.txt" not in set(view.paths())
        assert view.file("a.txt") is None
        assert view.text("a.txt") is None
        assert view.chunks("a.txt") == []
        assert view.symbols("a.txt") == []
        assert view.references("a.txt") == []
        assert view.imports("a.txt") == []
        assert view.counts() == LiveCounts(2, 0, 2)
    assert third.counts.chunks_indexed == 4


def test_an_older_snapshot_is_opened_when_it_is_asked_for_and_none_that_never_was() -> None:
    fs, (first, *_) = store(FIRST, SECOND)
    with open_view(fs, "here", snapshot=first.snapshot_id) or pytest.fail("it is kept") as view:
        assert contents(view) == FIRST
    assert open_view(fs, "here", snapshot="01KA3M7Q2W0000000000000000") is None


def test_a_file_that_was_deleted_and_came_back_is_there_as_it_is_now() -> None:
    fs, _ = store(FIRST, {"b.txt": b"beta\n"}, FIRST)
    assert load(fs) == FIRST


@conforms("003.TMB2")
def test_names_in_hidden_files_are_not_found_and_those_in_live_files_are() -> None:
    states = ({"a.py": PYTHON, "b.py": PYTHON}, {"b.py": PYTHON, "a.py": b"x = 1\n"})
    fs, _ = store(*states, facts_of=lambda key, data: analyzed(key, data, "python"))
    with view_of(fs) as view:
        assert [path for path, _ in view.symbols_named("Greeter")] == ["b.py"]
        assert list(view.files_defining("Greeter")) == ["b.py"]
        assert {path for path, _ in view.references_named("greet")} == {"b.py"}
        assert [symbol.name for symbol in view.symbols("b.py")] == ["Greeter", "greet", "main"]
        assert {use.name for use in view.references("b.py")} > {"greet", "say"}
        assert [each.module for each in view.imports("b.py")][:1] == ["os"]
        assert view.symbols("a.py") == [] or "Greeter" not in {symbol.name for symbol in view.symbols("a.py")}
        assert list(view.symbols_named("nobody")) == []
        assert list(view.references_named("nobody")) == []


def test_hidden_skip_records_count_neither_as_files_nor_as_skips() -> None:
    fs, clock = MemoryDisk(), ManualClock()
    gone = skipped("x.bin", SkipReason.BINARY)
    for skips, tombstones in (((gone, skipped("y.bin")), ()), ((), (Tombstone("x.bin", TombstoneReason.DELETE),))):
        with open_writer(fs, "here", RunKind.SYNC, clock=clock, processes=FewProcesses()) as writer:
            made = draft(writer, {"a.txt": b"a\n"}, clock)
            batches = write_batch(writer, {} if tombstones else {"a.txt": b"a\n"}, skips).batches
            layers = (Layer(tombstones, batches),)
            wanted = replace(made, layers=layers, expected={}, files=2 if tombstones else 3)
            assert publish(writer, wanted, lambda: True, clock)
    with view_of(fs) as view:
        assert view.counts() == LiveCounts(1, 1, 1)
        assert sorted(view.records()) == sorted(view.paths()) == ["a.txt", "y.bin"]


# --- the manifest alone -----------------------------------------------------------------------------------------------


@conforms("003.MAN3")
def test_no_parent_is_needed_to_read_a_snapshot() -> None:
    fs, made = store()
    for parent in made[:-1]:
        fs.remove(generation_path(parent.generation))
        for file in all_files(fs, f"snapshots/{parent.snapshot_id}"):
            if not any(ref.path == file for ref in made[-1].tombstones):
                fs.remove(file)
    with view_of(fs) as view:
        assert contents(view) == THIRD
        assert view.damage == ()


@conforms("003.MAN4", "003.PHY6")
def test_a_segment_that_no_manifest_names_is_not_seen() -> None:
    fs, made = store(FIRST)
    other = MemoryDisk()
    save(other, {"stray.txt": b"stray\n"})
    (name,) = other.list_folder("segments")
    fs.make_folder(segment_folder(name))
    for file in other.list_folder(segment_folder(name)):
        fs.create_bytes(f"{segment_folder(name)}/{file}", other.read(f"{segment_folder(name)}/{file}", 1 << 20))
    fs.create_bytes(f"snapshots/{made[0].snapshot_id}/tombstones-9.jsonl", b'{"path_key":"a.txt","reason":"delete"}\n')
    assert load(fs) == FIRST


@conforms("000.PRF7")
def test_a_store_without_a_published_manifest_is_no_index() -> None:
    fs = MemoryDisk()
    assert open_view(fs, "here") is None
    create_store(fs)
    assert open_view(fs, "here") is None
    other, (manifest,) = store(FIRST)
    for name in other.list_folder("segments"):
        fs.make_folder(segment_folder(name))
        for file in other.list_folder(segment_folder(name)):
            fs.create_bytes(f"{segment_folder(name)}/{file}", other.read(f"{segment_folder(name)}/{file}", 1 << 20))
    fs.make_folder(f"snapshots/{manifest.snapshot_id}")
    fs.create_bytes(manifest_path(manifest.snapshot_id), encode_manifest(manifest))
    fs.create_bytes(generation_path(1), b"")
    assert open_view(fs, "here") is None, "a manifest that never won a number is no snapshot"
    assert not is_there(fs, POINTER)


def is_there(fs: Fs, path: str) -> bool:
    try:
        fs.stat(path)
    except FileNotFoundError:
        return False
    return True


# --- it stays as it is ------------------------------------------------------------------------------------------------


@conforms("003.PUB2")
def test_the_pointer_is_read_once_and_later_publishes_change_nothing_in_an_open_view() -> None:
    disk, made = store(FIRST)
    fs = TracingDisk(disk)
    with view_of(fs) as view:
        assert [call.what for call in fs.calls if call.path == POINTER] == ["read"]
        for files in (SECOND, THIRD, {}):
            save(disk, files)
            assert contents(view) == FIRST
        assert view.manifest == made[0]
        assert [call.what for call in fs.calls if call.path == POINTER] == ["read"]
    assert load(disk) == {}


@pytest.mark.parametrize("real", [False, True])
def test_a_view_answers_the_same_when_every_file_of_the_store_has_lost_its_name(tmp_path: Path, real: bool) -> None:
    disk = Disk.at(str(tmp_path / "home"), "store", create=True) if real else MemoryDisk()
    for files in (FIRST, SECOND, THIRD):
        save(disk, files)
    fs = TracingDisk(disk)
    with view_of(fs) as view:
        for path in all_files(disk):
            folder = path.rpartition("/")[0]
            if folder:
                disk.unseal(folder)
            disk.remove(path)
        fs.calls.clear()
        assert contents(view) == THIRD
        assert [chunk.text for chunk in view.chunks("c.txt")] == ["gamma\n"]
        assert fs.calls == [], "all was open before it answered"
        view.close()
        view.close()
    if isinstance(disk, Disk):
        disk.close()


@conforms("003.RDR6")
def test_idx_must_005_the_readers_lock_is_shared_while_a_view_is_opened_and_no_longer() -> None:
    disk, _ = store(FIRST)
    held: list[bool] = []

    def look(call: Call) -> None:
        if call.what in ("open_map", "open_database"):
            with contextlib.suppress(TimeoutError), disk.lock(READERS_LOCK, exclusive=True, timeout=0):
                held.append(False)
                return
            held.append(True)
            with disk.lock(READERS_LOCK, exclusive=False, timeout=0):
                pass

    with view_of(TracingDisk(disk, look)) as view, disk.lock(READERS_LOCK, exclusive=True, timeout=0):
        assert contents(view) == FIRST
    assert held
    assert all(held)


def test_a_collector_that_was_stopped_with_the_lock_in_its_hand_keeps_no_reader_out_for_ever() -> None:
    fs, _ = store(FIRST)
    with fs.lock(READERS_LOCK, exclusive=True, timeout=0):
        assert load(fs) == FIRST


def test_a_store_whose_locks_were_removed_can_still_be_read() -> None:
    fs, _ = store(FIRST)
    fs.remove(READERS_LOCK)
    assert load(fs) == FIRST


# --- damage -----------------------------------------------------------------------------------------------------------


def _forget_tombstones(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.remove(made[2].tombstones[-1].path)


@conforms("003.COR1", "003.SUM2", "003.SUM3")
@pytest.mark.parametrize(
    ("damage", "left", "says"),
    [
        (lambda fs, made: fs.remove(POINTER), THIRD, ""),
        (lambda fs, made: rewrite(fs, POINTER, b"?"), THIRD, "pointer"),
        (lambda fs, made: rewrite(fs, POINTER, made[0].snapshot_id.encode() + b"\n"), THIRD, ""),
        (lambda fs, made: rewrite(fs, generation_path(3), b"?"), SECOND, "manifest"),
        (_forget_tombstones, SECOND, "tombstone file of the index is damaged: it is missing"),
        (lambda fs, made: rewrite(fs, made[2].tombstones[-1].path, b""), SECOND, "bytes are not the ones"),
        (
            lambda fs, made: rewrite(fs, made[2].tombstones[-1].path, b'{"path_key":"b.txt","reason":"delete"}\n'),
            SECOND,
            "bytes are not the ones",
        ),
        (lambda fs, made: rewrite(fs, made[2].tombstones[-1].path, b" " * (49 << 20)), SECOND, "it is larger than"),
        (lambda fs, made: drop_segment(fs, made[1].segments[-1].name), FIRST, "a part of it is missing"),
    ],
)
def test_the_newest_whole_snapshot_answers_and_the_damage_is_told(
    damage: Callable[[MemoryDisk, list[Manifest]], None], left: dict[str, bytes], says: str
) -> None:
    fs, made = store()
    damage(fs, made)
    with view_of(fs) as view:
        assert contents(view) == left
        assert bool(view.damage) is bool(says)
        assert says in " ".join(problem.sentence for problem in view.damage)


@conforms("003.COR2")
def test_without_any_whole_snapshot_the_store_is_said_to_be_corrupt() -> None:
    fs, made = store()
    drop_segment(fs, made[0].segments[0].name)
    with pytest.raises(NoValidSnapshot) as caught:
        open_view(fs, "/home/x/store")
    assert caught.value.sentence.startswith("Store corrupt: no snapshot in /home/x/store is whole (")
    assert caught.value.exit_status == 90


def resign(fs: MemoryDisk, manifest: Manifest) -> None:
    """Another manifest in the place of the one with its number, under both names, its digest right."""
    rewrite(fs, generation_path(manifest.generation), encode_manifest(manifest))


def test_a_manifest_whose_counts_are_not_those_of_the_segment_is_not_believed() -> None:
    fs, (first,) = store(FIRST)
    (ref,) = first.segments
    wrong = replace(first, segments=(replace(ref, files=1),), counts=replace(first.counts, files_indexed=1))
    assert first.completion
    resign(fs, replace(wrong, completion=replace(first.completion, indexed_files=1)))
    with pytest.raises(NoValidSnapshot, match="its counts are not the ones in the manifest"):
        open_view(fs, "here")


def test_a_tombstone_file_with_another_count_than_its_manifest_says_is_not_believed(
    faults: Faults,
) -> None:
    fs, (_, second) = store(FIRST, SECOND)
    (ref,) = second.tombstones
    faults.limit(manifests, _LEAST_TOMBSTONE_BYTES=1)
    wrong = replace(second, tombstones=(replace(ref, count=2),), counts=replace(second.counts, tombstones_added=2))
    resign(fs, wrong)
    with view_of(fs) as view:
        assert contents(view) == FIRST
        assert "its count is not the one in the manifest" in view.damage[0].sentence


def test_a_store_from_the_future_is_refused_and_not_read_as_an_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fs, _ = store(FIRST, SECOND)
    monkeypatch.setattr(manifests, "MANIFEST", replace(MANIFEST, oldest=0, newest=0))
    with pytest.raises(Incompatible):
        open_view(fs, "here")


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("real", [False, True])
def test_what_cannot_be_read_is_the_trouble_of_the_disk_and_no_descriptor_is_lost(
    tmp_path: Path, number: int, real: bool
) -> None:
    disk = Disk.at(str(tmp_path / "home"), "store", create=True) if real else MemoryDisk()
    for files in (FIRST, SECOND):
        save(disk, files)
    before = os.listdir("/proc/self/fd")
    at = 0
    failures = []
    while True:
        at += 1
        fs = FailingDisk(disk, Fault(at, number))
        try:
            assert load(fs) == SECOND
        except OSError as error:
            failures.append(error.errno)
        else:
            # Without its side file it only takes longer.
            assert fs.fired is None or fs.fired.path == DIGESTS
        assert os.listdir("/proc/self/fd") == before
        if fs.fired is None:
            break
    assert set(failures) == {number}
    assert len(failures) > 10
    if isinstance(disk, Disk):
        disk.close()


# --- what is hashed, and when -----------------------------------------------------------------------------------------


def hashed(calls: list[Call]) -> list[str]:
    """The tables that were read as bytes: a view opens them as databases, so this is for their digest."""
    return [call.path for call in calls if call.what == "open_map" and call.path.endswith("rows.sqlite")]


@conforms("003.SUM4")
def test_every_file_is_hashed_before_the_first_row_is_read() -> None:
    """IDX.MUST.006"""
    disk, made = store()
    fs = TracingDisk(disk)
    with view_of(fs, remembered=Remembered()):
        pass
    for ref in made[-1].segments:
        folder = segment_folder(ref.name)
        own = [(call.what, call.path) for call in fs.calls if call.path.startswith(folder + "/")]
        opened = own.index(("open_database", f"{folder}/rows.sqlite"))
        reads = [path for what, path in own[:opened] if what == "open_map"]
        assert reads == [f"{folder}/data.bin", f"{folder}/rows.sqlite", f"{folder}/data.bin"], "hash, hash, open"


@conforms("003.SUM4")
def test_a_damaged_segment_is_never_opened_as_a_database() -> None:
    disk, made = store(FIRST)
    path = f"{segment_folder(made[0].segments[0].name)}/rows.sqlite"
    data = disk.read(path, 1 << 20)
    rewrite(disk, path, data[:-1] + bytes([data[-1] ^ 1]))
    fs = TracingDisk(disk)
    with pytest.raises(NoValidSnapshot):
        open_view(fs, "here")
    assert [call for call in fs.calls if call.what == "open_database"] == []


def test_what_the_sealer_hashed_is_not_hashed_again_by_any_later_process() -> None:
    disk, made = store()
    fs = TracingDisk(disk)
    with view_of(fs):
        assert hashed(fs.calls) == []
    disk.remove(DIGESTS)
    fs.calls.clear()
    with view_of(fs):
        assert len(hashed(fs.calls)) == len(made[-1].segments) == 2


def test_a_file_whose_stat_changed_is_hashed_again_even_if_its_bytes_did_not() -> None:
    disk, made = store()
    path = f"{segment_folder(made[0].segments[0].name)}/rows.sqlite"
    rewrite(disk, path, disk.read(path, 1 << 20))
    fs = TracingDisk(disk)
    with view_of(fs) as view:
        assert hashed(fs.calls) == [path]
        assert view.damage == ()


def test_a_view_that_is_held_is_not_opened_again_while_its_snapshot_is_the_newest() -> None:
    disk, made = store(FIRST)
    with view_of(disk) as held:
        fs = TracingDisk(disk)
        assert open_view(fs, "here", held=held) is held
        assert [call for call in fs.calls if call.what == "open_database"] == []
        save(disk, SECOND)
        with open_view(disk, "here", held=held) or pytest.fail("it is published") as newer:
            assert newer is not held
            assert contents(newer) == SECOND
        assert open_view(disk, "here", snapshot=made[0].snapshot_id, held=held) is held
        assert contents(held) == FIRST


@pytest.mark.parametrize("part", ["tombstone file", "segment"])
def test_a_view_that_is_held_answers_no_more_once_its_snapshot_is_damaged(part: str) -> None:
    disk, made = store()
    with view_of(disk) as held:
        if part == "segment":
            drop_segment(disk, made[2].segments[-1].name)
        else:
            _forget_tombstones(disk, made)
        with open_view(disk, "here", held=held) or pytest.fail("an older one is whole") as older:
            assert older is not held
            assert contents(older) == (FIRST if part == "segment" else SECOND)
            assert part in older.damage[0].sentence


def test_a_reader_can_bring_its_own_memory() -> None:
    disk, _ = store()
    remembered = Remembered()
    with view_of(disk, remembered=remembered):
        assert len(remembered) == 4
    fs = TracingDisk(disk)
    with view_of(fs, remembered=remembered):
        assert hashed(fs.calls) == []
    assert not [call for call in fs.calls if call.path == DIGESTS]


def test_a_draft_without_files_is_an_empty_index_and_not_a_missing_one() -> None:
    fs, _ = store({})
    with view_of(fs) as view:
        assert view.records() == {}
        assert view.counts() == LiveCounts(0, 0, 0)
        assert view.manifest.completion is not None


def test_a_damaged_snapshot_closes_what_it_had_opened(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        save(fs, FIRST)
        made = save(fs, SECOND)
        assert made
        broken = tmp_path / "home/store" / segment_folder(made.segments[-1].name) / "data.bin"
        os.chmod(broken, 0o600)
        broken.write_bytes(b"")
        before = os.listdir("/proc/self/fd")
        assert load(fs) == FIRST
        assert os.listdir("/proc/self/fd") == before
