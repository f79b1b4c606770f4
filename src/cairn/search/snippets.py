"""What is shown of a result: the lines that answer, where they stand, and which words in them were asked for.

`text` is the only field that holds text of the repository. Words are compared as the index compares them, so a query
for `reads` marks `read` and `readOnly`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial, reduce
from itertools import accumulate, pairwise
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.limits import MAX_CONTEXT_LINES, MAX_SHOWN_LINE_CHARS, SNIPPET_LINES
from cairn.core.tokens import terms, terms_of
from cairn.core.types import StoredFile, Symbol
from cairn.engine.local import LocalEngine
from cairn.search.types import Hit, LineMatch, Mark
from cairn.store import Outline, Reach, SnapshotView

# Runs of what can be part of a word: everything but ASCII signs and blanks. Cut finer by the tokens themselves.
_PIECE = re.compile(r"[^\x00-,./:-@\[-^`{-\x7f]+")
_CUT = "…"
_PLUS_ONE = (1).__add__
_MOST_REMEMBERED = 1 << 16
# Rows whose words are kept: the same few are shown again and again.
_ROWS_KEPT = 1 << 9
# What can stand beside such a run: one of the others, or nothing.
_BORDERS = frozenset(["", *(chr(code) for code in range(128) if not _PIECE.match(chr(code)))])
_BLANKED = {ord(sign): " " for sign in _BORDERS if sign}


Word = tuple[int, int, int]
"""A word that was asked for: where it starts and ends in its line, and which of the terms it gives, as bits."""

Found = dict[int, list[Word]]


class Snippet(NamedTuple):
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
    """Makes the snippets of one view. The rows that were shown last are kept, and what terms a word stands for."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._forget()

    def make(
        self, place: int, row: int, wanted: Collection[str], *, context: int = 0, lines: int = SNIPPET_LINES
    ) -> Snippet:
        """What to show of a file, given its best row and the terms that were asked for.

        At most `lines` lines of the chunk, those with most of the terms; `context` adds as many before and after, also
        from beyond the chunk.
        """
        if len(self._written.known) > _MOST_REMEMBERED:
            self._forget()
        chunk = self._row(place, row)
        shown = chunk.words.lines
        found = chunk.words.found(self._written, wanted)
        first, last = _without_blank_edges(shown, *_window(len(shown), found, lines))
        body, begin = shown[first : last + 1], chunk.start_line + first
        inside = [at for at in found if first <= at <= last]
        symbol = chunk.around(*((inside[0], inside[-1]) if inside else (first, last)))
        if context > 0:
            context = min(context, MAX_CONTEXT_LINES)
            before, after = _beyond(self._engine.text(place), chunk, context)
            from_, to = len(before) + first - context, len(before) + last + 1 + context
            everything = [*before, *shown, *after]
            body, begin = everything[max(0, from_) : to], chunk.start_line - len(before) + max(0, from_)
            found = _Words(body).found(self._written, wanted)
            first = 0
        marks = {begin + at - first: found[at] for at in found if 0 <= at - first < len(body)}
        text, kept = _clipped(body, begin, marks)
        return Snippet(
            path=self._engine.paths[place],
            start_line=begin,
            end_line=begin + len(body) - 1,
            language=chunk.language,
            kind=symbol.kind if symbol else chunk.kind,
            symbol=".".join(filter(None, (symbol.container, symbol.name))) if symbol else "",
            text=text,
            match_lines=tuple(marks),
            marks=kept,
            file_hash=chunk.file_hash,
        )

    def _forget(self) -> None:
        self._written = _Written()
        # Bound to the engine, not to this object: a ring would keep both until somebody looks for rings.
        self._row = lru_cache(_ROWS_KEPT)(partial(_Row, self._engine))


