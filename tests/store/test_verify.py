"""The checker: every promise has a clause, every clause finds its breach, and without it nobody would."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import cairn.store.publish.publish as publish_module
from cairn.core.types import FileFacts
from cairn.errors import Incompatible
from cairn.store.disk import Disk
from cairn.store.format import manifest as manifests
from cairn.store.format.document import MANIFEST
from cairn.store.format.layout import INDEX_STATE, POINTER, create_store, generation_path, manifest_path, segment_folder
from cairn.store.format.manifest import Manifest, encode_manifest
from cairn.store.format.side_files import encode_state, state_of
from cairn.store.fs import SHARED
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer
from cairn.store.publish.writer import open_writer
from cairn.store.repair import verify
from cairn.store.repair.verify import Finding, FindingLevel, check
from cairn.store.sharing import declare
from cairn.store.tend.collect import collect
from tests.conformance import conforms
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import FactsOf, FewProcesses, draft, facts, open_up, part_names, rewrite, save, write_batch
from tests.support.clock import ManualClock
from tests.support.faults import Faults

FIRST = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
SECOND = {"a.txt": b"alpha two\n", "b.txt": b"beta\n", "c.txt": b"gamma\n"}
THIRD = {"b.txt": b"beta\n", "c.txt": b"gamma\n"}
CLOCK = ManualClock()


def store() -> tuple[MemoryDisk, list[Manifest]]:
    fs = MemoryDisk()
    made = [save(fs, files) for files in (FIRST, SECOND, THIRD)]
    return fs, [manifest for manifest in made if manifest is not None]


def codes(found: list[Finding]) -> list[str]:
    return [finding.code for finding in found]


def resign(fs: MemoryDisk, manifest: Manifest) -> None:
    """Another manifest in place of the one with this number, under both of its names, with a digest that is right."""
    rewrite(fs, generation_path(manifest.generation), encode_manifest(manifest))


# --- one breach each --------------------------------------------------------------------------------------------------


def pointer_damaged(fs: MemoryDisk, made: list[Manifest]) -> None:
    rewrite(fs, POINTER, b"rubbish")


def pointer_missing(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.remove(POINTER)


def pointer_behind(fs: MemoryDisk, made: list[Manifest]) -> None:
    rewrite(fs, POINTER, made[0].snapshot_id.encode() + b"\n")


def generation_damaged(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.create_bytes(generation_path(9), b"rubbish")


def epoch_went_back(fs: MemoryDisk, made: list[Manifest]) -> None:
    resign(fs, replace(made[0], lease_epoch=99))


def mixed_stores(fs: MemoryDisk, made: list[Manifest]) -> None:
    assert made[0].completion
    other = replace(made[0].completion, codebase_path="/other")
    resign(fs, replace(made[0], canonical_root="/other", completion=other))


def manifest_differs(fs: MemoryDisk, made: list[Manifest]) -> None:
    part_names(fs, generation_path(1))
    fs.remove(manifest_path(made[0].snapshot_id))


def state_wrong(fs: MemoryDisk, made: list[Manifest]) -> None:
    rewrite(fs, INDEX_STATE, encode_state(replace(state_of(made[2]), ignore_fingerprint="f" * 64)))


def state_damaged(fs: MemoryDisk, made: list[Manifest]) -> None:
    rewrite(fs, INDEX_STATE, b"rubbish")


def artifact_damaged(fs: MemoryDisk, made: list[Manifest]) -> None:
    rewrite(fs, f"{segment_folder(made[2].segments[-1].name)}/data.bin", b"")


def tombstones_missing(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.remove(made[2].tombstones[-1].path)


def counts_wrong(fs: MemoryDisk, made: list[Manifest]) -> None:
    counts = replace(made[1].counts, chunks_live=4)
    assert made[1].completion
    resign(fs, replace(made[1], counts=counts, completion=replace(made[1].completion, total_chunks=4)))


def stranger(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.create_bytes("snapshots/stray", b"")


def staging(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.make_folder("staging/stray")


def mode_wrong(fs: MemoryDisk, made: list[Manifest]) -> None:
    open_up(fs, "index_state.json", 0o644)


def ungated(change: Callable[[Draft], Draft], facts_of: FactsOf = facts) -> MemoryDisk:
    """A store that a writer without a gate has published to."""
    fs, _ = store()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish_module, "gate", lambda *_: None)
        with open_writer(fs, "here", RunKind.SYNC, clock=CLOCK, processes=FewProcesses()) as writer:
            made = draft(writer, {**THIRD, "d.txt": b"delta\n"}, CLOCK, facts_of=facts_of)
            twice = Layer((), write_batch(writer, {"b.txt": b"beta\n"}, facts_of=facts_of).batches)
            publish(writer, change(replace(made, layers=(*made.layers, twice))), lambda: True, CLOCK)
    return fs


def file_twice() -> MemoryDisk:
    return ungated(lambda made: made)


def rows_wrong() -> MemoryDisk:
    def lying(key: str, data: bytes) -> FileFacts:
        made = facts(key, data)
        return replace(made, source=replace(made.source, file_hash="0" * 64))

    return ungated(lambda made: replace(made, layers=made.layers[:1]), lying)


BREACHES: list[tuple[str, str, Callable[..., object]]] = [
    ("_pointer", "pointer_damaged", pointer_damaged),
    ("_pointer", "pointer_missing", pointer_missing),
    ("_pointer", "pointer_behind", pointer_behind),
    ("_damaged", "generation_damaged", generation_damaged),
    ("_order", "epoch_went_back", epoch_went_back),
    ("_order", "mixed_stores", mixed_stores),
    ("_own_names", "manifest_differs", manifest_differs),
    ("_state", "state_wrong", state_wrong),
    ("_state", "state_damaged", state_damaged),
    ("_content", "artifact_damaged", artifact_damaged),
    ("_content", "artifact_damaged", tombstones_missing),
    ("_counts", "counts_wrong", counts_wrong),
    ("_rows", "rows_wrong", rows_wrong),
    ("_twice", "file_twice", file_twice),
    ("_strangers", "stranger", stranger),
    ("_strangers", "staging", staging),
    ("_modes", "mode_wrong", mode_wrong),
]
LEFTOVERS = {"pointer_missing", "pointer_behind", "state_damaged", "stranger", "staging"}


def broken(breach: Callable[..., object]) -> MemoryDisk:
    if breach in (file_twice, rows_wrong):
        fs = breach()
        assert isinstance(fs, MemoryDisk)
        return fs
    fs, made = store()
    breach(fs, made)
    return fs


@conforms("003.SUM2", "003.ROW9")
@pytest.mark.parametrize(("clause", "code", "breach"), BREACHES, ids=[breach.__name__ for *_, breach in BREACHES])
def test_each_clause_finds_its_breach_and_without_the_clause_nothing_does(
    faults: Faults, clause: str, code: str, breach: Callable[..., object]
) -> None:
    fs = broken(breach)
    found = check(fs)
    assert set(codes(found)) == {code}
    expected = FindingLevel.LEFTOVER if code in LEFTOVERS else FindingLevel.ERROR
    assert {finding.severity for finding in found} == {expected}
    assert all(finding.message.endswith(".") and finding.place for finding in found)
    faults.answer(verify, clause, ())
    assert check(fs) == []


def test_every_clause_of_the_checker_has_a_breach() -> None:
    clauses = {
        name
        for name, value in vars(verify).items()
        if name.startswith("_") and "Iterator[Finding]" in str(getattr(value, "__annotations__", {}).get("return"))
    }
    assert clauses == {clause for clause, *_ in BREACHES}


# --- sound stores -----------------------------------------------------------------------------------------------------


def test_a_sound_store_has_no_findings() -> None:
    fs, _ = store()
    assert check(fs) == []
    create_store(other := MemoryDisk())
    assert check(other) == []
    assert check(MemoryDisk()) == []


def test_a_fence_and_a_copied_store_are_sound() -> None:
    fs, _ = store()
    for number in (1, 2, 3):
        part_names(fs, generation_path(number))
    fs.create_bytes(generation_path(4), b"")
    assert check(fs) == []


def test_a_state_that_lags_behind_and_one_that_is_missing_are_sound() -> None:
    fs, made = store()
    rewrite(fs, INDEX_STATE, encode_state(state_of(made[0])))
    assert check(fs) == []
    rewrite(fs, INDEX_STATE, encode_state(state_of(made[2], "2030-01-01T00:00:00Z")))
    assert check(fs) == []
    fs.remove(INDEX_STATE)
    assert check(fs) == []


def test_a_store_on_the_real_disk_is_sound_and_a_strange_name_in_it_is_told(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        for files in (FIRST, SECOND):
            save(fs, files)
        assert check(fs) == []
        (tmp_path / "home/store/notes (copy).txt").write_bytes(b"")
        (tmp_path / "home/store/segments").chmod(0o755)
        found = check(fs)
    assert [(each.code, each.place) for each in found] == [
        ("stranger", "notes (copy).txt"),
        ("mode_wrong", "segments"),
    ]


# --- more than one clause ---------------------------------------------------------------------------------------------


def test_a_pointer_to_a_manifest_that_never_won_is_an_error() -> None:
    fs, _ = store()
    fs.remove(generation_path(3))
    assert "pointer_unclaimed" in codes(check(fs))


def test_a_snapshot_that_won_two_numbers_is_an_error() -> None:
    fs, made = store()
    fs.create_bytes(generation_path(4), encode_manifest(replace(made[2], generation=4)))
    assert "published_twice" in codes(check(fs))


def test_a_manifest_that_is_too_large_is_damaged_under_either_name() -> None:
    fs, made = store()
    part_names(fs, generation_path(1))
    rewrite(fs, manifest_path(made[0].snapshot_id), b" " * (5 << 20))
    assert codes(check(fs)) == ["manifest_differs"]
    fs.create_bytes(generation_path(9), b" " * (5 << 20))
    assert codes(check(fs)) == ["generation_damaged", "manifest_differs"]
    rewrite(fs, INDEX_STATE, b" " * (5 << 20))
    assert "state_damaged" in codes(check(fs))


def test_names_that_no_snapshot_accounts_for_are_told_wherever_they_are() -> None:
    fs, made = store()
    places = [
        "stray",
        f"{POINTER}.{made[0].snapshot_id}.tmp",
        "generations/x",
        "locks/lease_guard.lock",
        f"snapshots/{made[0].snapshot_id}/tombstones-7.jsonl",
    ]
    for place in places:
        fs.create_bytes(place, b"")
    fs.make_folder("segments/stray")
    assert sorted(finding.place for finding in check(fs)) == sorted([*places, "segments/stray"])
    assert set(codes(check(fs))) == {"stranger"}


@pytest.mark.parametrize("path", ["segments", "generations/1", "locks/lease.flock"])
def test_rights_of_others_are_found_one_level_deep(path: str) -> None:
    fs, _ = store()
    open_up(fs, path, 0o750 if fs.stat(path).is_folder else 0o640)
    assert "mode_wrong" in codes(check(fs))


@pytest.mark.parametrize(
    ("path", "rights"), [("segments", 0o770), ("segments", 0o2777), ("generations/1", 0o664), ("sharing.json", 0o600)]
)
def test_rights_that_are_not_those_of_a_groups_store_are_found(path: str, rights: int) -> None:
    fs = MemoryDisk(SHARED)
    declare(fs)
    save(fs, FIRST)
    assert check(fs) == []
    open_up(fs, path, rights)
    assert {(each.code, each.place) for each in check(fs)} >= {("mode_wrong", path)}


def test_segments_and_snapshots_that_others_may_use_are_found() -> None:
    fs, made = store()
    open_up(fs, segment_folder(made[0].segments[0].name), 0o555)
    open_up(fs, f"snapshots/{made[0].snapshot_id}", 0o777)
    assert codes(check(fs)) == ["mode_wrong", "mode_wrong"]


# --- it reads again, and says when it could not -----------------------------------------------------------------------


@conforms("003.SUM2")
def test_the_checker_believes_no_remembered_digest() -> None:
    disk, made = store()
    fs = TracingDisk(disk)
    assert check(fs) == []
    read = {call.path for call in fs.calls if call.what == "open_map"}
    assert read == {
        f"{segment_folder(ref.name)}/{name}" for ref in made[2].segments for name in ("data.bin", "rows.sqlite")
    }
    assert not [call for call in fs.calls if call.path == "digests.json" and call.what == "read"]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_what_cannot_be_read_is_neither_a_finding_nor_a_clean_bill(number: int) -> None:
    disk, _ = store()
    at = 0
    while True:
        at += 1
        fs = FailingDisk(disk, Fault(at, number))
        try:
            assert check(fs) == []
            raised = False
        except OSError:
            raised = True
        assert raised is (fs.fired is not None)
        if not raised:
            break
    assert at > 50


def test_a_store_of_the_future_is_refused_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    fs, _ = store()
    monkeypatch.setattr(manifests, "MANIFEST", replace(MANIFEST, oldest=0, newest=0))
    with pytest.raises(Incompatible):
        check(fs)


@pytest.mark.parametrize("call", ["read generations/1", "open_database segments/{first}/rows.sqlite"])
def test_a_snapshot_that_is_collected_while_it_is_read_is_not_taken_for_damage(call: str) -> None:
    clock = ManualClock()
    disk = MemoryDisk()
    made = []
    for number in range(6):
        clock.advance(3_600)
        made.append(save(disk, {"a.txt": b"%d\n" % number}, clock=clock, full=True))
    clock.advance(3_600)
    assert made[0] is not None
    wanted = call.format(first=made[0].segments[0].name)
    met = []

    def meanwhile(now: Call) -> None:
        if str(now) == wanted and not met:
            met.append(now)
            with open_writer(disk, "here", RunKind.GC, clock=clock, processes=FewProcesses()) as writer:
                assert collect(writer, clock).snapshots

    assert check(TracingDisk(disk, meanwhile)) == []
    assert met


def test_what_later_snapshots_use_of_collected_ones_is_no_stranger_and_all_else_is() -> None:
    fs, made = store()
    for number in (1, 2):
        fs.remove(generation_path(number))
        fs.remove(manifest_path(made[number - 1].snapshot_id))
    assert codes(check(fs)) == []
    own = f"snapshots/{made[0].snapshot_id}"
    for name in ("manifest.json", "tombstones-7.jsonl"):
        fs.create_bytes(f"{own}/{name}", b"")
    fs.make_folder(f"segments/seg_{made[0].snapshot_id}_7")
    places = [f"{own}/manifest.json", f"{own}/tombstones-7.jsonl", f"segments/seg_{made[0].snapshot_id}_7"]
    assert sorted(finding.place for finding in check(fs)) == sorted(places)


def test_no_error_is_found_while_another_run_publishes_at_any_moment() -> None:
    before, _ = store()
    calls = TracingDisk(before)
    check(calls)
    for moment in range(0, len(calls.calls), 4):
        disk = before.crash("kill")
        seen = 0

        def another(_: Call, disk: MemoryDisk = disk, moment: int = moment) -> None:
            nonlocal seen
            seen += 1
            if seen == moment + 1:
                save(disk, SECOND)

        found = check(TracingDisk(disk, another))
        assert [finding for finding in found if finding.severity is FindingLevel.ERROR] == [], moment
