"""The values of a search: the request, and the results of every mode."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.limits import DEFAULT_RESULTS, MAX_CONTEXT_LINES, MAX_RESULTS
from cairn.core.options import Number
from cairn.core.types import Symbol
from cairn.errors import InvalidQuery

RESULTS = Number(1, MAX_RESULTS, "number of results")
CONTEXT_LINES = Number(0, MAX_CONTEXT_LINES, "number of context lines")
RESULT_TOKENS = Number(1, None, "number of tokens")


class Mode(StrEnum):
    """How a search matches. `symbol`, `regex` and `path` are exhaustive: what they do not find is not there."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    LEXICAL = "lexical"
    SYMBOL = "symbol"
    REGEX = "regex"
    PATH = "path"

    @property
    def is_exhaustive(self) -> bool:
        return self in (Mode.SYMBOL, Mode.REGEX, Mode.PATH)


class Group(StrEnum):
    """What a result is: a file, a definition, or every place that matches.

    In the mode `regex` results are files, or, for both other groups, lines.
    """

    FILE = "file"
    SYMBOL = "symbol"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request.

    `below` are the folders or files of the codebase to search; `without` names signals to leave out; `offset` counts
    the results on the pages before. With `extracts` each hit has its definition, and the lines of it that answer.
    Raises `InvalidQuery` when a number is out of its range.
    """

    query: str
    mode: Mode = Mode.HYBRID
    limit: int = DEFAULT_RESULTS
    languages: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    scope: str | None = None
    below: tuple[str, ...] = ()
    context: int = 0
    max_tokens: int | None = None
    group: Group = Group.FILE
    without: frozenset[str] = frozenset()
    explain: bool = False
    offset: int = 0
    extracts: bool = False

    def __post_init__(self) -> None:
        RESULTS.checked(self.limit, InvalidQuery)
        CONTEXT_LINES.checked(self.context, InvalidQuery)
        if self.max_tokens is not None:
            RESULT_TOKENS.checked(self.max_tokens, InvalidQuery)


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result: a few lines of a file.

    Attributes:
        path: The file, relative to the root.
        start_line: The first line of `text`, counted from 1.
        end_line: The last line of `text`.
        language: The language of the file.
        kind: The kind of the definition or of the chunk that was found, such as `function`.
        symbol: The name of the definition around the result; empty outside of all definitions.
        score: How well the result fits. Scores of different queries cannot be compared.
        text: The lines as the repository holds them.
        match_lines: The lines that match; in regex mode all in the file, shown or not, up to a hundred.
        file_hash: The SHA-256 of the file as it was indexed.
        layer: Who knows the result: `syntactic` or `semantic`.
        reasons: The parts of the score by name, when they were asked for.
        marks: Where the words of the query stand in the shown lines.
        extracts: The lines that answer, wherever they are in the definition or the file, when they were asked for.
        definition: The first and the last line of the definition around the result, and its signature; asked for so.
        lines_left: How many lines of the file match besides those in `match_lines`.
    """

    path: str
    start_line: int
    end_line: int
    language: str
    kind: str
    symbol: str
    score: float
    text: str
    match_lines: tuple[int, ...]
    file_hash: str
    layer: str = "syntactic"
    reasons: tuple[tuple[str, float], ...] = ()
    marks: tuple[Mark, ...] = ()
    extracts: tuple[Extract, ...] = ()
    definition: tuple[int, int, str] | None = None
    lines_left: int = 0

    @property
    def shown(self) -> str:
        """What is read of the hit: its text, or of one with extracts those alone."""
        if not self.extracts and self.definition is None:
            return self.text
        return "\n".join([self.definition[2] if self.definition else "", *(one.text for one in self.extracts)])


@dataclass(frozen=True, slots=True)
class Found:
    """One page of an answer: `hits` begin at `offset` of `total` results; `files` files of the snapshot were searched.

    `shortened` says that the only hit does not show all its lines, and `by_words_alone` that the model did not answer.
    """

    hits: tuple[Hit, ...]
    total: int
    offset: int
    files: int
    exhaustive: bool
    shortened: bool = False
    by_words_alone: bool = False


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """The lines of a chunk of a file."""

    path: str
    start_line: int
    end_line: int


# --- Results of the exhaustive modes, in an order that depends on the snapshot and the request alone.


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was searched. `skipped` counts the files of the tree that are not in the index, by reason."""

    files: int
    bytes: int
    skipped: tuple[tuple[str, int], ...]
    exhaustive: bool = True


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line on which at least one match begins.

    `column`, `end_line` and `end_column` are those of the first match; columns count bytes from 0, and a match over
    several lines has a later `end_line`. `text` is the line, or the part of a long line around the first match; `marks`
    are the matches in `text`, in characters. `matches` counts all matches that begin on the line.
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
    """The counts of all matches, and the shown lines from `offset` on, in order of path and place.

    `more` says that there are lines after the last shown one.
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
    """A path that matches, the way in which it matches, and its score."""

    path: str
    language: str
    way: str
    score: int


@dataclass(frozen=True, slots=True)
class PathsFound:
    """The best paths that match, and how many match."""

    paths: tuple[PathMatch, ...]
    total: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A definition whose name matches, and the way in which it matches."""

    path: str
    language: str
    symbol: Symbol
    way: str


@dataclass(frozen=True, slots=True)
class SymbolsFound:
    """The best definitions that match, and how many match."""

    symbols: tuple[SymbolMatch, ...]
    total: int
    coverage: Coverage


class Extract(NamedTuple):
    """Some lines that follow each other; what stands between one extract and the next is left out."""

    start_line: int
    text: str


class Mark(NamedTuple):
    """A word of the query in a snippet: its line, and its start and end in that line of the text, in characters."""

    line: int
    start: int
    end: int