class _Row:
    """A row of a file, read and taken apart once."""

    def __init__(self, engine: LocalEngine, place: int, row: int) -> None:
        self._engine, self._place = engine, place
        passage = engine.passage(place, row)
        self.kind, self.nested, self.language, self.file_hash = passage[:4]
        self.data, self.start_line, self.byte_start, self.byte_end = passage[4:]
        self.words = _Words(_lines(self.data.decode()))
        self._outlines: dict[int, Outline] = {}

    def around(self, first: int, last: int) -> Outline | None:
        """The innermost definition that holds all of these lines of the chunk; else the innermost that holds the first.

        A comment belongs to the definition below it: the next one, when no blank line is between.
        """
        if not self.nested and self._first_from(self.byte_start) is None:
            return None
        after = self._line_start(first + 1)
        for line in (last, first):
            until = self._line_start(line)
            if own := [one for one in self._near if one.start < after and _last_byte(one) >= until]:
                return self._outline(min(own, key=lambda one: one.length))
        below = self._first_from(max(after, self.byte_start))
        if below is None:
            return None
        between = self.data.count(b"\n", 0, below.start - self.byte_start)
        return self._outline(below) if all(map(str.strip, self.words.lines[first:between])) else None

    @cached_property
    def _near(self) -> list[Reach]:
        """The definitions that reach the first line of the chunk, or begin on one of its lines."""
        return self._engine.reaching(self._place, self._starts[-1], self._starts[0])

    def _first_from(self, byte: int) -> Reach | None:
        return next((one for one in self._near if byte <= one.start < self.byte_end), None)

    def _outline(self, one: Reach) -> Outline:
        found = self._outlines.get(one.number)
        if found is None:
            found = self._outlines[one.number] = self._engine.outline(self._place, one.number)
        return found

    def _line_start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts) - 1)]

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in its file: the first perhaps before the chunk, the one behind the last after it."""
        lines = self.data.split(b"\n")
        starts = _line_starts(lines[:-1], self.byte_start)
        starts[0] = self._engine.line_start(self._place, self.byte_start)
        if not self.data.endswith(b"\n"):
            # The chunk was cut inside its last line.
            rest = bytes(self._engine.text(self._place)[self.byte_end :])
            starts.append(self.byte_end + 1 + (rest.find(b"\n") if b"\n" in rest else len(rest)))
        return starts


def _last_byte(one: Reach) -> int:
    return one.start + one.length - (one.length > 0)


# --- which lines ------------------------------------------------------------------------------------------------------


_NONE: frozenset[str] = frozenset()


class _Written:
    """Which words were seen in texts, and by which of them each term is written."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._by_term: dict[str, set[str]] = {}

    def learn(self, words: set[str]) -> None:
        """Take in words, of which some may be known."""
        for word in words - self.known:
            for term in _terms(word):
                self._by_term.setdefault(term, set()).add(word)
        self.known |= words

    def among(self, words: set[str], wanted: Collection[str]) -> dict[str, int]:
        """Those of these words, which were learned, that stand for a wanted term, each with its terms as bits."""
        found: dict[str, int] = {}
        for number, term in enumerate(wanted):
            for word in words & self._by_term.get(term, _NONE):
                found[word] = found.get(word, 0) | 1 << number
        return found


def _line_starts(lines: Sequence[str | bytes], first: int = 0) -> list[int]:
    """Where each line begins, and what is behind the last one; each has a newline after it."""
    return list(accumulate(map(_PLUS_ONE, map(len, lines)), initial=first))


def _lines(text: str) -> list[str]:
    """The lines as the index counts them: by newlines alone, a carriage return before one left out."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


class _Words:
    """Lines, and the words that stand in them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._text = "\n".join(lines)
        self._words = _pieces(self._text)
        self._is_learned = False

    def found(self, written: _Written, wanted: Collection[str]) -> Found:
        """The words that were asked for, by the number of their line; always with the same `written`."""
        if not self._is_learned:
            written.learn(self._words)
            self._is_learned = True
        text, places = self._text, []
        for word, held in written.among(self._words, wanted).items():
            at = text.find(word)
            while at >= 0:
                end = at + len(word)
                # The end of a longer word is not this one.
                if text[at - 1 : at] in _BORDERS and text[end : end + 1] in _BORDERS:
                    places.append((at, end, held))
                at = text.find(word, end)
        places.sort()
        found: Found = {}
        for at, end, held in places:
            line = bisect_right(self._starts, at) - 1
            start = self._starts[line]
            found.setdefault(line, []).append((at - start, end - start, held))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return _line_starts(self.lines)


