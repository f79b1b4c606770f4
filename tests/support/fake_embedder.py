"""A model without meaning, for tests: its vectors come from the bytes alone and are equal on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from cairn.core.fingerprint import EmbeddingIdentity
from cairn.embedding.model import Vectors

_BLOCK = 32  # 16-bit numbers in one digest of 64 bytes


class FakeEmbedder:
    """Vectors made of digests: equal bytes lie together, all others lie anywhere. A query is embedded like a text."""

    def __init__(self, dimension: int = 64, *, cheap: bool = True) -> None:
        self.identity = EmbeddingIdentity("fake", "cairn-fake", "1", dimension)
        self.cheap = cheap

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        dimension = self.identity.dimension
        numbers = np.empty((len(texts), dimension), np.int64)
        for row, text in enumerate(texts):
            digests = (
                blake2b(text, salt=block.to_bytes(16, "little")).digest() for block in range(-(-dimension // _BLOCK))
            )
            numbers[row] = np.frombuffer(b"".join(digests), "<i2")[:dimension]
        # Whole numbers add up to the same sum in any order, so the last bit is the same on every machine.
        lengths = np.sqrt((numbers * numbers).sum(axis=1, keepdims=True).astype(np.float64))
        unit: Vectors = (numbers / np.maximum(lengths, 1)).astype(np.float32)
        return unit

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text.encode("utf-8", "replace")])[0]
        return vector
