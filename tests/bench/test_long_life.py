"""The measurement of a long life says what was reached, and sees when an answer is another."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from bench import long_life
from cairn.embedding.static import StaticEmbedder
from cairn.search.searcher import Searcher
from cairn.search.types import Mode
from tests.support.faults import Faults
from tests.support.repos import commit, make_repo


@pytest.fixture
def store(tmp_path: Path) -> long_life.Store:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "lease.py").write_text("def steal_lease(owner):\n    return renew_token(owner)\n" * 20)
    (folder / "notes.md").write_text("how the owner of a lease renews its token\n" * 20)
    return long_life.Store(folder, tmp_path / "home", StaticEmbedder(), long_life.FastTime())


def test_a_life_of_a_few_steps_is_told_with_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = make_repo(tmp_path / "repository")
    for number in range(4):
        commit(repository, {b"src/%d.py" % number: b"def function_%d():\n    return 1\n" % number * 30})
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    faults.limit(long_life, ROUNDS=1, QUESTIONS=5)
    # A handful of lines is outweighed by the frame around them: only that it is said is of interest.
    assert long_life.main([str(repository), "--steps", "8"]) == 1
    told = capsys.readouterr().out
    assert "8 syncs over 4 commits" in told
    assert "live segments : source: " in told
    assert "at most 3.0x: MISSED" in told
    assert "checker: clean" in told
    assert "answers: 30 in 6 modes, 0 differ from a fresh index" in told
    assert "query p50, hybrid, against a fresh index: " in told
    assert "bytes written per byte of the saved files: " in told


def test_a_life_ends_when_its_time_is_over(store: long_life.Store) -> None:
    class Endless:
        def steps(self, count: int) -> list[int]:
            return [0] * count

    diary = long_life.live(store, Endless(), 50, seconds=0.0)  # type: ignore[arg-type]
    assert len(diary.cpu) == len(diary.segments) == 1


def test_every_question_is_asked_in_every_mode_and_finds_something_in_most(store: long_life.Store) -> None:
    store.index()
    with store.view() as view:
        asked = long_life.questions(view, 10)
        found = [Searcher(view, store.model).search(one).total for one in asked]
    assert [one.mode for one in asked] == [*Mode] * 10
    assert sum(map(bool, found)) > len(found) / 2


def test_an_index_that_lags_behind_gives_other_answers(store: long_life.Store, tmp_path: Path) -> None:
    store.index()
    (store.folder / "lease.py").write_text("def steal_lease(thief):\n    return renew_token(thief)\n" * 20)
    fresh = long_life.Store(store.folder, tmp_path / "fresh", store.model, store.clock)
    fresh.index()
    with store.view() as old, fresh.view() as new:
        asked = long_life.questions(new, 10)
        said = [long_life.answers(Searcher(view, store.model), asked) for view in (old, new)]
    assert said[0] != said[1]
    store.sync(long_life.Diary())
    with store.view() as caught_up:
        assert long_life.answers(Searcher(caught_up, store.model), asked) == said[1]


def test_time_passes_without_waiting_and_is_always_ahead_of_the_files(store: long_life.Store) -> None:
    clock = store.clock
    began = clock.wall_ns()
    clock.sleep(3600.0)
    assert clock.wall_ns() - began >= 3600 * 10**9
    assert (store.folder / "lease.py").stat().st_ctime_ns < began - 30 * 10**9
