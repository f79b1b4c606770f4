"""The schemas of structured answers: whole in themselves, and those that are shipped."""

from __future__ import annotations

import json

import jsonschema
import pytest

from cairn.answer.envelope import error
from cairn.ask.workspace import Workspace
from cairn.errors import CairnError
from cairn.mcp.calls import InThisProcess
from cairn.mcp.server import ANSWERS, answer_schema, tools
from cairn.tools.arguments import told
from cairn.tools.table import CHECK_EDIT, TOOLS
from tests.schemas import check


def never() -> Workspace:
    raise AssertionError("a list needs no desk")


LISTED = InThisProcess(never).tools()


def test_every_tool_is_listed_as_the_table_has_it() -> None:
    assert set(ANSWERS) == {tool.name for tool in (*TOOLS, CHECK_EDIT)}
    for ours, listed in zip(TOOLS, tools(LISTED, structured=False), strict=True):
        assert (listed.name, listed.description, listed.input_schema) == (
            ours.name,
            ours.description,
            told(ours.schema),
        )
        assert listed.output_schema is None
        hints = listed.annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.open_world_hint) == (ours.read_only, False)
        # These say nothing of a tool that only reads.
        changes = (None, None) if ours.read_only else (ours.destructive, ours.idempotent)
        assert (hints.destructive_hint, hints.idempotent_hint) == changes


@pytest.mark.parametrize("tool", ANSWERS)
def test_a_schema_refers_only_to_itself(tool: str) -> None:
    schema = answer_schema(tool)
    jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(schema)
    assert '"$id"' not in text
    assert schema["type"] == "object"
    refs = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
    assert all(ref.removeprefix("#/$defs/") in schema["$defs"] for ref in refs), refs


@pytest.mark.parametrize("tool", ANSWERS)
def test_a_schema_takes_what_the_shipped_ones_take_and_nothing_else(tool: str) -> None:
    validator = jsonschema.Draft202012Validator(answer_schema(tool))
    failed = json.loads(error(CairnError()).to_json())
    check(failed, "cairn.error/1")
    assert validator.is_valid(failed)
    assert not validator.is_valid(failed | {"extra": 1})
    assert not validator.is_valid({**failed, "error": {}})
    assert not validator.is_valid({"schema": "cairn.why/1"})
