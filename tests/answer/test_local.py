"""The answer about local names: against its schema, its bounds and the golden file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cairn.answer.structure import local_answer
from cairn.ask.values import Miss
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.errors import Unsupported
from cairn.graph.uses import Locals, LocalUse, LocalVariable
from cairn.sync.status import State
from tests.answer.test_envelope import valid
from tests.answer.test_search import TIMINGS
from tests.answer.test_structure import STEAL, missed, shut, told
from tests.golden_files import GOLDEN, golden_json

FOUND = Locals(
    STEAL,
    (
        LocalVariable(
            "lease",
            12,
            (LocalUse(12, 15, 99, "parameter", "def steal(lease)"), LocalUse(13, 5, 120, "read", "  lease")),
        ),
    ),
)
EXAMPLES = {
    "local": lambda: local_answer(told(FOUND), timings=TIMINGS),
    "local_none": lambda: local_answer(told(replace(FOUND, names=()))),
    "local_unsupported": lambda: local_answer(
        missed(Miss(Unsupported(problem="Not known.", advice="Name a function")))
    ),
    "local_not_indexed": lambda: local_answer(shut(State.NOT_INDEXED)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_is_the_golden_one(name: str) -> None:
    assert golden_json(f"local/{name}", valid(EXAMPLES[name](), most=DEFAULT_ENVELOPE_BYTES))


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in (GOLDEN / "local").iterdir()} == set(EXAMPLES)


def test_a_name_that_stands_in_very_many_places_is_cut() -> None:
    many = replace(FOUND.names[0], name="no name", places=FOUND.names[0].places * 500)
    (row,) = valid(local_answer(told(replace(FOUND, names=(many,)))))["results"]
    assert (len(row["places"]), row["placeCount"]) == (100, 1_000)
    assert "symbol" not in row
