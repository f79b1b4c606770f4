"""A rename, planned: every occurrence that the indexers know, verified against the snapshot, as one patch.

There is a patch only when every file with the name is clean and nothing is left to decide. Applying it is the user's.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from cairn.core.tokens import whole_name
from cairn.core.types import NamePlace, Shorthand
from cairn.errors import UsageError
from cairn.semantic.ambiguity import Ambiguity, Candidate, Source
from cairn.semantic.editing import ACCEPT, Decision, FileStateService, MutationGate, Verdict
from cairn.semantic.model import Family, Freshness, Occurrence, OccurrenceRole
from cairn.semantic.places import spot

# --- Replacements in the lines of a file → a patch that `git apply` takes, byte for byte.


_AROUND = 3
_NO_NEWLINE = b"\\ No newline at end of file\n"
_PLAIN = frozenset(range(0x20, 0x7F)) - set(b'"\\')
_ESCAPES = {0x07: b"a", 0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0B: b"v", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x5C: b"\\"}


class Replacement(NamedTuple):
    """These bytes of a line (counted from 1), half open, become others."""

    line: int
    start: int
    end: int
    new: bytes


def file_patch(path: str, old: bytes, replacements: Iterable[Replacement]) -> bytes:
    """The patch of one file; empty when nothing changes. `ValueError` when two replacements touch the same bytes."""
    lines = old.split(b"\n")
    ends_whole = lines[-1] == b""
    if ends_whole:
        lines.pop()
    changed = _changed(lines, replacements)
    if not changed:
        return b""
    before, after = _name(b"a/", path), _name(b"b/", path)
    parts = [b"diff --git %s %s\n--- %s\n+++ %s\n" % (before, after, _field(before), _field(after))]
    for first, last in _spans(sorted(changed), len(lines)):
        parts.append(b"@@ -%d,%d +%d,%d @@\n" % (first, last - first + 1, first, last - first + 1))
        parts += _hunk(lines, changed, first, last, ends_whole=ends_whole)
    return b"".join(parts)


def _changed(lines: Sequence[bytes], replacements: Iterable[Replacement]) -> dict[int, bytes]:
    """The lines that become others, by number."""
    changed: dict[int, bytes] = {}
    before: tuple[int, int] | None = None
    # From the end of each line, so that what comes first stays where it is.
    for line, start, end, new in sorted(replacements, reverse=True):
        if not 1 <= line <= len(lines) or not 0 <= start <= end <= len(lines[line - 1]) or b"\n" in new:
            raise ValueError("a replacement is not on its line")
        if before is not None and before[0] == line and end > before[1]:
            raise ValueError("two replacements touch the same bytes")
        before = line, start
        text = changed.get(line, lines[line - 1])
        changed[line] = text[:start] + new + text[end:]
    return {line: text for line, text in changed.items() if text != lines[line - 1]}


def _spans(numbers: Sequence[int], last: int) -> list[tuple[int, int]]:
    """The lines that are shown, those around included; spans that meet are one."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        first, end = max(1, number - _AROUND), min(last, number + _AROUND)
        if spans and first <= spans[-1][1] + 1:
            first = spans.pop()[0]
        spans.append((first, end))
    return spans


def _hunk(lines: Sequence[bytes], changed: dict[int, bytes], first: int, last: int, *, ends_whole: bool) -> list[bytes]:
    shown: list[bytes] = []
    removed: list[bytes] = []
    added: list[bytes] = []
    for number in range(first, last + 1):
        end = b"\n" if ends_whole or number < len(lines) else b"\n" + _NO_NEWLINE
        text = lines[number - 1]
        if number in changed:
            removed.append(b"-" + text + end)
            added.append(b"+" + changed[number] + end)
            continue
        shown += [*removed, *added, b" " + text + end]
        removed, added = [], []
    return [*shown, *removed, *added]


def _name(prefix: bytes, path: str) -> bytes:
    """A path as git writes it: between quotes, with escapes, when it is not plain."""
    raw = prefix + path.encode("utf-8", "surrogateescape")
    if all(byte in _PLAIN for byte in raw):
        return raw
    return b'"' + b"".join(_escaped(byte) for byte in raw) + b'"'


