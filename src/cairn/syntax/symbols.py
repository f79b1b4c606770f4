"""Turn the matches of a query into facts: symbols with parents, containers, docs and visibility; uses; imports.

Positions are byte offsets. Lines come from one table of line starts, because asking a node for its point costs more
than a bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Node

from cairn.core.limits import MAX_REFERENCES_PER_FILE, MAX_SYMBOLS_PER_FILE
from cairn.core.types import Import, Reference, Symbol
from cairn.syntax.chunks import line_starts
from cairn.syntax.describe import CommentIndex, clean, signature
from cairn.syntax.harvest import FoundDefinition, Harvest, innermost, whole
from cairn.syntax.languages import Grammar
from cairn.syntax.traits import Traits
from cairn.syntax.visibility import CALLABLE, is_exported

if TYPE_CHECKING:
    from tree_sitter import Node

    from cairn.syntax.harvest import Harvest


# --- The uses of names and the imports of a file, in order of place.


_LONG_RECEIVER = 80
_new = tuple.__new__


def imports_of(harvest: Harvest, lines: list[int]) -> tuple[Import, ...]:
    """Return the imports in order of place; `local x = require "y"` is one import, not two."""
    if not harvest.imports:
        return ()
    found = [
        Import(module, name, alias, at, bisect_right(lines, at))
        for at, module, name, alias in sorted(set(harvest.imports))
    ]
    bound = {(each.module, each.line) for each in found if each.name or each.alias}
    return tuple(each for each in found if each.name or each.alias or (each.module, each.line) not in bound)


def references_of(harvest: Harvest, symbols: tuple[Symbol, ...], lines: list[int]) -> tuple[Reference, ...]:
    """Return the uses in order of place, each with the definition around it, in one sweep over both sorted lists."""
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
    # The name in a definition is no use, and `require "x"` is an import and not a call.
    told = harvest.definitions.keys() | {at for at, *_ in harvest.imports}
    # This loop runs once for every use in a repository, so what stays the same from one use to the next is kept.
    for start in sorted(found)[:MAX_REFERENCES_PER_FILE]:
        _, end, kind, receiver = found[start]
        # Where a name is missing, the parser inserts an empty one.
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
            # In `a = f(), b = g()` both definitions have the whole span; a use belongs to the last name before it.
            while owner > 0 and symbols[owner].name_byte > start and symbols[owner - 1][5:7] == symbols[owner][5:7]:
                owner -= 1
        # Making the tuple directly saves the constructor's call; no other value is made as often.
        references.append(_new(Reference, (kind, name, before, start, line, start - line_start, owner)))
    return tuple(references)


def _receiver(node: Node, letters: str, between: Callable[[int, int], str] | None) -> str:
    """Return the text before the dot; `?` for an expression that is too long to be a name."""
    start, end = node.start_byte, node.end_byte
    if end - start > _LONG_RECEIVER:
        return "?"
    text = letters[start:end] if between is None else between(start, end)
    return "?" if "\n" in text else text.strip(".!")


# Kinds are plain text here, because looking up the member of an Enum costs more than the comparison.
_CLASS_LIKE = frozenset({"class", "interface", "struct", "enum", "union", "trait", "object", "impl"})
_MEMBERS = frozenset({"property", "field"})
_REFINED = frozenset({"function", "method", "variable"})
_LONG_CONTAINER = 1_000


class Extracted(NamedTuple):
    """The facts from one pass over a tree."""

    symbols: tuple[Symbol, ...]
    references: tuple[Reference, ...]
    imports: tuple[Import, ...]
    exports: tuple[str, ...]


def extract(data: bytes, root: Node, grammar: Grammar, lines: list[int] | None = None) -> Extracted:
    """Return all facts that the query of this grammar finds in a tree; `lines` are the line starts, if known."""
    harvest = Harvest(data, grammar.traits)
    harvest.take(grammar, root)
    lines = lines or line_starts(data)
    found = list(harvest.definitions.values())
    if harvest.aliases:
        # `const json = require("json")` is an import and not a definition.
        found = [definition for definition in found if definition.name_byte not in harvest.aliases]
    definitions = whole(found, data, harvest.around)
    symbols = _Builder(harvest, grammar, lines).build(definitions[:MAX_SYMBOLS_PER_FILE])
    references = references_of(harvest, symbols, lines)
    return Extracted(symbols, references, imports_of(harvest, lines), tuple(sorted(harvest.exports)))


class _Builder:
    """The construction of the symbols of one file, outermost first."""

    def __init__(self, harvest: Harvest, grammar: Grammar, lines: list[int]) -> None:
        self.harvest = harvest
        self.traits = grammar.traits
        self.fields = grammar.fields
        self.lines = lines
        self.comments = CommentIndex(harvest.data, harvest.comments, harvest.attached, lines)
        self.symbols: list[Symbol] = []
        self.needs_before = not grammar.traits.visibility.by_name
        self.last_signature: tuple[object, str] = (None, "")

    def build(self, definitions: Sequence[FoundDefinition]) -> tuple[Symbol, ...]:
        symbols = self.symbols
        open_at: list[int] = []
        for definition in definitions:
            start, end = definition.start, definition.end
            parent = -1
            while open_at:
                outer = symbols[open_at[-1]]
                # The names of one declaration (`var a, b`) have the same span and are siblings.
                if end <= outer.end_byte and (start != outer.start_byte or end != outer.end_byte):
                    parent = open_at[-1]
                    break
                open_at.pop()
            if parent >= 0 and definition.kind == "variable" and symbols[parent].kind in CALLABLE:
                continue  # a local variable
            open_at.append(len(symbols))
            symbols.append(self._symbol(definition, parent))
        if self.harvest.docs:
            self._give_docs()
        return tuple(symbols)

    def _symbol(self, found: FoundDefinition, parent: int) -> Symbol:
        start, end, _, kind, name, name_byte, owner, _, _, _, _, _ = found
        lines, traits = self.lines, self.traits
        line = bisect_right(lines, start)
        above, container, doc = None, owner, ""
        if parent >= 0:
            above = self.symbols[parent]
            if kind in _MEMBERS and above.kind == "constructor":
                # `constructor(private port: Port)` declares a field of the class inside the constructor.
                above = self.symbols[above.parent] if above.parent >= 0 else None
        if above is not None:
            container = f"{qualified(above)}.{owner}" if owner else qualified(above)
        if above is None or above.start_line != line:
            doc = self.comments.doc_above(line)
        if kind in _REFINED:
            kind = _refined_kind(kind, name, owner, above, traits)
        written = self._signature(found, kind)
        before = self.harvest.before(start, name_byte) if self.needs_before else ""
        exported = is_exported(traits.visibility, kind, name, before, above, owner, self.harvest)
        last_line = bisect_right(lines, end - 1, line - 1) if end > start else line
        fields = (kind, name, container, written, doc, start, end, line, last_line, name_byte, exported, parent)
        return _new(Symbol, fields)

    def _signature(self, found: FoundDefinition, kind: str) -> str:
        """Return the signature of a definition; the last one is kept, as thousands of names may share one node."""
        shared = (found.node.id, found.stop, kind, found.part)
        if self.last_signature[0] != shared:
            args = (found.node, self.fields, kind, found.start, found.stop, found.part)
            written = signature(self.harvest.data, *args)
            self.last_signature = (shared, written)
        return self.last_signature[1]

    def _give_docs(self) -> None:
        """Give each doc string to the innermost definition around it; the first of several counts."""
        claimed: set[int] = set()
        for start, end in sorted(dict(self.harvest.docs).items()):
            owner = innermost(self.symbols, start)
            if owner >= 0 and owner not in claimed:
                claimed.add(owner)
                self.symbols[owner] = self.symbols[owner]._replace(doc=clean(self.harvest.data[start:end]))


def qualified(symbol: Symbol) -> str:
    """Return the dotted name of a symbol, which is the container of the symbols inside it."""
    # Bounded, because symbols may be nested thousands deep.
    return f"{symbol.container}.{symbol.name}"[-_LONG_CONTAINER:] if symbol.container else symbol.name


def _refined_kind(kind: str, name: str, owner: str, above: Symbol | None, traits: Traits) -> str:
    """Return the exact kind: a function in a class is a method or a constructor, a variable in capitals a constant."""
    if kind == "function" and (owner or (above is not None and above.kind in _CLASS_LIKE)):
        kind = "method"
    if kind == "method" and name in traits.constructors:
        return "constructor"
    if kind == "variable":
        if name.isupper():
            return "constant"
        if above is not None and above.kind in _CLASS_LIKE:
            return "field"
    return kind
