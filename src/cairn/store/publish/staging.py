"""Stage work that is not published yet: sealed batches, which outlive the run that made them, and drafts.

A batch is one segment in the making. Once a batch is sealed (its files are safe and hashed, and a small document beside
it says so), a kill loses nothing of it: the next run adopts the batch, if its bytes are unchanged.
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
    """A sealed batch of a run: everything about the segment it will become but its name."""

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
        """Make an empty folder for the next batch and return its path."""
        folder = self._place()
        self._fs.make_folder(folder)
        return folder

    def seal(self, rows: int, files: int, *, adoptable: bool = True) -> Batch:
        """Seal the batch begun last: its files are safe and read-only from here on.

        A batch that is not adoptable is of no use to another run: the rows of a merged segment are in the base as well.
        """
        sealed = seal_files(self._fs, batch_folder(self.run, self._next), self.remembered)
        return self._added(sealed, rows, files, adoptable=adoptable)

    def take(self, folder: str, sealed: Sealed, rows: int, files: int) -> Batch:
        """Add a merged segment that was built and sealed elsewhere in the store; it is not adoptable."""
        self._fs.move(folder, self._place())
        return self._added(sealed, rows, files, adoptable=False)

    def drop(self) -> None:
        """Remove the batch begun last."""
        remove_tree(self._fs, batch_folder(self.run, self._next))

    def adopt(self, run: str) -> list[Batch]:
        """Take over the batches that an earlier, unpublished run had sealed, and remove the rest of that run."""
        with despite_a_sleeper():
            withdraw(self._fs, run)
        adopted = []
        for number, sealed, rows, files in _whole(self._fs, run, self.remembered):
            # A power cut can leave one batch both with the run that adopted it and with the run that made it: adopt it
            # once.
            if sealed.sha256 in self._adopted:
                continue
            place = self._place()
            with despite_a_sleeper():
                # A power cut can bring back a folder as it was when it was sealed, before it was withdrawn.
                self._fs.unseal(batch_folder(run, number))
                self._fs.move(batch_folder(run, number), place)
                adopted.append(self._added(sealed, rows, files))
                self._adopted.add(sealed.sha256)
        # A sleeper may wake and write there at this moment; what it leaves belongs to nobody.
        with contextlib.suppress(OSError):
            remove_tree(self._fs, staging_folder(run))
        return adopted

    def install(self, batch: Batch) -> str:
        """Move a batch to the published segments and seal its folder; safe once `segments/` is synced."""
        name = segment_name(self.run, batch.number)
        folder = segment_folder(name)
        with contextlib.suppress(FileNotFoundError):
            # The batch was moved already when a publish is tried again because the tree had changed.
            self._fs.move(batch_folder(self.run, batch.number), folder)
        self._fs.seal(folder)
        self._fs.sync_folder(folder)
        return name

    def end(self) -> None:
        """Remove everything that the run has staged."""
        remove_tree(self._fs, staging_folder(self.run))

    def _place(self) -> str:
        with contextlib.suppress(FileExistsError):
            self._fs.make_folder(staging_folder(self.run))
        return batch_folder(self.run, self._next)

    def _added(self, sealed: Sealed, rows: int, files: int, *, adoptable: bool = True) -> Batch:
        batch = Batch(self._next, rows, files, sealed.size_bytes, sealed.sha256)
        if adoptable:
            fields = {"rows": rows, "files": files, "size_bytes": batch.size_bytes, "sha256": batch.sha256}
            # The seal is not synced: if a power cut loses it, the work is done again.
            self._fs.create_bytes(batch_seal(self.run, self._next), seal(STAGED_BATCH, _DIGEST, fields))
        self._next += 1
        return batch


class BatchWriter:
    """A writer that puts files into batches, one segment at a time. `batches` are the sealed ones."""

    def __init__(self, fs: Fs, staging: Staging, dimension: int, chunker_version: str) -> None:
        self._fs = fs
        self._staging = staging
        self._made_of = (dimension, chunker_version)
        self._builder: SegmentBuilder | None = None
        self._records = 0
        self.batches: list[Batch] = []

    @property
    def pending(self) -> int:
        """The number of files added since the last sealed batch."""
        return self._records

    @property
    def payload(self) -> int:
        """The bytes of text in the segment in the making."""
        return 0 if self._builder is None else self._builder.payload

    def add(self, facts: FileFacts, vectors: VectorRows) -> None:
        """Add a file with all its facts, and the vector of each of its chunks."""
        self._current().add(facts, vectors)
        self._records += 1

    def add_skip(self, record: StoredFile) -> None:
        """Add the record of a file that was read and left out."""
        self._current().add_skip(record)
        self._records += 1

    def seal(self) -> None:
        """Seal what was added since the last batch as a new batch; does nothing when nothing was added."""
        builder, self._builder = self._builder, None
        if builder is None or not self._records:
            return
        self._records = 0
        builder.write(self._fs, self._staging.begin())
        self.batches.append(self._staging.seal(builder.rows, builder.files))

    def _current(self) -> SegmentBuilder:
        if self._builder is None:
            # Imported here, because building a segment loads numpy.
            from cairn.store.format.build import SegmentBuilder  # noqa: PLC0415

            self._builder = SegmentBuilder(*self._made_of)
        return self._builder


def staged_records(fs: Fs, run: str, batch: Batch) -> list[StoredFile]:
    """Return the records of the files in a batch."""
    with Segment.open(fs, batch_folder(run, batch.number)) as segment:
        return segment.records()


def withdraw(fs: Fs, run: str) -> None:
    """Undo what an unpublished run has put in its final place: remove its manifest, move its segments back."""
    assert not is_published(fs, run), "a published snapshot is never withdrawn"
    remove_tree(fs, snapshot_folder(run))
    for number in _installed(fs, run):
        folder = segment_folder(segment_name(run, number))
        try:
            _move_back(fs, folder, batch_folder(run, number))
        except (FileNotFoundError, FileExistsError):
            # The staging is gone, or only half of the move reached the disk and both names lead to a copy.
            remove_tree(fs, folder)
    remove_temps(fs, run)


def _move_back(fs: Fs, folder: str, place: str) -> None:
    fs.unseal(folder)
    try:
        fs.move(folder, place)
    except PermissionError:
        # A sleeper, the writer that lost the lease, woke up and sealed the folder in between, which it does only once.
        fs.unseal(folder)
        fs.move(folder, place)


def remove_temps(fs: Fs, run: str) -> None:
    """Remove the temporary files that a run did not swap in."""
    for name in fs.list_folder(""):
        if is_temp(name) and f".{run}." in name:
            remove_file(fs, name)


def _installed(fs: Fs, run: str) -> list[int]:
    prefix = f"seg_{run}_"
    names = (name for name in fs.list_folder(SEGMENTS) if name.startswith(prefix) and is_segment_name(name))
    return [int(name.removeprefix(prefix)) for name in names]


def _whole(fs: Fs, run: str, remembered: Remembered) -> Iterator[tuple[int, Sealed, int, int]]:
    """Yield the batches of a run that are sealed and unchanged, in order."""
    for batch in sealed_batches(fs, run):
        # Missing: the batch itself was not safe yet when the power went.
        with contextlib.suppress(FileNotFoundError):
            folder = batch_folder(run, batch.number)
            sealed = digest_files(fs, folder, fs.list_folder(folder), remembered)
            if (sealed.size_bytes, sealed.sha256) == (batch.size_bytes, batch.sha256):
                yield batch.number, sealed, batch.rows, batch.files


def sealed_batches(fs: Fs, run: str) -> Iterator[Batch]:
    """Yield what the seals of a run's batches say, in order, without a look at the batches themselves."""
    try:
        names = fs.list_folder(staging_folder(run))
    except FileNotFoundError:
        return
    for number in sorted(int(match[1]) for name in names if (match := _SEAL_NAME.fullmatch(name))):
        # Unreadable: the seal was not safe yet when the power went.
        with contextlib.suppress(FileNotFoundError, StoreUnreadable):
            data = read_whole(fs, batch_seal(run, number), MAX_STATE_BYTES, STAGED_BATCH.name)
            fields = unseal(STAGED_BATCH, _DIGEST, data, MAX_STATE_BYTES)
            sha256 = fields.text("sha256", is_sha256)
            rows, files, size = (fields.number(name) for name in ("rows", "files", "size_bytes"))
            yield Batch(number, rows, files, size, sha256)


# --- drafts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a draft: the tombstones hide files of all earlier segments, then the batches come on top."""

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
        """Return a layer that hides the files with these keys, each for its reason, and puts the batches on top."""
        hidden = (
            (TombstoneReason.REPLACE, replaced),
            (TombstoneReason.DELETE, deleted),
            (TombstoneReason.RENAME_FROM, renamed),
        )
        return cls(tuple(Tombstone(key, reason) for reason, keys in hidden for key in keys), tuple(batches))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Segments of the base and the merged batch that replaces them; None when nothing in them was live."""

    replaced: tuple[str, ...]
    batch: Batch | None


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a new snapshot will say.

    `on_base` keeps the segments of the base, but for rewritten ones; without it the snapshot consists of the layers
    only. `expected` names every file that was read, with the hash of its bytes, or None when the file must be gone;
    `files` is the number of files in the tree. `errors` are files that could not be indexed: key, code, message. A
    draft that is not `complete` clears the index.
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
