"""What a caller sees of a definition, on one line: everything before its body or its value, without comments."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.limits import MAX_SIGNATURE_CHARS
from cairn.types import SymbolKind

_SPACE = re.compile(rb"\s+")
# Where the visible part ends. A default value or a body may change without any user of the name noticing.
_ENDS = ("body", "value", "right", "default_value")
# A heading, a key or a rule is its own text; its section is not part of it.
_FIRST_LINE_ONLY = frozenset(
    {SymbolKind.HEADING, SymbolKind.KEY, SymbolKind.RULE, SymbolKind.ELEMENT, SymbolKind.TABLE}
)
# A header is short; what a hostile file puts there (30,000 names in one declaration) is not read to its end.
_LONG_HEADER = 4_000
_WIDE_NODE = 1_000
_COMMENT_MARKS = (b"//", b"/*", b"#", b"--", b"{-")
_BODY_TYPES = frozenset(
    {
        "block",
        "body",
        "class_body",
        "compound_statement",
        "declaration_list",
        "enum_body",
        "enum_class_body",
        "field_declaration_list",
        "function_body",
        "interface_body",
        "object_body",
        "template_body",
        "do_block",
        "statement_block",
        "protocol_body",
        "enumerator_list",
        "body_statement",
    }
)


def signature(
    data: bytes, node: Node, kind: str, start: int, stop: int = 0, part: tuple[int, int, int] | None = None
) -> str:
    """The header of a definition with its white space folded, cut at a fixed length.

    `start` is before the node when something is wrapped around it. `stop` is where the query says that the header
    ends; `part` is (end of the shared head, start, end) of one name of several.
    """
    if part is not None:
        text = _visible(data, node, start, part[0]) + b" " + _visible(data, node, part[1], stop or part[2])
    elif kind in _FIRST_LINE_ONLY:
        text = data[start : min(node.end_byte, start + _LONG_HEADER)].split(b"\n", 1)[0]
    else:
        # What a type alias stands for is all there is to see of it.
        whole = kind == SymbolKind.TYPE
        text = _visible(data, node, start, stop or (node.end_byte if whole else _header_end(node)))
    folded = _SPACE.sub(b" ", text).strip().rstrip(b"{(:=;,\\").rstrip()
    return folded.decode("utf-8", "replace")[:MAX_SIGNATURE_CHARS]


def _visible(data: bytes, node: Node, start: int, end: int) -> bytes:
    end = min(end, start + _LONG_HEADER)
    text = data[start:end]
    return _without_comments(data, node, start, end) if any(mark in text for mark in _COMMENT_MARKS) else text


def _header_end(node: Node) -> int:
    """Offset where the body, the value or the first block of this definition begins."""
    for field in _ENDS:
        part = node.child_by_field_name(field)
        if part is not None and part.start_byte > node.start_byte:
            return part.start_byte
    for child in node.children:
        if child.type in _BODY_TYPES:
            return child.start_byte
    if node.child_by_field_name("parameters") is not None:
        return node.end_byte
    # A wrapper (a decorated function, `export default`, a template): the header ends where the inner one's does.
    for field in ("definition", "declaration", "declarator"):
        inner = node.child_by_field_name(field)
        if inner is not None:
            return _header_end(inner) if inner.child_count else node.end_byte
    return node.end_byte


def _without_comments(data: bytes, node: Node, start: int, end: int) -> bytes:
    """The bytes of the header with every comment node inside it left out. Rare, so it may walk the nodes."""
    cuts: list[tuple[int, int]] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if current.start_byte >= end or current.end_byte <= start:
            continue
        if "comment" in current.type or current.type == "haddock":
            cuts.append((current.start_byte, current.end_byte))
        elif 0 < current.child_count <= _WIDE_NODE:
            pending.extend(current.children)
    pieces: list[bytes] = []
    at = start
    for first, last in sorted(cuts):
        pieces.append(data[at:first])
        at = max(at, last)
    pieces.append(data[at:end])
    return b" ".join(pieces)
