from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.config import Config, load_config
from cairn.core.fingerprint import (
    EmbeddingIdentity,
    FieldDifference,
    IndexParts,
    canonical_json,
    embed_fingerprint,
    explain_mismatch,
    ignore_fingerprint,
    index_fingerprint,
    query_fingerprint,
)
from cairn.core.types import IgnoreFile
from tests.conformance import conforms

MODEL = EmbeddingIdentity(provider="bundled", model="pebble", revision="sha256:00", dimension=256)
PARTS = IndexParts(
    grammars=(("python", "tree-sitter-python 0.25.0 sha256:aa"), ("go", "tree-sitter-go 0.25.0 sha256:bb")),
    chunker_version="1",
    extractor_version="1",
    tokenizer_version="1",
    schema_version=1,
    schemas=(("manifest", 1), ("chunk_row", 1)),
    embedding=MODEL,
)
NO_CONFIG = load_config(None)


def digest(config: Config = NO_CONFIG, parts: IndexParts = PARTS) -> str:
    return index_fingerprint(config, parts).digest


def parts_with(**changes: object) -> IndexParts:
    return dataclasses.replace(PARTS, **changes)  # type: ignore[arg-type]


def model_with(**changes: object) -> IndexParts:
    return parts_with(embedding=dataclasses.replace(MODEL, **changes))  # type: ignore[arg-type]


def fields_that_differ(config: Config = NO_CONFIG, parts: IndexParts = PARTS) -> list[str]:
    other = index_fingerprint(config, parts)
    assert other.digest != digest()
    return [change.name for change in explain_mismatch(index_fingerprint(NO_CONFIG, PARTS), other)]


# --- index fingerprint ------------------------------------------------------------------------------------------------


@conforms("003.FP1", "003.FP2")
@pytest.mark.parametrize(
    ("toml", "field"),
    [
        ("[index]\ntypes = ['csv']", "index.types"),
        ("[index]\nuntracked = false", "index.untracked"),
        ("[limits]\nmax_file_bytes = 1000", "limits.maxFileBytes"),
        ("[limits]\nmax_chunks_per_file = 10", "limits.maxChunksPerFile"),
    ],
)
def test_each_index_setting_of_the_repository_changes_the_index_fingerprint(toml: str, field: str):
    assert fields_that_differ(load_config(toml.encode())) == [field]


@conforms("003.FP1")
def test_every_index_setting_is_in_the_fingerprint_of_the_index_or_of_the_ignore_rules():
    index = NO_CONFIG.index
    for name, value in (("submodules", "index"), ("untracked", False), ("types", ("csv",))):
        changed = dataclasses.replace(NO_CONFIG, index=dataclasses.replace(index, **{name: value}))
        assert fields_that_differ(changed) == [f"index.{name}"]
        assert ignore_fingerprint([], changed) == ignore_fingerprint([], NO_CONFIG)
    for name in ("include", "exclude", "allow_sensitive"):
        changed = dataclasses.replace(NO_CONFIG, index=dataclasses.replace(index, **{name: ("a",)}))
        assert digest(changed) == digest()
        assert ignore_fingerprint([], changed) != ignore_fingerprint([], NO_CONFIG)
    # To refuse twins is to refuse a run: what a row means stays the same.
    refusing = dataclasses.replace(NO_CONFIG, index=dataclasses.replace(index, collisions="refuse"))
    assert digest(refusing) == digest()
    # How many files are indexed unasked says nothing of what a row means either.
    asking = dataclasses.replace(NO_CONFIG, index=dataclasses.replace(index, ask_above=7))
    assert digest(asking) == digest()
    assert ignore_fingerprint([], asking) == ignore_fingerprint([], NO_CONFIG)
    # Nor does it who takes up what a repository proposes.
    taking = dataclasses.replace(NO_CONFIG, index=dataclasses.replace(index, auto_reindex=True))
    assert digest(taking) == digest()
    assert ignore_fingerprint([], taking) == ignore_fingerprint([], NO_CONFIG)
    # A setting that is added later must be put into one of the two, and into this test.
    assert {field.name for field in dataclasses.fields(index)} == {
        *("ask_above", "auto_reindex", "collisions", "submodules", "untracked", "types"),
        *("include", "exclude", "allow_sensitive"),
    }


