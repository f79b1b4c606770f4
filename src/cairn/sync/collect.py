"""Collecting the old snapshots of a codebase's index, so that it stays small without anybody's care."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cairn.core.clock import SYSTEM_CLOCK, Clock, wall_seconds
from cairn.core.limits import RETAIN_SNAPSHOTS_MIN, RETAIN_SNAPSHOTS_MIN_AGE_SECONDS
from cairn.errors import ConfigError, EngineError, NotIndexed, StoreUnreadable
from cairn.store.fs import Fs
from cairn.store.generations import read_generation
from cairn.store.layout import GENERATIONS, generation_number
from cairn.store.lease import RunKind
from cairn.store.readers import NO_LOCKS, has_locks
from cairn.sync.attach import NOT_LOOKED_AFTER, Attach, attached, attachment
from cairn.sync.codebase import Codebase
from cairn.sync.place import place_of
from cairn.sync.report import Phase, Progress, Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.collect import Collected
    from cairn.sync.run import RunOptions


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
    from cairn.store.collect import Collected  # noqa: PLC0415
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
    from cairn.store.collect import collect  # noqa: PLC0415
    from cairn.store.writer import open_writer  # noqa: PLC0415

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
    from cairn.store.collect import foresee  # noqa: PLC0415
    from cairn.store.snapshot import open_view  # noqa: PLC0415

    view = open_view(fs, place)
    if view is None:
        return foresee(fs, None, clock)
    with view:
        return foresee(fs, view.manifest, clock)
