"""Which search server the settings name."""

from __future__ import annotations

import pytest

from cairn.core.config import EngineConfig
from cairn.engine.choose import choose
from cairn.errors import ConfigError

MILVUS = EngineConfig("milvus", "http://127.0.0.1:1", "MILVUS_TOKEN")


def test_without_a_server_in_the_settings_there_is_none() -> None:
    assert choose(EngineConfig(), {}, "x", 8) is None


def test_a_token_comes_from_the_environment_and_one_that_is_not_set_is_said() -> None:
    rows = choose(MILVUS, {"MILVUS_TOKEN": "secret"}, "x", 8)
    assert rows is not None
    rows.close()
    with pytest.raises(ConfigError, match="MILVUS_TOKEN, which is not set"):
        choose(MILVUS, {}, "x", 8)
