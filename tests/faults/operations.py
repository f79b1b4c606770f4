"""What a process does to a store: index, sync, clear, take the lease, take over from another that was killed.

Ids and owners are drawn from a counter, so an operation does the same each time, byte for byte.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from types import SimpleNamespace
from unittest import mock

import cairn.store.lease
import cairn.store.writer
from cairn.clock import rfc3339
from cairn.store.fs import Fs
from cairn.store.lease import RunKind
from cairn.store.publish import Draft, Layer, publish
from cairn.store.staging import staged_records
from cairn.store.tombstones import Tombstone, TombstoneReason
from cairn.store.writer import Writer, open_writer
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FINGERPRINT, GIT, IGNORE, ROOT, STORE_ID, FewProcesses, StillClock, write_batch

Texts = Mapping[str, bytes]

CLOCK_START = 1_790_000_000_000_000_000
OLD = {"a": b"one\n", "b": b"two\n", "c": b"three\n"}
NEW = {"a": b"one\n", "b": b"two, changed\n", "d": b"four\n"}
NEWER = {"a": b"one\n", "b": b"two, changed again\n", "d": b"four\n", "e": b"five\n"}


class PowerCut(BaseException):
    """The machine is off: nothing in the program runs any more. Not an Exception, so nothing handles it."""


class DyingDisk(TracingDisk):
    """A disk whose power goes before the k-th call (from 1): that one raises, and so does whatever cleans up later."""

    def __init__(self, inner: Fs, last: int) -> None:
        super().__init__(inner, self._cut)
        self.last = last

    def _cut(self, call: Call) -> None:
        if len(self.calls) >= self.last - 1:
            raise PowerCut(str(call))


# --- one run of a writer ----------------------------------------------------------------------------------------------


def steady(start: int = 0) -> AbstractContextManager[object]:
    """Ids and owners are drawn from a counter meanwhile: the same operation gives the same bytes and names."""
    counter = itertools.count(start)

    def drawn(size: int) -> bytes:
        return next(counter).to_bytes(size, "big")

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(cairn.store.writer, "secrets", SimpleNamespace(token_bytes=drawn)))
    stack.enter_context(mock.patch.object(cairn.store.lease, "os", SimpleNamespace(urandom=drawn)))
    return stack


@dataclass(frozen=True, slots=True)
class Who:
    """The process that runs, and when. Only it lives: whoever came before is gone."""

    pid: int = 1
    seconds: int = 0

    def open(self, fs: Fs, *, rebuild: bool = False) -> tuple[Writer, StillClock]:
        clock = StillClock(CLOCK_START + self.seconds * 1_000_000_000)
        processes = FewProcesses(self.pid, {self.pid})
        kind = RunKind.REINDEX if rebuild else RunKind.SYNC
        return open_writer(fs, "store", kind, clock=clock, processes=processes, rebuild=rebuild), clock


def catch_up(fs: Fs, who: Who, *looks: Texts, full: bool = False, batches: int = 1) -> int:
    """Bring the store to the texts, as a sync does: on the last snapshot, with what a killed run had sealed.

    With several looks the tree moves: each is found stale when it is about to be published, but for the last. Gives the
    epoch under which it was published.
    """
    writer, clock = who.open(fs, rebuild=full)
    with writer:
        base = writer.base if not full and writer.base and writer.base.completion else None
        known = writer.view.records() if base and writer.view else {}
        hashes = {key: record.file_hash for key, record in known.items()}
        layers = []
        for batch in writer.adopted:
            sealed = {record.key: record.file_hash for record in staged_records(writer.fs, writer.run, batch)}
            layers.append(Layer(_gone(TombstoneReason.REPLACE, sealed.keys() & hashes.keys()), (batch,)))
            hashes |= sealed
        expected: dict[str, str | None] = {}
        for texts in looks:
            wanted = {key: sha256(data).hexdigest() for key, data in texts.items()}
            changed = {key: texts[key] for key in texts if hashes.get(key) != wanted[key]}
            buried = [*changed.keys() & hashes.keys(), *hashes.keys() - wanted.keys()]
            layers.append(_layer(writer, _gone(TombstoneReason.REPLACE, buried), changed, batches))
            hashes = wanted
            expected = {**dict.fromkeys(expected), **dict.fromkeys(buried), **wanted}
            made = Draft(
                root=ROOT,
                store_id=STORE_ID,
                fingerprint=FINGERPRINT,
                ignore_fingerprint=IGNORE,
                git=GIT,
                read_at=rfc3339(clock.wall_ns()),
                on_base=base is not None,
                layers=tuple(layer for layer in layers if layer.tombstones or layer.batches),
                expected=expected,
                files=len(texts),
            )
            fresh = texts is looks[-1]
            manifest = publish(writer, made, lambda fresh=fresh: fresh, clock)  # type: ignore[misc]
            assert (manifest is not None) == fresh
        return writer.lease.epoch


def clear(fs: Fs, who: Who) -> int:
    """Publish a snapshot that holds nothing and says that it is not complete."""
    writer, clock = who.open(fs, rebuild=True)
    with writer:
        made = Draft(ROOT, STORE_ID, FINGERPRINT, IGNORE, GIT, rfc3339(clock.wall_ns()), on_base=False, complete=False)
        assert publish(writer, made, lambda: True, clock) is not None
        return writer.lease.epoch


# Whoever comes after the operation: another process, when the first is gone.
NEXT = Who(2, 1_000)


def _gone(reason: TombstoneReason, keys: Iterable[str]) -> tuple[Tombstone, ...]:
    return tuple(Tombstone(key, reason) for key in sorted(keys))


def _layer(writer: Writer, tombstones: tuple[Tombstone, ...], changed: Texts, batches: int) -> Layer:
    keys = sorted(changed)
    made = [
        batch
        for at in range(batches)
        if (part := keys[at::batches])
        for batch in write_batch(writer, {key: changed[key] for key in part}).batches
    ]
    return Layer(tombstones, tuple(made))


# --- the operations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a process does to a store that looks like `prepare`; `wanted` is what the tree holds afterwards.

    `publishes` says whether it ends with a new snapshot: a reader sees either the one before or `wanted`.
    """

    name: str
    prepare: Callable[[], MemoryDisk]
    run: Callable[[Fs], object]
    wanted: Texts
    publishes: bool = True


