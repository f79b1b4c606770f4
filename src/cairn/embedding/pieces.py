"""Which word pieces a text holds, and how often: the first half of the static model.

A text is cut into words at everything but letters and digits, at `camelCase` and between letters and digits; words are
lower-cased and cut into the longest pieces that the vocabulary knows, from left to right. What it knows no piece for
is left out.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Acronyms, words, numbers, and runs of letters beyond ASCII. An acronym leaves its last letter to a word: HTTPServer.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
# Bytes that can be part of a word; everything else parts words, so a text is cut there before it is decoded.
_BLANKED = bytes(byte if chr(byte).isalnum() or byte >= 0x80 else 0x20 for byte in range(256))
# What a piece that goes on inside a word starts with.
INNER = "##"
# Nobody reads the rest of a longer word; a blob of base64 would cost its length.
_MOST_CHARS = 40
# What the memory of tokens may cost; 200,000 tokens, about 30 MiB, come to this.
_MEMORY_BYTES = 16 * 1024 * 1024
_TOKEN_BYTES = 64

PIECE_BITS = 15


def words(text: bytes) -> Iterator[str]:
    """The words of a text in order, as they are looked up: how a vocabulary is chosen."""
    for token in text.translate(_BLANKED).split():
        for word in _WORD.findall(token.decode("utf-8", "replace")):
            yield word.lower()[:_MOST_CHARS]


class Counts(NamedTuple):
    """How often each piece stands in each text, ordered by row and piece."""

    rows: NDArray[np.intp]
    pieces: NDArray[np.intp]
    counts: NDArray[np.intp]


class WordPieces:
    """A vocabulary, and the memory of the tokens it has cut. Not for several threads at once."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._first = {piece: number for number, piece in enumerate(vocabulary) if not piece.startswith(INNER)}
        self._inner = {piece[2:]: number for number, piece in enumerate(vocabulary) if piece.startswith(INNER)}
        self._longest = max(map(len, vocabulary), default=0)
        self._words: dict[str, tuple[int, ...]] = {}
        self._tokens = _Tokens(self)

    def count(self, texts: Sequence[bytes]) -> Counts:
        """The pieces of these texts; at most 2**17 of them at a time."""
        if self._tokens.cost > _MEMORY_BYTES:
            self._words, self._tokens = {}, _Tokens(self)
        number_of, numbers, ends = self._tokens.__getitem__, array("i"), [0]
        for text in texts:
            numbers.extend(map(number_of, text.translate(_BLANKED).split()))
            ends.append(len(numbers))
        tokens = np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32)
        rows = np.repeat(np.arange(len(texts), dtype=np.uint32), np.diff(ends))
        lengths, pieces = self._tokens.pieces_of(tokens)
        keys = np.repeat(rows << np.uint32(PIECE_BITS), lengths) | pieces
        keys.sort()
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.intp)
        distinct = keys[first]
        return Counts(
            (distinct >> np.uint32(PIECE_BITS)).astype(np.intp),
            (distinct & np.uint32((1 << PIECE_BITS) - 1)).astype(np.intp),
            np.diff(first, append=len(keys)),
        )

    def pieces(self, token: str) -> list[int]:
        """The pieces of one token, in order."""
        found: list[int] = []
        for word in _WORD.findall(token):
            pieces = self._words.get(word)
            if pieces is None:
                pieces = self._words[word] = self.cut(word.lower()[:_MOST_CHARS])
            found += pieces
        return found

    def cut(self, word: str) -> tuple[int, ...]:
        """The pieces of one word as it is looked up."""
        if (whole := self._first.get(word)) is not None:
            return (whole,)
        found: list[int] = []
        at = 0
        while at < len(word):
            known = self._inner if at else self._first
            for end in range(min(len(word), at + self._longest), at, -1):
                if (piece := known.get(word[at:end])) is not None:
                    found.append(piece)
                    at = end
                    break
            else:
                at += 1
        return tuple(found)


class _Tokens(dict[bytes, int]):
    """A number for every token that was seen, and the pieces of each, one after the other."""

    def __init__(self, words: WordPieces) -> None:
        super().__init__()
        self.cost = 0
        self._cutter = words
        self._ends = array("i", [0])
        self._pieces = array("i")

    def __missing__(self, token: bytes) -> int:
        if token.islower() and token.isalpha():
            # One word of ASCII: half of all tokens.
            self._pieces.extend(self._cutter.cut(token[:_MOST_CHARS].decode()))
        else:
            # Cut at ASCII bytes only, so a token that is not UTF-8 is replaced as it would be inside its text.
            self._pieces.extend(self._cutter.pieces(token.decode("utf-8", "replace")))
        self._ends.append(len(self._pieces))
        self.cost += len(token) + _TOKEN_BYTES
        number = len(self)
        self[token] = number
        return number

    def pieces_of(self, tokens: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        """How many pieces each of these tokens has, and all of them in order."""
        if not len(self._pieces):
            return np.zeros(len(tokens), np.int32), np.empty(0, np.uint32)
        ends = np.frombuffer(self._ends, np.int32)
        starts = ends[tokens]
        lengths = ends[tokens + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        return lengths, np.frombuffer(self._pieces, np.uint32)[places]
