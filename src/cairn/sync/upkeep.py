"""What a run does for the store when it is over: merge segments and collect what nobody needs, when it is due.

The run itself is published by then. Nothing here can take that back, and no trouble with it is the user's.
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
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.memory import load_memory, save_memory
from cairn.sync.remote.copy import NOT_LOOKED_AFTER, Attach, attachment
from cairn.sync.status import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.report import RunOptions


# --- Merge the segments of an index: when enough of them have come together, or because somebody asks.


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
    """Merge what is due. FileNotFoundError when nothing was published, `StoreBusy` when another run writes too long."""
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
    """What was remembered of the tree is true of the merged snapshot as well: else the next sync would walk it anew."""
    memory = load_memory(fs)
    if memory is not None and memory.snapshot_id == before.snapshot_id:
        save_memory(fs, after.snapshot_id, replace(memory, snapshot_id=after.snapshot_id))


# --- Collecting the old snapshots of a codebase's index, so that it stays small without anybody's care.


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
    """Take away what no reader can need any more. `NotIndexed` without an index, `StoreBusy` while another run writes.

    A dry run takes no lease and changes nothing; it does not look at staged work.
    """
    from cairn.sync.status import open_store  # noqa: PLC0415

    began = clock.monotonic()
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    with open_store(place) as disk:
        if disk is None:
            raise NotIndexed(path=codebase.root.path, why="there is nothing to collect")
        tell(Progress(Phase.COLLECTING))
        store = Store(disk, disk.path)
        if (without_locks := store.without_locks) is not None:
            # Neither a lease nor the lock of the readers can be had.
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
    """Leave the store small. Unless `eager`, only when it can wait no longer. The snapshot that holds the files now."""
    snapshot = newest.snapshot_id
    upkeep = Store(fs, place).upkeep
    if not eager and not upkeep.is_overdue(newest):
        return snapshot
    # A full disk, another writer, a store that somebody damages: the next run finds the same to do. And who presses
    # Ctrl-C now stops this, not the run, which has been published.
    with contextlib.suppress(CairnError, OSError, KeyboardInterrupt):
        report = compact_store(fs, place, tell, clock=clock, attach=attach)
        if report.before.snapshot_id == snapshot:
            snapshot = report.after.snapshot_id
        if upkeep.is_due(clock):
            tell(Progress(Phase.COLLECTING))
            upkeep.collect(clock=clock, attach=attach)
    return snapshot
