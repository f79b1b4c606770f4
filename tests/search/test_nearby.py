"""The ranking with a server that names the nearest rows is the ranking without one."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.engine import local as candidates
from cairn.engine.local import CandidateEngine
from cairn.search.query import parse
from cairn.search.rank import Ranking, rank
from tests.search.corpora import MODEL, engine_of, project
from tests.support.faults import Faults
from tests.support.local_rows import LocalRows

QUESTIONS = (
    "lease token of a snapshot",
    "publish manifest",
    "class",
    "how are rows read and merged",
    "nowhereword anotherone",
    "test helper base",
)


def shown(ranking: Ranking) -> list[tuple[int, float, int]]:
    return [(one.place, one.score, one.row) for one in ranking.ranked]


@pytest.mark.parametrize("named", [1, 3, 10, 1_000])
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_the_same_files_come_first_with_the_same_scores_however_few_rows_are_named(
    named: int, mode: str, faults: Faults
) -> None:
    faults.limit(candidates, ENGINE_CANDIDATES=named)
    with engine_of(project(5, 40), 5) as local:
        away = CandidateEngine(local.view, LocalRows(local.view))
        for question in QUESTIONS:
            query = parse(question)
            for allowed in (None, np.arange(len(local.paths)) % 3 == 0):
                asked, told = (rank(one, query, MODEL, mode=mode, allowed=allowed) for one in (away, local))
                assert shown(asked) == shown(told)
            later, wanted = (rank(one, query, MODEL, mode=mode, limit=4, offset=3) for one in (away, local))
            assert shown(later) == shown(wanted)
        assert away.trouble is None


def test_a_row_is_as_near_as_the_whole_scan_says() -> None:
    with engine_of(project(6, 30), 4) as local:
        away = CandidateEngine(local.view, LocalRows(local.view))
        vector = MODEL.embed_query("lease")
        rows = np.array([3, 0, local.rows - 1, 7, 7], np.int64)
        assert away.similarity_of(vector, rows).tolist() == local.similarity(vector)[rows].tolist()


def test_a_sample_moves_scores_a_little_and_hardly_any_place(faults: Faults) -> None:
    with engine_of(project(7, 60), 3) as local:
        faults.limit(candidates, ENGINE_SAMPLE=local.rows // 2)
        away = CandidateEngine(local.view, LocalRows(local.view))
        same = total = 0
        for question in QUESTIONS:
            query = parse(question)
            asked, told = (rank(one, query, MODEL).ranked for one in (away, local))
            same += sum(one.place == other.place for one, other in zip(asked, told, strict=False))
            total += len(told)
            assert [one.score for one in asked[:3]] == pytest.approx([one.score for one in told[:3]], abs=0.1)
        assert same >= 0.8 * total
