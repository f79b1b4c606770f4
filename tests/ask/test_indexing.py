"""A program indexes while it goes on, waits for the end, and lists since when each file is known."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import cairn
from tests.conformance import conforms
from tests.support.waiting import PATIENCE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one file that nobody has indexed."""
    found = (tmp_path / "tree").resolve()
    found.mkdir()
    (found / "a.py").write_text("def first():\n    return 1\n")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    return found


class Pause:
    """Takes the progress of a run, and lets it stand still at its first step."""

    def __init__(self) -> None:
        self.here, self.go = threading.Event(), threading.Event()

    def __call__(self, _: cairn.Progress) -> None:
        self.here.set()
        assert self.go.wait(PATIENCE)


@conforms("004.CU14", "004.CU15")
def test_a_program_indexes_while_it_goes_on_and_a_second_run_is_refused_by_name(folder: Path) -> None:
    pause = Pause()
    begun = cairn.start_indexing(folder, progress=pause)
    assert pause.here.wait(PATIENCE)
    assert (begun.root, begun.is_over, begun.wait_for_completion(0)) == (str(folder), False, False)
    assert begun.progress is not None
    with pytest.raises(cairn.IndexingInProgressError):
        cairn.start_indexing(folder)
    pause.go.set()
    assert begun.wait_for_completion(PATIENCE)
    assert cairn.start_indexing(folder, background=False).is_over


def test_whoever_waits_for_a_run_that_fails_gets_its_error(folder: Path, tmp_path: Path) -> None:
    cairn.start_indexing(folder, background=False)
    (tmp_path / "home" / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    (folder / "A.py").write_text("x = 1\n")
    begun = cairn.start_indexing(folder)
    with pytest.raises(cairn.ConfigError):
        begun.wait_for_completion(PATIENCE)
    with pytest.raises(cairn.UsageError):
        cairn.start_indexing(folder, progress="loud")  # type: ignore[arg-type]


@conforms("004.MD6")
def test_each_indexed_file_is_listed_with_the_time_since_when_it_is_known(folder: Path) -> None:
    before = datetime.now(UTC)
    with cairn.open(folder) as code:
        known = code.last_indexed()
        assert list(known) == ["a.py"]
        assert before - timedelta(seconds=2) < known["a.py"] <= datetime.now(UTC)
        (folder / "b.py").write_text("def second():\n    return 2\n")
        later = code.last_indexed()
        assert list(later) == ["a.py", "b.py"]
        # The old file was not read again, and is known since it was.
        assert later["a.py"] == known["a.py"] <= later["b.py"]
