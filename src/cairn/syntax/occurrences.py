"""Find the local names of one function, and the places of one name in the code of a file.

Both are found by parsing the file again, on request. A local name belongs to the innermost scope around it that binds
it. Names that the function does not bind are not local and are left out. A block that binds a name twice, as Rust
allows, counts as one name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cairn.core.tokens import whole_name
from cairn.core.types import NamePlace, Shorthand
from cairn.syntax.languages import load
from cairn.syntax.parse import parse
from cairn.syntax.traits import DEFINITION, NOTHING, OUTSIDE, PARAMETER, READ, SAME, WRITE, LocalRules

if TYPE_CHECKING:
    from tree_sitter import Node


MOST_PLACES = 10_000
_NOT_HERE = frozenset({"global_statement", "nonlocal_statement"})


class LocalPlace(NamedTuple):
    """A place of a local name, and its role there."""

    start_byte: int
    role: str


class LocalName(NamedTuple):
    """A local name and all its places, in order; `scope` is the byte at which its scope begins."""

    name: str
    scope: int
    places: tuple[LocalPlace, ...]


class _Use(NamedTuple):
    name: str
    at: int
    role: str
    scope: int


def local_names(data: bytes, language: str, start: int, end: int) -> tuple[LocalName, ...] | None:
    """Return the local names of the function between two bytes, in the order of their first places.

    None when the language has no `local_rules`, when no function is there, or when the file cannot be parsed.
    """
    grammar = load(language)
    rules = grammar.traits.local_rules if grammar is not None else None
    tree = parse(data, grammar) if rules is not None and grammar is not None else None
    if rules is None or tree is None:
        return None
    root = _function(tree.root_node.descendant_for_byte_range(start, end), rules, start, end)
    return None if root is None else _OccurrenceWalk(rules, data).names(root)


def _function(node: Node | None, rules: LocalRules, start: int, end: int) -> Node | None:
    """Return the outermost function between two bytes, after a decorator, `export` or `const name =`."""
    found = [node] if node is not None else []
    for each in found:
        if each.type in rules.functions and start <= each.start_byte and each.end_byte <= end:
            return each
        if len(found) < MOST_PLACES:
            found += [inner for inner in each.children if inner.end_byte > start and inner.start_byte < end]
    return None


class _OccurrenceWalk:
    """One walk over the nodes of one function."""

    def __init__(self, rules: LocalRules, data: bytes) -> None:
        self._rules, self._data = rules, data
        self._parents: list[int] = []
        self._starts: list[int] = []
        self._is_function: list[bool] = []
        self._bound: list[set[str]] = []
        self._elsewhere: list[set[str]] = []
        self._uses: list[_Use] = []

    def names(self, root: Node) -> tuple[LocalName, ...]:
        stack: list[tuple[Node, str, int]] = [(root, READ, -1)]
        while stack and len(self._uses) < MOST_PLACES:
            node, role, scope = stack.pop()
            if node.type in self._rules.scopes:
                scope = self._opened(node, scope)
            if node.type in self._rules.names:
                self._name(node, role, scope)
            elif node.type in _NOT_HERE:
                self._elsewhere[scope].update(self._text(child) for child in node.named_children)
            else:
                stack += reversed([self._child(node, n, role, scope) for n in range(node.child_count)])
        return self._joined()

    def _opened(self, node: Node, around: int) -> int:
        self._parents.append(around)
        self._starts.append(node.start_byte)
        self._is_function.append(node.type in self._rules.functions)
        self._bound.append(set())
        self._elsewhere.append(set())
        return len(self._parents) - 1

    def _child(self, node: Node, number: int, role: str, scope: int) -> tuple[Node, str, int]:
        child = node.children[number]
        said = self._rules.fields.get(node.type, {}).get(node.field_name_for_child(number) or "", READ)
        if said == SAME:
            return child, role, scope
        if said == OUTSIDE:
            return child, DEFINITION, self._parents[scope] if node.type in self._rules.scopes else scope
        if node.type == "variable_declaration":
            said = "var"
        return child, role if role == "var" and said == DEFINITION else said, scope

    def _name(self, node: Node, role: str, scope: int) -> None:
        name = self._text(node)
        if role == NOTHING or scope < 0 or name == "_":
            return
        if role == "var":
            while not self._is_function[scope]:
                scope = self._parents[scope]
            role = DEFINITION
        # A capitalized name in a pattern of Rust is a constant or a variant of an enum.
        if role in (PARAMETER, DEFINITION) and not (name[:1].isupper() and "function_item" in self._rules.functions):
            self._bound[scope].add(name)
        elif role == WRITE and self._rules.writes_bind:
            self._bound[self._binding(scope, node)].add(name)
        self._uses.append(_Use(name, node.start_byte, role, scope))

    def _binding(self, scope: int, node: Node) -> int:
        """Return the scope in which a written name is bound; `:=` in a Python comprehension binds in the function."""
        around = node.parent
        if around is not None and around.type == "named_expression":
            while not self._is_function[scope]:
                scope = self._parents[scope]
        return scope

    def _joined(self) -> tuple[LocalName, ...]:
        found: dict[tuple[str, int], list[LocalPlace]] = {}
        for use in sorted(self._uses, key=lambda each: each.at):
            scope = use.scope
            while scope >= 0 and (use.name not in self._bound[scope] or use.name in self._elsewhere[scope]):
                scope = self._parents[scope]
            if scope >= 0:
                found.setdefault((use.name, self._starts[scope]), []).append(LocalPlace(use.at, use.role))
        return tuple(LocalName(name, scope, tuple(places)) for (name, scope), places in found.items())

    def _text(self, node: Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


# --- The places of a name in the code of a file: not in comments, not in strings, not as a part of a longer word.


# Grammars call the nodes of names `identifier` or something longer, such as `property_identifier`.
_NAME = "identifier"
_OTHER_NAMES = frozenset({"constant", "name"})
_SHORTHANDS = {
    "shorthand_property_identifier": Shorthand.OBJECT,
    "shorthand_property_identifier_pattern": Shorthand.PATTERN,
}


def places_of_name(data: bytes, language: str, name: str) -> tuple[NamePlace, ...]:
    """Return the places of a name in the code of a file; when the file cannot be parsed, every place of the word.

    The modules that Python imports are left out, because a module is a file and not a definition.
    """
    word = name.encode("utf-8", "surrogateescape")
    found = tuple(match.start() for match in whole_name(name).finditer(data))
    grammar = load(language) if found else None
    tree = parse(data, grammar) if grammar is not None else None
    if tree is None:
        return tuple(map(NamePlace, found))
    nodes = ((at, tree.root_node.descendant_for_byte_range(at, at + len(word))) for at in found)
    return tuple(
        NamePlace(at, _shorthand(node)) for at, node in nodes if node is not None and _is_name(node, at, len(word))
    )


def _is_name(node: Node, at: int, length: int) -> bool:
    is_name = _NAME in node.type or node.type in _OTHER_NAMES
    return is_name and (node.start_byte, node.end_byte) == (at, at + length) and not _is_module(node)


def _shorthand(node: Node) -> Shorthand:
    found = _SHORTHANDS.get(node.type, Shorthand.NONE)
    return Shorthand.SAME if _is_held(node) or (found is Shorthand.PATTERN and _is_module_taken_apart(node)) else found


def _is_module_taken_apart(node: Node) -> bool:
    """Whether a name is taken from a module, as in `const { name } = require(...)`."""
    around = node.parent.parent if node.parent is not None else None
    value = around.child_by_field_name("value") if around is not None else None
    made_by = value.child_by_field_name("function") if value is not None else None
    return made_by is not None and made_by.text == b"require"


def _is_held(node: Node) -> bool:
    """Whether a type of Go is also the name of its field: `struct { Name }`, `struct { *other.Name }`."""
    around = node.parent
    if around is not None and around.type == "qualified_type":
        around = around.parent
    held = around is not None and around.type == "field_declaration" and node.type == "type_identifier"
    return held and around is not None and around.child_by_field_name("name") is None


def _is_module(node: Node) -> bool:
    """Whether a name is a module that Python imports: `import name`, `from .name import other`."""
    path = node.parent
    around = path.parent if path is not None and path.type == "dotted_name" else None
    if around is not None and around.type == "aliased_import":
        around, path = around.parent, around
    if around is None or around.type != "import_from_statement":
        return around is not None and around.type in ("relative_import", "import_statement")
    return around.child_by_field_name("module_name") == path
