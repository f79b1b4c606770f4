"""Where a name stands in the code of a file: not in comments, not in texts, and not as part of a longer word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cairn.core.tokens import whole_name
from cairn.core.types import NamePlace, Shorthand
from cairn.syntax.languages import load
from cairn.syntax.parse import parse

if TYPE_CHECKING:
    from tree_sitter import Node

# What grammars call a name; most of them have several kinds (`property_identifier`).
_NAME = "identifier"
_OTHER_NAMES = frozenset({"constant", "name"})
_SHORTHANDS = {
    "shorthand_property_identifier": Shorthand.OBJECT,
    "shorthand_property_identifier_pattern": Shorthand.PATTERN,
}


def places_of_name(data: bytes, language: str, name: str) -> tuple[NamePlace, ...]:
    """Where the name begins as a name of the code; where that cannot be told, wherever it stands.

    The modules that an import of Python comes from are left out: they are files, and no definition has that name.
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
    """`const { name } = require(...)`."""
    around = node.parent.parent if node.parent is not None else None
    value = around.child_by_field_name("value") if around is not None else None
    made_by = value.child_by_field_name("function") if value is not None else None
    return made_by is not None and made_by.text == b"require"


def _is_held(node: Node) -> bool:
    """A type of Go that is the name of its field too: `struct { Name }`, `struct { *other.Name }`."""
    around = node.parent
    if around is not None and around.type == "qualified_type":
        around = around.parent
    held = around is not None and around.type == "field_declaration" and node.type == "type_identifier"
    return held and around is not None and around.child_by_field_name("name") is None


def _is_module(node: Node) -> bool:
    """`name` in `import name` and in `from .name import other`."""
    path = node.parent
    around = path.parent if path is not None and path.type == "dotted_name" else None
    if around is not None and around.type == "aliased_import":
        around, path = around.parent, around
    if around is None or around.type != "import_from_statement":
        return around is not None and around.type in ("relative_import", "import_statement")
    return around.child_by_field_name("module_name") == path
