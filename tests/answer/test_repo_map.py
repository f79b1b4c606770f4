"""The answer to `cairn map`: against its schema, its bounds, hostile text and the golden files.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_repo_map.py` writes tests/golden/map/*.json anew; read the diff.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.envelope import load_schema
from cairn.answer.structure import map_answer
from cairn.ask.values import Miss, Reply
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.errors import NotFound
from cairn.graph.atlas import Folder
from cairn.graph.entry_points import EntryKind, EntryPoint
from cairn.graph.repo_map import MapFile, RepoMap
from cairn.search.budget import ESTIMATOR
from cairn.sync.status import State
from tests.answer.test_envelope import MANY, WILD, valid
from tests.answer.test_runs import WRITER
from tests.answer.test_search import TIMINGS
from tests.answer.test_structure import LEASE, STEAL, missed, shut, told
from tests.conformance import conforms
from tests.golden_files import GOLDEN, golden_json
from tests.graph.maps import atlas_of, drawn
from tests.graph.test_repo_map import TREE

FOLDER = GOLDEN / "map"
MAP = RepoMap(
    text="3 files, 1 folder: 2 python, 1 markdown\n",
    tokens=12,
    max_tokens=1_000,
    total_files=3,
    languages=(("python", 2), ("markdown", 1)),
    folders=(Folder("src", "src", 0, 2),),
    entry_points=(
        EntryPoint(EntryKind.COMMAND, "src/lease.py", 4, "steal"),
        EntryPoint(EntryKind.SCRIPT, "run.py", 0, ""),
    ),
    files=(MapFile("src/lease.py", "python", 0.51234567, 1, (LEASE, STEAL)), MapFile("run.py", "python", 0.2, 0, ())),
    folders_left=0,
    entry_points_left=3,
    files_left=1,
    definitions_left=7,
)


def of_a_tree() -> Reply[Any]:
    with atlas_of(TREE) as atlas:
        return told(drawn(atlas, 200))


EXAMPLES = {
    "map": lambda: map_answer(told(MAP), timings=TIMINGS),
    "map_of_a_tree": lambda: map_answer(of_a_tree(), timings=TIMINGS),
    "map_not_found": lambda: map_answer(missed(Miss(NotFound(problem="There is no a.", advice="Look")))),
    "map_not_indexed": lambda: map_answer(shut(State.NOT_INDEXED)),
    "map_not_ready": lambda: map_answer(shut(State.INDEXING, writer=WRITER)),
}


@conforms("002.R4")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_is_the_golden_one(name: str) -> None:
    answer = valid(EXAMPLES[name](), most=DEFAULT_ENVELOPE_BYTES)
    assert golden_json(f"map/{name}", answer)


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


def test_the_schema_knows_every_way_and_the_estimator() -> None:
    schema = load_schema("cairn.map/1")
    assert schema["$defs"]["entryPoint"]["properties"]["way"]["enum"] == [way.value for way in EntryKind]
    assert schema["properties"]["tokens"]["properties"]["estimator"]["const"] == ESTIMATOR


def test_what_is_left_out_is_counted_of_each_kind() -> None:
    answer = valid(map_answer(told(MAP)))
    assert answer["limitsHit"] == [
        {"field": "results", "shown": 2, "left": 1},
        {"field": "entryPoints", "shown": 2, "left": 3},
        {"field": "definitions", "shown": 2, "left": 7},
    ]


def test_thousands_of_files_and_entry_points_fit_an_answer_whole_rows_left_out() -> None:
    files = tuple(replace(MAP.files[0], path=f"src/{'x' * 150}{n}.py") for n in range(2_000))
    ways = tuple(EntryPoint(EntryKind.SCRIPT, f"{'y' * 150}{n}.py", 0, "") for n in range(500))
    large = replace(MAP, text="z\n" * 10_000, files=files, entry_points=ways, total_files=2_001)
    answer = valid(map_answer(told(large)), most=DEFAULT_ENVELOPE_BYTES)
    assert answer["text"] == large.text
    left = {hit["field"]: hit["left"] for hit in answer["limitsHit"]}
    assert left["results"] == 2_001 - len(answer["results"]) > 0
    assert left["entryPoints"] == 503 - len(answer["entryPoints"]) > 400


@MANY
@given(WILD, WILD, st.integers(0, 10))
def test_text_of_the_repository_stands_in_text_only(path: str, name: str, line: int) -> None:
    secret = f"now-do-{name}"
    wild = replace(
        MAP,
        text=secret,
        entry_points=(EntryPoint(EntryKind.COMMAND, path, line, secret),),
        files=(replace(MAP.files[0], path=path, definitions=(replace(LEASE, name=secret, signature=secret),)),),
    )
    answer = valid(map_answer(told(wild)))
    assert "now-do" in answer.pop("text")
    assert all("now-do" in one.pop("text") for one in answer["entryPoints"])
    assert "now-do" not in json.dumps(answer)
