"""A rename, planned: every occurrence that the indexers know, verified against the snapshot, as one patch.

There is a patch only when every file with the name is clean and nothing is left to decide. Applying it is the user's.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cairn.errors import UsageError
from cairn.semantic.ambiguity import MOST_OF_A_KIND, Ambiguity, Candidate, Source, unresolved_uses
from cairn.semantic.decisions import ACCEPT, Decision
from cairn.semantic.gate import MutationGate, Verdict
from cairn.semantic.model import Family, Freshness, Occurrence, OccurrenceRole
from cairn.semantic.patch import Replacement, file_patch
from cairn.semantic.service import FileStateService

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that the patch changes, at so many places."""

    path: str
    places: int


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """What a rename would change, and whether it may be. `patch` is empty unless it may be done by itself.

    `questions` are those about the name, and `open` those that nobody has decided; those about a file stand in the
    gate. `mentions` are clean files that have the name and nothing of the symbol: other symbols, comments, texts.
    `outside` are symbols of other projects that it implements, whose name it has to keep. `left` counts the places in
    changed files that have the name and stay: comments, and texts such as those in `__all__`.
    """

    old: str
    new: str
    gate: MutationGate
    edits: tuple[FileEdit, ...]
    patch: bytes = b""
    questions: tuple[Ambiguity, ...] = ()
    open: tuple[Ambiguity, ...] = ()
    decided: tuple[Decision, ...] = ()
    mentions: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    left: int = 0

    @property
    def verdict(self) -> Verdict:
        """The worst of the files, of the questions about the name, and of what lies outside."""
        own = Verdict.BLOCKED if self.outside else Verdict.NEEDS_DECISION if self.open else Verdict.AUTOMATIC
        return max(own, self.gate.verdict, key=_ORDER.index)


def checked_name(family: Family | None, old: str, new: str) -> None:
    """Refuse, with `UsageError`, a name that no definition of this language can have."""
    fits = new.isidentifier() and not keyword.iskeyword(new) if family is Family.PYTHON else _WORD.fullmatch(new)
    if not fits:
        raise UsageError(problem="The new name is no name in this language.")
    if old == new:
        raise UsageError(problem="The new name is the old one.")
    if family is Family.PYTHON and old.startswith("__") and old.endswith("__"):
        raise UsageError(problem="The language itself gives this name its meaning, so it must stay.")


def plan_rename(
    service: FileStateService, symbols: frozenset[int], old: str, new: str, named: Iterable[str]
) -> RenamePlan:
    """The plan for these symbols. `named` are the files of the language that hold the old name anywhere."""
    facts = service.facts
    related = frozenset(one for symbol in symbols for one in facts.related(symbol))
    found = facts.occurrences(related)
    defined = [one for one in found if one.role is OccurrenceRole.DEFINITION]
    outside = {facts.symbol(one) for one in related} - {one.symbol for one in defined}
    candidates = tuple(Candidate(one.path, one.start_line, old) for one in defined)
    edits = _edits(service, found, old, new)
    fresh = {path: service.state(path).freshness is Freshness.CLEAN for path in named}
    questions = [
        *_shared(service, found, related, candidates),
        *(one for path, clean in fresh.items() if clean for one in _unresolved(service, path, old, candidates)),
        *(one for path in edits for one in _taken(service, path, new)),
    ]
    decisions = {one: service.decided(one) for one in questions[:MOST_OF_A_KIND]}
    for one, decision in decisions.items():
        if decision is not None and one.source is Source.UNRESOLVED_USE and ACCEPT not in decision.selected:
            edits[one.path] = (*edits.get(one.path, ()), *_on_line(service, one, new))
    plan = RenamePlan(
        old,
        new,
        service.gate([*edits, *(path for path, clean in fresh.items() if not clean and path not in edits)]),
        tuple(FileEdit(path, len(places)) for path, places in edits.items()),
        questions=tuple(decisions),
        open=tuple(one for one, decision in decisions.items() if decision is None),
        decided=tuple(decision for decision in decisions.values() if decision is not None),
        mentions=tuple(path for path, clean in fresh.items() if clean and path not in edits),
        outside=tuple(sorted(outside)),
        left=sum(_count(service, path, old) - len(places) for path, places in edits.items()),
    )
    if plan.verdict is not Verdict.AUTOMATIC:
        return plan
    return replace(plan, patch=b"".join(_patch(service, path, places) for path, places in edits.items()))


def _edits(
    service: FileStateService, found: Iterable[Occurrence], old: str, new: str
) -> dict[str, tuple[Replacement, ...]]:
    """What becomes of each file, in order; an occurrence under another name stays as it is."""
    word = _whole(old)
    edits: dict[str, dict[Replacement, None]] = {}
    for one in found:
        if one.start_line != one.end_line:
            continue
        text = service.facts.lines(one.path)[one.start_line - 1][one.start_column : one.end_column]
        match = word.search(text)
        if match is not None:
            at = one.start_column + match.start()
            place = Replacement(one.start_line, at, at + len(match[0]), new.encode())
            edits.setdefault(one.path, {})[place] = None
    return {path: tuple(places) for path, places in sorted(edits.items())}


def _patch(service: FileStateService, path: str, places: Iterable[Replacement]) -> bytes:
    syntax = service.facts.syntax(path)
    assert syntax is not None, "a file at which the gate is open was parsed"
    return file_patch(path, syntax.text, places)


def _shared(
    service: FileStateService,
    found: Iterable[Occurrence],
    related: frozenset[int],
    candidates: tuple[Candidate, ...],
) -> Iterator[Ambiguity]:
    """Places that stand for another symbol too, such as `{ name }`, which is a property and its value."""
    for one in found:
        if service.facts.symbols_at(one.path, one.start_line, one.start_column) - related:
            yield Ambiguity(Source.SHARED_PLACE, one.path, one.start_line, candidates[0].name, candidates)


def _unresolved(
    service: FileStateService, path: str, old: str, candidates: tuple[Candidate, ...]
) -> Iterator[Ambiguity]:
    evidence = service.evidence(path)
    return unresolved_uses(old, candidates, evidence) if evidence is not None else iter(())


def _on_line(service: FileStateService, one: Ambiguity, new: str) -> Iterator[Replacement]:
    """The uses on a line that somebody has decided to mean the symbol."""
    evidence = service.evidence(one.path)
    assert evidence is not None, "the question came from what is known of the file"
    for use in evidence.references:
        if (use.line, use.name) == (one.line, one.name) and not evidence.resolved(use.start_byte):
            yield Replacement(use.line, use.column, use.column + len(use.name.encode()), new.encode())


def _taken(service: FileStateService, path: str, new: str) -> Iterator[Ambiguity]:
    """The first line of a file to be changed that has the new name already."""
    word = _whole(new)
    for number, line in enumerate(service.facts.lines(path), 1):
        if word.search(line):
            yield Ambiguity(Source.NAME_TAKEN, path, number, new, (Candidate(path, number, new),))
            return


def _count(service: FileStateService, path: str, name: str) -> int:
    word = _whole(name)
    return sum(len(word.findall(line)) for line in service.facts.lines(path))


def _whole(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w$])" + re.escape(name.encode("utf-8", "surrogateescape")) + rb"(?![\w$])")
