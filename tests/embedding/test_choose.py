"""The model is the user's choice: bundled unless their settings say otherwise, and named without being loaded."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from cairn.core.config import EmbeddingConfig, load_config
from cairn.embedding.choose import choose, identity_of
from cairn.embedding.http import HttpEmbedder
from cairn.embedding.identity import BUNDLED
from cairn.embedding.static import StaticEmbedder
from tests.conformance import conforms

REMOTE = EmbeddingConfig(
    provider="http", model="m", url="https://example.org/v1/embeddings", key_env="KEY", dimension=8, batch=4
)
CHANGES: dict[str, object] = {
    "model": "n",
    "url": "https://example.org/v2/embeddings",
    "dimension": 9,
    "query_prefix": "q",
    "document_prefix": "d",
    "max_tokens": 100,
}


def test_without_settings_the_bundled_model_is_used() -> None:
    config = load_config(None).embedding
    assert identity_of(config) is BUNDLED
    assert isinstance(choose(config, {}), StaticEmbedder)


def test_a_remote_model_that_is_switched_off_is_not_used() -> None:
    config = replace(REMOTE, provider="bundled")
    assert identity_of(config) is BUNDLED
    assert isinstance(choose(config, {}), StaticEmbedder)


def test_a_remote_model_is_used_when_the_user_says_so() -> None:
    model = choose(REMOTE, {})
    assert isinstance(model, HttpEmbedder)
    assert not model.cheap
    assert model.identity == identity_of(REMOTE)
    assert (model.identity.provider, model.identity.model, model.identity.dimension) == ("http", "m", 8)


@conforms("003.EC1")
@pytest.mark.parametrize("key", CHANGES)
def test_whatever_changes_a_vector_is_another_identity(key: str) -> None:
    changed = identity_of(replace(REMOTE, **{key: CHANGES[key]}))  # type: ignore[arg-type]
    assert changed != identity_of(REMOTE)
    assert (changed.revision != identity_of(REMOTE).revision) == (key in ("model", "url", "dimension"))


@pytest.mark.parametrize(("key", "value"), [("key_env", "OTHER"), ("key_env", None), ("batch", 1)])
def test_how_it_is_paid_for_and_fed_is_not(key: str, value: object) -> None:
    assert identity_of(replace(REMOTE, **{key: value})) == identity_of(REMOTE)  # type: ignore[arg-type]


def test_every_setting_is_one_or_the_other() -> None:
    assert {field.name for field in fields(EmbeddingConfig)} == {*CHANGES, "provider", "key_env", "batch"}


def test_to_name_a_model_loads_neither_numpy_nor_the_network() -> None:
    code = (
        "import sys\n"
        "from cairn.core.config import EmbeddingConfig\n"
        "from cairn.embedding.choose import identity_of\n"
        "import cairn.sync.codebase\n"
        "identity_of(EmbeddingConfig('http', 'm', 'https://example.org/v1/embeddings', None, 8))\n"
        "print({'numpy', 'urllib.request', 'http.client', 'ssl', 'socket'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
