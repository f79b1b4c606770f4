"""What maps of one snapshot are drawn from: files and what they are worth, folders, entry points, definitions.

Made once for a snapshot; every map of it, of whatever size and about whatever, is drawn from the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import compress, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.types import Symbol
from cairn.graph.entry_points import WAYS, EntryPoint, entry_points
from cairn.graph.facts import CALLABLES, CLASSES
from cairn.graph.outline import Definition, definition_of
from cairn.graph.references import Graph
from cairn.search.places import FileRole, PathTable, glob_pattern, places
from cairn.search.searcher import Searcher
from cairn.store import SnapshotView
from cairn.syntax.resolver import parent

# --- Which files matter most: those that others lean on, and that are leaned on by those that matter
# (PageRank).


_ROUNDS = 16
# How often the walker goes on instead of starting anew. More often, and all walks end in the same few helpers that
# need nothing else: they would head every map before the code that the project is about.
_GOES_ON = 0.4
# From a file that is asked about also back to those that import it, which its change may break.
_BACKWARDS = 0.3
# What is far from all that was asked about is still worth a little, so that a map never ends before its budget.
_ELSEWHERE = 0.1
# Equal up to here is equal: processors add in different orders.
_DIGITS = 12

Weights = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Centrality:
    """The files of a snapshot and what leads from one to another. `worth` is how much each counts by itself."""

    def __init__(
        self, paths: Sequence[str], dependencies: Mapping[str, Sequence[str]], worth: Mapping[str, float]
    ) -> None:
        self.paths = sorted(paths)
        number = {path: place for place, path in enumerate(self.paths)}
        links = [
            (number[source], number[target])
            for source in self.paths
            for target in dependencies.get(source, ())
            if target in number
        ]
        pairs = np.array(sorted(set(links)), np.int64).reshape(-1, 2)
        self._from, self._to = pairs[:, 0], pairs[:, 1]
        self._number = number
        self._worth = np.array([max(worth.get(path, 0.0), 0.0) for path in self.paths], np.float64)
        counts = np.bincount(self._to, minlength=len(self.paths)).tolist()
        self.importers: dict[str, int] = dict(zip(self.paths, counts, strict=True))
        """For every file, how many others import it."""

    def ranks(self, near: Mapping[str, float] | None = None) -> dict[str, float]:
        """What each file is worth, all together 1; with `near` seen from these files, the heavier the more."""
        if not self.paths:
            return {}
        start = _shared_out(self._worth)
        ones = np.ones(len(self._from))
        if not near:
            return self._named(_walked(self._from, self._to, ones, start))
        asked = np.zeros(len(self.paths))
        for path, weight in near.items():
            if path in self._number:
                asked[self._number[path]] += weight
        start = (1 - _ELSEWHERE) * _shared_out(asked) + _ELSEWHERE * start
        source, target = np.concatenate((self._from, self._to)), np.concatenate((self._to, self._from))
        return self._named(_walked(source, target, np.concatenate((ones, ones * _BACKWARDS)), start))

    def _named(self, ranks: Weights) -> dict[str, float]:
        return dict(zip(self.paths, np.round(ranks, _DIGITS).tolist(), strict=True))


def _shared_out(weights: Weights) -> Weights:
    """The weights as shares of 1; all the same where there are none."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def _walked(source: Numbers, target: Numbers, weight: Weights, start: Weights) -> Weights:
    files = len(start)
    leaving = np.bincount(source, weight, minlength=files)
    share = weight / leaving[source]
    ends = leaving == 0
    ranks = start
    for _ in range(_ROUNDS):
        moved = np.bincount(target, ranks[source] * share, minlength=files)
        # Who stands where nothing leads on starts anew.
        ranks = _GOES_ON * moved + (1 - _GOES_ON + _GOES_ON * float(ranks[ends].sum())) * start
    return ranks


