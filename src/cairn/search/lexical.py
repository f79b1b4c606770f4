"""How well the words of a query fit a chunk: BM25 over several fields, with the statistics of the live rows.

Each row's score is made of its own numbers in a fixed order of terms, so it does not depend on what lies around it.
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
    """What the counts of each row are divided by, for its length; made once for an engine."""
    known = _NORMS.get(engine)
    if known is None:
        known = _NORMS[engine] = {}
    if field not in known:
        known[field] = _ONE - B + B * engine.lengths(field) / np.float32(engine.mean_length(field))
    return known[field]


def each_once(several: Iterable[Rows], count: int) -> Rows:
    """The rows of several lists in order, each once; by marks, which take less time than a sort."""
    marks = np.zeros(count, np.bool_)
    for rows in several:
        marks[rows] = True
    return np.flatnonzero(marks)


def best_of_files(engine: LocalEngine, scores: Scores, falling: Sequence[float]) -> Scores:
    """Each file's best rows summed with falling weights."""
    files = np.zeros(len(engine.paths), np.float32)
    if len(rows := _scored(scores)):
        owners, begins = _runs(engine, rows)
        files[owners] = falling_sums(scores[rows], begins, falling)
    return files


def best_rows(engine: LocalEngine, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The best row of each file."""
    files = np.zeros(len(engine.paths))
    if len(rows := _scored(scores)):
        owners, begins = _runs(engine, rows)
        files[owners] = np.maximum.reduceat(scores[rows], begins)
    return files


def _scored(scores: NDArray[Any]) -> Rows:
    # By marks: numpy looks through those ten times as fast as through numbers.
    return np.flatnonzero(scores > 0)


def _runs(engine: LocalEngine, rows: Rows) -> tuple[Rows, Rows]:
    """The files of these ascending rows, each once, and where the rows of each begin."""
    owners = engine.file_of_row[rows]
    begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return owners[begins], begins


def falling_sums(values: Scores, begins: Rows, falling: Sequence[float]) -> Scores:
    """The largest numbers of each run summed with falling weights; none of the numbers is negative.

    Runs begin at these places, one after the other, and none is empty.
    """
    if not len(values):
        return np.zeros(0, np.float32)
    sizes = np.append(begins[1:], len(values)) - begins
    several = sizes > 1
    if 2 * np.count_nonzero(several) < len(sizes):
        # Most are alone in their run, and need not be put in order.
        sums = np.float32(falling[0]) * values[begins]
        own = sizes[several]
        sums[several] = falling_sums(values[np.repeat(several, sizes)], np.cumsum(own) - own, falling)
        return sums
    runs = np.repeat(np.arange(len(begins)), sizes)
    # Bits of numbers that are not negative stand in the order of the numbers: one sort of runs and bits together.
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
