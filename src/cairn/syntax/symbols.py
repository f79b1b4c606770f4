"""Tree → definitions, references, imports, exports: one query per language, one pass over its matches.

A query names what it finds by capture. Each pattern has exactly one *role*:

    @def.KIND    a definition; with @name, optionally @container (a receiver type, a qualifying scope), @value (where
                 its signature stops), @lead and @part (in `int a, b`: the shared head, this name's own piece), @level
                 (a header: the definition is what follows it), @clause (neighbours of one name are one definition)
    @ref.KIND    a use of a name; optionally @receiver; KIND `none` is a word that only looks like one
    @import      one imported name; with @module, optionally @name and @alias, or @everything (any node)
    @import.HOW  a whole import tree, taken apart by a function of that name in `imports.py`
    @export      a name that the file says it exports
    @exported    a name of this file that others see under another name (`export { a as b }` exports b, shows a)
    @comment     a comment; the ones that end right above a definition are its doc
    @attached    something between a comment and its definition: an attribute, a decorator
    @around      something that belongs to the span of the definition that is its @inner: `export`, `template <…>`
    @doc         a doc string inside the definition it belongs to

Where two patterns name the same place, the one that stands first in the query wins. Positions are byte offsets; lines
come from one table of line starts, because asking a node for its point costs more than a bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from tree_sitter import Node, QueryCursor

from cairn.limits import MAX_REFERENCES_PER_FILE, MAX_SYMBOLS_PER_FILE
from cairn.syntax.docs import CommentIndex, clean
from cairn.syntax.imports import EXPANDERS
from cairn.syntax.languages import Grammar, Spec
from cairn.syntax.names import name_of
from cairn.syntax.parse import line_starts
from cairn.syntax.signature import signature
from cairn.syntax.spans import Definition, innermost, level_of, whole
from cairn.syntax.visibility import CALLABLE, is_exported
from cairn.types import Import, Reference, Symbol, SymbolKind

EXTRACTOR_VERSION = "1"
# 1: first shipped form.

_CLASS_LIKE = frozenset(
    {
        SymbolKind.CLASS,
        SymbolKind.INTERFACE,
        SymbolKind.STRUCT,
        SymbolKind.ENUM,
        SymbolKind.UNION,
        SymbolKind.TRAIT,
        SymbolKind.OBJECT,
        SymbolKind.IMPL,
    }
)
_MEMBERS = frozenset({SymbolKind.PROPERTY, SymbolKind.FIELD})
_LONG_RECEIVER = 80
_LONG_HEADER = 600
_LONG_CONTAINER = 1_000


class Facts(NamedTuple):
    """What one pass over a tree gives."""

    symbols: tuple[Symbol, ...]
    references: tuple[Reference, ...]
    imports: tuple[Import, ...]
    exports: tuple[str, ...]


class _Harvest:
    """The matches of one file, sorted into their roles, before anything is related to anything else."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.definitions: dict[int, Definition] = {}
        self.references: dict[int, tuple[int, str, Node | None]] = {}
        self.reference_names: dict[int, int] = {}
        self.imports: list[tuple[int, str, str, str]] = []
        self.aliases: set[int] = set()
        self.exports: set[str] = set()
        self.exported: set[str] = set()
        self.comments: list[tuple[int, int]] = []
        self.attached: list[tuple[int, int]] = []
        self.docs: list[tuple[int, int]] = []
        self._last_signature: tuple[tuple[int, int, str], str] = ((0, 0, ""), "")
        self.around: dict[tuple[int, int], tuple[int, int]] = {}

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def before(self, start: int, name: int) -> str:
        """What stands in front of a name, where the modifiers are; only both ends of it when it is long."""
        if name - start > _LONG_HEADER:
            half = _LONG_HEADER // 2
            return (self.data[start : start + half] + b" " + self.data[name - half : name]).decode("utf-8", "replace")
        return self.data[start:name].decode("utf-8", "replace")

    def signature_of(self, found: Definition, kind: str) -> str:
        """The signature of a definition; thousands of names may share one node, whose header is read once."""
        shared = (found.node.id, found.stop, kind)
        if found.part is not None or self._last_signature[0] != shared:
            written = signature(self.data, found.node, kind, found.start, found.stop, found.part)
            self._last_signature = (shared, written)
        return self._last_signature[1]

    def take(self, grammar: Grammar, root: Node) -> None:
        """Run the query once and file every match under its role."""
        roles: dict[int, tuple[str, str]] = {}
        for pattern, captures in QueryCursor(grammar.query).matches(root):
            role = roles.get(pattern)
            if role is None:
                role = roles[pattern] = role_of(captures)
            family, capture = role
            node = captures[capture][0]
            if family == "ref":
                self._reference(pattern, capture[4:], node, captures)
            elif family == "def":
                self._definition(pattern, capture[4:], node, captures)
            elif family == "comment":
                self.comments.append((node.start_byte, node.end_byte))
            elif family == "import":
                self._import(capture, node, captures)
            elif family == "around":
                inner = captures["inner"][0]
                self.around[inner.start_byte, inner.end_byte] = (node.start_byte, node.end_byte)
            else:
                self._mark(family, node)

    def _reference(self, pattern: int, kind: str, node: Node, captures: dict[str, list[Node]]) -> None:
        start = node.start_byte
        known = self.references.get(start)
        if known is None or pattern < known[0]:
            receiver = captures.get("receiver")
            self.references[start] = (pattern, kind, receiver[0] if receiver else None)
            self.reference_names[start] = node.end_byte

    def _definition(self, pattern: int, kind: str, node: Node, captures: dict[str, list[Node]]) -> None:
        name = captures["name"][0]
        at = name.start_byte
        known = self.definitions.get(at)
        # The parser puts empty names where one is missing.
        if at < name.end_byte and (known is None or pattern < known.pattern):
            container, value = captures.get("container"), captures.get("value")
            level, clause = captures.get("level"), captures.get("clause")
            lead, part = captures.get("lead"), captures.get("part")
            self.definitions[at] = Definition(
                node.start_byte,
                node.end_byte,
                pattern,
                kind,
                name_of(name.type, self.text(name)),
                at,
                ".".join(map(self.text, container)).replace("::", ".") if container else "",
                node,
                (lead[-1].end_byte if lead else node.start_byte, part[0].start_byte, part[-1].end_byte)
                if part
                else None,
                value[0].start_byte if value else 0,
                level_of(level[0]) if level else 0,
                clause[0].named_child_count if clause else -1,
            )

    def _import(self, capture: str, node: Node, captures: dict[str, list[Node]]) -> None:
        if capture != "import":
            self.imports.extend((node.start_byte, *found) for found in EXPANDERS[capture[7:]](node, self.data))
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


