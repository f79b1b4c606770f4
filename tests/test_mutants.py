"""Tests that carry a row really prove it: the committed mutants still apply, and in the long run each is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance_report import load as load_table
from tests.mutants.run import Mutant, load, problem, run

MUTANTS = load()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.title)
def test_a_mutant_still_applies(mutant: Mutant) -> None:
    assert problem(mutant) is None


def test_a_mutant_that_names_a_row_names_a_claimed_one() -> None:
    assert {mutant.row for mutant in MUTANTS if mutant.row} <= load_table().claimed


def test_a_mutant_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text("A = 1\nB = 1\n")
    tests = ("tests/test_limits.py",)
    assert problem(Mutant("limits.py", "A = 1", "A = 2", tests), tmp_path) is None
    assert problem(Mutant("limits.py", "C = 1", "C = 2", tests), tmp_path) == "`before` occurs 0 times"
    assert problem(Mutant("limits.py", "= 1", "= 2", tests), tmp_path) == "`before` occurs 2 times"
    assert problem(Mutant("gone.py", "A", "B", tests), tmp_path) == "there is no such file"
    assert problem(Mutant("limits.py", "A = 1", "A = 2", ()), tmp_path) is not None
    assert problem(Mutant("limits.py", "A = 1", "A = 2", ("tests/test_gone.py",)), tmp_path) is not None


@pytest.mark.long
def test_every_mutant_is_killed_by_its_tests() -> None:
    assert {mutant.title: wrong for mutant, wrong in run(MUTANTS) if wrong is not None} == {}


@pytest.mark.long
def test_a_change_that_no_test_sees_is_called_a_survivor() -> None:
    tests = ("tests/test_limits.py::test_every_limit_is_a_positive_number",)
    harmless = Mutant("limits.py", "MAX_LINK_HOPS = 32\n", "MAX_LINK_HOPS = 33\n", tests)
    assert [wrong for _, wrong in run([harmless])] == ["its tests pass"]


def test_one_claimed_row_in_five_has_a_mutant() -> None:
    assert len({mutant.row for mutant in MUTANTS if mutant.row}) * 5 >= len(load_table().claimed)
