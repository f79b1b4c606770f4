"""The same tree gives the same results, to the last bit of the scores, however it lies in segments."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cairn.engine.local import LocalEngine
from cairn.search.query import parse
from cairn.search.rank import Ranking, rank
from tests.search.corpora import MODEL, Tree, engine_of, project, questions

LAYERS = (8, 64)
MODES = ("hybrid", "lexical", "semantic")


def answers(engine: LocalEngine, asked: list[str], mode: str = "hybrid") -> list[Ranking]:
    return [rank(engine, parse(one), MODEL, mode=mode, limit=50) for one in asked]


def the_same_in_all(tree: Tree, asked: list[str]) -> None:
    with engine_of(tree) as whole:
        expected = {mode: answers(whole, asked, mode) for mode in MODES}
        for rankings in expected.values():
            assert sum(bool(ranking.ranked) for ranking in rankings) > len(asked) * 0.7
        for layers in LAYERS:
            with engine_of(tree, layers) as engine:
                assert len(engine.view.manifest.segments) >= layers
                assert engine.paths == whole.paths
                for mode in MODES:
                    assert answers(engine, asked, mode) == expected[mode]


def test_one_eight_and_sixty_four_segments_give_identical_results() -> None:
    tree = project(1, 66)
    the_same_in_all(tree, questions(1, tree, 10))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_more_random_questions_give_identical_results(seed: int) -> None:
    tree = project(seed, 120)
    the_same_in_all(tree, questions(seed, tree, 150))


def test_a_deleted_file_is_in_no_result_while_its_rows_still_lie_there() -> None:
    tree = project(7, 40)
    with engine_of(tree, 8) as engine:
        for mode in MODES:
            ranking = rank(engine, parse("ghost lease token"), MODEL, mode=mode, limit=1000)
            assert ranking.ranked
            assert not [one for one in ranking.ranked if "ghost" in engine.paths[one.place]]


_SCRIPT = """
from cairn.search.query import parse
from cairn.search.rank import rank
from tests.search.corpora import MODEL, engine_of, project, questions
tree = project(3, 40)
with engine_of(tree, 8) as engine:
    print([rank(engine, parse(one), MODEL) for one in questions(3, tree, 40)])
"""


def test_hash_seeds_and_threads_do_not_show_in_the_results() -> None:
    said = set()
    for seed, threads in (("0", "1"), ("77", "4")):
        settings = {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=os.environ | settings, capture_output=True, text=True, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert len(said.pop()) > 1000
