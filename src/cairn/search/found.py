"""What the exhaustive modes find: plain values, in an order that depends on the snapshot and the question alone."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.core.types import Symbol


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at: all of it. `skipped` counts the files of the tree that are not in the index, by reason."""

    files: int
    bytes: int
    skipped: tuple[tuple[str, int], ...]
    exhaustive: bool = True


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line on which at least one match begins; columns count bytes from 0, and the first match is the one named.

    `text` is the line, cut to what is around the first match when it is long; `marks` are the matches in that text, in
    characters. `matches` counts all that begin on the line. A match that goes over line ends has a later `end_line`.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    marks: tuple[tuple[int, int], ...]
    matches: int


@dataclass(frozen=True, slots=True)
class FileMatches:
    """A file with matches: how many, on how many lines, and the lines that are shown."""

    path: str
    matches: int
    matching_lines: int
    lines: tuple[LineMatch, ...]


@dataclass(frozen=True, slots=True)
class ExactFound:
    """Every match, counted; shown are the lines from `offset` on, files in order of their paths.

    `more` says that there are lines after the last one shown.
    """

    files: tuple[FileMatches, ...]
    matches: int
    matching_lines: int
    matching_files: int
    offset: int
    more: bool
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A path that fits, in which way, and how well."""

    path: str
    language: str
    way: str
    score: int


@dataclass(frozen=True, slots=True)
class PathsFound:
    """The best of all paths that fit, and how many there are."""

    paths: tuple[PathMatch, ...]
    total: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A definition whose name fits, and in which way."""

    path: str
    language: str
    symbol: Symbol
    way: str


@dataclass(frozen=True, slots=True)
class SymbolsFound:
    """The best of all definitions that fit, and how many there are."""

    symbols: tuple[SymbolMatch, ...]
    total: int
    coverage: Coverage
