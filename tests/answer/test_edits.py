"""The answers about edits: against their schemas, their bounds, hostile names and the golden files.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_edits.py` writes tests/golden/edits anew; read the diff.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cairn.answer.envelope import load_schema
from cairn.answer.semantic import STATUS, decision_answer, gate_answer, rename_answer
from cairn.ask.values import Miss
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.errors import NotFound
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource, MeaningCandidate
from cairn.semantic.editing import Decision, EditReach, GateFile, MutationGate, Verdict, Witness
from cairn.semantic.model import FULL, Certainty, FactFreshness, FileState, Job, JobStatus
from cairn.semantic.patch import Replacement
from cairn.semantic.plan import FileEdit, RenamePlan
from cairn.sync.status import State
from tests.answer.test_envelope import valid
from tests.answer.test_runs import WRITER
from tests.answer.test_search import TIMINGS
from tests.answer.test_structure import missed, shut, told
from tests.conformance import conforms
from tests.golden_files import GOLDEN, golden_json

FOLDER = GOLDEN / "edits"
TWICE = Ambiguity(
    AmbiguitySource.DUPLICATE_DEFINITION,
    "a.py",
    1,
    "load",
    (MeaningCandidate("a.py", 1, "load"), MeaningCandidate("a.py", 5, "load")),
)
UNKNOWN = Ambiguity(AmbiguitySource.UNRESOLVED_USE, "b.py", 7, "load", TWICE.candidates)
KEPT = Decision(TWICE.signature, ("a.py:5",), {}, 1.0)
CLEAN = GateFile(
    "a.py", "python:.", FileState(FactFreshness.CLEAN, Certainty.CERTAIN), Verdict.AUTOMATIC, EditReach.CROSS_FILE
)
OPEN = replace(
    CLEAN,
    state=FileState(FactFreshness.CLEAN, Certainty.AMBIGUOUS, ("load on line 1: It is defined more than once.",)),
    verdict=Verdict.NEEDS_DECISION,
    reach=EditReach.LOCAL,
    questions=(TWICE,),
    open=(TWICE,),
)
DECIDED = replace(CLEAN, state=OPEN.state, questions=(TWICE,), decided=(KEPT,))
JOB = Job(7, "python:.", JobStatus.QUEUED, FULL, "asked", 0, "", 1.0)
DIRTY = GateFile(
    "b.py",
    "python:.",
    FileState(FactFreshness.DIRTY, Certainty.UNKNOWN, ("It has changed since it was indexed.",)),
    Verdict.BLOCKED,
    EditReach.LOCAL,
    witness=Witness(("It has changed since it was indexed.",), "Job 7 waits and will refresh it.", JOB),
)
OUTSIDE = replace(DIRTY, path="c.txt", context=None, reach=EditReach.NONE, witness=Witness((), "No context holds it."))
EDITED = FileEdit("a.py", "0" * 64, (Replacement(1, 0, 4, b"read"), Replacement(2, 0, 4, b"read")))
PLAN = RenamePlan(
    "load",
    "read",
    MutationGate((CLEAN,)),
    (EDITED,),
    b"--- a/a.py\n+++ b/a.py\n",
    mentions=("n.py",),
)
BLOCKED = replace(PLAN, gate=MutationGate((CLEAN, DIRTY)), patch=b"", questions=(UNKNOWN,), open=(UNKNOWN,))
EXAMPLES = {
    "gate": lambda: gate_answer(told(MutationGate((CLEAN,))), timings=TIMINGS),
    "gate_needs_decision": lambda: gate_answer(told(MutationGate((CLEAN, OPEN)))),
    "gate_decided": lambda: gate_answer(told(MutationGate((DECIDED,)))),
    "gate_blocked": lambda: gate_answer(told(MutationGate((OPEN, DIRTY, OUTSIDE)))),
    "state": lambda: gate_answer(told(MutationGate((OPEN, DIRTY))), judged=False),
    "gate_not_found": lambda: gate_answer(missed(Miss(NotFound(problem="There is no x.", advice="Check it")))),
    "gate_not_ready": lambda: gate_answer(shut(State.INDEXING, writer=WRITER)),
    "gate_not_indexed": lambda: gate_answer(shut(State.NOT_INDEXED)),
    "gate_requires_reindex": lambda: gate_answer(shut(State.INDEXED, differs=("embeddingModel",))),
    "rename": lambda: rename_answer(told(PLAN), timings=TIMINGS),
    "rename_needs_decision": lambda: rename_answer(
        told(replace(PLAN, patch=b"", questions=(UNKNOWN,), open=(UNKNOWN,)))
    ),
    "rename_blocked": lambda: rename_answer(told(BLOCKED)),
    "rename_outside": lambda: rename_answer(told(replace(PLAN, patch=b"", outside=("x y z . A#run().",)))),
    "rename_not_found": lambda: rename_answer(missed(Miss(NotFound(problem="There is no x.", advice="Check it")))),
    "decision": lambda: decision_answer(told(KEPT)),
    "decision_not_found": lambda: decision_answer(missed(Miss(NotFound(problem="Nothing.", advice="Look")))),
}


@conforms("002.AX3")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_is_the_golden_one(name: str) -> None:
    assert golden_json(f"edits/{name}", valid(EXAMPLES[name](), most=DEFAULT_ENVELOPE_BYTES))


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


@pytest.mark.parametrize("verdict", Verdict)
def test_the_status_says_what_may_be_done(verdict: Verdict) -> None:
    answer = valid(gate_answer(told(MutationGate((replace(CLEAN, verdict=verdict),)))))
    assert answer["status"] == STATUS[verdict].value
    assert ("message" in answer) is (verdict is not Verdict.AUTOMATIC)


def test_the_schemas_know_every_source_state_and_verdict() -> None:
    for name in ("cairn.gate/1", "cairn.rename/1"):
        parts = load_schema(name)["$defs"]
        assert parts["question"]["properties"]["source"]["enum"] == [source.value for source in AmbiguitySource]
        assert parts["file"]["properties"]["freshness"]["enum"] == [each.value for each in FactFreshness]
        assert parts["file"]["properties"]["certainty"]["enum"] == [each.value for each in Certainty]
        assert parts["file"]["properties"]["reach"]["enum"] == [each.value for each in EditReach]
        assert parts["verdict"]["enum"] == [each.value for each in Verdict]


def test_hostile_names_and_numbers_stay_within_bounds() -> None:
    wild = "\u202e\x1b[31m" + "x" * 4_000
    question = Ambiguity(AmbiguitySource.OVERLOAD_SET, wild, 1, wild, (MeaningCandidate(wild, 1, wild),) * 50)
    file = replace(
        OPEN,
        path=wild,
        context=wild,
        questions=(question,) * 100,
        open=(question,),
        state=FileState(FactFreshness.CLEAN, Certainty.AMBIGUOUS, (wild,) * 100),
    )
    one = valid(gate_answer(told(MutationGate((file,) * 3))))
    assert (len(one["results"]), one["limitsHit"][0]["left"]) == (1, 2)
    assert one["results"][0]["questionCount"] == 100
    plan = replace(BLOCKED, old=wild, questions=(question,) * 100, gate=MutationGate((file,) * 3))
    assert valid(rename_answer(told(plan)))["rename"]["old"] is None


def test_a_patch_that_does_not_fit_is_left_out_and_said_to_be() -> None:
    answer = valid(rename_answer(told(replace(PLAN, patch=b"x" * 100_000))))
    assert answer["text"] == ""
    assert {"field": "text", "shown": 0, "left": 1} in answer["limitsHit"]


def test_of_many_questions_those_come_first_that_nobody_has_decided() -> None:
    many = tuple(replace(UNKNOWN, line=line) for line in range(1, 60))
    plan = replace(PLAN, patch=b"", questions=many, open=many[40:])
    file = replace(OPEN, questions=many, open=many[40:])
    shown = dict(rename_answer(told(plan)).body)["questions"]
    assert [one["line"] for one in shown[:19]] == list(range(41, 60))
    assert [one["open"] for one in shown] == [True] * 19 + [False]
    (row,) = dict(gate_answer(told(MutationGate((file,)))).body)["results"]
    assert row["questions"] == shown
