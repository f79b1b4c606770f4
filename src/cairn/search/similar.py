"""Which rows are like a row: by the nearness of their vectors and by the words that they share, half each.

A row with the same words and the same vector has the score 1. Equal scores stand in the order of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.tokens import terms
from cairn.engine.local import LocalEngine
from cairn.search.lexical import bm25, idf

# The words that say most; the others stand everywhere.
_MOST_TERMS = 64
_FIELDS = {"symbol": 1.0, "comment": 1.0, "body": 1.0}


class Alike(NamedTuple):
    """The most similar rows with their scores, best first, how many are similar at all, and the words compared."""

    rows: tuple[tuple[int, float], ...]
    total: int
    terms: tuple[str, ...]


def alike(engine: LocalEngine, row: int, *, same_file: bool, limit: int) -> Alike:
    """The rows most like this one, without itself; of its own file only with `same_file`."""
    place = int(engine.file_of_row[row])
    words = _telling(engine, engine.passage(place, row).data.decode())
    scores = bm25(engine, engine.matches(words), _FIELDS)
    near = engine.similarity(engine.vector(row))
    both = (_shares(scores, row) + _shares(near, row)) / 2
    first, after = (row, row + 1) if same_file else engine.first_row[place : place + 2].tolist()
    both[first:after] = 0
    found = np.flatnonzero(both > 0)
    best = found[np.argsort(-both[found], kind="stable")][:limit]
    return Alike(tuple(zip(best.tolist(), both[best].tolist(), strict=True)), len(found), words)


def _telling(engine: LocalEngine, text: str) -> tuple[str, ...]:
    """The words of a text that fewest rows hold, each once."""
    every = sorted(set(terms(text)))
    matches = engine.matches(every)
    held = [max((len(match.rows) for match in fields.values()), default=0) for fields in matches]
    known = sorted((-float(idf(engine.rows, count)), term) for count, term in zip(held, every, strict=True) if count)
    return tuple(term for _, term in known[:_MOST_TERMS])


def _shares(values: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Each value as a share of the row's own, from 0 to 1."""
    own = float(values[row])
    if own <= 0:
        return np.zeros(len(values))
    return np.asarray(np.clip(values.astype(np.float64) / own, 0, 1))
