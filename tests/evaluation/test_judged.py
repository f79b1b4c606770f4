"""Judged questions are read from the published layout, and a folder that is not so is told about in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cairn.errors import UsageError
from cairn.evaluation.judged import load
from cairn.evaluation.scoring import Lines


def lay(folder: Path, **files: Any) -> Path:
    """A folder of questions; the name of a file is given with `_` for `/`."""
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / (name.replace("_", "/", 1) + ".json")
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "repos" / "one" / "src").mkdir(parents=True)
    (tmp_path / "repos" / "two").mkdir()
    (tmp_path / "repos" / "silent").mkdir()
    return lay(
        tmp_path / "data",
        repos=[
            {"name": "one", "language": "python", "benchmark_root": "src"},
            {"name": "two", "language": "go"},
            {"name": "silent", "language": "go"},
            {"name": "away", "language": "go"},
        ],
        split={"dev": ["one", "away"], "rest": ["two"]},
        annotations_one=[
            {"query": "first", "relevant": ["a.py"], "secondary": [{"path": "b.py", "start_line": 2, "end_line": 4}]},
            {"query": "second", "relevant": [{"path": "c.py"}], "category": "symbol"},
        ],
        annotations_two=[{"query": "third", "relevant": []}],
    )


def repos(data: Path) -> str:
    return str(data.parent / "repos")


def test_questions_come_with_their_groups_and_all_their_answers(data: Path) -> None:
    found = load(str(data), repos(data))
    assert [(one.name, Path(one.folder).name) for one in found.repositories] == [("one", "src"), ("two", "two")]
    assert found.missing == ("away",)
    first, second = found.repositories[0].questions
    assert first == ("one", "python", "unknown", "first", (Lines("a.py"), Lines("b.py", 2, 4)))
    assert (second.category, second.targets) == ("symbol", (Lines("c.py"),))


def test_a_half_leaves_the_other_repositories_out(data: Path) -> None:
    found = load(str(data), repos(data), "rest")
    assert ([one.name for one in found.repositories], found.missing) == (["two"], ())
    with pytest.raises(UsageError, match="no half called 'later'; dev, rest"):
        load(str(data), repos(data), "later")


def test_nothing_to_ask_is_said_with_the_reason(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of 4 there is no folder in"):
        load(str(data), str(tmp_path / "elsewhere"))


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("repos", "{", "repos.json.*: it is not JSON"),
        ("repos", "[" * 100_000, "it is not JSON"),
        ("repos", "{}", "a list is expected"),
        ("repos", [1], "an entry has no `name`"),
        ("repos", [{"name": 3}], "an entry has no `name`"),
        ("repos", [{"name": "../one"}], "repos.json"),
        ("repos", [{"name": "a/b"}], "one word without slashes"),
        ("repos", [{"name": "one", "benchmark_root": "../two"}], "repos.json"),
        ("annotations_one", [{"relevant": ["a.py"]}], "annotations/one.json: an entry has no `query`"),
        ("annotations_one", ["a"], "an entry has no `query`"),
        ("annotations_one", [{"query": "q", "relevant": "a.py"}], "a list is expected"),
        ("annotations_one", [{"query": "q", "relevant": [3]}], "an entry has no `path`"),
        ("annotations_one", [{"query": "q", "relevant": [{"path": "a", "start_line": "1"}]}], "a line is no number"),
        ("split", "[]", "split.json names none"),
        ("split", {"dev": "one"}, "a list is expected"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_named(data: Path, file: str, content: Any, says: str) -> None:
    lay(data, **{file: content})
    with pytest.raises(UsageError, match=says):
        load(str(data), repos(data), "dev")


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"repos\.json in .*: No such file"):
        load(str(tmp_path), str(tmp_path))
