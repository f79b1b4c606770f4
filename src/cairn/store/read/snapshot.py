"""Open a `SnapshotView`, the one way to read rows: a complete, verified snapshot with its tombstones applied.

A view opens every file of its snapshot before it answers, so nothing that happens to the store later can change what
the view says. A row that a tombstone hides cannot be reached through a view.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from cairn.core.limits import MAX_TOMBSTONE_BYTES
from cairn.core.types import Import, Reference, StoredFile, Symbol
from cairn.errors import NoValidSnapshot, StoreCorrupt
from cairn.store.format.layout import GARBAGE, READERS_LOCK, made_at, segment_folder
from cairn.store.format.manifest import Manifest, SegmentRef, TombstoneRef
from cairn.store.format.rows import ChunkRow
from cairn.store.format.seal import Remembered, load_digests, require
from cairn.store.format.segment import Segment
from cairn.store.format.segment_facts import SegmentFacts
from cairn.store.format.tombstones import Tombstone, decode_tombstones
from cairn.store.fs import Fs, read_whole
from cairn.store.publish.generations import published, read_claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.format.build import Embedded

# --- the lock between readers that open a snapshot and the collector that removes old ones ----------------------------


NO_LOCKS = "The disk of this index has no locks, so readers are not protected and nothing can be collected."
IN_USE = "Somebody is opening the index at this moment, so nothing was collected; try again."

_READER_SECONDS = 5.0
_COLLECTOR_SECONDS = 1.0
_UNAVAILABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextlib.contextmanager
def reading(fs: Fs) -> Iterator[None]:
    """Keep collectors from beginning while a snapshot is opened."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fs.lock(READERS_LOCK, exclusive=False, timeout=_READER_SECONDS))
        except (FileNotFoundError, TimeoutError):
            # The lock is missing: the store was never begun or was removed, and no collector goes on without the lock
            # either. Or it is held too long: a collector was stopped while it held the lock, and it never removes the
            # newest snapshot.
            pass
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
        yield


@contextlib.contextmanager
def collecting(fs: Fs) -> Iterator[str | None]:
    """Keep readers from opening anything; gives None, or a sentence that says why readers cannot be kept out."""
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
    """Return whether the disk of a store supports locks."""
    try:
        with fs.lock(READERS_LOCK, exclusive=False, timeout=0):
            return True
    except OSError as error:
        # Any other error says nothing about the support of locks.
        return error.errno not in _UNAVAILABLE


# The name of the segment that is in memory only; names of sealed ones begin with the id of a snapshot.
_WORKING_TREE = "working-tree"


class Part(NamedTuple):
    """A segment of a view, and the numbers of its files that later tombstones hide."""

    ref: SegmentRef
    segment: Segment
    hidden: frozenset[int]


class LiveCounts(NamedTuple):
    """The counts of live files with facts, live files that were read and left out, and live chunk rows."""

    files: int
    skip_records: int
    chunks: int


