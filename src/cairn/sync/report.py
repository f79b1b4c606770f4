"""What a run tells while it goes on, and what it tells when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.types import ChangeSet, SkipReason


class Phase(StrEnum):
    """The stages of a run, in order; the last two are what it may do for the store when it is over."""

    # It waits for others of a server to end, and has not begun.
    QUEUED = "queued"
    WALKING = "walking"
    COMPARING = "comparing"
    INDEXING = "indexing"
    PUBLISHING = "publishing"
    COMPACTING = "compacting"
    COLLECTING = "collecting"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        phase: What the run is doing, such as `walking` or `indexing`.
        done: How many files of this phase are done.
        total: How many there are; 0 while that is not known.
        rate: Files per second in this phase.
        current_file: The file that is being worked on, when there is one.
    """

    phase: Phase
    done: int = 0
    total: int = 0
    rate: float = 0.0
    current_file: str | None = None

    @property
    def fraction(self) -> float:
        """The part of this phase that is done, from 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be indexed, and why; `code` is stable."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What differed from the snapshot before."""

    added: int = 0
    modified: int = 0
    deleted: int = 0
    renamed: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.added + self.modified + self.deleted + self.renamed


class Gap(NamedTuple):
    """How the index differs from the files when a run begins to work: files missing in it, changed, or gone."""

    missing: int
    modified: int
    stale: int

    @property
    def sentence(self) -> str:
        """The one line of a log."""
        return f"Catch-up indexing: {self.missing} missing, {self.modified} modified, {self.stale} stale"


def gap_of(changes: ChangeSet) -> Gap:
    """What a comparison came to. A renamed file is missing under its new name and gone under its old one."""
    renamed = len(changes.rename)
    return Gap(len(changes.add) + renamed, len(changes.modify), len(changes.delete) + renamed)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did. `published` is false when nothing had changed and the snapshot before still stands.

    `skipped` counts names by reason over the whole tree; `adopted` counts files that a killed run had already prepared.
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
