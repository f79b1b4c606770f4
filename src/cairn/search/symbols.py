"""Find definitions by name: exactly, in another case, by prefix, by a few letters, or with one typing error.

Results are ordered by the way in which the name matches, then exported definitions first, then by kind.
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

# --- Match a few typed letters against many names at once: as one piece, in order with gaps, or with one typing error.


Numbers = NDArray[np.int64]
# The points of one letter that follows the letter before it directly, and of one that begins a word. Gaps cost nothing:
# of two names with equal points the shorter one wins.
_NEXT, _WORD_START = 8, 10
_MAX_SLIP_CHARS = 64
_HALF = re.compile("[\ud800-\udfff]")


class NameFit(IntEnum):
    """The ways in which a name matches, the best first."""

    EXACT = 0
    CASE = 1
    PREFIX = 2
    PART = 3
    LETTERS = 4
    SLIP = 5


class Fit(NamedTuple):
    """The numbers of the names that contain the letters in order, and their points."""

    names: Numbers
    scores: Numbers


class NameTable:
    """Many names, ready to be searched together."""

    def __init__(self, names: Sequence[str]) -> None:
        # Names are joined with line ends, so a name that contains one would count as two.
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
        """Return the name and the byte of every place where these letters stand in one piece."""
        wanted = part.encode("utf-8", "surrogatepass").lower()
        width, size = len(wanted), len(self._array)
        often = self._often[list(wanted)]
        rarest = int(often.argmin())
        places = np.flatnonzero(self._array[rarest : max(0, size - width + 1) + rarest] == wanted[rarest])
        for offset in np.argsort(often, kind="stable").tolist():
            places = places[self._array[places + offset] == wanted[offset]]
        return np.searchsorted(self.ends, places), places

    def byte(self, places: Numbers) -> NDArray[np.uint8]:
        """Return the bytes at these places; after the last byte of a name there is a newline."""
        return self._array[places]

    def matching(self, source: str) -> Numbers:
        """Return the names that this regex matches wholly."""
        options = re2.Options()
        options.never_capture, options.never_nl, options.log_errors = True, True, False
        regexp = re2.compile(f"(?m)^(?:{source})$", options)
        ends = np.array([match.end() for match in regexp.finditer(self._lower)], np.int64)
        return np.searchsorted(self.ends, ends)

    def letters(self, wanted: str, names: Numbers, at: Numbers, *, camel: bool = False, initials: bool = False) -> Fit:
        """Return the names among `names` that contain these letters in this order, each searched from its byte `at` on.

        With `camel` the first letter and every capital must begin a word; with `initials` every letter must.
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
        """Return the names that contain a letter, and its first byte in each; kept, because every search needs this."""
        found = self._firsts.get((letter, starts_word))
        if found is None:
            places = self._where(letter, starts_word)
            names = np.searchsorted(self.ends, places)
            kept = (np.diff(names, prepend=-1) > 0) & (places < self.ends[names])
            found = self._firsts[letter, starts_word] = names[kept], places[kept]
        return found

    def _where(self, letter: int, starts_word: bool) -> Numbers:
        """Return every place of a letter, or only those that begin a word; kept, because searches share letters."""
        found = self._known.get((letter, starts_word))
        if found is None:
            fits = self._array == letter
            found = self._known[letter, starts_word] = np.flatnonzero(fits & self._word_starts if starts_word else fits)
        return found


def folded(text: str) -> str:
    """Return a text with its ASCII capitals in lower case; the text keeps its length."""
    return re.sub("[A-Z]+", lambda match: match.group().lower(), text)


def one_slip(word: str) -> str | None:
    """Return a regex for all words that are one letter away: one omitted, added or replaced, or two swapped.

    None for a word that is too short for this to mean anything, too long to be typed, or not UTF-8.
    """
    word = folded(word)
    # Python passes on bytes of the command line that are no UTF-8 as surrogates.
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
    """Return where words begin: after a sign, at a capital after no capital, and at a digit after no digit."""
    upper = (array >= 65) & (array <= 90)
    small = ((array >= 97) & (array <= 122)) | (array >= 128)
    digit = (array >= 48) & (array <= 57)
    part = upper | small | digit
    starts = part.copy()
    starts[1:] = part[1:] & (~part[:-1] | (upper[1:] & ~upper[:-1]) | (digit[1:] & ~digit[:-1]))
    return starts