class SnapshotView(AbstractContextManager["SnapshotView"]):
    """A snapshot that stays as it is until `close`. `damage` says why newer snapshots could not be used.

    `working` is empty in a view of what was published. In one that files of the working tree are laid over, it holds
    the hash of each of these files by its path.
    """

    def __init__(self, manifest: Manifest, parts: tuple[Part, ...], open_files: ExitStack) -> None:
        self.manifest = manifest
        self.damage: tuple[StoreCorrupt, ...] = ()
        self.working: Mapping[str, str] = {}
        self._parts = parts
        self._open_files = open_files

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        self._open_files.close()

    @property
    def stands_in(self) -> bool:
        """Whether this answers for a newer snapshot; no pointer is needed to find the newest one."""
        return any(one.fields["why"] != GARBAGE for one in self.damage)

    def overlaid(self, files: Iterable[Embedded], gone: Iterable[str], dimension: int, chunker: str) -> SnapshotView:
        """Return this snapshot with files of the working tree in place of its own, and without those that are `gone`.

        Nothing is written. The new view reads the segments of this one, which must stay open for as long.
        """
        from cairn.store.format.build import SegmentBuilder  # noqa: PLC0415 - needs numpy, and most readers do not

        builder = SegmentBuilder(dimension, chunker)
        working = {}
        for facts, vectors in files:
            builder.add(facts, vectors)
            working[facts.source.key] = facts.source.file_hash
        segment = builder.in_memory()
        buried = dict.fromkeys((*working, *gone), 1)
        below = [part._replace(hidden=part.hidden | _hidden(part.segment, 0, buried)) for part in self._parts]
        ref = SegmentRef(_WORKING_TREE, len(self._parts), segment.rows, segment.files, 0, "")
        view = SnapshotView(self.manifest, (*below, Part(ref, segment, frozenset())), ExitStack())
        view._open_files.callback(segment.close)
        view.damage, view.working = self.damage, working
        return view

    def records(self) -> dict[str, StoredFile]:
        """Return every live file by its path, files that were read and left out included."""
        return {
            record.key: record
            for part in self._parts
            for file_id, record in enumerate(part.segment.records())
            if file_id not in part.hidden
        }

    def paths(self) -> Iterator[str]:
        """Yield the path of every live file, files that were read and left out included."""
        for part in self._parts:
            for file_id, key in enumerate(part.segment.keys()):
                if file_id not in part.hidden:
                    yield key

    def indexed_at(self) -> dict[str, datetime]:
        """Return every live file with text, and since when the snapshot is known to hold what the file held, in UTC.

        That is when the run began that wrote its rows. A run that only merged them has read no file: what it wrote
        is as old as the last comparison of all files.
        """
        compared = datetime.fromisoformat(self.manifest.created_at)
        return {
            record.key: compared if part.ref.name == _WORKING_TREE else min(compared, made_at(part.ref.name))
            for part in self._parts
            for file_id, record in enumerate(part.segment.records())
            if file_id not in part.hidden and record.skip is None
        }

    def file(self, path_key: str) -> StoredFile | None:
        """Return the record of one file; None when it is not in the snapshot."""
        found = self._find(path_key)
        return found and found[0].file(found[1])

    def text(self, path_key: str) -> memoryview | None:
        """Return the bytes of a file as they were indexed; None when it is not in the snapshot."""
        found = self._find(path_key)
        return found and found[0].text(found[1])

    def chunks(self, path_key: str) -> list[ChunkRow]:
        """Return the chunk rows of a file, in order."""
        found = self._find(path_key)
        return found[0].chunks(found[1]) if found else []

    def symbols(self, path_key: str) -> list[Symbol]:
        found = self._find(path_key)
        return SegmentFacts(found[0]).symbols(found[1]) if found else []

    def references(self, path_key: str, kind: str | None = None) -> list[Reference]:
        """Return the uses of names in a file, all of them or those of one kind, in order of their place."""
        found = self._find(path_key)
        return SegmentFacts(found[0]).references(found[1], kind) if found else []

    def imports(self, path_key: str) -> list[Import]:
        found = self._find(path_key)
        return SegmentFacts(found[0]).imports(found[1]) if found else []

    def symbols_named(self, name: str) -> Iterator[tuple[str, Symbol]]:
        """Yield every live definition with exactly this name, and the path of its file."""
        for part in self._parts:
            for file_id, symbol in SegmentFacts(part.segment).symbols_named(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id), symbol

    def files_defining(self, name: str) -> Iterator[str]:
        """Yield the path of every live file that defines exactly this name, each once."""
        for part in self._parts:
            for file_id in SegmentFacts(part.segment).files_defining(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id)

    def references_named(self, name: str) -> Iterator[tuple[str, Reference]]:
        """Yield every live use of exactly this name, and the path of its file."""
        for part in self._parts:
            for file_id, reference in SegmentFacts(part.segment).references_named(name):
                if file_id not in part.hidden:
                    yield part.segment.key(file_id), reference

    def counts(self) -> LiveCounts:
        """Count what is live."""
        return live_counts(self._parts)

    def _find(self, path_key: str) -> tuple[Segment, int] | None:
        found = find_live(self._parts, path_key)
        return found[0] if found else None


