"""What is said about a store from outside: where it stands, its snapshots, who is writing, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cairn.core.types import SkipReason
from cairn.store.progress import RunProgress


class State(StrEnum):
    """Where a store stands. `indexing` is a live run that has nothing older to answer from, or was told to distrust it.

    It is never written down: a run that was killed leaves no state behind.
    """

    INDEXED = "indexed"
    INDEXING = "indexing"
    CLEARED = "cleared"
    NOT_INDEXED = "not_indexed"
    CORRUPT = "corrupt"


class ProofOutcome(StrEnum):
    """What a look at the proof that an index is complete came to. `probe_failed` says nothing about what is there."""

    VALID = "valid"
    STALE_LOCAL = "stale_local"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


class ProofReason(StrEnum):
    """Why the proof does not hold. There are six reasons; a seventh needs its message, its tests and its page too."""

    MISSING_MARKER_DOC = "missing_marker_doc"
    INVALID_MARKER_KIND = "invalid_marker_kind"
    PATH_MISMATCH = "path_mismatch"
    INVALID_PAYLOAD = "invalid_payload"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether an index is proven to be complete, and if not, why; `differs` names the fields of another fingerprint."""

    outcome: ProofOutcome
    reason: ProofReason | None = None
    differs: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return self.outcome is ProofOutcome.VALID


PROVEN = Proof(ProofOutcome.VALID)
UNPROVEN = Proof(ProofOutcome.STALE_LOCAL, ProofReason.MISSING_MARKER_DOC)


class Severity(StrEnum):
    """How bad a finding is, the worst first; only an error makes a store unhealthy."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, and how it is: without a severity it is as it should be."""

    name: str
    severity: Severity | None
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot. `chunks_physical` counts the rows on disk, `chunks` those of them that are live."""

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
class WriterInfo:
    """The run that holds the lease, and what it told last; `alive` is false when its process is provably gone."""

    pid: int
    kind: str
    started_at: str
    run_id: str
    alive: bool
    progress: RunProgress | None = None


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What a store takes, part by part, what all stores share, and what the disk has left; None: it could not be told.

    `live` is what the active snapshot reads, `older` what only earlier ones read, `other` the rest.
    """

    live: int = 0
    older: int = 0
    staging: int = 0
    quarantine: int = 0
    other: int = 0
    embedding_cache: int | None = None
    free: int | None = None

    @property
    def total(self) -> int:
        """All that the store takes."""
        return self.live + self.older + self.staging + self.quarantine + self.other


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Where a store stands. `siblings` counts the stores of the same root that were made with other settings.

    `probe_failed`: it cannot be read just now, and this is how it stood when it last could.
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
    disk: DiskUse = DiskUse()
    proof: Proof = UNPROVEN
    differs: tuple[str, ...] = ()
    failed: bool = False
    stale: bool = False
    strict: bool = False
    tracked: Tracked | None = None
    probe_failed: bool = False


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """Something that a check found, and what to do about it; `path` is the name it is about."""

    code: str
    severity: Severity
    message: str
    advice: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether the files were compared before an answer, when, and how many had changed.

    `snapshot` is the one that mirrors them as they were then; `trouble` is an error's code.
    """

    mode: str
    changed: int = 0
    checked_at: str | None = None
    trouble: str | None = None
    snapshot: str | None = None


# --- all stores of a user ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoreTrouble:
    """Why a store cannot be used as it is: a stable code, and the sentence for a person."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """One store. What is None could not be told; `root_exists` is None when the root could not be."""

    store_id: str
    path: str
    size_bytes: int
    root: str | None = None
    root_exists: bool | None = None
    created_at: str | None = None
    last_used_at: str | None = None
    active_snapshot_id: str | None = None
    config_fingerprint: str | None = None
    writer_alive: bool = False
    trouble: StoreTrouble | None = None
    files: int | None = None
    last_sync_at: str | None = None
    embedding_model: str | None = None
    cleared: bool = False


class RunOutcome(StrEnum):
    """How a run ended. One that has `begun` and is not at work any more was killed."""

    BEGUN = "begun"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the registry remembers of a codebase. It lists and proves nothing: only the store says what is indexed."""

    root: str
    store_id: str
    tracked_at: str
    cleared: bool = False
    embedding_model: str | None = None
    last_run_kind: str | None = None
    last_run_outcome: RunOutcome | None = None
    last_run_at: str | None = None
    last_error_code: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the run that should have made its first index did not come to an end."""
        unfinished = self.last_run_outcome in (RunOutcome.FAILED, RunOutcome.BEGUN)
        return self.last_run_kind == "create" and unfinished

    @property
    def claims_index(self) -> bool:
        """Whether it was indexed, as far as the registry knows."""
        made = self.last_run_kind != "create" or self.last_run_outcome is RunOutcome.SUCCEEDED
        return made and not self.cleared


class KeptBecause(StrEnum):
    """Why a store was not collected."""

    RECENT = "used_recently"
    CURRENT = "current"
    BUSY = "busy"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class KeptStore:
    """A store that stays, and the sentence that says why."""

    entry: StoreEntry
    because: KeptBecause
    why: str


@dataclass(frozen=True, slots=True)
class StoresCollected:
    """What a collection of unused stores removed, or would; `notes` are sentences about what it left half done."""

    removed: tuple[StoreEntry, ...] = ()
    kept: tuple[KeptStore, ...] = ()
    freed_bytes: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stayed:
    """A name in the user's folder that a purge left, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge removed, or would: names below the user's folder."""

    removed: tuple[str, ...] = ()
    stayed: tuple[Stayed, ...] = ()
    freed_bytes: int = 0


# --- repairs ----------------------------------------------------------------------------------------------------------


class RepairScope(StrEnum):
    """How much a repair has to do: nothing, put things in order, read some files again, or all of them."""

    NONE = "none"
    TIDY = "tidy"
    FILES = "files"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One step of a repair: what is done (`kind` is stable), to which path below the store, and why."""

    kind: str
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair would do. `base` is the snapshot that it builds on, `files` how many files it expects to read."""

    scope: RepairScope
    actions: tuple[RepairAction, ...] = ()
    files: int = 0
    base: str | None = None
