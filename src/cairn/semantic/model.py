"""The values of the semantic layer that more than one of its modules handles.

Files are named by path key. Hashes of files are those of the snapshot (`StoredFile.file_hash`): a fact is believed only
where the hash it was computed from is the one of the pinned snapshot. Lines are 1-based; columns are 0-based and count
bytes; an end column is the first one behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.semantic.scopes import Scope


class Family(StrEnum):
    """Languages that one indexer understands together."""

    PYTHON = "python"
    TYPESCRIPT = "typescript"
    GO = "go"
    RUST = "rust"
    JVM = "jvm"
    CLANG = "clang"
    DOTNET = "dotnet"
    RUBY = "ruby"


@dataclass(frozen=True, slots=True)
class Context:
    """Files that one run of an indexer understands together: a package or a workspace.

    `root` is the folder (`""` is the top), `fence` the file that makes it one, `why` says so in words. `include` are
    the packages that its workspace takes in, and `punched` the roots of contexts nested in it.
    """

    id: str
    family: Family
    root: str
    name: str
    fence: str
    config_hash: str
    include: tuple[str, ...] = ()
    punched: tuple[str, ...] = ()
    why: str = ""


class JobStatus(StrEnum):
    """Where a refresh stands; the last three are its end."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """One refresh of one context (by its id). `head` is the commit it was asked at, empty without one.

    Times are seconds since 1970. `pid` and `started_at` are of the process that has claimed it.
    """

    id: int
    context: str
    status: JobStatus
    scope: Scope
    reason: str
    priority: int
    head: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    error: str | None = None
    superseded_reason: str | None = None
    pid: int | None = None


class Freshness(StrEnum):
    """Whether what the semantic layer knows of a file still holds."""

    CLEAN = "clean"
    DIRTY = "dirty"
    STALE = "stale"
    PENDING_CHECK = "pending_check"
    UNINDEXED = "unindexed"


class Certainty(StrEnum):
    """Whether names in a file mean one thing."""

    CERTAIN = "certain"
    AMBIGUOUS = "ambiguous"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileState:
    """Both axes, and why, in sentences."""

    freshness: Freshness
    certainty: Certainty
    reasons: tuple[str, ...] = ()


class OccurrenceRole(StrEnum):
    """What an occurrence does with its symbol."""

    DEFINITION = "definition"
    REFERENCE = "reference"
    IMPORT = "import"


class Occurrence(NamedTuple):
    """A symbol (normalised) in a place.

    The anchors are the text of the line just before and behind it, as `anchors.anchors` makes them: they are compared
    before a position is used.
    """

    path: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    role: OccurrenceRole
    symbol: str
    anchor_before: str
    anchor_after: str
