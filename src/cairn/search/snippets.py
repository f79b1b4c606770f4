"""Choose the lines that are shown of a result, and mark the words of the query in them.

Words are compared as the index compares them, so a query for `reads` marks `read` and `readOnly`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import accumulate, pairwise
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.core.limits import MAX_CONTEXT_LINES, MAX_SHOWN_LINE_CHARS, SNIPPET_LINES
from cairn.core.tokens import terms, terms_of
from cairn.core.types import StoredFile, Symbol
from cairn.engine.local import LocalEngine
from cairn.search.types import Hit, LineMatch, Mark
from cairn.store import Outline, Reach, SnapshotView

# A run of characters that can be part of a word: all but ASCII signs and blanks. `cairn.core.tokens` cuts them further.
_PIECE = re.compile(r"[^\x00-,./:-@\[-^`{-\x7f]+")
_CUT = "…"
_PLUS_ONE = (1).__add__
_MOST_REMEMBERED = 1 << 16
# The most rows whose words are kept: the same few rows are shown often.
_ROWS_KEPT = 1 << 9
# What can stand directly beside such a run: any other character, or nothing at an end of the text.
_BORDERS = frozenset(["", *(chr(code) for code in range(128) if not _PIECE.match(chr(code)))])
_BLANKED = {ord(sign): " " for sign in _BORDERS if sign}


Word = tuple[int, int, int]
"""A word of the query in a line: where it starts, where it ends, and the query terms that it stands for, as bits."""

Found = dict[int, list[Word]]


class Snippet(NamedTuple):
    """Some lines of one file. `symbol` is the dotted name of the definition around them, and `kind` its kind.

    Without a definition `symbol` is empty and `kind` is the kind of the chunk. `text` is text of the repository; a long
    line is cut to the part around its first mark, so `text` need not occur in the file as it is.
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
    """The snippets of one view. Keeps the rows that were shown last, and the terms that each word stands for."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._forget()

    def matched(self, lines: Sequence[str], wanted: Collection[str]) -> dict[int, int]:
        """Return for each of these lines that holds wanted terms, by its position, the terms as bits."""
        found = _Words(list(lines)).found(self._written, wanted)
        return {at: reduce(or_, [terms for _, _, terms in words]) for at, words in found.items()}

    def make(
        self, place: int, row: int, wanted: Collection[str], *, context: int = 0, lines: int = SNIPPET_LINES
    ) -> Snippet:
        """Return the snippet of a file, given its best row and the wanted terms.

        A snippet has at most `lines` lines of the row's chunk, those with most of the terms. `context` adds as many
        lines before and after, also from beyond the chunk.
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
            before, after = _beyond(self._engine.at(place).text(), chunk, context)
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
        # Bound to the engine and not to `self`: a reference cycle would keep both in memory until garbage collection.
        self._row = lru_cache(_ROWS_KEPT)(partial(_Row, self._engine))


