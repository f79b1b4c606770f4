"""How near the vectors of rows are to a query's, and which files may be among the best by it.

Every row has a vector, so this is the one signal that says something of every file. Most of what it says is never
looked at: of each file the nearest row is known at once, which bounds the rest; the whole is found out for those files
only that can still come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cairn.engine.local import Candidates, LocalEngine
from cairn.search.lexical import Rows, Scores, falling_sums

# From so many numbers on, the middle ones are looked for between two that a sample says they are between.
_MANY = 1 << 14
_SAMPLED = 1 << 13
# Bounds are compared with sums that were rounded in another order.
_ROUNDING = 1 + 1e-6


class Nearness:
    """From 0 for the row in the middle to 1 for the nearest: most are near to nothing."""

    # Whether of some files no more is known than how near they are at most.
    bounded = False

    def __init__(self, engine: LocalEngine, vector: NDArray[np.float32], falling: Sequence[float]) -> None:
        self._engine = engine
        self._near = engine.similarity(vector)
        self._falling = falling
        self._middle, self._nearest = median(self._near), self._near.max()
        self.files = self._scaled(np.maximum.reduceat(self._near, engine.first_row[:-1]))
        if engine.rows <= _MANY:
            # Few rows: to find out which of them matter would take longer.
            self._least = self._most = falling_sums(self._scaled(self._near), engine.first_row[:-1], falling)
            best = float(self._most.max())
        else:
            # The most that a file with so many rows can have, for each of its nearest one.
            most = np.cumsum([0.0, *falling])[np.minimum(np.diff(engine.first_row), len(falling))]
            self._least, self._most = self.files, self.files * most * _ROUNDING
            # The nearest row alone makes a file as good as 1.
            best = float(self._sums(np.flatnonzero(self._most >= self.files.max())).max())
        self._best = best if best > 0 else 1.0

    @property
    def bounds(self) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """For each file the least and the most that `of` can give for it."""
        return self._least / (self._best * _ROUNDING), self._most * (_ROUNDING / self._best)

    def rows(self, rows: Rows) -> Scores:
        """How near these rows are."""
        return self._scaled(self._near[rows])

    def of(self, files: Rows) -> NDArray[np.float64]:
        """How near each of these files is by its nearest rows, 1 for the best of all files."""
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
    """What `np.median` gives, in a third of its time: the mean of the two in the middle, or the one that is."""
    count = len(numbers)
    places = sorted({(count - 1) // 2, count // 2})
    below = 0
    if count > _MANY:
        sample = np.sort(numbers[:: count // _SAMPLED])
        # Far enough apart that the middle is all but never outside.
        low, high = sample[[len(sample) * 15 // 32, len(sample) * 17 // 32]]
        between = numbers[np.flatnonzero((numbers >= low) & (numbers <= high))]
        below = int(np.count_nonzero(numbers < low))
        if below <= places[0] and places[-1] < below + len(between):
            numbers, places = between, [place - below for place in places]
    return np.float32(np.partition(numbers, places)[places].mean())


# --- Nearness where a server names the nearest rows: the same numbers for the same files, without a look at all
# rows.


class Nearby(Nearness):
    """From 0 for the row in the middle to 1 for the nearest, of the rows that were named."""

    bounded = True

    def __init__(self, found: Candidates, vector: NDArray[np.float32], falling: Sequence[float]) -> None:
        self._engine = engine = found.engine
        self._similarity = partial(engine.similarity_of, vector)
        self._falling = falling
        self._middle, self._nearest = found.middle, found.near.max()
        named = np.unique(engine.file_of_row[found.rows])
        others = np.zeros(1, np.float32) if found.others is None else self._scaled(np.array([found.others]))
        # What was not named may be a result as well, up to the last that was.
        self.files: Scores = np.full(len(engine.paths), others[0], np.float32)
        self.files[named] = 0
        np.maximum.at(self.files, engine.file_of_row[found.rows], self._scaled(found.near))
        sums = self._sums(named)
        most = np.cumsum([0.0, *falling])[np.minimum(np.diff(engine.first_row), len(falling))]
        self._least, self._most = np.zeros(len(engine.paths), np.float32), others[0] * most * _ROUNDING
        self._least[named] = self._most[named] = sums
        best = float(sums.max())
        if (beyond := np.flatnonzero(self._most > best)).size:
            # Many rows that are all a little near can come to more than the nearest.
            best = max(best, float(self._sums(beyond).max()))
        self._best = best if best > 0 else 1.0

    def rows(self, rows: Rows) -> Scores:
        """How near these rows are."""
        return self._scaled(self._similarity(rows))

    def of(self, files: Rows) -> NDArray[np.float64]:
        """How near each of these files is by its nearest rows, 1 for the best of all files."""
        return self._sums(files).astype(np.float64) / self._best
