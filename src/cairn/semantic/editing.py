"""Decisions that people made about ambiguities, kept with their proof and replayed only for identical inputs.

Identical are the ambiguity, the commit and the bytes of every file that it is about: a tree with edits at the same
commit has a decision of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any

from cairn.semantic import jobs
from cairn.semantic.ambiguity import SENTENCES, Ambiguity, Evidence, ambiguities
from cairn.semantic.database import Connection, stored
from cairn.semantic.facts import Pinned, SemanticFacts
from cairn.semantic.importing import owns
from cairn.semantic.model import Certainty, Context, FileState, Freshness, Job, family_of
from cairn.semantic.places import spot
from cairn.semantic.state import Key, Standing, state_of

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
    """What a decision was made about: an ambiguity, a commit (empty without one), and the files by their hashes."""

    signature: str
    head: str
    file_hashes: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """One for all hashes."""
        return sha256(self.hashes_json().encode()).hexdigest()

    def hashes_json(self) -> str:
        """The hashes as they are kept: one text for the same files, in whatever order they came."""
        return _text(dict(self.file_hashes))


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen, by the ids of candidates or `ACCEPT`, and the proof: what was seen when it was."""

    signature: str
    selected: tuple[str, ...]
    proof: Mapping[str, Any]
    created_at: float


def replay(db: Connection, inputs: Inputs) -> Decision | None:
    """The decision that was made about exactly this; None when there is none, or what is kept is no decision."""
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
    """Keep a decision, in place of an earlier one about the same; whoever calls this holds the transaction."""
    kept = _text({"selected": list(decision.selected)})
    hashes = inputs.hashes_json()
    row = (inputs.signature, inputs.head, hashes, inputs.digest, kept, _text(decision.proof), decision.created_at)
    db.execute(_PUT, row)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


# --- The mutation gate: what may be edited by itself, what a person must decide first, and what is blocked and
# why.


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


# --- The state of files at a pinned snapshot and the gate before edits of them, for one request.


_REFRESH = "Run `cairn semantic refresh`."
_NOT_PARSED = "It was not parsed (it may be too large), so what is ambiguous in it is not known."
_SILENT = "The indexer has read the project, and said nothing of it: it may be for another system, or left out there."
_BY_HAND = "Edit it by hand: reading it again would change nothing."
_NO_CONTEXT = "No context holds it, so no indexer reads it; `cairn semantic discover` shows which there are."
_QUEUED = "Job {id} waits and will refresh it; `cairn semantic refresh` runs it."
_RUNNING = "Job {id} is refreshing it; `cairn semantic jobs` shows when it has ended."


class FileStateService:
    """States and gates by the numbers of files and contexts, or by path. `head` is the commit of the snapshot."""

    def __init__(self, db: Connection, pinned: Pinned, head: str = "", facts: SemanticFacts | None = None) -> None:
        self._db, self._pinned, self._head = db, pinned, head
        self.facts = facts or SemanticFacts(db, pinned)
        self._ambiguous: dict[str, tuple[Ambiguity, ...]] = {}

    # --- by numbers ---------------------------------------------------------------------------------------------------

    def get_file_state(self, file_id: int, context_id: int) -> FileState:
        """The state of one file in one context."""
        return self.get_file_states_batch([file_id], context_id)[file_id]

    def get_file_states_batch(self, file_ids: Sequence[int], context_id: int) -> dict[int, FileState]:
        """The state of each of these files in one context."""
        found = {}
        for file_id in file_ids:
            standing = self.facts.standings.get((context_id, file_id))
            found[file_id] = self._state(self.facts.paths.get(file_id, ""), standing)
        return found

    def check_mutation_gate(self, file_ids: Sequence[int], context_id: int) -> MutationGate:
        """Whether these files may be edited together by what this context knows."""
        context = self.facts.contexts.get(context_id)
        files = []
        for file_id, state in self.get_file_states_batch(file_ids, context_id).items():
            path = self.facts.paths.get(file_id, "")
            files.append(self._file(path, context.key if context else None, state))
        return MutationGate(tuple(files))

    # --- by paths -----------------------------------------------------------------------------------------------------

    def state(self, path: str) -> FileState:
        """The state of a file in the context that knows it."""
        return self._state(path, self.facts.standing(path)[1])

    def gate(self, paths: Iterable[str]) -> MutationGate:
        """Whether these files may be edited together, each by what the context that knows it says."""
        return MutationGate(tuple(self._file(path, self._context(path), self.state(path)) for path in paths))

    def ambiguous(self, path: str) -> tuple[Ambiguity, ...]:
        """What is ambiguous in a clean file; it is looked for once."""
        if path not in self._ambiguous:
            evidence = self.evidence(path)
            self._ambiguous[path] = ambiguities(evidence) if evidence is not None else ()
        return self._ambiguous[path]

    def evidence(self, path: str) -> Evidence | None:
        """What is known of a file, for the detectors; None for one that no indexer or no parser understands."""
        family, syntax = family_of(path), self.facts.syntax(path)
        if family is None or syntax is None:
            return None
        places = {(one.start_line, one.start_column) for _, one in self.facts.in_file(path)}

        def resolved(at: int) -> bool:
            return spot(syntax.text, at) in places

        return Evidence(path, family, *syntax, resolved)

    # --- decisions ----------------------------------------------------------------------------------------------------

    def inputs(self, one: Ambiguity) -> Inputs:
        """What a decision about it would be made about: also the bytes of every file that may be meant."""
        paths = sorted({one.path, *(candidate.path for candidate in one.candidates)})
        now = {path: self._pinned.now(path) for path in paths}
        hashes = tuple((path, is_now.content_hash if is_now else "") for path, is_now in now.items())
        return Inputs(one.signature, self._head, hashes)

    def decided(self, one: Ambiguity) -> Decision | None:
        """The decision that somebody made about exactly this."""
        return replay(self._db, self.inputs(one))

    # --- parts --------------------------------------------------------------------------------------------------------

    def _state(self, path: str, standing: Standing[Key] | None) -> FileState:
        flags: tuple[str, ...] = ()
        if standing is not None and standing.freshness is Freshness.CLEAN:
            if self.facts.syntax(path) is None:
                return FileState(Freshness.CLEAN, Certainty.UNKNOWN, (_NOT_PARSED,))
            flags = (*map(_sentence, self.ambiguous(path)), *self.facts.flags(path))
        state = state_of(standing, flags, lambda key: self.facts.paths[key[1]])
        is_silent = state.freshness is Freshness.UNINDEXED and self.facts.is_silent(path)
        return FileState(state.freshness, state.certainty, (_SILENT,)) if is_silent else state

    def _file(self, path: str, context: str | None, state: FileState) -> GateFile:
        found = self.ambiguous(path) if state.certainty is Certainty.AMBIGUOUS else ()
        decisions = {one: self.decided(one) for one in found}
        still_open = tuple(one for one, decision in decisions.items() if decision is None)
        # What the importer alone has marked has no candidates that anybody could choose from.
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
        if state.freshness is Freshness.CLEAN or state.reasons == (_SILENT,):
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