def _pieces(text: str) -> set[str]:
    # Half as fast again as the pattern, which knows blanks beyond ASCII as parts of words.
    return set(text.translate(_BLANKED).split()) if text.isascii() else set(_PIECE.findall(text))


def _terms(piece: str) -> Sequence[str]:
    # What is not ASCII may be written in several ways, and holds signs that end a word.
    return terms_of(piece) if piece.isascii() else terms(piece)


def _window(count: int, found: Found, most: int) -> tuple[int, int]:
    """The first and the last of the lines to show: with the most different terms, then the most of them, then early."""
    if count <= most or not found:
        return 0, min(count, most) - 1
    lines = list(found)
    held = [reduce(or_, [terms for _, _, terms in words]) for words in found.values()]
    words_before = [0, *accumulate(map(len, found.values()))]
    best, chosen = (0, 0), range(1)
    for number, line in enumerate(lines):
        after = bisect_left(lines, line + most, number)
        worth = (reduce(or_, held[number:after]).bit_count(), words_before[after] - words_before[number])
        if worth > best:
            best, chosen = worth, range(number, after)
        if after == len(lines):
            # Those from a later line on hold no more than this one.
            break
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


def _beyond(text: memoryview, chunk: _Row, count: int) -> tuple[list[str], list[str]]:
    """The lines of the file before and after a chunk, as many as these. None where it was cut inside a line."""
    before = bytes(text[: chunk.byte_start])
    after = bytes(text[chunk.byte_end :])
    above, below = [], []
    if before.endswith(b"\n"):
        above = _lines(b"\n".join(before.rsplit(b"\n", count + 1)[-count - 1 :]).decode("utf-8", "replace"))[-count:]
    if after and chunk.data.endswith(b"\n"):
        below = _lines(b"\n".join(after.split(b"\n", count)[:count]).decode("utf-8", "replace"))
    return above, below


# --- how they are shown -----------------------------------------------------------------------------------------------


