"""Define the two objects that the door gives out: `Store`, one open store, and `Home`, the folder of all stores.

Both only pass calls on to the room that does the work. A room that is heavy to load, because it needs numpy or a
database, is loaded by the first method that needs it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.fingerprint import IndexFingerprint
from cairn.core.limits import LEASE_TTL_MS, MAX_STATE_BYTES, MAX_TREE_BYTES
from cairn.errors import StoreCorrupt, StoreError, StoreUnreadable
from cairn.store.disk import Disk
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, is_store_id, reading_newer
from cairn.store.format.layout import (
    DIGESTS,
    GENERATIONS,
    INDEX_STATE,
    LEASE_LOCK,
    POINTER,
    QUARANTINE,
    SNAPSHOTS,
    STAGING,
    TREE,
    create_store,
    is_created,
    temp_path,
)
from cairn.store.format.manifest import PROOF, Manifest
from cairn.store.format.side_files import (
    IndexState,
    RunProgress,
    decode_state,
    forget_progress,
    last_used,
    load_progress,
    load_settings,
    save_progress,
    save_settings,
    touch_used,
)
from cairn.store.fs import Fs, Modes, remove_tree, replace_file, store_trouble
from cairn.store.publish import writer
from cairn.store.publish.generations import published, read_claims
from cairn.store.publish.lease import MISSED, RunKind, find_lease, is_alive, silence_of
from cairn.store.read.snapshot import NO_LOCKS, has_locks, is_whole, open_view
from cairn.store.read.staged import Begun, has_sealed, open_staged
from cairn.store.reserve import Reserve
from cairn.store.sharing import make_disk, modes_of, open_disk
from cairn.store.sizes import Measured, Size, parts_of_store, size_of
from cairn.store.tend.collect import (
    Collected,
    alone,
    collect_store,
    finish_removal,
    foresee,
    is_due,
    is_leftover,
    require_no_writer,
    retire,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.core.progress import Tell
    from cairn.store.publish.copies import Copies
    from cairn.store.publish.staging import Draft
    from cairn.store.publish.writer import Attach, Writer
    from cairn.store.read.snapshot import SnapshotView
    from cairn.store.registry import Registry, Tracked
    from cairn.store.repair.salvage import Mending
    from cairn.store.repair.verify import Finding
    from cairn.store.tend.collect import Collected
    from cairn.store.tend.compact import Compacted, Rewriter
    from cairn.store.tend.upgrade import Upgraded


@dataclass(frozen=True, slots=True)
class WriterInfo:
    """The run that holds the lease, and what it told last; `released`: it is over, and has let go of the lease.

    `alive` is false when its process is provably gone, and when a run out of sight has shown no heartbeat for its whole
    term: whoever writes next takes over from it. `silent_seconds` is how long that one is known to have shown none.
    """

    pid: int
    kind: str
    started_at: str
    run_id: str
    alive: bool
    progress: RunProgress | None = None
    released: bool = False
    silent_seconds: float = 0.0
    term_seconds: float = LEASE_TTL_MS / 1_000

    @property
    def seconds_left(self) -> int | None:
        """About how long the run still takes, by how long it took for what is done; None while nothing says so."""
        told = self.progress
        if told is None or not told.done or not told.total:
            return None
        began, now = (datetime.fromisoformat(when).timestamp() for when in (self.started_at, told.updated_at))
        return ceil((now - began) * (told.total - told.done) / told.done) if now > began else None

    @property
    def is_silent(self) -> bool:
        """Whether a heartbeat is overdue."""
        return self.silent_seconds > self.term_seconds / MISSED


class Store:
    """One open store. `path` names the store to people; whoever opened the disk closes it."""

    def __init__(self, fs: Fs, path: str = "") -> None:
        self.fs = fs
        self.path = path

    # --- what is there ------------------------------------------------------------------------------------------------

    @property
    def is_created(self) -> bool:
        """Whether all folders and locks of a store exist here."""
        return is_created(self.fs)

    @property
    def is_begun(self) -> bool:
        """Whether any part of an index is here, even of an index that was half deleted."""
        # The pointer and the index state exist from the first snapshot on, the folders before that.
        names = self.fs.list_folder("")
        return not {POINTER, INDEX_STATE, GENERATIONS, SNAPSHOTS}.isdisjoint(names) or self.is_created

    def create(self) -> None:
        """Make the folders and locks of a store, unless they exist."""
        if not self.is_created:
            create_store(self.fs)

    def newest(self, damage: list[StoreCorrupt] | None = None) -> Manifest | None:
        """Return the newest manifest that can be read, without a look at its artifacts; None when there is none.

        Damaged manifests are added to `damage`. A manifest of a later version raises `Incompatible`: only the version
        that wrote it knows what is in the store.
        """
        return next(self.published(damage), None)

    def published(self, damage: list[StoreCorrupt] | None = None) -> Iterator[Manifest]:
        """Yield the published manifests, newest first; damaged ones are added to `damage`."""
        return published(self.fs, read_claims(self.fs), [] if damage is None else damage)

    def view(self, snapshot: str | None = None, held: SnapshotView | None = None) -> SnapshotView | None:
        """Open the newest whole snapshot, or the named one; None when no such snapshot was published.

        A view that the caller holds is returned itself while it is of that snapshot.

        `NoValidSnapshot` when every snapshot that fits is damaged.
        """
        return open_view(self.fs, self.path, snapshot=snapshot, held=held)

    def is_whole(self, manifest: Manifest) -> bool:
        """Return whether readers get this snapshot; they fall back to an older one when it is damaged."""
        return is_whole(self.fs, manifest)

    def check(self) -> list[Finding]:
        """Read every byte of the store again and return what is not as it should be."""
        from cairn.store.repair.verify import check  # noqa: PLC0415

        return check(self.fs)

    @property
    def without_locks(self) -> str | None:
        """A sentence that says that the disk of this store has no locks; None when it has locks."""
        return None if has_locks(self.fs) else NO_LOCKS

    # --- who writes ---------------------------------------------------------------------------------------------------

    def holder(self, processes: Processes = SYSTEM_PROCESSES, clock: Clock = SYSTEM_CLOCK) -> WriterInfo | None:
        """Return the run that the lease names, at work or not; None when there is no lease that can be read.

        The first look at a holder that is out of sight is remembered, for whoever wants to take over from it.
        """
        try:
            found = find_lease(self.fs)
        except StoreUnreadable:
            # Whoever writes next is told; it says nothing about what can be read.
            return None
        silent = silence_of(self.fs, found, clock, processes)
        lease = found.record
        if lease is None:
            return None
        term = lease.lease_ttl_ms / 1_000
        alive = is_alive(lease, processes) and silent <= term
        run = lease.staging_txn_id
        told = load_progress(self.fs) if alive else None
        said = told if told is not None and told.run_id == run else None
        return WriterInfo(
            lease.process.pid,
            lease.run_kind.value,
            lease.started_at,
            run,
            alive,
            said,
            released=lease.released,
            silent_seconds=silent,
            term_seconds=term,
        )

    def require_no_writer(self, clock: Clock, processes: Processes) -> None:
        """Raise `StoreBusy` when a run may be writing this store."""
        require_no_writer(self.fs, clock, processes)

    def open_writer(
        self,
        kind: RunKind,
        *,
        clock: Clock = SYSTEM_CLOCK,
        processes: Processes = SYSTEM_PROCESSES,
        wait_seconds: float = 0.0,
        rebuild: bool = False,
        mending: Mending | None = None,
    ) -> Writer:
        """Take the lease for a run of this kind; `StoreBusy` when another run holds it beyond `wait_seconds`.

        With `rebuild`, a store without a whole snapshot is no obstacle. A repair passes its `mending`, which decides
        what to build on.
        """
        base = None if mending is None else mending.begin
        return writer.open_writer(
            self.fs,
            self.path,
            kind,
            clock=clock,
            processes=processes,
            wait_seconds=wait_seconds,
            rebuild=rebuild,
            base=base,
        )

    def publish(self, writer: Writer, draft: Draft, is_fresh: Callable[[], bool], clock: Clock) -> Manifest | None:
        """Publish a draft as the newest snapshot; None when the tree changed since the draft was read."""
        from cairn.store.publish.publish import publish  # noqa: PLC0415

        return publish(writer, draft, is_fresh, clock)

    # --- side files, upkeep, copies, repair ---------------------------------------------------------------------------

    @property
    def notes(self) -> Notes:
        """The side files of the store."""
        return Notes(self.fs)

    @property
    def upkeep(self) -> Upkeep:
        """The upkeep of the store: compaction, collection, upgrade."""
        return Upkeep(self.fs, self.path)

    @property
    def copies(self) -> Copies:
        """The exchange with a copy of the store elsewhere."""
        from cairn.store.publish.copies import Copies  # noqa: PLC0415

        return Copies(self.fs, self.path)

    def mending(self, store_id: str, root: str, shown: str, tree_is_sound: Callable[[], bool]) -> Mending:
        """Return a repair of this store, shown to people as `shown`; nothing is read or changed yet.

        `root` is the root that the store indexes. `tree_is_sound` says whether the remembered listing of the tree can
        be read.
        """
        from cairn.store.repair.salvage import Mending  # noqa: PLC0415

        return Mending(self.fs, store_id, root, shown, tree_is_sound)

    @staticmethod
    def trouble(path: str, error: OSError) -> StoreError:
        """Return the error that tells a person why the store at this path could not be used."""
        return store_trouble(path, error)

    @staticmethod
    def copied_manifest(run: str, data: bytes) -> Manifest:
        """Decode the manifest of a run from bytes of a copy; `EngineDamaged` when the bytes are no manifest."""
        from cairn.store.publish.copies import Copies  # noqa: PLC0415

        return Copies.manifest(run, data)

    @staticmethod
    def says_other_kind(problem: BaseException | None) -> bool:
        """Return whether a problem is a completion marker of another kind."""
        return isinstance(problem, StoreCorrupt) and problem.fields["artifact"] == PROOF


class Notes:
    """The side files of a store, and what a run has sealed and not published: all can be thrown away and made again."""

    def __init__(self, fs: Fs) -> None:
        self._fs = fs

    def state(self) -> IndexState | None:
        """Return what `index_state.json` says; None when it is missing or cannot be read."""
        try:
            return decode_state(self._fs.read(INDEX_STATE, MAX_STATE_BYTES))
        except (OSError, StoreUnreadable):
            return None

    def last_sync(self, manifest: Manifest) -> str:
        """Return when the tree was last compared with the index: at the snapshot or at a later sync without changes."""
        try:
            state = decode_state(self._fs.read(INDEX_STATE, MAX_STATE_BYTES))
        except (FileNotFoundError, StoreUnreadable):
            return manifest.created_at
        return state.last_sync_at if state.active_snapshot_id == manifest.snapshot_id else manifest.created_at

    def made_ns(self) -> int | None:
        """Return when the store was made, in nanoseconds; None when that is unknown."""
        return _mtime(self._fs, LEASE_LOCK)

    def last_used(self) -> int | None:
        """Return when the store last gave an answer or took a snapshot, in nanoseconds; None without a note."""
        return last_used(self._fs)

    def used_ns(self) -> int | None:
        """Return when the store was last used; without a note, when its folder last changed."""
        used = self.last_used()
        return _mtime(self._fs, "") if used is None else used

    def touch_used(self, clock: Clock) -> None:
        """Note that the store is in use, at most once an hour; errors are ignored."""
        touch_used(self._fs, clock)

    def tell(
        self, run_id: str, phase: str, done: int, total: int, current_file: str | None, updated_at: str, tree: int = 0
    ) -> None:
        """Save the progress of a run for other processes to see (`RunProgress`); errors of the disk are ignored."""
        save_progress(self._fs, RunProgress(run_id, phase, done, total, current_file, updated_at, tree))

    def sealed(
        self, by: WriterInfo, root: str, store_id: str, fingerprint: IndexFingerprint, held: SnapshotView | None = None
    ) -> SnapshotView | None:
        """Open what a run at work has sealed so far, as a view; None when that is nothing, or it is about to publish.

        A view that the caller has `held` from before is returned itself, or belongs to the new one.
        """
        return open_staged(self._fs, Begun(by.run_id, by.started_at, root, store_id, fingerprint), held)

    def has_sealed(self, by: WriterInfo) -> bool:
        """Whether a run that has not published has sealed anything."""
        return has_sealed(self._fs, by.run_id)

    def forget_progress(self) -> None:
        """Remove the saved progress, because the run is over."""
        forget_progress(self._fs)

    @property
    def was_published(self) -> bool:
        """Whether a snapshot was ever published here, whole or not, with or without files."""
        try:
            self._fs.stat(POINTER)
        except FileNotFoundError:
            return is_created(self._fs) and next(published(self._fs, read_claims(self._fs), []), None) is not None
        return True

    def settings(self) -> bytes:
        """Return the settings file of the repository that the rows follow; empty when there was none, or no note."""
        return load_settings(self._fs)

    def keep_settings(self, data: bytes) -> None:
        """Save the settings file of the repository that the rows follow; errors of the disk are ignored."""
        save_settings(self._fs, data)

    def tree(self) -> bytes:
        """Return the listing of the tree that was saved last."""
        return self._fs.read(TREE, MAX_TREE_BYTES)

    def forget(self) -> bool:
        """Remove the listing of the tree and the remembered digests, which a run makes again; whether any was."""
        was = False
        for name in (TREE, DIGESTS):
            with contextlib.suppress(OSError):
                self._fs.remove(name)
                was = True
        return was

    def keep_tree(self, run: str, data: bytes) -> None:
        """Save a listing of the tree; errors of the disk are ignored."""
        with contextlib.suppress(OSError):
            replace_file(self._fs, TREE, temp_path(TREE, run), data, safe=False)

    def staged(self) -> Iterator[tuple[str, str, int]]:
        """Yield the name, path and time of change (in nanoseconds) of everything in the staging folder."""
        for name in self._fs.list_folder(STAGING) if is_created(self._fs) else ():
            path = f"{STAGING}/{name}"
            with contextlib.suppress(FileNotFoundError):
                yield name, path, self._fs.stat(path).mtime_ns


def _mtime(fs: Fs, path: str) -> int | None:
    try:
        return fs.stat(path).mtime_ns
    except OSError:
        return None


class Upkeep:
    """The work that keeps a store small and in the current format. Each method takes the lease if it needs it."""

    def __init__(self, fs: Fs, path: str) -> None:
        self._fs = fs
        self._path = path

    @staticmethod
    def is_overdue(manifest: Manifest) -> bool:
        """Return whether a snapshot has so many segments or tombstones that reading it is slow."""
        from cairn.store.tend.compact import is_overdue  # noqa: PLC0415

        return is_overdue(manifest)

    def compact(
        self,
        tell: Tell,
        merged: Callable[[Manifest, Manifest], None],
        *,
        everything: bool,
        wait_seconds: float,
        clock: Clock,
        attach: Attach | None,
    ) -> Compacted:
        """Merge the segments that are due, or with `everything` whatever can become fewer or smaller.

        `merged` is called with the manifests before and after while the lease is held. FileNotFoundError when nothing
        was published, `StoreBusy` when another run writes for longer than `wait_seconds`.
        """
        from cairn.store.tend.compact import Compaction  # noqa: PLC0415

        return Compaction(
            self._fs,
            self._path,
            tell,
            merged,
            everything=everything,
            wait_seconds=wait_seconds,
            clock=clock,
            attach=attach,
        ).run()

    @staticmethod
    def rewriter(writer: Writer) -> Rewriter:
        """Return a rewriter of segments for a run's own publish, to forget a text at once or to make room."""
        from cairn.store.tend.compact import Rewriter  # noqa: PLC0415

        return Rewriter(writer)

    def is_due(self, clock: Clock) -> bool:
        """Return whether a collection would remove several snapshots at once."""
        return is_due(self._fs, clock)

    def collect(self, *, clock: Clock, wait_seconds: float = 0.0, attach: Attach | None = None) -> Collected:
        """Collect: remove the snapshots and staged work that no reader can need any more."""
        return collect_store(self._fs, self._path, clock=clock, wait_seconds=wait_seconds, attach=attach)

    def foresee(self, clock: Clock) -> Collected:
        """Return which snapshots a collection would remove, without the lease and without a change."""
        view = Store(self._fs, self._path).view()
        if view is None:
            return foresee(self._fs, None, clock)
        with view:
            return foresee(self._fs, view.manifest, clock)

    def uncollected(self, why: str) -> Collected:
        """Return the outcome of a collection that did not take place, with the reason."""
        return Collected(note=why)

    def upgrade(self, tell: Tell, *, wait_seconds: float, clock: Clock, processes: Processes) -> Upgraded:
        """Rewrite what an older version of Cairn wrote in the format of this version."""
        from cairn.store.tend.upgrade import upgrade_store  # noqa: PLC0415

        return upgrade_store(self._fs, self._path, tell, wait_seconds=wait_seconds, clock=clock, processes=processes)