@conforms("003.FP2")
@pytest.mark.parametrize(
    "toml", ["# only a comment", "[index]\nuntracked = true", "[index]", "[query]\nscope = 'docs'", "[limits]"]
)
def test_what_leaves_the_effective_index_settings_alone_keeps_the_index_fingerprint(toml: str):
    assert digest(load_config(toml.encode())) == digest()


@conforms("003.FP3", "003.FP9", "003.AD2", "003.EC1")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"provider": "other"}, "embeddingProvider"),
        ({"model": "boulder"}, "embeddingModel"),
        ({"revision": "sha256:01"}, "embeddingRevision"),
        ({"dimension": 384}, "embeddingDimension"),
        ({"query_prefix": "query: "}, "embeddingQueryPrefix"),
        ({"document_prefix": "passage: "}, "embeddingDocumentPrefix"),
        ({"max_tokens": 512}, "embeddingMaxTokens"),
    ],
)
def test_each_part_of_the_models_identity_changes_the_index_and_embed_fingerprints(change: dict, field: str):
    changed = model_with(**change)
    assert fields_that_differ(parts=changed) == [field]
    assert changed.embedding is not None
    versions = {"chunker_version": "1", "ignore_engine_version": "1"}
    assert embed_fingerprint(changed.embedding, **versions) != embed_fingerprint(MODEL, **versions)


@conforms("003.FP4", "003.AD2")
@pytest.mark.parametrize(
    ("identity", "language"),
    [
        ("tree-sitter-python-fork 0.25.0 sha256:aa", "python"),
        ("tree-sitter-python 0.25.1 sha256:aa", "python"),
        ("tree-sitter-python 0.25.0 sha256:ab", "python"),
    ],
)
def test_name_version_and_checksum_of_a_grammar_change_the_index_fingerprint(identity: str, language: str):
    changed = parts_with(grammars=((language, identity), PARTS.grammars[1]))
    assert fields_that_differ(parts=changed) == [f"grammar.{language}"]


@conforms("003.FP4")
def test_a_grammar_more_or_less_is_named():
    assert fields_that_differ(parts=parts_with(grammars=PARTS.grammars[:1])) == ["grammar.go"]
    assert fields_that_differ(parts=parts_with(grammars=(*PARTS.grammars, ("c", "x")))) == ["grammar.c"]


@conforms("003.FP5", "003.FP9")
@pytest.mark.parametrize("name", ["chunker", "extractor", "tokenizer"])
def test_the_version_of_each_algorithm_changes_the_index_fingerprint(name: str):
    assert fields_that_differ(parts=parts_with(**{f"{name}_version": "2"})) == [f"{name}Version"]


@conforms("003.FP6")
def test_each_schema_version_changes_the_index_fingerprint():
    assert fields_that_differ(parts=parts_with(schema_version=2)) == ["schemaVersion"]
    assert fields_that_differ(parts=parts_with(schemas=(("manifest", 1), ("chunk_row", 2)))) == ["schema.chunk_row"]
    assert fields_that_differ(parts=parts_with(vector_store="milvus")) == ["vectorStoreProvider"]


def test_the_five_fields_of_the_runtime_tuple_are_there_with_and_without_a_model():
    five = {"embeddingProvider", "embeddingModel", "embeddingDimension", "vectorStoreProvider", "schemaVersion"}
    assert five <= dict(index_fingerprint(NO_CONFIG, PARTS).fields).keys()
    without = dict(index_fingerprint(NO_CONFIG, parts_with(embedding=None)).fields)
    assert five <= without.keys()
    assert without["embeddingModel"] == "null"


@conforms("003.FP8")
def test_the_index_fingerprint_does_not_depend_on_the_order_of_its_parts():
    turned = parts_with(grammars=PARTS.grammars[::-1], schemas=PARTS.schemas[::-1])
    assert index_fingerprint(NO_CONFIG, turned) == index_fingerprint(NO_CONFIG, PARTS)


