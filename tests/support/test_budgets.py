"""Every suite has a budget, and what it cost is shown beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.budgets import BUDGETS, Budgets, spent, suite_of

TESTS = Path(__file__).parent.parent


def test_a_suite_is_a_folder_of_the_tests_or_the_files_beside_them() -> None:
    assert suite_of("tests/source/test_walk.py::test_a[tests/b]") == "source"
    assert suite_of("tests/install/test_plans.py::test_a") == "install"
    assert suite_of("tests/test_thin.py::test_a") == "."


def test_every_suite_has_a_budget() -> None:
    suites = {suite_of(f"tests/{path.relative_to(TESTS)}") for path in TESTS.rglob("test_*.py")}
    assert set(BUDGETS) == suites


def test_the_dearest_comes_first_and_what_is_over_its_budget_is_marked() -> None:
    found = Budgets({"cheap": (10.0, 1.0), "dear": (20.0, 100.0)})
    for nodeid, seconds in (("tests/cheap/test_a.py::b", 9.0), ("tests/dear/test_a.py::b", 21.5)):
        found.pytest_runtest_logreport(
            pytest.TestReport(
                nodeid, ("", 0, ""), {}, "passed", None, "teardown", user_properties=[("cpu seconds", seconds)]
            )
        )
    assert found.table(long=False) == [
        "dear            21.5 of     20  OVER ITS BUDGET",
        "cheap            9.0 of     10",
        "all             30.5 of     30  OVER ITS BUDGET",
    ]
    assert found.table(long=True)[1:] == [
        "cheap            9.0 of      1  OVER ITS BUDGET",
        "all             30.5 of    101",
    ]


def test_work_of_this_process_is_counted() -> None:
    before = spent()
    while spent() < before + 0.01:
        pass