def _empty() -> MemoryDisk:
    return MemoryDisk()


@cache
def _indexed() -> MemoryDisk:
    """A store that was published to, at rest, all of it safe."""
    disk = MemoryDisk()
    with steady(1_000):
        catch_up(disk, Who(1, -100), OLD)
    return settled(disk)


@cache
def _killed_in(step: str) -> MemoryDisk:
    """A store whose last run was killed right before this call, with two batches sealed and moved into place."""
    disk = _indexed().crash("kill")
    dying = DyingDisk(disk, 1_000_000)
    calls = TracingDisk(_indexed().crash("kill"))
    with steady(2_000):
        catch_up(calls, Who(7, -50), NEWER, batches=2)
    dying.last = 1 + next(at for at, call in enumerate(calls.calls) if str(call).startswith(step))
    with steady(2_000), contextlib.suppress(PowerCut):
        catch_up(dying, Who(7, -50), NEWER, batches=2)
    return settled(disk)


def settled(disk: MemoryDisk) -> MemoryDisk:
    """The same disk, a while later: the system has written everything out by itself."""
    after = disk.crash("kill")
    for path in walk(after):
        if after.stat(path).is_folder:
            after.sync_folder(path)
        else:
            after.sync_file(path)
    return after


def walk(disk: Fs, folder: str = "") -> Iterator[str]:
    """Every path on a disk, the base folder as the empty one."""
    yield folder
    for name in disk.list_folder(folder):
        path = f"{folder}/{name}".lstrip("/")
        if disk.stat(path).is_folder:
            yield from walk(disk, path)
        else:
            yield path


def _take_and_let_go(fs: Fs) -> None:
    writer, _ = Who().open(fs)
    with writer:
        pass


OPERATIONS = (
    Operation("first publish", _empty, lambda fs: catch_up(fs, Who(), NEW), NEW),
    Operation("sync", _indexed, lambda fs: catch_up(fs, Who(), NEW), NEW),
    Operation("sync of a tree that moves", _indexed, lambda fs: catch_up(fs, Who(), NEW, NEWER), NEWER),
    Operation("reindex", _indexed, lambda fs: catch_up(fs, Who(), NEW, full=True, batches=2), NEW),
    Operation("clear", _indexed, lambda fs: clear(fs, Who()), {}),
    Operation("lease taken and released", _indexed, _take_and_let_go, OLD, publishes=False),
    Operation("lease stolen", lambda: _killed_in("make_folder staging"), _take_and_let_go, OLD, publishes=False),
    Operation("batches adopted", lambda: _killed_in("claim"), lambda fs: catch_up(fs, Who(), NEW), NEW),
    Operation("pointer caught up", lambda: _killed_in("create_bytes ACTIVE"), _take_and_let_go, NEWER, publishes=False),
)
