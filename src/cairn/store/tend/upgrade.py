"""Upgrade a store: find out which format versions a snapshot is made of, and rewrite the older segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cairn.core.clock import Clock, Processes
from cairn.core.limits import MAX_MANIFEST_BYTES
from cairn.core.progress import Phase, Progress, Tell
from cairn.errors import Incompatible, NotIndexed, NotUpgraded, RequiresReindex, StoreBusy
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA, Artifact
from cairn.store.format.layout import generation_path
from cairn.store.format.manifest import Manifest, manifest_version
from cairn.store.fs import Fs, read_whole
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read.snapshot import SnapshotView, parts_of
from cairn.store.repair.verify import check
from cairn.store.tend.compact import build, publish_merged, workshop


class Format(NamedTuple):
    """An artifact of a snapshot and its version; `segment` is None for the manifest and the row schema it names."""

    artifact: Artifact
    version: int
    segment: str | None = None

    @property
    def is_older(self) -> bool:
        """Whether this package would write a later version."""
        return self.version < self.artifact.written


def formats_of(fs: Fs, view: SnapshotView) -> tuple[Format, ...]:
    """Return the version of everything that a snapshot is made of."""
    manifest = view.manifest
    data = read_whole(fs, generation_path(manifest.generation), MAX_MANIFEST_BYTES, MANIFEST.name)
    found = [Format(MANIFEST, manifest_version(data)), Format(CHUNK_ROWS, manifest.chunk_row_schema_version)]
    for ref, segment, _ in parts_of(view):
        found.append(Format(CHUNK_ROWS, segment.rows_version, ref.name))
        found.append(Format(SEGMENT_DATA, segment.data_version, ref.name))
    return tuple(found)


def older_segments(formats: Iterable[Format]) -> list[str]:
    """Return the segments with an older part; all of them when the manifest is older.

    Tombstone files have no version of their own and follow the manifest: once every segment is rewritten without what
    they hide, none of them is left.
    """
    formats = tuple(formats)
    everything = any(each.is_older for each in formats if each.segment is None)
    return list(dict.fromkeys(each.segment for each in formats if each.segment and (everything or each.is_older)))


class Upgraded(NamedTuple):
    """The outcome of an upgrade: the newest manifest, the older artifacts, and how many segments were rewritten.

    Each artifact comes with its name, its oldest version and the version it has now.
    """

    manifest: Manifest
    raised: tuple[tuple[str, int, int], ...]
    segments: int


def upgrade_store(
    fs: Fs, place: str, tell: Tell, *, wait_seconds: float, clock: Clock, processes: Processes
) -> Upgraded:
    """Upgrade an existing store. When that is refused, the last good snapshot stays as it was."""
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
    return Upgraded(manifest, raised, len(segments))


def _require_sound(fs: Fs) -> None:
    """Read everything again first: a damaged artifact must not get a new digest that says it is whole."""
    for finding in check(fs):
        if finding.is_error:
            raise NotUpgraded(place=finding.place, why=finding.message.removesuffix("."))


def _require_rewritable(place: str, problem: Incompatible) -> None:
    """Raise `RequiresReindex` for an older format whose reader is gone; a later format is left alone."""
    artifact, version, oldest = (problem.fields[name] for name in ("artifact", "version", "oldest"))
    assert isinstance(version, int)
    assert isinstance(oldest, int)
    if version < oldest:
        raise RequiresReindex(path=place, differs=f"{artifact} {version}") from problem


def _raised(formats: Iterable[Format]) -> Iterator[tuple[str, int, int]]:
    """Yield each older artifact once, with its oldest version and the written one."""
    older: dict[str, Format] = {}
    for each in formats:
        known = older.get(each.artifact.name, each)
        if each.is_older:
            older[each.artifact.name] = min(known, each, key=lambda one: one.version)
    for name, each in older.items():
        yield name, each.version, each.artifact.written


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
