"""Score files by how near the vectors of their rows are to the vector of a query.

Every row has a vector, so this signal says something about every file, and most of it is never needed. The nearest row
of each file is known at once and bounds the file's score; the score itself is computed only for files that can still be
among the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cairn.engine.local import Candidates, LocalEngine
from cairn.search.lexical import Rows, Scores, falling_sums

# Of more numbers than this, the median is searched only between two bounds that a sample suggests.
_MANY = 1 << 14
_SAMPLED = 1 << 13
# A margin, because bounds are compared with sums that were rounded in another order.
_ROUNDING = 1 + 1e-6


class Nearness:
    """How near each row is to a query, from 0 for the median row to 1 for the nearest one.

    Rows below the median count as 0, because most rows have nothing to do with a query.
    """

    # Whether for some files only an upper bound is known.
    bounded = False

    def __init__(self, engine: LocalEngine, vector: NDArray[np.float32], falling: Sequence[float]) -> None:
        self._engine = engine
        self._near = engine.similarity(vector)
        self._falling = falling
        self._middle, self._nearest = median(self._near), self._near.max()
        self.files = self._scaled(np.maximum.reduceat(self._near, engine.first_row[:-1]))
        if engine.rows <= _MANY:
            # With few rows it is faster to score all files than to bound them.
            self._least = self._most = falling_sums(self._scaled(self._near), engine.first_row[:-1], falling)
            best = float(self._most.max())
        else:
            # The greatest possible sum of a file in multiples of its nearest row, by its number of rows.
            most = np.cumsum([0.0, *falling])[np.minimum(np.diff(engine.first_row), len(falling))]
            self._least, self._most = self.files, self.files * most * _ROUNDING
            # Only a file whose bound reaches the nearest row of all can have the best sum.
            best = float(self._sums(np.flatnonzero(self._most >= self.files.max())).max())
        self._best = best if best > 0 else 1.0

    @property
    def bounds(self) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """For each file the least and the greatest value that `of` can return."""
        return self._least / (self._best * _ROUNDING), self._most * (_ROUNDING / self._best)

    def rows(self, rows: Rows) -> Scores:
        """Return how near these rows are."""
        return self._scaled(self._near[rows])

    def of(self, files: Rows) -> NDArray[np.float64]:
        """Return the score of each of these files by its nearest rows; 1 for the best of all files."""
        sums = self._most[files] if self._most is self._least else self._sums(files)
        return sums.astype(np.float64) / self._best

    def _sums(self, files: Rows) -> Scores:
        first = self._engine.first_row[files]
        counts = self._engine.first_row[files + 1] - first
        begins = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
        return falling_sums(self.rows(rows), begins, self._falling)

    def _scaled(self, near: Scores) -> Scores:
        if not self._nearest > self._middle:
            return np.zeros_like(near)
        scaled: Scores = np.maximum(near - self._middle, 0) / (self._nearest - self._middle)
        return scaled


def median(numbers: Scores) -> np.float32:
    """Return the median, as `np.median` does, in a third of the time."""
    count = len(numbers)
    places = sorted({(count - 1) // 2, count // 2})
    below = 0
    if count > _MANY:
        sample = np.sort(numbers[:: count // _SAMPLED])
        # The bounds are so far apart that the median is almost never outside; if it is, all numbers are searched.
        low, high = sample[[len(sample) * 15 // 32, len(sample) * 17 // 32]]
        between = numbers[np.flatnonzero((numbers >= low) & (numbers <= high))]
        below = int(np.count_nonzero(numbers < low))
        if below <= places[0] and places[-1] < below + len(between):
            numbers, places = between, [place - below for place in places]
    return np.float32(np.partition(numbers, places)[places].mean())


# --- Nearness where a search server names the nearest rows; the scores are the same, without reading all rows.


class Nearby(Nearness):
    """How near the rows are that a search server named, from 0 for the median row to 1 for the nearest one."""

    bounded = True

    def __init__(self, found: Candidates, vector: NDArray[np.float32], falling: Sequence[float]) -> None:
        self._engine = engine = found.engine
        self._similarity = partial(engine.similarity_of, vector)
        self._falling = falling
        self._middle, self._nearest = found.middle, found.near.max()
        named = np.unique(engine.file_of_row[found.rows])
        others = np.zeros(1, np.float32) if found.others is None else self._scaled(np.array([found.others]))
        # A file that was not named may be a result too; it is at most as near as the last row that was named.
        self.files: Scores = np.full(len(engine.paths), others[0], np.float32)
        self.files[named] = 0
        np.maximum.at(self.files, engine.file_of_row[found.rows], self._scaled(found.near))
        sums = self._sums(named)
        most = np.cumsum([0.0, *falling])[np.minimum(np.diff(engine.first_row), len(falling))]
        self._least, self._most = np.zeros(len(engine.paths), np.float32), others[0] * most * _ROUNDING
        self._least[named] = self._most[named] = sums
        best = float(sums.max())
        if (beyond := np.flatnonzero(self._most > best)).size:
            # Many rows of a file that are all a little near can add up to more than the nearest row.
            best = max(best, float(self._sums(beyond).max()))
        self._best = best if best > 0 else 1.0

    def rows(self, rows: Rows) -> Scores:
        """Return how near these rows are."""
        return self._scaled(self._similarity(rows))

    def of(self, files: Rows) -> NDArray[np.float64]:
        """Return the score of each of these files by its nearest rows; 1 for the best of all files."""
        return self._sums(files).astype(np.float64) / self._best