_PARTS = re.compile(r"::|->|[./#\\]")
# Names of files that represent their folder.
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
    """A definition that matches; hits are sorted by their fields in this order."""

    way: int
    farness: int
    hidden: bool
    kind: int
    place: int
    number: int
    part: int


class SymbolFinder:
    """All definitions of a snapshot, ready to be found by name. Keep a finder for as long as its texts."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._parts: tuple[LivePart, ...] = live_parts(texts.view)
        self._places = {path: place for place, path in enumerate(texts.paths)}
        self._files = [{number: self._places[path] for path, _, number in part.with_text()} for part in self._parts]
        # The same name may be in many segments and is matched once.
        self._numbers: dict[str, list[tuple[int, int]]] = {}
        for index, part in enumerate(self._parts):
            for number, name in part.facts.defined_names():
                self._numbers.setdefault(name, []).append((index, number))
        self._names = sorted(self._numbers)
        self._table = NameTable(self._names)

    def find(
        self, query: str, *, kinds: Collection[str] = (), within: Within | None = None, limit: int = 50
    ) -> SymbolsFound:
        """Return the best definitions whose name matches, and how many match.

        The name may be qualified: `a.b`, `a::b`, `a/b#c`. Raises `InvalidPattern` when it is empty or too long.
        """
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
            for numbered, number, file, kind, exported in part.facts.defined_as(list(fits[index]))
            if (not kinds or kind in kinds) and chosen[self._files[index][file]]
        ]
        if around:
            paths, by_file = self._texts.paths, "/" in query or "#" in query
            hits = [hit for hit in hits if is_inside(around, paths[hit.place], self._symbol(hit), by_file)]
        hits.sort()
        return SymbolsFound(tuple(map(self._match, hits[:limit])), len(hits), coverage_of(self._texts, chosen))

    def _symbol(self, hit: _Hit) -> Symbol:
        return self._parts[hit.part].facts.symbol(hit.number)

    def _match(self, hit: _Hit) -> SymbolMatch:
        path, language = self._texts.paths[hit.place], self._texts.languages[hit.place]
        return SymbolMatch(path, language, self._symbol(hit), NameFit(hit.way).name.lower())

    def _ways(self, wanted: str) -> list[tuple[str, int, int]]:
        """Return every name that matches, its best way of matching, and its distance from what was typed."""
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
    """Return the containers of a qualified name, outermost first, and the name itself.

    A query of signs only, or one with blanks, is a name as a whole.
    """
    query = query.strip()
    parts = [part for part in _PARTS.split(query) if part]
    # `operator ==` and a heading such as `Version 1.2` are no qualified names.
    if not parts or " " in query:
        return (), query
    return tuple(folded(part) for part in parts[:-1]), parts[-1]


def is_inside(around: tuple[str, ...], path: str, symbol: Symbol, by_file: bool) -> bool:
    """Whether a definition is inside containers of these names, in this order; folders and the file count too.

    The last name must be the innermost container. With `by_file` it may also be the file, whatever else the definition
    is in.
    """
    *folders, file = folded(path).split("/")
    stem = file.partition(".")[0]
    inner = [part for part in _PARTS.split(folded(symbol.container)) if part]
    outer = [[*folders, stem], *([folders] if stem in _FOLDER_FILES else [])]
    return any(_ends_with([*names, *inner], around) or (by_file and _ends_with(names, around)) for names in outer)


def _ends_with(whole: list[str], around: tuple[str, ...]) -> bool:
    rest = iter(whole)
    return bool(whole) and whole[-1] == around[-1] and all(part in rest for part in around)
