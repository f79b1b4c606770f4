"""The identity of the bundled model, apart from the model: naming it costs nothing, loading it needs numpy."""

from __future__ import annotations

from cairn.core.fingerprint import BUNDLED_PROVIDER, EmbeddingIdentity

DIMENSION = 256
# The SHA-256 of the data file: another model, or another conversion of it, is another identity.
MODEL_SHA256 = "a54d2f561b0e0bc5197d348d0ab62dd3091e0932cde32985463450182d2a1e4f"
BUNDLED = EmbeddingIdentity(BUNDLED_PROVIDER, "cairn-static", MODEL_SHA256, DIMENSION)
