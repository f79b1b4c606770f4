"""The models of a server, each loaded once: to load the bundled one takes longer than most syncs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache

from cairn.clock import Clock
from cairn.config import HTTP_PROVIDER, EmbeddingConfig
from cairn.embedding.choose import choose
from cairn.embedding.model import Embedder


class Models:
    """The model that settings name, the same one for whoever asks. They may be used by several threads at once."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ, self._clock = environ, clock
        self._lock = threading.Lock()
        self._remote: dict[EmbeddingConfig, Embedder] = {}

    def of(self, config: EmbeddingConfig) -> Embedder:
        """The model of these settings."""
        if config.provider != HTTP_PROVIDER:
            return _bundled()
        with self._lock:
            if config not in self._remote:
                self._remote[config] = choose(config, self._environ, self._clock)
            return self._remote[config]

    def let_go(self) -> None:
        """Forget them; the next one who asks loads again, and who has one keeps it until then."""
        with self._lock:
            self._remote.clear()
        _bundled.cache_clear()


@cache
def _bundled() -> Embedder:
    return choose(EmbeddingConfig(), {})
