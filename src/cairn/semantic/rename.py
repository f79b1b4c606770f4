"""Plan a rename: every occurrence that the indexers know, verified against the snapshot, as one patch.

There is a patch only when every file with the name is clean and nothing is left to decide. The user applies it.
"""

from __future__ import annotations

import keyword
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from cairn.core.text import word_set
from cairn.core.tokens import whole_name
from cairn.core.types import FileWords, NamePlace, Shorthand
from cairn.errors import UsageError
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource, MeaningCandidate
from cairn.semantic.concerns import concerns, imported_beside, imported_in_turn, pieced_together
from cairn.semantic.editing import ACCEPT, FileStateService, Verdict
from cairn.semantic.fits import fits
from cairn.semantic.model import FactFreshness, Family, Occurrence, OccurrenceRole, family_of
from cairn.semantic.patch import EditRule, Replacement, file_patch
from cairn.semantic.places import spot
from cairn.semantic.plan import FileEdit, LeftOutPlace, RenamePlan
from cairn.semantic.reached import is_reserved, reached, same_name
from cairn.semantic.subject import Code, Subject, is_local
from cairn.semantic.symbols import readable
from cairn.semantic.texts import exported_at, in_texts
from cairn.semantic.tooling import examples, found_by_tools

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_KEYWORDS: dict[Family | None, frozenset[str]] = {
    Family.PYTHON: frozenset(keyword.kwlist),
    Family.TYPESCRIPT: word_set(
        """arguments await break case catch class const continue debugger default delete do else enum eval export
        extends false finally for function if implements import in instanceof interface let new null package private
        protected public return static super switch this throw true try typeof var void while with yield"""
    ),
    Family.GO: word_set(
        """break case chan const continue default defer else fallthrough for func go goto if import interface map
        package range return select struct switch type var _ init"""
    ),
    Family.RUST: word_set(
        """Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for
        gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait
        true try type typeof unsafe unsized use virtual where while yield _"""
    ),
    Family.JVM: word_set(
        """abstract assert boolean break byte case catch char class const continue default do double else enum extends
        false final finally float for goto if implements import instanceof int interface long native new null package
        private protected public return short static strictfp super switch synchronized this throw throws transient true
        try void volatile while _"""
    ),
}
# Families in which the files of a folder share one scope.
_BY_FOLDER = frozenset({Family.GO, Family.JVM})


def checked_name(family: Family | None, old: str, new: str) -> None:
    """Refuse, with `UsageError`, a name that no definition of this language can have."""
    is_word = new.isidentifier() if family is Family.PYTHON else _WORD.fullmatch(new)
    if not is_word or new in _KEYWORDS.get(family, frozenset()):
        raise UsageError(problem="The new name is no name in this language.")
    if family is Family.PYTHON and is_reserved(new):
        raise UsageError(problem="The new name is no name in this language.")
    if old == new or (family is Family.PYTHON and same_name(old, new)):
        raise UsageError(problem="The new name is the old one.")
    if family is Family.PYTHON and old.startswith("__") and old.endswith("__"):
        raise UsageError(problem="The language itself gives this name its meaning, so it must stay.")