_BESIDE = FileRole.TEST | FileRole.EXAMPLE | FileRole.DOC | FileRole.CONFIG | FileRole.VENDORED | FileRole.GENERATED
# What a file counts that is no code of the project's own, or that only hands on what others define.
_LESS = 0.1
_HANDS_ON = 0.3
# By its name alone a method called `super` is used everywhere. What many use some import, if only to hand it on.
_USERS_FOR_AN_IMPORTER, _USERS_WITHOUT_ONE = 20, 2
_VALUES = frozenset({"constant", "variable"})
# A block that says how a type does something comes along with what is in it.
_SHOWN = (CALLABLES | CLASSES | _VALUES | {"macro", "heading"}) - {"impl"}
_SEEN_THROUGH = frozenset({"module", "namespace"})
# Of one file: no map has room for more.
_MOST_DEFINITIONS = 1_000
# A name that was asked for is worth more than any use.
_ASKED_FOR = 1e9


class Folder(NamedTuple):
    """A folder and how many files are in it, at any depth. `name` goes from the folder around it, which is shown too.

    A folder that holds one other and nothing else is shown as one with it.
    """

    path: str
    name: str
    depth: int
    files: int


class Worth(NamedTuple):
    """What share of 1 files count for one map, and what was asked for in them: (path, dotted name)."""

    of_files: Mapping[str, float]
    asked_for: Collection[tuple[str, str]] = ()


class Offered(NamedTuple):
    """The definitions of a file in the order in which they are shown, and how many there are in all."""

    definitions: list[Definition]
    total: int


class Atlas:
    """One snapshot. What it needs of the whole is read when the first map is drawn."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view

    def prepare(self, graph: Graph, searcher: Searcher) -> Atlas:
        """Read what all maps share; a second call does nothing."""
        if "centrality" not in vars(self):
            self.languages = graph.names.modules.files.languages
            paths = list(self.languages)
            self._beside = dict(zip(paths, (places(PathTable(paths)) & int(_BESIDE)).tolist(), strict=True))
            self._used = searcher.files_used()
            self._uses, self._imported = searcher.names_used(), graph.importers.files_naming()
            self.entry_points = entry_points(self._view, graph.names.modules.files)
            dependencies = graph.dependencies()
            importers = Counter(target for targets in dependencies.values() for target in targets)
            worth = {}
            for path in paths:
                used = self._used.get(path, 0.0)
                if graph.names.modules.traits(path).imports_all_used:
                    used = min(used, max(_USERS_WITHOUT_ONE, _USERS_FOR_AN_IMPORTER * importers[path]))
                worth[path] = self._share(path) * (1 + used)
            self.centrality = Centrality(paths, dependencies, worth)
        return self

    def _share(self, path: str) -> float:
        return _LESS if self._beside[path] else 1.0

    @cached_property
    def usual(self) -> Worth:
        """How much files count when nothing was asked for: code that others lean on before all else."""
        counted = {
            path: rank * self._share(path) * (1.0 if self._used.get(path) else _HANDS_ON)
            for path, rank in self.centrality.ranks().items()
        }
        whole = sum(counted.values())
        return Worth({path: count / whole for path, count in counted.items()})

    def near(self, weights: Mapping[str, float], asked_for: Collection[tuple[str, str]]) -> Worth:
        """How much files count seen from some of them."""
        return Worth(self.centrality.ranks(weights), asked_for)

    def within(self, globs: Sequence[str]) -> Collection[str]:
        """The files that one of these globs takes in, all where there is none; in order."""
        if not globs:
            return self.languages
        paths = list(self.languages)
        return dict.fromkeys(compress(paths, PathTable(paths).matching(glob_pattern(*globs)).tolist()))

    # --- parts of a map, the weightiest first -------------------------------------------------------------------------

    def files(self, worth: Worth, within: Collection[str]) -> list[str]:
        """The files in order of what they are worth, then of their paths."""
        return sorted(within, key=lambda path: (-worth.of_files[path], path))

    def ways_in(self, worth: Worth, within: Collection[str]) -> list[EntryPoint]:
        """The entry points: of the project's own code before tests and examples, the declared ones first."""
        known = [one for one in self.entry_points if one.path in within]

        def order(one: EntryPoint) -> tuple[bool, int, float, EntryPoint]:
            aside = self._beside[one.path] & int(_BESIDE & ~FileRole.CONFIG)
            return bool(aside), WAYS.index(one.way), -worth.of_files[one.path], one

        return sorted(known, key=order)

    def folders(self, worth: Worth, within: Collection[str]) -> list[Folder]:
        """The folders, each after the one around it: those that hold most of what counts, and most files."""
        own = Counter[str]()
        weight: dict[str, float] = {}
        for path in within:
            folder = parent(path)
            own[folder] += 1
            weight[folder] = weight.get(folder, 0.0) + worth.of_files[path] + self._share(path) / len(within)
        files, inner = Counter(own), Counter[str]()
        for folder in _deepest_first(own):
            if folder:
                around = parent(folder)
                files[around] += files[folder]
                weight[around] = weight.get(around, 0.0) + weight[folder]
                inner[around] += 1
        shown = {folder for folder in files if folder and not (inner[folder] == 1 and not own[folder])}
        found = [_folder(folder, shown, files[folder]) for folder in shown]
        return sorted(found, key=lambda one: (-weight[one.path] / 4**one.depth, one.depth, one.path))

    def definitions(self, path: str, worth: Worth) -> Offered:
        """The definitions of a file that others can use, the most used first, each after those around it.

        Of a file that offers none, those at its top.
        """
        symbols = self._view.symbols(path)
        asked = {name for where, name in worth.asked_for if where == path}
        numbers = [number for number, symbol in enumerate(symbols) if _is_offered(symbols, symbol)]
        numbers = numbers or [number for number, symbol in enumerate(symbols) if _is_at_top(symbols, symbol)]
        numbers.sort(key=lambda number: (-self._use(symbols[number], asked), number))
        depths: dict[int, int] = {}
        for number in numbers:
            _put_with_those_around(symbols, number, depths)
        language = self.languages[path]
        shown = islice(depths.items(), _MOST_DEFINITIONS)
        found = [definition_of(path, language, symbols[number], depth=depth) for number, depth in shown]
        return Offered(found, len(depths))

    def _use(self, symbol: Symbol, asked: Collection[str]) -> float:
        dotted = f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name
        imported = 0 if symbol.container else self._imported.get(symbol.name, 0)
        # Of values only calls of their members are known, and many are called `x`: who imports one means it.
        uses = 0.0 if symbol.kind in _VALUES else self._uses.get(symbol.name, 0.0)
        return uses + imported + (_ASKED_FOR if dotted in asked else 0)


