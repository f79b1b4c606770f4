"""Run an operation of the store again and again, with another call failing each time, and judge what is left.

The program lives on and cleans up behind itself, on the very disk that failed it once. What it says must be true: when
it says that it has published, it has; when it raises, it raises something that can be told to a person.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from cairn.errors import CairnError
from tests.faults.operations import NEXT, Operation, Texts, Who, steady, walk
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


class Hit(NamedTuple):
    """The k-th call (from 1) fails in this way, and with `then` another one so many calls later: while the first is
    being cleaned up, or when the run has gone on in spite of it."""

    at: int
    kind: Kind
    later: int = 0
    then: Kind | None = None

    def __str__(self) -> str:
        second = f", and {self.later} later with {self.then.name}" if self.then else ""
        return f"call {self.at} fails with {self.kind.name}{second}"


class TwiceFailingDisk(FailingDisk):
    """A disk that fails once or twice; `failed` are the calls, each with what a reader found when it did."""

    def __init__(self, inner: MemoryDisk, hit: Hit) -> None:
        super().__init__(inner, Fault(hit.at, hit.kind.number, hit.kind.how))
        self.failed: list[tuple[Call, Texts | None]] = []
        self._inner, self._hit = inner, hit

    def around(self, call, do, half=None):  # type: ignore[no-untyped-def]
        hit = self._hit
        if self.count + 1 == hit.at + hit.later and hit.then and self.failed:
            self.fault = Fault(self.count + 1, hit.then.number, hit.then.how)
        if self.fault and self.fault.at == self.count + 1:
            self.failed.append((call, texts_in(self._inner)))
        return super().around(call, do, half)


def calls_of(operation: Operation) -> list[Call]:
    """What the operation asks of a disk when nothing fails."""
    traced = TracingDisk(operation.prepare().crash("kill"))
    with operation.world(), steady():
        operation.run(traced)
    return traced.calls


def telling(calls: Sequence[Call]) -> list[int]:
    """The calls, from 1, less the inner ones of a row of writes to one file: they fail like the first and the last."""
    rows = zip([None, *calls], calls, [*calls[1:], None], strict=False)
    return [at for at, (before, call, after) in enumerate(rows, 1) if not before == call == after]


class Failing:
    """One operation with one call, or two, failing in a run; disks that were seen before are not judged again."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._seen: set[object] = set()
        disk = operation.prepare()
        self._before = texts_in(disk)
        self._floor = Marks.of(disk)

    def run(self, hits: Iterable[Hit]) -> Tally:
        """Each of these failures, in a run of its own."""
        tally = Tally()
        for hit in hits:
            self._judged(tally, hit)
        return tally

    def run_pairs(self, first: Iterable[Hit], most: int) -> Tally:
        """Each of these failures with a second one at every later call that is still made, at most so many."""
        tally = Tally()
        for hit in first:
            for later in range(1, most + 1):
                if self._judged(tally, hit._replace(later=later)) < 2:
                    # The run had ended by then: that was one failure, and no pair.
                    tally.runs -= 1
                    break
        return tally

    def _judged(self, tally: Tally, hit: Hit) -> int:
        """How many calls have failed."""
        tally.runs += 1
        disk = self.operation.prepare().crash("kill")
        failing = TwiceFailingDisk(disk, hit)
        try:
            with self.operation.world():
                self._fail(tally, disk, failing, hit.at)
        except Violation as problem:
            tally.lost.append(f"{self.operation.name}, {hit}: {problem}")
        return len(failing.failed)

    def _fail(self, tally: Tally, disk: MemoryDisk, failing: TwiceFailingDisk, at: int) -> None:
        raised: Exception | None = None
        with steady():
            try:
                self.operation.run(failing)
            except (CairnError, OSError) as problem:
                raised = problem
        if not failing.failed:
            raise Violation("nothing failed: the operation is not the same each time")
        done = (self.operation.wanted,) if self.operation.publishes else (self._before,)
        allowed = done if raised is None else (self._before, self.operation.wanted)
        for call, published in failing.failed:
            if not _is_artifact_sync(call):
                continue
            # A file whose sync failed is condemned: nothing that needs it can have been published.
            if raised is None:
                raise Violation(f"{call} failed, and the run went on")
            allowed = (published,)
        # What is there, and what would be there if the power went now: then a condemned file is empty.
        for mode in ("kill", "lose"):
            found = disk.crash(mode)
            if self._is_new(found, allowed, at):
                tally.distinct += 1
                examine(
                    found,
                    Promise(allowed, self._floor, tended=self.operation.tended),
                    self.operation.wanted,
                    NEXT if at % 2 else AGAIN,
                )

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
