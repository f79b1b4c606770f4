"""Where a file can be cut, and what each piece weighs.

A row is a line: the bytes up to and including its newline (a carriage return is whitespace, it ends no line). There are
two exceptions, both for hostile files: a line of more than `MAX_LINE_BYTES` is several rows, and a file with more than
`MAX_ROWS` lines has rows of several lines. The weight of a piece is the number of its UTF-8 bytes that are not ASCII
whitespace.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

from cairn.core.limits import CHUNK_MIN_CHARS, CHUNK_TARGET_CHARS, MAX_LINE_BYTES

# A chunk may pass the target by this much where that saves a definition from a cut, or ends at a better place.
CHUNK_LIMIT_CHARS = CHUNK_TARGET_CHARS + CHUNK_MIN_CHARS

MAX_ROWS = 250_000
_COARSE_ROW_BYTES = 1024
_BLANKS = b" \t\r\v\f"

# What a cut at a line costs, beside its indentation; smaller is better.
_AFTER_TEXT = 1
_BEFORE_CLOSER = 400
_MAX_INDENT = 150
_CLOSERS = (b")", b"]", b"}", b"end\n", b"end\r", b"*/", b'"""', b"'''")


class Rows(NamedTuple):
    """Row `i` begins at byte `starts[i]`, and `weights[i]` is the weight of all rows before it.

    Both lists have one entry more than there are rows, for the end of the file.
    """

    starts: list[int]
    weights: list[int]

    def fit(self, first: int, end: int) -> bool:
        """Say whether the rows from `first` up to, but without, `end` make a chunk of a permitted size."""
        return (
            self.weights[end] - self.weights[first] <= CHUNK_LIMIT_CHARS
            and self.starts[end] - self.starts[first] <= MAX_LINE_BYTES
        )


def measure(data: bytes, lines: list[int] | None = None) -> Rows:
    """Find where the rows of a file begin and what they weigh. `lines` is the table of line starts, if known."""
    # This runs over every byte of a repository: whole-file operations only, nothing per line but in C.
    if len(data) > MAX_ROWS and data.count(b"\n") > MAX_ROWS:
        return _rows_at(data, _wrapped(data, _coarse_starts(data)))
    starts = _starts_and_end(data) if lines is None else lines
    if starts[-1] < len(data):
        starts = [*starts, len(data)]
    if _may_have_a_long_line(data):
        return _rows_at(data, _wrapped(data, starts))
    newlines_kept = _without_returns(data).translate(None, _BLANKS).splitlines()
    weights = list(accumulate(map(len, newlines_kept), initial=0))
    if len(weights) < len(starts):
        # The last line has no newline and is blank, so it vanished with its blanks.
        weights.append(weights[-1])
    return Rows(starts, weights)


def line_starts(data: bytes) -> list[int]:
    """Offset of the first byte of every line; `bisect_right(line_starts, offset)` is the 1-based line of an offset.

    Lines come from here and never from `Node.start_point`: tree-sitter 0.26.0 frees the points it hands out once too
    often, and after some thousand of them the interpreter dies.
    """
    starts = _starts_and_end(data)
    if len(starts) > 1 and not data.endswith(b"\n"):
        starts.pop()
    return starts


def _starts_and_end(data: bytes) -> list[int]:
    return list(accumulate(map(len, _without_returns(data).splitlines(keepends=True)), initial=0))


def _without_returns(data: bytes) -> bytes:
    # `splitlines` would end a line at a carriage return as well.
    return data.replace(b"\r", b" ") if b"\r" in data else data


def _may_have_a_long_line(data: bytes) -> bool:
    # A line of more than twice the step covers one step from end to end; looking at those costs nearly nothing.
    step = MAX_LINE_BYTES // 2
    return any(data.find(b"\n", at, at + step) < 0 for at in range(0, len(data) - step, step))


def _coarse_starts(data: bytes) -> list[int]:
    starts = [0]
    while (end := data.find(b"\n", starts[-1] + _COARSE_ROW_BYTES)) >= 0:
        starts.append(end + 1)
    if starts[-1] < len(data):
        starts.append(len(data))
    return starts


def _wrapped(data: bytes, starts: list[int]) -> list[int]:
    """Add cuts inside the rows that are too long, each between two characters."""
    wrapped = [0]
    for end in starts[1:]:
        # The newline does not count, so that it never stands alone.
        while end - 1 - wrapped[-1] > MAX_LINE_BYTES:
            wrapped.append(_character_start(data, wrapped[-1] + MAX_LINE_BYTES))
        wrapped.append(end)
    return wrapped


def _character_start(data: bytes, at: int) -> int:
    for start in range(at, at - 4, -1):
        if data[start] & 0xC0 != 0x80:
            return start
    # Four continuation bytes in a row are not UTF-8, so there is no character to keep whole.
    return at


def _rows_at(data: bytes, starts: list[int]) -> Rows:
    pieces = (data[a:b].translate(None, _BLANKS + b"\n") for a, b in pairwise(starts))
    return Rows(starts, list(accumulate(map(len, pieces), initial=0)))


def line_cost(data: bytes, rows: Rows, row: int) -> int:
    """Tell how bad it is to cut before this row when only its looks are known; smaller is better.

    Best is a line with little indentation after a blank one; worst is one that is blank or closes a bracket.
    """
    start = rows.starts[row]
    line = data[start : min(start + _MAX_INDENT, rows.starts[row + 1])]
    text = line.lstrip()
    if not text or text.startswith(_CLOSERS):
        return _BEFORE_CLOSER
    after_blank = rows.weights[row] == rows.weights[row - 1]
    return 2 * (len(line) - len(text)) + (0 if after_blank else _AFTER_TEXT)
