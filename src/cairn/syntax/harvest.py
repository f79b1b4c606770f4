"""Run the query of a language over the tree of a file, and sort the matches by their roles.

The captures of a query name what is found. Each pattern has exactly one *role*:

    @def.KIND    a definition; with @name, optionally @container (a receiver type, a qualifying scope), @value (what
                 follows its signature: a body, an `=`), @lead and @part (in `int a, b` the shared head and the piece of
                 one name; a @lead alone extends the definition to its start), @level (a header, whose definition is
                 what follows it), @clause (neighbours of one name are one definition)
    @ref.KIND    a use of a name; optionally @receiver; KIND `none` is a word that only looks like a use
    @import      one imported name; with @module, optionally @name and @alias, or @everything (any node)
    @import.HOW  a whole import statement, which the language's own `import_tree` takes apart
    @export      a name that the file exports explicitly
    @exported    a name of this file that others see under another name (`a` in `export { a as b }`, which exports `b`)
    @comment     a comment; the comments that end directly above a definition are its doc
    @attached    something between a comment and its definition: an attribute, a decorator
    @around      something that belongs to the span of the definition in its @inner: `export`, `template <…>`
    @doc         a doc string inside the definition it belongs to

Where two patterns match the same place, the earlier one in the query wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from tree_sitter import Node, QueryCursor

from cairn.core.limits import MAX_MATCH_STATES
from cairn.core.types import Symbol, SymbolKind
from cairn.syntax.languages import Grammar
from cairn.syntax.names import name_of
from cairn.syntax.patterns import Captures, Pattern, passes
from cairn.syntax.traits import Traits

# --- Definitions of more than one node: a section reaches to the next heading, a function may have many clauses.


_BLANK = b" \t\r\n"

Span = tuple[int, int]


class FoundDefinition(NamedTuple):
    """One definition as the query found it.

    `level` is above 0 for a header, whose definition is what follows it. `clause` is above -1 for a clause of a
    function, in Elixir the number of its parameters: neighbours of equal name and number are one definition. `stop` is
    where the signature ends, 0 when the query does not say; `part` is (end of the shared head, start, end) of one name
    of several.
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
    """Return the digit in the kind of a heading's marker (`atx_h2_marker`); 1 for a header without one."""
    return next((int(letter) for letter in marker.type if letter.isdigit()), 1)


def whole(found: Iterable[FoundDefinition], data: bytes, around: dict[Span, Span]) -> list[FoundDefinition]:
    """Return the definitions in order, outermost first, with their full spans.

    Wrappers are included, headers reach over their sections, and the clauses of a function are joined.
    """
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


def _order(definition: FoundDefinition) -> tuple[int, int, int]:
    return (definition[0], -definition[1], definition[5])


def _wrapped(definition: FoundDefinition, around: dict[Span, Span]) -> FoundDefinition:
    """Return a definition with the span of its wrappers: `export`, decorators, `template <…>`; wrappers may nest."""
    span = (definition.start, definition.end)
    if span not in around:
        return definition
    # In broken text a wrapper without its own word has the span of its contents, and the loop must end there.
    while (wider := around.get(span, span)) != span:
        span = wider
    return definition._replace(start=span[0], end=span[1])


def _trimmed(definition: FoundDefinition, data: bytes) -> FoundDefinition:
    """Return a definition without the blank lines at its end, which grammars of indented languages count as part."""
    end = definition.end
    while end > definition.start and data[end - 1] in _BLANK:
        end -= 1
    return definition._replace(end=end)


def _spread(definitions: list[FoundDefinition], end: int) -> list[FoundDefinition]:
    """Return the definitions, each header extended to the next header that is not below it, or to the end."""
    result = [definition for definition in definitions if not definition.level]
    open_headers: list[FoundDefinition] = []
    for header in sorted((d for d in definitions if d.level), key=lambda d: d.start):
        # `package a` and then `package b` of Scala nest; two namespaces or two headings of one level are siblings.
        while header.kind != SymbolKind.MODULE and open_headers and open_headers[-1].level >= header.level:
            result.append(open_headers.pop()._replace(end=header.start))
        open_headers.append(header)
    result.extend(header._replace(end=end) for header in open_headers)
    return result


def _joined(definitions: list[FoundDefinition]) -> list[FoundDefinition]:
    """Return the definitions, with neighbouring clauses of one function joined into one definition."""
    result: list[FoundDefinition] = []
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


def _same_function(first: FoundDefinition, second: FoundDefinition) -> bool:
    return first.clause >= 0 and first.clause == second.clause and first.name == second.name


def innermost(symbols: Sequence[Symbol], at: int) -> int:
    """Return the index of the innermost symbol around an offset; -1 when there is none."""
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
    """Return the symbol around `at` after a top-level symbol that ends before it: one with the same start, or -1."""
    start = symbols[index].start_byte
    while index > 0 and symbols[index - 1].start_byte == start:
        index -= 1
        if symbols[index].end_byte > at:
            return index
    return -1


_LONG_HEADER = 600
_new = tuple.__new__


