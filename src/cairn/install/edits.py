"""Changes of a text that can be taken back: a few splices, and everything between them stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import NamedTuple, Protocol

from cairn.core.text import plain

# --- The difference between two texts for a person to read: unified, short, and safe on a terminal.


_CONTEXT = 2
_MOST_LINES = 200
_WIDTH = 160


def difference(name: str, before: bytes | None, after: bytes | None) -> list[str]:
    """Return the lines of a unified diff; none when both texts are equal. Long lines are cut around the difference."""
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
    """Return how many leading items are equal."""
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


NAME = "cairn"


class Unfit(Exception):
    """Why a file is left as it is, as the end of the sentence `... was left as it is: ...`."""


class Splice(NamedTuple):
    """One replacement in a text: `new` in the place of `old`."""

    at: int
    old: str
    new: str


class ServerEntry(NamedTuple):
    """The program that an agent starts."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


class EntryFormat(Protocol):
    """A kind of settings file that holds one entry of ours. Every method raises `Unfit` for an unreadable text."""

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """Return the splices that add the entry; None when it is there."""

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """Return the splices that remove the entry; None when it is not there."""

    def is_ours(self, text: str) -> bool:
        """Whether the entry is there and calls Cairn; another program may have the same name."""

    def agrees(self, before: str, after: str) -> bool:
        """Whether both texts mean the same but for our entry, and whoever can read the first can read the second."""

    def is_empty(self, text: str) -> bool:
        """Whether the text holds nothing that anybody would miss."""


def applied(text: str, splices: Sequence[Splice]) -> str:
    """Return the text after the splices; raises `Unfit` when they were made for another text."""
    parts, done = [], 0
    for at, old, new in splices:
        if at < done or text[at : at + len(old)] != old:
            raise Unfit("it is not what it was")
        parts += [text[done:at], new]
        done = at + len(old)
    return "".join([*parts, text[done:]])


def reversed_splices(splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return the splices that undo these."""
    found, shift = [], 0
    for at, old, new in splices:
        found.append(Splice(at + shift, new, old))
        shift += len(new) - len(old)
    return tuple(found)


def relocated(text: str, splices: Sequence[Splice], length: int) -> tuple[Splice, ...] | None:
    """Return the splices that undo these in a text that was edited since; None where one cannot be found.

    `length` is the length of the text that the splices made.
    """
    found = []
    for was, new, old in reversed_splices(splices):
        if not new.strip() or text.count(new) != 1:
            return None
        at = text.index(new)
        # What was added behind ours would become the end of the line before it, which may be a comment.
        keeps_break = was + len(new) == length and _joins(text, at, at + len(new))
        found.append(Splice(at, new.removesuffix("\n").removesuffix("\r") if keeps_break else new, old))
    return tuple(sorted(found))


def _joins(text: str, start: int, end: int) -> bool:
    """Whether two lines become one when this is taken out from between them."""
    inside = start > 0 and end < len(text) and text[end - 1] == "\n"
    return inside and text[start - 1] != "\n" and text[end] not in "\r\n"


def newline_of(text: str) -> str:
    """Return the line ending of this text."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with its indentation and its line break when nothing else stands on its lines, else with the blanks."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    last = end
    while last < len(text) and text[last] in " \t\r":
        last += 1
    alone = not first or text[first - 1] == "\n"
    if alone and last < len(text) and text[last] == "\n":
        return first, last + 1
    if alone and last == len(text):
        return first, last
    while end < len(text) and text[end] in " \t":
        end += 1
    return start, end
