"""Rank the files of a snapshot for a query: the weighted sum of the signals, times the factor of each file.

Files with equal scores are in order of their paths. The score of a result is the sum of its parts: the share of each
signal and, as the negative part `penalties`, what the file's factor takes away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.model import Embedder
from cairn.engine.local import LocalEngine
from cairn.search.query import Query
from cairn.search.signals import SIGNALS, TYPES, FileEvidence, Signal, factors
from cairn.search.weights import WEIGHTS, WITHOUT_NAMES

RANKING_VERSION = "2"
# 1: first shipped form. 2: rows, where they are asked for, are scored by themselves and by their file.
# Every change of a score or an order needs a new version; it is part of the query fingerprint.

PENALTIES = "penalties"
GROUPS: Mapping[str, frozenset[str]] = {
    "filename": frozenset({"name_said", "name_matched", "name_in_text", "folder", "named_so", "path"}),
    "dense": frozenset({"meaning"}),
}
# Signals that do not depend on the query; alone they make no file a result.
_STANDING = frozenset({"used"})
_ROUNDING = 1 + 1e-9


Parts = tuple[tuple[str, float], ...]


class Ranked(NamedTuple):
    """A file that was found: its number in the engine, its score, its best row, and the parts of its score.

    `rows` are, where they were asked for, its rows by what each of them says itself: each with its share of the score.
    """

    place: int
    score: float
    row: int
    parts: Parts
    rows: tuple[tuple[int, float], ...] = ()


class Ranking(NamedTuple):
    """One page of results, best first, each file once; `candidates` counts all files that match in any way."""

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
    rows: int = 0,
) -> Ranking:
    """Return the best files for a query, among the `allowed` files if given, each with up to `rows` of its rows.

    The mode `lexical` leaves out the model; `semantic` uses only the model and the factors of files. `without` names
    signals or `GROUPS` to leave out.
    """
    off = without.union(*(GROUPS.get(name, frozenset()) for name in without))
    by_name = "filename" not in without
    seen = FileEvidence(engine, query, None if mode == "lexical" or "meaning" in off else embedder, by_name=by_name)
    weights = WEIGHTS if by_name else WITHOUT_NAMES
    chosen = {"meaning"} if mode == "semantic" else set(weights)
    names = [name for name in weights if name in chosen - off]
    given = {name: SIGNALS[name](seen) for name in names if name != "meaning"}
    shares = {name: weights[name] * signal for name, signal in given.items() if signal is not seen.nothing}
    factor = np.ones(1) if PENALTIES in off else factors(seen)
    # No signal is negative, so the sum is above 0 exactly where a signal is.
    rest = sum((share for name, share in shares.items() if name not in _STANDING), seen.zeros())
    fits = by_words = rest > 0
    rest = sum((share for name, share in shares.items() if name in _STANDING), rest)
    near = seen.nearness if "meaning" in names else None
    if near is not None:
        fits = fits | (near.files > 0)
    if allowed is not None:
        fits &= allowed
    likely = np.flatnonzero(fits)
    if near is not None:
        # Keep only the files that can still be among the best, by the bounds of their nearness.
        low, high = ((rest + weights["meaning"] * bound) * factor for bound in near.bounds)
        if near.bounded:
            # A file without a matching word, and without a known near row, may turn out to be no result.
            low[~by_words & (near.bounds[0] <= 0)] = -1
        likely = _reaching(low, high, likely, offset + limit)
        shares["meaning"] = seen.zeros()
        shares["meaning"][likely] = weights["meaning"] * near.of(likely)
        if near.bounded:
            likely = likely[by_words[likely] | (shares["meaning"][likely] > 0)]
    # Added in the order of the table of weights, because the rounding of a sum depends on the order.
    shares = {name: shares[name] for name in names if name in shares}
    own = sum((share[likely] for share in shares.values()), np.zeros(len(likely)))
    raw, scores = seen.zeros(), seen.zeros()
    raw[likely] = own
    scores[likely] = own if PENALTIES in off else own * factor[likely]
    best = _best(scores, likely, offset + limit)[offset:]
    own_scores, worth = scores[best], _worth(seen, best, shares.get("definition"))
    each = _earned(worth, own_scores, np.broadcast_to(factor, len(scores))[best], rows)
    parts = _parts(shares, own_scores - raw[best], best)
    found = zip(best.tolist(), own_scores.tolist(), map(_best_row, worth), parts, each, strict=True)
    return Ranking(list(map(Ranked._make, found)), int(np.count_nonzero(fits)))


def _reaching(low: Signal, high: Signal, files: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the files that can be among the first `count`, when each score lies between `low` and `high`."""
    if count >= len(files):
        return files
    least = np.partition(low[files], len(files) - count)[len(files) - count]
    # A margin, because the bounds were rounded in another order than the scores.
    found: NDArray[np.int64] = files[high[files] * _ROUNDING >= least]
    return found


