"""What a run does for the store when it is over: merge segments and collect what nobody needs, when it is due.

The run itself is published by then. Nothing here can take that back, and no trouble with it is the user's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock, wall_seconds
from cairn.core.limits import RETAIN_SNAPSHOTS_MIN, RETAIN_SNAPSHOTS_MIN_AGE_SECONDS
from cairn.core.progress import Phase, Progress, Tell
from cairn.errors import CairnError, ConfigError, EngineError, NotIndexed, StoreUnreadable
from cairn.store.format.layout import GENERATIONS, STAGING, generation_number, is_created, is_snapshot_id
from cairn.store.format.manifest import Manifest
from cairn.store.fs import Fs
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import NO_LOCKS, SnapshotView, has_locks, open_view
from cairn.store.tend.compact import build, fits, is_overdue, loads_of, plan, publish_merged, workshop
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.memory import load_memory, save_memory
from cairn.sync.remote.copy import NOT_LOOKED_AFTER, Attach, attached, attachment
from cairn.sync.status import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.tend.collect import Collected
    from cairn.sync.report import RunOptions


# --- Merge the segments of an index: when enough of them have come together, or because somebody asks.


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
    # What opens a snapshot is loaded by a run, never by `--help`.
    from cairn.store.tend.collect import Collected  # noqa: PLC0415
    from cairn.sync.status import open_store  # noqa: PLC0415

    began = clock.monotonic()
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    with open_store(place) as disk:
        if disk is None:
            raise NotIndexed(path=codebase.root.path, why="there is nothing to collect")
        tell(Progress(Phase.COLLECTING))
        if not has_locks(disk):
            # Neither a lease nor the lock of the readers can be had.
            done = Collected(note=NO_LOCKS)
        elif dry_run:
            done = _foresee(disk, disk.path, clock)
        else:
            attach = attachment(codebase, place, tell, clock=clock)
            done = collect_store(disk, disk.path, clock=clock, wait_seconds=options.wait_seconds, attach=attach)
    return CollectReport(
        dry_run=dry_run,
        snapshots=done.snapshots,
        segments=done.segments,
        staging=done.staging,
        freed_bytes=done.freed_bytes,
        kept=done.kept,
        note=done.note,
        seconds=clock.monotonic() - began,
        warnings=done.warnings,
    )


def is_due(fs: Fs, clock: Clock) -> bool:
    """Whether a collection would free several snapshots at once. Costs one look at a folder and one manifest."""
    numbers = sorted(filter(None, map(generation_number, fs.list_folder(GENERATIONS))))
    if len(numbers) <= 2 * RETAIN_SNAPSHOTS_MIN:
        return False
    # The oldest that would go is out of date since the one after it was published.
    following = read_generation(fs, numbers[RETAIN_SNAPSHOTS_MIN])
    if following is None or following.completion is None:
        return True
    published = wall_seconds(following.completion.completed_at)
    return clock.wall_ns() / 1e9 - published > RETAIN_SNAPSHOTS_MIN_AGE_SECONDS


def collect_store(
    fs: Fs, place: str, *, clock: Clock, wait_seconds: float = 0.0, attach: Attach | None = None
) -> Collected:
    """One whole run: take the lease, collect, let go. What a server that cannot be asked keeps goes the next time."""
    from cairn.store.publish.writer import open_writer  # noqa: PLC0415
    from cairn.store.tend.collect import collect  # noqa: PLC0415

    with open_writer(fs, place, RunKind.GC, clock=clock, wait_seconds=wait_seconds) as writer:
        done = collect(writer, clock)
        try:
            with attached(attach, writer) as away:
                if away is not None and done.note is None:
                    away.sweep()
        except (ConfigError, EngineError, StoreUnreadable) as trouble:
            left = NOT_LOOKED_AFTER.format(store=os.path.basename(place), code=trouble.code)
            return done._replace(warnings=(left,))
        return done


def _foresee(fs: Fs, place: str, clock: Clock) -> Collected:
    from cairn.store.read.snapshot import open_view  # noqa: PLC0415
    from cairn.store.tend.collect import foresee  # noqa: PLC0415

    view = open_view(fs, place)
    if view is None:
        return foresee(fs, None, clock)
    with view:
        return foresee(fs, view.manifest, clock)


def look_after(
    fs: Fs, place: str, newest: Manifest, tell: Tell, *, eager: bool, clock: Clock, attach: Attach | None = None
) -> str:
    """Leave the store small. Unless `eager`, only when it can wait no longer. The snapshot that holds the files now."""
    snapshot = newest.snapshot_id
    if not eager and not is_overdue(newest):
        return snapshot
    # A full disk, another writer, a store that somebody damages: the next run finds the same to do. And who presses
    # Ctrl-C now stops this, not the run, which has been published.
    with contextlib.suppress(CairnError, OSError, KeyboardInterrupt):
        report = compact_store(fs, place, tell, clock=clock, attach=attach)
        if report.before.snapshot_id == snapshot:
            snapshot = report.after.snapshot_id
        if is_due(fs, clock):
            tell(Progress(Phase.COLLECTING))
            collect_store(fs, place, clock=clock, attach=attach)
    return snapshot