class _Row:
    """A row of a file, read and split into words once."""

    def __init__(self, engine: LocalEngine, place: int, row: int) -> None:
        self._file = engine.at(place)
        passage = self._file.passage(row)
        self.kind, self.nested, self.language, self.file_hash = passage[:4]
        self.data, self.start_line, self.byte_start, self.byte_end = passage[4:]
        self.words = _Words(_lines(self.data.decode()))
        self._outlines: dict[int, Outline] = {}

    def around(self, first: int, last: int) -> Outline | None:
        """Return the innermost definition around these lines of the chunk, else the innermost around the first line.

        A comment belongs to the definition below it when no blank line is between them.
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
        """The definitions that reach into the first line of the chunk, or begin on one of its lines."""
        return self._file.reaching(self._starts[-1], self._starts[0])

    def _first_from(self, byte: int) -> Reach | None:
        return next((one for one in self._near if byte <= one.start < self.byte_end), None)

    def _outline(self, one: Reach) -> Outline:
        found = self._outlines.get(one.number)
        if found is None:
            found = self._outlines[one.number] = self._file.outline(one.number)
        return found

    def _line_start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts) - 1)]

    @cached_property
    def _starts(self) -> list[int]:
        """The byte at which each line of the chunk begins, and the byte after the last line.

        The first line may begin before the chunk, and the last line may end after it.
        """
        lines = self.data.split(b"\n")
        starts = _line_starts(lines[:-1], self.byte_start)
        starts[0] = self._file.line_start(self.byte_start)
        if not self.data.endswith(b"\n"):
            # The chunk ends inside its last line.
            rest = bytes(self._file.text()[self.byte_end :])
            starts.append(self.byte_end + 1 + (rest.find(b"\n") if b"\n" in rest else len(rest)))
        return starts


def _last_byte(one: Reach) -> int:
    return one.start + one.length - (one.length > 0)


# --- which lines ------------------------------------------------------------------------------------------------------


_NONE: frozenset[str] = frozenset()


class _Written:
    """The words that were seen in texts, and the words that stand for each term."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._by_term: dict[str, set[str]] = {}

    def learn(self, words: set[str]) -> None:
        """Add words, of which some may be known."""
        for word in words - self.known:
            for term in _terms(word):
                self._by_term.setdefault(term, set()).add(word)
        self.known |= words

    def among(self, words: set[str], wanted: Collection[str]) -> dict[str, int]:
        """Return the words among `words` that stand for a wanted term, each with its terms as bits.

        All of `words` must have been learned.
        """
        found: dict[str, int] = {}
        for number, term in enumerate(wanted):
            for word in words & self._by_term.get(term, _NONE):
                found[word] = found.get(word, 0) | 1 << number
        return found


def _line_starts(lines: Sequence[str | bytes], first: int = 0) -> list[int]:
    """Return where each line begins, and where a line after the last would begin; every line ends with a newline."""
    return list(accumulate(map(_PLUS_ONE, map(len, lines)), initial=first))


def _lines(text: str) -> list[str]:
    """Return the lines as the index counts them: split at newlines only, without a carriage return before a newline."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


class _Words:
    """Some lines, and the words in them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._text = "\n".join(lines)
        self._words = _pieces(self._text)
        self._is_learned = False

    def found(self, written: _Written, wanted: Collection[str]) -> Found:
        """Return the places of words that stand for wanted terms, by line; call it always with the same `written`."""
        if not self._is_learned:
            written.learn(self._words)
            self._is_learned = True
        text, places = self._text, []
        for word, held in written.among(self._words, wanted).items():
            at = text.find(word)
            while at >= 0:
                end = at + len(word)
                # A part of a longer word is not the word.
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
    # Faster than the pattern, but only for ASCII: the pattern takes blanks beyond ASCII as parts of words.
    return set(text.translate(_BLANKED).split()) if text.isascii() else set(_PIECE.findall(text))


def _terms(piece: str) -> Sequence[str]:
    # Text beyond ASCII may be written in several Unicode forms, and may contain signs that end a word.
    return terms_of(piece) if piece.isascii() else terms(piece)