def role_of(captures: dict[str, list[Node]]) -> tuple[str, str]:
    """(family, capture name) of the one capture that says what a match is."""
    for capture in captures:
        family = capture.partition(".")[0]
        if family in {"def", "ref", "import", "export", "exported", "comment", "attached", "around", "doc"}:
            return family, capture
    raise AssertionError(f"a pattern without a role: {sorted(captures)}")


def extract(data: bytes, root: Node, grammar: Grammar) -> Facts:
    """Everything the query of this grammar finds in the tree, related: parents, scopes, docs, visibility."""
    harvest = _Harvest(data)
    harvest.take(grammar, root)
    lines = line_starts(data)
    # `const json = require("json")` names what another file defines; it is an import, not a definition.
    found = (definition for at, definition in harvest.definitions.items() if at not in harvest.aliases)
    definitions = whole(found, data, harvest.around)
    symbols = _symbols(harvest, definitions[:MAX_SYMBOLS_PER_FILE], lines, grammar.spec)
    references = _references(harvest, symbols, lines)
    return Facts(symbols, references, _imports(harvest, lines), tuple(sorted(harvest.exports)))


def _imports(harvest: _Harvest, lines: list[int]) -> tuple[Import, ...]:
    """Imports in order of place; `local x = require "y"` is one import, though the call alone would be another."""
    found = [
        Import(module, name, alias, at, bisect_right(lines, at))
        for at, module, name, alias in sorted(set(harvest.imports))
    ]
    bound = {(each.module, each.line) for each in found if each.name or each.alias}
    return tuple(each for each in found if each.name or each.alias or (each.module, each.line) not in bound)


def _symbols(harvest: _Harvest, definitions: Sequence[Definition], lines: list[int], spec: Spec) -> tuple[Symbol, ...]:
    comments = CommentIndex(harvest.data, harvest.comments, harvest.attached, lines)
    docs = dict(harvest.docs)
    doc_starts = sorted(docs)
    symbols: list[Symbol] = []
    open_at: list[int] = []
    claimed: set[int] = set()
    for definition in definitions:
        while open_at and not _holds(symbols[open_at[-1]], definition):
            open_at.pop()
        parent = open_at[-1] if open_at else -1
        if parent >= 0 and definition.kind == SymbolKind.VARIABLE and symbols[parent].kind in CALLABLE:
            continue  # a local variable
        index = len(symbols)
        symbols.append(_symbol(harvest, definition, symbols, parent, lines, spec, comments))
        open_at.append(index)
    # A doc string belongs to the innermost definition around it, so the last one that starts before it and holds it.
    for start in doc_starts:
        owner = innermost(symbols, start)
        if owner >= 0 and owner not in claimed:
            claimed.add(owner)
            symbols[owner] = symbols[owner]._replace(doc=clean(harvest.data[start : docs[start]]))
    return tuple(symbols)


