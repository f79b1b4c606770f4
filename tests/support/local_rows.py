"""Search the rows of a store on this machine by reading all of them: the plain answer that engines are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cairn.engine.contract import Held, Near, RowScope, Vector, best
from cairn.engine.rows import segments_of
from cairn.errors import EngineDamaged
from cairn.store.format.postings import approximate
from cairn.store.read.live import live_parts
from cairn.store.read.snapshot import SnapshotView


class LocalRows:
    """The segments of a view; a scope may name some of them. Good for as long as the view is open."""

    def __init__(self, view: SnapshotView) -> None:
        self._segments = {segment.name: segment for segment in segments_of(view)}
        self._parts = dict(zip(self._segments, live_parts(view), strict=True))

    def search_dense(self, vector: Vector, scope: RowScope, limit: int) -> list[Near]:
        found = []
        for name in self._known(scope):
            rows, scales = self._parts[name].vectors
            scores = approximate(rows, scales) @ vector
            hidden = self._hidden(name, scope)
            found += [Near(name, row, float(scores[row])) for row in range(len(rows)) if not hidden[row]]
        return best(found, limit)

    def search_lexical(self, weights: Mapping[int, float], scope: RowScope, limit: int) -> list[Near]:
        found = []
        for name in self._known(scope):
            hidden = self._hidden(name, scope)
            for row in self._segments[name].read():
                shared = weights.keys() & row.terms.keys()
                if shared and not hidden[row.row]:
                    found.append(Near(name, row.row, sum(weights[term] * row.terms[term] for term in sorted(shared))))
        return best(found, limit)

    def fetch_rows(self, segment: str, rows: Sequence[int]) -> list[Held]:
        part = self._parts.get(segment)
        if part is None:
            return []
        starts, keys = part.row_starts, part.keys()
        there = [row for row in rows if 0 <= row < int(starts[-1])]
        files = [int(np.searchsorted(starts, row, "right")) - 1 for row in there]
        return [Held(segment, row, file, keys[file]) for row, file in zip(there, files, strict=True)]

    def _known(self, scope: RowScope) -> list[str]:
        if missing := [name for name in scope.segments if name not in self._parts]:
            raise EngineDamaged(why=f"segment {missing[0]} is not there")
        return list(scope.segments)

    def _hidden(self, name: str, scope: RowScope) -> list[bool]:
        starts = self._parts[name].row_starts.astype(np.int64)
        owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        flags: list[bool] = np.isin(owners, scope.hidden.get(name, ())).tolist()
        return flags
