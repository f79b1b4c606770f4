"""The numbers are those that anybody would get by hand."""

from __future__ import annotations

import math

import pytest

from cairn.evaluation.metric import Lines, Question, Scored, grouped, mean_of, ndcg, recall, shows

A, B, C = Lines("src/a.py"), Lines("src/b.py"), Lines("src/c.py")
SECOND = 1 / math.log2(3)


def scored(value: float, category: str = "x", language: str = "python") -> Scored:
    return Scored(Question("r", language, category, "q", (A,)), value, 1.0, value / 2, 0.001)


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
