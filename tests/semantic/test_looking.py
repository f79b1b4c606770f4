"""A fresh look sees every change of a file, even one that was taken back."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.pinned import Codebase


def test_what_is_there_is_seen_and_what_is_not_is_left_out(tmp_path: Path) -> None:
    code = Codebase(tmp_path / "code", {"a.py": "x = 1\n"})
    (code.folder / "link.py").symlink_to("/etc/passwd")
    (code.folder / "folder.py").mkdir()
    first = code.look(["a.py", "gone.py", "link.py", "folder.py"])
    assert list(first) == ["a.py"]
    assert code.look(["a.py"]) == first


def test_a_change_that_was_taken_back_is_seen(tmp_path: Path) -> None:
    code = Codebase(tmp_path / "code", {"a.py": "x = 1\n"})
    first = code.look(["a.py"])
    code.write("a.py", "x = 2\n")
    code.write("a.py", "x = 1\n")
    again = code.look(["a.py"])
    assert again["a.py"].file_hash == first["a.py"].file_hash
    assert again != first
