"""Define what a place that holds the rows of published segments can be asked, and what it promises.

A row is a chunk of a file, named by its segment and its number there. A place holds the rows of many segments at once,
also of snapshots that are not published yet and of snapshots that nobody reads any more; so every search names its
scope. Answers are candidates: `search/` decides what comes first, from the facts of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cairn.store import Completion

Vector = NDArray[np.float32]


class Near(NamedTuple):
    """A row that was found, and its score."""

    segment: str
    row: int
    score: float


class Row(NamedTuple):
    """A row as it is sent: the number and path of its file, its vector, and the weight of each of its terms."""

    row: int
    file: int
    path: str
    vector: Vector
    terms: Mapping[int, float]


class Held(NamedTuple):
    """A row as it is held, without its vector and terms."""

    segment: str
    row: int
    file: int
    path: str


class Receipt(NamedTuple):
    """The proof that a segment was put whole: the counts of rows and pieces, the digests of rows and sealed files.

    `pieces` is the number of parts into which the sealed files were cut.
    """

    segment: str
    rows: int
    pieces: int
    rows_sha256: str
    sealed_sha256: str


class SealedFile(NamedTuple):
    """A file of a sealed segment. Its bytes may lie in a map, and are valid only while the map is open."""

    name: str
    data: memoryview


class SealedSegment(Protocol):
    """A sealed segment that is to be put somewhere."""

    @property
    def name(self) -> str: ...

    @property
    def sealed_sha256(self) -> str: ...

    @property
    def rows_sha256(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def files(self) -> Sequence[SealedFile]: ...

    def read(self) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class RowScope:
    """The rows that count: those of these segments, without the hidden files, which are given by their numbers."""

    segments: tuple[str, ...]
    hidden: Mapping[str, tuple[int, ...]]


class RowSearch(Protocol):
    """What a reader asks. `EngineDamaged` when a segment of the scope is not there whole: then nothing is answered."""

    def search_dense(self, vector: Vector, scope: RowScope, limit: int) -> list[Near]:
        """Return the rows with the nearest vectors, best first; equal scores in order of segment and row."""

    def search_lexical(self, weights: Mapping[int, float], scope: RowScope, limit: int) -> list[Near]:
        """Return the rows that fit these terms best, best first; a row without any of the terms is left out."""

    def fetch_rows(self, segment: str, rows: Sequence[int]) -> list[Held]:
        """Return these rows of a segment, in order; a missing row is left out."""


class RowHome(RowSearch, Protocol):
    """What a writer asks in addition. Every call is carried out as a whole or raises an `EngineError`."""

    def ping(self) -> str:
        """Return the name and version of the server."""

    def put_segment(self, sealed: SealedSegment) -> Receipt:
        """Put the segment so that it lasts, whatever happens to the server. Putting it twice has the same effect."""

    def receipts(self, *, counted: bool = False) -> dict[str, Receipt]:
        """Return the receipt of every segment that was put whole; `counted` also checks that all of it is there."""

    def orphans(self) -> set[str]:
        """Return the segments that have rows or pieces but no receipt."""

    def sealed_files(self, segment: str) -> Iterator[tuple[str, int, bytes]]:
        """Yield the files of a segment in pieces: name, offset in the file, bytes."""

    def drop_segment(self, segment: str) -> None:
        """Remove everything of the segment."""

    def put_marker(self, marker: Completion, manifest: bytes, others: Mapping[str, bytes]) -> None:
        """Put the marker of a completed run, with its manifest and the small files that the manifest names."""

    def get_marker(self, run: str) -> Completion | None:
        """Return the marker of a run; None when the server says there is none. `EngineDamaged` for a bad marker."""

    def snapshot(self, run: str) -> tuple[bytes, dict[str, bytes]]:
        """Return the manifest of a run, and the small files that came with it."""

    def runs(self, *, marked: bool = True) -> list[str]:
        """Return the runs that have a marker, oldest first; without `marked`, all runs of which anything is there."""

    def clear_marker(self, run: str) -> None:
        """Remove the marker of this run and its manifest."""


def best(found: Iterable[Near], limit: int) -> list[Near]:
    """Return the best rows by score, at most `limit`; equal scores in order of segment and row."""
    return sorted(found, key=lambda near: (-near.score, near.segment, near.row))[:limit]
