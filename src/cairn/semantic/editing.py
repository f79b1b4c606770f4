"""What may be edited: decisions that people made about ambiguities, the mutation gate, and the state of files.

A decision is kept with its proof and replayed only for identical inputs: the same ambiguity, the same commit, and the
same bytes of every file that the ambiguity is about. A work tree with edits at the same commit needs a decision of its
own.

The gate says what may be edited automatically, what a person must decide first, and what is blocked and why. Semantic
facts carry edits across files, and only where they are clean and certain. What the syntax of a file shows carries edits
inside one definition, whatever the semantic layer knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Any

from cairn.core.lazy import cached_property
from cairn.core.types import ReferenceKind
from cairn.semantic import jobs
from cairn.semantic.ambiguity import (
    MOST_CANDIDATES,
    MOST_OF_A_KIND,
    SENTENCES,
    Ambiguity,
    AmbiguityEvidence,
    AmbiguitySource,
    MeaningCandidate,
    ambiguities,
)
from cairn.semantic.database import Connection, stored
from cairn.semantic.facts import FactSnapshot, SemanticFacts
from cairn.semantic.importing import owns
from cairn.semantic.model import Certainty, Context, FactFreshness, FileState, Job, OccurrenceRole, family_of
from cairn.semantic.places import spot
from cairn.semantic.state import FileStanding, Key, state_of

ACCEPT = "accept"
"""The choice of who takes the facts as they are: nothing else is meant."""

_FIND = (
    "SELECT decision, proof_payload, created_at, file_hashes FROM decision_cache"
    " WHERE ambiguity_signature = ? AND repo_head = ? AND file_hashes_digest = ?"
)
_PUT = (
    "INSERT INTO decision_cache (ambiguity_signature, repo_head, file_hashes, file_hashes_digest, decision,"
    " proof_payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (ambiguity_signature, repo_head, file_hashes_digest) DO UPDATE SET"
    " decision = excluded.decision, proof_payload = excluded.proof_payload, created_at = excluded.created_at"
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a decision: an ambiguity, a commit (empty when there is none), and the files with their hashes."""

    signature: str
    head: str
    file_hashes: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """One digest of all file hashes."""
        return sha256(self.hashes_json().encode()).hexdigest()

    def hashes_json(self) -> str:
        """Return the file hashes as stored: one text for the same files, in whatever order they came."""
        return _text(dict(self.file_hashes))


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice (ids of candidates, or `ACCEPT`) and its proof: what the person saw when choosing."""

    signature: str
    selected: tuple[str, ...]
    proof: Mapping[str, Any]
    created_at: float


def replay(db: Connection, inputs: Inputs) -> Decision | None:
    """Return the decision that was made about exactly these inputs; None when there is none or its row is invalid."""
    row = db.execute(_FIND, (inputs.signature, inputs.head, inputs.digest)).fetchone()
    if row is None or row[3] != inputs.hashes_json():
        return None
    try:
        selected, proof = json.loads(row[0])["selected"], json.loads(row[1])
    except (ValueError, TypeError, KeyError):
        return None
    if not (isinstance(selected, list) and all(isinstance(one, str) for one in selected) and isinstance(proof, dict)):
        return None
    return Decision(inputs.signature, tuple(selected), proof, float(row[2]))


def record(db: Connection, inputs: Inputs, decision: Decision) -> None:
    """Store a decision in place of an earlier one about the same inputs; the caller holds the transaction."""
    kept = _text({"selected": list(decision.selected)})
    hashes = inputs.hashes_json()
    row = (inputs.signature, inputs.head, hashes, inputs.digest, kept, _text(decision.proof), decision.created_at)
    db.execute(_PUT, row)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


# --- the mutation gate ------------------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What may be done with a file, the worst last."""

    AUTOMATIC = "automatic"
    NEEDS_DECISION = "needs_decision"
    BLOCKED = "blocked"


class EditReach(StrEnum):
    """How far the known facts of a file carry an edit."""

    CROSS_FILE = "cross_file"
    LOCAL = "local"
    NONE = "none"


_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Witness:
    """Why a file is blocked: what is not fresh, in sentences, and the job or the command that cures it."""

    reasons: tuple[str, ...]
    cure: str
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class GateFile:
    """One file at the gate. `questions` are all of its ambiguities, `open` the undecided ones."""

    path: str
    context: str | None
    """The id of the context that knows it, or that would."""
    state: FileState
    verdict: Verdict
    reach: EditReach
    questions: tuple[Ambiguity, ...] = ()
    open: tuple[Ambiguity, ...] = ()
    decided: tuple[Decision, ...] = ()
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class MutationGate:
    """The files that are to be edited together; the worst of their verdicts counts."""

    files: tuple[GateFile, ...]

    @property
    def verdict(self) -> Verdict:
        return max((one.verdict for one in self.files), key=_ORDER.index, default=Verdict.BLOCKED)


