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
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.identity import BUNDLED, DIMENSION, MODEL_SHA256
from cairn.embedding.model import Vectors
from cairn.embedding.pieces import PIECE_BITS, Counts, WordPieces
from cairn.errors import ModelDamaged

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

    Refuses with `ModelDamaged` when its data are not the ones this version was released with, or for another file not
    those with the SHA-256 that was asked for.
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


def _vectors(table: NDArray[np.int8], weights: NDArray[np.float64], found: Counts, rows: int) -> Vectors:
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
    """The file's bytes, shared by all processes that use them."""
    try:
        with open(path, "rb") as file:
            # The system cannot map nothing, and a file without the whole table need not be read.
            size = os.fstat(file.fileno()).st_size
            if size <= _BEFORE_VOCABULARY:
                raise ModelDamaged(path=path, why="its size is another")
            return mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
    except OSError as error:
        raise ModelDamaged(path=path, why=error.strerror or "it cannot be read") from error
