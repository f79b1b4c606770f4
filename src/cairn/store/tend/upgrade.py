"""Which format versions a snapshot is made of, and which of its segments are to be written anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cairn.core.limits import MAX_MANIFEST_BYTES
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA, Artifact
from cairn.store.format.layout import generation_path
from cairn.store.format.manifest import manifest_version
from cairn.store.fs import Fs, read_whole
from cairn.store.read.snapshot import SnapshotView, parts_of


class Format(NamedTuple):
    """An artifact of a snapshot and the version it has; `segment` is None for the manifest and what it says itself."""

    artifact: Artifact
    version: int
    segment: str | None = None

    @property
    def is_older(self) -> bool:
        """Whether this package would write it otherwise."""
        return self.version < self.artifact.written


def formats_of(fs: Fs, view: SnapshotView) -> tuple[Format, ...]:
    """The version of everything that a snapshot is made of."""
    manifest = view.manifest
    data = read_whole(fs, generation_path(manifest.generation), MAX_MANIFEST_BYTES, MANIFEST.name)
    found = [Format(MANIFEST, manifest_version(data)), Format(CHUNK_ROWS, manifest.chunk_row_schema_version)]
    for ref, segment, _ in parts_of(view):
        found.append(Format(CHUNK_ROWS, segment.rows_version, ref.name))
        found.append(Format(SEGMENT_DATA, segment.data_version, ref.name))
    return tuple(found)


def older_segments(formats: Iterable[Format]) -> list[str]:
    """The segments with something older in them; all of them when the manifest is older.

    Tombstone files have no version of their own and follow the manifest: once every segment is written anew without
    what they hide, none of them is left.
    """
    formats = tuple(formats)
    everything = any(each.is_older for each in formats if each.segment is None)
    return list(dict.fromkeys(each.segment for each in formats if each.segment and (everything or each.is_older)))