def verdict_of(state: FileState, *, decided: bool = False) -> Verdict:
    """Return the verdict on a file: automatic when clean and certain, a decision when ambiguous, otherwise blocked."""
    if state.freshness is not FactFreshness.CLEAN or state.certainty is Certainty.UNKNOWN:
        return Verdict.BLOCKED
    if state.certainty is Certainty.AMBIGUOUS and not decided:
        return Verdict.NEEDS_DECISION
    return Verdict.AUTOMATIC


def reach_of(verdict: Verdict, *, parsed: bool) -> EditReach:
    """Return how far edits go: across files with facts that hold, inside one definition where the syntax is known."""
    if verdict is Verdict.AUTOMATIC:
        return EditReach.CROSS_FILE
    return EditReach.LOCAL if parsed else EditReach.NONE


# --- the state of files -----------------------------------------------------------------------------------------------


_REFRESH = "Run `cairn semantic refresh`."
_NOT_PARSED = "It was not parsed (it may be too large), so what is ambiguous in it is not known."
_SILENT = "The indexer has read the project, and said nothing of it: it may be for another system, or left out there."
_BY_HAND = "Edit it by hand: reading it again would change nothing."
_NO_CONTEXT = "No context holds it, so no indexer reads it; `cairn semantic discover` shows which there are."
_QUEUED = "Job {id} waits and will refresh it; `cairn semantic refresh` runs it."
_RUNNING = "Job {id} is refreshing it; `cairn semantic jobs` shows when it has ended."


