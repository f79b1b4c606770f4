"""Parse a file into a syntax tree within a budget of time and memory, whatever the bytes are.

Some inputs make error recovery quadratic (100,000 times `<a>` in a .py file parses for minutes). The parser cannot be
interrupted, but it reads its input piece by piece: when the budget is spent, the input ends, the parser returns at
once, and the incomplete tree is discarded.
"""

from __future__ import annotations

from bisect import bisect_right

from tree_sitter import Node, Tree

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_PARSE_BYTES, MAX_PARTIAL_RANGES, PARSE_CPU_SECONDS
from cairn.syntax.chunks import line_starts
from cairn.syntax.languages import Grammar

# A file up to this size is parsed without a budget. Error recovery can be cubic (24 KiB of `x=>` in a .c file parse for
# 80 s), which at this size is a few milliseconds.
_SMALL_BYTES = 1024
_SLICE_BYTES = 4 * 1024
_MOST_BROKEN_NODES = 50_000
# A query visits all later siblings of an anonymous token: 100,000 times `[` in one error node cost ten seconds.
_WIDEST_ERROR = 20_000
# A query over a chain of nested nodes is quadratic at best; over 100,000 nodes (`@a ` in Ruby) it did not end.
_DEEPEST = 5_000
_DEPTH_STEP = 8 * 1024


def parse(data: bytes, grammar: Grammar, *, clock: Clock = SYSTEM_CLOCK) -> Tree | None:
    """Return the tree of a whole file; None when the file is too large or parsing it costs too much."""
    overruns = grammar.traits.overruns
    if len(data) > MAX_PARSE_BYTES or (overruns is not None and overruns(data)):
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
    return None if cut or _is_too_deep(tree, len(data)) or _has_wide_error(tree.root_node) else tree


def _is_too_deep(tree: Tree, size: int) -> bool:
    """Whether a tree is so deep somewhere that a query over it would not end.

    Only a few places are tested: a level takes at least one byte, so a deep chain is deep over thousands of bytes.
    """
    for offset in range(0, size if size > _DEEPEST else 0, _DEPTH_STEP):
        cursor = tree.walk()
        for _ in range(_DEEPEST):
            if cursor.goto_first_child_for_byte(offset) is None:
                break
        else:
            return True
    return False


def _has_wide_error(root: Node) -> bool:
    """Whether an error node has so many anonymous tokens side by side that a query over it would not end."""
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


def broken_lines(data: bytes, root: Node, lines: list[int] | None = None) -> tuple[tuple[int, int], ...]:
    """Return the line ranges (1-based, inclusive) that could not be parsed: merged, in order, at most so many.

    In a file full of errors the search stops after a number of nodes, and every node that is left counts as broken.
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
    return _merged_lines(spans, lines or line_starts(data))


def _merged_lines(spans: list[tuple[int, int]], lines: list[int]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = bisect_right(lines, start), bisect_right(lines, max(start, end - 1))
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged[:MAX_PARTIAL_RANGES])
