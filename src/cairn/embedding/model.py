"""What every embedding model must provide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cairn.core.fingerprint import EmbeddingIdentity
from cairn.errors import EmbeddingFailed

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns text into vectors. Equal text gives equal vectors, whatever else is in the batch.

    `cheap` says that embedding a text costs less than looking its vector up, so that no cache is asked.
    """

    @property
    def identity(self) -> EmbeddingIdentity: ...

    @property
    def cheap(self) -> bool: ...

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        """Return one finite row of the model's dimension per text: of unit length, or zero for no meaning."""

    def embed_query(self, text: str) -> Vectors:
        """Return the row for what a person asks."""


def check_vectors(vectors: NDArray[np.floating], count: int, dimension: int) -> Vectors:
    """Return these vectors as float32; raises `EmbeddingFailed` unless they are `count` finite rows."""
    if vectors.shape != (count, dimension):
        raise EmbeddingFailed(why=f"vectors of shape {vectors.shape} came instead of {(count, dimension)}")
    # A number too large for float32 becomes infinite here, and is refused as such.
    with np.errstate(over="ignore"):
        checked = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(checked).all():
        raise EmbeddingFailed(why="a vector holds a value that is no finite number")
    return checked
