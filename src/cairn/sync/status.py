"""Say where the index of a codebase stands; nothing is changed, and no file of the tree is compared.

Whether a run is in progress is read from its lease and the process behind it, never from a state that the run wrote
about itself: a killed run would block everyone for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.config import REPO_CONFIG_NAME
from cairn.core.text import lasting
from cairn.core.types import SkipReason
from cairn.errors import NoValidSnapshot, StoreCorrupt, StoreError, StoreUnreadable
from cairn.source.mounts import unheard_sentence
from cairn.store import (
    Disk,
    Fs,
    Home,
    Manifest,
    RunKind,
    SnapshotView,
    Store,
    Tracked,
    WriterInfo,
)
from cairn.sync.codebase import Codebase, StorePlace, model_of, place_of, sibling_stores
from cairn.sync.inventory import DiskUse, cache_size, disk_use, free_space
from cairn.sync.proof import (
    PROVEN,
    UNPROVEN,
    Examined,
    Proof,
    ProofOutcome,
    differing,
    examine,
    told_to_group,
)
from cairn.sync.room import truthful

# --- What a reader finds: the snapshot that would answer, who is writing, and other stores of this root.


# While one of these runs is at work, the older snapshot does not answer: somebody asked for a new one.
MASKING = frozenset({RunKind.CREATE, RunKind.REINDEX})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a store stands for a reader. The caller closes `view`, which may be there while the gate is closed.

    `differs` names the fields in which the only indexes of this root differ from what this version and its settings
    would make. `failed` says that a run died or gave up and left nothing to answer from; `stale`, that there was an
    index, and `proof` why there is none now. `tracked` is what the registry knows; it is read only when the store has
    no answer.
    """

    state: State
    view: SnapshotView | None = None
    writer: WriterInfo | None = None
    failed: bool = False
    differs: tuple[str, ...] = ()
    proof: Proof = UNPROVEN
    stale: bool = False
    tracked: Tracked | None = None


def stand(
    place: StorePlace,
    *,
    snapshot: str | None = None,
    held: SnapshotView | None = None,
    processes: Processes = SYSTEM_PROCESSES,
    clock: Clock = SYSTEM_CLOCK,
) -> Standing:
    """Look at the store of this place; `snapshot` asks for that one instead of the newest.

    A view that the caller has `held` open is not opened again: it is the standing's own while it is of that snapshot.
    Raises what the disk refuses as a store error.
    """
    with truthful(place):
        try:
            disk = place.disk()
            if disk is None:
                return _nothing(place)
            with disk:
                return stand_at(place, disk, snapshot, processes, clock, held)
        except OSError as problem:
            raise Store.trouble(place.path, problem) from problem


def stand_at(
    place: StorePlace,
    disk: Disk,
    snapshot: str | None = None,
    processes: Processes = SYSTEM_PROCESSES,
    clock: Clock = SYSTEM_CLOCK,
    held: SnapshotView | None = None,
) -> Standing:
    """Look at an open store; raises trouble with its disk as it is."""
    store = Store(disk, place.path)
    if not store.is_created:
        return _nothing(place)
    holder = store.holder(processes, clock)
    alive = holder is not None and holder.alive
    writer = holder if alive else None
    found = examine(disk, place, snapshot=snapshot, held=held)
    if found.view is not None:
        # A run that shows no heartbeat may have died out of sight, and the last good snapshot answers.
        masked = holder is not None and alive and holder.kind in MASKING and not holder.is_silent
        return Standing(State.INDEXING if masked else State.INDEXED, found.view, writer, proof=PROVEN)
    if alive:
        return Standing(State.INDEXING, writer=writer, proof=found.proof)
    died = holder is not None and not holder.released
    return _unproven(place, found, died=died)