class Harvest:
    """The matches of one file, sorted by their roles and not yet related to one another."""

    def __init__(self, data: bytes, traits: Traits) -> None:
        self.data = data
        self.traits = traits
        self.is_ascii = data.isascii()
        # Latin-1 gives one character for each byte, so offsets hold; text beyond ASCII must be read through `between`.
        self.letters = data.decode("latin-1")
        self.definitions: dict[int, FoundDefinition] = {}
        self.references: dict[int, tuple[int, int, str, list[Node] | None]] = {}
        self.imports: list[tuple[int, str, str, str]] = []
        self.aliases: set[int] = set()
        self.exports: set[str] = set()
        self.exported: set[str] = set()
        self.comments: list[tuple[int, int]] = []
        self.attached: list[tuple[int, int]] = []
        self.docs: list[tuple[int, int]] = []
        self.around: dict[tuple[int, int], tuple[int, int]] = {}

    def text(self, node: Node) -> str:
        """Return the text of a node."""
        if self.is_ascii:
            return self.letters[node.start_byte : node.end_byte]
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """Return the text between two bytes."""
        if self.is_ascii:
            return self.letters[start:end]
        return self.data[start:end].decode("utf-8", "replace")

    def before(self, start: int, name: int) -> str:
        """Return the text before a name, where the modifiers are; of a long text only both ends."""
        if name - start > _LONG_HEADER:
            half = _LONG_HEADER // 2
            return f"{self.between(start, start + half)} {self.between(name - half, name)}"
        return self.between(start, name)

    def take(self, grammar: Grammar, root: Node) -> None:
        """Run the query and sort every match by its role."""
        self._file(QueryCursor(grammar.query, match_limit=MAX_MATCH_STATES).matches(root), grammar.patterns)
        if grammar.top_patterns:
            cursor = QueryCursor(grammar.top_query, match_limit=MAX_MATCH_STATES)
            cursor.set_max_start_depth(0)
            self._file(cursor.matches(root), grammar.top_patterns)

    def _file(self, matches: list[tuple[int, Captures]], patterns: tuple[Pattern, ...]) -> None:
        references, comments, text = self.references, self.comments, self.text
        for index, captures in matches:
            place, family, capture, kind, questions, _, _ = patterns[index]
            if questions and not passes(questions, captures, text):
                continue
            node = captures[capture][0]
            if family == "ref":
                # Uses are half of all matches, so they are handled without a call.
                start = node.start_byte
                known = references.get(start)
                if known is None or place < known[0]:
                    references[start] = (place, node.end_byte, kind, captures.get("receiver"))
            elif family == "comment":
                comments.append((node.start_byte, node.end_byte))
            elif family == "def":
                self._definition(place, kind, node, captures)
            elif family == "import":
                self._import(kind, node, captures)
            elif family == "around":
                inner = captures["inner"][0]
                self.around[inner.start_byte, inner.end_byte] = (node.start_byte, node.end_byte)
            else:
                self._mark(family, node)

    def _definition(self, pattern: int, kind: str, node: Node, captures: Captures) -> None:
        name = captures["name"][0]
        at, name_end = name.start_byte, name.end_byte
        known = self.definitions.get(at)
        # Where a name is missing, the parser inserts an empty one.
        if at == name_end or (known is not None and known.pattern <= pattern):
            return
        called = name_of(name.type, self.between(at, name_end))
        if not called:
            return
        start, end = node.start_byte, node.end_byte
        if len(captures) == 2:
            # Most definitions have only a span and a name; making the tuple directly saves the constructor's call.
            plain = (start, end, pattern, kind, called, at, "", node, None, 0, 0, -1)
            self.definitions[at] = _new(FoundDefinition, plain)
            return
        container, value = captures.get("container"), captures.get("value")
        level, clause = captures.get("level"), captures.get("clause")
        lead, part = captures.get("lead"), captures.get("part")
        self.definitions[at] = FoundDefinition(
            lead[0].start_byte if lead and not part else start,
            end,
            pattern,
            kind,
            called,
            at,
            ".".join(map(self.text, container)).replace("::", ".") if container else "",
            node,
            (lead[-1].end_byte if lead else start, part[0].start_byte, part[-1].end_byte) if part else None,
            value[0].start_byte if value else 0,
            level_of(level[0]) if level else 0,
            clause[0].named_child_count if clause else -1,
        )

    def _import(self, how: str, node: Node, captures: Captures) -> None:
        if how and self.traits.import_tree is not None:
            self.imports.extend((node.start_byte, *found) for found in self.traits.import_tree(node, self.data))
            return
        module, name, alias = captures.get("module"), captures.get("name"), captures.get("alias")
        if bound := alias or name:
            self.aliases.add(bound[0].start_byte)
        of, what, known_as = (
            name_of(found[0].type, self.text(found[0])) if found else "" for found in (module, name, alias)
        )
        self.imports.append((node.start_byte, of, "*" if "everything" in captures else what, known_as))

    def _mark(self, family: str, node: Node) -> None:
        span = (node.start_byte, node.end_byte)
        if family == "export":
            self.exports.add(name_of(node.type, self.text(node)))
        elif family == "exported":
            self.exported.add(self.text(node))
        elif family == "attached":
            self.attached.append(span)
        else:
            self.docs.append(span)
