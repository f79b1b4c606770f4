"""How far a run is: the phase it is in, and how much of that phase is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


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


BEHIND_THE_FILES = frozenset({Phase.PUBLISHING, Phase.COMPACTING, Phase.COLLECTING})


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
