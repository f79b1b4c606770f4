"""Cut a file into chunks: whole definitions where they fit, and every byte in exactly one chunk.

There are three steps. The tree shows where the file can be cut; only nodes that are too large for one chunk are opened.
Where the tree is missing or shows no cut, lines do. Each cut has a cost, which grows with the depth in the tree. Then
one pass from the top takes for each chunk the cheapest cut at which it can end, the latest of equal ones, so that small
neighbours share a chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from cairn.core.limits import CHUNK_MIN_CHARS, CHUNK_TARGET_CHARS, MAX_BREADCRUMB, MAX_LINE_BYTES, MAX_NESTING
from cairn.core.types import Chunk, Symbol
from cairn.syntax.identity import CHUNKER_VERSION, chunk_hash, chunk_id

if TYPE_CHECKING:
    from tree_sitter import Node


# --- The rows of a file, between which it can be cut, and their weights in characters without blanks.


# A chunk may exceed the target up to this limit when that keeps a definition whole or gives a better end.
CHUNK_LIMIT_CHARS = CHUNK_TARGET_CHARS + CHUNK_MIN_CHARS

MAX_ROWS = 250_000
_COARSE_ROW_BYTES = 1024
_BLANKS = b" \t\r\v\f"

# The costs of a cut before a line, in addition to its indentation; smaller is better.
_AFTER_TEXT = 1
_BEFORE_CLOSER = 400
_MAX_INDENT = 150
_CLOSERS = (b")", b"]", b"}", b"end\n", b"end\r", b"*/", b'"""', b"'''")


class Rows(NamedTuple):
    """The rows of a file: row `i` begins at byte `starts[i]`, and all rows before it together weigh `weights[i]`.

    A row is a line, a piece of a very long line, or several lines of a file with very many. Both lists have one entry
    more than there are rows, for the end of the file.
    """

    starts: list[int]
    weights: list[int]

    def fit(self, first: int, end: int) -> bool:
        """Whether the rows from `first` up to, but without, `end` fit into one chunk."""
        return (
            self.weights[end] - self.weights[first] <= CHUNK_LIMIT_CHARS
            and self.starts[end] - self.starts[first] <= MAX_LINE_BYTES
        )


def measure(data: bytes, lines: list[int] | None = None) -> Rows:
    """Find where the rows of a file begin and what they weigh. `lines` is the table of line starts, if known."""
    # This runs over every byte of a repository, so it uses only operations on the whole file that run in C.
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
        # A last line of blanks without a newline has vanished with its blanks.
        weights.append(weights[-1])
    return Rows(starts, weights)


def line_starts(data: bytes) -> list[int]:
    """Return the first byte of every line; `bisect_right(line_starts, offset)` is the 1-based line of an offset.

    Never use `Node.start_point` for lines: tree-sitter 0.26.0 frees its points once too often, and after some thousand
    points the interpreter dies.
    """
    starts = _starts_and_end(data)
    if len(starts) > 1 and not data.endswith(b"\n"):
        starts.pop()
    return starts


def _starts_and_end(data: bytes) -> list[int]:
    return list(accumulate(map(len, _without_returns(data).splitlines(keepends=True)), initial=0))


def _without_returns(data: bytes) -> bytes:
    # `splitlines` would also split at a carriage return.
    return data.replace(b"\r", b" ") if b"\r" in data else data


def _may_have_a_long_line(data: bytes) -> bool:
    # A line of more than two steps covers a whole step, so it is enough to look for a step without a newline.
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
    """Return the starts with further cuts inside rows that are too long, each between two characters."""
    wrapped = [0]
    for end in starts[1:]:
        # The newline does not count, so that it never becomes a row of its own.
        while end - 1 - wrapped[-1] > MAX_LINE_BYTES:
            wrapped.append(_character_start(data, wrapped[-1] + MAX_LINE_BYTES))
        wrapped.append(end)
    return wrapped


def _character_start(data: bytes, at: int) -> int:
    for start in range(at, at - 4, -1):
        if data[start] & 0xC0 != 0x80:
            return start
    # Four continuation bytes in a row are no UTF-8, so no character is cut.
    return at


def _rows_at(data: bytes, starts: list[int]) -> Rows:
    pieces = (data[a:b].translate(None, _BLANKS + b"\n") for a, b in pairwise(starts))
    return Rows(starts, list(accumulate(map(len, pieces), initial=0)))