def _clipped(lines: Sequence[str], begin: int, found: Found) -> tuple[str, tuple[Mark, ...]]:
    """The text, each line cut to what is around its first mark when it is long, and the marks that are left in it."""
    if max(map(len, lines), default=0) <= MAX_SHOWN_LINE_CHARS:
        return "\n".join(lines), tuple([Mark(number, at, to) for number, words in found.items() for at, to, _ in words])
    shown = list(lines)
    marks: list[Mark] = []
    for number, line in enumerate(lines, begin):
        words = found.get(number, ())
        if len(line) <= MAX_SHOWN_LINE_CHARS:
            marks += [Mark(number, at, to) for at, to, _ in words]
            continue
        room = MAX_SHOWN_LINE_CHARS - 2
        start = max(0, min((words[0][0] if words else 0) - room // 4, len(line) - room))
        end = start + room
        left = _CUT if start else ""
        shown[number - begin] = left + line[start:end] + (_CUT if end < len(line) else "")
        shift = len(left) - start
        marks += [Mark(number, at + shift, to + shift) for at, to, _ in words if start <= at and to <= end]
    return "\n".join(shown), tuple(marks)


# --- Results that are no chunk: matching lines, a definition, a file. Their text is that of the snapshot.


_FILES_KEPT = 100
_NEWLINE = 10
_UTF8_BYTES = 4


class Excerpts:
    """Makes results of one view. Definitions of files shown before are kept."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self._symbols: Callable[[str], list[Symbol]] = lru_cache(_FILES_KEPT)(view.symbols)
        self._file: Callable[[str], StoredFile | None] = lru_cache(_FILES_KEPT)(view.file)
        # Of one file: its lines are shown one after the other.
        self._borders: Callable[[str], NDArray[np.int64]] = lru_cache(1)(partial(_borders, view))

    def of_lines(self, path: str, lines: Sequence[LineMatch], context: int) -> Hit:
        """The lines from the first match to the last one, with what is around them."""
        first, last = lines[0].line, max(line.end_line for line in lines)
        around = self._innermost(path, first)
        shown = {line.line: line for line in lines}
        start, texts = self._lines(path, first - context, min(last, first + SNIPPET_LINES - 1) + context)
        # A line that matches is cut to what is around the match.
        texts = [shown[number].text if number in shown else text for number, text in enumerate(texts, start)]
        marks = tuple(Mark(line.line, *span) for line in lines for span in line.marks)
        hit = self._hit(path, start, texts, around.kind if around else "text", _qualified(around), 1.0)
        return replace(hit, match_lines=tuple(shown), marks=marks)

    def of_symbol(self, path: str, symbol: Symbol, score: float, context: int) -> Hit:
        """The first lines of a definition."""
        last = min(symbol.end_line, symbol.start_line + SNIPPET_LINES - 1)
        start, texts = self._lines(path, symbol.start_line - context, last + context)
        named = symbol.start_line
        marks: tuple[Mark, ...] = ()
        for number, text in enumerate(texts, start):
            if number >= symbol.start_line and (at := text.find(symbol.name)) >= 0:
                named, marks = number, (Mark(number, at, at + len(symbol.name)),)
                break
        hit = self._hit(path, start, texts, symbol.kind, _qualified(symbol), score)
        return replace(hit, match_lines=(named,), marks=marks)

    def of_file(self, path: str, score: float) -> Hit:
        """A file as a whole, without its text."""
        return self._hit(path, 1, [""], "file", "", score)

    def _hit(self, path: str, start: int, lines: Sequence[str], kind: str, symbol: str, score: float) -> Hit:
        record = self._record(path)
        end = start + len(lines) - 1
        text = "\n".join(lines)
        return Hit(path, start, end, record.language, kind, symbol, score, text, (), record.file_hash)

    def _record(self, path: str) -> StoredFile:
        record = self._file(path)
        assert record is not None, "a result names a file that is not in its snapshot"
        return record

    def _innermost(self, path: str, line: int) -> Symbol | None:
        holding = [symbol for symbol in self._symbols(path) if symbol.start_line <= line <= symbol.end_line]
        # Of two on the same lines the one that comes later, for it is inside the other.
        return min(reversed(holding), key=lambda symbol: symbol.end_byte - symbol.start_byte, default=None)

    def _lines(self, path: str, first: int, last: int) -> tuple[int, list[str]]:
        """The number of the first line that is there, and the text of the lines, long ones cut."""
        text = self._view.text(path)
        assert text is not None, "a result names a file that is not in its snapshot"
        first = max(first, 1)
        borders = self._borders(path)[first - 1 : last + 1].tolist()
        lines = [bytes(text[before + 1 : end]) for before, end in pairwise(borders)]
        return first, [_shown(line.removesuffix(b"\r")) for line in lines]


def _borders(view: SnapshotView, path: str) -> NDArray[np.int64]:
    """What stands before the first line of a file, and behind each of them: newlines, or the end of the file."""
    array = np.frombuffer(view.text(path) or b"", np.uint8)
    newlines = np.flatnonzero(array == _NEWLINE)
    # Behind the last newline there is no line.
    ends_so = len(newlines) > 0 and int(newlines[-1]) == len(array) - 1
    return np.concatenate(([-1], newlines, [] if ends_so else [len(array)])).astype(np.int64)


def shortened_to(hit: Hit, fits: Callable[[Hit], bool]) -> Hit:
    """The same hit with as many of its first lines as fit, perhaps none."""
    lines = hit.text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(_first(hit, lines, middle)) else (low, middle - 1)
    return _first(hit, lines, low)


def _first(hit: Hit, lines: Sequence[str], count: int) -> Hit:
    end = hit.start_line + max(count, 1) - 1
    marks = tuple(mark for mark in hit.marks if mark.line <= end and count)
    return replace(hit, text="\n".join(lines[:count]), end_line=end, marks=marks)


def _shown(line: bytes) -> str:
    text = line[: _UTF8_BYTES * (MAX_SHOWN_LINE_CHARS + 1)].decode("utf-8", "replace")
    return text if len(text) <= MAX_SHOWN_LINE_CHARS else text[: MAX_SHOWN_LINE_CHARS - 1] + _CUT


def _qualified(symbol: Symbol | None) -> str:
    return ".".join(filter(None, (symbol.container, symbol.name))) if symbol else ""
