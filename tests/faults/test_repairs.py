"""Repairs of damaged stores, cut at every step: what was whole before answers until something better is published,
and the next repair ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from cairn.errors import NoValidSnapshot, StoreCorrupt
from cairn.store.format.layout import generation_path, segment_folder
from cairn.store.format.manifest import Manifest
from cairn.store.read.snapshot import open_view
from cairn.store.repair import RepairScope
from cairn.store.repair.salvage import Quarantine
from cairn.store.repair.verify import FindingLevel, check
from tests.faults.operations import NEW, NEWER, OLD, DyingDisk, PowerCut, Texts, Who, catch_up, repair, settled, steady
from tests.store.disks import MemoryDisk, TracingDisk
from tests.store.little import all_files, contents, part_names, rewrite
from tests.support.faults import Faults


@cache
def sound() -> tuple[MemoryDisk, Manifest]:
    """Three snapshots, each with a segment of its own."""
    disk = MemoryDisk()
    with steady(5_000):
        for number, texts in enumerate((OLD, NEW, NEWER)):
            catch_up(disk, Who(1, number - 50), texts)
    view = open_view(disk, "store")
    assert view is not None
    with view:
        return settled(disk), view.manifest


def newest() -> Manifest:
    return sound()[1]


def segment_lost(number: int) -> Callable[[MemoryDisk], None]:
    def damage(disk: MemoryDisk) -> None:
        rewrite(disk, f"{segment_folder(newest().segments[number].name)}/data.bin", b"rot")

    return damage


def generation_lost(disk: MemoryDisk) -> None:
    rewrite(disk, generation_path(3), b"rot")


def tombstones_lost(disk: MemoryDisk) -> None:
    rewrite(disk, newest().tombstones[-1].path, b"rot")


def names_parted(disk: MemoryDisk) -> None:
    part_names(disk, generation_path(3))
    rewrite(disk, generation_path(3), b"rot")
    rewrite(disk, "ACTIVE_SNAPSHOT", b"rot")


def all_lost(disk: MemoryDisk) -> None:
    for number in (1, 2, 3):
        rewrite(disk, generation_path(number), b"rot")


DAMAGES: dict[str, tuple[Callable[[MemoryDisk], None], RepairScope]] = {
    "newest segment": (segment_lost(-1), RepairScope.FILES),
    "first segment, which all snapshots read": (segment_lost(0), RepairScope.FILES),
    "newest manifest": (generation_lost, RepairScope.FILES),
    "newest tombstones": (tombstones_lost, RepairScope.FILES),
    "two names, one of them lost, and the pointer": (names_parted, RepairScope.TIDY),
    "every manifest": (all_lost, RepairScope.FULL),
}


def damaged(name: str) -> MemoryDisk:
    disk = sound()[0].crash("kill")
    DAMAGES[name][0](disk)
    return disk


def read(disk: MemoryDisk) -> Texts | None:
    """What a reader finds; None when no snapshot is whole, or none is left."""
    try:
        view = open_view(disk, "store")
    except NoValidSnapshot:
        return None
    if view is None:
        return None
    with view:
        return contents(view)


def cut_everywhere(name: str, every: int) -> int:
    """Cut the repair before each of its calls, see what a reader finds, and repair what is left; how often."""
    before = read(damaged(name))
    traced = TracingDisk(damaged(name))
    with steady():
        assert repair(traced, Who(), NEWER) is DAMAGES[name][1]
    tried = 0
    for last in range(1, len(traced.calls) + 1, every):
        disk = damaged(name)
        dying = DyingDisk(disk, last)
        with steady(), pytest.raises(PowerCut):
            repair(dying, Who(), NEWER)
        for mode in ("kill", "lose"):
            found = disk.crash(mode)
            assert read(found) in (before, NEWER), f"{name}, call {last}, {mode}"
            with steady(9_000):
                repair(found, Who(2, 1_000), NEWER)
            assert read(found) == NEWER
            if left := check(found):
                # What the killed one had prepared, which the next sync takes over or clears away.
                assert {one.severity for one in left} == {FindingLevel.LEFTOVER}, f"{name}, call {last}, {mode}"
                catch_up(found, Who(3, 2_000), NEWER)
                assert check(found) == []
            tried += 1
    return tried


@pytest.mark.parametrize("name", DAMAGES)
def test_a_repair_cut_at_any_step_costs_nothing_and_the_next_one_ends_it(name: str) -> None:
    assert cut_everywhere(name, every=41) > 3


@pytest.mark.long
@pytest.mark.parametrize("name", DAMAGES)
def test_no_single_step_of_a_repair_is_unsafe(name: str) -> None:
    assert cut_everywhere(name, every=1) > 100


@pytest.mark.parametrize("name", DAMAGES)
def test_a_repair_keeps_the_bytes_of_everything(name: str) -> None:
    disk = damaged(name)
    parts = ("segments/", "snapshots/", "generations/")
    before = {disk.read(path, 1 << 24) for path in all_files(disk) if path.startswith(parts)}
    with steady():
        repair(disk, Who(), NEWER)
    after = {disk.read(path, 1 << 24) for path in all_files(disk)}
    assert before <= after
    assert check(disk) == []
    with steady(9_000):
        assert repair(disk, Who(2, 1_000), NEWER) is RepairScope.NONE


def test_a_repair_that_moved_before_it_published_would_be_found_out(faults: Faults) -> None:
    """The suite can fail: what is built on must not go first."""

    def hasty(honest: Callable[..., object], self: Quarantine, number: int) -> None:
        self.take("segments")
        honest(self, number)

    faults.around(Quarantine, "fence", hasty)
    with pytest.raises((AssertionError, StoreCorrupt)):
        cut_everywhere("newest manifest", every=7)