def test_the_index_fingerprint_of_a_known_index_is_known():
    # printf '%s' '{"chunkerVersion":"1",...}' | sha256sum, with the object written out by hand.
    parts = IndexParts((("go", "g 1 é"),), "1", "2", "3", 4, (("manifest", 5),))
    text = (
        '{"chunkerVersion":"1","embeddingDimension":null,"embeddingModel":null,"embeddingProvider":null,'
        '"extractorVersion":"2","fingerprintFormat":1,"grammar.go":"g 1 é","index.collisions":"fail",'
        '"index.submodules":"skip","index.types":["csv"],"index.untracked":true,"limits.maxChunksPerFile":2000,'
        '"limits.maxFileBytes":10485760,"schema.manifest":5,"schemaVersion":4,"tokenizerVersion":"3",'
        '"vectorStoreProvider":"local"}'
    )
    found = index_fingerprint(load_config(b"[index]\ntypes = ['csv', 'csv']"), parts)
    assert "{" + ",".join(f'"{name}":{value}' for name, value in found.fields) + "}" == text
    assert found.digest == "e62d67c8a6152c4d6a84030585e8eface56735a4e4417d535086e49b0261934c"


@pytest.mark.parametrize("field", ["grammars", "schemas"])
def test_a_name_that_comes_twice_is_a_mistake_of_the_caller(field: str):
    with pytest.raises(ValueError, match="twice"):
        index_fingerprint(NO_CONFIG, parts_with(**{field: (("x", 1), ("x", 2))}))


def test_a_difference_shows_both_sides_and_whether_an_upgrade_explains_it():
    before = index_fingerprint(NO_CONFIG, PARTS)
    assert explain_mismatch(before, before) == ()
    upgraded = dataclasses.replace(MODEL, revision="sha256:01")
    after = index_fingerprint(
        load_config(b"[index]\nuntracked = false"),
        parts_with(grammars=PARTS.grammars[:1], chunker_version="2", embedding=upgraded),
    )
    assert explain_mismatch(before, after) == (
        FieldDifference("chunkerVersion", '"1"', '"2"', ours=True),
        FieldDifference("embeddingRevision", '"sha256:00"', '"sha256:01"', ours=True),
        FieldDifference("grammar.go", '"tree-sitter-go 0.25.0 sha256:bb"', None, ours=True),
        FieldDifference("index.untracked", "true", "false", ours=False),
    )


def test_a_model_that_the_user_chose_is_not_ours_to_change():
    before = index_fingerprint(NO_CONFIG, PARTS)
    chosen = index_fingerprint(NO_CONFIG, model_with(provider="remote", model="m"))
    other = index_fingerprint(NO_CONFIG, model_with(provider="remote", model="n"))
    assert {change.ours for change in explain_mismatch(before, chosen)} == {False}
    assert {change.ours for change in explain_mismatch(chosen, other)} == {False}


# --- ignore fingerprint -----------------------------------------------------------------------------------------------

FILES = [
    IgnoreFile(".cairnignore", b"!*.csv\n"),
    IgnoreFile(".gitignore", b"*.o\n"),
    IgnoreFile("b/.gitignore", b""),
    IgnoreFile("a.b/.gitignore", b"x\xff\n"),
    IgnoreFile("é/.gitignore", b"y"),
]


@conforms("003.FP7")
def test_every_ignore_file_by_name_and_by_byte_is_in_the_ignore_fingerprint():
    whole = ignore_fingerprint(FILES, NO_CONFIG)
    seen = {whole}
    for number, file in enumerate(FILES):
        others = FILES[:number] + FILES[number + 1 :]
        for changed in ([], [IgnoreFile(file.key, file.data + b"#")], [IgnoreFile("z" + file.key, file.data)]):
            seen.add(ignore_fingerprint(others + changed, NO_CONFIG))
    assert len(seen) == 1 + 3 * len(FILES)


@conforms("003.FP8")
def test_the_ignore_fingerprint_does_not_depend_on_the_order_of_the_walk():
    digests = {ignore_fingerprint(order, NO_CONFIG) for order in itertools.permutations(FILES)}
    assert len(digests) == 1


@conforms("003.FP8")
def test_the_ignore_fingerprint_of_known_files_is_known():
    # Made with printf and sha256sum from the bytes that the docstring promises, files in byte order of their keys.
    config = load_config(b"[index]\ninclude = ['src/']\nexclude = ['b', 'a']")
    assert ignore_fingerprint(FILES, config) == "c16f50f62669736757d64aee6782319bf354279ceaf87e2523e3ede71ea0e86f"
    assert ignore_fingerprint([], NO_CONFIG) == "c3ad0145ecb41e5a89c13f10e913c2ce5f18724afbfa1619420841ea414a4ec6"
    config = load_config(None, b"[index]\nallow_sensitive = ['*.pem']")
    assert ignore_fingerprint([], config) == "f36ef59e8f8a39337da54a8d7f4c08b3705903a289bd85b475dbb9e704d7d50b"


