"""Publish: everything is safe before it is named, named before it is claimed, and all of it or nothing."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

import cairn.store.publish.publish as publish_module
from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT
from cairn.core.types import FileFacts
from cairn.errors import CairnError, EngineUnreachable, LeaseLost, PublishRefused, StoreCorrupt, TooManySegments
from cairn.store.format import manifest as manifests
from cairn.store.format.document import MANIFEST
from cairn.store.format.layout import POINTER, generation_path, manifest_path, segment_folder, snapshot_folder
from cairn.store.format.manifest import Manifest, decode_manifest
from cairn.store.format.side_files import decode_state, state_of
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.fs import Fs
from cairn.store.publish import publish as installing
from cairn.store.publish.generations import is_published, plant_fence, read_generation
from cairn.store.publish.lease import LEASE, RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import FactsOf, FewProcesses, all_files, draft, facts, load, rewrite, save, write_batch
from tests.support.clock import ManualClock
from tests.support.faults import Faults

FIRST = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
SECOND = {"a.txt": b"alpha two\n", "b.txt": b"beta\n", "c.txt": b"gamma\n"}
CLOCK = ManualClock()


def begin(fs: Fs) -> Writer:
    return open_writer(fs, "here", RunKind.SYNC, clock=CLOCK, processes=FewProcesses())


def first() -> MemoryDisk:
    fs = MemoryDisk()
    save(fs, FIRST)
    return fs


def refused(
    fs: Fs,
    change: Callable[[Writer, Draft], Draft],
    error: type[CairnError] = PublishRefused,
    files: Mapping[str, bytes] = SECOND,
    is_fresh: Callable[[], bool] = lambda: True,
    facts_of: FactsOf = facts,
) -> str:
    """Why this draft was not published; the old snapshot answers, and nothing of the run is left."""
    with pytest.raises(error) as caught, begin(fs) as writer:  # noqa: PT012 - the writer is made by the way
        run = writer.run
        publish(writer, change(writer, draft(writer, files, CLOCK, facts_of=facts_of)), is_fresh, CLOCK)
    assert load(fs) == FIRST
    assert not is_published(fs, run)
    left = [path for path in all_files(fs) if run in path and not path.startswith("staging/")]
    assert left == []
    return caught.value.sentence


def traced(files: Mapping[str, bytes] = SECOND) -> tuple[TracingDisk, Manifest]:
    """The calls of one publish on a store with one snapshot."""
    fs = TracingDisk(first())
    with begin(fs) as writer:
        made = draft(writer, files, CLOCK)
        fs.calls.clear()
        manifest = publish(writer, made, lambda: True, CLOCK)
    assert manifest is not None
    return fs, manifest


# --- the order of things ----------------------------------------------------------------------------------------------


def places(fs: TracingDisk, *wanted: str) -> list[int]:
    calls = [str(call) for call in fs.calls]
    return [calls.index(each) for each in wanted]


@conforms("003.PUB1", "003.PUB3")
def test_the_pointer_is_a_synced_temporary_file_that_is_renamed_after_all_else_is_safe() -> None:
    fs, manifest = traced()
    run = manifest.snapshot_id
    temp = f"{POINTER}.{run}.tmp"
    order = places(
        fs,
        f"create_bytes {manifest_path(run)}",
        f"sync_file {manifest_path(run)}",
        f"sync_folder {snapshot_folder(run)}",
        "sync_folder snapshots",
        f"claim {manifest_path(run)} -> {generation_path(2)}",
        "sync_folder generations",
        f"create_bytes {temp}",
        f"sync_file {temp}",
        f"swap {temp} -> {POINTER}",
        "sync_folder .",
    )
    assert order == sorted(order)
    touching = [call.what for call in fs.calls if POINTER in (call.path, call.other) and call.what != "read"]
    assert touching == ["swap"], "the pointer is replaced in no other way"


@conforms("003.PUB4", "003.ISO5", "003.ISO6")
def test_every_artifact_is_safe_and_hashed_before_a_manifest_names_it() -> None:
    """IDX.MUST.003"""
    fs = TracingDisk(first())
    save(fs, SECOND)
    manifest = read_generation(fs, 2)
    assert manifest is not None
    run, (segment,) = manifest.snapshot_id, manifest.segments[1:]
    calls = [str(call) for call in fs.calls]
    named = calls.index(f"create_bytes {manifest_path(run)}")
    for file in ("data.bin", "rows.sqlite"):
        path = f"staging/{run}/0/{file}"
        written = max(place for place, call in enumerate(calls) if call in (f"write {path}", f"create_bytes {path}"))
        order = [
            written,
            calls.index(f"seal {path}"),
            calls.index(f"sync_file {path}"),
            calls.index(f"open_map {path}"),
        ]
        assert [*order, named] == sorted([*order, named])
    moved = calls.index(f"move staging/{run}/0 -> {segment_folder(segment.name)}")
    order = [moved, *places(fs, f"seal {segment_folder(segment.name)}", f"sync_folder {segment_folder(segment.name)}")]
    barrier = next(place for place, call in enumerate(calls) if call == "sync_folder segments" and place > moved)
    assert [*order, barrier, named] == sorted([*order, barrier, named])
    (tombstones,) = manifest.tombstones
    order = places(fs, f"create_bytes {tombstones.path}", f"sync_file {tombstones.path}")
    assert [*order, named] == sorted([*order, named])


def test_a_lease_that_was_lost_is_noticed_right_before_the_claim() -> None:
    """IDX.MUST.002"""
    fs, manifest = traced()
    calls = [str(call) for call in fs.calls]
    claimed = calls.index(f"claim {manifest_path(manifest.snapshot_id)} -> {generation_path(2)}")
    assert calls[claimed - 1] == f"read {LEASE}"

    disk = first()

    def steal() -> bool:
        disk.remove(LEASE)
        return True

    assert "Another writer took the lease" in refused(disk, lambda _, made: made, LeaseLost, is_fresh=steal)


def test_no_step_of_a_publish_waits_for_a_reader() -> None:
    fs = first()
    view = open_view(fs, "here")
    assert view is not None
    with view:
        save(fs, SECOND)
    assert load(fs) == SECOND


def test_a_publish_needs_no_more_than_sixteen_syncs() -> None:
    fs, _ = traced()
    assert sum(call.what in ("sync_file", "sync_folder") for call in fs.calls) <= 16


# --- what a manifest says ---------------------------------------------------------------------------------------------


@conforms("003.LS11", "000.LIFE3")
def test_a_manifest_carries_epoch_number_parent_proof_and_both_counts() -> None:
    fs = MemoryDisk()
    one, two = save(fs, FIRST), save(fs, SECOND)
    assert one is not None
    assert two is not None
    assert [(each.generation, each.lease_epoch) for each in (one, two)] == [(1, 1), (2, 2)]
    assert (one.parent_snapshot_id, two.parent_snapshot_id) == (None, one.snapshot_id)
    assert (two.counts.files_indexed, two.counts.chunks_indexed, two.counts.chunks_live) == (3, 4, 3)
    assert two.counts.tombstones_added == 1
    assert two.completion is not None
    assert (two.completion.run_id, two.completion.indexed_files) == (two.snapshot_id, 3)
    assert read_generation(fs, 2) == two


@conforms("003.PHY7")
def test_segments_are_named_after_their_snapshot_and_numbered() -> None:
    fs = MemoryDisk()
    one, two = save(fs, FIRST), save(fs, SECOND)
    assert one is not None
    assert two is not None
    assert [ref.name for ref in two.segments] == [f"seg_{one.snapshot_id}_0", f"seg_{two.snapshot_id}_0"]
    assert fs.list_folder("segments") == sorted(ref.name for ref in two.segments)


@conforms("003.PHY2", "003.ISO3")
def test_a_segment_is_sealed_and_never_changes_while_later_snapshots_are_published() -> None:
    fs = first()
    before = {path: (fs.stat(path), fs.read(path, 1 << 20)) for path in all_files(fs, "segments")}
    assert {found.mode & 0o777 for found, _ in before.values()} == {0o400}
    for files in (SECOND, {"b.txt": b"beta\n"}, FIRST):
        save(fs, files)
    assert len(all_files(fs, "segments")) == 6
    assert {path: (fs.stat(path), fs.read(path, 1 << 20)) for path in before} == before


def test_the_hint_which_file_went_to_which_segment_is_written_with_every_snapshot() -> None:
    fs = first()
    manifest = save(fs, {**FIRST, 'odd "name" ü.txt': b"odd\n", "c.txt": b"c\n"})
    assert manifest is not None
    lines = fs.read(f"{snapshot_folder(manifest.snapshot_id)}/segment_file_index.jsonl", 1 << 20).splitlines()
    name = f"seg_{manifest.snapshot_id}_0"
    assert [json.loads(line) for line in lines] == [
        {"path_key": "c.txt", "segment_id": name},
        {"path_key": 'odd "name" ü.txt', "segment_id": name},
    ]


@conforms("003.IS1")
def test_the_state_says_what_the_manifest_says_and_nothing_is_left_in_staging() -> None:
    fs, manifest = traced()
    assert decode_state(fs.read("index_state.json", 1 << 16)) == state_of(manifest)
    assert fs.list_folder("staging") == []
    assert fs.read("last_used", 99) == b"2026-09-21T14:13:20Z\n"


def test_layers_lie_upon_each_other_in_their_order() -> None:
    fs = first()
    with begin(fs) as writer:
        made = draft(writer, FIRST, CLOCK)
        gone = Tombstone("a.txt", TombstoneReason.REPLACE)
        one = Layer((gone,), write_batch(writer, {"a.txt": b"one\n"}).batches)
        two = Layer((gone, Tombstone("b.txt", TombstoneReason.RENAME_FROM)), ())
        three = Layer(
            (), (*write_batch(writer, {"a.txt": b"three\n"}).batches, *write_batch(writer, {"c": b"c"}).batches)
        )
        expected = {"a.txt": sha256(b"three\n").hexdigest(), "b.txt": None}
        wanted = replace(made, layers=(one, two, three, Layer()), expected=expected, files=2)
        manifest = publish(writer, wanted, lambda: True, CLOCK)
    assert manifest is not None
    assert load(fs) == {"a.txt": b"three\n", "c": b"c"}
    assert [ref.sequence for ref in manifest.segments] == [0, 1, 3, 4]
    assert [ref.sequence for ref in manifest.tombstones] == [1, 2]
    own = snapshot_folder(manifest.snapshot_id)
    assert [ref.path for ref in manifest.tombstones] == [f"{own}/tombstones.jsonl", f"{own}/tombstones-1.jsonl"]
    assert manifest.counts.tombstones_added == 3
    save(fs, {"c": b"c"})
    assert load(fs) == {"c": b"c"}


def test_clearing_publishes_a_snapshot_that_proves_nothing_and_holds_nothing() -> None:
    fs = first()
    with begin(fs) as writer:
        made = draft(writer, FIRST, CLOCK)
        cleared = replace(made, on_base=False, layers=(), expected={}, complete=False, files=0)
        manifest = publish(writer, cleared, lambda: True, CLOCK)
    assert manifest is not None
    assert manifest.completion is None
    assert load(fs) == {}
    assert check(fs) == []


# --- the gate ---------------------------------------------------------------------------------------------------------


@conforms("003.ROW9")
def test_a_row_that_breaks_the_schema_is_not_published() -> None:
    def lying(key: str, data: bytes) -> FileFacts:
        made = facts(key, data)
        return replace(made, source=replace(made.source, file_hash="0" * 64)) if key == "c.txt" else made

    said = refused(first(), lambda _, made: made, facts_of=lying)
    assert "does not have the bytes that its hash was made of" in said
    assert "not published: segment seg_" in said


@conforms("003.PG1")
def test_a_manifest_of_a_version_that_could_not_be_read_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    fs = first()
    future = replace(MANIFEST, written=2)
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "MANIFEST", future)
        with pytest.raises(PublishRefused, match="not published"), begin(fs) as writer:
            publish(writer, draft(writer, SECOND, CLOCK), lambda: True, CLOCK)
    assert load(fs) == FIRST


@conforms("003.PG1")
def test_a_manifest_that_contradicts_itself_is_not_published() -> None:
    fs = first()
    said = refused(fs, lambda _, made: replace(made, store_id=f"little__{'0' * 16}__{'f' * 16}"))
    assert "store_id is that of another fingerprint" in said


@conforms("003.PG2", "003.SUM3")
@pytest.mark.parametrize("damage", ["gone", "flipped"])
@pytest.mark.parametrize("file", ["data.bin", "rows.sqlite"])
def test_a_segment_that_is_not_whole_when_it_is_in_place_is_not_published(file: str, damage: str) -> None:
    disk = first()

    def ruin(call: Call) -> None:
        if call.what == "sync_folder" and call.path.startswith("segments/"):
            path = f"{call.path}/{file}"
            if damage == "gone":
                disk.unseal(call.path)
                disk.remove(path)
                disk.seal(call.path)
            else:
                data = disk.read(path, 1 << 20)
                rewrite(disk, path, data[:99] + bytes([data[99] ^ 4]) + data[100:])

    said = refused(TracingDisk(disk, ruin), lambda _, made: made, StoreCorrupt)
    assert "segment seg_" in said


@conforms("003.PG2")
@pytest.mark.parametrize("damage", ["gone", "flipped"])
def test_a_snapshot_whose_older_tombstones_are_not_whole_is_not_published(damage: str) -> None:
    fs = MemoryDisk()
    save(fs, {**FIRST, "old.txt": b"old\n"})
    manifest = save(fs, FIRST)
    assert manifest is not None
    path = manifest.tombstones[0].path
    with pytest.raises(StoreCorrupt, match="tombstone file"), begin(fs) as writer:  # noqa: PT012 - it goes on meanwhile
        made = draft(writer, SECOND, CLOCK)
        if damage == "gone":
            fs.remove(path)
        else:
            rewrite(fs, path, fs.read(path, 999).replace(b"old", b"new"))
        publish(writer, made, lambda: True, CLOCK)
    assert fs.list_folder("generations") == ["1", "2"]


def batch_with(wrong: dict[str, Any]) -> Callable[[Writer, Draft], Draft]:
    def change(writer: Writer, made: Draft) -> Draft:
        (layer,) = made.layers
        (batch,) = layer.batches
        return replace(made, layers=(replace(layer, batches=(replace(batch, **wrong),)),))

    return change


@conforms("003.PG3")
@pytest.mark.parametrize("wrong", [{"rows": 3}, {"rows": 1}, {"files": 3}, {"files": 1}, {"size_bytes": 1}])
def test_a_segment_with_other_counts_than_it_says_is_not_published(wrong: dict[str, int]) -> None:
    said = refused(first(), batch_with(wrong), StoreCorrupt)
    assert "its counts are not" in said or "its size is not" in said


@conforms("003.PG3")
@pytest.mark.parametrize("files", [2, 4])
def test_a_snapshot_with_one_file_more_or_less_than_the_tree_is_not_published(files: int) -> None:
    assert f"it holds 3 files, the tree {files}" in refused(first(), lambda _, made: replace(made, files=files))


@conforms("003.PG4")
def test_a_changed_file_that_is_in_no_segment_is_not_published() -> None:
    def forget(writer: Writer, made: Draft) -> Draft:
        return replace(made, expected={**made.expected, "d.txt": "0" * 64})

    assert "a changed file is neither in it nor gone from it" in refused(first(), forget)


@conforms("003.PG4")
def test_a_batch_that_was_forgotten_is_not_published() -> None:
    def forget(writer: Writer, made: Draft) -> Draft:
        (layer,) = made.layers
        return replace(made, layers=(replace(layer, batches=()),), files=1)

    assert "a changed file is neither in it nor gone from it" in refused(first(), forget)


@conforms("003.PG4")
def test_a_deleted_file_without_its_tombstone_is_not_published() -> None:
    def forget(writer: Writer, made: Draft) -> Draft:
        return replace(made, layers=(), files=2)

    said = refused(first(), forget, files={"a.txt": b"alpha\n"})
    assert "a changed file is neither in it nor gone from it" in said


@conforms("003.PG4")
def test_a_file_with_other_bytes_than_were_looked_at_is_not_published() -> None:
    def other(writer: Writer, made: Draft) -> Draft:
        return replace(made, expected={**made.expected, "c.txt": "0" * 64})

    assert "a changed file is neither in it nor gone from it" in refused(first(), other)


@conforms("003.ROW3")
def test_a_modified_file_without_its_tombstone_would_be_there_twice_and_is_not_published() -> None:
    def forget(writer: Writer, made: Draft) -> Draft:
        (layer,) = made.layers
        return replace(made, layers=(replace(layer, tombstones=()),))

    assert "a file is in it twice" in refused(first(), forget)


@conforms("003.PG3")
def test_a_file_that_a_run_has_sealed_twice_is_not_published() -> None:
    def repeat(writer: Writer, made: Draft) -> Draft:
        (layer,) = made.layers
        return replace(made, layers=(replace(layer, batches=layer.batches + write_batch(writer, SECOND).batches),))

    assert "a file is in it twice" in refused(first(), repeat)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_at_sixty_four_segments_a_sync_refuses_and_a_rebuild_does_not() -> None:
    fs = MemoryDisk()
    files = {f"{number}.txt": b"%d\n" % number for number in range(MAX_SEGMENTS_PER_SNAPSHOT)}
    with begin(fs) as writer:
        made = draft(writer, {}, CLOCK)
        layers = [write_batch(writer, {key: data}) for key, data in files.items()]
        publish(writer, replace(made, layers=tuple(layers), files=len(files)), lambda: True, CLOCK)
    with pytest.raises(TooManySegments, match="would have 65 segments, and 64 are the most"):
        save(fs, {**files, "one too many.txt": b""})
    assert load(fs) == files
    manifest = save(fs, {**files, "one too many.txt": b""}, full=True)
    assert manifest is not None
    assert len(manifest.segments) == 1


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("MAX_SEGMENTS_PER_SNAPSHOT", "would have 2 segments, and 1"),
        ("MAX_TOMBSTONE_FILES", "would have 2 tombstone files, and 1"),
        ("MAX_TOMBSTONES_PER_SNAPSHOT", "would have 3 tombstones, and 1"),
    ],
)
def test_what_a_reader_could_not_read_is_not_published(faults: Faults, limit: str, says: str) -> None:
    fs = MemoryDisk()
    save(fs, {**FIRST, "old.txt": b"old\n"})
    save(fs, FIRST)
    faults.limit(installing, **{limit: 1})
    files = {"new.txt": b"new\n"} if "SEGMENTS" not in limit else SECOND
    assert says in refused(fs, lambda _, made: made, TooManySegments, files)


# --- all of it or nothing ---------------------------------------------------------------------------------------------


@conforms("000.LIFE4")
@pytest.mark.parametrize("rival", ["fence", "manifest"])
def test_whoever_finds_its_number_taken_has_lost_and_published_nothing(rival: str) -> None:
    fs = first()

    def overtaken() -> bool:
        if rival == "fence":
            plant_fence(fs, 1)
        else:
            fs.create_bytes(generation_path(2), b"somebody else's")
        return True

    said = refused(fs, lambda _, made: made, LeaseLost, is_fresh=overtaken)
    assert "Another writer took the lease" in said


@conforms("003.ISO7", "000.LIFE3")
def test_when_the_tree_moved_on_nothing_is_visible_and_the_second_attempt_works() -> None:
    fs = first()
    with begin(fs) as writer:
        made = draft(writer, SECOND, CLOCK)
        assert publish(writer, made, lambda: False, CLOCK) is None
        assert load(fs) == FIRST
        assert writer.run not in fs.list_folder("snapshots")
        more = Layer((), write_batch(writer, {"d.txt": b"delta\n"}).batches)
        again = replace(made, layers=(*made.layers, more), files=4)
        manifest = publish(writer, again, lambda: True, CLOCK)
    assert manifest is not None
    assert load(fs) == {**SECOND, "d.txt": b"delta\n"}
    assert [ref.name[-1] for ref in manifest.segments] == ["0", "0", "1"]
    assert check(fs) == []


@conforms("000.LIFE3", "000.LIFE4")
def test_a_proof_is_there_only_when_the_run_succeeded_whichever_call_fails() -> None:
    before, at = first(), 0
    outcomes = set()
    while True:
        at += 3
        disk = before.crash("kill")
        fs = FailingDisk(disk, Fault(at, errno.ENOSPC))
        try:
            manifest = save(fs, SECOND)
        except (OSError, CairnError):
            manifest = None
        found = load(disk)
        assert found in (FIRST, SECOND)
        # An error after the claim: it is published, though its writer could not know.
        assert manifest is None or found == SECOND
        proofs = [
            decode_manifest(disk.read(path, 1 << 20)).completion
            for path in all_files(disk, "generations")
            if disk.stat(path).size
        ]
        assert len(proofs) == (2 if found == SECOND else 1)
        outcomes.add((manifest is None, found == SECOND))
        if fs.fired is None:
            break
    assert {(True, False), (False, True)} <= outcomes
    assert at > 50


def test_trouble_after_the_swap_is_no_failure() -> None:
    disk = first()
    pointed = False

    def fail(call: Call) -> None:
        nonlocal pointed
        if pointed and not call.path.startswith("locks"):
            raise OSError(errno.ENOSPC, "full", call.path)
        pointed = pointed or (str(call) == "sync_folder ." and disk.list_folder("generations") == ["1", "2"])

    assert save(TracingDisk(disk, fail), SECOND) is not None
    assert load(disk) == SECOND
    save(disk, FIRST)
    assert check(disk) == []


def test_a_swap_that_a_thief_has_made_for_us_is_no_failure() -> None:
    disk = first()

    def thief(call: Call) -> None:
        if call.what == "swap" and call.other == POINTER:
            disk.remove(call.path)

    assert save(TracingDisk(disk, thief), SECOND) is not None
    assert load(disk) == SECOND


def test_a_disk_too_full_for_the_pointer_costs_no_snapshot(faults: Faults) -> None:
    fs = MemoryDisk()
    save(fs, {"a.py": b"one\n"})

    faults.fail(publish_module, "point_to", OSError(errno.ENOSPC, "no room", "ACTIVE_SNAPSHOT"))
    manifest = save(fs, {"a.py": b"two\n"})
    assert manifest is not None
    assert load(fs) == {"a.py": b"two\n"}
    assert check(fs) == []


# --- a copy elsewhere -------------------------------------------------------------------------------------------------


class Copy:
    """A copy of the store elsewhere, that can fail at either step."""

    def __init__(self, fs: Fs, *, sends: CairnError | None = None, marks: CairnError | None = None) -> None:
        self.fs, self._sends, self._marks = fs, sends, marks
        self.told: list[tuple[str, str, bool]] = []

    def send(self, view: SnapshotView) -> None:
        run = view.manifest.snapshot_id
        self.told.append(("send", run, is_published(self.fs, run)))
        assert set(view.records()) == set(SECOND)
        if self._sends is not None:
            raise self._sends

    def mark(self, manifest: Manifest) -> None:
        self.told.append(("mark", manifest.snapshot_id, is_published(self.fs, manifest.snapshot_id)))
        if self._marks is not None:
            raise self._marks


@conforms("000.LIFE3", "000.LIFE4")
def test_a_copy_has_the_snapshot_before_it_is_claimed_and_its_marker_after() -> None:
    fs = first()
    with begin(fs) as writer:
        writer.away = copy = Copy(fs)
        manifest = publish(writer, draft(writer, SECOND, CLOCK), lambda: True, CLOCK)
    assert manifest is not None
    assert copy.told == [("send", manifest.snapshot_id, False), ("mark", manifest.snapshot_id, True)]
    assert load(fs) == SECOND


def test_a_copy_that_cannot_be_reached_before_the_claim_stops_the_run_and_after_it_nothing() -> None:
    away = EngineUnreachable(uri="x", why="cut")

    def attached(writer: Writer, made: Draft) -> Draft:
        writer.away = Copy(writer.fs, sends=away)
        return made

    refused(first(), attached, EngineUnreachable)
    fs = first()
    with begin(fs) as writer:
        writer.away = Copy(fs, marks=away)
        assert publish(writer, draft(writer, SECOND, CLOCK), lambda: True, CLOCK) is not None
    assert load(fs) == SECOND