def sealed_part(place: StorePlace, writer: WriterInfo, held: SnapshotView | None = None) -> SnapshotView | None:
    """Return what the run at work has sealed so far, as a view; None when that is nothing, or not readable just now.

    The view that the caller has `held` open from before is returned itself, or belongs to the new one.
    """
    with suppress(OSError, StoreError, StoreUnreadable), open_store(place) as disk:
        if disk is not None:
            return Store(disk).notes.sealed(writer, place.root, place.store_id, place.fingerprint, held)
    return None


def something_sealed(place: StorePlace) -> bool:
    """Return whether a run is at work and has sealed something, and how much of the whole that is can be said."""
    with suppress(OSError, StoreError, StoreUnreadable), open_store(place) as disk:
        writer = None if disk is None else Store(disk).holder()
        if disk is not None and writer is not None and writer.progress is not None and writer.progress.tree:
            return Store(disk).notes.has_sealed(writer)
    return False


def _unproven(place: StorePlace, found: Examined, *, died: bool) -> Standing:
    """Return the standing of a store that nobody writes and that does not answer."""
    if found.corrupt:
        return Standing(State.CORRUPT, proof=found.proof, stale=True)
    if found.cleared:
        return Standing(State.CLEARED)
    if found.proof == UNPROVEN:
        nothing = _nothing(place)
        return replace(nothing, failed=nothing.failed or died, stale=nothing.stale and not died)
    stale = found.proof.outcome is ProofOutcome.STALE_LOCAL
    return Standing(State.NOT_INDEXED, differs=found.proof.differs, proof=found.proof, stale=stale)


def _nothing(place: StorePlace) -> Standing:
    """Return the standing where nothing was ever published, by other stores of this root and by the registry."""
    # Imported here because most readers find an index and never need it.
    from cairn.sync.tracking import remembered  # noqa: PLC0415

    known = remembered(place)
    if known is not None and known.cleared:
        return Standing(State.CLEARED, tracked=known)
    differs = differing(place)
    if not differs and known is not None and known.embedding_model != model_of(place.fingerprint.fields):
        # The registry also knows the model of a run that was stopped before it could publish.
        differs = ("embeddingModel",)
    if known is None or differs:
        return Standing(State.NOT_INDEXED, differs=differs, tracked=known)
    return Standing(State.NOT_INDEXED, failed=known.failed, stale=known.claims_index, tracked=known)


@dataclass(frozen=True, slots=True)
class ProposedIndex:
    """An index that a repository's settings ask for and nobody has made: in which fields it differs from the one there.

    `writer` is the run that makes it, if one is at work.
    """

    root: str
    differs: tuple[str, ...]
    writer: WriterInfo | None = None

    @property
    def sentence(self) -> str:
        """What to know of it: one line for everybody."""
        shown = ", ".join(self.differs[:_MOST_FIELDS])
        until = "until that is made" if self.writer is not None else "until somebody runs `cairn reindex`"
        return (
            f"{REPO_CONFIG_NAME} asks for another index (it differs in {shown}); the one from before answers {until}."
        )


def proposed_index(codebase: Codebase, home: str, clock: Clock = SYSTEM_CLOCK) -> ProposedIndex | None:
    """Return the index that the repository's settings ask for, while another one is in force; else None."""
    if codebase.proposal is None:
        return None
    writer = None
    with suppress(OSError, StoreError), open_store(place_of(codebase.proposed, home)) as disk:
        holder = None if disk is None else Store(disk).holder(SYSTEM_PROCESSES, clock)
        writer = holder if holder is not None and holder.alive else None
    return ProposedIndex(codebase.root.path, codebase.proposal.differs, writer)


_MOST_FIELDS = 5


class State(StrEnum):
    """Where a store stands. `indexing`: a live run has no older snapshot to answer from, or was told to distrust it.

    The state is never stored, so a killed run leaves none behind.
    """

    INDEXED = "indexed"
    INDEXING = "indexing"
    CLEARED = "cleared"
    NOT_INDEXED = "not_indexed"
    CORRUPT = "corrupt"


# --- `--read-only`: read a store of a later format as far as this version knows it.


Met = Mapping[str, int]


