"""Nearness where a server names the nearest rows: the same numbers for the same files, without a look at all rows.

No row that was not named is nearer than the last one that was. That bounds what any other file can reach; the few that
could still come first are looked at here. Only the middle, from which nearness counts, is taken from a sample where
there are very many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cairn.engine.candidates import Candidates
from cairn.search.lexical import Rows, Scores
from cairn.search.nearness import Nearness

_ROUNDING = 1 + 1e-6


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
