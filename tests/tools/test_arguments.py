"""Arguments are what the schema of a tool says, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.errors import InvalidRequest
from cairn.tools.arguments import WORDS, checked, forgiven
from cairn.tools.table import listed

TOOLS = listed(semantic=True)
SCHEMAS = {tool.name: tool.schema for tool in TOOLS}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        yield from parts(inner)
    if "items" in schema:
        yield from parts(schema["items"])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_uses_only_words_that_are_checked(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    for part in parts(tool.schema):
        assert set(part) <= WORDS
        if "properties" in part:
            assert part["additionalProperties"] is False


def test_a_tool_without_arguments_says_that_there_are_none() -> None:
    with pytest.raises(InvalidRequest, match="there are none"):
        checked(SCHEMAS["list_codebases"], {"path": "."})


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("search_codebase", {}, "query"),
        ("search_codebase", {"query": ""}, "query"),
        ("search_codebase", {"query": 7}, "query"),
        ("search_codebase", {"query": "x", "limit": 0}, "limit"),
        ("search_codebase", {"query": "x", "limit": 101}, "limit"),
        ("search_codebase", {"query": "x", "limit": True}, "limit"),
        ("search_codebase", {"query": "x", "limit": 8.0}, "limit"),
        ("search_codebase", {"query": "x", "mode": "magic"}, "mode"),
        ("search_codebase", {"query": "x", "debug": 1}, "debug"),
        ("search_codebase", {"query": "x", "include": "*.py"}, "include"),
        ("search_codebase", {"query": "x", "include": ["a", 7]}, "include[1]"),
        ("search_codebase", {"query": "x", "include": ["a"] * 201}, "include"),
        ("search_codebase", {"query": "\ud800"}, "query"),
        ("search_codebase", {"query": "x", "path": None}, "path"),
        ("search_codebase", {"query": "x", "k": 3}, "k"),
        ("call_graph", {"symbol": "x", "depth": 99}, "depth"),
        ("call_graph", {"symbol": 7}, "symbol"),
        ("call_graph", {"symbol": {"file": "a.py"}}, "symbol.symbolId"),
        ("call_graph", {"symbol": {"file": "a.py", "symbolId": "x", "line": 1}}, "symbol.line"),
        ("check_edit", {}, "files"),
        ("check_edit", {"files": []}, "files"),
        ("check_edit", {"files": ["a.py"] * 201}, "files"),
        ("check_edit", {"files": ["a.py", ""]}, "files[1]"),
        ("list_codebases", {"all": True}, "all"),
        ("list_codebases", [], "arguments"),
    ],
)
def test_the_field_that_is_wrong_is_named(tool: str, arguments: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        checked(SCHEMAS[tool], arguments)
    assert refused.value.fields["field"] == field


@pytest.mark.parametrize(
    ("least", "given", "why"),
    [(1, [], "must not be empty"), (2, [], "must not be empty"), (2, ["a"], "must have at least 2 entries")],
)
def test_a_list_that_is_too_short_is_refused(least: int, given: list[str], why: str) -> None:
    files = {"type": "array", "items": {"type": "string"}, "minItems": least}
    with pytest.raises(InvalidRequest) as refused:
        checked({"type": "object", "properties": {"files": files}}, {"files": given})
    assert refused.value.sentence == f"The argument files cannot be used: {why}."


def test_what_is_left_out_gets_its_default() -> None:
    found = checked(SCHEMAS["search_codebase"], {"query": "x"})
    # What results are depends on the mode.
    assert found["mode"] == "hybrid"
    assert "groupBy" not in found
    assert not any(found[name] for name in ("allowStale", "debug", "include", "exclude", "languages"))
    # Whether an agent has said how many decides how long an answer may be.
    assert {"path", "scope", "continuation", "limit", "maxTokens"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("search_codebase", {"query": "x", "path": None, "scope": None}, {"query": "x"}),
        ("search_codebase", {"query": "x", "limit": "3"}, {"query": "x", "limit": 3}),
        ("search_codebase", {"query": "x", "limit": 3.0}, {"query": "x", "limit": 3}),
        ("search_codebase", {"query": "x", "include": "*.py"}, {"query": "x", "include": ["*.py"]}),
        ("search_codebase", {"query": "x", "include": '["a", "b"]'}, {"query": "x", "include": ["a", "b"]}),
        ("search_codebase", {"query": "x", "mode": " Regex"}, {"query": "x", "mode": "regex"}),
        ("search_codebase", {"pattern": "x", "max_tokens": "9"}, {"query": "x", "maxTokens": 9}),
        ("find_symbol", {"symbol": "x", "references": "true"}, {"name": "x", "references": True}),
        ("call_graph", {"name": "x"}, {"symbol": "x"}),
        ("read_file", {"file_path": "a.py", "start_line": "2"}, {"file": "a.py", "startLine": 2}),
        ("check_edit", {"files": "a.py"}, {"files": ["a.py"]}),
    ],
)
def test_what_can_mean_only_one_thing_is_taken_for_it(tool: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert forgiven(SCHEMAS[tool], given) == meant


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("search_codebase", {"query": "x", "limit": "many"}),
        ("search_codebase", {"query": "x", "limit": 2.5}),
        ("search_codebase", {"query": "x", "limit": "9" * 5_000}),
        ("search_codebase", {"query": "x", "debug": "perhaps"}),
        ("search_codebase", {"query": None}),
        ("search_codebase", {"query": "x", "include": "[" * 3_000}),
        ("search_codebase", {"query": "x", "pattern": "y"}),
        ("file_outline", {"file": "a.py", "file_path": "b.py"}),
    ],
)
def test_what_can_mean_several_things_or_nothing_is_still_refused(tool: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        checked(SCHEMAS[tool], forgiven(SCHEMAS[tool], given))


@given(st.data())
def test_whatever_passes_is_not_changed(data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(TOOLS))
    arguments = data.draw(st.dictionaries(st.sampled_from([*tool.schema["properties"], "other"]), VALUES, max_size=3))
    if jsonschema.Draft202012Validator(tool.schema).is_valid(arguments):
        assert forgiven(tool.schema, arguments) == arguments


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 200) | st.sampled_from(["", "x", "hybrid", "create", "callers"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["file", "symbolId"]), inner),
    max_leaves=4,
)


@given(st.data())
def test_what_passes_is_what_the_schema_allows(data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(TOOLS))
    names = st.sampled_from([*tool.schema["properties"], "other"])
    arguments = data.draw(st.dictionaries(names, VALUES, max_size=3))
    allowed = jsonschema.Draft202012Validator(tool.schema).is_valid(arguments)
    try:
        found = checked(tool.schema, arguments)
    except InvalidRequest:
        assert not allowed
    else:
        assert allowed
        assert json.loads(json.dumps(found)).items() >= arguments.items()
