"""How well the words of a query fit a chunk: BM25 over several fields, with the statistics of the live rows.

Each row's score is made of its own numbers in a fixed order of terms, so it does not depend on what lies around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cairn.engine.local import LocalEngine, Match

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]

K1 = np.float32(1.2)
B = np.float32(0.75)
_ONE = np.float32(1)


def idf(rows: int, holding: int) -> np.float32:
    """How much a term says: much when few rows hold it."""
    return np.float32(np.log(1 + (rows - holding + 0.5) / (holding + 0.5)))


def bm25(
    engine: LocalEngine,
    matches: Sequence[Mapping[str, Match]],
    weights: Mapping[str, float],
    shares: Sequence[float] | None = None,
) -> Scores:
    """The score of each row, the fields weighted into one count before it saturates; `shares` make terms count less."""
    scores = np.zeros(engine.rows, np.float32)
    for place, match in enumerate(matches):
        rows, counts = _weighted(engine, match, weights)
        if len(rows):
            share = _ONE if shares is None else np.float32(shares[place])
            scores[rows] += share * idf(engine.rows, len(rows)) * counts * (K1 + _ONE) / (counts + K1)
    return scores


def _weighted(engine: LocalEngine, match: Mapping[str, Match], weights: Mapping[str, float]) -> tuple[Rows, Scores]:
    """The rows that hold a term in one of these fields, and its weighted count in each."""
    found = []
    for field, weight in weights.items():
        if field in match and weight:
            rows, counts = match[field]
            norm = _ONE - B + B * engine.lengths(field)[rows] / np.float32(engine.mean_length(field))
            found.append((rows, np.float32(weight) * counts.astype(np.float32) / norm))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if len(found) == 1:
        return found[0]
    total = np.zeros(engine.rows, np.float32)
    for own, counts in found:
        total[own] += counts
    rows = np.flatnonzero(total)
    return rows, total[rows]


def best_of_files(engine: LocalEngine, scores: Scores, falling: Sequence[float]) -> tuple[Scores, Rows]:
    """Each file's best rows summed with falling weights, and its best row (-1 where none scores)."""
    files = np.zeros(len(engine.paths), np.float32)
    best = np.full(len(engine.paths), -1, np.int64)
    rows = np.flatnonzero(scores > 0)
    if not len(rows):
        return files, best
    values, owners = scores[rows], engine.file_of_row[rows]
    begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    run_of_row = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(rows)))
    total = np.zeros(len(begins), np.float32)
    for turn, weight in enumerate(falling):
        highest = np.maximum.reduceat(values, begins)
        total += np.float32(weight) * highest
        # Among equals the one that comes first in the file: written last, it stays.
        top = np.flatnonzero(values == highest[run_of_row])[::-1]
        chosen = np.empty(len(begins), np.int64)
        chosen[run_of_row[top]] = top
        if turn == 0:
            best[owners[begins]] = rows[chosen]
        # What was counted is not counted again; a file that has no more rows goes on with nothing.
        values[chosen] = 0
    files[owners[begins]] = total
    return files, best
