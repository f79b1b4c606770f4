"""Whether a file on disk still is the one that was indexed: bytes decide, and nothing is followed."""

from __future__ import annotations

import os
import unicodedata
from hashlib import sha256
from pathlib import Path

import pytest

from cairn.core.types import FileStat, Root, StoredFile
from cairn.source.beneath import Tree
from cairn.source.moved import DiskState, disk_state, spellings

DATA = b"def steal(): ...\n"


def look(folder: Path, name: str = "a.py") -> DiskState:
    """How the file stands against `DATA`, indexed under a stat that says nothing."""
    held = StoredFile(
        name, FileStat(len(DATA), 1, 1, 1), sha256(DATA).hexdigest(), "python", "parsed", None, "", len(DATA), 1, ""
    )
    with Tree(Root(str(folder), is_git=False)) as tree:
        return disk_state(tree, spellings(name.encode(), name), held)


def test_the_same_bytes_are_the_same_file_whatever_its_times_say(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA)
    os.utime(tmp_path / "a.py", ns=(5, 5))
    assert look(tmp_path) is DiskState.SAME


def test_other_bytes_are_noticed_also_when_there_are_as_many(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA + b"\n")
    assert look(tmp_path) is DiskState.CHANGED
    (tmp_path / "a.py").write_bytes(DATA.replace(b"steal", b"leave"))
    assert look(tmp_path) is DiskState.CHANGED


def test_a_file_that_is_gone_or_lies_below_what_is_no_folder_is_missing(tmp_path: Path) -> None:
    assert look(tmp_path) is DiskState.MISSING
    (tmp_path / "src").write_bytes(b"")
    assert look(tmp_path, "src/a.py") is DiskState.MISSING


def test_what_is_no_file_any_more_has_changed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(DATA)
    (tmp_path / "a.py").symlink_to("real.py")
    assert look(tmp_path) is DiskState.CHANGED
    (tmp_path / "a.py").unlink()
    (tmp_path / "a.py").mkdir()
    assert look(tmp_path) is DiskState.CHANGED
    (tmp_path / "folder").symlink_to("elsewhere")
    assert look(tmp_path, "folder/a.py") is DiskState.UNKNOWN


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA)
    (tmp_path / "a.py").chmod(0)
    assert look(tmp_path) is DiskState.UNKNOWN


def test_a_decomposed_name_is_found_under_its_composed_key(tmp_path: Path) -> None:
    composed = "café.py"
    (tmp_path / unicodedata.normalize("NFD", composed)).write_bytes(DATA)
    assert look(tmp_path, composed) is DiskState.SAME
