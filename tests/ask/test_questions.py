"""An option is declared once, and every face has it or says why not."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from cairn.ask import impact, relations, structure
from cairn.ask.questions import QUESTIONS, SEARCH, SYMBOL
from cairn.core.options import Choice, Declined, Face, Flag, Number, Option, OptionTable, Shown, Text, TextList
from cairn.errors import InvalidQuery, UsageError
from cairn.search.budget import tokens_in
from cairn.search.grep import GrepRequest
from cairn.search.types import Group, Mode, SearchRequest
from cairn.tools.arguments import schema_of, told
from cairn.tools.table import listed

ASKED_BY: dict[str, Callable[..., Any]] = {
    "search": SearchRequest,
    "grep": GrepRequest,
    "outline": structure.file_outline,
    "read": structure.read_file,
    "symbol": structure.find_symbol,
    "refs": relations.references,
    "graph": relations.call_graph,
    "similar": structure.similar_code,
    "map": relations.repo_map,
    "impact": impact.impact,
}
# What a session adds to a question by itself, and what the face makes of the words that name a definition or a file.
NOT_ASKED = {"session", "asked", "file", "name", "focus", "below", "to", "extracts"}
OPTIONS = [
    pytest.param(table, one, id=f"{table.name} {one.name}") for table in QUESTIONS.values() for one in table.options
]


@pytest.mark.parametrize("table", QUESTIONS.values(), ids=QUESTIONS)
def test_the_options_of_a_question_are_its_arguments(table: OptionTable) -> None:
    """When this fails: a field of the question has no block in `ask/questions.py`, or a block has no field."""
    declared = {option.name for option in table.options if not option.own}
    assert declared == inspect.signature(ASKED_BY[table.name]).parameters.keys() - NOT_ASKED


@pytest.mark.parametrize(("table", "option"), OPTIONS)
def test_an_option_is_explained_and_a_face_that_declines_it_says_why(table: OptionTable, option: Option) -> None:
    assert option.help
    assert not option.help.endswith("."), "the help is a clause; a full stop is added where it is a sentence"
    for face in Face:
        shown = option.on(face)
        if isinstance(shown, Declined):
            assert len(shown.why.split()) > 2
    assert any(one.option is option for face in Face for one in table.on(face)), "no face has it"


def test_the_spellings_of_a_face_are_derived_from_the_name() -> None:
    table = OptionTable("x", (Option(name="max_tokens", type=Number(1, 9), help="so many tokens"),))
    assert [one.name for face in Face for one in table.on(face)] == ["--max-tokens", "maxTokens", "max_tokens"]
    [one] = table.on(Face.MCP)
    assert one.sentence == "So many tokens."


def test_the_values_of_a_face_become_the_arguments_of_the_question() -> None:
    given = {"query": "lease", "limit": 3, "groupBy": "none", "languages": ["python"], "debug": True, "path": "."}
    values = SEARCH.values(Face.MCP, given)
    assert values == {"query": "lease", "limit": 3, "group": Group.NONE, "languages": ("python",), "explain": True}
    assert SearchRequest(**values).group is Group.NONE
    assert SEARCH.values(
        Face.PYTHON, {"query": "x", "k": 3, "mode": "path", "without": ["rank"], "self": object()}
    ) == {
        "query": "x",
        "limit": 3,
        "mode": Mode.PATH,
        "without": frozenset({"rank"}),
    }
    assert SYMBOL.values(Face.MCP, {"kind": "class"}) == {"kinds": ("class",)}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"k": 0}, InvalidQuery, "The number of results must be a whole number from 1 to 100."),
        ({"k": True}, InvalidQuery, "The number of results must be a whole number from 1 to 100."),
        ({"k": "9"}, InvalidQuery, "The number of results must be a whole number from 1 to 100."),
        ({"max_tokens": 0}, InvalidQuery, "The number of tokens must be a whole number of at least 1."),
        ({"offset": -1}, InvalidQuery, "The number of results to pass over must be a whole number of at least 0."),
        ({"mode": "magic"}, UsageError, "There is no mode called 'magic'; there are hybrid, "),
        ({"group": 7}, InvalidQuery, "`group` takes a text, not int."),
        ({"languages": "python"}, InvalidQuery, "`languages` takes a list of texts, not str."),
        ({"include": 7}, InvalidQuery, "`include` takes a list of texts, not int."),
    ],
)
def test_a_value_that_is_no_value_of_its_option_is_refused(
    given: dict[str, object], error: type[UsageError], says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        SEARCH.values(Face.PYTHON, given)
    assert type(refused.value) is error
    assert str(refused.value).startswith(says)


def test_every_field_of_a_search_can_be_set_from_every_face_or_the_table_says_why_not() -> None:
    fields = {field.name for field in dataclasses.fields(SearchRequest)} - NOT_ASKED
    declared = {option.name: option for option in SEARCH.options}
    assert fields <= declared.keys()
    by_face = {face: {one.option.name for one in SEARCH.on(face)} for face in Face}
    for face, names in by_face.items():
        assert {name for name in fields if isinstance(declared[name].on(face), Declined)} == fields - names
    assert "group" in by_face[Face.CLI]
    assert {"max_tokens", "without", "offset"} <= by_face[Face.PYTHON]


def test_a_schema_says_all_that_an_option_does() -> None:
    table = OptionTable(
        "x",
        (
            Option(name="name", type=Text(9), help="a name", required=True),
            Option(name="some_files", type=TextList(9, 3, least=1), help="files", required=True),
            Option(name="kinds", type=Choice(("a", "b"), many=True), help="kinds"),
            Option(name="count", type=Number(0, None), help="a count", default=2),
            Option(name="loud", type=Flag(), help="be loud", mcp=Shown(help="Loud.")),
            Option(name="left_out", type=Flag(), help="not here", mcp=Declined("it is not for agents")),
        ),
    )
    text = {"type": "string", "minLength": 1, "maxLength": 9}
    assert schema_of(table.on(Face.MCP)) == {
        "type": "object",
        "properties": {
            "name": {**text, "description": "A name."},
            "someFiles": {"type": "array", "description": "Files.", "items": text, "minItems": 1, "maxItems": 3},
            "kinds": {
                "type": "array",
                "description": "Kinds.",
                "items": {"type": "string", "enum": ["a", "b"]},
                "default": [],
            },
            "count": {"type": "integer", "description": "A count.", "minimum": 0, "default": 2},
            "loud": {"type": "boolean", "description": "Loud.", "default": False},
        },
        "additionalProperties": False,
        "required": ["name", "someFiles"],
    }


@pytest.mark.parametrize(("semantic", "most"), [(False, 2_040), (True, 2_180)])
def test_what_an_agent_reads_of_all_tools_stays_small(semantic: bool, most: int) -> None:
    """An agent pays for this before its first question: who adds an argument takes as many words away elsewhere."""
    every = [[tool.name, tool.title, tool.description, told(tool.schema)] for tool in listed(semantic=semantic)]
    assert tokens_in(json.dumps(every, separators=(",", ":"))) <= most
