"""A view whose nearest rows a server names: the scan over all vectors is done there, everything else here.

What the server says is never shown. It only says which rows may be near; how near they are is computed from the bytes
of the store, as it is without a server. A server that does not answer is left alone for a while, and the scan is done
here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import ENGINE_CANDIDATES, ENGINE_REST_SECONDS, ENGINE_SAMPLE
from cairn.engine.local import LocalEngine, Rows, exact_type
from cairn.engine.rows import scope_of
from cairn.errors import EngineDamaged, EngineError
from cairn.store import SnapshotView, approximate, quantize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowSearch

# The server adds up in another order: what it says of a row may be off by so much.
_ROUNDING = 1e-4


class Candidates(NamedTuple):
    """The rows that the server names, how near they are, and the most that any other row can be (None: all are here).

    `middle` is how near a row in the middle of all is, as nearly as a sample says it; exact where the sample is all.
    """

    engine: CandidateEngine
    rows: Rows
    near: NDArray[np.float32]
    others: np.float32 | None
    middle: np.float32


class CandidateEngine(LocalEngine):
    """The local engine, with a server for the scan. `trouble` is why the server was not asked, or did not answer."""

    def __init__(self, view: SnapshotView, remote: RowSearch, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(view)
        self._remote = remote
        self._clock = clock
        self._scope = scope_of(view)
        self._index = {name: place for place, name in enumerate(self._scope.segments)}
        self._resting_until = -1.0

    def nearest(self, vector: NDArray[np.float32]) -> Candidates | None:
        """The rows that may be nearest; None when they must be looked for here."""
        if not self.rows or self._clock.monotonic() < self._resting_until:
            return None
        wanted, scale = quantize(vector[None, :])
        try:
            found = self._remote.search_dense(approximate(wanted, scale)[0], self._scope, ENGINE_CANDIDATES)
        except EngineError as problem:
            self.trouble = problem
            self._resting_until = self._clock.monotonic() + ENGINE_REST_SECONDS
            return None
        self.trouble = None
        rows = np.unique(np.array([self._place(near.segment, near.row) for near in found], np.int64))
        rows = rows[rows >= 0]
        if len(rows) < min(ENGINE_CANDIDATES, self.rows):
            # What it left out may be the nearest of all.
            self.trouble = EngineDamaged(why="its answer names rows that are none of this snapshot")
            return None
        others = None if len(rows) == self.rows else np.float32(found[-1].score + _ROUNDING)
        middle = np.float32(np.median(self._sampled(vector)))
        return Candidates(self, rows, self.similarity_of(vector, rows), others, middle)

    def _sampled(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near rows are that stand for all: every one of a store that is not large, else each nth."""
        step = -(-self.rows // ENGINE_SAMPLE)
        return self.similarity(vector) if step == 1 else self.similarity_of(vector, np.arange(0, self.rows, step))

    def similarity_of(self, vector: NDArray[np.float32], rows: Rows) -> NDArray[np.float32]:
        """What `similarity` says of these rows, without a look at the others."""
        wanted, scale = quantize(vector[None, :])
        files = self.file_of_row[rows]
        parts, inside = self._part[files], self._in_part[files] + rows - self.first_row[files]
        found = np.empty(len(rows), np.float32)
        for index in np.unique(parts).tolist():
            own = parts == index
            vectors, scales = self._parts[index].vectors
            chosen = np.ascontiguousarray(vectors[inside[own]])
            products = simsimd.cdist(chosen, wanted, metric="dot", out_dtype=exact_type(len(vector)))
            near = np.empty(len(chosen), np.float32)
            np.multiply(np.asarray(products).ravel(), scales[inside[own]] * scale[0], out=near, casting="same_kind")
            found[own] = near
        return found

    def _place(self, segment: str, row: int) -> int:
        """The place of a row in the whole; -1 for one that is not live, or that is none of ours."""
        index = self._index.get(segment, -1)
        return int(self._maps[index][row]) if index >= 0 and 0 <= row < len(self._maps[index]) else -1
