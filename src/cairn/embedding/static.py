"""The model that comes with Cairn: a table of word-piece vectors, summed. No network, no other package than numpy.

The vector of a text is the sum of its pieces' vectors, each times the square root of how often it stands there, brought
to unit length; in a query each piece has a learned weight besides.

The sums are exact. Weights are rounded to whole numbers of 24 bits and the table holds whole numbers, so every product
and every partial sum is a whole number below 2**53, which a double holds as it is: the order of the additions, the
batch, the number of threads and the machine do not show in the result. (It would take a text of 2**29 words to get
there.)
"""

from __future__ import annotations

import mmap
import os
import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.identity import BUNDLED, DIMENSION, MODEL_SHA256
from cairn.embedding.model import Vectors
from cairn.errors import ModelDamaged

# --- word pieces ------------------------------------------------------------------------------------------------------


# Acronyms, words, numbers, and runs of letters beyond ASCII. An acronym leaves its last letter to a word: HTTPServer.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
# Bytes that can be part of a word; everything else parts words, so a text is cut there before it is decoded.
_BLANKED = bytes(byte if chr(byte).isalnum() or byte >= 0x80 else 0x20 for byte in range(256))
# The prefix of a piece that continues a word.
INNER = "##"
# Nobody reads the rest of a longer word; a blob of base64 would cost its length.
_MOST_CHARS = 40
# The bound on the memory of tokens, which about 200,000 tokens (30 MiB) reach.
_MEMORY_BYTES = 16 * 1024 * 1024
_TOKEN_BYTES = 64

PIECE_BITS = 15


def words(text: bytes) -> Iterator[str]:
    """Yield the words of a text in order, as they are looked up: how a vocabulary is chosen."""
    for token in text.translate(_BLANKED).split():
        for word in _WORD.findall(token.decode("utf-8", "replace")):
            yield word.lower()[:_MOST_CHARS]


class PieceCounts(NamedTuple):
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

    def count(self, texts: Sequence[bytes]) -> PieceCounts:
        """Return how often each piece stands in each of these texts; at most 2**17 texts at a time."""
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
        return PieceCounts(
            (distinct >> np.uint32(PIECE_BITS)).astype(np.intp),
            (distinct & np.uint32((1 << PIECE_BITS) - 1)).astype(np.intp),
            np.diff(first, append=len(keys)),
        )

    def pieces(self, token: str) -> list[int]:
        """Return the pieces of one token, in order."""
        found: list[int] = []
        for word in _WORD.findall(token):
            pieces = self._words.get(word)
            if pieces is None:
                pieces = self._words[word] = self.cut(word.lower()[:_MOST_CHARS])
            found += pieces
        return found

    def cut(self, word: str) -> tuple[int, ...]:
        """Return the pieces of one word, which is lower case and cut to its greatest length."""
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
        """Return how many pieces each of these tokens has, and all pieces in order."""
        if not len(self._pieces):
            return np.zeros(len(tokens), np.int32), np.empty(0, np.uint32)
        ends = np.frombuffer(self._ends, np.int32)
        starts = ends[tokens]
        lengths = ends[tokens + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        return lengths, np.frombuffer(self._pieces, np.uint32)[places]


# The data file: row scales and query weights (float32), the table (int8), then the vocabulary, one piece per line.
PIECES = 1 << PIECE_BITS
MODEL_FILE = os.path.join(os.path.dirname(__file__), "data", "cairn-static.bin")
_BEFORE_VOCABULARY = 8 * PIECES + PIECES * DIMENSION

_WEIGHT_BITS = 24
_LENGTH_BITS = 20
_ROWS_AT_ONCE = 256
_BYTES_AT_ONCE = 1024 * 1024


class _Model(NamedTuple):
    table: NDArray[np.int8]
    document_weights: NDArray[np.float64]
    query_weights: NDArray[np.float64]
    words: WordPieces


class StaticEmbedder:
    """The bundled model, loaded by its first use; several threads may share one.

    Raises `ModelDamaged` when the data file does not have the given SHA-256, which is that of this release unless
    another is asked for.
    """

    cheap = True

    def __init__(self, path: str = MODEL_FILE, digest: str = MODEL_SHA256) -> None:
        self.identity = replace(BUNDLED, revision=digest)
        self._path = path
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        with self._lock:
            model = self._model()
            for start, end in _slices(texts):
                counts = model.words.count(texts[start:end])
                vectors[start:end] = _vectors(model.table, model.document_weights, counts, end - start)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        with self._lock:
            model = self._model()
            # An argument that was not UTF-8 holds halves of characters, which cannot be encoded.
            counts = model.words.count([text.encode("utf-8", "replace")])
            vector: Vectors = _vectors(model.table, model.query_weights, counts, 1)[0]
        return vector

    def _model(self) -> _Model:
        if self._loaded is None:
            self._loaded = _load(self._path, self.identity.revision)
        return self._loaded


def _slices(texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    start = size = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == _ROWS_AT_ONCE or size + len(text) > _BYTES_AT_ONCE):
            yield start, end
            start, size = end, 0
        size += len(text)
    if texts:
        yield start, len(texts)


def _vectors(table: NDArray[np.int8], weights: NDArray[np.float64], found: PieceCounts, rows: int) -> Vectors:
    weighted = np.rint(np.sqrt(found.counts) * weights[found.pieces])
    ends = np.searchsorted(found.rows, np.arange(rows + 1)).tolist()
    sums = np.empty((rows, DIMENSION))
    for row in range(rows):
        mine = slice(ends[row], ends[row + 1])
        # Not `@`: the threads behind it spend more time on waiting for one another than these few rows take.
        np.einsum("i,ij->j", weighted[mine], table[found.pieces[mine]].astype(np.float64), out=sums[row])
    return _to_unit_length(sums)


def _to_unit_length(sums: NDArray[np.float64]) -> Vectors:
    # Whole numbers again, small enough that their squares add up exactly.
    largest = np.abs(sums).max(axis=1, keepdims=True)
    whole = np.rint(sums / np.maximum(largest, 1) * 2**_LENGTH_BITS).astype(np.int64)
    lengths = np.sqrt((whole * whole).sum(axis=1, keepdims=True).astype(np.float64))
    unit: Vectors = (whole / np.maximum(lengths, 1)).astype(np.float32)
    return unit


def _load(path: str, digest: str) -> _Model:
    data = _mapped(path)
    if sha256(data).hexdigest() != digest:
        raise ModelDamaged(path=path, why="its checksum is another")
    scales = np.frombuffer(data, "<f4", PIECES).astype(np.float64)
    of_query = np.frombuffer(data, "<f4", PIECES, 4 * PIECES).astype(np.float64)
    table = np.frombuffer(data, np.int8, PIECES * DIMENSION, 8 * PIECES).reshape(PIECES, DIMENSION)
    weights = scales * (2**_WEIGHT_BITS / scales.max())
    vocabulary = data[_BEFORE_VOCABULARY:].decode("utf-8").split("\n")
    return _Model(table, weights, weights * of_query, WordPieces(vocabulary))


def _mapped(path: str) -> mmap.mmap:
    """Return the file's bytes, shared by all processes that use them."""
    try:
        with open(path, "rb") as file:
            # The system cannot map nothing, and a file without the whole table need not be read.
            size = os.fstat(file.fileno()).st_size
            if size <= _BEFORE_VOCABULARY:
                raise ModelDamaged(path=path, why="its size is another")
            return mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
    except OSError as error:
        raise ModelDamaged(path=path, why=error.strerror or "it cannot be read") from error
