"""What a caller sees of a definition, on one line: everything before its body or its value, without comments."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.core.limits import MAX_SIGNATURE_CHARS
from cairn.syntax.languages import HeaderFields

# A heading, a key or a rule is its own text; its section is not part of it.
_FIRST_LINE_ONLY = frozenset({"heading", "key", "rule", "element", "table"})
# A header is short; what a hostile file puts there (30,000 names in one declaration) is not read to its end.
_LONG_HEADER = 4_000
_WIDE_NODE = 1_000
_COMMENT_MARK = re.compile(rb"//|/\*|#|--|\{-")
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
    data: bytes,
    node: Node,
    fields: HeaderFields,
    kind: str,
    start: int,
    stop: int = 0,
    part: tuple[int, int, int] | None = None,
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
        text = _visible(data, node, start, stop or (node.end_byte if kind == "type" else _header_end(node, fields)))
    folded = b" ".join(text.split()).rstrip(b"{(:=;,\\").rstrip()
    return folded.decode("utf-8", "replace")[:MAX_SIGNATURE_CHARS]


def _visible(data: bytes, node: Node, start: int, end: int) -> bytes:
    if end - start > _LONG_HEADER:
        end = start + _LONG_HEADER
    text = data[start:end]
    return _without_comments(data, node, start, end) if _COMMENT_MARK.search(text) else text


def _header_end(node: Node, fields: HeaderFields) -> int:
    """Offset where the body, the value or the first block of this definition begins."""
    while True:
        start = node.start_byte
        for field in fields.ends:
            part = node.child_by_field_id(field)
            if part is not None and part.start_byte > start:
                return part.start_byte
        for child in node.children:
            if child.type in _BODY_TYPES:
                return child.start_byte
        # A wrapper (a decorated function, `export default`, a template): the header ends where the inner one's does.
        inner = _inner(node, fields)
        if inner is None or not inner.child_count:
            return node.end_byte
        node = inner


def _inner(node: Node, fields: HeaderFields) -> Node | None:
    """What a wrapper holds; what has parameters is a header itself."""
    if any(node.child_by_field_id(field) is not None for field in fields.parameters):
        return None
    return next((inner for field in fields.inner if (inner := node.child_by_field_id(field)) is not None), None)


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
