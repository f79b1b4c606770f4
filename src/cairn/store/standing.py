"""What is said about a store from outside: where it stands, its snapshots, who is writing, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cairn.store.progress import RunProgress
from cairn.types import SkipReason


class State(StrEnum):
    """Where a store stands. `indexing` is a live run that has nothing older to answer from, or was told to distrust it.

    It is never written down: a run that was killed leaves no state behind.
    """

    INDEXED = "indexed"
    INDEXING = "indexing"
    CLEARED = "cleared"
    NOT_INDEXED = "not_indexed"
    CORRUPT = "corrupt"


class Severity(StrEnum):
    """How bad a finding is, the worst first; only an error makes a store unhealthy."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


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
class StoreStatus:
    """Where a store stands. `siblings` counts the stores of the same root that were made with other settings."""

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