def _window(count: int, found: Found, most: int) -> tuple[int, int]:
    """Return the first and the last line to show: the window with most different terms, then most words, then first."""
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
            # A window that begins later contains no further lines with words.
            break
    first, last = lines[chosen[0]], lines[chosen[-1]]
    # A third of the spare lines goes before the match: what follows a line explains it more often.
    start = max(0, min(first - (most - 1 - last + first) // 3, count - most))
    return start, start + most - 1


def _without_blank_edges(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last].strip():
        last -= 1
    return first, last


def _beyond(text: memoryview, chunk: _Row, count: int) -> tuple[list[str], list[str]]:
    """Return up to `count` lines of the file before and after a chunk; none on a side where a line was cut."""
    before = bytes(text[: chunk.byte_start])
    after = bytes(text[chunk.byte_end :])
    above, below = [], []
    if before.endswith(b"\n"):
        above = _lines(b"\n".join(before.rsplit(b"\n", count + 1)[-count - 1 :]).decode("utf-8", "replace"))[-count:]
    if after and chunk.data.endswith(b"\n"):
        below = _lines(b"\n".join(after.split(b"\n", count)[:count]).decode("utf-8", "replace"))
    return above, below


# --- how lines are shown ----------------------------------------------------------------------------------------------


def _clipped(lines: Sequence[str], begin: int, found: Found) -> tuple[str, tuple[Mark, ...]]:
    """Return the text, with long lines cut to the part around their first mark, and the marks that remain in it."""
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


# --- Results that are no chunk: matching lines, a definition, a file.


_FILES_KEPT = 100
_NEWLINE = 10
_UTF8_BYTES = 4


class Excerpts:
    """The results of one view that are no chunks. Keeps the definitions of the files that were shown last."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self.symbols: Callable[[str], list[Symbol]] = lru_cache(_FILES_KEPT)(view.symbols)
        self._file: Callable[[str], StoredFile | None] = lru_cache(_FILES_KEPT)(view.file)
        # Kept for one file only, because the lines of a file are shown one after the other.
        self._borders: Callable[[str], NDArray[np.int64]] = lru_cache(1)(partial(_borders, view))

    def of_lines(self, path: str, lines: Sequence[LineMatch], context: int) -> Hit:
        """Return a hit with the lines from the first match to the last, and `context` lines around them."""
        first, last = lines[0].line, max(line.end_line for line in lines)
        around = self._innermost(path, first)
        shown = {line.line: line for line in lines}
        start, texts = self.lines(path, first - context, min(last, first + SNIPPET_LINES - 1) + context)
        # A long line that matches is cut to the part around the match.
        texts = [shown[number].text if number in shown else text for number, text in enumerate(texts, start)]
        marks = tuple(Mark(line.line, *span) for line in lines for span in line.marks)
        hit = self._hit(path, start, texts, around.kind if around else "text", _qualified(around), 1.0)
        return replace(hit, match_lines=tuple(shown), marks=marks)

    def of_symbol(self, path: str, symbol: Symbol, score: float, context: int) -> Hit:
        """Return a hit with the first lines of a definition."""
        last = min(symbol.end_line, symbol.start_line + SNIPPET_LINES - 1)
        start, texts = self.lines(path, symbol.start_line - context, last + context)
        named = symbol.start_line
        marks: tuple[Mark, ...] = ()
        for number, text in enumerate(texts, start):
            if number >= symbol.start_line and (at := text.find(symbol.name)) >= 0:
                named, marks = number, (Mark(number, at, at + len(symbol.name)),)
                break
        hit = self._hit(path, start, texts, symbol.kind, _qualified(symbol), score)
        return replace(hit, match_lines=(named,), marks=marks)

    def of_file(self, path: str, score: float) -> Hit:
        """Return a hit for a whole file, without its text."""
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
        holding = [symbol for symbol in self.symbols(path) if symbol.start_line <= line <= symbol.end_line]
        # Of two definitions of equal length, the later one in the list is inside the earlier one.
        return min(reversed(holding), key=lambda symbol: symbol.end_byte - symbol.start_byte, default=None)

    def lines(self, path: str, first: int, last: int) -> tuple[int, list[str]]:
        """Return the number of the first line, and the lines as far as the file has them; long lines are cut."""
        text = self._view.text(path)
        assert text is not None, "a result names a file that is not in its snapshot"
        first = max(first, 1)
        borders = self._borders(path)[first - 1 : last + 1].tolist()
        lines = [bytes(text[before + 1 : end]) for before, end in pairwise(borders)]
        return first, [_shown(line.removesuffix(b"\r")) for line in lines]


def _borders(view: SnapshotView, path: str) -> NDArray[np.int64]:
    """Return the bytes that separate the lines of a file: -1, each newline, and the end of a last line without one."""
    array = np.frombuffer(view.text(path) or b"", np.uint8)
    newlines = np.flatnonzero(array == _NEWLINE)
    # A newline at the end of the file begins no further line.
    ends_so = len(newlines) > 0 and int(newlines[-1]) == len(array) - 1
    return np.concatenate(([-1], newlines, [] if ends_so else [len(array)])).astype(np.int64)


def shortened_to(hit: Hit, fits: Callable[[Hit], bool]) -> Hit:
    """Return a hit with as many of its first lines as fit, perhaps none."""
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
