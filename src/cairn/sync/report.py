"""What runs and checks report, and the options of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.types import ChangeSet, SkipReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.model import Embedder
    from cairn.sync.scope import Seen


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be indexed, and why; `code` is stable."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Changes:
    """How many files differed from the snapshot before."""

    added: int = 0
    modified: int = 0
    deleted: int = 0
    renamed: int = 0

    @property
    def total(self) -> int:
        """The number of all changes."""
        return self.added + self.modified + self.deleted + self.renamed


class Gap(NamedTuple):
    """How the index differs from the files when a run begins: files missing in it, changed, or gone from the tree."""

    missing: int
    modified: int
    stale: int

    @property
    def sentence(self) -> str:
        """The line that logs write about this gap."""
        return f"Catch-up indexing: {self.missing} missing, {self.modified} modified, {self.stale} stale"


def gap_of(changes: ChangeSet) -> Gap:
    """Return the gap of a comparison; a renamed file is missing under its new name and gone under its old one."""
    renamed = len(changes.rename)
    return Gap(len(changes.add) + renamed, len(changes.modify), len(changes.delete) + renamed)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did. `published` is false when nothing had changed and the last snapshot stays the newest.

    `skipped` counts names by reason over the whole tree; `adopted` counts files that a killed run had already prepared.
    `left_out` is the sentence on files that were indexed before and whose names are now held to be those of secrets.
    """

    kind: str
    published: bool
    snapshot_id: str
    generation: int
    changes: Changes
    files_indexed: int
    chunks_live: int
    skipped: tuple[tuple[SkipReason, int], ...]
    failed: tuple[FailedFile, ...]
    adopted: int
    store_bytes: int
    source_bytes: int
    seconds: float
    warnings: tuple[str, ...] = ()
    left_out: str = ""


class Severity(StrEnum):
    """How bad a finding is, the worst first; only an error makes a store unhealthy."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `cairn doctor` looked at, and its state: without a severity it is as it should be."""

    name: str
    severity: Severity | None
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """Something that a check found, and what to do about it; `path` is the file or folder that it is about."""

    code: str
    severity: Severity
    message: str
    advice: str
    path: str | None = None


# The files were compared after the question came, or somebody watches them and has heard of no change.
_CURRENT = frozenset({"synced", "coalesced", "reconciled_ignore_change", "skipped_recent", "overlay"})


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether the files were compared before an answer, when, and how many had changed.

    `snapshot` is the one that mirrors them as they were then; `trouble` is an error's code. `missed` counts the files
    that are known to have changed and of which the answer shows what was indexed before. `verified`: whatever became of
    the step before the answer, the files were compared and are as the answer shows them.
    `left_out` is the sentence of the run's report. Of an index that is still being made `done` of `files` files answer.
    """

    mode: str
    changed: int = 0
    checked_at: str | None = None
    trouble: str | None = None
    snapshot: str | None = None
    missed: int = 0
    verified: bool = False
    left_out: str = ""
    done: int = 0
    files: int = 0

    @property
    def is_current(self) -> bool:
        """Whether the answer is about all files as they were when the question came, or later."""
        return self.verified or self.mode in _CURRENT


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run: how long to wait for another writer, which model (None: that of the settings), and more.

    `upkeep`: compact and collect after the run; false, for a caller who waits for an answer, leaves that until it is
    overdue. `shared`: whether a new store is for a group; None leaves it to the settings. `keep_worker`: leave the
    process that parses running, for a server, whose next run comes soon. `seen` is what a server keeps between its
    runs; with it, a sync need only look at the `hinted` names, if those are all that have changed since. `found` is
    called with the gap before the work begins.
    """

    home: str
    allow_degraded: bool = False
    wait_seconds: float = 10.0
    workers: int | None = None
    embedder: Embedder | None = None
    upkeep: bool = True
    shared: bool | None = None
    keep_worker: bool = False
    seen: Seen | None = None
    hinted: frozenset[bytes] | None = None
    found: Callable[[Gap], None] = lambda _: None
