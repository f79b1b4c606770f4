"""Find the code that no parser has understood and that holds a name: it may define or use it, and nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cairn.core.filetypes import may_define
from cairn.engine.scan import Texts, Wanted
from cairn.search.pattern import Case, compiled
from cairn.store import live_parts

# Of more names a question is about so much that single ones say little.
_MOST_NAMES = 32
_WORD = re.compile(r"\w+")


class Unparsed:
    """The files of one snapshot whose language has no grammar, and the lines of others that could not be parsed."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._lines = {
            path: lines
            for part in live_parts(texts.view)
            for path, language, lines in part.not_understood()
            if may_define(language)
        }

    def holding(self, names: Iterable[str]) -> int:
        """Return in how many files one of these names stands where nothing was parsed, whatever its case."""
        words = sorted({name for name in names if _WORD.fullmatch(name)})[:_MOST_NAMES]
        if not words or not self._lines:
            return 0
        wanted = compiled(rf"\b(?:{'|'.join(words)})\b", regex=True, case=Case.INSENSITIVE)
        found = self._texts.matching(wanted, lambda _: True, among=self._lines)
        return sum(self._is_lost(place, wanted) for place, _ in found)

    def _is_lost(self, place: int, wanted: Wanted) -> bool:
        lines = self._lines[self._texts.paths[place]]
        if not lines:
            return True
        return any(first <= line.number <= last for line in self._texts.lines(wanted, place) for first, last in lines)
