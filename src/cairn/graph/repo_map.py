"""Draw a map of a codebase that fits in a number of tokens: languages, folders, entry points and important files.

All lines that could be shown are put in one order that does not depend on the budget, and a map shows the first lines
of that order. So a map is never above its budget, and a larger map shows everything that a smaller one shows.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cairn.graph.atlas import Atlas, Folder, Offered, Worth
from cairn.graph.cycles import CycleStep, ImportCycle
from cairn.graph.entry_points import EntryKind, EntryPoint
from cairn.graph.outline import Definition
from cairn.search.budget import UNITS, token_units

_MOST_LANGUAGES = 8
_MOST_NAME, _MOST_SIGNATURE = 200, 120
# The size of a map as JSON; the rest of the answer needs room too.
_MOST_BYTES = 40 * 1024
# How soon the next definition of a file comes before the next file: see `_turn`.
_FILE_HEAD, _DEFINITION_HEAD = 4, 2
# The shares of the budget for folders, entry points and files; what one part does not need, the others get.
_SHARES = (0.12, 0.08, 0.80)
_AS_MUCH_AS_POSSIBLE = 9_999_999
_SAID = {
    EntryKind.COMMAND: "command",
    EntryKind.LIBRARY: "main file of",
    EntryKind.MODULE: "python -m",
    EntryKind.MAIN: "main function",
    EntryKind.SCRIPT: "run as a script",
}

# A signature that was written on several lines has blanks after its opening parenthesis.
_OPENING = re.compile(r"\(\s+")

Written = Callable[[str, int], str]
"""A function that makes text of the repository printable on one line, cut to a number of characters."""


@dataclass(frozen=True, slots=True)
class MapFile:
    """A file of a map: its worth as a share of 1, how many files import it, and its definitions in order."""

    path: str
    language: str
    worth: float
    importers: int
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class RepoMap:
    """An overview of a codebase that fits in a number of tokens. What matters most comes first.

    Attributes:
        text: The map as text, ready for a person or a model to read.
        tokens: The estimated size of `text` in tokens, never above `max_tokens`.
        max_tokens: The limit that was asked for.
        total_files: How many files the snapshot has.
        languages: Each language with its number of files.
        folders: The folders in the map.
        entry_points: Where programs begin.
        files: The files in the map with their definitions.
        folders_left: How many folders did not fit.
        entry_points_left: How many entry points did not fit.
        files_left: How many files did not fit.
        definitions_left: How many definitions of the files in the map did not fit.
        cycles: The cycles of imports in the map, where these were asked for instead of the files.
        cycles_left: How many cycles did not fit.
    """

    text: str
    tokens: int
    max_tokens: int
    total_files: int
    languages: tuple[tuple[str, int], ...]
    folders: tuple[Folder, ...]
    entry_points: tuple[EntryPoint, ...]
    files: tuple[MapFile, ...]
    folders_left: int
    entry_points_left: int
    files_left: int
    definitions_left: int
    cycles: tuple[ImportCycle, ...] = ()
    cycles_left: int = 0

    @property
    def definitions_shown(self) -> int:
        """How many definitions are in the map."""
        return sum(len(one.definitions) for one in self.files)


class _Left(NamedTuple):
    folders: int
    entry_points: int
    files: int
    definitions: int


class _Item(NamedTuple):
    """A line of a map that is shown or left out. `place` is its position in the text; the first number is its part."""

    place: tuple[int, *tuple[object, ...]]
    line: str
    value: Folder | EntryPoint | Definition | str


_IN_FOLDERS, _IN_WAYS, _IN_FILES = range(3)
_TITLES = ("Folders (files in each)", "Entry points", "Files, the weightiest first (imported by so many)")


def draw_cycles(
    cycles: Sequence[ImportCycle], atlas: Atlas, within: Collection[str], *, max_tokens: int, written: Written
) -> RepoMap:
    """Return the cycles of imports between the files `within` a snapshot, the shortest first, as a map of them."""
    paths = atlas.files(atlas.usual, within)
    kinds = Counter(atlas.languages[path] for path in paths)
    languages = tuple(sorted(kinds.items(), key=lambda one: (-one[1], one[0])))
    inside = len({step.path for cycle in cycles for step in cycle.steps})
    if cycles:
        head = f"{_many(len(cycles), 'cycle')} of imports, through {inside:,} of {_many(len(paths), 'file')}\n"
    else:
        head = f"No cycle of imports between {_many(len(paths), 'file')}, as far as imports can be followed.\n"
    text, shown, units = head, 0, token_units(head)
    for cycle in cycles:
        knot = f", of {cycle.knot:,} that all reach each other" if cycle.knot > len(cycle.steps) else ""
        lines = [f"\n{len(cycle.steps):,} files{knot}\n"]
        lines += [_step_line(step, written) for step in cycle.steps]
        more = "".join(lines)
        units += token_units(more)
        if -(-units // UNITS) > max_tokens or len(text) + len(more) > _MOST_BYTES:
            break
        text, shown = text + more, shown + 1
    tokens = -(-token_units(text) // UNITS)
    left = len(cycles) - shown
    return RepoMap(text, tokens, max_tokens, len(paths), languages, (), (), (), 0, 0, 0, 0, tuple(cycles[:shown]), left)


def _step_line(step: CycleStep, written: Written) -> str:
    lazily = f"  (inside {written(step.inside, _MOST_NAME)})" if step.inside else ""
    return f"  {written(step.path, _MOST_NAME)}:{step.line}  {written(step.text.strip(), _MOST_SIGNATURE)}{lazily}\n"


def draw_map(atlas: Atlas, worth: Worth, *, max_tokens: int, within: Collection[str], written: Written) -> RepoMap:
    """Return the map of the files `within` a snapshot."""
    paths = atlas.files(worth, within)
    folders, ways_in = atlas.folders(worth, within), atlas.ways_in(worth, within)
    kinds = Counter(atlas.languages[path] for path in paths)
    languages = tuple(sorted(kinds.items(), key=lambda one: (-one[1], one[0])))
    head = _head(len(paths), len(folders), languages)
    files = _Files(atlas, worth, paths, written)
    queues = (_of_folders(folders, written), _of_ways_in(ways_in, written), files.items())
    taken = _fitting(_woven(queues), head, max_tokens)
    drawn = files.drawn(taken)
    folders_shown = tuple(one.value for one in taken if isinstance(one.value, Folder))
    ways_shown = tuple(one.value for one in taken if isinstance(one.value, EntryPoint))
    left = _Left(
        len(folders) - len(folders_shown),
        len(ways_in) - len(ways_shown),
        len(paths) - len(drawn),
        sum(files.offered(one.path).total - len(one.definitions) for one in drawn),
    )
    text = _text(head, taken, left)
    tokens = -(-token_units(text) // UNITS)
    return RepoMap(text, tokens, max_tokens, len(paths), languages, folders_shown, ways_shown, drawn, *left)


# --- the lines that could be shown, in order of importance ------------------------------------------------------------


def _of_folders(folders: list[Folder], written: Written) -> Iterator[_Item]:
    for one in folders:
        line = f"{'  ' * one.depth}{written(one.name, _MOST_NAME)}/ {one.files:,}"
        yield _Item((_IN_FOLDERS, one.path.split("/")), line, one)


def _of_ways_in(ways_in: list[EntryPoint], written: Written) -> Iterator[_Item]:
    for number, one in enumerate(ways_in):
        where = written(one.path, _MOST_NAME) + (f":{one.line}" if one.line else "")
        name = written(one.name, _MOST_NAME)
        yield _Item((_IN_WAYS, number), f"{where} {_SAID[one.way]}{' ' if name else ''}{name}", one)


class _Files:
    """The files of a map and their definitions, read only as far as there is room for them."""

    def __init__(self, atlas: Atlas, worth: Worth, paths: list[str], written: Written) -> None:
        self._atlas, self._worth, self._paths, self._written = atlas, worth, paths, written
        self._offered: dict[str, Offered] = {}

    def offered(self, path: str) -> Offered:
        """Return the definitions of a file, read once."""
        if path not in self._offered:
            self._offered[path] = self._atlas.definitions(path, self._worth)
        return self._offered[path]

    def items(self) -> Iterator[_Item]:
        """Yield files and definitions mixed: the less important a file, the fewer of its definitions come along."""
        waiting = [(0, 0, 0)] if self._paths else []
        while waiting:
            _, rank, number = heapq.heappop(waiting)
            path = self._paths[rank]
            if number == 0:
                importers = self._atlas.centrality.importers[path]
                line = self._written(path, _MOST_NAME) + (f" ({importers:,})" if importers else "")
                yield _Item((_IN_FILES, rank, -1), line, path)
                if rank + 1 < len(self._paths):
                    heapq.heappush(waiting, (_turn(rank + 1, 0), rank + 1, 0))
            else:
                one = self.offered(path).definitions[number - 1]
                line = f"{'  ' * (one.depth + 1)}{one.start_line}: {self._signature(one)}"
                yield _Item((_IN_FILES, rank, one.start_byte, one.depth), line, one)
            if number < len(self.offered(path).definitions):
                heapq.heappush(waiting, (_turn(rank, number + 1), rank, number + 1))

    def _signature(self, one: Definition) -> str:
        return self._written(_OPENING.sub("(", one.signature or one.name), _MOST_SIGNATURE)

    def drawn(self, taken: list[_Item]) -> tuple[MapFile, ...]:
        """Return the shown files, the most important first, each with its shown definitions in order of line."""
        inside: dict[str, list[Definition]] = {one.value: [] for one in taken if isinstance(one.value, str)}
        for one in sorted(taken, key=lambda item: item.place):
            if isinstance(one.value, Definition):
                inside[one.value.path].append(one.value)
        languages, importers = self._atlas.languages, self._atlas.centrality.importers
        worth = self._worth.of_files
        return tuple(
            MapFile(path, languages[path], worth[path], importers[path], tuple(found)) for path, found in inside.items()
        )


def _turn(rank: int, number: int) -> int:
    return (rank + _FILE_HEAD) * (number + _DEFINITION_HEAD)


# --- how many of the lines fit ----------------------------------------------------------------------------------------


def _woven(queues: Sequence[Iterator[_Item]]) -> Iterator[_Item]:
    """Yield the items of all parts in one order, in which each part always has about its share of the budget."""
    spent = [(0.0, part) for part in range(len(queues))]
    while spent:
        used, part = heapq.heappop(spent)
        item = next(queues[part], None)
        if item is not None:
            yield item
            heapq.heappush(spent, (used + token_units(item.line) / _SHARES[part], part))


def _fitting(items: Iterator[_Item], head: str, max_tokens: int) -> list[_Item]:
    """Return the first items that fit, together with the titles of their parts and the sentence on what is left out."""
    everything = _Left(*[_AS_MUCH_AS_POSSIBLE] * 4)
    units = max_tokens * UNITS - token_units(head) - token_units(_end(everything))
    room = _MOST_BYTES
    taken: list[_Item] = []
    opened: set[int] = set()
    for item in items:
        part = item.place[0]
        added = item.line + "\n" + ("" if part in opened else f"\n{_TITLES[part]}\n")
        units -= token_units(added)
        room -= len(added.encode()) + sum(map(added.count, '"\\\n'))
        if units < 0 or room < 0:
            break
        opened.add(part)
        taken.append(item)
    return taken


# --- how a map is written ---------------------------------------------------------------------------------------------


def _head(files: int, folders: int, languages: tuple[tuple[str, int], ...]) -> str:
    named = [f"{count:,} {language}" for language, count in languages[:_MOST_LANGUAGES]]
    others = sum(count for _, count in languages[_MOST_LANGUAGES:])
    named += [f"{others:,} others"] if others else []
    return f"{_many(files, 'file')}, {_many(folders, 'folder')}{': ' if named else ''}{', '.join(named)}\n"


def _text(head: str, taken: list[_Item], left: _Left) -> str:
    lines = [head]
    opened: set[int] = set()
    for item in sorted(taken, key=lambda item: item.place):
        part = item.place[0]
        if part not in opened:
            opened.add(part)
            lines.append(f"\n{_TITLES[part]}\n")
        lines.append(f"{item.line}\n")
    return "".join(lines) + _end(left)


def _end(left: _Left) -> str:
    named = ("folder", "entry point", "file", "definition of these files")
    said = [_many(count, what) for count, what in zip(left, named, strict=True) if count]
    return f"\nLeft out: {', '.join(said)}.\n" if said else ""


def _many(count: int, what: str) -> str:
    first, _, rest = what.partition(" of ")
    return f"{count:,} {first}{'' if count == 1 else 's'}{' of ' if rest else ''}{rest}"
