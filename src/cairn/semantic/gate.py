"""The mutation gate: what may be edited by itself, what a person must decide first, and what is blocked and why.

Semantic facts carry edits across files, and only where they are clean and certain. What the syntax of a file shows
carries edits inside of one definition, whatever the semantic layer knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cairn.semantic.ambiguity import Ambiguity
from cairn.semantic.decisions import Decision
from cairn.semantic.model import Certainty, FileState, Freshness, Job


class Verdict(StrEnum):
    """What may be done with a file, the worst last."""

    AUTOMATIC = "automatic"
    NEEDS_DECISION = "needs_decision"
    BLOCKED = "blocked"


class Reach(StrEnum):
    """How far edits of a file are carried by what is known of it."""

    CROSS_FILE = "cross_file"
    LOCAL = "local"
    NONE = "none"


_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Witness:
    """Why a file is blocked: what is not fresh, in sentences, and the job or the command that will cure it."""

    reasons: tuple[str, ...]
    cure: str
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class GateFile:
    """One file at the gate. `questions` are all ambiguities, `open` those that nobody has decided."""

    path: str
    context: str | None
    """The id of the context that knows it, or that would."""
    state: FileState
    verdict: Verdict
    reach: Reach
    questions: tuple[Ambiguity, ...] = ()
    open: tuple[Ambiguity, ...] = ()
    decided: tuple[Decision, ...] = ()
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class MutationGate:
    """The files that are to be edited together; the worst of them decides."""

    files: tuple[GateFile, ...]

    @property
    def verdict(self) -> Verdict:
        return max((one.verdict for one in self.files), key=_ORDER.index, default=Verdict.BLOCKED)


def verdict_of(state: FileState, *, decided: bool = False) -> Verdict:
    """Clean and certain: automatic. Clean and ambiguous: a decision, unless all are made. Everything else: blocked."""
    if state.freshness is not Freshness.CLEAN or state.certainty is Certainty.UNKNOWN:
        return Verdict.BLOCKED
    if state.certainty is Certainty.AMBIGUOUS and not decided:
        return Verdict.NEEDS_DECISION
    return Verdict.AUTOMATIC


def reach_of(verdict: Verdict, *, parsed: bool) -> Reach:
    """Across files only with semantic facts that hold; inside of a definition wherever the syntax is known."""
    if verdict is Verdict.AUTOMATIC:
        return Reach.CROSS_FILE
    return Reach.LOCAL if parsed else Reach.NONE
