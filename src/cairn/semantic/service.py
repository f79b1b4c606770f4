"""The state of files at a pinned snapshot and the gate before edits of them, for one request.

Freshness is computed once for all files, by one look at the database; certainty only for the files that are asked
about, by what is ambiguous in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from cairn.semantic import jobs
from cairn.semantic.ambiguity import SENTENCES, Ambiguity, Evidence, ambiguities
from cairn.semantic.anchors import spot
from cairn.semantic.catalog import stored
from cairn.semantic.database import Connection
from cairn.semantic.decisions import Decision, Inputs, replay
from cairn.semantic.facts import Pinned, SemanticFacts
from cairn.semantic.families import family_of
from cairn.semantic.gate import GateFile, MutationGate, Verdict, Witness, reach_of, verdict_of
from cairn.semantic.importing import owns
from cairn.semantic.model import Certainty, Context, FileState, Freshness, Job
from cairn.semantic.picture import Key
from cairn.semantic.state import Standing, state_of

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
