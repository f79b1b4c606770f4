"""BM25 over fields, and a file as good as its best chunks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cairn.core.tokens import terms
from cairn.search.lexical import K1, B, best_of_files, bm25, falling_sums, idf
from tests.search.corpora import engine_of

TREE = {
    "src/lease.py": b"def renew(lease):\n    return lease\n",
    "src/other.py": b"def lease():\n    pass\n",
    "notes.md": b"nothing to see here\n",
}


def test_a_row_scores_as_the_formula_says() -> None:
    with engine_of(TREE) as engine:
        (match,) = engine.matches(["renew"])
        rows, counts = match["body"]
        scores = bm25(engine, [match], {"body": 1.0})
        length, mean = float(engine.lengths("body")[rows[0]]), engine.mean_length("body")
        count = float(counts[0]) / (1 - float(B) + float(B) * length / mean)
        rare = math.log(1 + (engine.rows - 1 + 0.5) / 1.5)
        assert float(scores[rows[0]]) == pytest.approx(rare * count * (float(K1) + 1) / (count + float(K1)), rel=1e-5)
        assert np.count_nonzero(scores) == 1


def test_fields_are_weighted_into_one_count_and_a_share_makes_a_term_count_less() -> None:
    with engine_of(TREE) as engine:
        matches = engine.matches(terms("lease"))
        body, both = (bm25(engine, matches, fields) for fields in ({"body": 1.0}, {"body": 1.0, "path": 2.0}))
        named = engine.first_row[engine.find("src/lease.py") or 0]
        assert both[named] > body[named] > 0
        assert np.allclose(bm25(engine, matches, {"body": 1.0}, [0.5]), body / 2)


def test_several_words_add_up_and_long_chunks_count_less_for_each() -> None:
    tree = {"both.py": b"renew lease\n", "one.py": b"renew other\n", "long.py": b"renew " + b"filler " * 50 + b"\n"}
    with engine_of(tree) as engine:
        renew, lease = (bm25(engine, engine.matches([word]), {"body": 1.0}) for word in ("renew", "leas"))
        assert lease.any()
        together = bm25(engine, engine.matches(["renew", "leas"]), {"body": 1.0})
        assert np.allclose(together, renew + lease)
        short, long = (engine.first_row[engine.find(path) or 0] for path in ("one.py", "long.py"))
        assert renew[short] > renew[long] > 0


def test_a_rare_word_says_more_than_a_common_one() -> None:
    assert idf(100, 1) > idf(100, 50) > idf(100, 100) > 0


def test_a_word_that_nobody_holds_scores_nothing() -> None:
    with engine_of(TREE) as engine:
        scores = bm25(engine, engine.matches(["nowhereword"]), {"body": 1.0, "path": 1.0})
        assert not scores.any()
        assert not best_of_files(engine, scores, (1.0, 0.5)).any()


def test_the_best_rows_of_a_file_are_summed_with_falling_weights() -> None:
    long = b"".join(b"def f%d():\n%s\n" % (number, b"    step()\n" * 150) for number in range(12))
    with engine_of({"a.py": long, "b.py": long[: len(long) // 2]}) as engine:
        chance = np.random.default_rng(5)
        scores = chance.integers(0, 6, engine.rows).astype(np.float32)
        files = best_of_files(engine, scores, (1.0, 0.5, 0.25))
        assert engine.rows > 8
        for place in range(len(engine.paths)):
            own = scores[engine.first_row[place] : engine.first_row[place + 1]]
            expected = sum(w * s for w, s in zip((1.0, 0.5, 0.25), sorted(own.tolist(), reverse=True), strict=False))
            assert files[place] == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [[1, 1, 1], [5, 1, 2], [7, 9, 8], [1, 1, 1, 1, 6], []])
def test_the_largest_numbers_of_each_run_are_summed_however_long_the_others_are(sizes: list[int]) -> None:
    values = np.random.default_rng(len(sizes)).integers(0, 4, sum(sizes)).astype(np.float32)
    begins = np.cumsum(sizes, dtype=np.int64) - sizes
    runs = [
        sorted(values[begin : begin + size].tolist(), reverse=True) for begin, size in zip(begins, sizes, strict=True)
    ]
    expected = [sum(w * v for w, v in zip((1.0, 0.5, 0.25), run, strict=False)) for run in runs]
    assert falling_sums(values.copy(), begins, (1.0, 0.5, 0.25)).tolist() == expected