def line_cost(data: bytes, rows: Rows, row: int) -> int:
    """Return the cost of a cut before a row, by its text alone; smaller is better.

    The best row has little indentation and follows a blank line; the worst is blank or closes a bracket.
    """
    start = rows.starts[row]
    line = data[start : min(start + _MAX_INDENT, rows.starts[row + 1])]
    text = line.lstrip()
    if not text or text.startswith(_CLOSERS):
        return _BEFORE_CLOSER
    after_blank = rows.weights[row] == rows.weights[row - 1]
    return 2 * (len(line) - len(text)) + (0 if after_blank else _AFTER_TEXT)


KIND = "text"

# Costs of a cut in addition to its depth in the tree (0 to MAX_NESTING), each above all costs before it.
_SHARED_ROW = 2 * MAX_NESTING
_BY_LINE = 4 * MAX_NESTING
_RUNT = 6 * MAX_NESTING
_AFTER_LEADER = 12 * MAX_NESTING

# A node with more children per row than this (a table on one line) offers no better cuts than lines.
_DENSE = 100

# The types of nodes that matter for cuts, by the beginnings and ends of their names in all grammars.
_BODIES = ("block", "body", "body_statement", "list", "compound_statement", "statements")
# In the grammar of Elixir `@doc` is a unary operator.
_LEADERS = ("comment", "attribute", "decorator", "annotation", "signature", "template_parameter", "unary_operator")
# Plain numbers, because looking up the member of an Enum costs more than all other work on a node.
_ORDINARY, _BODY, _LEADER = range(3)


class Cuts(NamedTuple):
    """The rows before which a file may be cut, ascending, and the cost of each cut."""

    rows: list[int]
    costs: list[int]


def split(
    data: bytes, root: Node | None, symbols: Sequence[Symbol], lines: list[int] | None = None
) -> tuple[Chunk, ...]:
    """Return the chunks of a file, in order; without a tree the file is cut by lines.

    The chunks, joined, are the file, and no chunk but a single long line is above the limit. A definition within the
    limit that shares no line with others is never cut, and its leading comments stay with it if both fit.
    """
    if not data:
        return ()
    borders = [0, len(data)]
    # So few bytes are no more characters than fit into one chunk, which holds for many files.
    if len(data) > CHUNK_TARGET_CHARS:
        rows = measure(data, lines)
        cuts = Cuts([0], [0]) if root is None else _cuts_by_tree(root, rows)
        borders = [rows.starts[row] for row in _choose(rows, _with_lines(data, rows, cuts))]
    return tuple(_chunks(data, borders, symbols))


def _cuts_by_tree(root: Node, rows: Rows) -> Cuts:
    """Find the rows that begin a node and are inside no node that is small enough to keep whole."""
    starts, weights = rows
    end = len(starts) - 1
    found, costs = [0], [0]
    covered = -1  # the last row of what is kept whole so far
    led = -1  # the weight before what follows a comment or an attribute, for blank lines in between do not count
    # An explicit stack, because a hostile tree is deeper than Python can recurse.
    stack = [(node, 0) for node in reversed(root.named_children)]
    while stack:
        node, depth = stack.pop()
        first = bisect_right(starts, node.start_byte, 0, end) - 1
        last = bisect_left(starts, node.end_byte, first + 1, end) - 1
        role = _role(node.type)
        # A body is visited only when its definition is too large; then no cut may separate the body from its header.
        whole = role != _BODY and weights[last + 1] - weights[first] <= CHUNK_LIMIT_CHARS
        whole = whole and starts[last + 1] - starts[first] <= MAX_LINE_BYTES
        opened = not whole and last > first and depth < MAX_NESTING and _can_open(node, last - first)
        if first > covered:
            if opened and role == _BODY:
                led = weights[first]
            elif first > found[-1]:
                found.append(first)
                costs.append(depth + _AFTER_LEADER if weights[first] == led else depth)
            if role == _LEADER and not opened:
                led = weights[last + 1]
        elif first == covered and last > first > found[-1]:
            # In `}, function () {` a cut before the line takes a bracket from the first function; later cuts take more.
            found.append(first)
            costs.append(depth + _SHARED_ROW)
        if opened:
            stack.extend([(child, depth + 1) for child in reversed(node.named_children)])
        elif last > covered:
            covered = last
    return Cuts(found, costs)


