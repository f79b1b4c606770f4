"""The answer about what a change reaches: against its schema, its bounds and the golden file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cairn.answer.impact import GAVE_UP, impact_answer
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.graph.changed import ChangeKind
from cairn.graph.impact import Affected, Changed, Impact, InPlace, RankedTest, ReasonToRun
from cairn.graph.scopes import Tier
from cairn.sync.status import State
from tests.answer.test_envelope import valid
from tests.answer.test_search import TIMINGS
from tests.answer.test_structure import NOWHERE, STEAL, missed, shut, told
from tests.golden_files import GOLDEN, golden_json

FOUND = Impact(
    changed=(Changed(STEAL, ChangeKind.RENAMED, "take"),),
    files=("src/lease.py",),
    callers=(Affected("src/app.py", STEAL, 1, Tier.PROVEN, 7, "lease.steal()"),),
    heirs=(InPlace("src/own.py", 3, "Own.steal", "override", Tier.LIKELY),),
    importers=("src/app.py",),
    tests=(RankedTest("tests/test_lease.py", ReasonToRun.NAMED, 4.5),),
    left={"importers": 2},
    looked_at=600,
    revision="ab" * 20,
)
EXAMPLES = {
    "impact": lambda: impact_answer(told(FOUND), timings=TIMINGS),
    "impact_not_found": lambda: impact_answer(missed(NOWHERE)),
    "impact_not_indexed": lambda: impact_answer(shut(State.NOT_INDEXED)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_is_the_golden_one(name: str) -> None:
    assert golden_json(f"impact/{name}", valid(EXAMPLES[name](), most=DEFAULT_ENVELOPE_BYTES))


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in (GOLDEN / "impact").iterdir()} == set(EXAMPLES)


def test_a_large_answer_is_cut_part_by_part_and_says_so() -> None:
    large = replace(
        FOUND,
        changed=FOUND.changed * 400,
        callers=tuple(one._replace(text="x" * 300) for one in FOUND.callers * 400),
        tests=FOUND.tests * 400,
        importers=("a/" * 100,) * 400,
    )
    said = valid(impact_answer(told(large)), most=DEFAULT_ENVELOPE_BYTES)
    assert {hit["field"] for hit in said["limitsHit"]} >= {"changed", "callers", "importers"}
    assert all(said[part] for part in ("changed", "callers", "heirs", "importers", "results"))
    assert GAVE_UP in said["warnings"]
