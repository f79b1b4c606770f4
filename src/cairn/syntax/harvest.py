"""Tree → matches, filed under what they are: the one pass of a language's query over a file.

A query names what it finds by capture. Each pattern has exactly one *role*:

    @def.KIND    a definition; with @name, optionally @container (a receiver type, a qualifying scope), @value (where
                 its signature stops), @lead and @part (in `int a, b`: the shared head, this name's own piece; a @lead
                 alone only stands before it), @level
                 (a header: the definition is what follows it), @clause (neighbours of one name are one definition)
    @ref.KIND    a use of a name; optionally @receiver; KIND `none` is a word that only looks like one
    @import      one imported name; with @module, optionally @name and @alias, or @everything (any node)
    @import.HOW  a whole import tree, taken apart by the language's own `import_tree`
    @export      a name that the file says it exports
    @exported    a name of this file that others see under another name (`export { a as b }` exports b, shows a)
    @comment     a comment; the ones that end right above a definition are its doc
    @attached    something between a comment and its definition: an attribute, a decorator
    @around      something that belongs to the span of the definition that is its @inner: `export`, `template <…>`
    @doc         a doc string inside the definition it belongs to

Where two patterns name the same place, the one that stands first in the query wins.
"""

from __future__ import annotations

from tree_sitter import Node, QueryCursor

from cairn.core.limits import MAX_MATCH_STATES
from cairn.syntax.languages import Grammar
from cairn.syntax.names import name_of
from cairn.syntax.patterns import Captures, Pattern, passes
from cairn.syntax.spans import Definition, level_of
from cairn.syntax.traits import Traits

_LONG_HEADER = 600
_new = tuple.__new__


class Harvest:
    """The matches of one file, sorted into their roles, before anything is related to anything else."""

    def __init__(self, data: bytes, traits: Traits) -> None:
        self.data = data
        self.traits = traits
        self.is_ascii = data.isascii()
        # One character for each byte, so that offsets hold; what is not ASCII must be read through `between`.
        self.letters = data.decode("latin-1")
        self.definitions: dict[int, Definition] = {}
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
        """The text of a node."""
        if self.is_ascii:
            return self.letters[node.start_byte : node.end_byte]
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """The text from one byte to another."""
        if self.is_ascii:
            return self.letters[start:end]
        return self.data[start:end].decode("utf-8", "replace")

    def before(self, start: int, name: int) -> str:
        """What stands in front of a name, where the modifiers are; only both ends of it when it is long."""
        if name - start > _LONG_HEADER:
            half = _LONG_HEADER // 2
            return f"{self.between(start, start + half)} {self.between(name - half, name)}"
        return self.between(start, name)

    def take(self, grammar: Grammar, root: Node) -> None:
        """Run the query once and file every match under its role."""
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
                # Half of all matches: filed here, without a call.
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
        # The parser puts empty names where one is missing.
        if at == name_end or (known is not None and known.pattern <= pattern):
            return
        called = name_of(name.type, self.between(at, name_end))
        if not called:
            return
        start, end = node.start_byte, node.end_byte
        if len(captures) == 2:
            # Nothing but a span and a name: most definitions. Without the frame of the constructor.
            plain = (start, end, pattern, kind, called, at, "", node, None, 0, 0, -1)
            self.definitions[at] = _new(Definition, plain)
            return
        container, value = captures.get("container"), captures.get("value")
        level, clause = captures.get("level"), captures.get("clause")
        lead, part = captures.get("lead"), captures.get("part")
        self.definitions[at] = Definition(
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
