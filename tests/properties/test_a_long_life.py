"""A store that has lived through many syncs is as small, as sound and as right as one that was made just now."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.core.limits import RETAIN_SNAPSHOTS_MIN
from cairn.search.searcher import Searcher
from cairn.search.types import Found, Mode, SearchRequest
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.repair.verify import check
from cairn.sync.upkeep import gc
from tests.search.corpora import project, questions
from tests.sync.desk import Desk, extract_here, silent

FIVE_MINUTES, HOUR = 300.0, 3600.0
# What a segment takes for itself, whatever is in it: not little beside so small a tree.
FRAME_BYTES = 14_000


@contextmanager
def viewed(desk: Desk) -> Iterator[SnapshotView]:
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
        yield view


def answers(desk: Desk, asked: list[str]) -> list[Found]:
    with viewed(desk) as view:
        searcher = Searcher(view, desk.model)
        return [searcher.search(SearchRequest(one, mode)) for one in asked for mode in Mode]


def sizes(desk: Desk) -> tuple[int, int]:
    """The bytes of the segments that the newest snapshot reads, and of all that lies in the store."""
    with viewed(desk) as view:
        segments = sum(ref.size_bytes for ref in view.manifest.segments)
    found = (path.lstat() for path in Path(desk.place.path).rglob("*") if path.is_file())
    return segments, sum(stat.st_size for stat in found)


class Life:
    """Saves, deletions, moves and reverts over a made-up project, a sync after each, five minutes later."""

    def __init__(self, desk: Desk, seed: int, files: int) -> None:
        self.desk, self._chance = desk, random.Random(seed)
        # One of each name: two that differ in case alone would be refused.
        self._all = dict({n.lower(): (n, d) for n, d in project(seed, files).items()}.values())
        self._now = dict(self._all)
        for name, data in self._all.items():
            desk.put(name, data)

    def step(self) -> None:
        for _ in range(self._chance.randrange(1, 4)):
            self._change()
        self.desk.clock.advance(FIVE_MINUTES)
        # What one change makes another may take back: then there is nothing to publish.
        self.desk.sync()

    def _change(self) -> None:
        name, kind = self._chance.choice(sorted(self._all)), self._chance.random()
        if name not in self._now or kind < 0.2:
            self._put(name, self._all[name] + b"# taken back %d\n" % self._chance.randrange(1_000_000))
        elif kind < 0.8:
            lines = self._now[name].splitlines(keepends=True)
            at = self._chance.randrange(len(lines))
            self._put(
                name, b"".join([*lines[:at], b"lease_%d = 1\n" % self._chance.randrange(10**6), *lines[at + 2 :]])
            )
        elif len(self._now) > len(self._all) // 2:
            self._now.pop(name)
            (self.desk.tree / name).unlink()

    def _put(self, name: str, data: bytes) -> None:
        self._now[name] = data
        self.desk.put(name, data)


def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, seed: int, files: int, syncs: int, every: int) -> None:
    desk = Desk(tmp_path / "lived")
    extract_here(monkeypatch, desk.clock)
    life = Life(desk, seed, files)
    for number in range(1, syncs + 1):
        life.step()
        if number % every == 0:
            held_against_a_fresh_one(desk, tmp_path / f"fresh{number}", seed)
    desk.clock.advance(HOUR)
    assert gc(desk.codebase, desk.options(), silent, clock=desk.clock).kept == RETAIN_SNAPSHOTS_MIN
    segments, whole = sizes(desk)
    assert whole <= 3 * segments
    held_against_a_fresh_one(desk, tmp_path / "fresh", seed)


def held_against_a_fresh_one(desk: Desk, folder: Path, seed: int) -> None:
    fresh = Desk(folder)
    fresh.tree = desk.tree
    fresh.index()
    with viewed(fresh) as view:
        tree = {path: bytes(view.text(path) or b"") for path in view.records()}
    asked = questions(seed, tree, 10)
    assert answers(desk, asked) == answers(fresh, asked)
    with desk.place.make_disk() as disk:
        assert check(disk) == []
    with viewed(desk) as view:
        count = len(view.manifest.segments)
    assert count <= 14
    # A tenth may be dead.
    assert sizes(desk)[0] <= 1.15 * sizes(fresh)[0] + FRAME_BYTES * count


def test_after_many_syncs_answers_and_sizes_are_those_of_a_fresh_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path, monkeypatch, seed=5, files=20, syncs=25, every=25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_after_five_hundred_syncs_too(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live(tmp_path, monkeypatch, seed=seed, files=120, syncs=500, every=100)
