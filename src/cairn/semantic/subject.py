"""What a rename is about: the symbols, where they are written, and every place of the name that is known.

One value for all rules, so that each of them asks about the name and not about a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.types import FileWords, ReferenceKind, Shorthand, Symbol
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource, MeaningCandidate
from cairn.semantic.editing import FileStateService
from cairn.semantic.facts import FileSyntax
from cairn.semantic.model import Family, Occurrence, OccurrenceRole
from cairn.semantic.places import spot

Code = Mapping[tuple[int, int], Shorthand]
"""The lines (from 1) and columns at which a name is code."""

_MEMBER = re.compile(r"(?:[#:](?P<name>`[^`]*`|[\w$]+)(?:\([^)]*\))?\.)$")
_MEMBER_KINDS = frozenset({"method", "property", "field", "constructor"})
_LOCAL_KINDS = frozenset({"function", "variable", "constant"})
_CALLABLES = frozenset({"function", "method", "constructor"})


class Written(NamedTuple):
    """A definition of the subject as it is written in a file."""

    path: str
    syntax: FileSyntax
    number: int

    @property
    def symbol(self) -> Symbol:
        return self.syntax.symbols[self.number]

    @property
    def owner(self) -> Symbol | None:
        """The definition around it."""
        around = self.symbol.parent
        return self.syntax.symbols[around] if around >= 0 else None

    @property
    def decorators(self) -> Iterator[tuple[str, int]]:
        """The names of its decorators, and the bytes at which they begin."""
        for one in self.syntax.references:
            if one.kind == ReferenceKind.ANNOTATION and one.scope == self.number:
                yield one.name, one.start_byte

    @property
    def is_local(self) -> bool:
        """Whether it is a function or a value inside of a function, where nothing from outside can look it up."""
        owner = self.owner
        return owner is not None and owner.kind in _CALLABLES and self.symbol.kind in _LOCAL_KINDS


def _written(syntax: FileSyntax | None, place: Occurrence, name: str) -> Iterator[Written]:
    """Yield the definition that stands at a place: one, or none where the syntax shows none."""
    for number, symbol in enumerate(syntax.symbols if syntax is not None else ()):
        if syntax is None or symbol.name != name:
            continue
        if spot(syntax.text, symbol.name_byte) == (place.start_line, place.start_column):
            yield Written(place.path, syntax, number)


def is_local(syntax: FileSyntax | None, place: Occurrence, name: str) -> bool:
    """Whether what is defined at a place is known only inside of one function."""
    found = list(_written(syntax, place, name))
    return bool(found) and all(one.is_local for one in found)


@dataclass(frozen=True)
class Subject:
    """What is renamed. `words` are the places of the old name that are no code, in all files of the snapshot."""

    service: FileStateService
    family: Family | None
    old: str
    new: str
    related: frozenset[int]
    found: tuple[Occurrence, ...]
    edited: Mapping[str, Set[tuple[int, int]]]
    code: Mapping[str, Code]
    words: Mapping[str, FileWords]

    @cached_property
    def candidates(self) -> tuple[MeaningCandidate, ...]:
        """The places that a name may mean if it means the subject."""
        defined = (one for one in self.found if one.role is OccurrenceRole.DEFINITION)
        return tuple(MeaningCandidate(one.path, one.start_line, self.old) for one in defined)

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """The definitions, as their files have them."""
        defined = (one for one in self.found if one.role is OccurrenceRole.DEFINITION)
        return tuple(each for one in defined for each in _written(self.service.facts.syntax(one.path), one, self.old))

    @cached_property
    def is_member(self) -> bool:
        """Whether it belongs to a type, a class or an object, so that it can be reached through a value."""
        if any(one.symbol.kind in _MEMBER_KINDS for one in self.written):
            return True
        found = (_MEMBER.search(self.service.facts.symbol(one)) for one in self.related)
        return any(one is not None and one["name"].strip("`").startswith(self.old) for one in found)

    @cached_property
    def is_local(self) -> bool:
        """Whether it is only known inside of one function."""
        return not self.is_member and bool(self.written) and all(one.is_local for one in self.written)

    def unedited(self, path: str) -> Iterator[tuple[int, int]]:
        """Yield the places in the code of a file at which the name stays."""
        known = self.edited.get(path, frozenset())
        return (at for at in self.code.get(path, {}) if at not in known)

    def ask(self, source: AmbiguitySource, path: str, line: int) -> Ambiguity:
        """Return the question that a place puts."""
        return Ambiguity(source, path, line, self.old, self.candidates)
