"""How a few typed letters fit many names at once: as they stand, in order with gaps, or with one slip of the finger.

All names are one array of bytes, each with a newline after it. Upper and lower case are the same here (ASCII only).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
# Points of one letter: for standing right behind the one before it, and at the start of a word. Gaps cost nothing by
# themselves: long names lose the tie.
_NEXT, _WORD_START = 8, 10
_MAX_SLIP_CHARS = 64
_HALF = re.compile("[\ud800-\udfff]")


class Way(IntEnum):
    """In which way a name fits, the best first."""

    EXACT = 0
    CASE = 1
    PREFIX = 2
    PART = 3
    LETTERS = 4
    SLIP = 5


class Fit(NamedTuple):
    """The names that hold the letters in order, by number, and how well."""

    names: Numbers
    scores: Numbers


class NameTable:
    """Names, ready to be looked through."""

    def __init__(self, names: Sequence[str]) -> None:
        # A name with a line end in it would look like two.
        raw = [name.encode("utf-8", "surrogatepass").replace(b"\n", b" ") for name in names]
        typed = b"\n".join([*raw, b""])
        self._lower = typed.lower()
        self._array = np.frombuffer(self._lower, np.uint8)
        self.lengths = np.fromiter(map(len, raw), np.int64, len(raw))
        self.ends = np.cumsum(self.lengths + 1) - 1
        self.starts = self.ends - self.lengths
        self._often = np.bincount(self._array, minlength=256)
        self._word_starts = _word_starts(np.frombuffer(typed, np.uint8))
        self._known: dict[tuple[int, bool], Numbers] = {}
        self._firsts: dict[tuple[int, bool], tuple[Numbers, Numbers]] = {}

    def pieces(self, part: str) -> tuple[Numbers, Numbers]:
        """Every place where these letters stand in one piece, and the name it is in."""
        wanted = part.encode("utf-8", "surrogatepass").lower()
        width, size = len(wanted), len(self._array)
        often = self._often[list(wanted)]
        rarest = int(often.argmin())
        places = np.flatnonzero(self._array[rarest : max(0, size - width + 1) + rarest] == wanted[rarest])
        for offset in np.argsort(often, kind="stable").tolist():
            places = places[self._array[places + offset] == wanted[offset]]
        return np.searchsorted(self.ends, places), places

    def byte(self, places: Numbers) -> NDArray[np.uint8]:
        """What stands at these places; behind the last byte of a name it is a newline."""
        return self._array[places]

    def matching(self, source: str) -> Numbers:
        """The names that are wholly matched by this regex."""
        options = re2.Options()
        options.never_capture, options.never_nl, options.log_errors = True, True, False
        regexp = re2.compile(f"(?m)^(?:{source})$", options)
        ends = np.array([match.end() for match in regexp.finditer(self._lower)], np.int64)
        return np.searchsorted(self.ends, ends)

    def letters(self, wanted: str, names: Numbers, at: Numbers, *, camel: bool = False, initials: bool = False) -> Fit:
        """Those of these names that hold these letters in this order, looking in each from its place `at` on.

        With `camel` the first letter and every capital must stand at the start of a word, with `initials` all must.
        """
        scores = np.zeros(len(names), np.int64)
        before = at - 2
        typed = wanted.encode("utf-8", "surrogatepass")
        is_whole = at is self.starts
        for order, (letter, small) in enumerate(zip(typed, typed.lower(), strict=True)):
            starts_word = initials or (camel and (not order or letter != small))
            if is_whole and not order:
                names, before = self._first(small, starts_word)
                scores, at = _WORD_START * self._word_starts[before].astype(np.int64), before + 1
                continue
            places = self._where(small, starts_word)
            index = np.searchsorted(places, at)
            held = index < len(places)
            found = places[index[held]]
            names, before, scores = names[held], before[held], scores[held]
            inside = found < self.ends[names]
            names, found, before, scores = names[inside], found[inside], before[inside], scores[inside]
            scores = scores + _NEXT * (found == before + 1) + _WORD_START * self._word_starts[found]
            before, at = found, found + 1
        return Fit(names, scores)

    def _first(self, letter: int, starts_word: bool) -> tuple[Numbers, Numbers]:
        """The names that hold a letter, and its first place in each: looked for once, every question begins so."""
        found = self._firsts.get((letter, starts_word))
        if found is None:
            places = self._where(letter, starts_word)
            names = np.searchsorted(self.ends, places)
            kept = (np.diff(names, prepend=-1) > 0) & (places < self.ends[names])
            found = self._firsts[letter, starts_word] = names[kept], places[kept]
        return found

    def _where(self, letter: int, starts_word: bool) -> Numbers:
        """Every place of a letter, or those where a word starts: looked for once, questions share their letters."""
        found = self._known.get((letter, starts_word))
        if found is None:
            fits = self._array == letter
            found = self._known[letter, starts_word] = np.flatnonzero(fits & self._word_starts if starts_word else fits)
        return found


def folded(text: str) -> str:
    """With small letters for capitals, in ASCII only: so it keeps its length."""
    return re.sub("[A-Z]+", lambda match: match.group().lower(), text)


def one_slip(word: str) -> str | None:
    """A regex for what is one letter away: left out, put in, another one, or two that changed places.

    None for what is too short to be told apart, too long to be typed, or no text.
    """
    word = folded(word)
    # Bytes that are no UTF-8 come from a shell as halves of characters.
    if not 4 <= len(word) <= _MAX_SLIP_CHARS or _HALF.search(word):
        return None
    ways = set()
    for place in range(len(word) + 1):
        before, after = re2.escape(word[:place]), word[place:]
        ways.add(f"{before}[^/]{re2.escape(after)}")
        if after:
            ways.add(f"{before}[^/]{re2.escape(after[1:])}")
            ways.add(f"{before}{re2.escape(after[1:])}")
        if len(after) > 1:
            ways.add(f"{before}{re2.escape(after[1] + after[0] + after[2:])}")
    return "|".join(sorted(ways))


def _word_starts(array: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a word begins: behind what is no letter or digit, and at a capital behind a small letter."""
    upper = (array >= 65) & (array <= 90)
    small = ((array >= 97) & (array <= 122)) | (array >= 128)
    digit = (array >= 48) & (array <= 57)
    part = upper | small | digit
    starts = part.copy()
    starts[1:] = part[1:] & (~part[:-1] | (upper[1:] & ~upper[:-1]) | (digit[1:] & ~digit[:-1]))
    return starts