@cache
def _role(node_type: str) -> int:
    """Return the role of a node of this type for cuts.

    A leader stays with the node after it. A body stays with its header, so the first good cut is before the body's
    second child.
    """
    if node_type.startswith(_LEADERS) or node_type.endswith(_LEADERS):
        return _LEADER
    return _BODY if node_type.endswith(_BODIES) else _ORDINARY


def _can_open(node: Node, rows: int) -> bool:
    return 0 < node.named_child_count <= _DENSE * rows


def _with_lines(data: bytes, rows: Rows, cuts: Cuts) -> Cuts:
    """Return the cuts with the end of the file, and with every row of the pieces that are still too large."""
    end = len(rows.starts) - 1
    full = Cuts([], [])
    for row, following, cost in zip(cuts.rows, [*cuts.rows[1:], end], cuts.costs, strict=True):
        full.rows.append(row)
        full.costs.append(cost)
        if not rows.fit(row, following):
            full.rows.extend(range(row + 1, following))
            full.costs.extend([_BY_LINE + line_cost(data, rows, line) for line in range(row + 1, following)])
    full.rows.append(end)
    full.costs.append(0)
    return full


def _choose(rows: Rows, cuts: Cuts) -> Iterator[int]:
    """Yield the rows at which chunks begin, and the end of the file."""
    weights = [rows.weights[row] for row in cuts.rows]
    offsets = [rows.starts[row] for row in cuts.rows]
    here, end = 0, len(cuts.rows) - 1
    yield 0
    while here < end:
        by_weight = bisect_right(weights, weights[here] + CHUNK_LIMIT_CHARS, here)
        by_bytes = bisect_right(offsets, offsets[here] + MAX_LINE_BYTES, here)
        # A single row above the limit becomes a chunk of its own.
        reach = max(min(by_weight, by_bytes) - 1, here + 1)
        here = _cheapest(weights, cuts.costs, here, reach)
        yield cuts.rows[here]


def _cheapest(weights: list[int], costs: list[int], here: int, reach: int) -> int:
    """Return the cut at which the chunk that begins at `here` ends: the latest of the cheapest within the target.

    A cut beyond the target, up to `reach`, is taken when it is cheaper than all cuts within the target.
    """
    runts = bisect_left(weights, weights[here] + CHUNK_MIN_CHARS, here + 1, reach + 1)
    target = bisect_right(weights, weights[here] + CHUNK_TARGET_CHARS, here + 1, reach + 1)
    best, lowest = reach, _AFTER_LEADER * 4
    for place in range(here + 1, target):
        cost = costs[place] + (_RUNT if place < runts else 0)
        if cost <= lowest:
            best, lowest = place, cost
    for place in range(target, reach + 1):
        if costs[place] < lowest:
            best, lowest = place, costs[place]
    return best


def _chunks(data: bytes, borders: list[int], symbols: Sequence[Symbol]) -> Iterator[Chunk]:
    # Symbols mostly come in this order already, and then sorting is cheap.
    order = sorted(range(len(symbols)), key=[symbol.start_byte for symbol in symbols].__getitem__)
    begins = [symbols[index].start_byte for index in order]
    view = memoryview(data)
    line, place = 1, 0
    for ordinal, (start, end) in enumerate(pairwise(borders)):
        newlines = data.count(b"\n", start, end)
        last_line = line + newlines - (data[end - 1] == 0x0A)
        following = bisect_left(begins, end, place)
        begun = tuple(order[place:following])
        around = -1
        if begun:
            around = symbols[begun[0]].parent
        elif place:
            first_byte = end - len(data[start:end].lstrip())
            around = _innermost(symbols, order[place - 1], first_byte)
        content = chunk_hash(view[start:end])
        identity = chunk_id(content, CHUNKER_VERSION, KIND)
        yield Chunk(ordinal, start, end, line, last_line, KIND, begun, _path(symbols, around), content, identity)
        line += newlines
        place = following


def _innermost(symbols: Sequence[Symbol], index: int, at: int) -> int:
    """Return the definition around a byte, given the last definition that begins before it; -1 when there is none."""
    for _ in range(MAX_NESTING):
        if index < 0 or symbols[index].end_byte > at:
            return index
        index = symbols[index].parent
    return -1


def _path(symbols: Sequence[Symbol], index: int) -> tuple[str, ...]:
    names: list[str] = []
    while index >= 0 and len(names) < MAX_BREADCRUMB:
        names.append(symbols[index].name)
        index = symbols[index].parent
    return tuple(reversed(names))
