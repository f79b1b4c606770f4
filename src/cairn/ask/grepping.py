"""Find every line that a pattern matches, in all files as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from cairn.ask.session import Session
from cairn.ask.values import Reply
from cairn.core.limits import SYNC_BEFORE_SEARCH_SECONDS
from cairn.search.grep import GrepFile, GrepRequest


@dataclass(frozen=True, slots=True)
class Grepped:
    """The files with lines that are asked for, found one after the other while they are taken.

    `searched` is how many files are looked at, and `unknown` are the paths that were named and of which no file is in
    the index.
    """

    files: Iterator[GrepFile]
    searched: int
    unknown: tuple[str, ...]


class Totals(NamedTuple):
    """How many files have a line that was asked for, and how many such lines there are."""

    files: int
    lines: int


def wait_for_files(session: Session, seconds: float = SYNC_BEFORE_SEARCH_SECONDS) -> None:
    """Compare the files with the index where the step before could not bring it up to date; what differs is read."""
    opened = session.opened()
    if opened is not None and not opened[1].freshness.is_current:
        began = session.now()
        session.compare(began, began + seconds)


def matching_lines(session: Session, request: GrepRequest) -> Reply[Grepped]:
    """Return every line that a pattern matches, file by file; nothing is ranked and nothing left out.

    What is told is read from the open snapshot while it is taken, so that the session must stay open for so long.
    """
    request = replace(request, below=session.target.below)
    opened = session.opened()
    if opened is None:
        return Reply(session.target.asked, session.root, session.gate)
    searcher, source = opened
    searched, unknown, files = searcher.grep(request)
    return Reply(session.target.asked, session.root, session.gate, source, Grepped(files, searched, unknown))