def _holds(outer: Symbol, inner: Definition) -> bool:
    """Is `inner` inside `outer`? Two names of one declaration (`var a, b`) share a span and are siblings."""
    if outer.start_byte == inner.start and outer.end_byte == inner.end:
        return False
    return outer.start_byte <= inner.start and inner.end <= outer.end_byte


def _symbol(
    harvest: _Harvest,
    found: Definition,
    symbols: list[Symbol],
    parent: int,
    lines: list[int],
    spec: Spec,
    comments: CommentIndex,
) -> Symbol:
    above = symbols[parent] if parent >= 0 else None
    if above is not None and found.kind in _MEMBERS and above.kind == SymbolKind.CONSTRUCTOR:
        # `constructor(private port: Port)` stands in the constructor and declares a field of the class.
        above = symbols[above.parent] if above.parent >= 0 else None
    container = _qualified(above)
    if found.container:
        container = f"{container}.{found.container}" if container else found.container
    kind = _refined_kind(found, above, spec)
    line = bisect_right(lines, found.start)
    written = harvest.signature_of(found, kind)
    before = harvest.before(found.start, found.name_byte)
    exported = is_exported(spec.visibility, kind, found.name, before, above, found.container, harvest)
    return Symbol(
        kind,
        found.name,
        container,
        written,
        "" if above is not None and above.start_line == line else comments.doc_above(found.start),
        found.start,
        found.end,
        line,
        bisect_right(lines, max(found.start, found.end - 1)),
        found.name_byte,
        exported,
        parent,
    )


def _qualified(symbol: Symbol | None) -> str:
    if symbol is None:
        return ""
    # Nested thousands deep, every name would carry all the names around it.
    return f"{symbol.container}.{symbol.name}"[-_LONG_CONTAINER:] if symbol.container else symbol.name


def _refined_kind(found: Definition, above: Symbol | None, spec: Spec) -> str:
    """A function in a class is a method, one that makes an object is a constructor, a shouting variable a constant."""
    kind = found.kind
    in_class = above is not None and above.kind in _CLASS_LIKE
    if kind == SymbolKind.FUNCTION and (in_class or found.container):
        kind = SymbolKind.METHOD
    if kind == SymbolKind.METHOD and found.name in spec.constructors:
        return SymbolKind.CONSTRUCTOR
    if kind == SymbolKind.VARIABLE:
        if found.name.isupper():
            return SymbolKind.CONSTANT
        if in_class:
            return SymbolKind.FIELD
    return kind


def _references(harvest: _Harvest, symbols: tuple[Symbol, ...], lines: list[int]) -> tuple[Reference, ...]:
    """Uses in order of place, each with the definition around it; one sweep over both sorted lists."""
    data = harvest.data
    # A name where it is defined is no use of it, and loading a file (`require "x"`) is an import, not a call.
    told = harvest.definitions.keys() | {at for at, *_ in harvest.imports}
    references: list[Reference] = []
    open_at: list[int] = []
    following, total = 0, len(symbols)
    for start, (_, kind, receiver) in sorted(harvest.references.items())[:MAX_REFERENCES_PER_FILE]:
        if start in told or kind == "none":
            continue
        while following < total and symbols[following].start_byte <= start:
            open_at.append(following)
            following += 1
        while open_at and symbols[open_at[-1]].end_byte <= start:
            open_at.pop()
        line = bisect_right(lines, start)
        name = data[start : harvest.reference_names[start]].decode("utf-8", "replace")
        before = _receiver(data, receiver) if receiver is not None else ""
        scope = open_at[-1] if open_at else -1
        # In `a = f(), b = g()` both names have the whole span: the use belongs to the last name before it.
        while scope > 0 and symbols[scope].name_byte > start and symbols[scope - 1][5:7] == symbols[scope][5:7]:
            scope -= 1
        references.append(Reference(kind, name, before, start, line, start - lines[line - 1], scope))
    return tuple(references)


def _receiver(data: bytes, node: Node) -> str:
    """The text before the dot; `?` for an expression too long to be a name."""
    start, end = node.start_byte, node.end_byte
    if end - start > _LONG_RECEIVER:
        return "?"
    text = data[start:end].decode("utf-8", "replace")
    return "?" if "\n" in text else text.strip(".!")
