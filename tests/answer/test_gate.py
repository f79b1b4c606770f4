"""When a tool may answer, which reason is told first, and how a closed gate looks."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import cairn
from cairn.answer.gate import closed
from cairn.ask.gate import GateFacts, NonOkReason, Status, decide, first_told, gate_error
from cairn.errors import IndexingInProgressError, NotIndexed, NoValidSnapshot, RequiresReindex
from cairn.store import WriterInfo
from cairn.sync.proof import Proof, ProofOutcome, ProofReason
from cairn.sync.status import State
from tests.answer.test_envelope import valid
from tests.conformance import conforms

RUN_ID = "01KA3M7Q2W0000000000000000"
WRITER = WriterInfo(pid=4711, kind="reindex", started_at="2026-11-15T12:06:00Z", run_id=RUN_ID, alive=True)


def facts(state: State, **known: object) -> GateFacts:
    return GateFacts("/r", state, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "status", "reason"),
    [
        (State.INDEXED, Status.OK, None),
        (State.INDEXING, Status.NOT_READY, NonOkReason.INDEXING),
        (State.CLEARED, Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
        (State.NOT_INDEXED, Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
        (State.CORRUPT, Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
    ],
)
def test_every_state_has_its_status_and_reason(state: State, status: Status, reason: NonOkReason | None) -> None:
    gate = decide(facts(state))
    assert (gate.status, gate.reason, gate.is_open) == (status, reason, reason is None)


def test_an_index_of_another_making_is_told_before_that_there_is_none() -> None:
    assert decide(facts(State.NOT_INDEXED, differs=("embeddingModel",))).status is Status.REQUIRES_REINDEX
    assert decide(facts(State.INDEXED, differs=("embeddingModel",))).status is Status.REQUIRES_REINDEX


def test_while_the_run_that_cures_it_is_at_work_nobody_is_told_to_reindex() -> None:
    assert decide(facts(State.INDEXING, differs=("embeddingModel",))).status is Status.NOT_READY


def test_an_old_snapshot_answers_only_those_who_take_one() -> None:
    during = facts(State.INDEXING, writer=WRITER, last_good=RUN_ID)
    assert decide(during).status is Status.NOT_READY
    assert decide(during, stale_ok=True).is_open
    assert decide(facts(State.INDEXING, writer=WRITER), stale_ok=True).status is Status.NOT_READY
    for state in (State.CLEARED, State.NOT_INDEXED, State.CORRUPT):
        assert not decide(facts(state, last_good=RUN_ID), stale_ok=True).is_open


def test_of_several_reasons_the_gravest_is_told() -> None:
    order = (Status.REQUIRES_REINDEX, Status.NOT_READY, Status.NOT_INDEXED)
    for size in (1, 2, 3):
        for chosen in itertools.permutations(order, size):
            assert first_told(chosen) is min(chosen, key=order.index)
    assert first_told([Status.OK, Status.ERROR]) is None


@pytest.mark.parametrize(
    ("known", "error", "exit_status", "says"),
    [
        (facts(State.NOT_INDEXED), NotIndexed, 10, "nobody has indexed it yet"),
        (facts(State.CLEARED), NotIndexed, 10, "it was cleared"),
        (facts(State.NOT_INDEXED, failed=True), NotIndexed, 10, "did not finish"),
        (facts(State.NOT_INDEXED, why="it is too large"), NotIndexed, 10, "it is too large"),
        (facts(State.INDEXING), IndexingInProgressError, 11, "being indexed"),
        (facts(State.NOT_INDEXED, differs=("embeddingModel",)), RequiresReindex, 12, "embeddingModel"),
        (facts(State.CORRUPT), NoValidSnapshot, 90, "Store corrupt"),
    ],
)
def test_a_closed_gate_is_an_error_with_the_published_status(
    known: GateFacts, error: type, exit_status: int, says: str
) -> None:
    gate = decide(known)
    found = gate_error(gate, "/r")
    assert type(found) is error
    assert found.exit_status == exit_status
    assert says in found.sentence
    answer = valid(closed("cairn.search/1", gate, path="."))
    assert says in answer["message"]
    assert answer["hints"]["status"] == {"tool": "manage_index", "args": {"action": "status", "path": "/r"}}
    assert answer["hints"]["next"]


def test_a_corrupt_store_is_not_indexed_and_says_why() -> None:
    answer = valid(closed("cairn.search/1", decide(facts(State.CORRUPT)), path="."))
    assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert answer["message"].lower().startswith("store corrupt")
    assert answer["hints"]["staleLocal"] == {
        "completionProof": "invalid_payload",
        "recommendedAction": {"tool": "manage_index", "args": {"action": "create", "path": "/r"}},
    }


def test_a_run_at_work_shows_how_far_it_is_and_what_could_answer_meanwhile() -> None:
    gate = decide(facts(State.INDEXING, writer=WRITER, last_good=RUN_ID))
    answer = valid(closed("cairn.search/1", gate, path=".", ask_id=7))
    assert answer["id"] == 7
    assert answer["indexing"]["indexingType"] == "full"
    assert answer["hints"]["lastGood"] == {"snapshot": RUN_ID, "with": "allowStale"}


def test_the_fields_that_differ_are_named_and_no_more_than_twenty() -> None:
    gate = decide(facts(State.NOT_INDEXED, differs=tuple(f"grammar.x{n}" for n in range(40))))
    answer = valid(closed("cairn.search/1", gate, path="."))
    assert answer["hints"]["differs"] == [f"grammar.x{n}" for n in range(20)]


def create(root: str = "/r") -> dict[str, object]:
    return {"tool": "manage_index", "args": {"action": "create", "path": root}}


@conforms("001.RD2", "001.STL", "001.AC4", "001.AC6")
@pytest.mark.parametrize("reason", [ProofReason.MISSING_MARKER_DOC, ProofReason.PATH_MISMATCH])
def test_an_index_that_was_there_and_is_not_proven_is_told_apart_by_message_and_hint(reason: ProofReason) -> None:
    gate = decide(facts(State.NOT_INDEXED, stale=True, proof=Proof(ProofOutcome.STALE_LOCAL, reason)))
    answer = valid(closed("cairn.search/1", gate, path="sub"))
    assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert answer["hints"]["staleLocal"] == {"completionProof": reason.value, "recommendedAction": create()}
    assert reason.value in answer["message"]
    assert answer == valid(closed("cairn.search/1", gate, path="sub"))


@pytest.mark.parametrize("known", [{}, {"failed": True}])
@pytest.mark.parametrize("state", [State.NOT_INDEXED, State.CLEARED])
def test_what_was_never_indexed_or_emptied_on_purpose_is_not_stale(state: State, known: dict[str, bool]) -> None:
    answer = valid(closed("cairn.search/1", decide(facts(state, **known)), path="."))
    assert "staleLocal" not in answer["hints"]


def test_a_marker_of_another_kind_is_told_as_such() -> None:
    wrong = Proof(ProofOutcome.STALE_LOCAL, ProofReason.INVALID_MARKER_KIND)
    answer = valid(closed("cairn.search/1", decide(facts(State.CORRUPT, proof=wrong, stale=True)), path="."))
    assert answer["hints"]["staleLocal"] == {"completionProof": "invalid_marker_kind", "recommendedAction": create()}


@conforms("001.RD3", "001.AC8")
def test_an_index_of_another_making_comes_with_the_call_that_cures_it() -> None:
    answer = valid(closed("cairn.search/1", decide(facts(State.NOT_INDEXED, differs=("schemaVersion",))), path="."))
    assert answer["status"] == answer["reason"] == "requires_reindex"
    assert answer["hints"]["recommendedAction"]["args"] == {"action": "reindex", "path": "/r"}


@pytest.mark.parametrize(("kind", "status"), [("sync", Status.NOT_READY), ("compact", Status.OK)])
def test_who_wants_no_answer_while_a_run_catches_up_gets_none(kind: str, status: Status) -> None:
    at_work = replace(WRITER, kind=kind)
    assert decide(facts(State.INDEXED, writer=at_work, last_good=RUN_ID)).is_open
    assert decide(facts(State.INDEXED, writer=at_work, last_good=RUN_ID, strict=True)).status is status
    assert decide(facts(State.INDEXED, writer=at_work, last_good=RUN_ID, strict=True), stale_ok=True).is_open
    assert decide(facts(State.INDEXED, strict=True)).is_open
    assert decide(facts(State.INDEXED, writer=replace(at_work, alive=False), strict=True)).is_open


@conforms("000.GATE1", "001.PREC", "000.ENV1", "000.ENV2")
def test_whatever_holds_at_once_the_order_is_always_the_same() -> None:
    """Every state with every other fact: the status follows from the gravest one, with its own reason."""
    for state, differs, failed, stale, strict in itertools.product(State, ((), ("x",)), *[(False, True)] * 3):
        known = facts(state, differs=differs, failed=failed, stale=stale, strict=strict, writer=WRITER)
        gate = decide(known)
        if differs and state in (State.NOT_INDEXED, State.INDEXED):
            expected = Status.REQUIRES_REINDEX
        elif state is State.INDEXING:
            expected = Status.NOT_READY
        else:
            expected = Status.OK if state is State.INDEXED else Status.NOT_INDEXED
        assert gate.status is expected
        if not gate.is_open:
            answer = valid(closed("cairn.search/1", gate, path="."))
            pairs = {"not_ready": "indexing", "requires_reindex": "requires_reindex", "not_indexed": "not_indexed"}
            assert answer["reason"] == pairs[answer["status"]]


# --- the three reasons ------------------------------------------------------------------------------------------------

PACKAGE = Path(cairn.__file__).parent
MANUAL = Path(__file__).parents[2] / "docs" / "manual" / "mcp.md"
GATES = {Status.NOT_READY: "indexing", Status.REQUIRES_REINDEX: "requires_reindex", Status.NOT_INDEXED: "not_indexed"}


@conforms("000.D5", "000.ENUM2", "001.NG")
def test_there_are_three_reasons_and_the_manual_knows_the_same_three() -> None:
    assert [reason.value for reason in NonOkReason] == ["indexing", "requires_reindex", "not_indexed"]
    others = ["ok", "unsupported", "not_found", "ambiguous", "needs_decision", "blocked", "error"]
    assert {status.value for status in Status} == {*others, *(gate.value for gate in GATES)}
    page = MANUAL.read_text("utf-8")
    table = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", page.partition("| `status` |")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert sorted(table) == sorted(gate.value for gate in GATES)
    sentence = page.partition("also has a `reason`:")[2].partition(".")[0]
    assert {word for word in re.findall(r"`(\w+)`", sentence) if word != "not_ready"} == set(GATES.values())


def written_out(tree: ast.AST) -> Iterator[str]:
    """The reasons that a module writes out, where it names neither a member of an enumeration nor an error's code."""
    named: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            named |= {id(part.value) for part in node.body if isinstance(part, ast.Assign)}
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            # The field that says how far a run is has the same name as a reason.
            named.add(id(node.elts[0]))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in GATES.values() and id(node) not in named:
            yield str(node.value)


@conforms("000.ENUM1")
def test_no_answer_writes_a_reason_out() -> None:
    """Every `reason` comes from the one enumeration: the rooms that answer hold no such word of their own."""
    rooms = ("ask", "answer", "tools", "mcp", "daemon", "watch", "install", "cli")
    files = [path for room in rooms for path in (PACKAGE / room).rglob("*.py")]
    assert len(files) > 50
    assert {path.name: list(written_out(ast.parse(path.read_text("utf-8")))) for path in files} == {
        path.name: [] for path in files
    }
    assert list(written_out(ast.parse('body.append(("reason", "indexing"))'))) == ["indexing"]
