"""What a signal would change is reckoned right: its own numbers, the scores with it, and what it gains elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from bench.structural_signals import (
    SIGNALS,
    STRONG,
    Asked,
    Imports,
    crossed,
    halves,
    interval,
    proximity,
    quality,
    rescored,
    spread,
    tables,
)

from cairn.evaluation.scoring import JudgedQuestion, Lines


def asked(
    repository: str = "shop", language: str = "python", *, right: str = "b.py", signal: tuple[float, ...] = (0, 1, 0)
) -> Asked:
    """Three files with the scores 1.0, 0.9 and 0.4; the last one is a test, which counts half."""
    question = JudgedQuestion(repository, language, "symbol", "where", (Lines(right, 3, 4),))
    parts = {"text": np.array([0.6, 0.6, 0.4]), "used": np.array([0.4, 0.3, 0.4])}
    signals = dict.fromkeys(SIGNALS, np.array(signal, np.float64))
    return Asked("set", question, ["a.py", "b.py", "test.py"], np.array([1.0, 1.0, 0.5]), parts, signals)


def test_a_candidate_is_as_near_as_the_best_strong_one_that_it_is_linked_to() -> None:
    imports, imported = proximity(np.array([2.0, 1.0, 0.5]), [(2, 1), (2, 0), (1, 0)])
    assert imports.tolist() == [0, 1, 1]
    assert imported.tolist() == [0.5, 0.25, 0]


def test_a_weak_candidate_makes_no_other_one_near() -> None:
    imports, imported = proximity(np.ones(STRONG + 1), [(0, STRONG), (STRONG, 1)])
    assert (imports[0], imported[STRONG]) == (0, 1)
    assert (imports[STRONG], imported[1]) == (1, 0)


def test_without_candidates_or_links_nothing_is_near() -> None:
    assert [each.tolist() for each in proximity(np.zeros(0), [])] == [[], []]
    assert [each.tolist() for each in proximity(np.ones(2), [])] == [[0, 0], [0, 0]]


def test_values_are_spread_from_the_least_to_one_and_equal_ones_say_nothing() -> None:
    found = spread({"a": 1.0, "b": 1.0, "c": 5.0})
    assert found["a"] == found["b"] == 0
    logs = np.log1p([0, 0, 4])
    assert found["c"] == pytest.approx(logs[2] / (4 * logs.std()))
    assert spread({"a": 3.0, "b": 3.0}) == {"a": 0, "b": 0}
    assert spread({str(number): float(number == 99) for number in range(100)})["99"] == 1


def test_the_import_graph_says_which_files_others_lean_on_and_which_are_linked() -> None:
    imports = Imports(["a", "b", "c", "hub"], {"a": ["hub"], "b": ["hub"], "c": ["b"]})
    found = imports.signals(["a", "hub", "c"], np.array([1.0, 0.5, 0.2]))
    assert found["centrality"][1] == max(found["centrality"]) > 0
    assert found["imports a strong one"].tolist() == [0.5, 0, 0]
    assert found["imported by one"].tolist() == [0, 1, 0]
    assert found["either of both"].tolist() == [0.5, 1, 0]
    assert found["walk from them"].max() == 1
    assert set(found) == set(SIGNALS)


def test_where_nothing_imports_anything_every_signal_is_silent() -> None:
    found = Imports(["a", "b"], {}).signals(["b", "a"], np.array([1.0, 0.5]))
    assert not any(column.any() for column in found.values())


def test_a_signal_is_added_before_the_factor_or_multiplies_the_sum() -> None:
    one = asked(signal=(0, 1, 1))
    assert rescored(one, SIGNALS[0], "+", 0.0).tolist() == pytest.approx([1.0, 0.9, 0.4])
    assert rescored(one, SIGNALS[0], "+", 0.2).tolist() == pytest.approx([1.0, 1.1, 0.5])
    assert rescored(one, SIGNALS[0], "x", 0.2).tolist() == pytest.approx([1.0, 1.08, 0.48])
    assert rescored(one, SIGNALS[0], "+", 0.0, {"used": 0.0}).tolist() == pytest.approx([0.6, 0.6, 0.2])


def test_the_order_of_the_scores_is_judged_by_files_and_equal_ones_stay_as_they_stood() -> None:
    one = asked()
    assert quality(one, np.array([1.0, 2.0, 0.0])) == 1
    assert quality(one, np.array([1.0, 1.0, 0.0])) == pytest.approx(1 / np.log2(3))
    assert quality(one._replace(files=[]), np.zeros(0)) == 0


def test_halves_part_repositories_and_not_questions() -> None:
    every = [asked("x", "go"), asked("a"), asked("b"), asked("a"), asked("z", "go")]
    assert halves(every).tolist() == [True, True, False, True, False]


def test_a_weight_is_judged_by_the_half_that_did_not_choose_it() -> None:
    first = np.array([True, True, False, False])
    weights, gains = crossed({0.1: np.array([3.0, 3, 0, 0]), 0.2: np.array([1.0, 1, 2, 2])}, first)
    assert weights == (0.1, 0.2)
    assert gains.tolist() == [1, 1, 0, 0]


def test_an_interval_is_drawn_over_whole_groups() -> None:
    same = interval(np.full(6, 0.25), ["a", "b", "c"] * 2)
    assert same == pytest.approx((0.25, 0.25))
    gains = np.array([1.0, -1.0] * 50)
    by_pairs, by_one = interval(gains, [str(at // 2) for at in range(100)]), interval(gains, list(map(str, range(100))))
    assert by_pairs == (0, 0)
    assert by_one[0] < -0.1 < 0.1 < by_one[1]


def test_a_signal_that_knows_the_answer_is_seen_to_help_on_both_halves() -> None:
    every = [asked(name, language) for name in "abcd" for language in ("go", "python")]
    lines = "\n".join(tables(every)).splitlines()
    gain = 1 - 1 / np.log2(3)
    (row,) = (line for line in lines if line.startswith(f"| + {SIGNALS[0]} "))
    assert row.startswith(f"| + {SIGNALS[0]} | (0.2, 0.2) | +{gain:.4f} (+{gain:.4f} to +{gain:.4f}) |")
    assert f"| go | 4 | {1 - gain:.4f} | +{gain:.4f} |" in "\n".join(lines)
    assert any(line.startswith("| symbol | 8 |") for line in lines)
