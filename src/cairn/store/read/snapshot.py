"""The one way to read rows: a `SnapshotView`, which is a complete, verified snapshot with its tombstones applied.

A view holds every file of its snapshot open before it answers, so nothing that happens to the store later can change
what it says. A row that a tombstone hides cannot be reached through it.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from hashlib import sha256
from typing import NamedTuple

from cairn.core.limits import MAX_TOMBSTONE_BYTES
from cairn.core.types import Import, Reference, StoredFile, Symbol
from cairn.errors import NoValidSnapshot, StoreCorrupt
from cairn.store.format.layout import READERS_LOCK, segment_folder
from cairn.store.format.manifest import Manifest, SegmentRef, TombstoneRef
from cairn.store.format.rows import ChunkRow
from cairn.store.format.seal import Remembered, load_digests, require
from cairn.store.format.segment import Segment
from cairn.store.format.tombstones import Tombstone, decode_tombstones
from cairn.store.fs import Fs, read_whole
from cairn.store.publish.generations import published, read_claims

# --- The lock between those who open a snapshot and the one who takes old snapshots away.


NO_LOCKS = "The disk of this index has no locks, so readers are not protected and nothing can be collected."
IN_USE = "Somebody is opening the index at this moment, so nothing was collected; try again."

_READER_SECONDS = 5.0
_COLLECTOR_SECONDS = 1.0
_UNAVAILABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextlib.contextmanager
def reading(fs: Fs) -> Iterator[None]:
    """No collector begins meanwhile."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fs.lock(READERS_LOCK, exclusive=False, timeout=_READER_SECONDS))
        except (FileNotFoundError, TimeoutError):
            # Missing: the store was never begun, or it was removed, and no collector goes on without it either. Held
            # for so long: a collector was stopped with the lock in its hand, and what is newest is not what it takes.
            pass
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
        yield


@contextlib.contextmanager
def collecting(fs: Fs) -> Iterator[str | None]:
    """No reader opens anything meanwhile; or a sentence that says why that cannot be had."""
    with contextlib.ExitStack() as stack:
        refused = None
        try:
            stack.enter_context(fs.lock(READERS_LOCK, exclusive=True, timeout=_COLLECTOR_SECONDS))
        except TimeoutError:
            refused = IN_USE
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
            refused = NO_LOCKS
        yield refused


def has_locks(fs: Fs) -> bool:
    """Whether the disk of a store knows locks at all."""
    try:
        with fs.lock(READERS_LOCK, exclusive=False, timeout=0):
            return True
    except OSError as error:
        # Any other trouble with it, or with the store, says nothing about that.
        return error.errno not in _UNAVAILABLE


class Part(NamedTuple):
    """A segment of a view, and the files in it that later tombstones hide."""

    ref: SegmentRef
    segment: Segment
    hidden: frozenset[int]


class LiveCounts(NamedTuple):
    """What can be reached through the parts: files with facts, files that were read and left out, chunk rows."""

    files: int
    skip_records: int
    chunks: int


