"""A file that a rule leaves out is gone from every segment of the snapshot at once; and there is always room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cairn.store.publish.publish as install_module
from cairn.core.types import Skip, SkipReason
from cairn.store.publish.staging import Rewrite
from cairn.store.tend import compact as rewriting
from cairn.sync.catchup import told_to_leave_out
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here

SECRET = "the password is hunter2"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    return desk


def lies_in_the_index(desk: Desk, text: str) -> bool:
    """Whether any byte of the segments that the newest snapshot names has this text in it."""
    folders = [Path(desk.place.path) / "segments" / ref.name for ref in desk.manifest().segments]
    return any(text.encode() in file.read_bytes() for folder in folders for file in folder.iterdir())


@pytest.mark.parametrize("rule", ["notes.txt", "*.txt", "/notes.txt"])
def test_an_ignored_file_is_written_away_with_all_its_older_copies(desk: Desk, rule: str) -> None:
    desk.put("notes.txt", f"{SECRET}\n")
    desk.put("a.py", "a = 1\n")
    desk.index()
    desk.put("notes.txt", f"{SECRET}, still\n")
    desk.sync()
    assert lies_in_the_index(desk, SECRET)
    desk.put(".gitignore", f"{rule}\n")
    desk.sync()
    assert not lies_in_the_index(desk, SECRET)
    assert desk.texts().keys() == {".gitignore", "a.py"}


def test_a_folder_that_is_ignored_is_written_away(desk: Desk) -> None:
    desk.put("deep/down/notes.txt", f"{SECRET}\n")
    desk.put("a.py", "a = 1\n")
    desk.index()
    desk.put(".cairnignore", "deep/\n")
    desk.sync()
    assert not lies_in_the_index(desk, SECRET)


def test_a_file_that_takes_a_sensitive_name_is_written_away(desk: Desk) -> None:
    desk.put("env.txt", f"{SECRET}\n")
    desk.put("a.py", "a = 1\n")
    desk.index()
    (desk.tree / "env.txt").rename(desk.tree / ".env")
    desk.sync()
    # Under its old name nobody said that it is to be left out: it is hidden, as every deleted file.
    assert desk.texts().keys() == {"a.py"}
    desk.put(".gitignore", "env.txt\n")
    desk.sync()
    assert desk.texts().keys() == {".gitignore", "a.py"}


def test_a_deleted_file_costs_no_rewrite(desk: Desk) -> None:
    desk.put("notes.txt", f"{SECRET}\n")
    for number in range(20):
        desk.put(f"{number}.py", f"a = {number}\n" * 20)
    desk.index()
    before = desk.manifest().segments
    (desk.tree / "notes.txt").unlink()
    desk.sync()
    assert desk.manifest().segments == before


def test_rules_are_those_of_people_and_not_what_a_file_happens_to_be() -> None:
    skips = [
        Skip(b"a", SkipReason.IGNORED),
        Skip(b"deep/down", SkipReason.EXCLUDED, folder=True),
        Skip(b"key", SkipReason.SENSITIVE_NAME),
        Skip(b"big", SkipReason.TOO_LARGE),
    ]
    gone = ["a", "deep/down/x", "deep/other", "key", "big", "away"]
    assert told_to_leave_out(gone, skips) == {"a", "deep/down/x", "key"}
    assert told_to_leave_out(gone, []) == frozenset()


@conforms("003.LIM1")
def test_a_sync_that_finds_no_room_for_a_segment_makes_it(desk: Desk, faults: Faults) -> None:
    faults.limit(rewriting, MAX_SEGMENTS_PER_SNAPSHOT=3)
    faults.limit(install_module, MAX_SEGMENTS_PER_SNAPSHOT=3)
    for number in range(9):
        desk.put(f"{number}.py", f"a = {number}\n" * 50)
        desk.sync()
        assert len(desk.manifest().segments) <= 3
    assert len(desk.texts()) == 9


def test_a_tree_that_moves_while_it_is_written_away_is_not_written_twice(desk: Desk, faults: Faults) -> None:
    desk.put("notes.txt", f"{SECRET}\n")
    desk.put("a.py", "a = 1\n")
    desk.index()
    desk.put(".gitignore", "notes.txt\n")
    moved, rewritten = [], []

    def count(real: Callable[..., tuple[Rewrite, ...]], *given: Any) -> tuple[Rewrite, ...]:
        rewritten.append(given)
        return real(*given)

    faults.around(rewriting, "rewrite", count)

    def tell(progress: object) -> None:
        if "publishing" in repr(progress) and not moved:
            moved.append(desk.put(".gitignore", "notes.txt\n# and no more\n"))

    desk.sync(tell)
    assert moved
    assert not lies_in_the_index(desk, SECRET)
    assert desk.texts() == {"a.py": b"a = 1\n", ".gitignore": b"notes.txt\n# and no more\n"}
    assert len(rewritten) == 1


def test_an_ignored_file_is_written_away_even_when_a_new_one_has_the_same_text(desk: Desk) -> None:
    """It looks like a rename; but the new file may go again in a way that leaves its text lying for a while."""
    desk.put("notes.txt", f"{SECRET}\n")
    desk.index()
    desk.put("copy.md", f"{SECRET}\n")
    desk.put(".cairnignore", "notes.txt\n")
    desk.sync()
    segments = [Path(desk.place.path) / "segments" / ref.name for ref in desk.manifest().segments]
    assert not any(b"notes.txt\0" in (folder / "rows.sqlite").read_bytes() for folder in segments[:-1])
    assert sum(SECRET.encode() in (folder / "data.bin").read_bytes() for folder in segments) == 1