@conforms("003.FP8")
def test_keys_are_sorted_by_their_bytes():
    # U+FF5E sorts before U+1F600 by code point and by UTF-8 bytes, but after it in UTF-16 order.
    files = [IgnoreFile("\U0001f600/.gitignore", b"1"), IgnoreFile("\uff5e/.gitignore", b"2")]
    assert ignore_fingerprint(files, NO_CONFIG) == "927f51593366f0ea56adfc6fe6bb29cb62206ac0530cf6f8d6414d3ae7d93bf7"


@conforms("003.FP7")
def test_two_sets_of_rules_never_share_a_stream():
    pairs = [
        ([(".cairnignore", b"x\n"), ("b/.gitignore", b"y")], [(".cairnignore", b"x\nb/.gitignore\0y")]),
        ([(".cairnignore", b"x"), ("b/.gitignore", b"")], [(".cairnignore", b"xb/"), (".gitignore", b"")]),
        ([], [(".gitignore", b'{"exclude":[],"files":[],"include":[],"names":2}' + (48).to_bytes(8, "big"))]),
    ]
    for one, two in pairs:
        left, right = ([IgnoreFile(*entry) for entry in entries] for entries in (one, two))
        assert ignore_fingerprint(left, NO_CONFIG) != ignore_fingerprint(right, NO_CONFIG)


def test_an_include_is_not_an_exclude_and_their_order_means_nothing():
    toml = ["include = ['a']", "exclude = ['a']", "include = ['a', 'b']", "include = ['b', 'a']", "include = ['ab']"]
    one, two, three, four, five = (ignore_fingerprint(FILES, load_config(f"[index]\n{t}".encode())) for t in toml)
    assert three == four
    assert len({one, two, three, five}) == 4


# --- query and embed fingerprints -------------------------------------------------------------------------------------


@conforms("003.FP2")
def test_a_query_setting_or_a_comment_changes_the_query_fingerprint_only():
    before, after, comment = (load_config(t) for t in (b"[query]\n", b"[query]\nscope = 'docs'\n", b"[query]\n#"))
    assert len({query_fingerprint(config, "1") for config in (NO_CONFIG, before, after, comment)}) == 4
    assert digest(before) == digest(after) == digest(comment)
    assert ignore_fingerprint(FILES, before) == ignore_fingerprint(FILES, after)


@conforms("003.FP10")
def test_the_ranking_version_is_in_the_query_fingerprint_and_in_no_other():
    assert query_fingerprint(NO_CONFIG, "1") != query_fingerprint(NO_CONFIG, "2")
    assert not any("rank" in name.lower() for name, _ in index_fingerprint(NO_CONFIG, PARTS).fields)


@conforms("003.EC1")
def test_the_cache_key_of_vectors_takes_versions_and_no_ignore_file():
    base = embed_fingerprint(MODEL, chunker_version="1", ignore_engine_version="1")
    assert base != embed_fingerprint(MODEL, chunker_version="2", ignore_engine_version="1")
    assert base != embed_fingerprint(MODEL, chunker_version="1", ignore_engine_version="2")
    assert base == embed_fingerprint(MODEL, chunker_version="1", ignore_engine_version="1")


# --- canonical JSON ---------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("aé\U0001f600\uff5e", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_canonical_json_is_known():
    value = {"b": [1, True, None, "é\n"], "a": {}, "\uff5e": 0, "\U0001f600": -1}
    assert canonical_json(value) == '{"a":{},"b":[1,true,null,"é\\n"],"\uff5e":0,"\U0001f600":-1}'


@given(JSON)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: object):
    def turned(part: object) -> object:
        if isinstance(part, dict):
            return {key: turned(part[key]) for key in reversed(part)}
        return [turned(item) for item in part] if isinstance(part, list) else part

    assert canonical_json(value) == canonical_json(turned(value))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1.0, [1.5], {"a": [{"b": float("nan")}]}, {1: 2}])
def test_canonical_json_refuses_what_has_more_than_one_spelling(value: object):
    with pytest.raises(TypeError):
        canonical_json(value)  # type: ignore[arg-type]
