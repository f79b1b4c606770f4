"""Rank the files, folders, entry points and definitions of one snapshot for repository maps.

An `Atlas` is made once for a snapshot, and every map of the snapshot is drawn from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import compress, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.core.types import Symbol
from cairn.graph.entry_points import WAYS, EntryPoint, entry_points
from cairn.graph.facts import CALLABLES, CLASSES
from cairn.graph.outline import Definition, definition_of
from cairn.graph.references import Graph
from cairn.search.places import FileRole, PathTable, glob_pattern, places
from cairn.search.searcher import Searcher
from cairn.store import SnapshotView
from cairn.syntax.resolver import parent

# --- Which files matter most: files that are imported by files that matter (PageRank).


_ROUNDS = 16
# The share of steps in which the random walk follows an import instead of starting anew. With a greater share all walks
# end in the same few helpers that import nothing, and these would come before the code that the project is about.
_GOES_ON = 0.4
# The weight of a step from a file back to a file that imports it, which a change of the file may break. Such steps are
# taken only when somebody asks about certain files.
_BACKWARDS = 0.3
# The share of the worth that files have however far they are from the files that were asked about, so that a map of a
# few files still fills its budget.
_ELSEWHERE = 0.1
# Ranks are rounded to so many digits, because processors add in different orders.
_DIGITS = 12

Weights = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Centrality:
    """The files of a snapshot and the imports between them. `worth` is how much each file counts by itself."""

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
        """For every file, how many other files import it."""

    def ranks(self, near: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the worth of each file; all together are 1.

        With `near` files count by how close they are to these weighted files.
        """
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
    """Return the weights as shares of 1; equal shares when all weights are 0."""
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
        # A walk that reaches a file without imports starts anew.
        ranks = _GOES_ON * moved + (1 - _GOES_ON + _GOES_ON * float(ranks[ends].sum())) * start
    return ranks


_BESIDE = FileRole.TEST | FileRole.EXAMPLE | FileRole.DOC | FileRole.CONFIG | FileRole.VENDORED | FileRole.GENERATED
# The weight of a file that is not the project's own code (a test, an example, a document), and the weight of a file
# whose definitions nobody uses, such as one that only re-exports.
_LESS = 0.1
_HANDS_ON = 0.3
# Uses are counted by name, so a file that defines a method `get` seems to be used everywhere. A file that is really
# used is also imported, so the count of its uses is limited by the number of its importers.
_USERS_FOR_AN_IMPORTER, _USERS_WITHOUT_ONE = 20, 2
_VALUES = frozenset({"constant", "variable"})
# An `impl` block is not shown by itself; it appears around the definitions inside it.
_SHOWN = (CALLABLES | CLASSES | _VALUES | {"macro", "heading"}) - {"impl"}
_SEEN_THROUGH = frozenset({"module", "namespace"})
# The most definitions of one file: no map has room for more.
_MOST_DEFINITIONS = 1_000
# A definition that was asked for comes before any definition that is only used.
_ASKED_FOR = 1e9


class Folder(NamedTuple):
    """A folder and how many files are in it, at any depth. `name` is the path below the nearest shown folder around it.

    A folder that contains only one other folder is shown together with it, as one.
    """

    path: str
    name: str
    depth: int
    files: int


class Worth(NamedTuple):
    """The worth of each file for one map, as a share of 1, and the definitions asked for, as (path, dotted name)."""

    of_files: Mapping[str, float]
    asked_for: Collection[tuple[str, str]] = ()


class Offered(NamedTuple):
    """The definitions of a file, most important first, and how many there are in all."""

    definitions: list[Definition]
    total: int


class Atlas:
    """The ranked contents of one snapshot, read when the first map is drawn."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view

    def prepare(self, graph: Graph, searcher: Searcher) -> Atlas:
        """Read what all maps of the snapshot share; a second call does nothing."""
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
        """The worth of files when no file was asked for: code that other files depend on comes first."""
        counted = {
            path: rank * self._share(path) * (1.0 if self._used.get(path) else _HANDS_ON)
            for path, rank in self.centrality.ranks().items()
        }
        whole = sum(counted.values())
        return Worth({path: count / whole for path, count in counted.items()})

    def near(self, weights: Mapping[str, float], asked_for: Collection[tuple[str, str]]) -> Worth:
        """Return the worth of files by how close they are to the weighted files."""
        return Worth(self.centrality.ranks(weights), asked_for)

    def within(self, globs: Sequence[str]) -> Collection[str]:
        """Return the files that match one of these globs, in order; every file when there are no globs."""
        if not globs:
            return self.languages
        paths = list(self.languages)
        return dict.fromkeys(compress(paths, PathTable(paths).matching(glob_pattern(*globs)).tolist()))

    # --- the parts of a map, most important first ---------------------------------------------------------------------

    def files(self, worth: Worth, within: Collection[str]) -> list[str]:
        """Return the files, the greatest worth first, then by path."""
        return sorted(within, key=lambda path: (-worth.of_files[path], path))

    def ways_in(self, worth: Worth, within: Collection[str]) -> list[EntryPoint]:
        """Return the entry points: those of the project's own code before tests and examples, declared ones first."""
        known = [one for one in self.entry_points if one.path in within]

        def order(one: EntryPoint) -> tuple[bool, int, float, EntryPoint]:
            aside = self._beside[one.path] & int(_BESIDE & ~FileRole.CONFIG)
            return bool(aside), WAYS.index(one.way), -worth.of_files[one.path], one

        return sorted(known, key=order)

    def folders(self, worth: Worth, within: Collection[str]) -> list[Folder]:
        """Return the folders, each after the folder around it; folders with more files and more worth come first."""
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
        """Return the exported definitions of a file, most used first, each after the definitions around it.

        For a file that exports none, return the definitions at its top.
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
        # Reads of a constant or variable are not indexed, and its name may be as common as `x`: only imports count.
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
    """Whether other code cannot name a definition: it is inside a function, or it is a type inside an `impl` block."""
    around = symbols[symbol.parent].kind if symbol.parent >= 0 else ""
    return around in CALLABLES or (around == "impl" and symbol.kind == "type")


def _put_with_those_around(symbols: list[Symbol], number: int, depths: dict[int, int]) -> None:
    """Add a definition after the definitions around it; modules and namespaces are left out, as the path shows them."""
    fresh = []
    while number >= 0 and number not in depths:
        if symbols[number].kind not in _SEEN_THROUGH:
            fresh.append(number)
        number = symbols[number].parent
    first = depths[number] + 1 if number >= 0 else 0
    depths.update((each, depth) for depth, each in enumerate(reversed(fresh), first))