class FileStateService:
    """States of files and gates for edits at one pinned snapshot; `head` is the commit of the snapshot.

    Files and contexts are named by their numbers in the database, or files by their paths.
    """

    def __init__(
        self, db: Connection, pinned: FactSnapshot, head: str = "", facts: SemanticFacts | None = None
    ) -> None:
        self._db, self._pinned, self._head = db, pinned, head
        self.facts = facts or SemanticFacts(db, pinned)
        self._ambiguous: dict[str, tuple[Ambiguity, ...]] = {}
        self._members = cache(self._members_of_name)

    # --- by numbers ---------------------------------------------------------------------------------------------------

    def get_file_state(self, file_id: int, context_id: int) -> FileState:
        """Return the state of one file in one context."""
        return self.get_file_states_batch([file_id], context_id)[file_id]

    def get_file_states_batch(self, file_ids: Sequence[int], context_id: int) -> dict[int, FileState]:
        """Return the state of each of these files in one context."""
        found = {}
        for file_id in file_ids:
            standing = self.facts.standings.get((context_id, file_id))
            found[file_id] = self._state(self.facts.paths.get(file_id, ""), standing)
        return found

    def check_mutation_gate(self, file_ids: Sequence[int], context_id: int) -> MutationGate:
        """Return the gate for editing these files together, by what this context knows."""
        context = self.facts.contexts.get(context_id)
        files = []
        for file_id, state in self.get_file_states_batch(file_ids, context_id).items():
            path = self.facts.paths.get(file_id, "")
            files.append(self._file(path, context.key if context else None, state))
        return MutationGate(tuple(files))

    # --- by paths -----------------------------------------------------------------------------------------------------

    def state(self, path: str) -> FileState:
        """Return the state of a file in the context that knows the file."""
        return self._state(path, self.facts.standing(path)[1])

    def gate(self, paths: Iterable[str], concerns: Callable[[Ambiguity], bool] | None = None) -> MutationGate:
        """Return the gate for editing these files together, each by the context that knows the file.

        With `concerns`, only those ambiguities count for which it is true.
        """
        files = []
        for path in paths:
            found = tuple(filter(concerns, self.ambiguous(path))) if concerns and self._is_clean(path) else None
            state = self._state(path, self.facts.standing(path)[1], found)
            files.append(self._file(path, self._context(path), state, found))
        return MutationGate(tuple(files))

    def ambiguous(self, path: str) -> tuple[Ambiguity, ...]:
        """Return what is ambiguous in a clean file; the detectors run once for each file."""
        if path not in self._ambiguous:
            evidence = self.evidence(path)
            found = (*ambiguities(evidence), *self._unknown_uses(evidence)) if evidence is not None else ()
            self._ambiguous[path] = tuple(sorted(found, key=lambda one: (one.line, one.source, one.name)))
        return self._ambiguous[path]

    def hash_of(self, path: str) -> str:
        """Return the hash of a file in the snapshot; empty when the snapshot does not hold it."""
        is_now = self._pinned.now(path)
        return is_now.content_hash if is_now else ""

    def evidence(self, path: str) -> AmbiguityEvidence | None:
        """Return what the detectors need to know of a file; None when no indexer or no parser understands it."""
        family, syntax = family_of(path), self.facts.syntax(path)
        if family is None or syntax is None:
            return None
        places = {(one.start_line, one.start_column) for _, one in self.facts.in_file(path)}

        def resolved(at: int) -> bool:
            return spot(syntax.text, at) in places

        return AmbiguityEvidence(path, family, *syntax, resolved)

    # --- decisions ----------------------------------------------------------------------------------------------------

    def inputs(self, one: Ambiguity) -> Inputs:
        """Return the inputs of a decision about an ambiguity, with the hash of every file that may be meant."""
        paths = sorted({one.path, *(candidate.path for candidate in one.candidates)})
        return Inputs(one.signature, self._head, tuple((path, self.hash_of(path)) for path in paths))

    def decided(self, one: Ambiguity) -> Decision | None:
        """Return the decision that somebody made about exactly this ambiguity; None when there is none."""
        return replay(self._db, self.inputs(one))

    # --- parts --------------------------------------------------------------------------------------------------------

    def _is_clean(self, path: str) -> bool:
        return self.facts.clean(path) is not None and self.facts.syntax(path) is not None

    def _unknown_uses(self, evidence: AmbiguityEvidence) -> Iterator[Ambiguity]:
        """Yield calls through a value that the indexer does not know, of a name that a member of the codebase has."""
        left = MOST_OF_A_KIND
        for use in evidence.references:
            if left and use.kind == ReferenceKind.CALL and use.receiver and not evidence.resolved(use.start_byte):
                candidates = self._members(use.name)
                if candidates:
                    left -= 1
                    yield Ambiguity(AmbiguitySource.UNRESOLVED_USE, evidence.path, use.line, use.name, candidates)

    def _members_of_name(self, name: str) -> tuple[MeaningCandidate, ...]:
        found = self.facts.occurrences(one for one in self.facts.members_named(name) if self.facts.is_ours(one))
        defined = (one for one in found if one.role is OccurrenceRole.DEFINITION)
        return tuple(MeaningCandidate(one.path, one.start_line, name) for one in defined)[:MOST_CANDIDATES]

    def _state(
        self, path: str, standing: FileStanding[Key] | None, found: tuple[Ambiguity, ...] | None = None
    ) -> FileState:
        flags: tuple[str, ...] = ()
        if standing is not None and standing.freshness is FactFreshness.CLEAN:
            if self.facts.syntax(path) is None:
                return FileState(FactFreshness.CLEAN, Certainty.UNKNOWN, (_NOT_PARSED,))
            flags = (*map(_sentence, self.ambiguous(path) if found is None else found), *self.facts.flags(path))
        state = state_of(standing, flags, lambda key: self.facts.paths[key[1]])
        is_silent = state.freshness is FactFreshness.UNINDEXED and self.facts.is_silent(path)
        return FileState(state.freshness, state.certainty, (_SILENT,)) if is_silent else state

    def _file(
        self, path: str, context: str | None, state: FileState, only: tuple[Ambiguity, ...] | None = None
    ) -> GateFile:
        every = self.ambiguous(path) if only is None and state.certainty is Certainty.AMBIGUOUS else only or ()
        found = every if state.certainty is Certainty.AMBIGUOUS else ()
        decisions = {one: self.decided(one) for one in found}
        still_open = tuple(one for one, decision in decisions.items() if decision is None)
        # Flags of the importer have no candidates that anybody could choose from.
        verdict = verdict_of(state, decided=not still_open and not self.facts.flags(path))
        return GateFile(
            path,
            context,
            state,
            verdict,
            reach_of(verdict, parsed=self.facts.syntax(path) is not None),
            found,
            still_open,
            tuple(decision for decision in decisions.values() if decision is not None),
            self._witness(context, state) if verdict is Verdict.BLOCKED else None,
        )

    def _witness(self, context: str | None, state: FileState) -> Witness:
        job = next((one for one in self._pending if one.context == context), None)
        if state.freshness is FactFreshness.CLEAN or state.reasons == (_SILENT,):
            return Witness(state.reasons, _BY_HAND)
        if context is None:
            return Witness(state.reasons, _NO_CONTEXT)
        if job is None:
            return Witness(state.reasons, _REFRESH)
        return Witness(state.reasons, (_RUNNING if job.started_at else _QUEUED).format(id=job.id), job)

    def _context(self, path: str) -> str | None:
        known = self.facts.standing(path)[0]
        if known is not None:
            return self.facts.contexts[known].key
        owners = [one for one in self._stored if owns(one, path)]
        return max(owners, key=lambda one: len(one.root)).id if owners else None

    @cached_property
    def _stored(self) -> tuple[Context, ...]:
        return stored(self._db)

    @cached_property
    def _pending(self) -> tuple[Job, ...]:
        return jobs.pending(self._db)


def _sentence(one: Ambiguity) -> str:
    return f"{one.name} on line {one.line}: {SENTENCES[one.source]}"
