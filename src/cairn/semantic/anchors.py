"""Anchors: the text around an occurrence on its lines, kept to see whether a place is still the one that was meant."""

from __future__ import annotations

from typing import NamedTuple

from cairn.core.limits import ANCHOR_BYTES
from cairn.semantic.model import Occurrence


class Span(NamedTuple):
    """A piece of a file: lines from 1, byte columns from 0, the end behind it."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


def lines_of(text: bytes | memoryview) -> list[bytes]:
    """The lines of a file, without their ends, as places count them."""
    return [line.removesuffix(b"\r") for line in bytes(text).split(b"\n")]


def spot(text: bytes, at: int) -> tuple[int, int]:
    """The line (from 1) and the column (bytes) of a byte."""
    return text.count(b"\n", 0, at) + 1, at - (text.rfind(b"\n", 0, at) + 1)


def anchors(lines: list[bytes], span: Span) -> tuple[str, str] | None:
    """The text just before and just behind the span, on its own lines; None when there is no such place."""
    if not 1 <= span.start_line <= span.end_line <= len(lines):
        return None
    first, last = lines[span.start_line - 1], lines[span.end_line - 1]
    if span.start_column > len(first) or span.end_column > len(last):
        return None
    before = first[max(0, span.start_column - ANCHOR_BYTES) : span.start_column]
    behind = last[span.end_column : span.end_column + ANCHOR_BYTES]
    # Cut in the middle of a character, that one is left out.
    return before.decode("utf-8", "ignore"), behind.decode("utf-8", "ignore")


def verified(lines: list[bytes], one: Occurrence) -> bool:
    """Whether the text around the occurrence is still the one that was there when it was indexed."""
    return anchors(lines, Span(*one[1:5])) == (one.anchor_before, one.anchor_after)
