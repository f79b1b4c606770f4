"""Choose the search server that the user's settings name. Its client package is loaded at the first call."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import EngineConfig
from cairn.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.milvus_rows import MilvusRows

LOCAL = "local"


def choose(
    config: EngineConfig,
    environ: Mapping[str, str],
    store_id: str,
    dimension: int,
    *,
    rows: int = 0,
    clock: Clock = SYSTEM_CLOCK,
) -> MilvusRows | None:
    """Return the rows of a store on the user's server, not connected yet; None where this machine searches by itself.

    `ConfigError` when the variable that should hold the token is not set.
    """
    if config.kind == LOCAL:
        return None
    from cairn.engine.milvus import Server  # noqa: PLC0415
    from cairn.engine.milvus_rows import MilvusRows  # noqa: PLC0415

    token = environ.get(config.token_env, "") if config.token_env else ""
    if config.token_env and not token:
        why = f"[engine] token_env names {config.token_env}, which is not set"
        raise ConfigError(file="config.toml", why=why)
    return MilvusRows(Server(config.uri, token, clock=clock), store_id, dimension, rows)
