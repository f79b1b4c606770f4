"""Keep a store small: merge segments and collect old snapshots, after a run when it is due, or by command.

The run is published by then. Upkeep cannot undo that, and trouble with it does not fail the run.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from functools import partial

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.progress import Phase, Progress, Tell
from cairn.errors import CairnError, NotIndexed
from cairn.store import Fs, Manifest, Store
from cairn.sync.codebase import Codebase, StorePlace, place_of
from cairn.sync.memory import load_memory, save_memory
from cairn.sync.remote.copy import NOT_LOOKED_AFTER, Attach, attachment
from cairn.sync.room import freeing
from cairn.sync.status import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.report import RunOptions


# --- Compaction: when enough segments have come together, or by command.


@dataclass(frozen=True, slots=True)
class Shape:
    """How a snapshot lies on the disk."""

    snapshot_id: str
    segments: int
    tombstones: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CompactReport:
    """The snapshot before and after; both are equal when there was nothing to merge, or when `note` says why not."""

    before: Shape
    after: Shape
    note: str | None = None

    @property
    def published(self) -> bool:
        return self.before.snapshot_id != self.after.snapshot_id


def compact(
    codebase: Codebase, home: str, tell: Tell, *, wait_seconds: float = 10.0, clock: Clock = SYSTEM_CLOCK
) -> CompactReport:
    """Merge everything that can become fewer or smaller; raises `NotIndexed` when there is no index."""
    place = place_of(codebase, home)
    with open_store(place) as disk:
        if disk is not None and Store(disk).is_created:
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
    """Merge what is due.

    Raises `FileNotFoundError` when nothing was published, and `StoreBusy` when another run writes for too long.
    """
    done = Store(fs, place).upkeep.compact(
        tell,
        partial(_keep_memory, fs),
        everything=everything,
        wait_seconds=wait_seconds,
        clock=clock,
        attach=attach,
    )
    return CompactReport(_shape(done.before), _shape(done.after), done.note)


def _shape(manifest: Manifest) -> Shape:
    segments, tombstones = manifest.segments, manifest.tombstones
    size = sum(ref.size_bytes for ref in segments) + sum(ref.size_bytes for ref in tombstones)
    return Shape(manifest.snapshot_id, len(segments), sum(ref.count for ref in tombstones), size)


def _keep_memory(fs: Fs, before: Manifest, after: Manifest) -> None:
    """Keep the tree memory for the merged snapshot, of which it is as true: else the next sync would walk the tree."""
    memory = load_memory(fs)
    if memory is not None and memory.snapshot_id == before.snapshot_id:
        save_memory(fs, after.snapshot_id, replace(memory, snapshot_id=after.snapshot_id))


# --- The collection of old snapshots, so that an index stays small by itself.


@dataclass(frozen=True, slots=True)
class CollectReport:
    """What went, or with `dry_run` would go: ids of snapshots, segments, staged pieces, bytes. `kept` snapshots stay.

    `note` says why nothing was collected, `warnings` what else could not be done.
    """

    dry_run: bool
    snapshots: tuple[str, ...]
    segments: int
    staging: int
    freed_bytes: int
    kept: int
    note: str | None
    seconds: float
    warnings: tuple[str, ...] = ()


def gc(
    codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK, dry_run: bool = False
) -> CollectReport:
    """Remove what no reader needs; raises `NotIndexed` without an index, `StoreBusy` while another run writes.

    A dry run takes no lease and changes nothing; it does not look at staged work.
    """
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    if dry_run:
        return _gc(codebase, place, options, tell, clock, dry_run=True)
    return freeing(options.home, lambda: _gc(codebase, place, options, tell, clock, dry_run=False), place)


def _gc(
    codebase: Codebase, place: StorePlace, options: RunOptions, tell: Tell, clock: Clock, *, dry_run: bool
) -> CollectReport:
    began = clock.monotonic()
    with open_store(place) as disk:
        if disk is None:
            raise NotIndexed(path=codebase.root.path, why="there is nothing to collect")
        tell(Progress(Phase.COLLECTING))
        store = Store(disk, disk.path)
        if (without_locks := store.without_locks) is not None:
            # Neither the lease nor the readers' lock works on this disk.
            done = store.upkeep.uncollected(without_locks)
        elif dry_run:
            done = store.upkeep.foresee(clock)
        else:
            attach = attachment(codebase, place, tell, clock=clock)
            done = store.upkeep.collect(clock=clock, wait_seconds=options.wait_seconds, attach=attach)
    return CollectReport(
        dry_run=dry_run,
        snapshots=done.snapshots,
        segments=done.segments,
        staging=done.staging,
        freed_bytes=done.freed_bytes,
        kept=done.kept,
        note=done.note,
        seconds=clock.monotonic() - began,
        warnings=() if done.trouble is None else (_not_looked_after(place.path, done.trouble),),
    )


def _not_looked_after(path: str, trouble: CairnError) -> str:
    return NOT_LOOKED_AFTER.format(store=os.path.basename(path), code=trouble.code)


def look_after(
    fs: Fs, place: str, newest: Manifest, tell: Tell, *, eager: bool, clock: Clock, attach: Attach | None = None
) -> str:
    """Compact and collect what is due; return the id of the snapshot that holds the files now.

    Unless `eager`, this is done only when it is overdue.
    """
    snapshot = newest.snapshot_id
    upkeep = Store(fs, place).upkeep
    if not eager and not upkeep.is_overdue(newest):
        return snapshot
    # On a full disk, beside another writer, or in a store that is damaged: the next run finds the same to do. A Ctrl-C
    # during upkeep stops the upkeep, not the run, which has been published.
    with contextlib.suppress(CairnError, OSError, KeyboardInterrupt):
        report = compact_store(fs, place, tell, clock=clock, attach=attach)
        if report.before.snapshot_id == snapshot:
            snapshot = report.after.snapshot_id
        if upkeep.is_due(clock):
            tell(Progress(Phase.COLLECTING))
            upkeep.collect(clock=clock, attach=attach)
    return snapshot