@contextmanager
def reading(read_only: bool) -> Iterator[Met]:
    """With `read_only`, allow later formats to be read inside; gives the later versions that were met."""
    if not read_only:
        yield {}
        return
    with Home.reading_newer() as met:
        yield met


def later_warnings(met: Met) -> list[str]:
    """Return the warning of an answer from a later format; empty when no later version was met."""
    if not met:
        return []
    listed = ", ".join(f"{name} {version}" for name, version in sorted(met.items()))
    return [f"The index has a later format ({listed}); what this version of Cairn does not know of it is left out."]


def look(
    codebase: Codebase,
    home: str,
    processes: Processes = SYSTEM_PROCESSES,
    clock: Clock = SYSTEM_CLOCK,
    *,
    measured: bool = True,
) -> StoreStatus:
    """Return the status of the store that belongs to this codebase and its settings.

    With `measured` false the sizes stay 0, and not every file of the store is looked at.
    """
    from cairn.sync.tracking import remembered  # noqa: PLC0415

    place = place_of(codebase, home)
    siblings = len(sibling_stores(place))
    with open_store(place) as disk:
        if disk is None:
            standing = stand(place)
            use = DiskUse(embedding_cache=cache_size(home), free=free_space(home)) if measured else _NO_USE
            status = StoreStatus(standing.state, place.root, place.store_id, place.path, siblings=siblings, disk=use)
        else:
            standing = stand_at(place, disk, processes=processes, clock=clock)
            with standing.view or nullcontext():
                manifest = standing.view.manifest if standing.view else _emptied(disk)
            use = disk_use(disk, manifest, home) if measured else _NO_USE
            status = replace(_described(disk, manifest, use), root=place.root, store_id=place.store_id)
            writer = _last_writer(disk, processes, clock)
            warnings = (*status.warnings, *filter(None, [silence_sentence(writer)]))
            status = replace(status, state=standing.state, siblings=siblings, writer=writer, warnings=warnings)
    proposed = proposed_index(codebase, home, clock)
    said = [unheard_sentence(place.root), None if proposed is None else proposed.sentence]
    return replace(
        status,
        proposed=proposed,
        warnings=(*status.warnings, *filter(None, said)),
        proof=standing.proof,
        differs=standing.differs,
        failed=standing.failed,
        stale=standing.stale,
        strict=codebase.config.search.catchup_reads == "block",
        tracked=standing.tracked or remembered(place),
    )


def _described(disk: Disk, manifest: Manifest | None, use: DiskUse) -> StoreStatus:
    """Return what a store and its snapshot say of themselves; `look` adds the state."""
    store = Store(disk)
    return StoreStatus(
        state=State.NOT_INDEXED,
        root="",
        store_id="",
        path=disk.path,
        snapshot=snapshot_info(manifest, active=True) if manifest else None,
        index_fingerprint=manifest.config_fingerprint if manifest else None,
        ignore_fingerprint=manifest.ignore_fingerprint if manifest else None,
        skipped=tuple((SkipReason(name), count) for name, count in manifest.skipped) if manifest else (),
        store_bytes=use.total,
        embedding_model=model_of(manifest.config_fields) if manifest else None,
        last_sync_at=store.notes.last_sync(manifest) if manifest else None,
        disk=use,
        warnings=(*told_to_group(disk, manifest), *filter(None, [store.without_locks])),
    )


def _emptied(disk: Disk) -> Manifest | None:
    """Return the manifest of a cleared index; None when it was not cleared."""
    newest = Store(disk).newest()
    return newest if newest is not None and newest.completion is None else None


def _last_writer(disk: Disk, processes: Processes, clock: Clock) -> WriterInfo | None:
    """Return the run that holds the lease, or died with it."""
    holder = Store(disk).holder(processes, clock)
    return None if holder is None or holder.released else holder


