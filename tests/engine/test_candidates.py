"""A server that names the nearest rows, does not answer, or says what is not so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import cairn.engine.local as candidates_module
from cairn.core.limits import ENGINE_REST_SECONDS
from cairn.engine.contract import Held, Near, RowScope, Vector
from cairn.engine.local import CandidateEngine
from cairn.errors import EngineDamaged, EngineUnreachable
from tests.search.corpora import MODEL, engine_of, project
from tests.support.clock import ManualClock
from tests.support.faults import Faults
from tests.support.local_rows import LocalRows

VECTOR: Vector = MODEL.embed_query("lease token")


class Odd(LocalRows):
    """The rows of a view, asked through a line that is cut, or by a server that says more or less than it should."""

    away = False
    less = 0
    more: tuple[Near, ...] = ()
    asked = 0

    def search_dense(self, vector: Vector, scope: RowScope, limit: int) -> list[Near]:
        self.asked += 1
        if self.away:
            raise EngineUnreachable(uri="here", why="cut")
        return [*self.more, *super().search_dense(vector, scope, limit)[self.less :]]

    def search_lexical(self, weights: Mapping[int, float], scope: RowScope, limit: int) -> list[Near]:
        raise AssertionError("words are looked up in the store")

    def fetch_rows(self, segment: str, rows: Sequence[int]) -> list[Held]:
        raise AssertionError("rows are read in the store")


def test_a_server_that_is_away_is_said_and_left_alone_for_a_while() -> None:
    clock = ManualClock()
    with engine_of(project(1, 12), 3) as local:
        odd = Odd(local.view)
        engine = CandidateEngine(local.view, odd, clock)
        odd.away = True
        assert engine.nearest(VECTOR) is None
        assert isinstance(engine.trouble, EngineUnreachable)
        assert engine.nearest(VECTOR) is None
        assert odd.asked == 1
        odd.away = False
        clock.sleep(ENGINE_REST_SECONDS)
        assert engine.nearest(VECTOR) is not None
        assert engine.trouble is None


def test_rows_that_are_not_live_or_not_ours_are_passed_over() -> None:
    with engine_of(project(1, 12), 3) as local:
        odd = Odd(local.view)
        name = local.view.manifest.segments[0].name
        hidden = next(row for row, place in enumerate(local._maps[0].tolist()) if place < 0)
        odd.more = (Near("seg_nowhere_0", 0, 9.0), Near(name, hidden, 9.0), Near(name, 10**9, 9.0), Near(name, -1, 9.0))
        found = CandidateEngine(local.view, odd).nearest(VECTOR)
        assert found is not None
        assert found.rows.tolist() == list(range(local.rows))
        assert found.near.tolist() == local.similarity(VECTOR).tolist()
        assert found.middle == np.median(local.similarity(VECTOR))
        assert found.others is None


def test_a_server_that_leaves_rows_out_is_not_believed() -> None:
    with engine_of(project(1, 12), 3) as local:
        odd = Odd(local.view)
        odd.less = 1
        engine = CandidateEngine(local.view, odd)
        assert engine.nearest(VECTOR) is None
        assert isinstance(engine.trouble, EngineDamaged)


def test_a_server_that_has_lost_rows_is_not_believed_however_many_it_names(faults: Faults) -> None:
    faults.limit(candidates_module, ENGINE_CANDIDATES=3)
    with engine_of(project(1, 12), 3) as local:
        odd = Odd(local.view)
        engine = CandidateEngine(local.view, odd)
        assert engine.nearest(VECTOR) is not None
        # Somebody collected this segment while it was read.
        del odd._parts[local.view.manifest.segments[0].name]
        assert engine.nearest(VECTOR) is None
        assert isinstance(engine.trouble, EngineDamaged)
