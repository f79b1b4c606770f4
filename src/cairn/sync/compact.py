"""Merge the segments of an index: when enough of them have come together, or because somebody asks.

What is answered does not change by it, so nobody is kept waiting, and nothing is lost when it does not come about.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.errors import NotIndexed
from cairn.store.compact import build, fits, publish_merged, workshop
from cairn.store.fs import Fs
from cairn.store.ids import is_snapshot_id
from cairn.store.layout import STAGING, is_created
from cairn.store.lease import RunKind
from cairn.store.manifest import Manifest
from cairn.store.snapshot import SnapshotView, open_view
from cairn.store.tiers import is_overdue, loads_of, plan
from cairn.store.writer import open_writer
from cairn.sync.attach import Attach, attached, attachment
from cairn.sync.codebase import Codebase
from cairn.sync.memory import load_memory, save_memory
from cairn.sync.place import place_of
from cairn.sync.report import Phase, Progress, Tell
from cairn.sync.status import open_store

# When another run replaces the very same segments meanwhile, it is begun anew, once.
_ATTEMPTS = 2
_BUSY = "Another process is merging segments."
_STOPPED = "Another run has prepared work and not published it yet; `cairn sync` comes first."
_MOVED = "Other runs were replacing the same segments."


@dataclass(frozen=True, slots=True)
class Shape:
    """How a snapshot lies on the disk."""

    snapshot_id: str
    segments: int
    tombstones: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CompactReport:
    """The snapshot before and after: the same one when there was nothing to merge, or when `note` says why not."""

    before: Shape
    after: Shape
    note: str | None = None

    @property
    def published(self) -> bool:
        return self.before.snapshot_id != self.after.snapshot_id


def compact(
    codebase: Codebase, home: str, tell: Tell, *, wait_seconds: float = 10.0, clock: Clock = SYSTEM_CLOCK
) -> CompactReport:
    """Merge everything that can become fewer or smaller. `NotIndexed` when there is no index."""
    place = place_of(codebase, home)
    with open_store(place) as disk:
        if disk is not None and is_created(disk):
            with contextlib.suppress(FileNotFoundError):
                attach = attachment(codebase, place, tell, clock=clock)
                return compact_store(
                    disk, place.path, tell, everything=True, wait_seconds=wait_seconds, clock=clock, attach=attach
                )
        raise NotIndexed(path=codebase.root.path, why="there is no index of it")


def compact_store(
    fs: Fs,
    place: str,
    tell: Tell,
    *,
    everything: bool = False,
    wait_seconds: float = 0.0,
    clock: Clock = SYSTEM_CLOCK,
    attach: Attach | None = None,
) -> CompactReport:
    """Merge what is due. FileNotFoundError when nothing was published, `StoreBusy` when another run writes too long."""
    with _opened(fs, place) as view:
        shape = _shape(view.manifest)
        if not _groups(view, everything=everything):
            return CompactReport(shape, shape)
    if any(map(is_snapshot_id, fs.list_folder(STAGING))):
        # Who publishes clears the staging away. A rare case: it waits for the next time.
        return CompactReport(shape, shape, _STOPPED)
    try:
        with workshop(fs) as folder:
            for attempt in range(_ATTEMPTS):
                fs.make_folder(bench := f"{folder}/{attempt}")
                done = _attempt(
                    fs, place, bench, tell, attach, everything=everything, wait_seconds=wait_seconds, clock=clock
                )
                if done is not None:
                    return done
    except TimeoutError:
        return CompactReport(shape, shape, _BUSY)
    return CompactReport(shape, shape, _MOVED)


def _attempt(
    fs: Fs,
    place: str,
    folder: str,
    tell: Tell,
    attach: Attach | None,
    *,
    everything: bool,
    wait_seconds: float,
    clock: Clock,
) -> CompactReport | None:
    """Merge and publish; None when what was merged is not there any more."""
    with _opened(fs, place) as view:
        groups = _groups(view, everything=everything)
        built = build(fs, view, groups, folder, _told(tell, len(groups)))
    tell(Progress(Phase.PUBLISHING))
    with open_writer(fs, place, RunKind.COMPACT, clock=clock, wait_seconds=wait_seconds) as writer:
        base = writer.base
        if base is None or not fits(built, base):
            return None
        with attached(attach, writer):
            merged = publish_merged(writer, built, clock)
        _keep_memory(fs, base, merged)
        return CompactReport(_shape(base), _shape(merged))


def _opened(fs: Fs, place: str) -> SnapshotView:
    view = open_view(fs, place)
    if view is None:
        raise FileNotFoundError
    return view


def _groups(view: SnapshotView, *, everything: bool) -> list[tuple[str, ...]]:
    return plan(loads_of(view), everything=everything or is_overdue(view.manifest))


def _told(tell: Tell, total: int) -> Callable[[int], None]:
    return lambda done: tell(Progress(Phase.COMPACTING, done, total))


def _shape(manifest: Manifest) -> Shape:
    segments, tombstones = manifest.segments, manifest.tombstones
    size = sum(ref.size_bytes for ref in segments) + sum(ref.size_bytes for ref in tombstones)
    return Shape(manifest.snapshot_id, len(segments), sum(ref.count for ref in tombstones), size)


def _keep_memory(fs: Fs, before: Manifest, after: Manifest) -> None:
    """What was remembered of the tree is true of the merged snapshot as well: else the next sync would walk it anew."""
    memory = load_memory(fs)
    if memory is not None and memory.snapshot_id == before.snapshot_id:
        save_memory(fs, after.snapshot_id, replace(memory, snapshot_id=after.snapshot_id))
