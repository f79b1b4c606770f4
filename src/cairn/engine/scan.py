"""Find every match of a pattern in the text of all live files of a snapshot.

The search is one pass in linear time over the mapped bytes. In a segment the files follow one another, each with a
newline after it that does not belong to the file; hidden files are left out, so no match can lie in one or reach into
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.core.limits import SCAN_STEP_BYTES
from cairn.store import SnapshotView, live_parts

Numbers = NDArray[np.int64]
_NEWLINE = 10
# From this many matches in one step on, comparing whole arrays is faster than handling matches one by one.
_MANY = SCAN_STEP_BYTES // 2_048
# From this many matches of a literal in one step on, the next steps search for it by comparing whole arrays.
_DENSE = SCAN_STEP_BYTES // 8_192
_TOO_MANY_HINTS = SCAN_STEP_BYTES // 1_024
_SAMPLE = 1 << 16
_CAPITAL = 32
_SMALL = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_IN_WORD = np.array([byte == 95 or (byte < 128 and chr(byte).isalnum()) for byte in range(256)])


class Joint(NamedTuple):
    """Three neighbouring bytes of every match: one of `before`, `here`, and one of `after`; `fold` ignores case."""

    before: NDArray[np.bool_]
    here: int
    after: NDArray[np.bool_]
    fold: bool


class Wanted(NamedTuple):
    """A compiled pattern, and what is known of it; with `across`, a match may span line ends.

    `literal` is set when the pattern is just these bytes, with `word` only as a whole word, and with `any_case` in
    small letters that stand for capitals too. `needed` is a pattern of plain bytes that are part of every match, and
    `joint` describes three neighbouring bytes of every match.
    """

    regexp: Any
    literal: bytes | None = None
    word: bool = False
    needed: Any = None
    across: bool = False
    any_case: bool = False
    joint: Joint | None = None


class Tally(NamedTuple):
    """For each file, the number of matches and the number of lines on which a match begins."""

    matches: Numbers
    lines: Numbers


class LineSpans(NamedTuple):
    """A line with matches: its number, where it begins and ends without its newline, and the matches that begin on it.

    Offsets count from the start of the file. Without `across`, every match ends on the line on which it begins.
    """

    number: int
    start: int
    end: int
    spans: tuple[tuple[int, int], ...]


class Texts:
    """The live files with text, in order of their paths; a file is named by its position in that order."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        parts = live_parts(view)
        found = sorted((*file[:2], place, file[2]) for place, part in enumerate(parts) for file in part.with_text())
        self.paths = [path for path, _, _, _ in found]
        self.languages = [language for _, language, _, _ in found]
        texts = [part.texts() for part in parts]
        self._text = [text for text, _ in texts]
        self._part = np.array([place for _, _, place, _ in found], np.int64)
        starts = [texts[place][1] for _, _, place, _ in found]
        self._start = np.array([at[n] for at, (_, _, _, n) in zip(starts, found, strict=True)], np.int64)
        # Without the newline that separates the file from the next one.
        self._end = np.array([at[n + 1] - 1 for at, (_, _, _, n) in zip(starts, found, strict=True)], np.int64)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def sizes(self) -> Numbers:
        """The size of each file in bytes."""
        return self._end - self._start

    def text(self, place: int) -> memoryview:
        text: memoryview = self._text[self._part[place]]
        return text[self._start[place] : self._end[place]]

    @cached_property
    def _by_part(self) -> list[Numbers]:
        """For each segment its live files, in the order of their bytes."""
        order = np.lexsort((self._start, self._part))
        return [order[self._part[order] == part] for part in range(len(self._text))]

    def tally(self, wanted: Wanted, chosen: NDArray[np.bool_], tick: Callable[[int], None]) -> Tally:
        """Count all matches in the chosen files.

        `tick` is called before each step with the number of files that are done, and may raise to end the search.
        """
        tally = Tally(np.zeros(len(self), np.int64), np.zeros(len(self), np.int64))
        done, dense = 0, False
        for text, own in zip(self._text, self._by_part, strict=True):
            array = np.frombuffer(text, np.uint8)
            for places in self._steps(own[chosen[own]], wanted.across):
                tick(done)
                first, last = int(self._start[places[0]]), int(self._end[places[-1]])
                if dense and wanted.literal is not None:
                    starts, ends = _literally(array, first, last, wanted.literal, wanted.word, wanted.any_case)
                elif wanted.needed is not None or wanted.joint is not None:
                    starts, ends = _near(wanted, text, array, first, last)
                else:
                    starts, ends = _matches(wanted, text, first, last)
                    dense = dense or len(starts) > _DENSE
                self._count(tally, places, array, starts, ends)
                done += len(places)
        return tally

    def matching(
        self, wanted: Wanted, is_asked: Callable[[str], bool], among: Iterable[str] | None = None
    ) -> list[tuple[int, int]]:
        """Return the files with a match among those whose path is asked for, in order, each with its matches.

        With `among` only these files are read.
        """
        if among is None:
            chosen = np.fromiter(map(is_asked, self.paths), np.bool_, len(self))
        else:
            chosen = np.zeros(len(self), np.bool_)
            chosen[[self._places[path] for path in among if path in self._places and is_asked(path)]] = True
        matches = self.tally(wanted, chosen, lambda _: None).matches
        return [(place, int(matches[place])) for place in np.flatnonzero(matches).tolist()]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {path: place for place, path in enumerate(self.paths)}

    def place(self, path: str) -> int:
        """Return the position of a live file with text."""
        return self._places[path]

    def among(self, paths: Iterable[str]) -> list[str]:
        """Return those of these paths that are live files with text."""
        return [path for path in paths if path in self._places]

    def starts(self, wanted: Wanted, path: str) -> list[int]:
        """Return where the matches in one file begin, from left to right; the pattern must not span line ends."""
        text = self.text(self._places[path])
        starts: list[int] = _matches(wanted, text, 0, len(text))[0].tolist()
        return starts

    def matches(self, wanted: Wanted, place: int) -> tuple[Numbers, Numbers]:
        """Return where the matches in a file begin and end, from left to right."""
        text = self.text(place)
        array = np.frombuffer(text, np.uint8)
        return _real(array, *_matches(wanted, text, 0, len(text)), np.zeros(1, np.int64), np.array([len(text)]))

    def lines(self, wanted: Wanted, place: int) -> Iterator[LineSpans]:
        """Yield the lines of a file on which a match begins, in order, each with the matches that begin there."""
        text = self.text(place)
        array = np.frombuffer(text, np.uint8)
        starts, ends = self.matches(wanted, place)
        newlines = np.flatnonzero(array == _NEWLINE)
        lines = np.searchsorted(newlines, starts)
        borders = [-1, *newlines.tolist(), len(text)]
        firsts = np.flatnonzero(np.diff(lines, prepend=-1)).tolist()
        for first, after in pairwise([*firsts, len(starts)]):
            line = int(lines[first])
            spans = zip(starts[first:after].tolist(), ends[first:after].tolist(), strict=True)
            yield LineSpans(line + 1, borders[line] + 1, borders[line + 1], tuple(spans))

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _steps(self, places: Numbers, one_by_one: bool) -> list[Numbers]:
        """Return groups of files to search at once: neighbours with nothing hidden between them, of limited size."""
        if not len(places):
            return []
        starts, ends = self._start[places], self._end[places]
        # A match that may span line ends could also span two files, so each file is searched alone.
        parted = (ends[:-1] + 1 != starts[1:]) | (np.diff(starts // SCAN_STEP_BYTES) > 0) | one_by_one
        return np.split(places, np.flatnonzero(parted) + 1)

    def _count(self, tally: Tally, places: Numbers, array: NDArray[np.uint8], starts: Numbers, ends: Numbers) -> None:
        if not len(starts):
            return
        begin, finish = self._start[places], self._end[places]
        starts, ends = _real(array, starts, ends, begin, finish)
        files = np.searchsorted(begin, starts, "right") - 1
        fresh = _on_new_lines(array[begin[0] : finish[-1]], starts - begin[0])
        tally.matches[places] += np.bincount(files, minlength=len(places))
        tally.lines[places] += np.bincount(files[fresh], minlength=len(places))


def _matches(wanted: Wanted, text: memoryview, at: int, end: int) -> tuple[Numbers, Numbers]:
    """Return start and end of every match between these offsets, from left to right, none inside another."""
    if not wanted.across:
        return _matches_in(wanted.regexp, text, [(at, end)])
    # Cut the text, so that its start and end are those of the file.
    starts, ends = _matches_in(wanted.regexp, text[at:end], [(0, end - at)])
    return starts + at, ends + at


def _matches_in(regexp: Any, text: memoryview, spans: Iterable[tuple[int, int]]) -> tuple[Numbers, Numbers]:
    # The public methods of re2 make two objects for each match, which doubles the cost, so the inner one is called.
    match, anchor = regexp._regexp.Match, re2._Anchor.UNANCHORED
    starts: list[int] = []
    ends: list[int] = []
    for first, end in spans:
        at = first
        while at <= end:
            start, stop = match(anchor, text, at, end)[0]
            if start < 0:
                break
            starts.append(start)
            ends.append(stop)
            at = stop if stop > start else stop + 1
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _near(wanted: Wanted, text: memoryview, array: NDArray[np.uint8], at: int, end: int) -> tuple[Numbers, Numbers]:
    """Do as `_matches`, but search only the lines that hold the bytes a match needs, unless nearly all lines do."""
    if wanted.joint is not None:
        hints = _joints(array, at, end, wanted.joint)
    else:
        hints, _ = _matches(Wanted(wanted.needed), text, at, end)
    if not len(hints):
        return hints, hints
    if len(hints) > _TOO_MANY_HINTS:
        return _matches(wanted, text, at, end)
    block, line_end = bytes(text[at:end]), -1
    spans = []
    for hint in (hints - at).tolist():
        if hint > line_end:
            newline = block.find(b"\n", hint)
            line_end = len(block) if newline < 0 else newline
            spans.append((at + block.rfind(b"\n", 0, hint) + 1, at + line_end))
    return _matches_in(wanted.regexp, text, spans)


def _joints(array: NDArray[np.uint8], at: int, end: int, joint: Joint) -> Numbers:
    """Return the offset of the middle byte of each such group of three neighbours."""
    inner = array[at + 1 : max(at + 1, end - 1)]
    found = np.flatnonzero((inner | np.uint8(_CAPITAL) if joint.fold else inner) == joint.here) + at + 1
    found = found[joint.before[array[found - 1]]]
    return found[joint.after[array[found + 1]]]


def _on_new_lines(array: NDArray[np.uint8], starts: Numbers) -> NDArray[np.bool_]:
    """Return which of these ascending offsets are the first on their line."""
    if len(starts) > _MANY:
        newlines = np.flatnonzero(array == _NEWLINE)
        return np.asarray(np.diff(np.searchsorted(newlines, starts), prepend=-1) > 0)
    text, line_end, fresh = array.tobytes(), -1, []
    for start in starts.tolist():
        fresh.append(start > line_end)
        if start > line_end:
            line_end = text.find(b"\n", start)
            line_end = len(text) if line_end < 0 else line_end
    return np.array(fresh, np.bool_)


def _literally(
    array: NDArray[np.uint8], at: int, end: int, literal: bytes, word: bool, any_case: bool = False
) -> tuple[Numbers, Numbers]:
    """Do as `_matches` for plain bytes that occur very often, by comparing whole arrays."""
    width = len(literal)
    # The bit in which a capital letter differs from a small one.
    folds = [np.uint8(_CAPITAL if any_case and byte in _SMALL else 0) for byte in literal]
    # Begin with the byte of the literal that is the rarest in a sample, which leaves the fewest candidates.
    often = np.bincount(array[at : at + _SAMPLE], minlength=256)[list(literal)]
    rarest = int(often.argmin())
    likely = array[at + rarest : max(at, end - width + 1) + rarest]
    found = np.flatnonzero((likely | folds[rarest] if folds[rarest] else likely) == literal[rarest]) + at
    for offset in np.argsort(often, kind="stable").tolist():
        found = found[array[found + offset] | folds[offset] == literal[offset]]
    if word:
        # No byte stands before the first one of a segment; behind the last one there is always a newline.
        before = _IN_WORD[array[found - 1]] & (found > 0)
        after = _IN_WORD[array[found + width]]
        found = found[(before != _IN_WORD[literal[0]]) & (after != _IN_WORD[literal[-1]])]
    if width > 1 and (np.diff(found) < width).any():
        kept, free = [], 0
        for start in found.tolist():
            if start >= free:
                kept.append(start)
                free = start + width
        found = np.array(kept, np.int64)
    return found, found + width


def _real(
    array: NDArray[np.uint8], starts: Numbers, ends: Numbers, begin: Numbers, finish: Numbers
) -> tuple[Numbers, Numbers]:
    """Remove empty matches that do not count, given the borders of the files."""
    empty = starts == ends
    if not empty.any():
        return starts, ends
    if not len(array):
        return starts[:0], ends[:0]
    # An empty match directly behind another match.
    behind = np.zeros(len(starts), np.bool_)
    behind[1:] = starts[1:] == ends[:-1]
    # An empty match inside a character of several bytes.
    inside = (array[np.minimum(starts, len(array) - 1)] & 0xC0 == 0x80) & (starts < len(array))
    files = np.searchsorted(begin, starts, "right") - 1
    # An empty match behind the last newline of a file: no line is there, though the separating newline looks like its
    # end.
    last = finish[files]
    none = (starts == last) & ((last == begin[files]) | (array[last - 1] == _NEWLINE))
    real = ~(empty & (behind | inside | none))
    return starts[real], ends[real]
