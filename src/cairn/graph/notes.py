"""What a call graph does not show, in notes: which of them belong to an answer, in which order, and how many."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.types import Reference
from cairn.graph.facts import CALLABLES, Facts
from cairn.graph.shadows import binds

NOTES_TRUNCATED = "CALL_GRAPH_NOTES_TRUNCATED"

_MOST_SCOPES = 50
_PATH = re.compile(r"[\w$]+(?:(?:\.|::|->|\?\.)[\w$]+)*")
# What calls something by a name that is made while the program runs.
_REFLECTION_NAMES = """
getattr eval exec __import__ import_module attrgetter methodcaller apply Reflect Function invoke forName newInstance
getMethod getDeclaredMethod CreateInstance send public_send instance_eval class_eval const_get call_user_func
call_user_func_array MethodByName dlsym
"""
_REFLECTION = frozenset(_REFLECTION_NAMES.split())


class NoteType(StrEnum):
    """Why an edge is not there, or why it may be missing."""

    UNRESOLVED = "unresolved_edge"
    DYNAMIC = "dynamic_edge"
    MISSING = "missing_symbol_metadata"
    SUPPRESSED = "suppressed_edge"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know. `detail` is a sentence of ours; `text` is what the repository says there."""

    type: NoteType
    file: str
    symbol_id: str | None = None
    start_line: int | None = None
    detail: str | None = None
    text: str = ""


class ShownNotes(NamedTuple):
    """The notes of an answer, and how many belong to it."""

    notes: tuple[Note, ...]
    total: int

    @property
    def truncated(self) -> bool:
        """Whether some that belong to the answer are not in it."""
        return len(self.notes) < self.total


def relevant(notes: Iterable[Note], files: Collection[str], symbol_ids: Collection[str], limit: int) -> ShownNotes:
    """Of the notes about what an answer returns the first so many, in an order that depends on nothing else."""
    kept = [note for note in notes if note.file in files and (note.symbol_id is None or note.symbol_id in symbol_ids)]
    return ShownNotes(tuple(sorted(kept, key=_order)[:limit]), len(kept))


def _order(note: Note) -> tuple[str, str, bool, str, bool, int, str, str]:
    return (
        note.file,
        note.type.value,
        note.symbol_id is None,
        note.symbol_id or "",
        note.start_line is None,
        note.start_line or 0,
        detail_hash(note.detail),
        # Two calls on one line may have the same sentence.
        note.text,
    )


def detail_hash(detail: str | None) -> str:
    """A hash of the sentence that is the same everywhere; without a sentence that of an empty one."""
    return hashlib.sha256((detail or "").encode()).hexdigest()


def note_of_call(facts: Facts, call: Reference, symbol_id: str, candidates: int) -> Note | None:
    """Why a call leads to nothing that is known; None when no definition of the snapshot could be meant."""

    def note(kind: NoteType, detail: str) -> Note:
        text = f"{call.receiver}.{call.name}" if call.receiver else call.name
        return Note(kind, facts.path, symbol_id, call.line, detail, text)

    if call.name in _REFLECTION or call.receiver in _REFLECTION:
        return note(NoteType.DYNAMIC, "What is called is chosen while the program runs.")
    if not call.receiver and _is_local(facts, call):
        return note(NoteType.DYNAMIC, "A value is called that the function was given or has made.")
    if not candidates:
        return None
    one = "1 definition has this name" if candidates == 1 else f"{candidates} definitions have this name"
    if call.receiver and not _PATH.fullmatch(call.receiver):
        return note(NoteType.DYNAMIC, f"What it is called on is computed; {one}.")
    return note(NoteType.UNRESOLVED, f"{one}, and nothing shows whether {'it' if candidates == 1 else 'one'} is meant.")


def _is_local(facts: Facts, call: Reference) -> bool:
    """Whether a function around the call binds the name itself."""
    number = call.scope
    for _ in range(_MOST_SCOPES):
        if number < 0:
            return False
        symbol = facts.symbols[number]
        if symbol.kind in CALLABLES:
            header = symbol.name_byte - symbol.start_byte + len(symbol.name.encode())
            if binds(facts.rules, facts.text[symbol.start_byte : symbol.end_byte], call.name, header):
                return True
        number = symbol.parent
    return False
