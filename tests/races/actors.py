"""Those who act on one store in the virtual scheduler: writers, a reader, one who merges, one who collects.

They run the real code. Only what costs time and touches no disk is left out here: the rows of a segment are not checked
again at each publish (`segment_problems`; the crash suites do), batches and merged segments are built once for the same
texts, and documents that were decoded once are remembered by their bytes.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import pytest
from greenlet import getcurrent  # type: ignore[import-untyped]

from cairn.store.format.layout import DIGESTS, batch_folder
from cairn.store.format.manifest import Manifest
from cairn.store.format.rows import DATA_FILE, ROWS_FILE
from cairn.store.format.seal import Remembered, load_digests
from cairn.store.format.segment import Segment
from cairn.store.fs import Fs
from cairn.store.publish import generations
from cairn.store.publish import lease as leasing
from cairn.store.publish import publish as installing
from cairn.store.publish import publish as publishing
from cairn.store.publish import writer as writing
from cairn.store.publish.generations import plant_fence
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer, Staging
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read import snapshot
from cairn.store.read.snapshot import Part, open_view
from cairn.store.tend import collect as collecting
from cairn.store.tend import compact as compacting
from cairn.store.tend import compact as merging
from cairn.store.tend.collect import Collected, collect
from cairn.store.tend.merge import Merged, merge
from cairn.sync.upkeep import CompactReport, compact_store
from tests.races.scheduler import Actor, ActorDisk, Event
from tests.store import disks, little
from tests.store.disks import Call, MemoryDisk
from tests.store.little import FewProcesses, contents
from tests.support.clock import ManualClock
from tests.support.faults import Faults

# Functions of their arguments alone, where they are called.
_PURE: dict[ModuleType, tuple[str, ...]] = {
    generations: ("decode_manifest",),
    publishing: ("encode_manifest", "encode_state"),
    installing: ("encode_tombstones",),
    leasing: ("encode_lease", "decode_lease"),
    snapshot: ("decode_tombstones",),
    disks: ("check_path",),
}

BASE = {"a": b"base\n", "b": b"base\n"}
FIRST = {"a": b"first\n", "b": b"first\n"}
SECOND = {"a": b"second\n", "b": b"second\n"}
THIRD = {"a": b"third\n"}
A, B, C, M, G = 1, 2, 3, 4, 5
TERM = 2.0
TERM_MS = 2_000

Body = Callable[[ActorDisk], object]


class Prepared(NamedTuple):
    """Writer A with the lease and a sealed batch, as it is when it comes to publish. Made once, copied for each run.

    `before` is the disk before A came.
    """

    before: MemoryDisk
    disk: MemoryDisk
    writer: Writer
    draft: Draft

    def writer_on(self, fs: ActorDisk) -> Writer:
        lease = copy.copy(self.writer.lease)
        lease._fs, lease._clock = fs, fs.world.clock
        staging = Staging(fs, self.writer.run, Remembered(self.writer.staging.remembered))
        staging._next = self.writer.staging._next
        made = Writer(fs, lease, self.writer.view, self.writer.newest, staging)
        made._closing = ExitStack()
        made._closing.enter_context(lease)
        return made


def prepare() -> Prepared:
    clock = ManualClock()
    clock.advance(1_000)
    disk = MemoryDisk()
    little.save(disk, BASE, clock=clock)
    before = disk.crash("kill")
    who = FewProcesses(A, {A})
    writer = open_writer(disk, "store", RunKind.SYNC, clock=clock, processes=who, lease_ttl_ms=TERM_MS)
    return Prepared(before, disk, writer, little.draft(writer, FIRST, clock))


# What was published long ago, in this order; the last is the base of those who act.
PAST = ({"a": b"1\n"}, {"a": b"2\n"}, {"a": b"base\n"}, BASE)
# Of those a collector keeps so many, and all that another has followed within minutes.
RETAINED = 2


def with_a_past() -> MemoryDisk:
    """A store with old snapshots: two share no segment with a later one, two segments can be merged into one."""
    disk, clock = MemoryDisk(), ManualClock(1_789_900_000_000_000_000)
    for number, files in enumerate(PAST):
        little.save(disk, files, clock=clock, full=number < len(PAST) - 1)
        clock.advance(10_000)
    return disk.crash("kill")


class Canned:
    """Seals batches whose bytes were built once. Staging belongs to one actor alone, so it is filled in one step."""

    def __init__(self) -> None:
        self._built: dict[tuple[tuple[str, bytes], ...], tuple[dict[str, bytes], int, int]] = {}

    def write(self, writer: Writer, files: Mapping[str, bytes], **_: object) -> Layer:
        key = tuple(sorted(files.items()))
        if key not in self._built:
            self._built[key] = self._build(files)
        data, rows, count = self._built[key]
        assert isinstance(writer.fs, ActorDisk)
        staging, disk = writer.staging, writer.fs.inner
        staging._fs = disk
        folder = staging.begin()
        for name, content in data.items():
            disk.create_bytes(f"{folder}/{name}", content)
        batch = staging.seal(rows, count)
        staging._fs = writer.fs
        return Layer((), (batch,))

    def _build(self, files: Mapping[str, bytes]) -> tuple[dict[str, bytes], int, int]:
        disk = MemoryDisk()
        with open_writer(disk, "store", RunKind.SYNC, clock=ManualClock(), processes=FewProcesses()) as writer:
            (batch,) = _write_batch(writer, files).batches
            folder = batch_folder(writer.run, batch.number)
            return (
                {name: disk.read(f"{folder}/{name}", 1 << 20) for name in disk.list_folder(folder)},
                batch.rows,
                batch.files,
            )


_write_batch = little.write_batch


class CannedMerges:
    """Merges the same parts once. Where it builds belongs to one actor alone, so it is filled in one step."""

    def __init__(self) -> None:
        self._merged: dict[object, tuple[Merged, dict[str, bytes]]] = {}

    def merge(self, fs: Fs, folder: str, parts: Sequence[Part]) -> Merged:
        key = tuple((part.ref.sha256, part.hidden) for part in parts)
        if key not in self._merged:
            disk = MemoryDisk()
            disk.make_folder("x")
            done = merge(disk, "x", parts)
            self._merged[key] = done, {name: disk.read(f"x/{name}", 1 << 20) for name in disk.list_folder("x")}
        done, files = self._merged[key]
        assert isinstance(fs, ActorDisk)
        for name, data in files.items():
            fs.inner.create_bytes(f"{folder}/{name}", data)
        return done


class Kept(Segment):
    """A segment that many runs share."""

    def close(self) -> None:
        """Others still read it."""


class Opened:
    """Segments and digest files by their bytes: the calls to the disk are made each time, the reading is done once."""

    def __init__(self) -> None:
        self._segments: dict[tuple[bytes, bytes], Kept] = {}
        self._digests: dict[bytes, Remembered] = {}

    def segment(self, fs: Fs, folder: str) -> Segment:
        found = []
        for name in (DATA_FILE, ROWS_FILE):
            with fs.open_map(f"{folder}/{name}") as opened:
                assert isinstance(opened._owner, bytes)
                found.append(opened._owner)
        key = found[0], found[1]
        if key not in self._segments:
            disk = MemoryDisk()
            disk.make_folder("x")
            disk.create_bytes(f"x/{DATA_FILE}", key[0])
            disk.create_bytes(f"x/{ROWS_FILE}", key[1])
            kept = Kept.open(disk, "x")
            for name in ("find", "file", "keys", "records"):
                setattr(kept, name, lru_cache(getattr(kept, name)))
            assert isinstance(kept, Kept)
            self._segments[key] = kept
        return self._segments[key]

    def digests(self, fs: Fs) -> Remembered:
        try:
            data = fs.read(DIGESTS, 1 << 20)
        except FileNotFoundError:
            return Remembered()
        if data not in self._digests:
            disk = MemoryDisk()
            disk.create_bytes(DIGESTS, data)
            self._digests[data] = load_digests(disk)
        return Remembered(self._digests[data])

    def close(self) -> None:
        for segment in self._segments.values():
            Segment.close(segment)


def _letters(size: int) -> bytes:
    """In place of lots: different for each actor, the same in each run."""
    actor = getcurrent()
    return (actor.name if isinstance(actor, Actor) else "x").encode() * size


def fenced(plant: Callable[[Fs, int], int], fs: Fs, after: int) -> int:
    """Plant the fence and write down that it is there."""
    number = plant(fs, after)
    if isinstance(fs, ActorDisk):
        fs.world.events.append(Event(fs.name, Call("fenced", str(number))))
    return number


def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave out what costs time and touches no disk, and draw no lots: equal runs then write equal bytes."""
    opened = Opened()
    monkeypatch.setattr(publishing, "segment_problems", lambda _: ())
    monkeypatch.setattr(little, "write_batch", Canned().write)
    for module in (snapshot, installing):
        monkeypatch.setattr(module, "Segment", SimpleNamespace(open=opened.segment))
    for module in (snapshot, writing):
        monkeypatch.setattr(module, "load_digests", opened.digests)
    monkeypatch.setattr(merging, "merge", CannedMerges().merge)
    Faults(monkeypatch).limit(collecting, RETAIN_SNAPSHOTS_MIN=RETAINED)
    for module, names in _PURE.items():
        for name in names:
            monkeypatch.setattr(module, name, lru_cache(4_096)(getattr(module, name)))
    monkeypatch.setattr(secrets, "token_bytes", _letters)
    monkeypatch.setattr(leasing, "os", SimpleNamespace(urandom=_letters))
    monkeypatch.setattr(writing, "plant_fence", partial(fenced, plant_fence))
    yield
    opened.close()


