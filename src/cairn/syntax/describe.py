"""Describe a definition without its body: by the doc comment above it, and by its signature on one line."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter

from tree_sitter import Node

from cairn.core.limits import MAX_DOC_CHARS, MAX_SIGNATURE_CHARS
from cairn.syntax.languages import HeaderFields

# The marks at the start of a comment line, in all languages.
_LINE_START = re.compile(
    r"(?:/\*+!?|//+!?|\*+/|\*(?!\*)|#+[!:]?|--\[=*\[|\]=*\]$|"
    r"--+(?:[ \t]*[|^])?|\{-(?:[ \t]*[|^])?|;+|<!--|=begin|=end)[ \t]?"
)
_LINE_END = re.compile(r"(?:\*+/|-\}|-->)$")
_CLOSERS = ("*/", "-}", "-->")
# `@doc "..."` of Elixir, and the tags in a doc comment of C#.
_DOC_ATTRIBUTE = re.compile(r"^@(?:module|type)?doc[ \t]+")
_DOC_TAG = re.compile(r"</?(?:summary|remarks|returns|value|para)>")
_QUOTES = re.compile(r'^[rRbBuUfFsS~]*("""|\'\'\'|"|\')')


class CommentIndex:
    """The comments of a file, by the line on which they end.

    Attributes and decorators between a comment and its definition are passed over.
    """

    def __init__(
        self, data: bytes, comments: list[tuple[int, int]], attached: list[tuple[int, int]], lines: list[int]
    ) -> None:
        self._data = data
        self._lines = lines
        self._comments = comments
        self._attached = attached
        self._doc_by_line: dict[int, str] = {}
        for spans in (comments, attached):
            spans.sort(key=itemgetter(1))
        self._comment_ends = [end for _, end in comments]
        self._attached_ends = [end for _, end in attached]
        self._ends = sorted(self._comment_ends + self._attached_ends) if attached else self._comment_ends

    def doc_above(self, line: int) -> str:
        """Return the text of the comments directly above a definition that starts on this line; empty without any."""
        lines, ends = self._lines, self._ends
        last = bisect_right(ends, lines[line - 1]) - 1
        if line < 2 or last < 0 or ends[last] <= lines[line - 2]:
            return ""  # nothing ends on the line above: most definitions
        known = self._doc_by_line.get(line)
        if known is None:
            # Kept, because many definitions may start on one line below a long comment.
            known = self._doc_by_line[line] = self._read_above(line)
        return known

    def _read_above(self, line: int) -> str:
        parts: list[bytes] = []
        while line > 1:
            attached = -1 if parts else self._last_on(line - 1, self._attached_ends)
            if attached >= 0:
                line = bisect_right(self._lines, self._attached[attached][0])
                continue
            comment = self._last_on(line - 1, self._comment_ends)
            if comment < 0:
                break
            start, end = self._comments[comment]
            if not self._alone_on_its_line(start):
                break
            parts.append(self._data[start:end])
            line = bisect_right(self._lines, start)
        return clean(b"\n".join(reversed(parts))) if parts else ""

    def _last_on(self, line: int, ends: list[int]) -> int:
        """Return the index of the last span that ends on a line; -1 when there is none.

        The last byte of a span decides its line, because in some grammars a comment includes its newline.
        """
        index = bisect_right(ends, self._lines[line]) - 1
        return index if index >= 0 and ends[index] > self._lines[line - 1] else -1

    def _alone_on_its_line(self, start: int) -> bool:
        """Whether nothing stands before a comment on its line: `x = 1  # why` is no doc of the definition below."""
        line_start = self._lines[bisect_right(self._lines, start) - 1]
        return not self._data[line_start:start].strip()


def clean(comment: bytes) -> str:
    """Return a comment or doc string as plain text, bounded."""
    text = comment.decode("utf-8", "replace")
    if "@" in text or "<" in text:
        text = _DOC_ATTRIBUTE.sub("", _DOC_TAG.sub("", text))
    quote = _QUOTES.match(text)
    if quote:
        text = text[quote.end() :].removesuffix(quote.group(1))
    lines = map(str.strip if quote else _without_marks, text.split("\n"))
    return "\n".join(lines).strip()[:MAX_DOC_CHARS]


def _without_marks(line: str) -> str:
    line = line.strip(" \t")
    if line.startswith(("* ", "# ")):
        line = line[2:]  # what most lines begin with
    elif mark := _LINE_START.match(line):
        line = line[mark.end() :]
    if line.endswith(_CLOSERS):
        line = _LINE_END.sub("", line)
    return line.strip()


# --- The signature of a definition: everything before its body or its value, on one line, without comments.


# Kinds whose signature is their first line; the section below a heading is no part of it.
_FIRST_LINE_ONLY = frozenset({"heading", "key", "rule", "element", "table"})
# The most bytes of a header that are read: a hostile file has 30,000 names in one declaration.
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
    """Return the header of a definition with its white space folded, cut at a fixed length.

    `start` is before the node when a wrapper is around it. `stop` is where the header ends according to the query;
    `part` is (end of the shared head, start, end) of one name of several.
    """
    if part is not None:
        text = _visible(data, node, start, part[0]) + b" " + _visible(data, node, part[1], stop or part[2])
    elif kind in _FIRST_LINE_ONLY:
        text = data[start : min(node.end_byte, start + _LONG_HEADER)].split(b"\n", 1)[0]
    else:
        # The signature of a type alias includes the type that it stands for.
        text = _visible(data, node, start, stop or (node.end_byte if kind == "type" else _header_end(node, fields)))
    folded = b" ".join(text.split()).rstrip(b"{(:=;,\\").rstrip()
    return folded.decode("utf-8", "replace")[:MAX_SIGNATURE_CHARS]


def _visible(data: bytes, node: Node, start: int, end: int) -> bytes:
    if end - start > _LONG_HEADER:
        end = start + _LONG_HEADER
    text = data[start:end]
    return _without_comments(data, node, start, end) if _COMMENT_MARK.search(text) else text


def _header_end(node: Node, fields: HeaderFields) -> int:
    """Return the offset at which the body, the value or the first block of a definition begins."""
    while True:
        start = node.start_byte
        for field in fields.ends:
            part = node.child_by_field_id(field)
            if part is not None and part.start_byte > start:
                return part.start_byte
        for child in node.children:
            if child.type in _BODY_TYPES:
                return child.start_byte
        # The header of a wrapper (a decorated function, `export default`, a template) ends where the inner header ends.
        inner = _inner(node, fields)
        if inner is None or not inner.child_count:
            return node.end_byte
        node = inner


def _inner(node: Node, fields: HeaderFields) -> Node | None:
    """Return the node inside a wrapper; None for a node with parameters, which is a header itself."""
    if any(node.child_by_field_id(field) is not None for field in fields.parameters):
        return None
    return next((inner for field in fields.inner if (inner := node.child_by_field_id(field)) is not None), None)


def _without_comments(data: bytes, node: Node, start: int, end: int) -> bytes:
    """Return the bytes of a header without its comments; walks the nodes, which is slow but rarely needed."""
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
