"""What a process does to a store: index, sync, clear, merge, collect, repair, upgrade, take over from a killed one.

Ids and owners are drawn from a counter, so an operation does the same each time, byte for byte.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from types import SimpleNamespace
from unittest import mock

import cairn.store.publish.lease
import cairn.store.publish.writer
from cairn.core.clock import rfc3339
from cairn.store.format.seal import Remembered
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.fs import Fs
from cairn.store.publish.lease import Lease, RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer, staged_records
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read.snapshot import SnapshotView, open_view, parts_of
from cairn.store.repair import RepairScope
from cairn.store.repair.salvage import Diagnosis, Quarantine, diagnose, open_base, treat
from cairn.store.tend.collect import Collected, collect
from cairn.store.tend.compact import build, fits, holders, loads_of, plan, publish_merged, rewrite, workshop
from cairn.sync.upgrade import upgrade_store
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FINGERPRINT, GIT, IGNORE, ROOT, STORE_ID, FewProcesses, draft, write_batch
from tests.store.raising import SNAPSHOT, raised
from tests.support.clock import ManualClock

Texts = Mapping[str, bytes]

CLOCK_START = 1_790_000_000_000_000_000
OLD = {"a": b"one\n", "b": b"two\n", "c": b"three\n"}
NEW = {"a": b"one\n", "b": b"two, changed\n", "d": b"four\n"}
NEWER = {"a": b"one\n", "b": b"two, changed again\n", "d": b"four\n", "e": b"five\n"}
FORGOTTEN = {"a": b"one\n", "d": b"four\n", "e": b"five, changed\n"}


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
    stack.enter_context(mock.patch.object(cairn.store.publish.writer, "secrets", SimpleNamespace(token_bytes=drawn)))
    stack.enter_context(mock.patch.object(cairn.store.publish.lease, "os", SimpleNamespace(urandom=drawn)))
    return stack


@dataclass(frozen=True, slots=True)
class Who:
    """The process that runs, and when. Only it lives: whoever came before is gone."""

    pid: int = 1
    seconds: int = 0

    @property
    def clock(self) -> ManualClock:
        return ManualClock(CLOCK_START + self.seconds * 1_000_000_000)

    @property
    def processes(self) -> FewProcesses:
        return FewProcesses(self.pid, {self.pid})

    def open(self, fs: Fs, kind: RunKind = RunKind.SYNC) -> tuple[Writer, ManualClock]:
        clock, rebuild = self.clock, kind is RunKind.REINDEX
        return open_writer(fs, "store", kind, clock=clock, processes=self.processes, rebuild=rebuild), clock


def catch_up(fs: Fs, who: Who, *looks: Texts, full: bool = False, batches: int = 1) -> int:
    """Bring the store to the texts, as a sync does: on the last snapshot, with what a killed run had sealed.

    With several looks the tree moves: each is found stale when it is about to be published, but for the last. Gives the
    epoch under which it was published.
    """
    writer, clock = who.open(fs, RunKind.REINDEX if full else RunKind.SYNC)
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
    writer, clock = who.open(fs, RunKind.REINDEX)
    with writer:
        made = Draft(ROOT, STORE_ID, FINGERPRINT, IGNORE, GIT, rfc3339(clock.wall_ns()), on_base=False, complete=False)
        assert publish(writer, made, lambda: True, clock) is not None
        return writer.lease.epoch


def repair(fs: Fs, who: Who, texts: Texts) -> RepairScope:
    """Make the store sound, and bring it to the texts if that takes reading some of them again; the scope of it."""
    clock = who.clock
    found: list[tuple[Diagnosis, Quarantine]] = []

    def base(lease: Lease, remembered: Remembered) -> SnapshotView | None:
        diagnosis, quarantine = diagnose(fs, STORE_ID, ROOT, remembered), Quarantine(fs, lease.run_id)
        found.append((diagnosis, quarantine))
        treat(fs, lease.run_id, diagnosis.steps, diagnosis.newest, quarantine)
        return open_base(fs, diagnosis.base, remembered) if diagnosis.base else None

    with open_writer(fs, "store", RunKind.REPAIR, clock=clock, processes=who.processes, base=base) as writer:
        ((diagnosis, quarantine),) = found
        if diagnosis.scope in (RepairScope.FILES, RepairScope.FULL):
            full = diagnosis.scope is RepairScope.FULL
            assert publish(writer, draft(writer, texts, clock, full=full), lambda: True, clock) is not None
            after = diagnose(fs, STORE_ID, ROOT, writer.staging.remembered)
            treat(fs, writer.run, after.steps, after.newest, quarantine)
    return diagnosis.scope


def compact(fs: Fs, who: Who, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Merge all segments into one; `meanwhile` happens when they are merged and not yet published."""
    with workshop(fs) as folder:
        with _newest(fs) as view:
            built = build(fs, view, plan(loads_of(view), everything=True), folder)
        meanwhile()
        writer, clock = who.open(fs, RunKind.COMPACT)
        with writer:
            assert fits(built, writer.base)
            publish_merged(writer, built, clock)