def _deepest_first(folders: Collection[str]) -> list[str]:
    every = set(folders)
    for folder in folders:
        while folder and (folder := parent(folder)) not in every:
            every.add(folder)
    return sorted(every, key=lambda folder: (-folder.count("/") - bool(folder), folder))


def _folder(path: str, shown: Collection[str], files: int) -> Folder:
    depth, around = 0, ""
    folder = parent(path)
    while folder:
        if folder in shown:
            depth, around = depth + 1, around or folder
        folder = parent(folder)
    return Folder(path, path.removeprefix(f"{around}/") if around else path, depth, files)


def _is_offered(symbols: list[Symbol], symbol: Symbol) -> bool:
    return symbol.exported and symbol.kind in _SHOWN and not _is_inside(symbols, symbol)


def _is_at_top(symbols: list[Symbol], symbol: Symbol) -> bool:
    return symbol.kind in _SHOWN and (symbol.parent < 0 or symbols[symbol.parent].kind in _SEEN_THROUGH)


def _is_inside(symbols: list[Symbol], symbol: Symbol) -> bool:
    """Whether nobody else can name it: a function is around it, or it is what a type means in one such block."""
    around = symbols[symbol.parent].kind if symbol.parent >= 0 else ""
    return around in CALLABLES or (around == "impl" and symbol.kind == "type")


def _put_with_those_around(symbols: list[Symbol], number: int, depths: dict[int, int]) -> None:
    """Add a definition after those around it; not packages and namespaces, which the path says already."""
    fresh = []
    while number >= 0 and number not in depths:
        if symbols[number].kind not in _SEEN_THROUGH:
            fresh.append(number)
        number = symbols[number].parent
    first = depths[number] + 1 if number >= 0 else 0
    depths.update((each, depth) for depth, each in enumerate(reversed(fresh), first))
