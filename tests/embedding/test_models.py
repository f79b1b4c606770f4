"""A model is loaded once for all that use it."""

from __future__ import annotations

from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import EmbeddingConfig
from cairn.embedding.choose import Models


def test_the_same_settings_get_the_same_model_and_others_another() -> None:
    models = Models({}, SYSTEM_CLOCK)
    assert (
        models.of(EmbeddingConfig()) is models.of(EmbeddingConfig()) is Models({}, SYSTEM_CLOCK).of(EmbeddingConfig())
    )
    remote = EmbeddingConfig(provider="http", url="https://example.org/embeddings", model="a", dimension=4)
    assert models.of(remote) is models.of(remote)
    assert models.of(remote) is not models.of(EmbeddingConfig())
