"""Find every match of a text or a regex: all matches are counted, lines are shown in order of path and place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_SHOWN_LINE_CHARS, QUERY_TIMEOUT_MS
from cairn.engine.scan import LineSpans, Texts, Wanted
from cairn.errors import QueryTimeout
from cairn.search.types import Coverage, ExactFound, FileMatches, LineMatch

Within = Callable[[str, str], bool]
"""A function that says by path and language whether a file is searched."""

_BEFORE_CHARS = MAX_SHOWN_LINE_CHARS // 3
_MAX_CHARACTER_BYTES = 4


def deadline(
    files: int, seconds: float = QUERY_TIMEOUT_MS / 1_000, clock: Clock = SYSTEM_CLOCK
) -> Callable[[int], None]:
    """Return a function that raises `QueryTimeout` once so many seconds have passed.

    Call the function with the number of files that are done.
    """
    started = clock.monotonic()

    def tick(done: int) -> None:
        if clock.monotonic() - started > seconds:
            raise QueryTimeout(seconds=f"{seconds:g}", done=done, files=files)

    return tick


def exact(
    texts: Texts,
    wanted: Wanted,
    *,
    within: Within | None = None,
    limit: int = 100,
    offset: int = 0,
    lines_per_file: int | None = None,
    seconds: float = QUERY_TIMEOUT_MS / 1_000,
    clock: Clock = SYSTEM_CLOCK,
) -> ExactFound:
    """Return the exact number of matches in the chosen files, and `limit` matching lines from `offset` on.

    A line matches when a match begins on it. The answer is complete, or `QueryTimeout` is raised. With
    `lines_per_file`, `limit` and `offset` count files, and at most so many lines of each file are shown.
    """
    tick = deadline(len(texts), seconds, clock)
    chosen = chosen_files(texts, within)
    files = int(chosen.sum())
    tally = texts.tally(wanted, chosen, tick)
    matching = np.flatnonzero(tally.matches)
    units = tally.lines[matching] if lines_per_file is None else np.ones(len(matching), np.int64)
    before = np.concatenate(([0], np.cumsum(units)))
    shown = []
    for index in np.flatnonzero((before[1:] > offset) & (before[:-1] < offset + limit)).tolist():
        tick(files)
        place = int(matching[index])
        first, after = max(0, offset - int(before[index])), offset + limit - int(before[index])
        lines = islice(texts.lines(wanted, place), *((first, after) if lines_per_file is None else (lines_per_file,)))
        text, path = texts.text(place), texts.paths[place]
        found = tuple(_line_match(path, text, line) for line in lines)
        shown.append(FileMatches(path, int(tally.matches[place]), int(tally.lines[place]), found))
    return ExactFound(
        files=tuple(shown),
        matches=int(tally.matches.sum()),
        matching_lines=int(tally.lines.sum()),
        matching_files=len(matching),
        offset=offset,
        more=int(before[-1]) > offset + limit,
        coverage=coverage_of(texts, chosen),
    )


def chosen_files(texts: Texts, within: Within | None) -> NDArray[np.bool_]:
    """Return for each file whether it is searched."""
    if within is None:
        return np.ones(len(texts), np.bool_)
    return np.fromiter(map(within, texts.paths, texts.languages), np.bool_, len(texts))


def coverage_of(texts: Texts, chosen: NDArray[np.bool_]) -> Coverage:
    """Return what part of the tree an answer from the chosen files covers."""
    return Coverage(int(chosen.sum()), int(texts.sizes[chosen].sum()), texts.view.manifest.skipped)


def _line_match(path: str, text: memoryview, line: LineSpans) -> LineMatch:
    start, end = line.spans[0]
    over = bytes(text[start:end]).count(b"\n")
    ends_at = end - (bytes(text[start:end]).rfind(b"\n") + 1 + start if over else line.start)
    # A hostile line has megabytes, so only the bytes that can be shown are read.
    first = max(line.start, start - _MAX_CHARACTER_BYTES * _BEFORE_CHARS)
    lead = bytes(text[first:start]).decode("utf-8", "ignore")[-_BEFORE_CHARS:]
    first = start - len(lead.encode())
    rest = bytes(text[start : min(line.end, start + _MAX_CHARACTER_BYTES * MAX_SHOWN_LINE_CHARS)])
    shown = (lead + rest.decode("utf-8", "ignore"))[:MAX_SHOWN_LINE_CHARS]
    last = first + len(shown.encode())
    marks = tuple(
        (_characters(text, first, here), _characters(text, first, min(there, last)))
        for here, there in line.spans
        if here < last or here == there == last
    )
    return LineMatch(
        path=path,
        line=line.number,
        column=start - line.start,
        end_line=line.number + over,
        end_column=ends_at,
        text=shown,
        marks=marks,
        matches=len(line.spans),
    )


def _characters(text: memoryview, first: int, offset: int) -> int:
    return len(bytes(text[first:offset]).decode())
