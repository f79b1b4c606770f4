"""BM25 over a few thousand texts, with Cairn's own terms: what a model has to beat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cairn.core.tokens import terms
from cairn.search.lexical import K1, B, idf


class Bm25:
    """An index over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        held: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(len(texts), np.float32)
        for row, text in enumerate(texts):
            counts = Counter(terms(text))
            lengths[row] = sum(counts.values())
            for term, count in counts.items():
                held[term].append((row, count))
        self._norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        self._held = {term: np.array(rows).T for term, rows in held.items()}

    def scores(self, query: str) -> NDArray[np.float32]:
        """The score of every text for a query."""
        found = np.zeros(len(self._norm), np.float32)
        for term in sorted(set(terms(query)) & self._held.keys()):
            rows, counts = self._held[term]
            found[rows] += idf(len(found), len(rows)) * counts * (K1 + 1) / (counts + self._norm[rows])
        return found
