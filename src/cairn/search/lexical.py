"""Score chunks by the words of a query: BM25 over several fields, with the statistics of the live rows.

The terms of a row are added in a fixed order, so its score does not depend on the rows around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cairn.engine.local import LocalEngine, Match

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]

K1 = np.float32(1.2)
B = np.float32(0.75)
_ONE = np.float32(1)
_BITS = 32


_NORMS: WeakKeyDictionary[LocalEngine, dict[str, Scores]] = WeakKeyDictionary()


def idf(rows: int, holding: int) -> np.float32:
    """Return the inverse document frequency of a term: great when few rows contain the term."""
    return np.float32(np.log(1 + (rows - holding + 0.5) / (holding + 0.5)))


def bm25(
    engine: LocalEngine,
    matches: Sequence[Mapping[str, Match]],
    weights: Mapping[str, float],
    shares: Sequence[float] | None = None,
) -> Scores:
    """Return the BM25 score of each row; the counts of all fields are weighted and added before they saturate.

    `shares` are factors on the terms, in order.
    """
    scores = np.zeros(engine.rows, np.float32)
    for place, match in enumerate(matches):
        rows, counts = _weighted(engine, match, weights)
        if len(rows):
            share = _ONE if shares is None else np.float32(shares[place])
            scores[rows] += share * idf(engine.rows, len(rows)) * counts * (K1 + _ONE) / (counts + K1)
    return scores


def _weighted(engine: LocalEngine, match: Mapping[str, Match], weights: Mapping[str, float]) -> tuple[Rows, Scores]:
    """Return the rows that contain a term in one of these fields, and its weighted count in each row."""
    found = []
    for field, weight in weights.items():
        if field in match and weight:
            rows, counts = match[field]
            found.append((rows, np.float32(weight) * counts / _norms(engine, field)[rows]))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if len(found) == 1:
        return found[0]
    total = np.zeros(engine.rows, np.float32)
    for own, weighted in found:
        total[own] += weighted
    rows = each_once([own for own, _ in found], engine.rows)
    return rows, total[rows]


def _norms(engine: LocalEngine, field: str) -> Scores:
    """Return the divisor of each row's counts for the length of the row; made once for an engine."""
    known = _NORMS.get(engine)
    if known is None:
        known = _NORMS[engine] = {}
    if field not in known:
        known[field] = _ONE - B + B * engine.lengths(field) / np.float32(engine.mean_length(field))
    return known[field]


def each_once(several: Iterable[Rows], count: int) -> Rows:
    """Return the rows of several lists in order, each once; marking rows is faster than sorting them."""
    marks = np.zeros(count, np.bool_)
    for rows in several:
        marks[rows] = True
    return np.flatnonzero(marks)


def best_of_files(engine: LocalEngine, scores: Scores, falling: Sequence[float]) -> Scores:
    """Return for each file the sum of its best rows, with falling weights."""
    files = np.zeros(len(engine.paths), np.float32)
    if len(rows := _scored(scores)):
        owners, begins = _runs(engine, rows)
        files[owners] = falling_sums(scores[rows], begins, falling)
    return files


def best_rows(engine: LocalEngine, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each file the score of its best row."""
    files = np.zeros(len(engine.paths))
    if len(rows := _scored(scores)):
        owners, begins = _runs(engine, rows)
        files[owners] = np.maximum.reduceat(scores[rows], begins)
    return files


def _scored(scores: NDArray[Any]) -> Rows:
    # numpy searches booleans ten times as fast as numbers.
    return np.flatnonzero(scores > 0)


def _runs(engine: LocalEngine, rows: Rows) -> tuple[Rows, Rows]:
    """Return the files of these ascending rows, each once, and the index at which the rows of each file begin."""
    owners = engine.file_of_row[rows]
    begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return owners[begins], begins


def falling_sums(values: Scores, begins: Rows, falling: Sequence[float]) -> Scores:
    """Return for each run of values the sum of its greatest values, with falling weights.

    `begins` are the ascending indexes at which the runs begin. No run may be empty and no value negative.
    """
    if not len(values):
        return np.zeros(0, np.float32)
    sizes = np.append(begins[1:], len(values)) - begins
    several = sizes > 1
    if 2 * np.count_nonzero(several) < len(sizes):
        # Most runs have one value and need no sorting.
        sums = np.float32(falling[0]) * values[begins]
        own = sizes[several]
        sums[several] = falling_sums(values[np.repeat(several, sizes)], np.cumsum(own) - own, falling)
        return sums
    runs = np.repeat(np.arange(len(begins)), sizes)
    # The bits of floats that are not negative are ordered like the floats, so one sort orders runs and values together.
    ordered = (runs << _BITS) - values.view(np.int32)
    ordered.sort()
    sums = np.zeros(len(begins), np.float32)
    longer = np.arange(len(begins))
    for turn, weight in enumerate(falling):
        if turn:
            longer = np.flatnonzero(sizes > turn)
        if not len(longer):
            break
        bits = (-ordered[begins[longer] + turn]).astype(np.int32)
        sums[longer] += np.float32(weight) * bits.view(np.float32)
    return sums
