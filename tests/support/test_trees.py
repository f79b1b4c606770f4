"""The tree builder of the tests writes what it is told, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.trees import File, Link, read_tree, write_tree


def test_texts_bytes_and_folders_are_written_as_they_are_given(tmp_path: Path) -> None:
    top = write_tree(tmp_path / "new" / "tree", {"a.py": "é = 1\r\n", "src/deep/b": b"\xff\0", "empty/": None})
    assert read_tree(top) == {"a.py": "é = 1\r\n".encode(), "src/deep/b": b"\xff\0"}
    assert list((top / "empty").iterdir()) == []


def test_a_file_may_have_a_mode_and_a_time(tmp_path: Path) -> None:
    write_tree(tmp_path, {"run.sh": File("#!/bin/sh\n", mode=0o755, mtime_ns=7_000_000_001)})
    found = (tmp_path / "run.sh").stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o755, 7_000_000_001)


def test_a_link_is_a_link_wherever_it_leads_and_is_replaced_and_not_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"real": "1", "link": Link("real"), "lost": Link(b"nowhere")})
    assert os.readlink(tmp_path / "link") == "real"
    assert os.readlink(tmp_path / "lost") == "nowhere"
    assert read_tree(tmp_path) == {"real": b"1"}
    write_tree(tmp_path, {"link": "2", "lost": Link("real")})
    assert read_tree(tmp_path) == {"real": b"1", "link": b"2"}
    assert os.readlink(tmp_path / "lost") == "real"


def test_what_is_none_goes_and_all_else_stays(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "1", "b": "1"})
    write_tree(tmp_path, {"a": None, "c": "2"})
    assert read_tree(tmp_path) == {"b": b"1", "c": b"2"}
    with pytest.raises(FileNotFoundError):
        write_tree(tmp_path, {"a": None})


def test_a_name_may_be_any_bytes(tmp_path: Path) -> None:
    write_tree(tmp_path, {b"new\nline": b"1", b"byte\xff/x": b"2"})
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"byte\xff", b"new\nline"]
    assert read_tree(tmp_path) == {"new\nline": b"1", os.fsdecode(b"byte\xff/x"): b"2"}