def _best(scores: Signal, files: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the `count` files with the best scores; files with equal scores stay in order."""
    own = scores[files]
    if count < len(files):
        least = np.partition(own, len(own) - count)[len(own) - count]
        files = files[own >= least]
        own = scores[files]
    return files[np.argsort(-own, kind="stable")][:count]


def _worth(
    seen: FileEvidence, files: NDArray[np.int64], defining: Signal | None
) -> list[tuple[int, NDArray[np.float64]]]:
    """Return for each file its first row, and how well each row shows why the file was found.

    A row that defines an identifier of the query does so best, else words, names and meaning together say it.
    """
    firsts = seen.engine.first_row[files].tolist()
    afters = seen.engine.first_row[files + 1].tolist()
    every = np.concatenate([np.zeros(0, np.int64), *map(np.arange, firsts, afters)])
    both = ((kind[every], float(kind.max(initial=0)) or 1.0) for kind in (seen.text_rows, seen.symbol_rows))
    worth: Any = sum(kind / most for kind, most in both)
    if seen.nearness is not None:
        worth = worth + seen.nearness.rows(every)
    found, at = [], 0
    for place, first, after in zip(files.tolist(), firsts, afters, strict=True):
        own = worth[at : at + after - first]
        if defining is not None and defining[place] > 0 and (row := _defined_at(seen, place)) is not None:
            own[row - first] = float(worth.max()) + 1
        found.append((first, own))
        at += after - first
    return found


def _best_row(worth: tuple[int, NDArray[np.float64]]) -> int:
    first, own = worth
    return first + int(own.argmax())


def _earned(
    worth: Sequence[tuple[int, NDArray[np.float64]]], scores: Signal, factors: Signal, most: int
) -> list[tuple[tuple[int, float], ...]]:
    """Return for each file its best rows, each with the score that it has by itself and by its file, half and half."""
    if not most:
        return [()] * len(worth)
    best = max((float(own.max()) for _, own in worth), default=0.0) or 1.0
    top = float(scores.max(initial=0)) or 1.0
    found = []
    for (first, own), score, factor in zip(worth, scores.tolist(), factors.tolist(), strict=True):
        order = np.argsort(-own, kind="stable")[:most].tolist()
        found.append(tuple((first + row, (score + top * factor * float(own[row]) / best) / 2) for row in order))
    return found


def _defined_at(seen: FileEvidence, place: int) -> int | None:
    """Return the row in which a file defines an identifier of the query, types before members; None without one."""
    names = {identifier.name for identifier in seen.query.identifiers}
    file = seen.engine.at(place)
    found = [(kind not in TYPES, start) for name in names for kind, start in file.defined_in(name)]
    return file.row_at(min(found)[1]) if found else None


def _parts(shares: Mapping[str, Signal], penalties: Signal, files: NDArray[np.int64]) -> list[Parts]:
    """Return the parts of each file's score, the greatest first, the penalty last."""
    columns = [[(name, part) for part in share[files].tolist()] for name, share in shares.items()]
    found = []
    for at, penalty in enumerate(penalties.tolist()):
        own = sorted((column[at] for column in columns if column[at][1]), key=_of_part, reverse=True)
        found.append((*own, *([(PENALTIES, penalty)] if penalty else [])))
    return found


_of_part = itemgetter(1)
