from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from cairn.store.fs import Fs
from tests.conformance import conforms
from tests.faults.operations import NEW, NEXT, OPERATIONS, DyingDisk, Operation, PowerCut, Texts, Who, catch_up, steady
from tests.faults.sweep import Marks, Promise, Sweep, Violation, examine, texts_in
from tests.store.disks import Call, MemoryDisk, Mode, TracingDisk

BY_NAME = {operation.name: operation for operation in OPERATIONS}
NAMES = list(BY_NAME)

# Almost every draw gives another disk there.
LARGE = {
    "sync of a tree that moves": 20,
    "reindex": 20,
    "batches adopted": 10,
    "compact": 20,
    "compact, a sync in between": 10,
    "sync that forgets": 10,
    "upgrade": 10,
    "collect": 10,
}
LONG_DRAWS = dict.fromkeys(NAMES, 200) | {"first publish": 60} | LARGE


@conforms("003.ISO2", "003.ISO7", "003.CIT3", "000.LIFE3")
@pytest.mark.parametrize("name", NAMES)
def test_after_a_power_cut_at_any_step_a_reader_finds_the_old_or_the_new_and_the_next_run_ends_it(name: str) -> None:
    """Every sixth call in every way; where that takes long, every 24th and torn disks only: the long run has all."""
    modes: dict[Mode, int] = {"tear": 1} if name in LARGE else {"kill": 1, "lose": 1, "tear": 1}
    every = 24 if name in LARGE else 6
    sweep = Sweep(BY_NAME[name], modes, every=every)
    assert sweep.run().lost == []
    assert {tally.runs for tally in sweep.tallies.values()} == {len(sweep.calls) // every + 1}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_no_state_that_a_power_cut_can_leave_loses_anything(name: str) -> None:
    tally = Sweep(BY_NAME[name], {"kill": 1, "lose": 1, "tear": LONG_DRAWS[name]}).run()
    assert tally.lost == []
    assert tally.runs > 60 * LONG_DRAWS[name]


def found_in(operation: Operation, modes: dict[Mode, int], every: int) -> Iterator[tuple[MemoryDisk, Promise]]:
    """Some of the disks that a cut in this operation leaves, and what holds for each."""
    kept: list[tuple[MemoryDisk, Promise]] = []
    Sweep(operation, modes, examine=lambda found, promise, _: kept.append((found, promise))).run()
    yield from kept[::every]


def second_cuts(first: str, modes: dict[Mode, int], every: int, then: dict[Mode, int]) -> list[str]:
    """Cut the run that tidies up after a cut, wherever that is. What the first had not made safe, is still not."""
    lost = []
    wanted = BY_NAME[first].wanted
    for found, _ in found_in(BY_NAME[first], modes, every):
        recovery = Operation(
            f"recovery from {first}", lambda found=found: found, lambda fs: catch_up(fs, Who(3, 500), wanted), wanted
        )
        lost += Sweep(recovery, then).run().lost
    return lost


def test_a_second_cut_while_the_first_is_tidied_up_loses_nothing() -> None:
    assert second_cuts("sync", {"kill": 1}, 20, {"lose": 1, "tear": 1}) == []


@pytest.mark.long
@pytest.mark.parametrize("first", ["first publish", "sync", "batches adopted"])
def test_no_second_cut_loses_anything(first: str) -> None:
    assert second_cuts(first, {"kill": 1, "tear": 1}, 7, {"kill": 1, "lose": 1, "tear": 3}) == []


def test_a_program_that_cleans_up_after_the_cut_touches_nothing() -> None:
    """The suite above asks what the disk holds before each call; here the program really ends there."""
    operation = BY_NAME["sync"]
    calls = Sweep(operation, {})
    calls.run()
    for last in range(1, len(calls.calls) + 1, 9):
        disk = operation.prepare().crash("kill")
        before = texts_in(disk)
        dying = DyingDisk(disk, last)
        with steady(), pytest.raises(PowerCut):
            operation.run(dying)
        assert len(dying.calls) == last - 1
        examine(disk.crash("kill"), Promise((before, operation.wanted), Marks((1, 1))), operation.wanted)


# --- the suite can fail: a sync less, and something is lost -----------------------------------------------------------


class Nth:
    """Picks the calls with these numbers (from 0) among those that read like this, or all of them."""

    def __init__(self, pattern: str, *numbers: int) -> None:
        self._pattern = re.compile(pattern)
        self._numbers = numbers
        self._count = -1

    def __call__(self, call: Call) -> bool:
        if not self._pattern.fullmatch(str(call)):
            return False
        self._count += 1
        return not self._numbers or self._count in self._numbers


BARRIERS: dict[str, tuple[str, Callable[[], Nth]]] = {
    # Trying the disk syncs it twice more before the first publish.
    "the folders of a new store": ("first publish", lambda: Nth(r"sync_folder \.", 0, 1, 2)),
    "the lease before it is swapped in": ("sync", lambda: Nth(r"sync_file locks/writer_lease\.json\.tmp")),
    "the name of the lease": ("sync", lambda: Nth(r"sync_folder locks")),
    "the fence": ("lease stolen", lambda: Nth(r"sync_folder generations")),
    "the data of a segment": ("sync", lambda: Nth(r"sync_file staging/.*/data\.bin")),
    "the rows of a segment": ("sync", lambda: Nth(r"sync_file staging/.*/rows\.sqlite")),
    "the folder of a segment": ("sync", lambda: Nth(r"sync_folder segments/.*")),
    "the folder of all segments": ("sync", lambda: Nth(r"sync_folder segments")),
    "the tombstones": ("sync", lambda: Nth(r"sync_file snapshots/.*/tombstones\.jsonl")),
    "the manifest": ("sync", lambda: Nth(r"sync_file snapshots/.*/manifest\.json")),
    "the folder of a snapshot": ("sync", lambda: Nth(r"sync_folder snapshots/.*")),
    "the folder of all snapshots": ("sync", lambda: Nth(r"sync_folder snapshots")),
    "the number that was won": ("sync", lambda: Nth(r"sync_folder generations")),
    "the temporary pointer": ("sync", lambda: Nth(r"sync_file ACTIVE_SNAPSHOT\..*")),
    "the swapped pointer": ("sync", lambda: Nth(r"sync_folder \.")),
    "the data of a merged segment": ("compact", lambda: Nth(r"sync_file staging/compact_work/.*/data\.bin")),
    "the rows of a merged segment": ("compact", lambda: Nth(r"sync_file staging/compact_work/.*/rows\.sqlite")),
    "the folder of a merged segment": ("compact", lambda: Nth(r"sync_folder segments/.*")),
    "the numbers that a collector took": ("collect", lambda: Nth(r"sync_folder generations", 1)),
}
SLOW = {"the numbers that a collector took"}


@conforms("003.PUB3", "003.PUB4")
@pytest.mark.parametrize(
    "barrier", [pytest.param(each, marks=pytest.mark.long) if each in SLOW else each for each in BARRIERS]
)
def test_without_any_one_of_the_barriers_something_is_lost(barrier: str) -> None:
    name, forgets = BARRIERS[barrier]
    operation = replace(BY_NAME[name], tended=name == "compact")
    modes: tuple[dict[Mode, int], ...] = ({"lose": 1}, {"tear": 4})
    lost = (Sweep(operation, mode, forgets=forgets(), most_lost=1).run().lost for mode in modes)
    assert any(lost), f"nobody misses the sync of {barrier}"


# --- the order of the steps -------------------------------------------------------------------------------------------


def trace(run: Callable[[Fs], object], disk: MemoryDisk) -> list[str]:
    """What a run asks of the disk, ids replaced by what they stand for."""
    traced = TracingDisk(disk)
    with steady():
        run(traced)
    return [re.sub(r"\b[0-7][0-9A-Z]{25}\b|(?<=seg_)[0-9A-Z]{26}", "RUN", str(call)) for call in traced.calls]


STEPS = (
    "sync_file staging/RUN/0/data.bin",
    "open_map staging/RUN/0/data.bin",
    "sync_file snapshots/RUN/tombstones.jsonl",
    "move staging/RUN/0 -> segments/seg_RUN_0",
    "seal segments/seg_RUN_0",
    "sync_folder segments/seg_RUN_0",
    "sync_folder segments",
    "create_bytes snapshots/RUN/manifest.json",
    "sync_file snapshots/RUN/manifest.json",
    "sync_folder snapshots/RUN",
    "sync_folder snapshots",
    "claim snapshots/RUN/manifest.json -> generations/2",
    "sync_folder generations",
    "create_bytes ACTIVE_SNAPSHOT.RUN.tmp",
    "sync_file ACTIVE_SNAPSHOT.RUN.tmp",
    "swap ACTIVE_SNAPSHOT.RUN.tmp -> ACTIVE_SNAPSHOT",
    "sync_folder .",
)


@conforms("003.PUB1", "003.PUB3", "003.PUB4", "003.ISO5")
def test_publish_makes_its_steps_in_this_order() -> None:
    calls = trace(BY_NAME["sync"].run, BY_NAME["sync"].prepare().crash("kill"))
    places = [calls.index(step) for step in STEPS]
    assert places == sorted(places)
    assert [call for call in calls if call.endswith(" ACTIVE_SNAPSHOT") and "read" not in call] == [STEPS[-2]]


@conforms("003.ISO6")
def test_a_batch_is_hashed_after_it_is_read_only_and_safe() -> None:
    calls = trace(BY_NAME["sync"].run, BY_NAME["sync"].prepare().crash("kill"))
    for file in ("data.bin", "rows.sqlite"):
        path = f"staging/RUN/0/{file}"
        places = [calls.index(f"{what} {path}") for what in ("seal", "sync_file", "open_map")]
        assert places == sorted(places)
        assert not [call for call in calls[places[1] :] if call.split(" ")[0] in ("write", "create") and path in call]


@conforms("003.ISO7", "000.LIFE4")
def test_until_its_number_is_won_nothing_of_a_run_can_be_seen() -> None:
    operation = BY_NAME["sync"]
    seen: list[Texts | None] = []

    def look(call: Call) -> None:
        seen.append(texts_in(disk))

    disk = operation.prepare().crash("kill")
    traced = TracingDisk(disk, look)
    before = texts_in(disk)
    with steady():
        operation.run(traced)
    won = next(at for at, call in enumerate(traced.calls) if call.publishes)
    assert seen == [before] * (won + 1) + [operation.wanted] * (len(seen) - won - 1)


# --- the judge --------------------------------------------------------------------------------------------------------


def published(texts: Texts) -> MemoryDisk:
    disk = MemoryDisk()
    with steady(500):
        catch_up(disk, Who(), texts)
    return disk


@pytest.mark.parametrize(
    ("promise", "complaint"),
    [
        (Promise(({},), Marks((0, 0))), "a reader finds"),
        (Promise((NEW,), Marks((2, 0))), "went back"),
        (Promise((NEW,), Marks((0, 2))), "went back"),
    ],
)
def test_the_judge_sees_what_is_missing(promise: Promise, complaint: str) -> None:
    with pytest.raises(Violation, match=complaint):
        examine(published(NEW), promise, NEW)


def test_the_judge_sees_damage_and_what_nobody_clears_away() -> None:
    disk = published(NEW)
    disk.remove("generations/1")
    with pytest.raises(Violation, match="pointer_unclaimed"):
        examine(disk, Promise((NEW,), Marks((0, 0))), NEW)
    disk = published(NEW)
    disk.create_bytes("segments/stranger", b"")
    with pytest.raises(Violation, match="the next run leaves stranger segments/stranger"):
        examine(disk, Promise((NEW,), Marks((0, 0))), NEW)


def test_the_judge_is_content_with_a_sound_store() -> None:
    examine(published(NEW), Promise((NEW,), Marks((1, 1)), pointed=True), NEW, NEXT)