def silence_sentence(writer: WriterInfo | None) -> str:
    """Return what to know of a run whose heartbeat is overdue; nothing for any other."""
    if writer is None or not writer.is_silent:
        return ""
    said = f"The run that holds the index ({writer.kind}, process {writer.pid}) has shown no heartbeat for"
    if writer.alive:
        term = lasting(writer.term_seconds)
        return f"{said} {lasting(writer.silent_seconds)}; when it has shown none for {term}, the next run takes over."
    return f"{said} {lasting(writer.silent_seconds)}; the next run takes over, or `cairn repair` does."


def kept_snapshots(codebase: Codebase, home: str) -> list[SnapshotInfo]:
    """Return the snapshots that can be read, the newest first, and which of them answers (`active`)."""
    with open_store(place_of(codebase, home)) as disk:
        if disk is None:
            return []
        active, _ = _active(disk, disk.path)
        damage: list[StoreCorrupt] = []
        kept = [
            snapshot_info(manifest, active=active is not None and manifest.snapshot_id == active.snapshot_id)
            for manifest in Store(disk).published(damage)
        ]
        if damage and not kept:
            raise NoValidSnapshot(path=disk.path, why=damage[0].sentence.removesuffix("."))
        return kept


def snapshot_info(manifest: Manifest, *, active: bool) -> SnapshotInfo:
    """Return what a manifest says of its snapshot."""
    return SnapshotInfo(
        id=manifest.snapshot_id,
        generation=manifest.generation,
        created_at=manifest.completion.completed_at if manifest.completion else manifest.created_at,
        files=manifest.counts.files_indexed,
        chunks=manifest.counts.chunks_live,
        chunks_physical=manifest.counts.chunks_indexed,
        segments=len(manifest.segments),
        tombstones=sum(ref.count for ref in manifest.tombstones),
        degraded=manifest.degraded,
        errors=len(manifest.errors),
        head=manifest.git.head_sha,
        dirty=manifest.git.dirty,
        active=active,
    )


@contextmanager
def open_store(
    place: StorePlace, is_there: Callable[[Disk], bool] = lambda disk: Store(disk).is_created
) -> Iterator[Disk | None]:
    """Open the store's disk, None when there is no store; raises what the disk refuses as a store error."""
    with truthful(place):
        try:
            disk = place.disk()
            if disk is None:
                yield None
                return
            with disk:
                yield disk if is_there(disk) else None
        except OSError as problem:
            raise Store.trouble(place.path, problem) from problem


def _active(fs: Fs, place: str) -> tuple[Manifest | None, State]:
    """Return the verified snapshot that answers, and the state that follows from it while no run is at work."""
    try:
        view = Store(fs, place).view()
    except NoValidSnapshot:
        return None, State.CORRUPT
    if view is None:
        return None, State.NOT_INDEXED
    with view:
        return view.manifest, State.INDEXED if view.manifest.completion else State.CLEARED


_NO_USE = DiskUse()


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot. `chunks_physical` counts all rows on disk, `chunks` the live ones."""

    id: str
    generation: int
    created_at: str
    files: int
    chunks: int
    chunks_physical: int
    segments: int
    tombstones: int
    degraded: bool
    errors: int
    head: str | None
    dirty: bool
    active: bool


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where a store stands. `siblings` counts the stores of the same root that were made with other settings.

    `probe_failed`: the store cannot be read just now, and this is its last known status.
    """

    state: State
    root: str
    store_id: str
    path: str
    snapshot: SnapshotInfo | None = None
    index_fingerprint: str | None = None
    ignore_fingerprint: str | None = None
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    store_bytes: int = 0
    writer: WriterInfo | None = None
    embedding_model: str | None = None
    last_sync_at: str | None = None
    siblings: int = 0
    warnings: tuple[str, ...] = ()
    disk: DiskUse = _NO_USE
    proof: Proof = UNPROVEN
    differs: tuple[str, ...] = ()
    failed: bool = False
    stale: bool = False
    strict: bool = False
    tracked: Tracked | None = None
    probe_failed: bool = False
    proposed: ProposedIndex | None = None
