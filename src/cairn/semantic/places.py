"""Places: where in the tree a place of an index is, and anchors, which tell whether a place is still the one meant.

A place has a path, a line and a column in bytes. An anchor is the text around an occurrence, on its own lines.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from cairn.core.limits import ANCHOR_BYTES
from cairn.errors import BadPathKey
from cairn.semantic.model import Context, Family, Occurrence
from cairn.semantic.scip import Document, Range, byte_column
from cairn.source.root import path_key

# --- anchors ----------------------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """A piece of a file: lines from 1, byte columns from 0, the end exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


def lines_of(text: bytes | memoryview) -> list[bytes]:
    """Return the lines of a file, without their ends, as places count them."""
    return [line.removesuffix(b"\r") for line in bytes(text).split(b"\n")]


def spot(text: bytes, at: int) -> tuple[int, int]:
    """Return the line (from 1) and the column (in bytes) of a byte."""
    return text.count(b"\n", 0, at) + 1, at - (text.rfind(b"\n", 0, at) + 1)


def anchors(lines: list[bytes], span: Span) -> tuple[str, str] | None:
    """Return the text just before and just behind a span, on its lines; None when the file has no such place."""
    if not 1 <= span.start_line <= span.end_line <= len(lines):
        return None
    first, last = lines[span.start_line - 1], lines[span.end_line - 1]
    if span.start_column > len(first) or span.end_column > len(last):
        return None
    before = first[max(0, span.start_column - ANCHOR_BYTES) : span.start_column]
    behind = last[span.end_column : span.end_column + ANCHOR_BYTES]
    # A character that the cut splits is left out.
    return before.decode("utf-8", "ignore"), behind.decode("utf-8", "ignore")


def verified(lines: list[bytes], one: Occurrence) -> bool:
    """Whether the text around the occurrence is still the text that was indexed."""
    return anchors(lines, Span(*one[1:5])) == (one.anchor_before, one.anchor_after)


MARK = "\ufeff".encode()
"""What some editors write at the beginning of a file."""
_SEPARATORS = "\u2028".encode(), "\u2029".encode()


def folder_of(project_root: str, root: str, context: Context) -> str:
    """Return the folder, relative to the root, at which the paths of an index begin."""
    said = _decoded(project_root.removeprefix("file://")) if project_root.startswith("file://") else project_root
    if said.startswith("/"):
        found = os.path.relpath(os.path.normpath(said), root)
        if found != os.pardir and not found.startswith(os.pardir + os.sep):
            return found
    return context.root


def _decoded(uri: str) -> str:
    """Return the path of a URI with `%20` and other escapes decoded."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), uri.encode())
    return raw.decode("utf-8", "replace")


def path_of(folder: str, written: str) -> str | None:
    """Return the path key of a document; None when the document lies outside the root or has no name."""
    found = os.path.normpath(os.path.join(folder, written))
    if not written or os.path.isabs(found):
        return None
    try:
        return path_key(found.encode())
    except (BadPathKey, UnicodeEncodeError):
        return None


def is_counted_alike(text: bytes | memoryview, family: Family) -> bool:
    """Whether an indexer of this family finds the same lines and columns in a text as Cairn does.

    Most indexers know a line end that Cairn does not, so that everything behind it would be reported on another line.
    Whether a byte order mark counts as a column is known for two families only.
    """
    data = bytes(text)
    if re.search(rb"\r(?!\n)", data):
        return False
    if family is Family.TYPESCRIPT:
        return not any(separator in data for separator in _SEPARATORS)
    return family is Family.PYTHON or not data.startswith(MARK)


def span_of(written: Range, document: Document, lines: list[bytes], unseen: int) -> Span | None:
    """Return the span of a range of a document; None when the file has no such line.

    The indexer does not see the first `unseen` bytes of the file.
    """
    if written.end_line >= len(lines):
        return None
    start = _column(lines, written.start_line, written.start_column, document, unseen)
    end = _column(lines, written.end_line, written.end_column, document, unseen)
    return Span(written.start_line + 1, start, written.end_line + 1, end)


def _column(lines: list[bytes], line: int, column: int, document: Document, unseen: int) -> int:
    if line or not unseen:
        return byte_column(lines[line], column, document.encoding)
    return unseen + byte_column(lines[0][unseen:], column, document.encoding)


def is_empty(span: Span) -> bool:
    """Whether a span holds no text."""
    return (span.start_line, span.start_column) == (span.end_line, span.end_column)


def text_at(lines: list[bytes], span: Span) -> str:
    """Return the text of a span; empty when the span has more than one line."""
    if span.start_line != span.end_line:
        return ""
    return lines[span.start_line - 1][span.start_column : span.end_column].decode("utf-8", "replace")
