"""Work that is not published yet: sealed batches, which outlive the run that made them.

A batch is one segment in the making. Once it is sealed (its files safe and hashed, and a small document beside it says
so), a kill loses nothing of it: the next run takes it over, if its bytes are still those.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cairn.core.fingerprint import IndexFingerprint
from cairn.core.limits import MAX_STATE_BYTES
from cairn.core.types import FileFacts, StoredFile
from cairn.errors import StoreUnreadable
from cairn.store.format.document import STAGED_BATCH, is_sha256, seal, unseal
from cairn.store.format.layout import (
    SEGMENTS,
    batch_folder,
    batch_seal,
    is_segment_name,
    is_temp,
    segment_folder,
    segment_name,
    snapshot_folder,
    staging_folder,
)
from cairn.store.format.manifest import GitState
from cairn.store.format.seal import Remembered, Sealed, digest_files, seal_files
from cairn.store.format.segment import Segment
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.fs import Fs, despite_a_sleeper, read_whole, remove_file, remove_tree
from cairn.store.publish.generations import is_published

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.format.build import SegmentBuilder, VectorRows

_DIGEST = "batch_sha256"
_SEAL_NAME = re.compile(r"(0|[1-9][0-9]{0,5})\.json")


@dataclass(frozen=True, slots=True)
class Batch:
    """A sealed batch of a run: the segment that it will be, but for its name."""

    number: int
    rows: int
    files: int
    size_bytes: int
    sha256: str


class Staging:
    """The batches of one run, numbered from 0."""

    def __init__(self, fs: Fs, run: str, remembered: Remembered) -> None:
        self._fs = fs
        self.run = run
        self.remembered = remembered
        self._next = 0
        self._adopted: set[str] = set()

    def begin(self) -> str:
        """A new, empty folder for the next batch."""
        folder = self._place()
        self._fs.make_folder(folder)
        return folder

    def seal(self, rows: int, files: int, *, adoptable: bool = True) -> Batch:
        """The batch begun last is complete: its files are safe and read-only from here on.

        What is not adoptable is of no use to another run: rows that were merged stand in the base as well.
        """
        sealed = seal_files(self._fs, batch_folder(self.run, self._next), self.remembered)
        return self._added(sealed, rows, files, adoptable=adoptable)

    def take(self, folder: str, sealed: Sealed, rows: int, files: int) -> Batch:
        """Take in a merged segment that was built and sealed elsewhere in the store; not adoptable."""
        self._fs.move(folder, self._place())
        return self._added(sealed, rows, files, adoptable=False)

    def drop(self) -> None:
        """The batch begun last is not wanted."""
        remove_tree(self._fs, batch_folder(self.run, self._next))

    def adopt(self, run: str) -> list[Batch]:
        """Take over what an earlier, unpublished run had sealed, and clear away the rest of it."""
        with despite_a_sleeper():
            withdraw(self._fs, run)
        adopted = []
        for number, sealed, rows, files in _whole(self._fs, run, self.remembered):
            # A cut can leave a batch with the run that took it over and with the one that made it: once is enough.
            if sealed.sha256 in self._adopted:
                continue
            place = self._place()
            with despite_a_sleeper():
                # A power cut can bring a folder back that was sealed before it was withdrawn.
                self._fs.unseal(batch_folder(run, number))
                self._fs.move(batch_folder(run, number), place)
                adopted.append(self._added(sealed, rows, files))
                self._adopted.add(sealed.sha256)
        # A sleeper may wake and write there at this moment; what it leaves is nobody's.
        with contextlib.suppress(OSError):
            remove_tree(self._fs, staging_folder(run))
        return adopted

    def install(self, batch: Batch) -> str:
        """Move a batch to where published segments lie, and seal its folder; safe once `segments/` is synced."""
        name = segment_name(self.run, batch.number)
        folder = segment_folder(name)
        with contextlib.suppress(FileNotFoundError):
            # Gone already when a publish is tried again because the tree had moved on.
            self._fs.move(batch_folder(self.run, batch.number), folder)
        self._fs.seal(folder)
        self._fs.sync_folder(folder)
        return name

    def end(self) -> None:
        """Nothing of the run is needed any more."""
        remove_tree(self._fs, staging_folder(self.run))

    def _place(self) -> str:
        with contextlib.suppress(FileExistsError):
            self._fs.make_folder(staging_folder(self.run))
        return batch_folder(self.run, self._next)

    def _added(self, sealed: Sealed, rows: int, files: int, *, adoptable: bool = True) -> Batch:
        batch = Batch(self._next, rows, files, sealed.size_bytes, sealed.sha256)
        if adoptable:
            fields = {"rows": rows, "files": files, "size_bytes": batch.size_bytes, "sha256": batch.sha256}
            # Not synced: after a power cut it may be missing, and the work is done again.
            self._fs.create_bytes(batch_seal(self.run, self._next), seal(STAGED_BATCH, _DIGEST, fields))
        self._next += 1
        return batch


class BatchWriter:
    """What a run puts into batches, one segment at a time. `batches` are those that are sealed."""

    def __init__(self, fs: Fs, staging: Staging, dimension: int, chunker_version: str) -> None:
        self._fs = fs
        self._staging = staging
        self._made_of = (dimension, chunker_version)
        self._builder: SegmentBuilder | None = None
        self._records = 0
        self.batches: list[Batch] = []

    @property
    def pending(self) -> int:
        """How many files were put in since the last batch."""
        return self._records

    @property
    def payload(self) -> int:
        """How many bytes of text the segment in the making holds."""
        return 0 if self._builder is None else self._builder.payload

    def add(self, facts: FileFacts, vectors: VectorRows) -> None:
        """Put in a file with everything about it, and the vector of each of its chunks."""
        self._current().add(facts, vectors)
        self._records += 1

    def add_skip(self, record: StoredFile) -> None:
        """Put in a file that was read and left out."""
        self._current().add_skip(record)
        self._records += 1

    def seal(self) -> None:
        """Make a sealed batch of what was put in since the last one; nothing when that is nothing."""
        builder, self._builder = self._builder, None
        if builder is None or not self._records:
            return
        self._records = 0
        builder.write(self._fs, self._staging.begin())
        self.batches.append(self._staging.seal(builder.rows, builder.files))

    def _current(self) -> SegmentBuilder:
        if self._builder is None:
            # Here and not above: to build a segment takes numpy.
            from cairn.store.format.build import SegmentBuilder  # noqa: PLC0415

            self._builder = SegmentBuilder(*self._made_of)
        return self._builder


def staged_records(fs: Fs, run: str, batch: Batch) -> list[StoredFile]:
    """What a batch knows of its files."""
    with Segment.open(fs, batch_folder(run, batch.number)) as segment:
        return segment.records()


def withdraw(fs: Fs, run: str) -> None:
    """Undo what an unpublished run has put where published things lie: its manifest goes, its segments go back."""
    assert not is_published(fs, run), "a published snapshot is never withdrawn"
    remove_tree(fs, snapshot_folder(run))
    for number in _installed(fs, run):
        folder = segment_folder(segment_name(run, number))
        try:
            _move_back(fs, folder, batch_folder(run, number))
        except (FileNotFoundError, FileExistsError):
            # Its staging is gone, or the move had reached the disk by halves and both names lead to a copy.
            remove_tree(fs, folder)
    remove_temps(fs, run)


def _move_back(fs: Fs, folder: str, place: str) -> None:
    fs.unseal(folder)
    try:
        fs.move(folder, place)
    except PermissionError:
        # The writer that was robbed woke up and sealed it in between, as it does once.
        fs.unseal(folder)
        fs.move(folder, place)


def remove_temps(fs: Fs, run: str) -> None:
    """Clear away the small files that a run wrote and did not come to swap in."""
    for name in fs.list_folder(""):
        if is_temp(name) and f".{run}." in name:
            remove_file(fs, name)


def _installed(fs: Fs, run: str) -> list[int]:
    prefix = f"seg_{run}_"
    names = (name for name in fs.list_folder(SEGMENTS) if name.startswith(prefix) and is_segment_name(name))
    return [int(name.removeprefix(prefix)) for name in names]


def _whole(fs: Fs, run: str, remembered: Remembered) -> Iterator[tuple[int, Sealed, int, int]]:
    """The batches of a run that are sealed and still what they were, in order."""
    try:
        names = fs.list_folder(staging_folder(run))
    except FileNotFoundError:
        return
    for number in sorted(int(match[1]) for name in names if (match := _SEAL_NAME.fullmatch(name))):
        # Unreadable: the seal was not safe yet when the power went. Missing: so was the batch itself.
        with contextlib.suppress(FileNotFoundError, StoreUnreadable):
            data = read_whole(fs, batch_seal(run, number), MAX_STATE_BYTES, STAGED_BATCH.name)
            fields = unseal(STAGED_BATCH, _DIGEST, data, MAX_STATE_BYTES)
            folder = batch_folder(run, number)
            sealed = digest_files(fs, folder, fs.list_folder(folder), remembered)
            if (sealed.size_bytes, sealed.sha256) == (fields.number("size_bytes"), fields.text("sha256", is_sha256)):
                yield number, sealed, fields.number("rows"), fields.number("files")


# --- What a run wants the next snapshot to be: the segments before, what replaces some of them, what comes on
# top.


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a draft: these tombstones hide what lies below, then these batches come on top."""

    tombstones: tuple[Tombstone, ...] = ()
    batches: tuple[Batch, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        replaced: Iterable[str] = (),
        deleted: Iterable[str] = (),
        renamed: Iterable[str] = (),
        batches: Iterable[Batch] = (),
    ) -> Layer:
        """A layer that hides the files with these keys, each for its reason, and puts the batches on top."""
        hidden = (
            (TombstoneReason.REPLACE, replaced),
            (TombstoneReason.DELETE, deleted),
            (TombstoneReason.RENAME_FROM, renamed),
        )
        return cls(tuple(Tombstone(key, reason) for reason, keys in hidden for key in keys), tuple(batches))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """These segments of the base give way to one that holds what was live in them; None when nothing was."""

    replaced: tuple[str, ...]
    batch: Batch | None


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a new snapshot will say.

    `on_base` keeps the segments of the snapshot before, but for those that are rewritten; without it only the layers
    count. `expected` names every file that was looked at, with the hash of its bytes, or None when it must be gone;
    `files` is how many the tree holds. `errors` are files that could not be indexed: key, code, message. A draft that
    is not `complete` clears the index.
    """

    root: str
    store_id: str
    fingerprint: IndexFingerprint
    ignore_fingerprint: str
    git: GitState
    read_at: str
    on_base: bool
    layers: tuple[Layer, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    expected: Mapping[str, str | None] = field(default_factory=dict)
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    errors: tuple[tuple[str, str, str], ...] = ()
    complete: bool = True
