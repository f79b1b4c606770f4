"""`upgrade-store`: bring what an older version of Cairn has written to the format of this one, in the same store.

Rows are copied, nothing is read from the tree and nothing is parsed or embedded again. Older snapshots stay as they
are until they are collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.progress import Phase, Progress, Tell
from cairn.errors import Incompatible, NotIndexed, NotUpgraded, RequiresReindex, StoreBusy
from cairn.store.format.manifest import Manifest
from cairn.store.fs import Fs
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.repair.verify import Severity, check
from cairn.store.tend.compact import build, publish_merged, workshop
from cairn.store.tend.upgrade import Format, formats_of, older_segments
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.remote.copy import keep_copy
from cairn.sync.report import RunOptions
from cairn.sync.status import open_store, stand


@dataclass(frozen=True, slots=True)
class Raised:
    """An artifact that had an older version, and the one it has now."""

    artifact: str
    before: int
    now: int


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What an upgrade did; with nothing `raised`, everything was of the written version already."""

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
    """Upgrade the store of this codebase. `RequiresReindex` when what is there cannot be rewritten."""
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
    """Upgrade a store that is there. What cannot be done is refused, and the last good snapshot stays as it was."""
    began = clock.monotonic()
    try:
        with open_writer(
            fs, place, RunKind.UPGRADE, clock=clock, processes=processes, wait_seconds=wait_seconds
        ) as writer:
            if writer.view is None:
                raise NotIndexed(path=place, why="there is nothing to upgrade")
            tell(Progress(Phase.COMPARING))
            _require_sound(fs)
            formats = formats_of(fs, writer.view)
            raised = tuple(_raised(formats))
            segments = older_segments(formats)
            manifest = _rewrite(writer, segments, tell, clock) if raised else writer.view.manifest
    except Incompatible as problem:
        _require_rewritable(place, problem)
        raise
    return UpgradeReport(
        snapshot_id=manifest.snapshot_id,
        generation=manifest.generation,
        raised=raised,
        segments=len(segments),
        files=manifest.counts.files_indexed,
        chunks=manifest.counts.chunks_live,
        seconds=clock.monotonic() - began,
    )


def _require_sound(fs: Fs) -> None:
    """Everything is read again first: what is damaged must not get a new digest that says it is whole."""
    for finding in check(fs):
        if finding.severity is Severity.ERROR:
            raise NotUpgraded(place=finding.place, why=finding.message.removesuffix("."))


def _require_rewritable(place: str, problem: Incompatible) -> None:
    """An older format whose reader is gone can only be made again from the files; a later one is left alone."""
    artifact, version, oldest = (problem.fields[name] for name in ("artifact", "version", "oldest"))
    assert isinstance(version, int)
    assert isinstance(oldest, int)
    if version < oldest:
        raise RequiresReindex(path=place, differs=f"{artifact} {version}") from problem


def _raised(formats: Iterable[Format]) -> Iterator[Raised]:
    """Each artifact that is older once, with its oldest version."""
    older: dict[str, Format] = {}
    for each in formats:
        known = older.get(each.artifact.name, each)
        if each.is_older:
            older[each.artifact.name] = min(known, each, key=lambda one: one.version)
    for name, each in older.items():
        yield Raised(name, each.version, each.artifact.written)


def _rewrite(writer: Writer, segments: list[str], tell: Tell, clock: Clock) -> Manifest:
    """Publish the same rows in segments of the written version."""
    assert writer.view is not None

    def beat(done: int) -> None:
        writer.lease.check()
        tell(Progress(Phase.COMPACTING, done, len(segments)))

    try:
        with workshop(writer.fs) as folder:
            built = build(writer.fs, writer.view, [(name,) for name in segments], folder, beat)
            tell(Progress(Phase.PUBLISHING))
            return publish_merged(writer, built, clock)
    except TimeoutError:
        raise StoreBusy(kind=RunKind.COMPACT.value, pid="unknown") from None
