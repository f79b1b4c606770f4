"""Which files matter most: those that others lean on, and that are leaned on by those that matter (PageRank).

A walker starts at some file, follows an import, and sometimes starts anew; what a file is worth is how often he is
there. Where he starts says what the map is about: every file a little, or the ones that somebody works on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 16
# How often the walker goes on instead of starting anew. More often, and all walks end in the same few helpers that
# need nothing else: they would head every map before the code that the project is about.
_GOES_ON = 0.4
# From a file that is asked about also back to those that import it, which its change may break.
_BACKWARDS = 0.3
# What is far from all that was asked about is still worth a little, so that a map never ends before its budget.
_ELSEWHERE = 0.1
# Equal up to here is equal: processors add in different orders.
_DIGITS = 12

Weights = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Centrality:
    """The files of a snapshot and what leads from one to another. `worth` is how much each counts by itself."""

    def __init__(
        self, paths: Sequence[str], dependencies: Mapping[str, Sequence[str]], worth: Mapping[str, float]
    ) -> None:
        self.paths = sorted(paths)
        number = {path: place for place, path in enumerate(self.paths)}
        links = [
            (number[source], number[target])
            for source in self.paths
            for target in dependencies.get(source, ())
            if target in number
        ]
        pairs = np.array(sorted(set(links)), np.int64).reshape(-1, 2)
        self._from, self._to = pairs[:, 0], pairs[:, 1]
        self._number = number
        self._worth = np.array([max(worth.get(path, 0.0), 0.0) for path in self.paths], np.float64)
        counts = np.bincount(self._to, minlength=len(self.paths)).tolist()
        self.importers: dict[str, int] = dict(zip(self.paths, counts, strict=True))
        """For every file, how many others import it."""

    def ranks(self, near: Mapping[str, float] | None = None) -> dict[str, float]:
        """What each file is worth, all together 1; with `near` seen from these files, the heavier the more."""
        if not self.paths:
            return {}
        start = _shared_out(self._worth)
        ones = np.ones(len(self._from))
        if not near:
            return self._named(_walked(self._from, self._to, ones, start))
        asked = np.zeros(len(self.paths))
        for path, weight in near.items():
            if path in self._number:
                asked[self._number[path]] += weight
        start = (1 - _ELSEWHERE) * _shared_out(asked) + _ELSEWHERE * start
        source, target = np.concatenate((self._from, self._to)), np.concatenate((self._to, self._from))
        return self._named(_walked(source, target, np.concatenate((ones, ones * _BACKWARDS)), start))

    def _named(self, ranks: Weights) -> dict[str, float]:
        return dict(zip(self.paths, np.round(ranks, _DIGITS).tolist(), strict=True))


def _shared_out(weights: Weights) -> Weights:
    """The weights as shares of 1; all the same where there are none."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def _walked(source: Numbers, target: Numbers, weight: Weights, start: Weights) -> Weights:
    files = len(start)
    leaving = np.bincount(source, weight, minlength=files)
    share = weight / leaving[source]
    ends = leaving == 0
    ranks = start
    for _ in range(_ROUNDS):
        moved = np.bincount(target, ranks[source] * share, minlength=files)
        # Who stands where nothing leads on starts anew.
        ranks = _GOES_ON * moved + (1 - _GOES_ON + _GOES_ON * float(ranks[ends].sum())) * start
    return ranks
