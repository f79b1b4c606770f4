"""Where the rows of published segments are searched: what any such place can be asked, and what it promises.

A row is a chunk of a file, named by its segment and its number there. A place holds the rows of many segments at once,
those of snapshots to come and those that nobody reads any more among them; so every question names its scope. Answers
are candidates: what comes first is decided in `search/`, from the facts of the store.
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
    """A row that was found, and how well it fits."""

    segment: str
    row: int
    score: float


class Row(NamedTuple):
    """A row as it is sent: its file's number and path, its vector, and the weight of each of its terms."""

    row: int
    file: int
    path: str
    vector: Vector
    terms: Mapping[int, float]


class Held(NamedTuple):
    """A row as it is kept, without what it is found by."""

    segment: str
    row: int
    file: int
    path: str


class Receipt(NamedTuple):
    """A segment that is there whole: its rows, the digest of them as they were sent, and of the sealed files.

    `pieces` is of how many parts the bytes of those are.
    """

    segment: str
    rows: int
    pieces: int
    rows_sha256: str
    sealed_sha256: str


class SealedFile(NamedTuple):
    """A file of a sealed segment. Its bytes may lie in a map, and are good only as long as that is open."""

    name: str
    data: memoryview


class Sealed(Protocol):
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
class Scope:
    """The rows that count: those of these segments, without the files that tombstones hide, by their numbers."""

    segments: tuple[str, ...]
    hidden: Mapping[str, tuple[int, ...]]


class RowSearch(Protocol):
    """What a reader asks. A search is not answered where a segment of its scope is not there whole: `EngineDamaged`."""

    def search_dense(self, vector: Vector, scope: Scope, limit: int) -> list[Near]:
        """The rows whose vectors are nearest, best first; equal ones in order of their names."""

    def search_lexical(self, weights: Mapping[int, float], scope: Scope, limit: int) -> list[Near]:
        """The rows that these terms fit best, best first; a row without any of them is not there."""

    def fetch_rows(self, segment: str, rows: Sequence[int]) -> list[Held]:
        """These rows of a segment, in order; one that is not there is left out."""


class RowHome(RowSearch, Protocol):
    """What a writer and a keeper ask, too. Every call either does all of it or raises an `EngineError`."""

    def ping(self) -> str:
        """What answers, and of which version."""

    def put_segment(self, sealed: Sealed) -> Receipt:
        """The segment is there and lasts, whatever happens to the server. Putting it twice is putting it once."""

    def receipts(self, *, counted: bool = False) -> dict[str, Receipt]:
        """Every segment that was put whole; `counted`: and of which all of it is still there, one question for each."""

    def orphans(self) -> set[str]:
        """Segments of which there are pieces without a receipt."""

    def sealed_files(self, segment: str) -> Iterator[tuple[str, int, bytes]]:
        """The files of a segment, in pieces: name, place in the file, bytes."""

    def drop_segment(self, segment: str) -> None:
        """Nothing of the segment is there any more."""

    def put_marker(self, marker: Completion, manifest: bytes, others: Mapping[str, bytes]) -> None:
        """The run of this marker is complete: its manifest, and the small files that this names, are there with it."""

    def get_marker(self, run: str) -> Completion | None:
        """The marker of a run; None when the question was answered and there is none. `EngineDamaged`: no marker."""

    def snapshot(self, run: str) -> tuple[bytes, dict[str, bytes]]:
        """The manifest of a run, and the small files that came with it."""

    def runs(self, *, marked: bool = True) -> list[str]:
        """The runs that have a marker, oldest first; else those of which anything is there."""

    def clear_marker(self, run: str) -> None:
        """There is no marker of this run, nor its manifest."""


def best(found: Iterable[Near], limit: int) -> list[Near]:
    """The first so many by score, equal ones in order of their names."""
    return sorted(found, key=lambda near: (-near.score, near.segment, near.row))[:limit]
