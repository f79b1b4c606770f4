"""Find the code that no parser has understood and that holds a name: it may define or use it, and nobody knows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from cairn.core.filetypes import may_define
from cairn.engine.scan import Texts
from cairn.search.pattern import Case, compiled
from cairn.store import live_parts

# Of more names a question is about so much that single ones say little.
_MOST_NAMES = 32
_WORD = re.compile(r"\w+")


class Unparsed:
    """The files of one snapshot whose language has no grammar, and the lines of others that could not be parsed."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._whole: list[str] = []
        # Such lines are few: those of all files stand in one text, and `_begins` says where those of the next file do.
        pieces, self._begins, at = list[bytes](), list[int](), 0
        for part in live_parts(texts.view):
            for path, language, lines in part.not_understood():
                if may_define(language) and not lines:
                    self._whole.append(path)
                elif may_define(language):
                    pieces.append(_of_lines(texts.text(texts.place(path)), lines))
                    self._begins.append(at)
                    at += len(pieces[-1]) + 1
        self._lines = b"\n".join(pieces)

    def holding(self, names: Iterable[str]) -> int:
        """Return in how many files one of these names stands where nothing was parsed, whatever its case."""
        words = sorted({name for name in names if _WORD.fullmatch(name)})[:_MOST_NAMES]
        if not words or not (self._whole or self._lines):
            return 0
        wanted = compiled(rf"\b(?:{'|'.join(words)})\b", regex=True, case=Case.INSENSITIVE)
        files = {bisect_right(self._begins, found.start()) for found in wanted.regexp.finditer(self._lines)}
        return len(files) + len(self._texts.matching(wanted, lambda _: True, among=self._whole))


def _of_lines(text: memoryview, lines: Iterable[tuple[int, int]]) -> bytes:
    """Return these lines of a text; the first is line 1, and the last of each range belongs to it."""
    written = bytes(text).split(b"\n")
    return b"\n".join(line for first, last in lines for line in written[first - 1 : last])
