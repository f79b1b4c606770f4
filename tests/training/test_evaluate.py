"""The measure of a model: a right answer counts by its rank, and a system that says nothing earns nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cairn.embedding.static import StaticEmbedder
from training.bm25 import Bm25
from training.evaluate import gain, measure
from training.records import Record


@pytest.mark.parametrize(("rank", "value"), [(1, 1.0), (2, 1 / math.log2(3)), (10, 1 / math.log2(11)), (11, 0.0)])
def test_a_right_answer_counts_by_its_rank_up_to_the_tenth(rank: int, value: float) -> None:
    scores = np.arange(20, 0, -1).astype(np.float32)
    assert gain(scores, rank - 1) == pytest.approx(value)


def test_a_system_that_scores_everything_the_same_earns_nothing() -> None:
    assert gain(np.zeros(20, np.float32), 0) == 0


def test_words_find_the_text_that_holds_the_rarest_of_them() -> None:
    index = Bm25(["parse the header", "parse the body", "write the header header"])
    assert index.scores("body").argmax() == 1
    assert index.scores("header")[2] > index.scores("header")[0] > 0
    assert not index.scores("nothing of it").any()


def test_a_repository_is_asked_by_its_own_texts_and_left_out_when_they_are_few() -> None:
    names = [
        "parser",
        "socket",
        "cache",
        "logger",
        "router",
        "index",
        "token",
        "buffer",
        "thread",
        "column",
        "matrix",
        "window",
    ]
    records = [
        Record("doc", "a/b", f"{name}.py", name, f"opens the {name}", f"def open_{name}(): ...") for name in names
    ]
    model = StaticEmbedder()
    assert measure(records, "doc", model, 400) == {"BM25": 1.0, "model": 1.0, "both": 1.0}
    assert measure(records[:9], "doc", model, 400) == {}
    assert measure(records, "test", model, 400) == {}
