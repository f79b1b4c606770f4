"""`cairn map` as people and scripts meet it, and the same from Python."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import cairn
from cairn.core.limits import MAX_MAP_TOKENS
from cairn.search.budget import tokens_in
from tests.cli.test_structure import answer, ask, folder, tree

__all__ = ["folder", "tree"]


@pytest.fixture
def project(folder: Path) -> Path:
    """A tree in which one file leans on another, indexed."""
    (folder / "src" / "writer.py").write_text("from lease import Lease\n\n\ndef write():\n    Lease().steal(1)\n")
    (folder / "src" / "paint.py").write_text("def paint_the_picture(colour):\n    return colour\n")
    (folder / "src" / "\x1b[31mred\nname.py").write_text("def red(): ...\n")
    assert ask("index", "-q").status == 0
    return folder


def test_a_map_begins_with_what_others_lean_on(project: Path) -> None:
    found = ask("map")
    assert found.status == 0
    lines = found.stdout.splitlines()
    assert lines[0] == "7 files, 1 folder: 5 python, 1 markdown, 1 text"
    assert lines[lines.index("Files, the weightiest first (imported by so many)") + 1] == "src/lease.py (1)"
    assert "\x1b" not in found.stdout
    assert "src/\\x1b[31mred\\x0aname.py" in lines
    assert found.stdout.startswith(ask("map", "-q").stdout[:40])


def test_the_text_is_the_one_in_the_envelope_and_within_its_tokens(project: Path) -> None:
    found = answer("map", "--max-tokens", "150")
    assert found["tokens"] == {"estimated": tokens_in(found["text"]), "most": 150, "estimator": "cairn-1"}
    assert found["tokens"]["estimated"] <= 150
    assert ask("map", "--max-tokens", "150").stdout == found["text"]
    assert json.loads(ask("map", "--max-tokens", "150", "--format", "json").stdout)["text"] == found["text"]
    assert found["results"][0]["path"] == "src/lease.py"
    assert found["snapshot"]["id"] == answer("map")["snapshot"]["id"]
    assert answer("map")["limitsHit"] == []


def test_a_query_and_files_in_focus_turn_the_map_around(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first(*more: str) -> object:
        return answer("map", *more)["results"][0]["path"]

    assert first() == "src/lease.py"
    assert first("paint the picture") == "src/paint.py"
    assert first("--focus", "src/twin.py") == "src/twin.py"
    monkeypatch.chdir(project / "src")
    focus = [one["path"] for one in answer("map", "--focus", "writer.py")["results"]]
    assert focus[:2] == ["src/writer.py", "src/lease.py"]


def test_only_the_files_that_a_glob_takes_in_are_on_the_map(project: Path) -> None:
    found = answer("map", "--include", "*.md", "--include", "notes.txt")
    assert {one["path"] for one in found["results"]} == {"README.md", "notes.txt"}
    assert found["languages"] == {"markdown": 1, "text": 1}
    assert ask("map", "--include", "nothing*").stdout == "0 files, 0 folders\n"


@pytest.mark.parametrize("tokens", ["0", "-1", "127", str(MAX_MAP_TOKENS + 1), "many"])
def test_a_number_of_tokens_that_cannot_be_is_refused_in_a_sentence(project: Path, tokens: str) -> None:
    found = ask("map", "--max-tokens", tokens)
    assert (found.status, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


def test_a_file_in_focus_that_is_not_there_is_said_to_be_so(project: Path) -> None:
    found = answer("map", "--focus", "src/gone.py", status=15)
    assert (found["status"], found["candidates"]) == ("not_found", [])
    assert "src/gone.py" in found["message"]
    assert ask("map", "--focus", "/etc/passwd").status == 24
    assert ask("map", *["--focus", "src/lease.py"] * 101).status == 2
    assert ask("map", " ").status == 2


def test_without_an_index_a_map_says_what_to_do(folder: Path) -> None:
    assert answer("map", "--no-sync", status=10)["status"] == "not_indexed"


def test_an_empty_folder_has_a_map(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert ask("index", "-q").status == 0
    assert ask("map").stdout == "0 files, 0 folders\n"
    assert answer("map")["results"] == []


def test_a_map_is_of_the_files_as_they_are_unless_it_is_not_to_look(project: Path) -> None:
    before = ask("map").stdout
    os.rename("src/lease.py", "src/moved.py")
    assert ask("map", "--no-sync").stdout == before
    assert answer("map", "--no-sync")["freshness"]["mode"] == "not_checked"
    assert "src/moved.py" in ask("map").stdout


def test_python_draws_the_same_map(project: Path) -> None:
    with cairn.open(str(project)) as code:
        found = code.map(max_tokens=400)
        assert isinstance(found, cairn.RepoMap)
        assert found.text == ask("map", "--max-tokens", "400").stdout
        assert found == code.map(max_tokens=400)
        assert code.map("paint the picture").files[0].path == "src/paint.py"
        assert code.map(focus=["src/writer.py"], include=["src"]).files[0].path == "src/writer.py"
        with pytest.raises(cairn.NotFound):
            code.map(focus=["gone.py"])
        with pytest.raises(cairn.UsageError):
            code.map(max_tokens=1)


def test_cycles_of_imports_are_told_instead_of_the_map_and_so_they_are_in_python(project: Path) -> None:
    none = "No cycle of imports between 5 files, as far as imports can be followed.\n"
    assert ask("map", "--cycles", "--include", "src").stdout == none
    (project / "src" / "lease.py").write_text("class Lease:\n    def steal(self, x):\n        import writer\n")
    found = ask("map", "--cycles", "--include", "src")
    assert found.stdout.splitlines() == [
        "1 cycle of imports, through 2 of 5 files",
        "",
        "2 files",
        "  src/lease.py:3  import writer  (inside Lease.steal)",
        "  src/writer.py:1  from lease import Lease",
    ]
    told = answer("map", "--cycles")
    steps = [
        {"path": "src/lease.py", "startLine": 3, "text": "import writer"},
        {"path": "src/writer.py", "startLine": 1, "text": "from lease import Lease"},
    ]
    assert (told["cycles"], told["results"], told["limitsHit"]) == ([{"imports": steps, "filesInKnot": 2}], [], [])
    assert "cycles" not in answer("map", "--cycles", "--focus", "src/paint.py")
    assert "lease" in ask("map", "--cycles", "--focus", "src/writer.py").stdout
    with cairn.open(str(project)) as code:
        assert [step.path for step in code.map(cycles=True).cycles[0].steps] == ["src/lease.py", "src/writer.py"]
