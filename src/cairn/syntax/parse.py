"""Bytes → tree, within a budget of time and memory, whatever the bytes are.

Some inputs make error recovery quadratic (100,000 times `<a>` in a .py file parses for minutes). The parser cannot be
interrupted, but it asks for its input piece by piece; when the budget is spent it is told that the input has ended,
comes back at once, and the half tree is thrown away.
"""

from __future__ import annotations

from bisect import bisect_right

from tree_sitter import Node, Tree

from cairn.clock import SYSTEM_CLOCK, Clock
from cairn.limits import MAX_PARSE_BYTES, MAX_PARTIAL_RANGES, PARSE_CPU_SECONDS
from cairn.syntax.languages import Grammar

# Below this a parse cannot take longer than the budget even when it is quadratic, so the plain call is safe.
_SMALL_BYTES = 8 * 1024
_SLICE_BYTES = 4 * 1024
_MOST_BROKEN_NODES = 50_000
# The YAML grammar keeps its open blocks in a buffer for about 250 of them and writes on behind its end.
_MOST_YAML_BLOCKS = 200
# A query looks along all later siblings of a bare token: 100,000 times `[` in one error node cost ten seconds.
_WIDEST_ERROR = 20_000


def parse(data: bytes, grammar: Grammar, *, clock: Clock = SYSTEM_CLOCK) -> Tree | None:
    """The tree of a whole file, or None when it is too large or its parse would cost too much."""
    if len(data) > MAX_PARSE_BYTES or (grammar.name == "yaml" and _overruns_yaml(data)):
        return None
    if len(data) <= _SMALL_BYTES:
        return grammar.parser.parse(data)
    deadline = clock.cpu() + PARSE_CPU_SECONDS
    cut = False

    def read(offset: int, _point: object) -> bytes:
        nonlocal cut
        if clock.cpu() > deadline:
            cut = True
            return b""
        return data[offset : offset + _SLICE_BYTES]

    tree = grammar.parser.parse(read)
    if cut:
        return None
    # Predicates of a query ask the tree for text. Through `read` that is a slow call, and an empty one once the budget
    # is spent; a second parse on top of the first reuses its nodes and costs a tenth.
    tree = grammar.parser.parse(data, tree)
    return None if _has_wide_error(tree.root_node) else tree


def _overruns_yaml(data: bytes) -> bool:
    """Could a line of this file open more blocks than the YAML grammar has room for? Each takes at least a column."""
    for line in data.split(b"\n"):
        if len(line) >= _MOST_YAML_BLOCKS:
            indent = len(line) - len(line.lstrip())
            if indent + sum(line.count(mark) for mark in (b"- ", b"? ", b": ")) >= _MOST_YAML_BLOCKS:
                return True
    return False


def _has_wide_error(root: Node) -> bool:
    """Is there an error node with so many bare tokens side by side that a query over it would never end?"""
    if not root.has_error:
        return False
    pending = [root]
    looked_at = 0
    while pending and looked_at < _MOST_BROKEN_NODES:
        node = pending.pop()
        if node.child_count - node.named_child_count > _WIDEST_ERROR:
            return True
        if node.child_count <= _WIDEST_ERROR:
            looked_at += node.child_count
            pending.extend(child for child in node.children if child.has_error)
    return False


def broken_lines(data: bytes, root: Node) -> tuple[tuple[int, int], ...]:
    """The line ranges (1-based, inclusive) that the grammar could not make sense of; merged, in order, capped.

    Only nodes with an error below them are looked at. In a file that is all errors the search stops after a while and
    the rest is called broken as a whole.
    """
    if not root.has_error:
        return ()
    spans: list[tuple[int, int]] = []
    pending = [root]
    looked_at = 0
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing or looked_at > _MOST_BROKEN_NODES:
            spans.append((node.start_byte, node.end_byte))
            continue
        children = node.children
        looked_at += len(children)
        pending.extend(child for child in children if child.has_error or child.is_missing)
    return _merged_lines(spans, line_starts(data))


def _merged_lines(spans: list[tuple[int, int]], lines: list[int]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = bisect_right(lines, start), bisect_right(lines, max(start, end - 1))
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged[:MAX_PARTIAL_RANGES])


def line_starts(data: bytes) -> list[int]:
    """Offset of the first byte of every line; `bisect_right(line_starts, offset)` is the 1-based line of an offset.

    Lines come from here and never from `Node.start_point`: tree-sitter 0.26.0 frees the points it hands out once too
    often, and after some thousand of them the interpreter dies.
    """
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    return starts
