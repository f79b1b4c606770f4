from __future__ import annotations

from contextlib import ExitStack

import pytest

from cairn.errors import LeaseLost
from cairn.store.format.layout import COMPACT_LOCK, GENERATIONS, SEGMENTS, SNAPSHOTS, STAGING, WORKSHOP, manifest_path
from cairn.store.fs import Fs, remove_file, remove_tree
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.repair.verify import check
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FewProcesses, draft, load, save, write_batch
from tests.support.clock import ManualClock

OLD = {"a": b"one\n", "b": b"two\n"}
NEW = {"a": b"one\n", "c": b"three\n"}
NEVER = "0" * 26


def opened(disk: Fs, pid: int = 2) -> Writer:
    return open_writer(disk, "store", RunKind.SYNC, clock=ManualClock(), processes=FewProcesses(pid, {pid}))


def published(*steps: dict[str, bytes]) -> MemoryDisk:
    disk = MemoryDisk()
    for files in steps:
        save(disk, files)
    return disk


def newest(disk: MemoryDisk) -> str:
    return disk.read("ACTIVE_SNAPSHOT", 100).decode().strip()


def test_a_sound_store_is_left_as_it_is() -> None:
    disk = published(OLD, NEW)
    before = [disk.list_folder(folder) for folder in (SNAPSHOTS, SEGMENTS, GENERATIONS, STAGING)]
    with opened(disk) as writer:
        assert writer.adopted == ()
    assert [disk.list_folder(folder) for folder in (SNAPSHOTS, SEGMENTS, GENERATIONS, STAGING)] == before
    assert check(disk) == []


def test_what_a_published_run_did_not_come_to_remove_goes() -> None:
    disk = published(OLD)
    run = newest(disk)
    disk.make_folder(f"staging/{run}")
    disk.create_bytes(f"staging/{run}/0.json", b"")
    disk.create_bytes(f"index_state.json.{run}.tmp", b"")
    with opened(disk):
        pass
    assert check(disk) == []
    assert load(disk) == OLD


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_the_batches_of_every_killed_run_are_taken_over(runs: int) -> None:
    """Each was killed before it could tidy up behind the last: the lease has forgotten all but one."""
    disk = published(OLD)
    before = disk.crash("kill")
    for number in range(runs):
        _copy_staging(_killed(before, {f"new{number}": b"text\n"}), disk)
    with opened(disk) as writer:
        assert [batch.files for batch in writer.adopted] == [1] * runs
        assert disk.list_folder(STAGING) == [writer.run]


def test_a_batch_that_a_cut_left_in_two_places_is_taken_over_once() -> None:
    """Else a store that is cut again and again would have too many segments to publish at all."""
    disk = published(OLD)
    before = disk.crash("kill")
    for _ in range(2):
        _copy_staging(_killed(before, {"new": b"text\n"}), disk)
    assert len(disk.list_folder(STAGING)) == 2
    with opened(disk) as writer:
        assert len(writer.adopted) == 1
        assert disk.list_folder(STAGING) == [writer.run]


def test_a_manifest_that_never_won_goes_and_so_do_names_that_a_cut_brought_back() -> None:
    disk = published(OLD)
    disk.make_folder(f"snapshots/{NEVER}")
    disk.create_bytes(f"snapshots/{NEVER}/manifest.json", b"{}")
    disk.make_folder(f"segments/seg_{NEVER}_0")
    disk.create_bytes(f"segments/seg_{NEVER}_0/data.bin", b"")
    disk.create_bytes(f"ACTIVE_SNAPSHOT.{NEVER}.tmp", b"")
    with opened(disk):
        pass
    assert check(disk) == []


def test_a_segment_in_use_stays_though_the_snapshot_that_brought_it_is_gone() -> None:
    disk = published(OLD, NEW)
    first = min(disk.list_folder(GENERATIONS))
    run = next(name for name in disk.list_folder(SNAPSHOTS) if name != newest(disk))
    disk.remove(f"generations/{first}")
    remove_tree(disk, f"snapshots/{run}")
    with opened(disk) as writer:
        assert writer.adopted == ()
    assert load(disk) == NEW


def test_of_a_snapshot_whose_collector_was_killed_only_what_later_ones_use_is_left() -> None:
    disk = published(OLD, NEW)
    run = next(name for name in disk.list_folder(SNAPSHOTS) if name != newest(disk))
    disk.remove("generations/1")
    # A power cut can bring back what had been removed.
    disk.make_folder(f"segments/seg_{run}_7")
    disk.create_bytes(f"segments/seg_{run}_7/data.bin", b"")
    with opened(disk) as writer:
        assert writer.adopted == ()
    assert disk.list_folder(f"snapshots/{run}") == ["segment_file_index.jsonl"]
    assert f"seg_{run}_0" in disk.list_folder(SEGMENTS)
    assert load(disk) == NEW
    assert check(disk) == []