def first_writer(prepared: Prepared) -> Body:
    def body(fs: ActorDisk) -> Manifest | None:
        with prepared.writer_on(fs) as writer:
            return publish(writer, prepared.draft, lambda: True, fs.world.clock)

    return body


def whole_run(files: Mapping[str, bytes], pid: int, alive: frozenset[int]) -> Body:
    """A run from its start. Whoever is not `alive` is robbed at once, though it may only sleep; others are watched."""

    def body(fs: ActorDisk) -> Manifest | None:
        clock, who = fs.world.clock, FewProcesses(pid, set(alive))
        with open_writer(
            fs, "store", RunKind.SYNC, clock=clock, processes=who, wait_seconds=10 * TERM, lease_ttl_ms=TERM_MS
        ) as writer:
            return publish(writer, little.draft(writer, files, clock), lambda: True, clock)

    return body


def reader(opens: int) -> Body:
    def body(fs: ActorDisk) -> list[tuple[int, dict[str, bytes]]]:
        seen = []
        for _ in range(opens):
            view = open_view(fs, "store")
            assert view is not None
            with view:
                seen.append((view.manifest.generation, contents(view)))
        return seen

    return body


def compactor(pid: int, alive: frozenset[int], monkeypatch: pytest.MonkeyPatch) -> Body:
    """Merges all that can be merged, as `cairn compact` does."""
    known = partial(open_writer, processes=FewProcesses(pid, set(alive)), lease_ttl_ms=TERM_MS)
    monkeypatch.setattr(compacting, "open_writer", known)

    def body(fs: ActorDisk) -> CompactReport:
        wait, clock = 10 * TERM, fs.world.clock
        return compact_store(fs, "store", lambda _: None, everything=True, wait_seconds=wait, clock=clock)

    return body


def collector(pid: int, alive: frozenset[int]) -> Body:
    """Takes away what is too old."""

    def body(fs: ActorDisk) -> Collected:
        clock, who = fs.world.clock, FewProcesses(pid, set(alive))
        with open_writer(
            fs, "store", RunKind.GC, clock=clock, processes=who, wait_seconds=10 * TERM, lease_ttl_ms=TERM_MS
        ) as writer:
            return collect(writer, clock)

    return body
