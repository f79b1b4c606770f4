"""Nearness: the same numbers for the files that matter as for all, and bounds that hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cairn.engine.local import LocalEngine
from cairn.search import nearness
from cairn.search.lexical import best_of_files
from cairn.search.nearness import Nearness, median
from cairn.search.query import parse
from cairn.search.rank import rank
from cairn.search.weights import FALLING
from tests.search.corpora import MODEL, engine_of, project, questions
from tests.support.faults import Faults

TREE = project(23, 40)


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(TREE, 3) as made:
        yield made


@pytest.fixture(params=[0, 1 << 14], ids=["with bounds", "all at once"])
def near(engine: LocalEngine, request: pytest.FixtureRequest, faults: Faults) -> Nearness:
    faults.limit(nearness, _MANY=request.param, _SAMPLED=4)
    return Nearness(engine, MODEL.embed_query("lease renewal"), FALLING)


def test_a_file_is_as_near_as_its_nearest_rows(engine: LocalEngine, near: Nearness) -> None:
    rows = near.rows(slice(None))
    sums = best_of_files(engine, rows, FALLING)
    everything = np.arange(len(engine.paths))
    assert rows.max() == 1
    assert near.of(everything).tolist() == (sums.astype(np.float64) / float(sums.max())).tolist()
    assert near.of(everything[::3]).tolist() == near.of(everything)[::3].tolist()
    assert near.files.tolist() == np.maximum.reduceat(rows, engine.first_row[:-1]).tolist()


def test_what_a_file_has_lies_between_its_bounds(engine: LocalEngine, near: Nearness) -> None:
    least, most = near.bounds
    exactly = near.of(np.arange(len(engine.paths)))
    assert (least <= exactly).all()
    assert (exactly <= most).all()


def test_the_row_in_the_middle_and_all_below_it_are_near_to_nothing(engine: LocalEngine, near: Nearness) -> None:
    assert np.count_nonzero(near.rows(slice(None)) == 0) >= engine.rows // 2


def test_a_vector_that_is_near_to_all_alike_is_near_to_none(engine: LocalEngine) -> None:
    near = Nearness(engine, np.zeros_like(MODEL.embed_query("x")), FALLING)
    assert not near.files.any()
    assert not near.of(np.arange(len(engine.paths))).any()


def test_ranks_are_the_same_however_few_files_are_looked_at_closely(engine: LocalEngine, faults: Faults) -> None:
    for asked in questions(23, TREE, 25):
        for mode in ("hybrid", "semantic"):
            faults.limit(nearness, _MANY=1 << 14)
            whole = rank(engine, parse(asked), MODEL, mode=mode, limit=1000)
            for limit in (1, 5):
                faults.limit(nearness, _MANY=0, _SAMPLED=4)
                first = rank(engine, parse(asked), MODEL, mode=mode, limit=limit, offset=2)
                assert first.ranked == whole.ranked[2 : 2 + limit]
                assert first.candidates == whole.candidates


@settings(derandomize=True, max_examples=200)
@given(arrays(np.float32, st.integers(1, 60), elements=st.floats(-1, 1, width=32)), st.booleans())
def test_the_median_is_the_one_that_numpy_gives(numbers: np.ndarray, many: bool) -> None:
    with Faults.meanwhile() as faults:
        faults.limit(nearness, _MANY=3 if many else 100, _SAMPLED=2)
        assert median(numbers) == np.median(numbers)