def plan_rename(
    service: FileStateService,
    symbols: frozenset[int],
    old: str,
    new: str,
    named: Mapping[str, Sequence[NamePlace]],
    words: Mapping[str, FileWords] = MappingProxyType({}),
    left_out: Sequence[LeftOutPlace] = (),
) -> RenamePlan:
    """Return the plan to rename these symbols.

    `named` are the files of the language that hold the old name anywhere, with the places at which it is code; `words`
    are the files of any kind that hold it, with the places at which it is no code; `left_out` those places of files
    that are not in the index.
    """
    facts = service.facts
    code: dict[str, Code] = {path: _code(service, path, places) for path, places in named.items()}
    related = _related(service, symbols, code)
    found = facts.occurrences(related)
    code = _in_scope(service, code, found, old)
    outside = {readable(facts.symbol(one)) for one in related if not facts.is_ours(one)}
    edits = _edits(service, found, related, old, new, code)
    fresh = {path: service.state(path).freshness is FactFreshness.CLEAN for path in code}
    family = family_of(found[0].path) if found else None
    subject = Subject(service, family, old, new, related, tuple(found), _spots(edits), code, words)
    _add_known(subject, edits)
    subject = replace(subject, edited=_spots(edits))
    beyond = () if subject.is_local else _in_left_out(subject, left_out)
    questions = tuple(dict.fromkeys((*_questions(subject, [path for path in code if fresh[path]]), *beyond)))
    decisions = {one: service.decided(one) for one in questions}
    for one, decision in decisions.items():
        if decision is not None and one.source is AmbiguitySource.UNRESOLVED_USE and ACCEPT not in decision.selected:
            edits[one.path] = (*edits.get(one.path, ()), *_on_line(service, one, new, code[one.path]))
    touched = [*edits, *(path for path, clean in fresh.items() if not clean and path not in edits)]
    plan = RenamePlan(
        old,
        new,
        service.gate(touched, partial(concerns, subject)),
        tuple(FileEdit(path, service.hash_of(path), tuple(sorted(places))) for path, places in edits.items()),
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


def _in_left_out(subject: Subject, places: Sequence[LeftOutPlace]) -> Iterator[Ambiguity]:
    """Yield the files that are left out and hold the name; a file that changes asks again."""
    folders = {posixpath.dirname(one.path) for one in subject.written}
    is_of_package = subject.family is Family.GO and not subject.old[:1].isupper()
    for one in places:
        if not is_of_package or posixpath.dirname(one.path) in folders:
            proof = MeaningCandidate(one.path, one.line, one.digest)
            yield replace(
                subject.ask(AmbiguitySource.FILE_LEFT_OUT, one.path, one.line),
                candidates=(*subject.candidates, proof),
            )


def _in_scope(
    service: FileStateService, code: dict[str, Code], found: Sequence[Occurrence], old: str
) -> dict[str, Code]:
    """Return the files in which a name can mean what is renamed: its own where it is local, in Go perhaps a package."""
    defined = [one for one in found if one.role is OccurrenceRole.DEFINITION]
    homes = {one.path for one in defined}
    if defined and all(is_local(service.facts.syntax(one.path), one, old) for one in defined):
        return {path: places for path, places in code.items() if path in homes}
    if any(family_of(path) is not Family.GO for path in homes) or old[:1].isupper():
        return code
    folders = {posixpath.dirname(path) for path in homes}
    return {path: places for path, places in code.items() if posixpath.dirname(path) in folders}


_Edits = dict[str, tuple[Replacement, ...]]


def _spots(edits: _Edits) -> dict[str, frozenset[tuple[int, int]]]:
    return {path: frozenset((one.line, one.start) for one in places) for path, places in edits.items()}


def _add_known(subject: Subject, edits: _Edits) -> None:
    """Add the edits of places that are no code of the symbol, but are known to follow it."""
    new = subject.new.encode()
    for path, at in exported_at(subject):
        line, column = spot(subject.words[path].text, at)
        end = column + len(subject.old.encode("utf-8", "surrogateescape"))
        _add(edits, path, Replacement(line, column, end, new, EditRule.EXPORTED))
    for path, one in examples(subject):
        _add(edits, path, one)


def _add(edits: _Edits, path: str, one: Replacement) -> None:
    places = edits.get(path, ())
    if all((each.line, each.start) != (one.line, one.start) for each in places):
        edits[path] = tuple(sorted((*places, one)))


def _questions(subject: Subject, fresh: Sequence[str]) -> Iterator[Ambiguity]:
    """Yield everything about the name that must be decided; `fresh` are the clean files that hold it."""
    service, related = subject.service, subject.related
    yield from _shared(service, subject.found, related, subject.candidates, subject.code)
    for path in fresh:
        yield from _unresolved(service, path, subject.old, subject.candidates, subject.code[path])
    for path in _reached(subject):
        yield from _taken(service, path, subject.new)
    yield from _overridden(service, related, subject.edited.keys(), subject.new)
    for rule in (in_texts, found_by_tools, fits, pieced_together, imported_beside, imported_in_turn, reached):
        yield from rule(subject)


def _reached(subject: Subject) -> list[str]:
    """Return the files in which the new name must not be there yet: what changes, and what shares its scope."""
    paths = list(subject.edited)
    if subject.family in _BY_FOLDER and not subject.is_member:
        folders = {posixpath.dirname(one.path) for one in subject.found if one.role is OccurrenceRole.DEFINITION}
        paths += sorted(
            path
            for path in subject.service.facts.paths_now()
            if posixpath.dirname(path) in folders and family_of(path) is subject.family and path not in subject.edited
        )
    return paths


def _code(service: FileStateService, path: str, places: Iterable[NamePlace]) -> Code:
    syntax = service.facts.syntax(path)
    return {spot(syntax.text, at): shorthand for at, shorthand in places} if syntax is not None else {}


def _related(service: FileStateService, symbols: frozenset[int], code: Mapping[str, Code]) -> frozenset[int]:
    """Return the symbols that must keep the same name: overriding, overridden, and callable only under this name."""
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
    code: Mapping[str, Code],
) -> dict[str, tuple[Replacement, ...]]:
    """Return the replacements in each file, in order; an occurrence under another name stays as it is."""
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
    """Return the text for `{ name }` when the property and its value no longer have the same name."""
    return (f"{new}: {old}" if is_property else f"{old}: {new}").encode("utf-8", "surrogateescape")


