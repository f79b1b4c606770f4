"""Which model the settings name. To name it costs nothing; numpy and the network are loaded when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from cairn.clock import SYSTEM_CLOCK, Clock
from cairn.config import HTTP_PROVIDER, EmbeddingConfig
from cairn.embedding.identity import BUNDLED
from cairn.fingerprint import EmbeddingIdentity, canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.model import Embedder


def identity_of(config: EmbeddingConfig) -> EmbeddingIdentity:
    """The vector space of this model. How it is paid for and how many texts it gets at once do not change a vector."""
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
    """The model that the user's settings name. Nothing is loaded or asked of a server before its first use."""
    if config.provider == HTTP_PROVIDER:
        from cairn.embedding.http import HttpEmbedder  # noqa: PLC0415

        return HttpEmbedder(config, identity_of(config), environ, clock)
    from cairn.embedding.static import StaticEmbedder  # noqa: PLC0415

    return StaticEmbedder()
