"""Find every line that a pattern matches, or that it does not, with the lines around it: file after file, in order.

Nothing is ranked, cut or kept: a file at a time is in memory, and how many matches there are makes no difference.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.engine.scan import Texts, Wanted
from cairn.search.exact import Within, chosen_files
from cairn.search.filters import FileFilter, file_filter
from cairn.search.pattern import Case, compiled
from cairn.search.query import parse

_NEWLINE = 10


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A pattern, how it is read, and which lines are wanted."""

    pattern: str
    fixed: bool = False
    ignore_case: bool = False
    smart_case: bool = False
    word: bool = False
    multiline: bool = False
    invert: bool = False
    after: int = 0
    before: int = 0
    max_count: int | None = None
    languages: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise what is wrong with the pattern or with the name of a language."""
        self.wanted  # noqa: B018 - compiled for its error
        self.files  # noqa: B018

    @property
    def files(self) -> FileFilter:
        """The files that are looked at; of globs that begin with `!`, none that fits one."""
        exclude = tuple(one[1:] for one in self.globs if one.startswith("!"))
        include = tuple(one for one in self.globs if not one.startswith("!"))
        return file_filter(parse("x", languages=self.languages, include=include, exclude=exclude))

    @property
    def wanted(self) -> Wanted:
        """The compiled pattern; raises `InvalidPattern`."""
        smart = Case.SMART if self.smart_case else Case.SENSITIVE
        case = Case.INSENSITIVE if self.ignore_case else smart
        return compiled(self.pattern, regex=not self.fixed, case=case, word=self.word, multiline=self.multiline)


class GrepLine(NamedTuple):
    """A line: its number, its bytes without the newline, whether it is asked for or only near one, and its matches.

    The spans are offsets in the line; a match that goes on has a span on each of its lines, and the last `begun` of
    them begin here.
    """

    number: int
    text: bytes
    is_asked: bool
    spans: tuple[tuple[int, int], ...]
    begun: int = 0


class GrepFile:
    """The lines of one file that are asked for; those around them are known too."""

    def __init__(self, texts: Texts, place: int, wanted: Wanted, request: GrepRequest) -> None:
        self.path = texts.paths[place]
        text = texts.text(place)
        self._text, self._request = text, request
        # A byte order mark is no part of the first line.
        self._begin = len(BOM_UTF8) if bytes(text[: len(BOM_UTF8)]) == BOM_UTF8 else 0
        self._starts, self._ends = texts.matches(wanted, place)
        newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE)
        # Behind a last newline there is no line, and in an empty file there is none.
        last = [] if not len(text) or text[-1] == _NEWLINE else [len(text)]
        self._line_ends = np.concatenate((newlines, np.array(last, np.int64)))
        self._first = np.searchsorted(newlines, self._starts)
        self._last, self._is_across = self._first, False
        if wanted.across:
            self._last = np.searchsorted(newlines, np.maximum(self._ends - 1, self._starts))
            self._is_across = bool((np.searchsorted(newlines, self._ends) > self._first).any())
        hit = np.zeros(len(self._line_ends) + 1, np.int64)
        np.add.at(hit, self._first, 1)
        np.add.at(hit, self._last + 1, -1)
        self._hit: NDArray[np.bool_] = (np.cumsum(hit)[:-1] > 0) ^ request.invert
        self.asked: NDArray[np.int64] = np.flatnonzero(self._hit)
        if request.max_count is not None:
            self.asked = self.asked[: request.max_count]

    @property
    def count(self) -> int:
        """How many lines are asked for; where matches go over the end of one, how many matches there are."""
        return len(self._starts) if self._is_across and not self._request.invert else len(self.asked)

    @property
    def matches(self) -> int:
        """How many matches begin on the lines that are asked for."""
        return int(np.isin(self._first, self.asked).sum())

    @property
    def has_context(self) -> bool:
        """Whether lines near those that are asked for are shown too."""
        return bool(self._request.before or self._request.after)

    def asked_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are asked for, each with its number, and nothing else about them."""
        ends = self._line_ends[self.asked].tolist()
        begins = np.where(self.asked > 0, self._line_ends[self.asked - 1] + 1, self._begin).tolist()
        text = self._text
        for line, begin, end in zip(self.asked.tolist(), begins, ends, strict=True):
            yield line + 1, bytes(text[begin:end])

    def lines(self) -> Iterator[GrepLine | None]:
        """Yield the lines that are asked for with those around them; None where lines between two are left out."""
        shown = self.asked
        if self.has_context:
            near = np.arange(-self._request.before, self._request.after + 1)
            shown = np.unique((self.asked[:, None] + near).ravel())
            shown = shown[(shown >= 0) & (shown < len(self._line_ends))]
        begins = np.where(shown > 0, self._line_ends[shown - 1] + 1, self._begin)
        text, hit = self._text, self._hit
        spans = zip(
            np.searchsorted(self._last, shown).tolist(),
            np.searchsorted(self._first, shown, "right").tolist(),
            strict=True,
        )
        before = -1
        for line, begin, end, (low, high) in zip(
            shown.tolist(), begins.tolist(), self._line_ends[shown].tolist(), spans, strict=True
        ):
            if before >= 0 and line > before + 1 and self.has_context:
                yield None
            before = line
            yield GrepLine(line + 1, bytes(text[begin:end]), bool(hit[line]), *self._on(low, high, line, begin, end))

    def _on(self, low: int, high: int, line: int, begin: int, end: int) -> tuple[tuple[tuple[int, int], ...], int]:
        """Return the spans of these matches on a line, and how many of the matches begin on it."""
        pairs = zip(self._starts[low:high].tolist(), self._ends[low:high].tolist(), strict=True)
        spans = tuple((max(first, begin) - begin, min(after, end) - begin) for first, after in pairs)
        return spans, int((self._first[low:high] == line).sum())


def grep(texts: Texts, request: GrepRequest, within: Within | None) -> Iterator[GrepFile]:
    """Yield every file that has a line that is asked for, in the order of paths by folder; never an incomplete one."""
    wanted = request.wanted
    chosen = chosen_files(texts, within)
    found = chosen if request.invert else texts.tally(wanted, chosen, lambda _: None).matches > 0
    for place in sorted(np.flatnonzero(found).tolist(), key=lambda place: texts.paths[place].encode().split(b"/")):
        file = GrepFile(texts, place, wanted, request)
        if len(file.asked):
            yield file
