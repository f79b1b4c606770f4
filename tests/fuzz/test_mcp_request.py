"""Whatever an agent sends as a call, it gets one envelope: of its shape, within its bound, and nothing is raised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cairn.ask import runs as runs_module
from cairn.ask.gate import Status
from cairn.ask.runs import Action
from cairn.ask.workspace import Workspace
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.errors import StoreBusy
from cairn.tools.table import TOOLS, call
from tests.lengths import at_length
from tests.schemas import validator
from tests.support.servers import AT_ONCE, Agent

SCHEMAS = {tool.name: tool.schema for tool in TOOLS}
# What has led others astray: places elsewhere, half characters, marks that terminals obey, patterns without end.
NASTY = [
    *("", ".", "..", "../..", "/", "/etc/passwd", "/proc/self/mem", "~", "lease.py/..", "./lease.py", "lease.py\0"),
    *("\0", "\ud800", "\u202e", "\x1b[2J", "lease.py:1", "lease.py:999999999", "lease.py:0", "lease.py#Lease", "#"),
    *(":", "::", "(a+)+$", "[", "(?P<x>", "{}", "null", "-1"),
    *("lease", "Lease", "take", "Lease.steal", "lease.py", "**/*.py", "py"),
]
LONG = {"letters": "a" * 5_000, "words": "Lease " * 2_000, "accents": "é" * 300, "signs": "\N{PILE OF POO}" * 200}
TEXTS = st.sampled_from(NASTY) | st.sampled_from(sorted(LONG)).map(lambda name: LONG[name]) | st.text(max_size=30)
NUMBERS = st.integers(-3, 12) | st.sampled_from([2**31, 2**63, -(2**70), 999_999_999, 100, 101])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly values of the right kind, so that more than the first check is reached."""
    if "anyOf" in schema:
        return st.one_of([fitting(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema["type"]
    if kind == "string":
        return TEXTS
    if kind == "integer":
        return NUMBERS
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(fitting(schema["items"]), max_size=4)
    return arguments_for(schema)


def arguments_for(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    known = schema["properties"]
    needed = {name: fitting(known[name]) for name in schema.get("required", ())}
    rest = {name: fitting(part) for name, part in known.items() if name not in needed}
    return st.fixed_dictionaries(needed, optional=rest)


GOOD = st.sampled_from(sorted(SCHEMAS)).flatmap(lambda name: st.tuples(st.just(name), arguments_for(SCHEMAS[name])))
SPOILT = st.tuples(GOOD, TEXTS, VALUES).map(lambda found: (found[0][0], {**found[0][1], found[1]: found[2]}))
ANYTHING = st.tuples(st.sampled_from(sorted(SCHEMAS)) | TEXTS, VALUES)
CALLS = GOOD | SPOILT | ANYTHING

# What a terminal or a reader's eye would obey; it also keeps an answer to one line.
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Calls that were wrong once, or are at an edge.
CORPUS: list[tuple[str, Any]] = [
    ("search_codebase", {"query": "(a+)+$", "mode": "regex"}),
    ("search_codebase", {"query": "x" * 4_097}),
    ("search_codebase", {"query": "\ud800"}),
    ("search_codebase", {"query": "x", "path": "lease.py\0"}),
    ("search_codebase", {"query": "x", "limit": True}),
    ("search_codebase", {"query": "x", "limit": 1.0}),
    ("search_codebase", {"query": "x", "include": ["["] * 200}),
    ("search_codebase", {"query": "x", "continuation": "p" * 2_000}),
    ("explore", {}),
    ("explore", {"about": "x", "mode": "path"}),
    ("explore", {"about": "-x", "mode": "changes"}),
    ("explore", {"about": " "}),
    ("read_file", {"file": "lease.py", "startLine": 2**63}),
    ("read_file", {"path": "lease.py", "endLine": 999_999_999}),
    ("call_graph", {"symbol": {"file": "lease.py", "symbolId": "lease.py#"}}),
    ("call_graph", {"symbol": {"file": "..", "symbolId": "x"}}),
    ("find_symbol", {"name": "lease.py:0", "references": True}),
    ("repo_map", {"focus": ["nothing.py", "/etc/passwd"]}),
    ("manage_index", {"action": "status", "path": "/"}),
    ("manage_index", {}),
    ("list_codebases", {"path": "x"}),
    ("", None),
    ("list_codebases", [[[[]]]]),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    agent = Agent(tmp_path_factory.mktemp("asked"))
    agent.index()
    # Runs are for other tests: here every one finds that somebody else is at work.
    real = runs_module._ENGINES

    def busy(*_: object, **__: object) -> Any:
        raise StoreBusy(kind="sync", pid=1)

    runs_module._ENGINES = dict.fromkeys(Action, busy)
    yield agent.desk
    agent.close()
    runs_module._ENGINES = real


def check(desk: Workspace, name: str, arguments: object) -> None:
    envelope = call(desk, name, arguments, patience=AT_ONCE)
    text = envelope.to_json()
    assert len(text.encode()) <= DEFAULT_ENVELOPE_BYTES
    assert not OBEYED.search(text)
    answer = json.loads(text)
    validator(envelope.schema).validate(answer)
    assert answer["status"] in set(Status)
    # A fault of ours is one, whatever it is told as.
    assert answer.get("error", {}).get("code") != "internal", (name, arguments)
    assert "root:x:0" not in text


def test_every_call_of_the_corpus_is_answered(desk: Workspace) -> None:
    for name, arguments in CORPUS:
        check(desk, name, arguments)


@given(CALLS)
@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_call_is_answered_with_an_envelope(desk: Workspace, asked: tuple[str, Any]) -> None:
    check(desk, *asked)


@pytest.mark.long
@given(CALLS)
@settings(max_examples=at_length(10_000), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_more_calls(desk: Workspace, asked: tuple[str, Any]) -> None:
    check(desk, *asked)


def test_the_answers_are_not_all_refusals(desk: Workspace, tmp_path: Path) -> None:
    found = [call(desk, name, arguments, patience=AT_ONCE).status for name, arguments in CORPUS]
    assert {Status.OK, Status.ERROR} <= set(found)