def _field(name: bytes) -> bytes:
    """A name on a line of its own; a tab ends one with a space in it."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _escaped(byte: int) -> bytes:
    if byte in _PLAIN:
        return bytes([byte])
    return b"\\" + _ESCAPES[byte] if byte in _ESCAPES else b"\\%03o" % byte


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
    changed files that have the name and stay: comments, and texts such as those in `__all__`; no code.
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
    service: FileStateService, symbols: frozenset[int], old: str, new: str, named: Mapping[str, Sequence[NamePlace]]
) -> RenamePlan:
    """The plan for these symbols.

    `named` are the files of the language that hold the old name anywhere, with the places at which it is code.
    """
    facts = service.facts
    code = {path: _code(service, path, places) for path, places in named.items()}
    related = _related(service, symbols, code)
    found = facts.occurrences(related)
    defined = [one for one in found if one.role is OccurrenceRole.DEFINITION]
    outside = {facts.symbol(one) for one in related if not facts.is_ours(one)}
    candidates = tuple(Candidate(one.path, one.start_line, old) for one in defined)
    edits = _edits(service, found, related, old, new, code)
    fresh = {path: service.state(path).freshness is Freshness.CLEAN for path in named}
    questions = [
        *_shared(service, found, related, candidates, code),
        *(one for path in named if fresh[path] for one in _unresolved(service, path, old, candidates, code[path])),
        *(one for path in edits for one in _taken(service, path, new)),
        *_overridden(service, related, edits.keys(), new),
    ]
    decisions = {one: service.decided(one) for one in questions}
    for one, decision in decisions.items():
        if decision is not None and one.source is Source.UNRESOLVED_USE and ACCEPT not in decision.selected:
            edits[one.path] = (*edits.get(one.path, ()), *_on_line(service, one, new, code[one.path]))
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
        left=sum(_left(service, path, old, places, code.get(path, {})) for path, places in edits.items()),
    )
    if plan.verdict is not Verdict.AUTOMATIC:
        return plan
    return replace(plan, patch=b"".join(_patch(service, path, places) for path, places in edits.items()))


_Code = dict[tuple[int, int], Shorthand]
"""The lines (from 1) and columns at which a name is code."""


def _code(service: FileStateService, path: str, places: Iterable[NamePlace]) -> _Code:
    syntax = service.facts.syntax(path)
    return {spot(syntax.text, at): shorthand for at, shorthand in places} if syntax is not None else {}


def _related(service: FileStateService, symbols: frozenset[int], code: Mapping[str, _Code]) -> frozenset[int]:
    """What has to keep the same name: what overrides it or is overridden, and what can only be called as it is."""
    facts = service.facts
    related = frozenset(one for symbol in symbols for one in facts.related(symbol))
    taken = (
        facts.symbols_at(one.path, one.start_line, one.start_column)
        for one in facts.occurrences(related)
        if code.get(one.path, {}).get((one.start_line, one.start_column)) is Shorthand.SAME
    )
    return related.union(*taken)


def _edits(
    service: FileStateService,
    found: Iterable[Occurrence],
    related: frozenset[int],
    old: str,
    new: str,
    code: Mapping[str, _Code],
) -> dict[str, tuple[Replacement, ...]]:
    """What becomes of each file, in order; an occurrence under another name stays as it is."""
    word = whole_name(old)
    edits: dict[str, dict[tuple[int, int], Replacement]] = {}
    for one in found:
        if one.start_line != one.end_line:
            continue
        text = service.facts.lines(one.path)[one.start_line - 1][one.start_column : one.end_column]
        match = word.search(text)
        if match is not None:
            at = one.start_line, one.start_column + match.start()
            shorthand = code.get(one.path, {}).get(at, Shorthand.NONE)
            if shorthand is not Shorthand.NONE and service.facts.symbols_at(one.path, *at) - related:
                is_property = (one.role is OccurrenceRole.DEFINITION) is (shorthand is Shorthand.OBJECT)
                text = _apart(old, new, is_property=is_property)
            else:
                text = new.encode()
            place = Replacement(*at, at[1] + len(match[0]), text)
            edits.setdefault(one.path, {}).setdefault(at, place)
    return {path: tuple(places.values()) for path, places in sorted(edits.items())}


def _apart(old: str, new: str, *, is_property: bool) -> bytes:
    """`{ name }` when the property is no longer called as its value is."""
    return (f"{new}: {old}" if is_property else f"{old}: {new}").encode("utf-8", "surrogateescape")


def _patch(service: FileStateService, path: str, places: Iterable[Replacement]) -> bytes:
    syntax = service.facts.syntax(path)
    assert syntax is not None, "a file at which the gate is open was parsed"
    return file_patch(path, syntax.text, places)


def _shared(
    service: FileStateService,
    found: Iterable[Occurrence],
    related: frozenset[int],
    candidates: tuple[Candidate, ...],
    code: Mapping[str, _Code],
) -> Iterator[Ambiguity]:
    """Places that stand for another symbol too; those of `{ name }` can be told apart, so there is nothing to ask."""
    for one in found:
        at = one.start_line, one.start_column
        shorthand = code.get(one.path, {}).get(at, Shorthand.NONE)
        if shorthand is Shorthand.NONE and service.facts.symbols_at(one.path, *at) - related:
            yield Ambiguity(Source.SHARED_PLACE, one.path, one.start_line, candidates[0].name, candidates)


def _unresolved(
    service: FileStateService, path: str, old: str, candidates: tuple[Candidate, ...], code: _Code
) -> Iterator[Ambiguity]:
    """Places in the code of a clean file that the indexer does not know: any definition of the name may be meant."""
    for at, shorthand in code.items():
        if _is_unknown(service, path, at, shorthand):
            yield Ambiguity(Source.UNRESOLVED_USE, path, at[0], old, candidates)


def _is_unknown(service: FileStateService, path: str, at: tuple[int, int], shorthand: Shorthand) -> bool:
    """Of `const { name } = value` only the new name is known when the value is not."""
    return len(service.facts.symbols_at(path, *at)) < (1 if shorthand is Shorthand.NONE else 2)


def _on_line(service: FileStateService, one: Ambiguity, new: str, code: _Code) -> Iterator[Replacement]:
    """The uses on a line that somebody has decided to mean the symbol."""
    for at, shorthand in code.items():
        if at[0] == one.line and _is_unknown(service, one.path, at, shorthand):
            is_property = shorthand is not Shorthand.OBJECT
            text = new.encode() if shorthand is Shorthand.NONE else _apart(one.name, new, is_property=is_property)
            yield Replacement(*at, at[1] + len(one.name.encode("utf-8", "surrogateescape")), text)


def _taken(service: FileStateService, path: str, new: str) -> Iterator[Ambiguity]:
    """The first line of a file to be changed that has the new name already."""
    word = whole_name(new)
    for number, line in enumerate(service.facts.lines(path), 1):
        if word.search(line):
            yield Ambiguity(Source.NAME_TAKEN, path, number, new, (Candidate(path, number, new),))
            return


def _overridden(service: FileStateService, related: frozenset[int], edited: Set[str], new: str) -> Iterator[Ambiguity]:
    """Members of bases and heirs, in files that are not changed, that have the new name: they would be one with it."""
    members = {each for one in related for each in service.facts.namesakes(one, new)}
    for one in service.facts.occurrences(members):
        if one.role is OccurrenceRole.DEFINITION and one.path not in edited:
            at = Candidate(one.path, one.start_line, new)
            yield Ambiguity(Source.NAME_TAKEN, one.path, one.start_line, new, (at,))


def _left(service: FileStateService, path: str, name: str, places: Iterable[Replacement], code: _Code) -> int:
    """How often the name stands in a file that is changed, stays, and is no code."""
    syntax = service.facts.syntax(path)
    text = syntax.text if syntax is not None else b""
    every = {spot(text, match.start()) for match in whole_name(name).finditer(text)}
    return len(every - {(one.line, one.start) for one in places} - code.keys())