def _patch(service: FileStateService, path: str, places: Iterable[Replacement]) -> bytes:
    syntax = service.facts.syntax(path)
    assert syntax is not None, "a file at which the gate is open was parsed"
    return file_patch(path, syntax.text, places)


def _shared(
    service: FileStateService,
    found: Iterable[Occurrence],
    related: frozenset[int],
    candidates: tuple[MeaningCandidate, ...],
    code: Mapping[str, Code],
) -> Iterator[Ambiguity]:
    """Yield places that stand for another symbol too; in `{ name }` both can be told apart, so nothing is asked."""
    for one in found:
        at = one.start_line, one.start_column
        shorthand = code.get(one.path, {}).get(at, Shorthand.NONE)
        if shorthand is Shorthand.NONE and service.facts.symbols_at(one.path, *at) - related:
            yield Ambiguity(AmbiguitySource.SHARED_PLACE, one.path, one.start_line, candidates[0].name, candidates)


def _unresolved(
    service: FileStateService, path: str, old: str, candidates: tuple[MeaningCandidate, ...], code: Code
) -> Iterator[Ambiguity]:
    """Yield places in the code of a clean file that the indexer does not know: any definition may be meant."""
    for at, shorthand in code.items():
        if _is_unknown(service, path, at, shorthand):
            yield Ambiguity(AmbiguitySource.UNRESOLVED_USE, path, at[0], old, candidates)


def _is_unknown(service: FileStateService, path: str, at: tuple[int, int], shorthand: Shorthand) -> bool:
    """Whether the indexer misses a symbol here; of `const { name } = value` it should know two."""
    return len(service.facts.symbols_at(path, *at)) < (1 if shorthand is Shorthand.NONE else 2)


def _on_line(service: FileStateService, one: Ambiguity, new: str, code: Code) -> Iterator[Replacement]:
    """Yield replacements for the uses on a line that a decision attributes to the symbol."""
    for at, shorthand in code.items():
        if at[0] == one.line and _is_unknown(service, one.path, at, shorthand):
            is_property = shorthand is not Shorthand.OBJECT
            text = new.encode() if shorthand is Shorthand.NONE else _apart(one.name, new, is_property=is_property)
            end = at[1] + len(one.name.encode("utf-8", "surrogateescape"))
            yield Replacement(*at, end, text, EditRule.DECISION)


def _taken(service: FileStateService, path: str, new: str) -> Iterator[Ambiguity]:
    """Yield the first line of a file to be changed that already has the new name."""
    word = whole_name(new)
    for number, line in enumerate(service.facts.lines(path), 1):
        if word.search(line):
            yield Ambiguity(AmbiguitySource.NAME_TAKEN, path, number, new, (MeaningCandidate(path, number, new),))
            return


def _overridden(service: FileStateService, related: frozenset[int], edited: Set[str], new: str) -> Iterator[Ambiguity]:
    """Yield members of bases and heirs, in unchanged files, that already have the new name and would be overridden."""
    members = {each for one in related for each in service.facts.namesakes(one, new)}
    for one in service.facts.occurrences(members):
        if one.role is OccurrenceRole.DEFINITION and one.path not in edited:
            at = MeaningCandidate(one.path, one.start_line, new)
            yield Ambiguity(AmbiguitySource.NAME_TAKEN, one.path, one.start_line, new, (at,))


def _left(service: FileStateService, path: str, name: str, places: Iterable[Replacement], code: Code) -> int:
    """Return how often the name stays in a changed file at places that are no code."""
    syntax = service.facts.syntax(path)
    text = syntax.text if syntax is not None else b""
    every = {spot(text, match.start()) for match in whole_name(name).finditer(text)}
    return len(every - {(one.line, one.start) for one in places} - code.keys())
