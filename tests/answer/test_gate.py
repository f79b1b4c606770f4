"""When a tool may answer, which reason is told first, and how a closed gate looks."""

from __future__ import annotations

import itertools

import pytest

from cairn.answer.envelope import NonOkReason, Status
from cairn.answer.gate import GateFacts, closed, decide, first_told, gate_error
from cairn.errors import NotIndexed, NotReady, NoValidSnapshot, RequiresReindex
from cairn.store.standing import State, WriterInfo
from tests.answer.test_envelope import valid

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
        (facts(State.NOT_INDEXED, failed=True), NotIndexed, 10, "was stopped"),
        (facts(State.NOT_INDEXED, why="it is too large"), NotIndexed, 10, "it is too large"),
        (facts(State.INDEXING), NotReady, 11, "being indexed"),
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
    assert answer["hints"]["staleLocal"] == {"completionProof": "invalid_payload"}


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
