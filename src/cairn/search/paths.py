"""Find files by a few letters of their path; the file's own name counts most, and whole words before letters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cairn.core.limits import MAX_PATH_KEY_BYTES
from cairn.engine.scan import Texts
from cairn.errors import InvalidPattern
from cairn.search.exact import Within, chosen_files, coverage_of
from cairn.search.symbols import NameFit, NameTable, Numbers, one_slip
from cairn.search.types import PathMatch, PathsFound

# The points between two ways of matching: more than letters can ever add up to.
_STEP = 1 << 20
_IN_NAME = _STEP // 4
_SLASH, _DOT = 47, 46


class PathFinder:
    """All live paths of a snapshot, ready for searches. Keep a finder for as long as its texts."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._table = NameTable(texts.paths)
        folders = (len(path.rpartition("/")[0].encode()) + ("/" in path) for path in texts.paths)
        self._name_starts = self._table.starts + np.fromiter(folders, np.int64, len(texts))

    def find(self, query: str, *, within: Within | None = None, limit: int = 50) -> PathsFound:
        """Return the best paths that match every word of the query, and how many match.

        Raises `InvalidPattern` when the query is empty or longer than any path.
        """
        words = query.split()
        if not words:
            raise InvalidPattern(why="it is empty")
        if len(query.encode("utf-8", "surrogatepass")) > MAX_PATH_KEY_BYTES:
            raise InvalidPattern(why="it is longer than any path")
        chosen = chosen_files(self._texts, within)
        scores, ways = self._fit(words[0])
        for word in words[1:]:
            more, way = self._fit(word)
            scores = np.where((scores >= 0) & (more >= 0), scores + more, -1)
            ways = np.maximum(ways, way)
        fitting = np.flatnonzero((scores >= 0) & chosen)
        # Of paths with equal scores the shorter one comes first, then the one that is first in order.
        order = np.lexsort((fitting, self._table.lengths[fitting], -scores[fitting]))[:limit]
        return PathsFound(
            tuple(self._match(int(place), ways, scores) for place in fitting[order]),
            len(fitting),
            coverage_of(self._texts, chosen),
        )

    def _match(self, place: int, ways: Numbers, scores: Numbers) -> PathMatch:
        way = NameFit(int(ways[place])).name.lower()
        return PathMatch(self._texts.paths[place], self._texts.languages[place], way, int(scores[place]))

    def _fit(self, word: str) -> tuple[Numbers, Numbers]:
        """Return the points of every path for one word (-1: no match), and the way in which each path matches."""
        table = self._table
        scores = np.full(len(table.ends), -1, np.int64)
        ways = np.full(len(table.ends), int(NameFit.SLIP), np.int64)

        def credit(names: Numbers, points: NDArray[np.int64] | int, way: NameFit) -> None:
            # `names` may hold a path several times, and the best of its points counts.
            np.maximum.at(scores, names, (NameFit.SLIP - way) * _STEP + points)
            ways[names] = np.minimum(ways[names], int(way))

        names, places = table.pieces(word)
        if not len(names) and (slip := one_slip(word)) is not None:
            credit(table.matching(f"(?:.*/)?(?:{slip})(?:[.][^/]*)?"), 0, NameFit.SLIP)
        fit = table.letters(word, np.arange(len(scores)), table.starts)
        credit(fit.names, fit.scores, NameFit.LETTERS)
        fit = table.letters(word, fit.names, self._name_starts[fit.names])
        credit(fit.names, fit.scores + _IN_NAME, NameFit.LETTERS)
        # The first occurrence of a letter is not always the best one: letters at the starts of words say more.
        fit = table.letters(word, fit.names, self._name_starts[fit.names], initials=True)
        credit(fit.names, fit.scores + _IN_NAME, NameFit.LETTERS)
        ends = places + len(word.encode("utf-8", "surrogatepass"))
        own = self._name_starts[names]
        credit(names, _IN_NAME * (places >= own), NameFit.PART)
        # The match begins where a folder or the file's own name begins, and ends inside the file's own name.
        begins = (places == table.starts[names]) | (table.byte(np.maximum(places - 1, 0)) == _SLASH)
        begins &= ends > own
        credit(names[begins], _IN_NAME, NameFit.PREFIX)
        stem = begins & (table.byte(ends) == _DOT)
        credit(names[stem], _IN_NAME, NameFit.CASE)
        whole = begins & (ends == table.ends[names])
        credit(names[whole], _IN_NAME + _IN_NAME * (places == table.starts[names])[whole], NameFit.EXACT)
        parts = [part for part in word.split("/") if part]
        if len(parts) > 1:
            # For `search/rank` scattered letters say little; a folder or name that contains a whole part says more.
            held = sum(np.maximum(self._fit(part)[0], 0) for part in parts) // (len(parts) * 2 * NameFit.SLIP)
            scores += np.where(ways == int(NameFit.LETTERS), held, 0)
        return scores, ways
