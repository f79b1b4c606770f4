"""Definitions by their name: whole, in another case, from its start, by a few of its letters, or with one slip.

The better the way in which a name fits, the higher it stands; then what is visible outside, then the weightier kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cairn.core.limits import MAX_QUERY_PATTERN_BYTES
from cairn.core.types import Symbol, SymbolKind
from cairn.engine.scan import Texts
from cairn.errors import InvalidPattern
from cairn.search.exact import Within, chosen_files, coverage_of
from cairn.search.types import SymbolMatch, SymbolsFound
from cairn.store import LivePart, live_parts

# --- How a few typed letters fit many names at once: as they stand, in order with gaps, or with one slip of the
# finger.


Numbers = NDArray[np.int64]
# Points of one letter: for standing right behind the one before it, and at the start of a word. Gaps cost nothing by
# themselves: long names lose the tie.
_NEXT, _WORD_START = 8, 10
_MAX_SLIP_CHARS = 64
_HALF = re.compile("[\ud800-\udfff]")


class NameFit(IntEnum):
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


_PARTS = re.compile(r"::|->|[./#\\]")
# Names of files that stand for their folder.
_FOLDER_FILES = frozenset({"__init__", "index", "lib", "main", "mod"})
_KINDS: tuple[SymbolKind, ...] = (
    SymbolKind.CLASS,
    SymbolKind.INTERFACE,
    SymbolKind.STRUCT,
    SymbolKind.TRAIT,
    SymbolKind.ENUM,
    SymbolKind.UNION,
    SymbolKind.OBJECT,
    SymbolKind.TYPE,
    SymbolKind.MODULE,
    SymbolKind.NAMESPACE,
    SymbolKind.FUNCTION,
    SymbolKind.METHOD,
    SymbolKind.CONSTRUCTOR,
    SymbolKind.MACRO,
    SymbolKind.CONSTANT,
    SymbolKind.PROPERTY,
    SymbolKind.FIELD,
    SymbolKind.VARIABLE,
    SymbolKind.ENUM_MEMBER,
    SymbolKind.IMPL,
    SymbolKind.TABLE,
    SymbolKind.RULE,
    SymbolKind.HEADING,
    SymbolKind.ELEMENT,
    SymbolKind.KEY,
)
_WEIGHT: dict[str, int] = {kind.value: place for place, kind in enumerate(_KINDS)}


class _Hit(NamedTuple):
    """A definition that fits; the order of its fields is the order of the answer."""

    way: int
    farness: int
    hidden: bool
    kind: int
    place: int
    number: int
    part: int


class SymbolFinder:
    """All definitions of a snapshot, ready to be found by name. Keep it for as long as its texts."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._parts: tuple[LivePart, ...] = live_parts(texts.view)
        self._places = {path: place for place, path in enumerate(texts.paths)}
        self._files = [{number: self._places[path] for path, _, number in part.with_text()} for part in self._parts]
        # A name stands in many segments: it is looked at once.
        self._numbers: dict[str, list[tuple[int, int]]] = {}
        for index, part in enumerate(self._parts):
            for number, name in part.defined_names():
                self._numbers.setdefault(name, []).append((index, number))
        self._names = sorted(self._numbers)
        self._table = NameTable(self._names)

    def find(
        self, query: str, *, kinds: Collection[str] = (), within: Within | None = None, limit: int = 50
    ) -> SymbolsFound:
        """The best of all definitions whose name fits, and how many there are. `a.b`, `a::b`, `a/b#c` are qualified."""
        if len(query.encode("utf-8", "surrogatepass")) > MAX_QUERY_PATTERN_BYTES:
            raise InvalidPattern(why=f"it has more than {MAX_QUERY_PATTERN_BYTES:,} bytes")
        around, name = qualified_parts(query)
        if not name:
            raise InvalidPattern(why="it is empty")
        chosen = chosen_files(self._texts, within)
        fits: list[dict[int, tuple[int, int]]] = [{} for _ in self._parts]
        for wanted, way, farness in self._ways(name):
            for index, numbered in self._numbers[wanted]:
                fits[index][numbered] = way, farness
        hits = [
            _Hit(*fits[index][numbered], not exported, _WEIGHT[kind], self._files[index][file], number, index)
            for index, part in enumerate(self._parts)
            for numbered, number, file, kind, exported in part.defined_as(list(fits[index]))
            if (not kinds or kind in kinds) and chosen[self._files[index][file]]
        ]
        if around:
            paths, by_file = self._texts.paths, "/" in query or "#" in query
            hits = [hit for hit in hits if is_inside(around, paths[hit.place], self._symbol(hit), by_file)]
        hits.sort()
        return SymbolsFound(tuple(map(self._match, hits[:limit])), len(hits), coverage_of(self._texts, chosen))

    def _symbol(self, hit: _Hit) -> Symbol:
        return self._parts[hit.part].symbol(hit.number)

    def _match(self, hit: _Hit) -> SymbolMatch:
        path, language = self._texts.paths[hit.place], self._texts.languages[hit.place]
        return SymbolMatch(path, language, self._symbol(hit), NameFit(hit.way).name.lower())

    def _ways(self, wanted: str) -> list[tuple[str, int, int]]:
        """Every name that fits, in the best way it does, and how far it is from what was typed."""
        table = self._table
        best: dict[int, tuple[int, int]] = {}
        fit = table.letters(wanted, np.arange(len(self._names)), table.starts, camel=True)
        for name, score in zip(fit.names.tolist(), fit.scores.tolist(), strict=True):
            best[name] = (int(NameFit.LETTERS), int(table.lengths[name]) - score)
        slip = one_slip(wanted)
        for name in [] if slip is None else table.matching(slip).tolist():
            best.setdefault(name, (int(NameFit.SLIP), 0))
        names, places = table.pieces(wanted)
        begins = places == table.starts[names]
        best |= dict.fromkeys(names[begins].tolist(), (int(NameFit.PREFIX), 0))
        whole = begins & (table.lengths[names] == len(wanted.encode("utf-8", "surrogatepass")))
        best |= dict.fromkeys(names[whole].tolist(), (int(NameFit.CASE), 0))
        found = {self._names[name]: fits for name, fits in best.items()}
        if wanted in self._numbers:
            found[wanted] = (int(NameFit.EXACT), 0)
        return [(name, *fits) for name, fits in found.items()]


def qualified_parts(query: str) -> tuple[tuple[str, ...], str]:
    """What stands around a name, outermost first, and the name; a query that is nothing but marks is a name itself."""
    query = query.strip()
    parts = [part for part in _PARTS.split(query) if part]
    # An operator, or a heading with a dot at its end, is no qualified name.
    if not parts or " " in query:
        return (), query
    return tuple(folded(part) for part in parts[:-1]), parts[-1]


def is_inside(around: tuple[str, ...], path: str, symbol: Symbol, by_file: bool) -> bool:
    """Whether these names stand around a definition in this order, folders and file too, the last of them nearest.

    With `by_file` the last may be the file, whatever else the definition is in.
    """
    *folders, file = folded(path).split("/")
    stem = file.partition(".")[0]
    inner = [part for part in _PARTS.split(folded(symbol.container)) if part]
    outer = [[*folders, stem], *([folders] if stem in _FOLDER_FILES else [])]
    return any(_ends_with([*names, *inner], around) or (by_file and _ends_with(names, around)) for names in outer)


def _ends_with(whole: list[str], around: tuple[str, ...]) -> bool:
    rest = iter(whole)
    return bool(whole) and whole[-1] == around[-1] and all(part in rest for part in around)
