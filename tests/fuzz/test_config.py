"""Whatever the bytes are, the outcome is a `Config` within the caps or one `ConfigError`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core import limits
from cairn.core.config import Config, load_config
from cairn.errors import ConfigError
from tests.conformance import conforms
from tests.lengths import at_length

TABLES = ["index", "limits", "query", "embedding", "engine", "a.b", '"a b"', '"\\u202e"']
LIMITS = ["max_file_bytes", "max_chunks_per_file", "max_bytes_per_batch"]
KEYS = ["include", "exclude", "types", "untracked", "collisions", "submodules", "scope", "allow_sensitive"]
MODEL = ["provider", "url", "model", "dimension", "key_env", "query_prefix", "max_tokens", "batch"]
NAMES = st.sampled_from([*TABLES, *LIMITS, *KEYS, *MODEL])
PATHS = ["src/**", "../x", "/etc", "!a", "csv", ".env", "skip", "keep", "runtime", "", "a\tb", "*" * 2_000]
SERVERS = ["http", "bundled", "https://example.org/v1", "http://localhost:1", "http://a@b", "MY_KEY"]
TEXTS = st.sampled_from([*PATHS, *SERVERS])
SCALARS = st.one_of(
    TEXTS.map(lambda text: '"' + text.replace("\t", "\\t") + '"'),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.sampled_from(
        ["true", "false", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "inf", "-nan", "'''x'''", '"""']
    )
    | st.integers(0, 2**40).map(hex),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: "[" + ", ".join(items) + "]")
        | st.tuples(NAMES, inner).map(lambda pair: "{" + pair[0] + " = " + pair[1] + "}")
    ),
    max_leaves=6,
)
LINES = st.one_of(
    st.tuples(NAMES, VALUES).map(" = ".join),
    NAMES.map("[{}]".format),
    NAMES.map("[[{}]]".format),
    st.just("# comment"),
)
LOOSE = st.lists(LINES, max_size=12).map("\n".join)


def table(name: str, keys: list[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.dictionaries(st.sampled_from(keys), values, max_size=3)
    return pairs.map(lambda found: f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in found.items()))


# Documents that get past the parser and the names, so that the checks of single values are reached.
TIDY = st.tuples(
    table("index", KEYS[:3], st.lists(SCALARS | TEXTS.map(repr), max_size=3).map(lambda s: "[" + ", ".join(s) + "]")),
    table("limits", LIMITS, st.integers(-1, 2_001).map(str) | SCALARS),
    table("query", ["scope"], SCALARS),
).map("".join)
DOCUMENTS = LOOSE | TIDY
# What only the user's own file may hold: a whole order for a remote model, with something in it replaced.
ORDER = {"provider": '"http"', "url": '"https://example.org/v1"', "model": '"m"', "dimension": "8"}
OWN = st.dictionaries(st.sampled_from(MODEL), SCALARS, max_size=2).map(
    lambda found: "[embedding]\n" + "".join(f"{key} = {value}\n" for key, value in (ORDER | found).items())
)


def outcome(repo: bytes | None, user: bytes | None) -> Config | ConfigError:
    try:
        return load_config(repo, user)
    except ConfigError as error:
        return error


def check(repo: bytes | None, user: bytes | None) -> None:
    config = outcome(repo, user)
    if isinstance(config, ConfigError):
        assert config.sentence.isprintable()
        assert len(config.sentence) < 400
        assert config.exit_status in (30, 31)
        return
    hash(config)
    assert 1 <= config.limits.max_file_bytes <= limits.MAX_FILE_BYTES
    assert 1 <= config.limits.max_chunks_per_file <= limits.MAX_CHUNKS_PER_FILE
    assert 1 <= config.limits.max_bytes_per_batch <= limits.MAX_BYTES_PER_BATCH
    for glob in config.index.include + config.index.exclude:
        assert glob[0] not in "/!#"
        assert ".." not in glob.split("/")
        assert glob.isprintable() or not any(ord(char) < 32 for char in glob)
    assert config.index.collisions == "keep" or user is not None
    assert not config.index.allow_sensitive or user is not None
    assert config.embedding.provider == "bundled" or user is not None
    assert config.embedding.url.startswith(("https://", "http://localhost")) or not config.embedding.url
    assert config.index.submodules == "skip"


@conforms("003.CFG1")
@given(st.binary(max_size=400))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_arbitrary_bytes_end_in_a_config_or_one_error(data: bytes):
    check(data, None)
    check(None, data)


@conforms("003.CFG1")
@given(st.text(alphabet="[]{}=\"'\\#.,\n\r\t 019aexuU_-+:TZé\u202e", max_size=80))
@settings(max_examples=66, derandomize=True, deadline=None)
def test_arbitrary_marks_of_toml_end_in_a_config_or_one_error(text: str):
    check(text.encode(), None)


@conforms("003.CFG1", "003.CFG4")
@given(DOCUMENTS, DOCUMENTS | OWN)
@settings(max_examples=66, derandomize=True, deadline=None)
def test_documents_of_known_and_unknown_keys_end_in_a_config_or_one_error(repo: str, user: str):
    check(repo.encode("utf-8"), None)
    check(repo.encode("utf-8"), user.encode("utf-8"))
    check(None, user.encode("utf-8"))


@pytest.mark.long
@given(st.binary(max_size=4_000) | DOCUMENTS.map(str.encode))
@settings(max_examples=at_length(50_000), derandomize=True, deadline=None)
def test_many_more_documents(data: bytes):
    check(data, data)
