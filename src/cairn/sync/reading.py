"""What is there for a reader: the snapshot that would answer, who is writing, and what else there is of this root.

Nothing is changed by looking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_PROCESSES, Processes
from cairn.errors import StoreUnreadable
from cairn.store.disk import Disk
from cairn.store.fs import Fs, store_trouble
from cairn.store.layout import is_created
from cairn.store.lease import LeaseRecord, RunKind, is_alive, read_lease
from cairn.store.progress import load_progress
from cairn.store.snapshot import SnapshotView
from cairn.store.standing import PROVEN, UNPROVEN, Proof, ProofOutcome, State, Tracked, WriterInfo
from cairn.sync.place import Place
from cairn.sync.proof import Examined, differing, examine
from cairn.sync.said import model_of

# While one of these is at work the older snapshot is not to be believed: somebody asked for a new one.
MASKING = frozenset({RunKind.CREATE, RunKind.REINDEX})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a store stands for a reader. Whoever gets it closes `view`, which may be there while the gate is closed.

    `differs` names the fields in which the only indexes of this root differ from what this version and its settings
    would make. `failed` says that a run died or gave up and left nothing to answer from, `stale` that there was an
    index and `proof` is why there is none now. `tracked` is what the registry knows; it is asked only when the store
    has no answer.
    """

    state: State
    view: SnapshotView | None = None
    writer: WriterInfo | None = None
    failed: bool = False
    differs: tuple[str, ...] = ()
    proof: Proof = UNPROVEN
    stale: bool = False
    tracked: Tracked | None = None


def stand(place: Place, *, snapshot: str | None = None, processes: Processes = SYSTEM_PROCESSES) -> Standing:
    """Look at the store of this place; `snapshot` asks for that one instead of the newest.

    What the disk refuses is told as an error of the store.
    """
    try:
        disk = place.disk()
        if disk is None:
            return _nothing(place)
        with disk:
            return stand_at(place, disk, snapshot, processes)
    except OSError as problem:
        raise store_trouble(place.path, problem) from problem


def stand_at(
    place: Place, disk: Disk, snapshot: str | None = None, processes: Processes = SYSTEM_PROCESSES
) -> Standing:
    """The same for a store that is open; trouble with its disk is raised as it is."""
    if not is_created(disk):
        return _nothing(place)
    lease = lease_of(disk)
    alive = lease is not None and is_alive(lease, processes)
    writer = writer_info(disk, lease, alive=True) if lease is not None and alive else None
    found = examine(disk, place, snapshot=snapshot)
    if found.view is not None:
        masked = lease is not None and alive and lease.run_kind in MASKING
        return Standing(State.INDEXING if masked else State.INDEXED, found.view, writer, proof=PROVEN)
    if alive:
        return Standing(State.INDEXING, writer=writer, proof=found.proof)
    died = lease is not None and not lease.released
    return _unproven(place, found, died=died)


def _unproven(place: Place, found: Examined, *, died: bool) -> Standing:
    """A store that nobody writes, and that does not answer."""
    if found.corrupt:
        return Standing(State.CORRUPT, proof=found.proof, stale=True)
    if found.cleared:
        return Standing(State.CLEARED)
    if found.proof == UNPROVEN:
        nothing = _nothing(place)
        return replace(nothing, failed=nothing.failed or died, stale=nothing.stale and not died)
    stale = found.proof.outcome is ProofOutcome.STALE_LOCAL
    return Standing(State.NOT_INDEXED, differs=found.proof.differs, proof=found.proof, stale=stale)


def _nothing(place: Place) -> Standing:
    """Nothing was ever published here: others of the same root may be there, and somebody may remember one."""
    # Most readers find an index, and do without this.
    from cairn.sync.tracking import remembered  # noqa: PLC0415

    known = remembered(place)
    if known is not None and known.cleared:
        return Standing(State.CLEARED, tracked=known)
    differs = differing(place)
    if not differs and known is not None and known.embedding_model != model_of(place.fingerprint.fields):
        # Also the model of a run that was stopped before it could publish anything.
        differs = ("embeddingModel",)
    if known is None or differs:
        return Standing(State.NOT_INDEXED, differs=differs, tracked=known)
    return Standing(State.NOT_INDEXED, failed=known.failed, stale=known.claims_index, tracked=known)


def lease_of(fs: Fs) -> LeaseRecord | None:
    """The lease, if there is one that can be read."""
    try:
        return read_lease(fs)
    except StoreUnreadable:
        # Whoever writes next waits until it has stood still; it says nothing about what can be read.
        return None


def writer_info(fs: Fs, lease: LeaseRecord, *, alive: bool) -> WriterInfo:
    """Who holds the lease, and what that run told last; not what another one left behind."""
    told = load_progress(fs) if alive else None
    return WriterInfo(
        pid=lease.process.pid,
        kind=lease.run_kind.value,
        started_at=lease.started_at,
        run_id=lease.staging_txn_id,
        alive=alive,
        progress=told if told is not None and told.run_id == lease.staging_txn_id else None,
    )
