"""Answer questions about edits of an open codebase: the state of files, what may be edited, how a rename would look.

The questions read the snapshot that the session holds and the semantic database beside it. Only `decide` writes, and
only a decision.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from cairn.ask.meaning import database_of, facts_of
from cairn.ask.relations import place_of, symbol_asked_for
from cairn.ask.session import Session, text_of
from cairn.ask.structure import Asked, file_asked_for, reply_of
from cairn.ask.values import Miss, Reply
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.filetypes import language_of
from cairn.core.limits import MAX_EDIT_FILES, MAX_PARSE_BYTES
from cairn.core.tokens import whole_name
from cairn.core.types import FileWords, NamePlace, Skip, StoredFile, WordKind
from cairn.edit.journal import WantedFile
from cairn.errors import NotFound, Unsupported, UsageError
from cairn.graph.informed import InformedGraph, PinnedView
from cairn.graph.outline import Definition, has_outline
from cairn.graph.references import Graph
from cairn.search.searcher import Searcher
from cairn.semantic.ambiguity import Ambiguity
from cairn.semantic.editing import (
    ACCEPT,
    Decision,
    EditReach,
    FileStateService,
    GateFile,
    MutationGate,
    Verdict,
    Witness,
    reach_of,
    record,
    verdict_of,
)
from cairn.semantic.model import Certainty, FactFreshness, Family, FileState, family_of
from cairn.semantic.patch import replaced
from cairn.semantic.places import spot
from cairn.semantic.plan import LeftOutPlace, RenamePlan
from cairn.semantic.rename import checked_name, plan_rename
from cairn.semantic.state import state_of
from cairn.semantic.texts import may_hold_code
from cairn.source.beneath import Tree
from cairn.source.fresh import DiskState, disk_state, spellings
from cairn.source.left_out import LeftOut, left_out
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.syntax.mentions import word_places
from cairn.syntax.occurrences import places_of_name

T = TypeVar("T")
_NOT_SET_UP = "No indexer has read this codebase: `cairn semantic refresh` runs those that are installed."
_CHANGED = "It has changed on disk since the snapshot."
_SYNC = "Run `cairn sync`, then `cairn semantic refresh`."
_LEAST_SIGNATURE = 8
MOST_NOTE = 500


@dataclass(frozen=True, slots=True)
class Renaming:
    """A rename to plan: a definition, the file that has it where several do, and the new name."""

    symbol: Asked
    new: str
    file: Asked | None = None


def check_edit(session: Session, files: Sequence[Asked]) -> Reply[MutationGate]:
    """Return the state of each file, and whether all of them may be edited together by what the indexers know."""
    if not 1 <= len(files) <= MAX_EDIT_FILES:
        raise UsageError(problem=f"Name from 1 to {MAX_EDIT_FILES} files.")

    def ask(searcher: Searcher) -> MutationGate | Miss:
        found: dict[str, StoredFile] = {}
        for asked in files:
            file = file_asked_for(session, searcher, asked)
            if isinstance(file, Miss):
                return file
            found[file.key] = file
        gate = _served(session, searcher, lambda service: service.gate(found))
        return _on_disk(session, searcher, gate or MutationGate(tuple(_unknown(file) for file in found.values())))

    return reply_of(session, files[0].path, ask)


def rename(session: Session, renaming: Renaming) -> Reply[RenamePlan]:
    """Return what a rename would change and whether it may be done; with the patch when nothing stands against it."""

    def ask(searcher: Searcher) -> RenamePlan | Miss:
        one = symbol_asked_for(session, searcher, renaming.symbol, renaming.file)
        if isinstance(one, Miss):
            return one
        checked_name(family_of(one.path), one.name, renaming.new)
        file = searcher.view.file(one.path)
        assert file is not None, "a definition stands in a file of the snapshot"
        plan = _served(session, searcher, lambda service: _planned(session, searcher, service, one, renaming.new))
        if isinstance(plan, RenamePlan):
            gate = _on_disk(session, searcher, plan.gate)
            return plan if gate == plan.gate else replace(plan, gate=gate, patch=b"")
        return plan or RenamePlan(one.name, renaming.new, MutationGate((_unknown(file),)), ())

    return reply_of(session, renaming.symbol.path, ask)


def wanted_files(session: Session, plan: RenamePlan) -> list[WantedFile]:
    """Return what an automatic plan makes of each file, under the name that the file has on disk."""
    found = []
    with Tree(session.target.codebase.root) as tree:
        for edit in plan.edits:
            text = text_of(session, edit.path)
            assert text is not None, "a file at which the gate is open is in the snapshot"
            after = replaced(text, edit.replacements)
            found.append(WantedFile(_raw_name(tree, edit.path), edit.content_hash, after))
    return found


def _raw_name(tree: Tree, key: str) -> bytes:
    for raw in spellings(key.encode(), key):
        with suppress(OSError):
            tree.lstat(raw)
            return raw
    return key.encode()


def decide(
    session: Session,
    signature: str,
    selected: Sequence[str],
    about: Sequence[Asked] | Renaming,
    *,
    note: str = "",
    clock: Clock = SYSTEM_CLOCK,
) -> Reply[Decision]:
    """Record what was chosen for an ambiguity of these files or of this rename, and what was seen then.

    `signature` is the one that the gate gave, or its beginning. The reply is a `NotFound` miss when no ambiguity has it
    any more.
    """
    if len(signature) < _LEAST_SIGNATURE:
        raise UsageError(problem=f"Say at least {_LEAST_SIGNATURE} characters of the signature.")

    def ask(searcher: Searcher) -> Decision | Miss:
        told = rename(session, about) if isinstance(about, Renaming) else check_edit(session, about)
        if told.value is None:
            return told.miss or Miss(NotFound(problem="There is no index.", advice="Run `cairn index`"))
        one = _meant(told.value, signature)
        if one is None:
            problem = "Nothing that is ambiguous there has this signature."
            return Miss(NotFound(problem=problem, advice="`cairn semantic gate` shows what there is to decide now"))
        options = {ACCEPT, *(candidate.id for candidate in one.candidates)}
        if not selected or not options.issuperset(selected):
            raise UsageError(problem=f"Choose among: {', '.join(sorted(options)[:20])}.")
        return _kept(session, searcher, one, selected, note[:MOST_NOTE], clock)

    return reply_of(session, signature, ask)


# --- parts ------------------------------------------------------------------------------------------------------------


def _served(session: Session, searcher: Searcher, question: Callable[[FileStateService], T]) -> T | None:
    """Return the answer of the semantic layer; None where no indexer has read the codebase."""
    with database_of(session).reading() as db:
        if db is None:
            return None
        service = FileStateService(db, PinnedView(searcher.view), _head(searcher), facts_of(session, db))
        return question(service) if service.facts.contexts else None


def _on_disk(session: Session, searcher: Searcher, gate: MutationGate) -> MutationGate:
    """Return the gate, closed for files that have changed on disk since the snapshot."""
    files = []
    with Tree(session.target.codebase.root) as tree:
        for one in gate.files:
            file = searcher.view.file(one.path)
            same = file is not None and disk_state(tree, spellings(one.path.encode(), one.path), file) is DiskState.SAME
            files.append(one if same or one.verdict is Verdict.BLOCKED else _moved_on(one))
    return MutationGate(tuple(files))


def _moved_on(one: GateFile) -> GateFile:
    state = FileState(FactFreshness.DIRTY, Certainty.UNKNOWN, (_CHANGED,))
    witness = Witness(state.reasons, _SYNC)
    return replace(
        one, state=state, verdict=Verdict.BLOCKED, reach=EditReach.NONE, questions=(), open=(), witness=witness
    )


def _head(searcher: Searcher) -> str:
    return searcher.view.manifest.git.head_sha or ""


def _unknown(file: StoredFile) -> GateFile:
    """Return the gate of a file that no indexer has read."""
    state: FileState = state_of(None, (), str)
    verdict = verdict_of(state)
    reach = reach_of(verdict, parsed=has_outline(file))
    return GateFile(file.key, None, state, verdict, reach, witness=Witness(state.reasons, _NOT_SET_UP))


def _planned(
    session: Session, searcher: Searcher, service: FileStateService, one: Definition, new: str
) -> RenamePlan | Miss:
    graph = InformedGraph(session.kept(Graph), service.facts)
    symbols = graph.symbols_of(place_of(graph, one))
    gate = service.gate([one.path])
    if not symbols:
        if service.facts.clean(one.path) is None:
            return RenamePlan(one.name, new, gate, ())
        problem = f"The indexer has no symbol for the {one.kind} on line {one.start_line}."
        return Miss(Unsupported(problem=problem, advice="Rename it by hand; `cairn refs` lists its uses"))
    beyond = _left_out_with(session, searcher, one)
    return plan_rename(service, symbols, one.name, new, _files_with(searcher, one), _words(searcher, one), beyond)


def _files_with(searcher: Searcher, one: Definition) -> dict[str, tuple[NamePlace, ...]]:
    """Return the files of the family that hold the name of a definition, in order, with the places where it is code."""
    family, whole = family_of(one.path), whole_name(one.name)
    found = {}
    for path, file in sorted(searcher.view.records().items()):
        text = searcher.view.text(path) if file.skip is None and family_of(path) is family else None
        if text is not None and whole.search(text):
            # A file that was not parsed may have killed the worker that tried: it is not parsed in this process.
            found[path] = places_of_name(bytes(text), file.language, one.name) if has_outline(file) else ()
    return found


def _left_out_with(session: Session, searcher: Searcher, one: Definition) -> list[LeftOutPlace]:
    """Return the files of the family that are not in the index and hold the name, each with its first place."""
    family, codebase = family_of(one.path), session.target.codebase
    records = searcher.view.records()
    found = []
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config)
        # What was read and left out is no skip of the walk.
        read = [
            Skip(each.raw, record.skip)
            for each in walked.candidates
            if (record := records.get(each.key)) is not None and record.skip is not None
        ]
        for file in left_out(tree, (*walked.skips, *read), lambda raw: may_hold_code(family, printable(raw))):
            place = _place_in(file, one.name, family)
            if place is not None:
                found.append(place)
    return sorted(found)


def _place_in(file: LeftOut, name: str, family: Family | None) -> LeftOutPlace | None:
    """Return the first place of a name in the code of a file, or in a text that is the name; None without any."""
    path = printable(file.raw)
    if file.data is None:
        return LeftOutPlace(path, 1, "")
    if not whole_name(name).search(file.data):
        return None
    is_parsed = family_of(path) is family and len(file.data) <= MAX_PARSE_BYTES
    language = language_of(os.path.basename(file.raw)) if is_parsed else ""
    word = name.encode("utf-8", "surrogateescape")
    texts = (
        one.start_byte
        for one in word_places(file.data, language, name)
        if not language
        or one.kind is WordKind.MEMBER
        or (one.kind is WordKind.TEXT and file.data[one.text_start : one.text_end] == word)
    )
    code = (at for at, _ in places_of_name(file.data, language, name)) if language else ()
    at = min((*texts, *code), default=None)
    if at is None:
        return None
    return LeftOutPlace(path, spot(file.data, at)[0], sha256(file.data).hexdigest()[:16])


def _words(searcher: Searcher, one: Definition) -> dict[str, FileWords]:
    """Return every file that holds the name of a definition, in order, with its places that are no code."""
    family, whole = family_of(one.path), whole_name(one.name)
    found = {}
    for path, file in sorted(searcher.view.records().items()):
        view = searcher.view.text(path) if file.skip is None else None
        if view is not None and whole.search(view):
            text = bytes(view)
            is_parsed = has_outline(file) and family_of(path) is family
            places = word_places(text, file.language if is_parsed else "", one.name)
            if places:
                found[path] = FileWords(text, places)
    return found


def _meant(told: MutationGate | RenamePlan, signature: str) -> Ambiguity | None:
    """Return the one ambiguity whose signature begins so; a decided ambiguity may be decided again."""
    gate = told.gate if isinstance(told, RenamePlan) else told
    own = told.questions if isinstance(told, RenamePlan) else ()
    every = {one.signature: one for one in (*own, *(each for file in gate.files for each in file.questions))}
    found = [one for key, one in every.items() if key.startswith(signature)]
    if len(found) > 1:
        raise UsageError(problem="Several ambiguities have a signature that begins so: say more of it.")
    return found[0] if found else None


def _kept(
    session: Session, searcher: Searcher, one: Ambiguity, selected: Sequence[str], note: str, clock: Clock
) -> Decision:
    with database_of(session).writing() as db:
        inputs = FileStateService(db, PinnedView(searcher.view), _head(searcher)).inputs(one)
        proof = {
            "ambiguity": {"source": one.source.value, "path": one.path, "line": one.line, "name": one.name},
            "candidates": [candidate.id for candidate in one.candidates],
            "snapshot": session.snapshot,
            "head": inputs.head,
            "fileHashes": dict(inputs.file_hashes),
            "note": note,
        }
        decision = Decision(one.signature, tuple(selected), proof, clock.wall_ns() / 1e9)
        record(db, inputs, decision)
        return decision