class Home:
    """The folder that holds the stores of a user or of a group, the registry and the caches."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def shared(self) -> bool:
        """Whether this is the home of a group."""
        return self.modes.shared

    @property
    def modes(self) -> Modes:
        """The rights of what is made here."""
        return modes_of(self.path)

    def disk(self, below: str = "", clock: Clock = SYSTEM_CLOCK) -> Disk:
        """Open the folder at this path below the home; see `Disk.at`."""
        return Disk.at(self.path, below, modes=modes_of(self.path), clock=clock)

    def open_store(self, below: str) -> Disk:
        """Open the disk of the store at this path below the home; FileNotFoundError when no store was made there."""
        return open_disk(self.path, below)

    def make_store(self, below: str, *, shared: bool | None = None) -> Disk:
        """Open the disk of a store; a missing store is made. `shared` asks for the store of a group or of one user."""
        return make_disk(self.path, below, shared=shared)

    @property
    def reserve(self) -> Reserve:
        """The room that is kept here for what frees room."""
        return Reserve(self.path)

    # --- the registry -------------------------------------------------------------------------------------------------

    def tracked(self, clock: Clock = SYSTEM_CLOCK) -> tuple[Tracked, ...]:
        """Return what the registry remembers of every codebase."""
        from cairn.store.registry import read_registry  # noqa: PLC0415

        with self.disk(clock=clock) as disk:
            return read_registry(disk)

    @contextlib.contextmanager
    def registry(self, clock: Clock = SYSTEM_CLOCK) -> Iterator[tuple[Registry, bool]]:
        """Open the registry, made if it is missing, and say whether it is new. Changes are kept all or not at all."""
        from cairn.store.registry import open_registry  # noqa: PLC0415

        with self.disk(clock=clock) as disk, open_registry(disk) as found:
            yield found

    # --- names, sizes, removal ----------------------------------------------------------------------------------------

    @staticmethod
    def is_store(name: str) -> bool:
        """Return whether a folder of this name is a store."""
        return is_store_id(name)

    @staticmethod
    def is_leftover(name: str) -> bool:
        """Return whether a folder of this name is left from an unfinished removal."""
        return is_leftover(name)

    @staticmethod
    def size_of(disk: Disk, folder: str, tell: Measured = lambda _: None) -> Size:
        """Return the size of a folder, links not followed, and one name in it that Cairn never gives."""
        return size_of(disk, folder, tell)

    @staticmethod
    def parts_of(disk: Disk, active: Manifest | None) -> Counter[str]:
        """Return the bytes of a store by part: live, older, staging, quarantine, other."""
        return parts_of_store(disk, active)

    @staticmethod
    def quarantine(disk: Disk) -> str | None:
        """Return the quarantine folder of a store; None when no repair has made one."""
        return QUARANTINE if QUARANTINE in disk.list_folder("") else None

    @staticmethod
    def remove_tree(disk: Disk, folder: str) -> None:
        """Remove a folder and everything in it."""
        remove_tree(disk, folder)

    @contextlib.contextmanager
    def alone(self, store: Fs, clock: Clock, processes: Processes) -> Iterator[None]:
        """Keep other writers and readers out of a store; `StoreBusy` or `LeaseStuck` when one is at work."""
        with alone(store, clock, processes):
            yield

    @staticmethod
    def retire(data: Disk, name: str) -> str:
        """Take a store's name away, safely, and return the name that its folder has now."""
        return retire(data, name)

    @staticmethod
    def finish_removal(data: Disk, gone: str) -> None:
        """Remove the folder that `retire` has renamed."""
        finish_removal(data, gone)

    @staticmethod
    def reading_newer() -> AbstractContextManager[Mapping[str, int]]:
        """Permit the reading of later formats inside the context, which gives the later versions that were met."""
        return reading_newer()

    @staticmethod
    def oldest_formats() -> tuple[int, tuple[tuple[str, int], ...]]:
        """Return the oldest versions that can still be rewritten: of the rows, and of documents by name."""
        return CHUNK_ROWS.oldest, ((MANIFEST.name, MANIFEST.oldest),)

    @staticmethod
    def database_version() -> str:
        """Return the version of SQLite."""
        from cairn.store.registry import sqlite_version  # noqa: PLC0415

        return sqlite_version()
