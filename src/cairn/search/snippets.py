"""What is shown of a result: the lines that answer, where they stand, and which words in them were asked for.

`text` is the only field that holds text of the repository. Words are compared as the index compares them, so a query
for `reads` marks `read` and `readOnly`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeVar

from cairn.engine.local import LocalEngine
from cairn.limits import MAX_CONTEXT_LINES, MAX_SHOWN_LINE_CHARS, SNIPPET_LINES
from cairn.store.rows import ChunkRow
from cairn.tokens import terms, terms_of
from cairn.types import Symbol

# Runs of what can be part of a word: everything but ASCII signs and blanks. Cut finer by the tokens themselves.
_PIECE = re.compile(r"[^\x00-,./:-@\[-^`{-\x7f]+")
_CUT = "…"
_CHARS_PER_TOKEN = 4
# As many as one answer can have.
_FILES_KEPT = 100


class Mark(NamedTuple):
    """A word that was asked for: its line, and where it stands in that line of the snippet's text, in characters."""

    line: int
    start: int
    end: int


class Word(NamedTuple):
    """A word that was asked for: where it stands in its line, and which of the terms it gives."""

    start: int
    end: int
    terms: frozenset[str]


Found = dict[int, list[Word]]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some lines of one file. `symbol` is the path of the definition around them, with dots, and `kind` what it is.

    Where no definition is, `symbol` is empty and `kind` is the chunk's. Lines are cut to what is around their first
    mark when they are long, so `text` need not be in the file as it is.
    """

    path: str
    start_line: int
    end_line: int
    language: str
    kind: str
    symbol: str
    text: str
    match_lines: tuple[int, ...]
    marks: tuple[Mark, ...]
    file_hash: str


class Snippets:
    """Makes the snippets of one view. Definitions of files shown before are kept: to read them is most of the cost."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._symbols = lru_cache(_FILES_KEPT)(engine.symbols)

    def make(
        self, place: int, row: int, wanted: Collection[str], *, context: int = 0, lines: int = SNIPPET_LINES
    ) -> Snippet:
        """What to show of a file, given its best row and the terms that were asked for.

        At most `lines` lines of the chunk, those with most of the terms; `context` adds as many before and after, also
        from beyond the chunk.
        """
        chunk = self._engine.chunk(row)
        wanted = frozenset(wanted)
        shown = _lines(chunk.text)
        found = _found(shown, wanted)
        first, last = _without_blank_edges(shown, *_window(len(shown), found, lines))
        body, begin = shown[first : last + 1], chunk.start_line + first
        inside = [chunk.start_line + at for at in found if first <= at <= last]
        symbol = self._around(place, chunk, shown, inside or [*range(begin, begin + len(body))])
        if context > 0:
            context = min(context, MAX_CONTEXT_LINES)
            before, after = _beyond(self._engine.text(place), chunk, context)
            from_, to = len(before) + first - context, len(before) + last + 1 + context
            everything = [*before, *shown, *after]
            body, begin = everything[max(0, from_) : to], chunk.start_line - len(before) + max(0, from_)
            found = _found(body, wanted)
            first = 0
        marks = {begin + at - first: found[at] for at in found if 0 <= at - first < len(body)}
        text, kept = _clipped(body, begin, marks)
        return Snippet(
            path=chunk.path_key,
            start_line=begin,
            end_line=begin + len(body) - 1,
            language=chunk.language,
            kind=symbol.kind if symbol else chunk.kind,
            symbol=".".join(filter(None, (symbol.container, symbol.name))) if symbol else "",
            text=text,
            match_lines=tuple(sorted(marks)),
            marks=kept,
            file_hash=chunk.file_hash,
        )

    def _around(self, place: int, chunk: ChunkRow, shown: Sequence[str], lines: Sequence[int]) -> Symbol | None:
        """The innermost definition that holds all these lines; else the innermost that holds the first of them.

        A comment belongs to the definition below it: the next one, when no blank line is between.
        """
        if not (chunk.symbols or chunk.breadcrumb):
            return None
        symbols = self._symbols(place)
        for last in (lines[-1], lines[0]):
            holding = [symbol for symbol in symbols if symbol.start_line <= lines[0] and last <= symbol.end_line]
            if holding:
                # The smallest; the first of those that share one declaration.
                return min(holding, key=lambda symbol: symbol.end_byte - symbol.start_byte)
        below = next((symbols[number] for number in chunk.symbols if symbols[number].start_line > lines[0]), None)
        if below and all(map(str.strip, shown[lines[0] - chunk.start_line : below.start_line - chunk.start_line])):
            return below
        return None


