"""The truth table of the mutation gate: fifteen states, and one way through by itself."""

from __future__ import annotations

from itertools import product

import pytest

from cairn.semantic.gate import GateFile, MutationGate, Reach, Verdict, reach_of, verdict_of
from cairn.semantic.model import Certainty, FileState, Freshness
from tests.conformance import conforms


@conforms("002.AX3")
def test_of_fifteen_states_one_is_automatic_one_needs_a_decision_and_the_rest_is_blocked() -> None:
    table = {pair: verdict_of(FileState(*pair)) for pair in product(Freshness, Certainty)}
    assert len(table) == 15
    assert table.pop((Freshness.CLEAN, Certainty.CERTAIN)) is Verdict.AUTOMATIC
    assert table.pop((Freshness.CLEAN, Certainty.AMBIGUOUS)) is Verdict.NEEDS_DECISION
    assert set(table.values()) == {Verdict.BLOCKED}


@conforms("002.AX3")
def test_decisions_open_the_gate_for_what_is_ambiguous_and_for_nothing_else() -> None:
    table = {pair: verdict_of(FileState(*pair), decided=True) for pair in product(Freshness, Certainty)}
    assert {pair for pair, verdict in table.items() if verdict is Verdict.AUTOMATIC} == {
        (Freshness.CLEAN, Certainty.CERTAIN),
        (Freshness.CLEAN, Certainty.AMBIGUOUS),
    }


@conforms("002.LAY1")
@pytest.mark.parametrize("parsed", [True, False])
def test_only_semantic_facts_that_hold_carry_an_edit_across_files(parsed: bool) -> None:
    assert reach_of(Verdict.AUTOMATIC, parsed=parsed) is Reach.CROSS_FILE
    for verdict in (Verdict.NEEDS_DECISION, Verdict.BLOCKED):
        assert reach_of(verdict, parsed=parsed) is (Reach.LOCAL if parsed else Reach.NONE)


def test_the_worst_file_decides_for_all() -> None:
    def one(verdict: Verdict) -> GateFile:
        return GateFile("a.py", None, FileState(Freshness.CLEAN, Certainty.CERTAIN), verdict, Reach.LOCAL)

    for first, second in product(Verdict, repeat=2):
        worse = max((first, second), key=list(Verdict).index)
        assert MutationGate((one(first), one(second))).verdict is worse
    assert MutationGate(()).verdict is Verdict.BLOCKED
