"""Run an operation of the store again and again, with another call failing each time, and judge what is left.

The program lives on and cleans up behind itself, on the very disk that failed it once. What it says must be true: when
it says that it has published, it has; when it raises, it raises something that can be told to a person.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from cairn.errors import CairnError
from tests.faults.operations import NEXT, Operation, Who, steady, walk
from tests.faults.sweep import Marks, Promise, Tally, Violation, examine, texts_in
from tests.store.disks import FAULTS, Call, FailingDisk, Fault, MemoryDisk, TracingDisk

# The same process again, as a daemon would: its own failed lease must not stand in its way.
AGAIN = Who(1, 1_000)

How = Literal["early", "late", "short"]


class Kind(NamedTuple):
    """A way in which a call fails: its error number, and how much of it was done."""

    number: int
    how: How

    @property
    def name(self) -> str:
        words = {"early": "", "late": " after the deed", "short": " after half a write"}
        return errno.errorcode[self.number] + words[self.how]


KINDS: tuple[Kind, ...] = tuple(Kind(number, how) for number, how in FAULTS)  # type: ignore[arg-type]


class TwiceFailingDisk(FailingDisk):
    """A disk that fails a second time, so many calls later: while the first is being cleaned up."""

    def __init__(self, inner: MemoryDisk, fault: Fault, later: int) -> None:
        super().__init__(inner, fault)
        self._later = later

    def around(self, call, do, half=None):  # type: ignore[no-untyped-def]
        if self.fault is not None and self.fired is not None and self._later:
            self.fault = Fault(self.fault.at + self._later, self.fault.number, self.fault.how)
            self._later = 0
        return super().around(call, do, half)


def calls_of(operation: Operation) -> list[Call]:
    """What the operation asks of a disk when nothing fails."""
    traced = TracingDisk(operation.prepare().crash("kill"))
    with steady():
        operation.run(traced)
    return traced.calls


def telling(calls: Sequence[Call]) -> list[int]:
    """The calls, from 1, less the inner ones of a row of writes to one file: they fail like the first and the last."""
    rows = zip([None, *calls], calls, [*calls[1:], None], strict=False)
    return [at for at, (before, call, after) in enumerate(rows, 1) if not before == call == after]


class Failing:
    """One operation with one call failing at a time; disks that were seen before are not judged again."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._seen: set[object] = set()
        disk = operation.prepare()
        self._before = texts_in(disk)
        self._floor = Marks.of(disk)

    def run(self, faults: Iterable[tuple[int, Kind]], later: int = 0) -> Tally:
        """Each of these calls failing in its way, once, and again so many calls later."""
        tally = Tally()
        for at, kind in faults:
            tally.runs += 1
            try:
                self._fail(tally, at, kind, later)
            except Violation as problem:
                tally.lost.append(f"{self.operation.name}, call {at} fails with {kind.name}: {problem}")
        return tally

    def _fail(self, tally: Tally, at: int, kind: Kind, later: int) -> None:
        disk = self.operation.prepare().crash("kill")
        failing = TwiceFailingDisk(disk, Fault(at, kind.number, kind.how), later)
        raised: Exception | None = None
        with steady():
            try:
                self.operation.run(failing)
            except (CairnError, OSError) as problem:
                raised = problem
        if failing.fired is None:
            raise Violation("nothing failed: the operation is not the same each time")
        done = (self.operation.wanted,) if self.operation.publishes else (self._before,)
        allowed = done if raised is None else (self._before, self.operation.wanted)
        if _is_artifact_sync(failing.fired):
            # A file whose sync failed is condemned: nothing that needs it can have been published.
            if raised is None:
                raise Violation(f"{failing.fired} failed, and the run went on")
            allowed = (self._before,)
        # What is there, and what would be there if the power went now: then a condemned file is empty.
        for mode in ("kill", "lose"):
            found = disk.crash(mode)
            if self._is_new(found, allowed, at):
                tally.distinct += 1
                examine(found, Promise(allowed, self._floor), self.operation.wanted, NEXT if at % 2 else AGAIN)

    def _is_new(self, found: MemoryDisk, allowed: tuple[object, ...], at: int) -> bool:
        content = tuple((path, found.stat(path).mode, _bytes(found, path)) for path in walk(found))
        key = (content, repr(allowed), at % 2)
        known = key in self._seen
        self._seen.add(key)
        return not known


def _bytes(disk: MemoryDisk, path: str) -> bytes | None:
    return None if disk.stat(path).is_folder else disk.read(path, 1 << 30)


def _is_artifact_sync(call: Call) -> bool:
    return call.what == "sync_file" and call.path.startswith(("staging/", "snapshots/"))