def test_in_a_copied_store_the_two_names_of_a_manifest_are_two_files() -> None:
    disk = published(OLD)
    own = manifest_path(newest(disk))
    data = disk.read("generations/1", 1 << 20)
    disk.remove("generations/1")
    disk.create_bytes("generations/1", data)
    assert disk.stat(own).inode != disk.stat("generations/1").inode
    with opened(disk):
        pass
    assert load(disk) == OLD
    assert check(disk) == []


def test_while_a_manifest_is_damaged_nothing_is_taken_away() -> None:
    """It may name anything: whoever repairs the store will need it."""
    disk = published(OLD, NEW)
    first, second = sorted(disk.list_folder(SNAPSHOTS), key=lambda run: run == newest(disk))
    for path in (manifest_path(first), "generations/1"):
        disk.remove(path)
    disk.create_bytes("generations/1", b"damage")
    disk.make_folder(f"staging/{NEVER}")
    with opened(disk) as writer:
        assert writer.adopted == ()
    assert {first, second} <= set(disk.list_folder(SNAPSHOTS))
    assert disk.list_folder(STAGING) == [NEVER]
    assert load(disk) == NEW


def test_names_that_are_not_ours_are_left_alone() -> None:
    disk = published(OLD)
    disk.make_folder("staging/notes")
    disk.create_bytes("draft.tmp", b"")
    disk.create_bytes("segments/notes", b"")
    with opened(disk) as writer:
        made = draft(writer, OLD, ManualClock())
        assert made.layers == ()
    assert disk.list_folder(STAGING) == ["notes"]
    assert {finding.place for finding in check(disk)} == {"staging/notes", "draft.tmp", "segments/notes"}


def _killed(before: MemoryDisk, files: dict[str, bytes]) -> MemoryDisk:
    """The disk of a run that has sealed these files and ended there."""
    disk = before.crash("kill")
    writer = opened(disk, pid=9)
    write_batch(writer, files)
    writer.lease.release()
    return disk


def _copy_staging(source: MemoryDisk, target: MemoryDisk, folder: str = STAGING) -> None:
    for name in source.list_folder(folder):
        path = f"{folder}/{name}"
        if source.stat(path).is_folder:
            target.make_folder(path)
            _copy_staging(source, target, path)
        else:
            target.create_bytes(path, source.read(path, 1 << 30))


@pytest.mark.parametrize("look", ["stat", "read"])
def test_a_number_that_a_collector_which_was_robbed_takes_away_meanwhile_is_no_trouble(look: str) -> None:
    disk = published(OLD, NEW)
    disk.make_folder(f"staging/{NEVER}")

    def wakes_up(call: Call) -> None:
        if call == Call(look, f"{GENERATIONS}/1"):
            remove_file(disk, f"{GENERATIONS}/1")

    with opened(TracingDisk(disk, wakes_up)):
        assert disk.list_folder(GENERATIONS) == ["2"]
    with opened(disk):
        assert check(disk) == []
    assert load(disk) == NEW


def test_who_is_robbed_by_a_collector_while_it_tidies_up_takes_nothing_away() -> None:
    disk = published(OLD, NEW)
    disk.make_folder(f"staging/{NEVER}")

    def robs(call: Call) -> None:
        if call == Call("read", f"{GENERATIONS}/1"):
            with opened(disk, pid=3):
                remove_file(disk, f"{GENERATIONS}/1")

    with pytest.raises(LeaseLost):
        opened(TracingDisk(disk, robs))
    assert load(disk) == NEW


@pytest.mark.parametrize("building", [False, True])
def test_what_a_killed_merge_left_goes_unless_somebody_is_merging(building: bool) -> None:
    fs = MemoryDisk()
    save(fs, {"a": b"one\n"})
    fs.make_folder(WORKSHOP)
    fs.make_folder(f"{WORKSHOP}/0")
    fs.create_bytes(f"{WORKSHOP}/0/data.bin", b"half")
    with ExitStack() as stack:
        if building:
            stack.enter_context(fs.lock(COMPACT_LOCK, exclusive=True, timeout=0.0))
        save(fs, {"a": b"two\n"})
    assert (fs.list_folder("staging") == []) is not building
    assert load(fs) == {"a": b"two\n"}
