"""What is left of a store, read anew: its manifests under both of their names, and whether what they name is whole."""

from __future__ import annotations

import contextlib
import errno
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from cairn.core.limits import MAX_MANIFEST_BYTES, MAX_STATE_BYTES
from cairn.errors import StoreCorrupt
from cairn.store.conform import segment_problems
from cairn.store.files import read_whole
from cairn.store.fs import Fs
from cairn.store.generations import read_generation
from cairn.store.ids import decode_pointer, is_snapshot_id
from cairn.store.layout import (
    GENERATIONS,
    POINTER,
    SNAPSHOTS,
    STAGING,
    generation_number,
    manifest_path,
    segment_folder,
)
from cairn.store.manifest import Manifest, SegmentRef, decode_manifest
from cairn.store.seal import Remembered, require
from cairn.store.segment import Segment
from cairn.store.snapshot import assemble, live_counts, read_tombstones

_NO_FILE = (errno.ELOOP, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class Health:
    """A manifest that can be read, and what is wrong with what it names."""

    manifest: Manifest
    why: str | None
    lost: tuple[SegmentRef, ...] = ()
    salvageable: bool = False


class Content(NamedTuple):
    """A segment: what is wrong with it, and the files in it when nothing is."""

    why: str | None
    keys: tuple[str, ...] = ()


@dataclass(slots=True)
class Look:
    """Everything that was read, each thing once."""

    fs: Fs
    remembered: Remembered
    taken: dict[int, Manifest | str | None] = field(default_factory=dict)
    own: dict[str, Manifest] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    mended: dict[int, Manifest] = field(default_factory=dict)
    segments: dict[SegmentRef, Content] = field(default_factory=dict)

    @property
    def manifests(self) -> list[Manifest]:
        """All that can be read, oldest first."""
        found = {number: each for number, each in self.taken.items() if isinstance(each, Manifest)} | self.mended
        return [found[number] for number in sorted(found)]


def look_at(fs: Fs, remembered: Remembered) -> Look:
    """Read every manifest, and who is waiting to be published."""
    look = Look(fs, remembered)
    for number in sorted(n for name in names_in(fs, GENERATIONS) if (n := generation_number(name)) is not None):
        try:
            look.taken[number] = read_generation(fs, number)
        except StoreCorrupt as problem:
            look.taken[number] = problem.sentence
    for name in filter(is_snapshot_id, names_in(fs, SNAPSHOTS)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, StoreCorrupt):
            manifest = decode_manifest(read_whole(fs, manifest_path(name), MAX_MANIFEST_BYTES, "manifest"))
            if manifest.snapshot_id == name:
                look.own[name] = manifest
    look.staged = frozenset(filter(is_snapshot_id, names_in(fs, STAGING)))
    look.mended = _lost_numbers(look)
    return look


def _lost_numbers(look: Look) -> dict[int, Manifest]:
    """The numbers whose winner is known by its own name only. A run that has not published has its staging still."""
    lowest = min(look.taken, default=0)
    waiting = [manifest for run, manifest in look.own.items() if run not in look.staged]
    claimed = Counter(manifest.generation for manifest in waiting)
    return {
        manifest.generation: manifest
        for manifest in waiting
        if claimed[manifest.generation] == 1
        # Below all others it was collected, and its folder is what a killed collector left.
        and manifest.generation >= lowest
        and isinstance(look.taken.get(manifest.generation, "gone"), str)
    }


def health_of(look: Look, manifest: Manifest, store_id: str, root: str) -> Health:
    """Whether a snapshot can be believed and read, and what of it is lost when not."""
    if (manifest.store_id, manifest.canonical_root) != (store_id, root):
        return Health(manifest, "It belongs to another store.")
    for before, after in pairwise(look.manifests):
        if before is manifest and after.lease_epoch < before.lease_epoch:
            return Health(manifest, "A later snapshot was published under an older lease.")
    twins = [each for each in look.manifests if each.snapshot_id == manifest.snapshot_id]
    if len(twins) > 1 and look.own.get(manifest.snapshot_id) != manifest:
        return Health(manifest, "One snapshot has won two numbers.")
    try:
        buried = read_tombstones(look.fs, manifest.tombstones)
    except StoreCorrupt as problem:
        return Health(manifest, problem.sentence)
    lost = tuple(ref for ref in manifest.segments if content_of(look, ref).why is not None)
    if lost:
        return Health(manifest, content_of(look, lost[0]).why, lost, salvageable=True)
    with ExitStack() as files:
        parts = assemble(look.fs, manifest.segments, buried, look.remembered, files)
        live = live_counts(parts)
        keys = Counter(
            key for part in parts for number, key in enumerate(part.segment.keys()) if number not in part.hidden
        )
    if any(count > 1 for count in keys.values()):
        return Health(manifest, "A file is live in two segments.")
    if (live.files, live.chunks) != (manifest.counts.files_indexed, manifest.counts.chunks_live):
        return Health(manifest, "Its counts are not what can be read through it.", salvageable=True)
    return Health(manifest, None)


def content_of(look: Look, ref: SegmentRef) -> Content:
    """A segment, read once."""
    if ref not in look.segments:
        look.segments[ref] = _read_segment(look, ref)
    return look.segments[ref]


def _read_segment(look: Look, ref: SegmentRef) -> Content:
    folder = segment_folder(ref.name)
    try:
        require(look.fs, folder, ref.size_bytes, ref.sha256, look.remembered)
        with Segment.open(look.fs, folder) as segment:
            if (segment.rows, segment.files) != (ref.rows, ref.files):
                return Content(f"The counts of segment {ref.name} are not the ones in the manifest.")
            return Content(next(segment_problems(segment), None), tuple(segment.keys()))
    except StoreCorrupt as problem:
        return Content(problem.sentence)
    except OSError as problem:
        if problem.errno not in _NO_FILE:
            raise
        return Content(f"A file of segment {ref.name} is no file.")


def pointed_id(fs: Fs) -> str | None:
    """The snapshot that the pointer names, whether or not there is such a one."""
    with contextlib.suppress(FileNotFoundError, StoreCorrupt):
        return decode_pointer(read_whole(fs, POINTER, MAX_STATE_BYTES, "pointer"))
    return None


def names_in(fs: Fs, folder: str) -> list[str]:
    """The names in a folder; none when there is no such folder."""
    try:
        return fs.list_folder(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
