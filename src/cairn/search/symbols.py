"""Definitions by their name: whole, in another case, from its start, by a few of its letters, or with one slip.

The better the way in which a name fits, the higher it stands; then what is visible outside, then the weightier kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from cairn.core.limits import MAX_QUERY_PATTERN_BYTES
from cairn.core.types import Symbol, SymbolKind
from cairn.engine.scan import Texts
from cairn.errors import InvalidPattern
from cairn.search.exact import Within, chosen_files, coverage_of
from cairn.search.found import SymbolMatch, SymbolsFound
from cairn.search.fuzzy import NameTable, Way, folded, one_slip
from cairn.store import LivePart, live_parts

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
        return SymbolMatch(path, language, self._symbol(hit), Way(hit.way).name.lower())

    def _ways(self, wanted: str) -> list[tuple[str, int, int]]:
        """Every name that fits, in the best way it does, and how far it is from what was typed."""
        table = self._table
        best: dict[int, tuple[int, int]] = {}
        fit = table.letters(wanted, np.arange(len(self._names)), table.starts, camel=True)
        for name, score in zip(fit.names.tolist(), fit.scores.tolist(), strict=True):
            best[name] = (int(Way.LETTERS), int(table.lengths[name]) - score)
        slip = one_slip(wanted)
        for name in [] if slip is None else table.matching(slip).tolist():
            best.setdefault(name, (int(Way.SLIP), 0))
        names, places = table.pieces(wanted)
        begins = places == table.starts[names]
        best |= dict.fromkeys(names[begins].tolist(), (int(Way.PREFIX), 0))
        whole = begins & (table.lengths[names] == len(wanted.encode("utf-8", "surrogatepass")))
        best |= dict.fromkeys(names[whole].tolist(), (int(Way.CASE), 0))
        found = {self._names[name]: fits for name, fits in best.items()}
        if wanted in self._numbers:
            found[wanted] = (int(Way.EXACT), 0)
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
