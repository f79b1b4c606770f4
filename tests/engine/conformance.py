"""What any place that searches rows must do: one suite, run on each of them (see test_local_rows, test_milvus_rows).

Two classes of tests that are inherited. `SearchConformance` is what a reader asks; beside it stands a fixture `place`
that holds the rows of all segments of `view`. `KeeperConformance` is what runs do with such a place: put a segment,
mark a run, drop what nobody needs. On this machine the store does that by itself, when it publishes and collects;
nothing but a test would call it by the names of the contract. So the suite makes real runs, and a fixture `keeper`
tells what is there afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, cast

import numpy as np
import pytest

import cairn.store.publish.publish as publish_module
import cairn.store.tend.collect as collect_module
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.engine.contract import RowScope, RowSearch
from cairn.engine.rows import scope_of, segments_of, term_number
from cairn.errors import EngineDamaged
from cairn.store.format.manifest import Completion, Manifest
from cairn.store.publish.generations import published, read_claims
from cairn.store.read.live import live_parts
from cairn.store.read.snapshot import SnapshotView
from cairn.sync.report import RunOptions
from cairn.sync.run import reindex
from cairn.sync.upkeep import gc
from tests.search.corpora import MODEL, engine_of, project
from tests.support.faults import Faults
from tests.support.local_rows import LocalRows
from tests.sync.team import Person

TREE = project(3, 24)
QUESTIONS = ("lease token of a snapshot", "class Base run", "publish the manifest", "def helper")


def vector_of(text: str) -> np.ndarray:
    found: np.ndarray = MODEL.embed_query(text)
    return found


@pytest.fixture(scope="module")
def view() -> Iterator[SnapshotView]:
    """A store of six segments, with old versions and ghosts under tombstones."""
    with engine_of(TREE, 6) as engine:
        assert len(engine.view.manifest.segments) == 6
        assert scope_of(engine.view).hidden
        yield engine.view


class SearchConformance:
    """What a reader asks."""

    def test_the_nearest_rows_come_first_and_hidden_ones_never(self, view: SnapshotView, place: RowSearch) -> None:
        scope = scope_of(view)
        parts = dict(zip(scope.segments, live_parts(view), strict=True))
        for question in QUESTIONS:
            wanted = vector_of(question)
            found = place.search_dense(wanted, scope, 10)
            slow = sorted(
                (
                    (-float((part.vectors.vectors[row] * part.vectors.scales[row]) @ wanted), name, row)
                    for name, part in parts.items()
                    for key, number in part.files()
                    for row in range(int(part.row_starts[number]), int(part.row_starts[number + 1]))
                ),
            )[:10]
            assert [near.score for near in found] == pytest.approx([-score for score, _, _ in slow], abs=1e-5)
            assert len({(near.segment, near.row) for near in found}) == 10

    def test_every_live_row_can_be_reached_and_no_other(self, view: SnapshotView, place: RowSearch) -> None:
        scope = scope_of(view)
        live = sum(ref.rows for ref in view.manifest.segments)
        found = place.search_dense(vector_of("anything"), scope, 2 * live)
        assert len(found) == view.manifest.counts.chunks_live < live
        hidden = {(name, number) for name, numbers in scope.hidden.items() for number in numbers}
        held = [one for near in found for one in place.fetch_rows(near.segment, [near.row])]
        assert len(held) == len(found)
        assert not {(one.segment, one.file) for one in held} & hidden
        assert {one.path for one in held} == {key for part in live_parts(view) for key, _ in part.files()}

    def test_only_the_segments_of_the_scope_count(self, view: SnapshotView, place: RowSearch) -> None:
        one = view.manifest.segments[2].name
        found = place.search_dense(vector_of("lease"), RowScope((one,), {}), 10_000)
        assert {near.segment for near in found} == {one}
        assert sorted(near.row for near in found) == list(range(view.manifest.segments[2].rows))
        assert place.search_dense(vector_of("lease"), RowScope((), {}), 10) == []

    def test_who_does_not_hold_all_segments_does_not_answer(self, view: SnapshotView, place: RowSearch) -> None:
        known = tuple(ref.name for ref in view.manifest.segments)
        for scope in (RowScope(("seg_nowhere_0",), {}), RowScope((*known, "seg_nowhere_0"), {})):
            with pytest.raises(EngineDamaged):
                place.search_dense(vector_of("lease"), scope, 1)
            with pytest.raises(EngineDamaged):
                place.search_lexical({term_number("lease"): 1.0}, scope, 1)

    def test_words_find_the_rows_that_hold_them_by_their_weights(self, view: SnapshotView, place: RowSearch) -> None:
        scope = scope_of(view)
        slow = LocalRows(view)
        for words in (("lease",), ("lease", "token"), ("class", "publish", "nowhereword")):
            weights = {term_number(word): 1.0 + place_of for place_of, word in enumerate(words)}
            found, wanted = (one.search_lexical(weights, scope, 20) for one in (place, slow))
            assert [near.score for near in found] == pytest.approx([near.score for near in wanted], rel=1e-5)
            assert all(near.score > 0 for near in found)
        assert place.search_lexical({term_number("nowhereword"): 1.0}, scope, 10) == []
        assert place.search_lexical({}, scope, 10) == []

    def test_rows_are_fetched_in_the_order_asked_for(self, view: SnapshotView, place: RowSearch) -> None:
        [first, *_] = segments_of(view)
        rows = {row.row: row for row in first.read()}
        found = place.fetch_rows(first.name, [2, 0, 1, len(rows) + 5])
        assert [(one.row, one.file, one.path) for one in found] == [
            (number, rows[number].file, rows[number].path) for number in (2, 0, 1)
        ]
        assert place.fetch_rows("seg_nowhere_0", [0]) == []


class Keeper(Protocol):
    """What is in a place, in the words of the contract."""

    person: Person

    def segments(self) -> Mapping[str, Mapping[str, bytes]]:
        """The segments that are there whole, and the bytes of their files."""

    def markers(self) -> Mapping[str, Completion]:
        """The runs that are complete there."""


class Later:
    """An hour after now: what was superseded before is old."""

    def __getattr__(self, name: str) -> object:
        return getattr(SYSTEM_CLOCK, name)

    def wall_ns(self) -> int:
        return SYSTEM_CLOCK.wall_ns() + 3_600 * 10**9


def newest(one: Person) -> Manifest:
    with one.disk() as disk:
        return next(published(disk, read_claims(disk), []))


class KeeperConformance:
    """What a writer and a collector do."""

    def test_what_a_run_has_published_is_there_whole_and_marked_and_once(self, keeper: Keeper) -> None:
        one = keeper.person
        one.index()
        first = newest(one)
        assert set(keeper.segments()) == {ref.name for ref in first.segments}
        assert all(files for files in keeper.segments().values())
        assert keeper.markers() == {first.snapshot_id: first.completion}
        before = keeper.segments()
        one.sync()
        assert keeper.segments() == before
        one.write({"src/more.py": "def more():\n    return 1\n"})
        one.sync()
        second = newest(one)
        assert {name: keeper.segments()[name] for name in before} == before
        assert {ref.name for ref in second.segments} <= set(keeper.segments())
        assert keeper.markers() == {run.snapshot_id: run.completion for run in (first, second)}

    def test_a_run_that_fails_marks_nothing_and_takes_nothing_away(
        self, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = keeper.person
        one.index()
        segments, markers = keeper.segments(), keeper.markers()

        def fail(*_: object) -> None:
            raise OSError(5, "the disk does not answer")

        with monkeypatch.context() as patch:
            patch.setattr(publish_module, "claim", fail)
            one.write({"src/more.py": "def more():\n    return 2\n"})
            with pytest.raises(Exception, match=r"."):
                one.sync()
        assert keeper.markers() == markers
        assert {name: keeper.segments()[name] for name in segments} == segments

    def test_what_no_kept_snapshot_names_is_dropped_with_its_marker_and_the_rest_stays(
        self, keeper: Keeper, faults: Faults
    ) -> None:
        one = keeper.person
        one.index()
        first = newest(one)
        options = RunOptions(str(one.home), workers=1)
        reindex(one.codebase, options, lambda _: None)
        second = newest(one)
        kept = {ref.name for ref in second.segments}
        assert set(keeper.segments()) == kept | {ref.name for ref in first.segments}
        gc(one.codebase, options, lambda _: None)
        assert set(keeper.markers()) == {first.snapshot_id, second.snapshot_id}, "somebody may still read it"
        faults.limit(collect_module, RETAIN_SNAPSHOTS_MIN=1)
        gc(one.codebase, options, lambda _: None, clock=cast("Clock", Later()))
        assert set(keeper.segments()) == kept
        assert keeper.markers() == {second.snapshot_id: second.completion}
