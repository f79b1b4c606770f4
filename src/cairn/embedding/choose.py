"""Choose the model that the settings name. Naming a model costs nothing; making one loads numpy or the network."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from hashlib import sha256

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import HTTP_PROVIDER, EmbeddingConfig
from cairn.core.fingerprint import EmbeddingIdentity, canonical_json
from cairn.embedding.identity import BUNDLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.model import Embedder


def identity_of(config: EmbeddingConfig) -> EmbeddingIdentity:
    """Return the vector space of this model; prices and batch sizes do not change a vector."""
    if config.provider != HTTP_PROVIDER:
        return BUNDLED
    # Who runs a server can change what is behind a name, and does not say so; to tell servers apart is the most we can.
    known: dict[str, str | int] = {"url": config.url, "model": config.model, "dimension": config.dimension}
    return EmbeddingIdentity(
        provider=HTTP_PROVIDER,
        model=config.model,
        revision=sha256(canonical_json(known).encode()).hexdigest(),
        dimension=config.dimension,
        query_prefix=config.query_prefix,
        document_prefix=config.document_prefix,
        max_tokens=config.max_tokens,
    )


def choose(config: EmbeddingConfig, environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK) -> Embedder:
    """Return the model that the user's settings name. Nothing is loaded or asked of a server before its first use."""
    if config.provider == HTTP_PROVIDER:
        from cairn.embedding.http import HttpEmbedder  # noqa: PLC0415

        return HttpEmbedder(config, identity_of(config), environ, clock)
    from cairn.embedding.static import StaticEmbedder  # noqa: PLC0415

    return StaticEmbedder()


class Models:
    """The models that settings name, one object for equal settings. Several threads may use it at once."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ, self._clock = environ, clock
        self._lock = threading.Lock()
        self._remote: dict[EmbeddingConfig, Embedder] = {}

    def of(self, config: EmbeddingConfig) -> Embedder:
        """Return the model of these settings."""
        if config.provider != HTTP_PROVIDER:
            return _bundled()
        with self._lock:
            if config not in self._remote:
                self._remote[config] = choose(config, self._environ, self._clock)
            return self._remote[config]

    def let_go(self) -> None:
        """Forget all models; the next call of `of` loads again, and a model in use stays until it is released."""
        with self._lock:
            self._remote.clear()
        _bundled.cache_clear()


@cache
def _bundled() -> Embedder:
    return choose(EmbeddingConfig(), {})