def open_view(
    fs: Fs,
    place: str,
    *,
    remembered: Remembered | None = None,
    snapshot: str | None = None,
    held: SnapshotView | None = None,
) -> SnapshotView | None:
    """Open the newest whole snapshot, or the named one; None when no such snapshot was ever published here.

    `held` is a view that the caller has open: where it is of this very snapshot, it is returned itself, once its
    files have been verified again.

    A file that cannot be read raises the `OSError` of the disk, which says nothing about its bytes. A snapshot whose
    bytes are wrong is passed over for an older one; `NoValidSnapshot` when none is left. `place` names the store to
    people.
    """
    damage: list[StoreCorrupt] = []
    # The lock is held only while the view is opened: afterwards the files can lose their names, and the view still
    # reads them.
    with reading(fs):
        known = load_digests(fs) if remembered is None else remembered
        for manifest in published(fs, read_claims(fs), damage):
            if snapshot is not None and manifest.snapshot_id != snapshot:
                continue
            with ExitStack() as files:
                try:
                    tombstones = read_tombstones(fs, manifest.tombstones)
                    if held is not None and manifest == held.manifest:
                        _require_all(fs, manifest, known)
                        held.damage = tuple(damage)
                        return held
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


def _require_all(fs: Fs, manifest: Manifest, remembered: Remembered) -> None:
    """Raise `StoreCorrupt` unless all segments of a snapshot are as they were sealed."""
    for ref in manifest.segments:
        require(fs, segment_folder(ref.name), ref.size_bytes, ref.sha256, remembered)


# --- the parts of a view; for the rest of the store only --------------------------------------------------------------


def parts_of(view: SnapshotView) -> tuple[Part, ...]:
    """Return the segments of a view, in order of their sequence."""
    return view._parts


Buried = Mapping[str, int]


def read_tombstones(fs: Fs, refs: Iterable[TombstoneRef]) -> Buried:
    """Return the highest sequence of a tombstone for every path; it hides the path in segments of a lower one."""
    buried: dict[str, int] = {}
    for ref in refs:
        # The refs are in order of their sequence, so the later tombstone wins.
        buried.update((tombstone.path_key, ref.sequence) for tombstone in read_tombstone_file(fs, ref))
    return buried


def read_tombstone_file(fs: Fs, ref: TombstoneRef) -> tuple[Tombstone, ...]:
    """Return the tombstones in one file; `StoreCorrupt` when its bytes are not those that the manifest names."""
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
    """Verify and open these segments; closing `files` closes them. `StoreCorrupt` when one is not whole.

    Segments that the view `base` holds open are not opened twice.
    """
    held = {part.ref: part.segment for part in base._parts} if base is not None else {}
    parts = []
    for ref in refs:
        # Verify a segment that is held open too: it may have been removed meanwhile, and a new manifest must not name
        # it then.
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
    """Return where a file is live: at most one place in a sound snapshot."""
    return [
        (part.segment, file_id)
        for part in parts
        if (file_id := part.segment.find(path_key)) is not None and file_id not in part.hidden
    ]


def live_counts(parts: Iterable[Part]) -> LiveCounts:
    """Count what no tombstone hides."""
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
    """Return whether every artifact of a snapshot is as it was sealed; remembered digests are used."""
    remembered = load_digests(fs)
    try:
        read_tombstones(fs, manifest.tombstones)
        for ref in manifest.segments:
            require(fs, segment_folder(ref.name), ref.size_bytes, ref.sha256, remembered)
    except StoreCorrupt:
        return False
    return True