class SnapshotView(AbstractContextManager["SnapshotView"]):
    """A snapshot that stays as it is until `close`. `damage` says why newer ones could not be used, if that was so."""

    def __init__(self, manifest: Manifest, parts: tuple[Part, ...], open_files: ExitStack) -> None:
        self.manifest = manifest
        self.damage: tuple[StoreCorrupt, ...] = ()
        self._parts = parts
        self._open_files = open_files

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files; a second call does nothing."""
        self._open_files.close()

    def records(self) -> dict[str, StoredFile]:
        """Every live file by its path, those that were read and left out included."""
        return {
            record.key: record
            for part in self._parts
            for file_id, record in enumerate(part.segment.records())
            if file_id not in part.hidden
        }

    def paths(self) -> Iterator[str]:
        """The path of every live file, those that were read and left out included."""
        for part in self._parts:
            for file_id, key in enumerate(part.segment.keys()):
                if file_id not in part.hidden:
                    yield key

    def file(self, path_key: str) -> StoredFile | None:
        """What the snapshot knows of one file."""
        found = self._find(path_key)
        return found and found[0].file(found[1])

    def text(self, path_key: str) -> memoryview | None:
        """The bytes of a file as they were indexed; None when it is not in the snapshot."""
        found = self._find(path_key)
        return found and found[0].text(found[1])

    def chunks(self, path_key: str) -> list[ChunkRow]:
        """The chunk rows of a file, in order."""
        found = self._find(path_key)
        return found[0].chunks(found[1]) if found else []

    def symbols(self, path_key: str) -> list[Symbol]:
        found = self._find(path_key)
        return found[0].symbols(found[1]) if found else []

    def references(self, path_key: str, kind: str | None = None) -> list[Reference]:
        """The uses of names in a file, all of them or those of one kind, in order of their place."""
        found = self._find(path_key)
        return found[0].references(found[1], kind) if found else []

    def imports(self, path_key: str) -> list[Import]:
        found = self._find(path_key)
        return found[0].imports(found[1]) if found else []

    def symbols_named(self, name: str) -> Iterator[tuple[str, Symbol]]:
        """Every live definition of this very name, with the path of its file."""
        for part in self._parts:
            for file_id, symbol in part.segment.symbols_named(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id), symbol

    def files_defining(self, name: str) -> Iterator[str]:
        """The path of every live file that defines this very name, each once."""
        for part in self._parts:
            for file_id in part.segment.files_defining(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id)

    def references_named(self, name: str) -> Iterator[tuple[str, Reference]]:
        """Every live use of this very name, with the path of its file."""
        for part in self._parts:
            for file_id, reference in part.segment.references_named(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id), reference

    def counts(self) -> LiveCounts:
        """What is live, counted anew."""
        return live_counts(self._parts)

    def _find(self, path_key: str) -> tuple[Segment, int] | None:
        found = find_live(self._parts, path_key)
        return found[0] if found else None


def open_view(
    fs: Fs, place: str, *, remembered: Remembered | None = None, snapshot: str | None = None
) -> SnapshotView | None:
    """The newest snapshot that is whole, or the one that is asked for; None when no such one was ever published here.

    What cannot be read raises the `OSError` of the disk: that says nothing about what is there. What was read and is
    wrong is passed over for an older snapshot; `NoValidSnapshot` when there is none. `place` names the store to people.
    """
    damage: list[StoreCorrupt] = []
    # Only while it is opened: then its files can lose their names, and it still reads them.
    with reading(fs):
        known = load_digests(fs) if remembered is None else remembered
        for manifest in published(fs, read_claims(fs), damage):
            if snapshot is not None and manifest.snapshot_id != snapshot:
                continue
            with ExitStack() as files:
                try:
                    tombstones = read_tombstones(fs, manifest.tombstones)
                    parts = assemble(fs, manifest.segments, tombstones, known, files)
                except StoreCorrupt as found:
                    damage.append(found)
                    continue
                view = SnapshotView(manifest, parts, files.pop_all())
            view.damage = tuple(damage)
            return view
    if damage:
        raise NoValidSnapshot(path=place, why=damage[0].sentence.removesuffix(".")) from damage[0]
    return None


# --- what a view is made of; for the rest of the store only -----------------------------------------------------------


def parts_of(view: SnapshotView) -> tuple[Part, ...]:
    """The segments of a view, in order of their sequence."""
    return view._parts


Buried = Mapping[str, int]


def read_tombstones(fs: Fs, refs: Iterable[TombstoneRef]) -> Buried:
    """For every path that is named by a tombstone, the highest sequence: rows of earlier segments are gone."""
    buried: dict[str, int] = {}
    for ref in refs:
        # In order of their sequence, so a later one wins.
        buried.update((tombstone.path_key, ref.sequence) for tombstone in read_tombstone_file(fs, ref))
    return buried


def read_tombstone_file(fs: Fs, ref: TombstoneRef) -> tuple[Tombstone, ...]:
    """The tombstones in one file; `StoreCorrupt` when it is not the one that the manifest means."""
    try:
        data = read_whole(fs, ref.path, MAX_TOMBSTONE_BYTES, "tombstone file")
    except FileNotFoundError:
        raise StoreCorrupt(artifact="tombstone file", why="it is missing") from None
    if len(data) != ref.size_bytes or sha256(data).hexdigest() != ref.sha256:
        raise StoreCorrupt(artifact="tombstone file", why="its bytes are not the ones that were written")
    tombstones = decode_tombstones(data)
    if len(tombstones) != ref.count:
        raise StoreCorrupt(artifact="tombstone file", why="its count is not the one in the manifest")
    return tombstones


def assemble(
    fs: Fs,
    refs: Iterable[SegmentRef],
    buried: Buried,
    remembered: Remembered,
    files: ExitStack,
    base: SnapshotView | None = None,
) -> tuple[Part, ...]:
    """Verify and open these segments; whoever closes `files` closes them. `StoreCorrupt` when one is not whole.

    Those that the view `base` holds open are not opened twice.
    """
    held = {part.ref: part.segment for part in base._parts} if base is not None else {}
    parts = []
    for ref in refs:
        # Also when it is held open: it may have been taken away meanwhile, and must not be named by a new manifest.
        require(fs, segment_folder(ref.name), ref.size_bytes, ref.sha256, remembered)
        segment = held.get(ref) or files.enter_context(_open_segment(fs, ref))
        parts.append(Part(ref, segment, _hidden(segment, ref.sequence, buried)))
    return tuple(parts)


def _open_segment(fs: Fs, ref: SegmentRef) -> Segment:
    segment = Segment.open(fs, segment_folder(ref.name))
    if (segment.rows, segment.files) != (ref.rows, ref.files):
        segment.close()
        raise StoreCorrupt(artifact=f"segment {ref.name}", why="its counts are not the ones in the manifest")
    return segment


def find_live(parts: Iterable[Part], path_key: str) -> list[tuple[Segment, int]]:
    """Where a file is that no tombstone hides: in one place or in none, in a snapshot that is sound."""
    return [
        (part.segment, file_id)
        for part in parts
        if (file_id := part.segment.find(path_key)) is not None and file_id not in part.hidden
    ]


def live_counts(parts: Iterable[Part]) -> LiveCounts:
    """Count what is not hidden."""
    files = skip_records = chunks = 0
    for ref, segment, hidden in parts:
        gone = [segment.file(file_id) for file_id in hidden]
        gone_skips = sum(record.skip is not None for record in gone)
        files += ref.files - (len(gone) - gone_skips)
        skip_records += segment.recorded - ref.files - gone_skips
        chunks += ref.rows - sum(record.chunks for record in gone)
    return LiveCounts(files, skip_records, chunks)


def _hidden(segment: Segment, sequence: int, buried: Buried) -> frozenset[int]:
    later = [path for path, burial in buried.items() if burial > sequence]
    if not later:
        return frozenset()
    found = map(segment.find, later)
    return frozenset(file_id for file_id in found if file_id is not None)


def is_whole(fs: Fs, manifest: Manifest) -> bool:
    """Whether all that a snapshot reads is what was sealed; what was hashed before is not hashed again."""
    remembered = load_digests(fs)
    try:
        read_tombstones(fs, manifest.tombstones)
        for ref in manifest.segments:
            require(fs, segment_folder(ref.name), ref.size_bytes, ref.sha256, remembered)
    except StoreCorrupt:
        return False
    return True