# --- which lines ------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """The lines as the index counts them: by newlines alone, a carriage return before one left out."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _found(lines: Sequence[str], wanted: frozenset[str]) -> Found:
    """The words that were asked for, by the number of their line."""
    text = "\n".join(lines)
    words = {word: held for word in set(_PIECE.findall(text)) if (held := wanted.intersection(_terms(word)))}
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found: Found = {}
    for word, held in words.items():
        at = text.find(word)
        while at >= 0:
            end = at + len(word)
            # The end of a longer word is not this one.
            if not (_PIECE.match(text, at - 1, at) if at else None) and not _PIECE.match(text, end, end + 1):
                line = bisect_right(starts, at) - 1
                found.setdefault(line, []).append(Word(at - starts[line], end - starts[line], held))
            at = text.find(word, end)
    return {line: sorted(found[line]) for line in sorted(found)}


def _terms(piece: str) -> Sequence[str]:
    # What is not ASCII may be written in several ways, and holds signs that end a word.
    return terms_of(piece) if piece.isascii() else terms(piece)


def _window(count: int, found: Found, most: int) -> tuple[int, int]:
    """The first and the last of the lines to show: with the most different terms, then the most of them, then early."""
    if count <= most or not found:
        return 0, min(count, most) - 1
    lines = list(found)
    best: tuple[int, int, int] | None = None
    chosen = range(0)
    for number, line in enumerate(lines):
        group = range(number, bisect_left(lines, line + most))
        words = [word for each in group for word in found[lines[each]]]
        worth = (len(frozenset().union(*(word.terms for word in words))), len(words), -line)
        if best is None or worth > best:
            best, chosen = worth, group
    first, last = lines[chosen[0]], lines[chosen[-1]]
    # What comes after a line explains it more often than what is before it.
    start = max(0, min(first - (most - 1 - last + first) // 3, count - most))
    return start, start + most - 1


def _without_blank_edges(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last].strip():
        last -= 1
    return first, last


def _beyond(text: memoryview, chunk: ChunkRow, count: int) -> tuple[list[str], list[str]]:
    """The lines of the file before and after a chunk, as many as these. None where it was cut inside a line."""
    before = bytes(text[: chunk.byte_start])
    after = bytes(text[chunk.byte_end :])
    above, below = [], []
    if before.endswith(b"\n"):
        above = _lines(b"\n".join(before.rsplit(b"\n", count + 1)[-count - 1 :]).decode("utf-8", "replace"))[-count:]
    if after and chunk.text.endswith("\n"):
        below = _lines(b"\n".join(after.split(b"\n", count)[:count]).decode("utf-8", "replace"))
    return above, below


# --- how they are shown -----------------------------------------------------------------------------------------------


def _clipped(lines: Sequence[str], begin: int, found: Found) -> tuple[str, tuple[Mark, ...]]:
    """The text, each line cut to what is around its first mark when it is long, and the marks that are left in it."""
    shown: list[str] = []
    marks: list[Mark] = []
    for number, line in enumerate(lines, begin):
        words = found.get(number, [])
        start, end = 0, len(line)
        if end > MAX_SHOWN_LINE_CHARS:
            room = MAX_SHOWN_LINE_CHARS - 2
            start = max(0, min((words[0].start if words else 0) - room // 4, end - room))
            end = start + room
        left = _CUT if start else ""
        shown.append(left + line[start:end] + (_CUT if end < len(line) else ""))
        shift = len(left) - start
        marks += [Mark(number, at + shift, to + shift) for at, to, _ in words if start <= at and to <= end]
    return "\n".join(shown), tuple(marks)


# --- how much it is ---------------------------------------------------------------------------------------------------


class Shown(Protocol):
    """A result, as far as its size goes."""

    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def text(self) -> str: ...


S = TypeVar("S", bound=Shown)


def tokens_in(text: str) -> int:
    """About how many tokens of a language model a text is: one for four characters, rounded up; an estimate."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def fit(results: Sequence[S], most: int) -> Sequence[S]:
    """The first results that fit into so many tokens together: whole ones, so there may be none."""
    sizes = accumulate(tokens_in(result.path + result.symbol + result.text) for result in results)
    return results[: sum(size <= most for size in sizes)]
