"""A run that writes: alone, on the newest whole snapshot, and with nothing half done left behind by anybody."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.errors import LeaseLost, NoValidSnapshot, StoreBusy, StoreCorrupt
from cairn.store.disk import Disk
from cairn.store.format.layout import (
    POINTER,
    encode_pointer,
    generation_path,
    is_created,
    manifest_path,
    segment_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.fs import Fs
from cairn.store.publish.generations import read_claims, read_generation
from cairn.store.publish.lease import LEASE, RunKind, read_lease
from cairn.store.publish.publish import publish
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FewProcesses, all_files, draft, load, part_names, rewrite, save, write_batch
from tests.support.clock import ManualClock

FIRST = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
SECOND = {"a.txt": b"alpha two\n", "b.txt": b"beta\n"}


def begin(fs: Fs, *, pid: int = 1, alive: set[int] | None = None, rebuild: bool = False) -> Writer:
    processes = FewProcesses(pid, {pid} if alive is None else alive)
    return open_writer(fs, "here", RunKind.SYNC, clock=ManualClock(), processes=processes, rebuild=rebuild)


def kill_at(disk: MemoryDisk, files: dict[str, bytes], call: str) -> MemoryDisk:
    """What is found after a run was killed right before the first call that begins so."""
    found: list[MemoryDisk] = []

    def before(asked: Call) -> None:
        if not found and str(asked).startswith(call):
            found.append(disk.crash("kill"))

    save(TracingDisk(disk, before), files, processes=FewProcesses(7, {7}))
    assert found, "it never came to that call"
    return found[0]


def newest(fs: Fs) -> Manifest:
    manifest = read_claims(fs).pointed
    assert manifest is not None
    return manifest


# --- the lease --------------------------------------------------------------------------------------------------------


def test_the_first_run_makes_the_store_and_stands_on_nothing() -> None:
    fs = MemoryDisk()
    with begin(fs) as writer:
        assert is_created(fs)
        assert writer.view is None
        assert writer.base is None
        assert writer.newest == 0
        assert writer.adopted == ()
        assert writer.run == writer.lease.run_id == writer.staging.run


def test_the_next_run_stands_on_the_newest_snapshot() -> None:
    fs = MemoryDisk()
    manifest = save(fs, FIRST)
    with begin(fs) as writer:
        assert writer.base == manifest
        assert writer.newest == 1
        assert writer.lease.epoch == 2


def test_two_runs_never_write_at_once() -> None:
    fs = MemoryDisk()
    with begin(fs), pytest.raises(StoreBusy):
        begin(fs, pid=2, alive={1, 2})
    with begin(fs, pid=2, alive={1, 2}):
        pass


@conforms("003.LS11")
def test_epochs_go_on_from_the_newest_manifest_when_the_lease_file_was_lost() -> None:
    fs = MemoryDisk()
    for files in (FIRST, SECOND, FIRST):
        save(fs, files)
    fs.remove(LEASE)
    manifest = save(fs, SECOND)
    assert manifest
    assert manifest.lease_epoch == 4
    lease = read_lease(fs)
    assert lease
    assert lease.lease_epoch == 4


def test_whoever_takes_over_from_a_dead_run_puts_a_fence_before_its_number() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    after = kill_at(fs, SECOND, "claim ")
    with begin(after) as writer:
        assert read_generation(after, 2) is None
        assert writer.newest == 2
        assert writer.lease.stolen
        assert not writer.lease.fence_owed
    manifest = save(after, SECOND)
    assert manifest
    assert manifest.generation == 3


def test_a_lease_that_was_released_needs_no_fence() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    with begin(fs) as writer:
        assert writer.newest == 1
    assert fs.list_folder("generations") == ["1"]


# --- what a killed run left -------------------------------------------------------------------------------------------


def test_the_swap_that_a_killed_run_owed_is_made_and_its_snapshot_stays() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    after = kill_at(fs, SECOND, "swap ACTIVE_SNAPSHOT.")
    assert newest(after).generation == 1
    assert load(after) == SECOND, "it was published by its claim"
    with begin(after) as writer:
        assert newest(after).generation == 2
        assert writer.base == newest(after)
    assert save(after, FIRST)
    assert load(after) == FIRST
    assert check(after) == []


def test_a_damaged_pointer_is_mended_by_the_next_run_and_never_goes_back() -> None:
    fs = MemoryDisk()
    for files in (FIRST, SECOND):
        save(fs, files)
    for wrong in (b"", encode_pointer(read_or_fail(fs, 1).snapshot_id)):
        rewrite(fs, POINTER, wrong)
        with begin(fs):
            assert newest(fs).generation == 2
    with begin(fs):
        assert newest(fs).generation == 2


def read_or_fail(fs: Fs, number: int) -> Manifest:
    manifest = read_generation(fs, number)
    assert manifest is not None
    return manifest


@pytest.mark.parametrize(
    "call",
    ["make_folder snapshots/", "move staging/", "create_bytes snapshots/", "sync_folder snapshots", "claim "],
)
def test_the_sealed_batches_of_a_killed_run_are_taken_over_and_its_manifest_goes(call: str) -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    after = kill_at(fs, SECOND, call)
    with begin(after) as writer:
        (batch,) = writer.adopted
        assert (batch.number, batch.rows, batch.files) == (0, 1, 1)
        assert len(after.list_folder("snapshots")) == 1
        assert len(after.list_folder("segments")) == 1
    assert load(after) == FIRST
    save(after, SECOND)
    assert load(after) == SECOND


def test_a_run_that_was_killed_after_its_claim_is_tidied_up_behind() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    after = kill_at(fs, SECOND, "swap index_state.json.")
    assert [found.code for found in check(after)] != []
    with begin(after) as writer:
        assert writer.adopted == ()
    save(after, FIRST)
    assert check(after) == []


def test_an_old_snapshot_in_a_copied_store_is_not_taken_apart_because_one_of_its_names_is_damaged() -> None:
    fs = MemoryDisk()
    made = [save(fs, files) for files in (FIRST, {"b.txt": b"beta\n"}, {"b.txt": b"beta\n", "c.txt": b"c\n"})]
    for number in (1, 2, 3):
        part_names(fs, generation_path(number))
    for manifest in made:
        assert manifest
        rewrite(fs, manifest_path(manifest.snapshot_id), b"rubbish")
    assert load(fs) == {"b.txt": b"beta\n", "c.txt": b"c\n"}
    save(fs, SECOND)
    assert load(fs) == SECOND
    for number in (4, 3, 2, 1):
        assert read_generation(fs, number) is not None
    rewrite(fs, generation_path(4), b"rubbish")
    fs.remove(POINTER)
    assert load(fs) == {"b.txt": b"beta\n", "c.txt": b"c\n"}, "the tombstones of the second are still needed"


# --- a store that is not whole ----------------------------------------------------------------------------------------


def ruin(fs: MemoryDisk) -> None:
    for path in all_files(fs, "segments"):
        rewrite(fs, path, b"")


def test_a_run_does_not_build_on_a_store_in_which_nothing_is_whole_unless_it_rebuilds() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    ruin(fs)
    with pytest.raises(NoValidSnapshot):
        begin(fs)
    lease = read_lease(fs)
    assert lease
    assert lease.released, "a run that could not begin holds nobody up"
    with begin(fs, rebuild=True) as writer:
        assert writer.view is None
        assert writer.newest == 1
    assert save(fs, SECOND, full=True)
    assert load(fs) == SECOND


def test_epochs_start_anew_only_where_no_manifest_can_be_read() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    save(fs, SECOND)
    for number in (1, 2):
        rewrite(fs, generation_path(number), b"rubbish")
    fs.remove(LEASE)
    with begin(fs, rebuild=True) as writer:
        assert writer.lease.epoch == 1
        assert writer.newest == 2, "their numbers stay taken"


# --- the way out ------------------------------------------------------------------------------------------------------


@conforms("000.LIFE4")
def test_leaving_without_a_publish_withdraws_and_keeps_the_sealed_batches() -> None:
    fs = MemoryDisk()
    save(fs, FIRST)
    clock = ManualClock()
    with pytest.raises(KeyboardInterrupt), begin(fs) as writer:  # noqa: PT012 - the writer is made by the way
        run = writer.run

        def stop() -> bool:
            raise KeyboardInterrupt

        publish(writer, draft(writer, SECOND, clock), stop, clock)
    assert load(fs) == FIRST
    assert run not in str([path for path in all_files(fs) if not path.startswith("staging/")])
    with begin(fs) as writer:
        assert len(writer.adopted) == 1


def test_leaving_after_a_publish_leaves_the_snapshot_alone() -> None:
    fs, clock = MemoryDisk(), ManualClock()
    with begin(fs) as writer:
        publish(writer, draft(writer, FIRST, clock), lambda: True, clock)
    assert load(fs) == FIRST
    assert check(fs) == []


@pytest.mark.parametrize("what", ["list_folder", "read", "move", "unseal"])
def test_a_disk_that_fails_on_the_way_out_does_not_hide_why_the_run_ended(what: str) -> None:
    disk, clock = MemoryDisk(), ManualClock()
    save(disk, FIRST)
    leaving = False

    def fail(call: Call) -> None:
        if leaving and call.what == what and not call.path.startswith("locks"):
            raise OSError(errno.EIO, "broken", call.path)

    fs = TracingDisk(disk, fail)

    def moved_on() -> bool:
        nonlocal leaving
        leaving = True
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), begin(fs) as writer:
        publish(writer, draft(writer, SECOND, clock), moved_on, clock)
    assert load(disk) == FIRST


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (OSError(errno.ENOENT, "tidied away"), LeaseLost),
        (StoreCorrupt(artifact="segment", why="tidied away"), LeaseLost),
        (ValueError("a mistake of ours"), ValueError),
    ],
)
def test_what_a_thief_tidied_away_is_told_as_the_loss_of_the_lease(trouble: Exception, told: type[Exception]) -> None:
    fs = MemoryDisk()
    with pytest.raises(told), begin(fs) as writer:  # noqa: PT012 - the thief comes meanwhile
        write_batch(writer, FIRST)
        with begin(fs, pid=2, alive={2}):
            raise trouble


@pytest.mark.parametrize("trouble", [OSError(errno.EIO, "broken"), StoreCorrupt(artifact="segment", why="flipped")])
def test_trouble_while_the_lease_is_ours_is_told_as_it_is(trouble: Exception) -> None:
    fs = MemoryDisk()
    with pytest.raises(type(trouble)) as caught, begin(fs):
        raise trouble
    assert caught.value is trouble


# --- S19: planted names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize("name", [f"{LEASE}.tmp", "locks/lease_guard.lock"])
def test_what_is_planted_under_the_names_of_the_lease_is_never_followed(tmp_path: Path, name: str, kind: str) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        save(fs, FIRST)
        plant(tmp_path / "home/store" / name, kind, precious)
        save(fs, SECOND)
        assert load(fs) == SECOND
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "home/store" / name).exists()


def plant(path: Path, kind: str, target: Path) -> None:
    if kind == "link":
        path.symlink_to(target)
    else:
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize(
    "place",
    [
        lambda run: f"{POINTER}.{run}.tmp",
        lambda run: f"snapshots/{run}",
        lambda run: segment_folder(f"seg_{run}_0"),
        lambda run: generation_path(2),
        lambda run: f"index_state.json.{run}.tmp",
    ],
)
def test_what_is_planted_under_a_name_that_a_publish_needs_is_refused_or_replaced_and_never_followed(
    tmp_path: Path, place: Callable[[str], str], kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    clock = ManualClock()
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        save(fs, FIRST)
        try:
            with begin(fs) as writer:
                made = draft(writer, SECOND, clock)
                plant(tmp_path / "home/store" / place(writer.run), kind, elsewhere)
                publish(writer, made, lambda: True, clock)
        except (OSError, LeaseLost):
            pass
        assert load(fs) in (FIRST, SECOND)
        if place("x").startswith(("ACTIVE", "index_state")):
            assert load(fs) == SECOND
        else:
            assert load(fs) == FIRST
    assert list(elsewhere.iterdir()) == []


def test_what_a_thief_tidied_away_while_a_run_began_is_told_as_the_loss_of_the_lease() -> None:
    """It had to make a swap that was owed; meanwhile somebody took the lease, and its temporary file away."""
    fs = MemoryDisk()
    save(fs, {"a": b"one\n"})
    fs.remove(POINTER)

    def robs(call: Call) -> None:
        if call.what == "swap" and call.other == POINTER:
            with begin(fs, pid=2, alive={2}):
                pass

    with pytest.raises(LeaseLost):
        begin(TracingDisk(fs, robs))
    assert load(fs) == {"a": b"one\n"}
