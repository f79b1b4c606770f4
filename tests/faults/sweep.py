"""Run an operation of the store, cut the power before each of its calls, and judge what is found.

An operation runs once; before every call the disk is crashed in every way that the model allows, and each disk that
comes of it is examined: a reader opens it, the checker reads it, the next run catches up on it. A failure is the same
failure each time: operation, step, mode and seed name it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from cairn.errors import CairnError
from cairn.store.format.layout import GENERATIONS, LOCKS, POINTER, generation_number
from cairn.store.fs import Fs
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import read_lease
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import Finding, FindingLevel, check
from tests.faults.operations import NEXT, Operation, Texts, Who, catch_up, steady, tend, walk
from tests.store.disks import Call, MemoryDisk, Mode, TracingDisk
from tests.store.little import contents

# What is asked of a disk and changes nothing on it.
MUTE = frozenset({"read", "stat", "list_folder", "open_map", "open_database", "lock"})


# Merges and collects when everything else is over, and whatever was kept for a while may go.
LATER = Who(2, 100_000)


class Violation(AssertionError):
    """A promise that does not hold on the disk that was found."""


class ForgetfulDisk(TracingDisk):
    """A disk that says of some syncs that they were made, and does not make them. `forgotten` counts them."""

    def __init__(self, inner: Fs, forgets: Callable[[Call], bool]) -> None:
        super().__init__(inner)
        self.forgets = forgets
        self.forgotten = 0

    def sync_file(self, path: str) -> None:
        if not self._forget(Call("sync_file", path)):
            super().sync_file(path)

    def sync_folder(self, path: str) -> None:
        if not self._forget(Call("sync_folder", path)):
            super().sync_folder(path)

    def _forget(self, call: Call) -> bool:
        forgotten = self.forgets(call)
        self.forgotten += forgotten
        return forgotten


# --- judging what is found --------------------------------------------------------------------------------------------


class Marks(tuple[int, int]):
    """The highest generation taken and the highest epoch granted, as a disk shows them: they never go back."""

    __slots__ = ()

    @classmethod
    def of(cls, disk: Fs) -> Marks:
        numbers = [0]
        epochs = [0]
        with contextlib.suppress(FileNotFoundError):
            numbers += [number for name in disk.list_folder(GENERATIONS) if (number := generation_number(name))]
        for number in numbers[1:]:
            if manifest := read_generation(disk, number):
                epochs.append(manifest.lease_epoch)
        if lease := read_lease(disk):
            epochs.append(lease.lease_epoch)
        return cls((max(numbers), max(epochs)))


@dataclass(frozen=True, slots=True)
class Promise:
    """What must hold from this moment on: which texts a reader may find, and what was granted and may not be again.

    `pointed`: the pointer itself names the newest snapshot, for whoever looks no further. `tended`: when the next run
    is over, its segments can be merged and old snapshots be collected; what a killed merge left is gone only then.
    """

    allowed: tuple[Texts | None, ...]
    floor: Marks
    pointed: bool = False
    tended: bool = False


def examine(found: MemoryDisk, promise: Promise, wanted: Texts, who: Who = NEXT) -> None:
    """Raise a `Violation` unless a reader, the checker and the next run are all content with this disk.

    The disk is used up by it.
    """
    try:
        _examine(found, promise, wanted, who)
    except (CairnError, OSError, AssertionError) as problem:
        if isinstance(problem, Violation):
            raise
        raise Violation(f"{type(problem).__name__}: {problem}") from problem


def _examine(found: MemoryDisk, promise: Promise, wanted: Texts, who: Who) -> None:
    read = texts_in(found)
    if read not in promise.allowed:
        raise Violation(f"a reader finds {read}")
    findings = check(found)
    if bad := [
        one for one in findings if one.severity is FindingLevel.ERROR or (promise.pointed and one.place == POINTER)
    ]:
        raise Violation(f"the checker finds {_shown(bad)}")
    marks = Marks.of(found)
    if marks[0] < promise.floor[0] or marks[1] < promise.floor[1]:
        raise Violation(f"generation and epoch went back to {tuple(marks)} from {tuple(promise.floor)}")
    with steady(9_000):
        catch_up(found, who, wanted)
    if texts_in(found) != wanted:
        raise Violation(f"the next run ends with {texts_in(found)}")
    if findings := check(found):
        raise Violation(f"the next run leaves {_shown(findings)}")
    after = Marks.of(found)
    if not (after[0] > marks[0] and after[1] > marks[1]):
        raise Violation(f"the next run went from {tuple(marks)} to {tuple(after)}")
    if promise.tended:
        _tend(found, wanted)


def _tend(found: MemoryDisk, wanted: Texts) -> None:
    with steady(9_500):
        tend(found, LATER)
    if texts_in(found) != wanted:
        raise Violation(f"merging and collecting leave {texts_in(found)}")
    if findings := check(found):
        raise Violation(f"merging and collecting leave {_shown(findings)}")


def texts_in(disk: Fs) -> Texts | None:
    """What a reader finds; None when nothing was published. A cleared index is no text at all."""
    view = open_view(disk, "store")
    if view is None:
        return None
    with view:
        assert not view.damage, view.damage
        return contents(view)


def _shown(findings: list[Finding]) -> str:
    return "; ".join(f"{finding.code} {finding.place}" for finding in findings)


# --- the sweep --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """How many disks were found, how many of them differ, and what was wrong with them."""

    runs: int = 0
    distinct: int = 0
    lost: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.runs + other.runs, self.distinct + other.distinct, self.lost + other.lost)


Examine = Callable[[MemoryDisk, Promise, Texts], object]


class Sweep:
    """One run of an operation, with the power cut before every call, or each so-many-th, and after the last.

    `modes` names the ways and how often each is drawn; `forgets` makes the disk skip syncs, to see that it matters.
    """

    def __init__(
        self,
        operation: Operation,
        modes: Mapping[Mode, int],
        *,
        forgets: Callable[[Call], bool] | None = None,
        examine: Examine = examine,
        most_lost: int = 20,
        every: int = 1,
    ) -> None:
        self.operation = operation
        self.modes = modes
        self.disk = operation.prepare().crash("kill")
        self.tallies: dict[Mode, Tally] = {mode: Tally() for mode in modes}
        self._swapped = False
        self._examine = examine
        self._most_lost = most_lost
        self._every = every
        self._seen: set[object] = set()
        below = ForgetfulDisk(self.disk, forgets) if forgets else self.disk
        self._traced = TracingDisk(below, self._before)
        # Only what is safe: an epoch whose name no sync has covered was never granted, and may be lost again. So may a
        # snapshot that was published right before an earlier cut, until its number is synced.
        safe, now = self.disk.crash("lose"), texts_in(self.disk)
        allowed = tuple(texts for texts in (texts_in(safe),) if texts != now)
        self._promise = Promise((*allowed, now), Marks.of(safe), tended=operation.tended)

    @property
    def calls(self) -> list[Call]:
        return self._traced.calls

    def run(self) -> Tally:
        """All of it."""
        with self.operation.world():
            with steady():
                self.operation.run(self._traced)
            self._before(Call("end", ""))
        return sum(self.tallies.values(), Tally())

    def _before(self, call: Call) -> None:
        if self.calls:
            self._advance(self.calls[-1])
        if len(self.calls) % self._every:
            return
        for mode, draws in self.modes.items():
            tally = self.tallies[mode]
            tally.runs += draws
            if self.calls and self.calls[-1].what in MUTE:
                continue
            for draw in range(draws):
                self._look(tally, mode, len(self.calls) * 1_000 + draw, call)

    def _look(self, tally: Tally, mode: Mode, seed: int, call: Call) -> None:
        found = self.disk.crash(mode, seed)
        if len(tally.lost) >= self._most_lost or self._is_known(found):
            return
        tally.distinct += 1
        try:
            self._examine(found, self._promise, self.operation.wanted)
        except Violation as problem:
            where = f"{self.operation.name}, {mode} {seed} before call {len(self.calls)}, {call}"
            tally.lost.append(f"{where}: {problem}")

    def _is_known(self, found: MemoryDisk) -> bool:
        allowed = tuple(None if texts is None else tuple(texts.items()) for texts in self._promise.allowed)
        key = (allowed, tuple(self._promise.floor), self._promise.pointed, fingerprint(found, self.disk))
        known = key in self._seen
        self._seen.add(key)
        return known

    def _advance(self, done: Call) -> None:
        """What a call that has just returned promises from here on."""
        allowed, floor, pointed = self._promise.allowed, self._promise.floor, self._promise.pointed
        if done.publishes:
            allowed = allowed if self.operation.wanted in allowed else (*allowed, self.operation.wanted)
            # The pointer has to move again.
            pointed = self._swapped = False
        elif str(done) == f"sync_folder {GENERATIONS}":
            floor = Marks((Marks.of(self.disk)[0], floor[1]))
            allowed = allowed[-1:]
        elif str(done) == f"sync_folder {LOCKS}" and (lease := read_lease(self.disk)):
            floor = Marks((floor[0], lease.lease_epoch))
        elif done == Call("sync_folder", "") and self._swapped:
            pointed = True
        self._swapped = self._swapped or (done.what == "swap" and done.other == POINTER)
        self._promise = replace(self._promise, allowed=allowed, floor=floor, pointed=pointed)


def fingerprint(found: MemoryDisk, live: MemoryDisk) -> object:
    """What is on a disk that was found: every name, its mode, the file it leads to, and what became of that file.

    A file is written once, so there are three: it is as it was written (`live` knows), it is empty, or it is torn.
    Where it is torn makes no difference to anybody: all that is read is compared with a digest first.
    """
    seen = []
    for path in walk(found):
        stat = found.stat(path)
        whole = stat.is_folder or found.bytes_of(stat.inode) == live.bytes_of(stat.inode)
        seen.append((path, stat.mode, stat.inode, 2 if whole else min(stat.size, 1)))
    return tuple(seen)
