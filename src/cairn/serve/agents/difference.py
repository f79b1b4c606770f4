"""The difference between two texts for a person to read: unified, short, and safe on a terminal."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile

from cairn.answer.envelope import plain

_CONTEXT = 2
_MOST_LINES = 200
_WIDTH = 160


def difference(name: str, before: bytes | None, after: bytes | None) -> list[str]:
    """The lines of a unified diff; nothing when both are the same. Long lines are shown around what differs."""
    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    # Settings of a megabyte differ in ten lines: only what lies between the same beginning and end is compared.
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    lead, end = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    old, new = old[lead : len(old) - end], new[lead : len(new) - end]
    at = _same(old[head - lead] if len(old) > head - lead else "", new[head - lead] if len(new) > head - lead else "")
    shown = [
        f"--- {name if before is not None else '/dev/null'}",
        f"+++ {name if after is not None else '/dev/null'}",
    ]
    matcher = SequenceMatcher(None, old[:_MOST_LINES], new[:_MOST_LINES], autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        places = _place(lead, first[1], last[2]), _place(lead, first[3], last[4])
        shown.append(f"@@ -{places[0]} +{places[1]} @@")
        for kind, a, b, c, d in group:
            if kind == "equal":
                shown += [f" {_clipped(line, 0)}" for line in old[a:b]]
                continue
            shown += [f"-{_clipped(line, at)}" for line in old[a:b]]
            shown += [f"+{_clipped(line, at)}" for line in new[c:d]]
    left = max(len(old), len(new)) - _MOST_LINES
    return [*shown, f"... and {left:,} lines more"] if left > 0 else shown


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").removesuffix("\n").split("\n") if data else []


def _same(one: list[str] | str, other: list[str] | str) -> int:
    """How many leading items are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _place(lead: int, start: int, end: int) -> str:
    length = end - start
    return f"{lead + start + (length > 0)},{length}"


def _clipped(line: str, at: int) -> str:
    line = line.removesuffix("\r").expandtabs(4)
    if len(line) <= _WIDTH:
        return plain(line)
    start = max(0, at - _WIDTH // 4)
    return ("..." if start else "") + plain(line[start:], _WIDTH)
