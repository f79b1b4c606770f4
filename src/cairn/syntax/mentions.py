"""Find the places of a word that a rename has to look at beside names of the code: texts, comments, written members.

A file is parsed again for it, on request. Without a grammar every place of the word is given as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cairn.core.text import word_set
from cairn.core.tokens import whole_name
from cairn.core.types import WordKind, WordPlace
from cairn.syntax.languages import load
from cairn.syntax.parse import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = "identifier"
# Nodes in which a property gets its name, by the field that holds the name.
_MEMBERS = {
    "pair": "key",
    "pair_pattern": "key",
    "method_definition": "name",
    "method_signature": "name",
    "abstract_method_signature": "name",
    "property_signature": "name",
    "public_field_definition": "name",
    "field_definition": "property",
}
_SHORTHANDS = frozenset({"shorthand_property_identifier", "shorthand_property_identifier_pattern"})
_CALLS = {"call": "function", "call_expression": "function", "new_expression": "constructor"}
_ASSIGNED = {"assignment": "left", "augmented_assignment": "left", "variable_declarator": "name"}
_MODULES = frozenset({"import_statement", "export_statement", "import_spec", "import_from_statement"})
# What may stand between a text and the call or the name that it is for.
_BETWEEN = word_set(
    """argument_list arguments list tuple set array expression_list parenthesized_expression binary_operator
    binary_expression concatenated_string string as_expression satisfies_expression"""
)
_LOOK_UP = 12


def word_places(data: bytes, language: str, word: str) -> tuple[WordPlace, ...]:
    """Return the places of a word in a file, without those where it is a name of the code and no written member."""
    found = tuple(match.start() for match in whole_name(word).finditer(data))
    grammar = load(language) if found and language else None
    tree = parse(data, grammar) if grammar is not None else None
    if tree is None:
        return tuple(WordPlace(at, WordKind.OTHER) for at in found)
    length = len(word.encode("utf-8", "surrogateescape"))
    nodes = ((at, tree.root_node.descendant_for_byte_range(at, at + length)) for at in found)
    places = (_place(node, at, length) if node is not None else WordPlace(at, WordKind.OTHER) for at, node in nodes)
    return tuple(place for place in places if place is not None)


def _place(node: Node, at: int, length: int) -> WordPlace | None:
    if (node.start_byte, node.end_byte) == (at, at + length) and node.is_named:
        if node.type in _SHORTHANDS or _is_member(node):
            return WordPlace(at, WordKind.MEMBER)
        # Some grammars have a node for the inside of a string, which may be the word and no more.
        if _NAME in node.type or node.type in ("constant", "name"):
            return None
    text = _text_around(node)
    if text is None:
        return WordPlace(at, WordKind.OTHER)
    return WordPlace(at, WordKind.TEXT, *_inside(text), _holder(text))


def _is_member(node: Node) -> bool:
    around = node.parent
    field = _MEMBERS.get(around.type) if around is not None and node.type == "property_identifier" else None
    return field is not None and around is not None and around.child_by_field_name(field) == node


def _text_around(node: Node) -> Node | None:
    """Return the outermost string around a node, as far as no code stands between."""
    found = None
    around: Node | None = node
    for _ in range(_LOOK_UP):
        if around is None or (found is not None and "string" not in around.type):
            break
        if "comment" in around.type:
            return None
        if "string" in around.type and "concatenated" not in around.type and "fragment" not in around.type:
            found = around
        around = around.parent
    return found


def _inside(text: Node) -> tuple[int, int]:
    """Return where the inside of a string begins and ends: behind its first mark and before its last one."""
    raw = text.text or b""
    quote = next((n for n, byte in enumerate(raw[:6]) if byte in b"\"'`"), -1)
    if quote < 0:
        return text.start_byte, text.end_byte
    mark = raw[quote : quote + 1]
    wide = 3 if raw[quote : quote + 3] == mark * 3 and len(raw) >= quote + 6 else 1
    return text.start_byte + quote + wide, max(text.start_byte + quote + wide, text.end_byte - wide)


def _holder(text: Node) -> str:
    around = text.parent
    for _ in range(_LOOK_UP):
        if around is None:
            return ""
        if around.type in _MODULES:
            return "import"
        if around.type == "field_declaration":
            return "tag"
        if around.type == "expression_statement":
            return "doc"
        field = _CALLS.get(around.type) or _ASSIGNED.get(around.type)
        if field is not None:
            named = around.child_by_field_name(field)
            return _last_name(named) if named is not None and named.start_byte < text.start_byte else ""
        if around.type not in _BETWEEN:
            return ""
        around = around.parent
    return ""


def _last_name(node: Node) -> str:
    """Return the last name of a dotted name: `patch` of `mock.patch`."""
    return (node.text or b"")[-200:].decode("utf-8", "replace").rpartition(".")[2].strip()
