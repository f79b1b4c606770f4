"""Bring a store that an older version of Cairn wrote to the format of this version, in the same store.

Rows are copied; nothing is read from the tree and nothing is parsed or embedded again. Older snapshots stay as they are
until they are collected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.progress import Tell
from cairn.errors import NotIndexed, RequiresReindex
from cairn.store import Fs, Store
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.remote.copy import keep_copy
from cairn.sync.report import RunOptions
from cairn.sync.status import open_store, stand


@dataclass(frozen=True, slots=True)
class Raised:
    """An artifact that had an older version, and the version it has now."""

    artifact: str
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What an upgrade did; with nothing `raised`, everything had the newest version already."""

    snapshot_id: str
    generation: int
    raised: tuple[Raised, ...]
    segments: int
    files: int
    chunks: int
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def published(self) -> bool:
        """Whether there is a new snapshot."""
        return bool(self.raised)


def upgrade(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> UpgradeReport:
    """Upgrade the store of this codebase; raises `RequiresReindex` when its rows cannot be rewritten."""
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    with open_store(place) as disk:
        if disk is not None:
            report = upgrade_store(disk, place.path, tell, wait_seconds=options.wait_seconds, clock=clock)
            copied = keep_copy(codebase, place, disk, tell, embedder=options.embedder, clock=clock)
            return replace(report, warnings=copied)
        if differs := stand(place).differs:
            raise RequiresReindex(path=codebase.root.path, differs=", ".join(differs))
        raise NotIndexed(path=codebase.root.path, why="there is nothing to upgrade")


def upgrade_store(
    fs: Fs,
    place: str,
    tell: Tell,
    *,
    wait_seconds: float = 0.0,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
) -> UpgradeReport:
    """Upgrade a store that exists; when the upgrade is refused, the last good snapshot stays as it was."""
    began = clock.monotonic()
    upkeep = Store(fs, place).upkeep
    done = upkeep.upgrade(tell, wait_seconds=wait_seconds, clock=clock, processes=processes)
    manifest = done.manifest
    return UpgradeReport(
        snapshot_id=manifest.snapshot_id,
        generation=manifest.generation,
        raised=tuple(Raised(*one) for one in done.raised),
        segments=done.segments,
        files=manifest.counts.files_indexed,
        chunks=manifest.counts.chunks_live,
        seconds=clock.monotonic() - began,
    )
