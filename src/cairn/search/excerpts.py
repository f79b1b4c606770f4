"""Results that are no chunk: matching lines, a definition, a file. Their text is that of the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cairn.core.limits import MAX_SHOWN_LINE_CHARS, SNIPPET_LINES
from cairn.core.types import StoredFile, Symbol
from cairn.search.found import LineMatch
from cairn.search.snippets import Mark
from cairn.search.types import Hit
from cairn.store import SnapshotView

_FILES_KEPT = 100
_CUT = "…"
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
