"""Edges are counted against the truth: right, wrong or not judged, for each tier, with two baselines beside them."""

from __future__ import annotations

import pytest
from bench.edges_count import Judge, Judged
from bench.edges_truth import Truth

from cairn.semantic.scip import ScipIndex
from tests.graph.trees import graph_of
from tests.semantic.indices import document, index, occurrence

OWN = "scip-python python shop 1 "
TREE = {
    "a.py": """\
class Box:
    def fill(self):
        return self.turn()
    def turn(self):
        pass
def f():
    return f()
def g(box, cb):
    box.fill()
    cb()
    return f()
""",
    "b.py": "def f():\n    pass\n",
}


def judged(*uses: tuple[int, int, str]) -> Judged:
    """The tree judged by an indexer that knows the definitions and these uses: line, column, symbol."""
    defined = [(0, 6, "a/Box#"), (1, 8, "a/Box#fill()."), (3, 8, "a/Box#turn()."), (5, 4, "a/f()."), (7, 4, "a/g().")]
    occurrences = [occurrence([line, column, column + 1], OWN + symbol, 1) for line, column, symbol in defined]
    occurrences += [occurrence([line, column, column + 1], symbol, 8) for line, column, symbol in uses]
    other = document("b.py", [occurrence([0, 4, 5], f"{OWN}b/f().", 1)])
    found = ScipIndex(index(document("a.py", occurrences), other, tool="scip-python"), "test")
    with graph_of(TREE) as graph:
        return Judge(graph, Truth(found, {path: text.encode() for path, text in TREE.items()}), "python").judge()


def test_an_edge_is_right_when_the_indexer_has_it_and_else_a_disagreement() -> None:
    found = judged(
        (2, 20, f"{OWN}a/Box#turn()."), (6, 11, f"{OWN}b/f()."), (8, 8, f"{OWN}a/Box#fill()."), (10, 11, f"{OWN}a/f().")
    )
    calls = found.counts["calls"]
    assert (calls.listed, calls.judged, calls.inside) == (5, 4, 4)
    proven, likely = calls.rules["proven"], calls.rules["likely"]
    assert (proven.edges, proven.right, proven.sites, proven.unjudged) == (3, 2, 2, 0)
    assert (likely.edges, likely.right) == (1, 1)
    assert proven.precision == pytest.approx(2 / 3)
    assert calls.recall("proven") == 0.5
    (wrong,) = found.disagreements
    assert (wrong.tier, wrong.path, wrong.line, wrong.column, wrong.name) == ("proven", "a.py", 7, 11, "f")
    assert wrong.ours == "a.py:6 f"
    assert wrong.indexer.startswith("b.py:1 ")


def test_where_the_indexer_says_nothing_an_edge_counts_neither_way() -> None:
    found = judged()
    proven = found.counts["calls"].rules["proven"]
    assert (proven.edges, proven.unjudged, proven.right) == (3, 3, 0)
    assert proven.precision == 0.0
    assert found.disagreements == []


def test_what_is_external_in_truth_makes_the_edge_wrong_and_is_no_loss_of_recall() -> None:
    found = judged((8, 8, "scip-python python python-stdlib 3.11 io/IO#fill()."))
    likely = found.counts["calls"].rules["likely"]
    assert (likely.edges, likely.unjudged, likely.right) == (1, 0, 0)
    assert found.counts["calls"].inside == 0
    assert [each.indexer.split()[0] for each in found.disagreements] == ["external"]


def test_the_baselines_take_every_definition_of_a_name_or_only_a_unique_one() -> None:
    found = judged((6, 11, f"{OWN}a/f()."), (8, 8, f"{OWN}a/Box#fill()."))
    rules = found.counts["calls"].rules
    same, unique = rules["same_name"], rules["unique_name"]
    # Two calls of `f`, of which there are two; `turn` and `fill` are unique; nothing is called `cb`.
    assert (same.edges, same.unjudged, same.right, same.sites) == (6, 3, 2, 2)
    assert (unique.edges, unique.unjudged, unique.right) == (2, 1, 1)


def test_a_repository_judged_twice_gives_the_same() -> None:
    assert judged((6, 11, f"{OWN}b/f().")) == judged((6, 11, f"{OWN}b/f()."))
