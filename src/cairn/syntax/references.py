"""The uses of names and the imports of a file, in order of place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from cairn.core.limits import MAX_REFERENCES_PER_FILE
from cairn.core.types import Import, Reference, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    from cairn.syntax.harvest import Harvest

_LONG_RECEIVER = 80
_new = tuple.__new__


def imports_of(harvest: Harvest, lines: list[int]) -> tuple[Import, ...]:
    """Imports in order of place; `local x = require "y"` is one import, though the call alone would be another."""
    if not harvest.imports:
        return ()
    found = [
        Import(module, name, alias, at, bisect_right(lines, at))
        for at, module, name, alias in sorted(set(harvest.imports))
    ]
    bound = {(each.module, each.line) for each in found if each.name or each.alias}
    return tuple(each for each in found if each.name or each.alias or (each.module, each.line) not in bound)


def references_of(harvest: Harvest, symbols: tuple[Symbol, ...], lines: list[int]) -> tuple[Reference, ...]:
    """Uses in order of place, each with the definition around it; one sweep over both sorted lists."""
    letters, between = harvest.letters, None if harvest.is_ascii else harvest.between
    found = harvest.references
    references: list[Reference] = []
    open_at: list[int] = []
    following = 0
    begins = [symbol.start_byte for symbol in symbols]
    end_of_file = len(letters) + 1
    begins.append(end_of_file)
    line = line_start = next_line = next_change = name_byte = 0
    scope = -1
    # A name where it is defined is no use of it, and loading a file (`require "x"`) is an import, not a call.
    told = harvest.definitions.keys() | {at for at, *_ in harvest.imports}
    # This loop runs once for every use in a repository: what stays the same from one to the next is not asked again.
    for start in sorted(found)[:MAX_REFERENCES_PER_FILE]:
        _, end, kind, receiver = found[start]
        # The parser puts an empty name where one is missing.
        if start in told or start == end or kind == "none":
            continue
        if start >= next_change:
            while begins[following] <= start:
                open_at.append(following)
                following += 1
            while open_at and symbols[open_at[-1]].end_byte <= start:
                open_at.pop()
            scope, name_byte, next_change = -1, 0, begins[following]
            if open_at:
                scope = open_at[-1]
                name_byte = symbols[scope].name_byte
                next_change = min(next_change, symbols[scope].end_byte)
        if start >= next_line:
            line = bisect_right(lines, start, line)
            line_start = lines[line - 1]
            next_line = lines[line] if line < len(lines) else end_of_file
        name = letters[start:end] if between is None else between(start, end)
        before = _receiver(receiver[0], letters, between) if receiver else ""
        owner = scope
        if start < name_byte:
            # In `a = f(), b = g()` both names have the whole span: the use belongs to the last name before it.
            while owner > 0 and symbols[owner].name_byte > start and symbols[owner - 1][5:7] == symbols[owner][5:7]:
                owner -= 1
        # What the constructor of a NamedTuple does, less a frame: the most frequent value of all.
        references.append(_new(Reference, (kind, name, before, start, line, start - line_start, owner)))
    return tuple(references)


def _receiver(node: Node, letters: str, between: Callable[[int, int], str] | None) -> str:
    """The text before the dot; `?` for an expression too long to be a name."""
    start, end = node.start_byte, node.end_byte
    if end - start > _LONG_RECEIVER:
        return "?"
    text = letters[start:end] if between is None else between(start, end)
    return "?" if "\n" in text else text.strip(".!")
