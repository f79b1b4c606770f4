"""The numbers are those that anybody would get by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cairn.core.progress import Progress
from cairn.core.types import Root
from cairn.errors import NotIndexed
from cairn.evaluation.scoring import (
    AskingWay,
    JudgedQuestion,
    Lines,
    Scored,
    ask,
    folder_as_codebase,
    grouped,
    mean_of,
    ndcg,
    recall,
    shows,
)
from cairn.sync.report import RunOptions
from cairn.sync.run import clear

A, B, C = Lines("src/a.py"), Lines("src/b.py"), Lines("src/c.py")
SECOND = 1 / math.log2(3)


def scored(value: float, category: str = "x", language: str = "python") -> Scored:
    return Scored(JudgedQuestion("r", language, category, "q", (A,)), value, 1.0, value / 2, 0.001)


@pytest.mark.parametrize(
    ("found", "targets", "k", "value"),
    [
        ([A], [A], 10, 1.0),
        ([B, A], [A], 10, SECOND),
        ([A, B], [A, B], 10, 1.0),
        ([A, C, B], [A, B], 10, (1 + 1 / 2) / (1 + SECOND)),
        # The second of a file that was already right is as wrong as any.
        ([A, A, B], [A, B], 10, (1 + 1 / 2) / (1 + SECOND)),
        ([B, A], [A], 1, 0.0),
        # Only as many as are looked at can be right.
        ([A], [A, B], 1, 1.0),
        ([], [A], 10, 0.0),
        ([A], [], 10, 0.0),
    ],
)
def test_a_right_file_counts_less_the_further_down_it_stands(
    found: list[Lines], targets: list[Lines], k: int, value: float
) -> None:
    assert ndcg(found, targets, k) == pytest.approx(value)


def test_two_right_places_that_one_result_shows_count_as_one_rank() -> None:
    both = [Lines("a.py", 1, 5), Lines("a.py", 8, 9)]
    assert ndcg([Lines("a.py", 4, 8)], both, 10) == pytest.approx(1 / (1 + SECOND))
    assert recall([Lines("a.py", 4, 8)], both, 10) == 1.0


def test_recall_is_the_share_of_what_is_right() -> None:
    assert recall([C, A], [A, B], 10) == 0.5
    assert recall([C, A], [A, B], 1) == 0.0
    assert recall([A], [], 10) == 0.0


@pytest.mark.parametrize(
    ("found", "target", "right"),
    [
        (Lines("src/a.py"), Lines("a.py"), True),
        (Lines("a.py"), Lines("src/a.py"), True),
        (Lines("src\\a.py"), Lines("src/a.py"), True),
        (Lines("data.py"), Lines("a.py"), False),
        (Lines("a.py", 1, 5), Lines("a.py", 5, 9), True),
        (Lines("a.py", 1, 4), Lines("a.py", 5, 9), False),
        (Lines("a.py", 10, 12), Lines("a.py", 5, 9), False),
        (Lines("a.py"), Lines("a.py", 5, 9), True),
        (Lines("a.py", 1, 4), Lines("a.py"), True),
    ],
)
def test_a_place_is_the_same_file_and_lines_in_common(found: Lines, target: Lines, right: bool) -> None:
    assert shows(found, target) is right


def test_means_are_by_group_and_say_how_sure_they_are() -> None:
    means = grouped([scored(1.0, "b"), scored(0.0, "a"), scored(0.5, "b")], lambda question: question.category)
    assert [(mean.name, mean.questions, mean.ndcg, mean.ndcg_lines) for mean in means] == [
        ("a", 1, 0.0, 0.0),
        ("b", 2, 0.75, 0.375),
    ]
    assert means[0].error is None
    assert mean_of("all", [scored(0.0), scored(1.0)]).error == pytest.approx(0.5)


# --- Questions are asked as a search would ask them, of just the folder that they are about.


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder inside a repository, of which the rest is not asked."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "lease.py").write_text("class Lease:\n    pass\n")
    (folder / "lease.py").write_text("class Lease:\n    def steal(self):\n        return self\n")
    (folder / "parser.py").write_text("def parse(pattern):\n    return pattern\n")
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_HOME": str(tmp_path / "home")}


def question(text: str, *targets: Lines) -> JudgedQuestion:
    return JudgedQuestion("mine", "python", "x", text, targets)


def test_a_question_scores_by_the_file_and_by_its_lines(tree: Path, environ: dict[str, str]) -> None:
    right, wrong = Lines("lease.py", 1, 3), Lines("lease.py", 90, 99)
    told: list[Progress] = []
    seen: list[str] = []
    codebase = folder_as_codebase(str(tree), environ)
    questions = [question("steal a lease", right), question("steal a lease", wrong), question("parse", Lines("no.py"))]
    first, second, third = ask(
        codebase, environ, questions, AskingWay(10), tell=told.append, asked=lambda one: seen.append(one.text)
    )
    assert (first.ndcg, first.ndcg_lines, first.recall, first.is_valid) == (1.0, 1.0, 1.0, True)
    assert (second.ndcg, second.ndcg_lines) == (1.0, 0.0)
    assert (third.ndcg, third.recall) == (0.0, 0.0)
    assert all(one.seconds > 0 for one in (first, second, third))
    assert told
    assert seen == ["steal a lease", "steal a lease", "parse"]


def test_only_the_folder_itself_is_asked(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    assert codebase.root == Root(str(tree.resolve()), is_git=False)
    (tree.parent / "only_outside.py").write_text("def only_outside():\n    return 1\n")
    [found] = ask(codebase, environ, [question("only_outside", Lines("only_outside.py"))], AskingWay(10))
    assert found.recall == 0.0


def test_a_signal_can_be_left_out(tree: Path, environ: dict[str, str]) -> None:
    (tree / "parser.py").write_text("def other(x):\n    return x\n")
    codebase = folder_as_codebase(str(tree), environ)
    asked = [question("parser", Lines("parser.py"))]
    assert ask(codebase, environ, asked, AskingWay(10))[0].ndcg == 1.0
    without = AskingWay(10, without=frozenset({"filename", "dense"}))
    assert ask(codebase, environ, asked, without)[0].ndcg == 0.0


def test_what_is_no_query_scores_nothing_and_stops_nothing(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    asked = [question("", Lines("lease.py")), question("lease", Lines("lease.py"))]
    first, second = ask(codebase, environ, asked, AskingWay(10))
    assert (first.ndcg, first.is_valid) == (0.0, False)
    assert (second.ndcg, second.is_valid) == (1.0, True)


def test_an_index_that_was_emptied_on_purpose_is_not_filled_again(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    ask(codebase, environ, [], AskingWay(10))
    clear(codebase, RunOptions(environ["CAIRN_HOME"]), lambda _: None)
    with pytest.raises(NotIndexed):
        ask(codebase, environ, [question("lease", Lines("lease.py"))], AskingWay(10))
