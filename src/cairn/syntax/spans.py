"""Definitions that are more than one node: a section runs to the next heading, a function has many clauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from tree_sitter import Node

from cairn.core.types import Symbol, SymbolKind

_BLANK = b" \t\r\n"

Span = tuple[int, int]


class Definition(NamedTuple):
    """One definition as its query found it.

    `level` is above 0 for a header whose definition is what follows it; `clause` is above -1 for one of several
    pieces of a definition, and counts what must be equal for two pieces to belong together.
    """

    start: int
    end: int
    pattern: int
    kind: str
    name: str
    name_byte: int
    container: str
    node: Node
    part: tuple[int, int, int] | None = None
    stop: int = 0
    level: int = 0
    clause: int = -1


def level_of(marker: Node) -> int:
    """The digit in the kind of a heading's marker (`atx_h2_marker`); 1 for a header that has none."""
    return next((int(letter) for letter in marker.type if letter.isdigit()), 1)


def whole(found: Iterable[Definition], data: bytes, around: dict[Span, Span]) -> list[Definition]:
    """The definitions in order, outermost first: wrapped, every header spread over its section, clauses joined."""
    definitions = [_wrapped(definition, around) for definition in found] if around else list(found)
    if any(map(_level, definitions)):
        definitions = _spread(definitions, len(data))
    definitions = [
        _trimmed(definition, data) if data[definition.end - 1] in _BLANK else definition for definition in definitions
    ]
    definitions.sort(key=_order)
    if max(map(_clause, definitions), default=-1) >= 0:
        definitions = _joined(definitions)
    return definitions


_level = attrgetter("level")
_clause = attrgetter("clause")


def _order(definition: Definition) -> tuple[int, int, int]:
    return (definition[0], -definition[1], definition[5])


def _wrapped(definition: Definition, around: dict[Span, Span]) -> Definition:
    """`export`, a decorator or `template <…>` belongs to what it stands before; one may stand in another."""
    span = (definition.start, definition.end)
    if span not in around:
        return definition
    # A wrapper whose own word is missing from broken text has the span of what is in it.
    while (wider := around.get(span, span)) != span:
        span = wider
    return definition._replace(start=span[0], end=span[1])


def _trimmed(definition: Definition, data: bytes) -> Definition:
    """Where indentation ends a block, the grammar counts the blank lines below it as part of it."""
    end = definition.end
    while end > definition.start and data[end - 1] in _BLANK:
        end -= 1
    return definition._replace(end=end)


def _spread(definitions: list[Definition], end: int) -> list[Definition]:
    """A header reaches to the next one that is not below it, or to the end of the file."""
    result = [definition for definition in definitions if not definition.level]
    open_headers: list[Definition] = []
    for header in sorted((d for d in definitions if d.level), key=lambda d: d.start):
        # `package a` and then `package b` open a.b; two namespaces or two headings of one level follow one another.
        while header.kind != SymbolKind.MODULE and open_headers and open_headers[-1].level >= header.level:
            result.append(open_headers.pop()._replace(end=header.start))
        open_headers.append(header)
    result.extend(header._replace(end=end) for header in open_headers)
    return result


def _joined(definitions: list[Definition]) -> list[Definition]:
    """The clauses of one function, side by side, become the first of them with the span of all."""
    result: list[Definition] = []
    open_at: list[int] = []
    for definition in definitions:
        before = -1
        while open_at and result[open_at[-1]].end <= definition.start:
            before = open_at.pop()
        if before >= 0 and _same_function(result[before], definition):
            result[before] = result[before]._replace(end=definition.end)
            open_at.append(before)
        else:
            open_at.append(len(result))
            result.append(definition)
    return result


def _same_function(first: Definition, second: Definition) -> bool:
    return first.clause >= 0 and first.clause == second.clause and first.name == second.name


def innermost(symbols: Sequence[Symbol], at: int) -> int:
    """Index of the innermost symbol that holds an offset, or -1."""
    low, high = 0, len(symbols)
    while low < high:
        middle = (low + high) // 2
        if symbols[middle].start_byte <= at:
            low = middle + 1
        else:
            high = middle
    index = low - 1
    while index >= 0 and symbols[index].end_byte <= at:
        index = symbols[index].parent if symbols[index].parent >= 0 else _previous_outer(symbols, index, at)
    return index


def _previous_outer(symbols: Sequence[Symbol], index: int, at: int) -> int:
    """A top-level symbol that ended before `at`: only an earlier one with the same start could still hold it."""
    start = symbols[index].start_byte
    while index > 0 and symbols[index - 1].start_byte == start:
        index -= 1
        if symbols[index].end_byte > at:
            return index
    return -1
