"""The agent benchmark: the tasks are sound, an answer is judged by what is in it, and both programs play."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from bench.agents.grep import Grep
from bench.agents.tasks import TASKS, Score, Task, read, score
from bench.agents.tools import Server, Tools

CODE = """\
def settle(account):
    return account


def pay(account):
    return settle(account)
"""


def task(kind: str, *answer: str, subject: str = "settle") -> Task:
    return Task("ledger", "work", kind, subject, answer)


def test_half_of_the_tasks_is_held_back_in_every_kind_and_every_repository() -> None:
    repositories, tasks = read(TASKS[:1])
    assert len(tasks) >= 60
    assert len(repositories) >= 6
    assert {one.repository for one in tasks if one.half == "held"} == set(repositories)
    for kind, count in Counter(one.kind for one in tasks).items():
        assert abs(2 * sum(one.half == "held" for one in tasks if one.kind == kind) - count) <= 1


def test_the_tasks_of_first_sight_are_about_other_repositories() -> None:
    (known, _), (fresh, tasks) = read(TASKS[:1]), read(TASKS[1:])
    assert len(tasks) >= 30
    assert len(fresh) >= 3
    assert known.keys().isdisjoint(fresh)
    assert {one.half for one in tasks} == {"fresh"}
    assert read()[0] == known | fresh


def test_an_answer_is_as_precise_and_complete_as_the_places_in_it() -> None:
    asked = task("calls", "a.py:3", "b.py:4")
    assert score(asked, ["a.py:3", "b.py:4"]).right
    assert score(asked, ["a.py:3", "c.py:1", "c.py:2", "c.py:3"]) == Score(0.25, 0.5)
    assert score(asked, []) == Score(0.0, 0.0)


def test_of_a_body_every_line_counts_and_of_a_question_the_first_three_places() -> None:
    assert score(task("body", "a.py:1-4"), ["a.py:1-2"]) == Score(1.0, 0.5)
    places = ["x.py:1-9", "y.py:1-9", "z.py:1-9", "a.py:4-5"]
    assert not score(task("question", "a.py:1-4"), places).right
    assert score(task("question", "a.py:1-4"), places[1:]).right


def test_what_is_also_fine_is_neither_asked_for_nor_wrong() -> None:
    asked = Task("ledger", "work", "define", "settle", ("a.c:3",), also=("a.h:1",))
    assert score(asked, ["a.c:3", "a.h:1"]).right
    assert not score(asked, ["a.h:1"]).right


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
def test_ripgrep_finds_a_definition_its_body_and_its_calls(tmp_path: Path) -> None:
    (tmp_path / "ledger.py").write_text(CODE)
    for asked in (task("define", "ledger.py:1"), task("body", "ledger.py:1-2"), task("calls", "ledger.py:6")):
        assert score(asked, Grep(tmp_path, "python").play(asked).said).right


@pytest.mark.long
def test_cairn_finds_a_definition_its_body_and_its_calls(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "ledger.py").write_text(CODE)
    with Server(tree, tmp_path / "home") as server:
        for asked in (task("define", "ledger.py:1"), task("body", "ledger.py:1-2"), task("calls", "ledger.py:6")):
            played = Tools(server).play(asked)
            assert score(asked, played.said).right
            assert played.characters > 0
