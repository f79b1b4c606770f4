"""Which files answer a query best: the weighted sum of the signals, times the factor of each file.

Equal scores stand in canonical order, by path. The score of a result is the sum of its parts: each signal's share, and
under `penalties` what the file's factor takes away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.model import Embedder
from cairn.engine.local import LocalEngine
from cairn.search.query import Query
from cairn.search.signals import SIGNALS, TYPES, Evidence, Signal, factors
from cairn.search.weights import WEIGHTS, WITHOUT_NAMES

RANKING_VERSION = "1"
# 1: first shipped form. Whatever changes a score or an order is a new version: it is part of a query's fingerprint.

PENALTIES = "penalties"
GROUPS: Mapping[str, frozenset[str]] = {
    "filename": frozenset({"name_said", "name_matched", "name_in_text", "folder", "named_so", "path"}),
    "dense": frozenset({"meaning"}),
}
# Says something about a file whatever the query is: alone it makes no file a result.
_STANDING = frozenset({"used"})


class Ranked(NamedTuple):
    """A file that was found: its place in the engine, its best row, and what each signal adds to its score."""

    place: int
    score: float
    row: int
    parts: tuple[tuple[str, float], ...]


class Ranking(NamedTuple):
    """One page of results, best first, each file once; `candidates` counts all files that fit in any way."""

    ranked: list[Ranked]
    candidates: int


def rank(
    engine: LocalEngine,
    query: Query,
    embedder: Embedder | None,
    *,
    mode: str = "hybrid",
    without: frozenset[str] = frozenset(),
    allowed: NDArray[np.bool_] | None = None,
    limit: int = 10,
    offset: int = 0,
) -> Ranking:
    """The best files for a query; of those that are `allowed`, when that is given.

    `lexical` leaves the model out, `semantic` all but the model and the factors. `without` names signals or `GROUPS`.
    """
    off = without.union(*(GROUPS.get(name, frozenset()) for name in without))
    by_name = "filename" not in without
    seen = Evidence(engine, query, None if mode == "lexical" or "meaning" in off else embedder, by_name=by_name)
    weights = WEIGHTS if by_name else WITHOUT_NAMES
    chosen = {"meaning"} if mode == "semantic" else set(weights)
    shares = {name: weights[name] * SIGNALS[name](seen) for name in weights if name in chosen - off}
    raw, fits = np.zeros(len(engine.paths)), np.zeros(len(engine.paths), np.bool_)
    for name, share in shares.items():
        raw += share
        if name not in _STANDING:
            fits |= share > 0
    if allowed is not None:
        fits &= allowed
    scores = raw if PENALTIES in off else raw * factors(seen)
    best = _best(scores, np.flatnonzero(fits), offset + limit)[offset:]
    rows = _rows(seen, best, shares.get("definition"))
    ranked = [
        Ranked(place, float(scores[place]), row, _parts(shares, float(scores[place] - raw[place]), place))
        for place, row in zip(best.tolist(), rows, strict=True)
    ]
    return Ranking(ranked, int(np.count_nonzero(fits)))


def _best(scores: Signal, files: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first so many of these files by score, equal ones in order."""
    own = scores[files]
    if count < len(files):
        least = np.partition(own, len(own) - count)[len(own) - count]
        files = files[own >= least]
        own = scores[files]
    return files[np.argsort(-own, kind="stable")][:count]


def _rows(seen: Evidence, files: NDArray[np.int64], defining: Signal | None) -> list[int]:
    """The row of each file that shows best why it was found: where it defines what was named, if it does.

    Else by words, names of definitions and meaning together.
    """
    every = [
        (kind, float(kind.max(initial=0)) or 1.0) for kind in (seen.text_rows, seen.symbol_rows, seen.meaning_rows)
    ]
    rows = []
    for place in files.tolist():
        row = _defined_at(seen, place) if defining is not None and defining[place] > 0 else None
        if row is None:
            own = np.arange(*seen.engine.first_row[place : place + 2])
            row = int(own[np.argmax(sum(kind[own] / most for kind, most in every))])
        rows.append(row)
    return rows


def _defined_at(seen: Evidence, place: int) -> int | None:
    """The row where the file defines an identifier of the query: as a type rather than as a member of one."""
    names = {identifier.name for identifier in seen.query.identifiers}
    found = [symbol for symbol in seen.engine.symbols(place) if symbol.name in names]
    if not found:
        return None
    best = min(found, key=lambda symbol: (symbol.kind not in TYPES, symbol.start_byte))
    return seen.engine.row_at(place, best.start_byte)


def _parts(shares: Mapping[str, Signal], penalty: float, place: int) -> tuple[tuple[str, float], ...]:
    """What adds to the score of a file, the most first; a penalty last."""
    found = [(name, float(share[place])) for name, share in shares.items() if share[place]]
    found.sort(key=lambda part: -part[1])
    return (*found, *([(PENALTIES, penalty)] if penalty else []))