def forget(fs: Fs, who: Who, texts: Texts, secret: str) -> None:
    """Bring the store to the texts, and leave no copy of this file in any segment."""
    writer, clock = who.open(fs)
    with writer:
        assert writer.view is not None
        rewrites = rewrite(writer, [sorted(holders(writer.view, {secret}))], {secret})
        made = replace(draft(writer, texts, clock), rewrites=rewrites)
        assert publish(writer, made, lambda: True, clock) is not None
    with _newest(fs) as view:
        assert not any(part.segment.find(secret) is not None for part in parts_of(view))


def tend(fs: Fs, who: Who) -> Collected:
    """Collect, and merge what there is."""
    writer, clock = who.open(fs, RunKind.GC)
    with writer:
        collected = collect(writer, clock)
    compact(fs, who)
    return collected


def _overtaken(fs: Fs) -> None:
    """A merge that another process publishes a sync before."""
    compact(fs, Who(1, 1), lambda: catch_up(fs, Who(3), OLD))


def _upgrade(fs: Fs) -> None:
    who = Who()
    done = upgrade_store(fs, "store", lambda _: None, clock=who.clock, processes=who.processes)
    assert len(done.raised) == len(SNAPSHOT)


def _newest(fs: Fs) -> SnapshotView:
    view = open_view(fs, "store")
    assert view is not None
    return view


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

    `publishes` says whether it ends with a new snapshot: a reader sees either the one before or `wanted`. `tended` asks
    for a merge and a collection when all is over. `world` is what holds for it and for all that comes after it.
    """

    name: str
    prepare: Callable[[], MemoryDisk]
    run: Callable[[Fs], object]
    wanted: Texts
    publishes: bool = True
    tended: bool = False
    world: Callable[[], AbstractContextManager[object]] = nullcontext


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


@cache
def _in_pieces() -> MemoryDisk:
    """A store of three segments with dead rows and tombstones."""
    disk = MemoryDisk()
    with steady(1_000):
        for number, texts in enumerate((OLD, NEW, NEWER)):
            catch_up(disk, Who(1, -100 + number), texts)
    return settled(disk)


@cache
def _with_history() -> MemoryDisk:
    """A store with more old snapshots than are kept, two runs that were killed as they came to publish, and a fence."""
    disk = MemoryDisk()
    with steady(3_000):
        for number, texts in enumerate((OLD, NEW, NEWER, OLD, NEW, NEWER, OLD)):
            catch_up(disk, Who(1, 10_000 * (number - 10)), texts)
            if number in (1, 6):
                with contextlib.suppress(PowerCut):
                    catch_up(_cut_at_the_claim(disk), Who(7, 10_000 * (number - 10) + 1), {"f": b"six\n", **texts})
    return settled(disk)


def _cut_at_the_claim(disk: Fs) -> Fs:
    dead: list[Call] = []

    def cut(call: Call) -> None:
        if dead or call.publishes:
            dead.append(call)
            raise PowerCut(str(call))

    return TracingDisk(disk, cut)


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


@cache
def _untidy() -> MemoryDisk:
    """A store without its pointer, with a state that says nothing and with what no snapshot accounts for."""
    disk = _indexed().crash("kill")
    with steady(4_000):
        catch_up(disk, Who(1, -90), NEW)
    disk.remove("ACTIVE_SNAPSHOT")
    stranger = f"{0:026}"
    disk.make_folder(f"snapshots/{stranger}")
    disk.create_bytes(f"snapshots/{stranger}/tombstones.jsonl", b"")
    disk.make_folder(f"segments/seg_{stranger}_0")
    disk.create_bytes(f"segments/seg_{stranger}_0/data.bin", b"nobody's")
    disk.seal(f"segments/seg_{stranger}_0")
    disk.remove("index_state.json")
    disk.create_bytes("index_state.json", b"rubbish")
    return settled(disk)


def _collect(fs: Fs) -> None:
    writer, clock = Who().open(fs, RunKind.GC)
    with writer:
        done = collect(writer, clock)
    assert (len(done.snapshots), done.staging) == (2, 1)


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
    Operation("compact", _in_pieces, lambda fs: compact(fs, Who()), NEWER, tended=True),
    Operation("compact, a sync in between", _in_pieces, _overtaken, OLD, tended=True),
    Operation("sync that forgets", _in_pieces, lambda fs: forget(fs, Who(), FORGOTTEN, "b"), FORGOTTEN, tended=True),
    Operation("upgrade", _in_pieces, _upgrade, NEWER, tended=True, world=lambda: raised(*SNAPSHOT)),
    Operation("repair", _untidy, lambda fs: repair(fs, Who(), NEW), NEW, publishes=False),
    Operation("collect", _with_history, _collect, OLD, publishes=False, tended=True),
)
