"""What is found in damaged stores, and what is made of it; whole repairs are in tests/faults and tests/sync."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import pytest

from cairn.core.clock import rfc3339
from cairn.errors import Incompatible
from cairn.store.format import manifest as manifests
from cairn.store.format.document import MANIFEST
from cairn.store.format.layout import create_store, generation_path, manifest_path, segment_folder
from cairn.store.format.manifest import Manifest, encode_manifest
from cairn.store.format.seal import Remembered
from cairn.store.format.tombstones import mapping_path
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft
from cairn.store.publish.writer import open_writer
from cairn.store.repair import RepairScope
from cairn.store.repair.salvage import Diagnosis, Quarantine, diagnose, open_base, treat
from cairn.store.repair.verify import check
from tests.store.disks import FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import (
    FINGERPRINT,
    GIT,
    IGNORE,
    ROOT,
    STORE_ID,
    FewProcesses,
    contents,
    load,
    part_names,
    rewrite,
    save,
)
from tests.support.clock import ManualClock

FIRST = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
SECOND = {"a.txt": b"alpha two\n", "b.txt": b"beta\n", "c.txt": b"gamma\n"}
THIRD = {"b.txt": b"beta\n", "c.txt": b"gamma\n", "d.txt": b"delta\n"}
RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


def store() -> tuple[MemoryDisk, list[Manifest]]:
    fs = MemoryDisk()
    made = [save(fs, files) for files in (FIRST, SECOND, THIRD)]
    return fs, [manifest for manifest in made if manifest is not None]


def look(fs: MemoryDisk, **chosen: object) -> Diagnosis:
    return diagnose(fs, STORE_ID, ROOT, Remembered(), **chosen)  # type: ignore[arg-type]


def tidied(fs: MemoryDisk) -> Quarantine:
    found, quarantine = look(fs), Quarantine(fs, RUN)
    treat(fs, RUN, found.steps, found.newest, quarantine)
    return quarantine


def lose(fs: MemoryDisk, manifest: Manifest, number: int) -> None:
    rewrite(fs, f"{segment_folder(manifest.segments[number].name)}/data.bin", b"rot")


def alone(fs: MemoryDisk, made: list[Manifest]) -> Manifest:
    """Only the newest manifest can be read."""
    for manifest in made[:-1]:
        rewrite(fs, generation_path(manifest.generation), b"")
        fs.remove(manifest_path(manifest.snapshot_id))
    return made[-1]


# --- what to build on -------------------------------------------------------------------------------------------------


def test_a_sound_store_needs_nothing() -> None:
    fs, made = store()
    assert look(fs) == Diagnosis(RepairScope.NONE, (), base=made[2], newest=made[2])


@pytest.mark.parametrize("created", [False, True])
def test_a_store_that_was_never_published_to_needs_nothing(created: bool) -> None:
    fs = MemoryDisk()
    if created:
        create_store(fs)
    assert look(fs) == Diagnosis(RepairScope.NONE, (), published=False)


def test_with_only_a_pointer_or_a_state_left_everything_is_to_be_read() -> None:
    for name in ("ACTIVE_SNAPSHOT", "index_state.json"):
        fs = MemoryDisk()
        fs.create_bytes(name, b"rot")
        assert look(fs).scope is RepairScope.FULL


def test_what_is_built_on_is_the_newest_whole_snapshot_then_the_newest_that_can_be_salvaged_then_nothing() -> None:
    fs, made = store()
    lose(fs, made[2], -1)
    assert (look(fs).scope, look(fs).base, look(fs).files) == (RepairScope.FILES, made[1], 1)
    lose(fs, made[0], 0)
    found = look(fs)
    assert found.scope is RepairScope.FILES
    assert found.base == replace(made[2], segments=made[2].segments[1:2])
    assert found.hinted == frozenset({"a.txt", "b.txt", "d.txt"})
    rewrite(fs, made[2].tombstones[-1].path, b"rot")
    found = look(fs)
    assert found.base == replace(made[1], segments=made[1].segments[1:]), "an older one whose tombstones are whole"
    lose(fs, made[1], 1)
    assert (look(fs).scope, look(fs).base, look(fs).files) == (RepairScope.FULL, None, 3)


def test_a_view_of_what_is_left_shows_no_more_than_that() -> None:
    fs, made = store()
    newest = alone(fs, made)
    lose(fs, newest, 0)
    found = look(fs)
    assert found.base is not None
    with open_base(fs, found.base, Remembered()) as view:
        assert contents(view) == {"c.txt": b"gamma\n", "d.txt": b"delta\n"}


@pytest.mark.parametrize("lie", [b"", b"rubbish\n", b'{"path_key":"a.txt"}\n', b"[]\n", b"[" * 100_000])
def test_a_hint_that_does_not_account_for_a_segment_is_none(lie: bytes) -> None:
    fs, made = store()
    lose(fs, alone(fs, made), 0)
    rewrite(fs, mapping_path(made[0].snapshot_id), lie)
    assert look(fs).scope is RepairScope.FULL


def test_a_segment_of_which_nobody_knows_a_file_is_not_accounted_for() -> None:
    """One that holds skip records only has no file that is counted; its hint must name them all the same."""
    fs, made = store()
    newest = alone(fs, made)
    lose(fs, newest, 0)
    fs.remove(mapping_path(made[0].snapshot_id))
    assert look(fs).scope is RepairScope.FULL


def test_on_demand_nothing_is_believed() -> None:
    fs, made = store()
    assert (look(fs, rebuild=True).scope, look(fs, rebuild=True).base) == (RepairScope.FULL, None)
    only = look(fs, only=made[2].snapshot_id)
    assert only.scope is RepairScope.TIDY
    assert {step.path for step in only.steps if step.kind == "fence"} == {"generations/1", "generations/2"}


def test_a_cleared_index_is_sound_and_not_filled() -> None:
    fs, _ = store()
    clock = ManualClock()
    with open_writer(fs, "store", RunKind.CLEAR, clock=clock, processes=FewProcesses()) as writer:
        empty = Draft(ROOT, STORE_ID, FINGERPRINT, IGNORE, GIT, rfc3339(clock.wall_ns()), on_base=False, complete=False)
        cleared = publish(writer, empty, lambda: True, clock)
    assert (look(fs).scope, look(fs).newest) == (RepairScope.NONE, cleared)
    fs.create_bytes(generation_path(5), b"rot")
    assert look(fs).scope is RepairScope.FULL, "somebody has filled it since"


# --- manifests that contradict one another ----------------------------------------------------------------------------


def resign(fs: MemoryDisk, manifest: Manifest) -> None:
    rewrite(fs, generation_path(manifest.generation), encode_manifest(manifest))


def foreign(fs: MemoryDisk, made: list[Manifest]) -> None:
    assert made[0].completion
    resign(fs, replace(made[0], canonical_root="/x", completion=replace(made[0].completion, codebase_path="/x")))


def epoch_went_back(fs: MemoryDisk, made: list[Manifest]) -> None:
    resign(fs, replace(made[0], lease_epoch=99))


def twice(fs: MemoryDisk, made: list[Manifest]) -> None:
    fs.create_bytes(generation_path(4), encode_manifest(replace(made[2], generation=4)))


def counts_wrong(fs: MemoryDisk, made: list[Manifest]) -> None:
    assert made[1].completion
    counts = replace(made[1].counts, chunks_live=4)
    resign(fs, replace(made[1], counts=counts, completion=replace(made[1].completion, total_chunks=4)))


@pytest.mark.parametrize("breach", [foreign, epoch_went_back, twice, counts_wrong], ids=lambda breach: breach.__name__)
def test_a_manifest_that_contradicts_the_others_is_put_aside(breach) -> None:  # type: ignore[no-untyped-def]
    fs, made = store()
    breach(fs, made)
    assert check(fs) != []
    if breach is twice:
        # It is the newest, so what it says is looked up again.
        assert look(fs).scope is RepairScope.FILES
        return
    assert look(fs).scope is RepairScope.TIDY
    tidied(fs)
    assert check(fs) == []
    assert load(fs) == THIRD


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_manifest_gets_the_name_back_that_it_has_lost() -> None:
    fs, made = store()
    for number in (1, 2, 3):
        part_names(fs, generation_path(number))
    fs.remove(generation_path(3))
    rewrite(fs, generation_path(2), b"rot")
    fs.remove(manifest_path(made[0].snapshot_id))
    quarantine = tidied(fs)
    assert quarantine.moved == ["generations/2"]
    assert check(fs) == []
    assert load(fs) == THIRD


def test_a_folder_that_is_gone_with_its_manifest_is_made_again() -> None:
    fs, made = store()
    for name in ("manifest.json", "segment_file_index.jsonl"):
        fs.remove(f"snapshots/{made[0].snapshot_id}/{name}")
    fs.remove_folder(f"snapshots/{made[0].snapshot_id}")
    tidied(fs)
    assert check(fs) == []


def test_a_number_below_all_others_was_collected_and_does_not_come_back() -> None:
    fs, made = store()
    fs.remove(generation_path(1))
    assert {step.path for step in look(fs).steps} == {f"snapshots/{made[0].snapshot_id}/manifest.json"}


def test_of_two_that_claim_a_lost_number_neither_gets_it() -> None:
    fs, made = store()
    other = replace(made[2], snapshot_id=RUN, counts=replace(made[2].counts, tombstones_added=0))
    fs.make_folder(f"snapshots/{RUN}")
    fs.create_bytes(manifest_path(RUN), encode_manifest(other))
    part_names(fs, generation_path(3))
    fs.remove(generation_path(3))
    assert [step for step in look(fs).steps if step.kind == "mend"] == []


def test_what_a_run_that_has_not_published_left_is_for_the_next_one() -> None:
    fs, _ = store()
    fs.make_folder(f"staging/{RUN}")
    fs.make_folder(f"snapshots/{RUN}")
    fs.make_folder(f"segments/seg_{RUN}_0")
    assert look(fs).scope is RepairScope.NONE


def test_everything_else_that_nobody_accounts_for_is_put_aside() -> None:
    fs, made = store()
    fs.make_folder("staging/stray")
    fs.make_folder("staging/compact_work")
    fs.make_folder("segments/stray")
    fs.seal("segments/stray")
    for place in ("stray", "generations/x", "locks/stray", "snapshots/stray", f"snapshots/{made[0].snapshot_id}/stray"):
        fs.create_bytes(place, b"")
    quarantine = tidied(fs)
    assert len(quarantine.moved) == 7
    assert quarantine.left == []
    assert {finding.place for finding in check(fs)} <= {"staging/compact_work"}


def test_a_generation_of_a_later_version_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    fs, _ = store()
    monkeypatch.setattr(manifests, "MANIFEST", replace(MANIFEST, oldest=0, newest=0))
    with pytest.raises(Incompatible):
        look(fs)


def test_a_segment_with_other_counts_is_lost() -> None:
    fs, made = store()
    bad = replace(made[2].segments[-1], rows=2)
    counts = replace(made[2].counts, chunks_indexed=made[2].counts.chunks_indexed + 1, chunks_live=4)
    assert made[2].completion
    proof = replace(made[2].completion, total_chunks=4)
    resign(fs, replace(made[2], segments=(*made[2].segments[:-1], bad), counts=counts, completion=proof))
    assert look(fs).base == made[1]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_what_cannot_be_read_is_no_damage(number: int) -> None:
    disk, _ = store()
    calls = TracingDisk(disk)
    diagnose(calls, STORE_ID, ROOT, Remembered())
    for at in range(1, len(calls.calls) + 1, 3):
        fs = FailingDisk(disk, Fault(at, number))
        with pytest.raises(OSError, match=os.strerror(number)):
            diagnose(fs, STORE_ID, ROOT, Remembered())
