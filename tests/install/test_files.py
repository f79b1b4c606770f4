"""The door to settings: replaced as a whole or not at all, links kept, and what is not fit left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.core.limits import MAX_AGENT_SETTINGS_BYTES
from cairn.install import files
from cairn.install.edits import Unfit


def why(path: Path, within: Path | None = None) -> str:
    with pytest.raises(Unfit) as refused:
        files.look(str(path), within=None if within is None else str(within))
    return str(refused.value)


def test_the_mode_of_a_file_is_kept_and_nothing_else_is_left_in_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    file.chmod(0o640)
    files.replace(files.look(str(file)), b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_new_file_of_the_user_is_for_the_user_alone(tmp_path: Path) -> None:
    files.replace(files.look(str(tmp_path / "a" / "b" / "f")), b"new", private=True)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/f")] == [0o700, 0o700, 0o600]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to("dotfiles/f")
    files.replace(files.look(str(tmp_path / "link")), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dotfiles" / "f").read_bytes() == b"new"


def test_a_link_that_leads_out_of_the_project_or_nowhere_is_refused(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    (root / "inner").mkdir(parents=True)
    secret = tmp_path / "project-secret"
    secret.mkdir()
    (secret / "f").write_bytes(b"{}")
    (root / "file").symlink_to(secret / "f")
    (root / ".vscode").symlink_to(secret)
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("inner/none")
    for name in ("file", ".vscode/f", ".vscode/new"):
        assert why(root / name, root) == "it leads out of the project"
    assert why(root / "dangling", root) == "it is a link that leads nowhere"
    assert "symbolic links" in why(root / "loop", root)


def test_what_is_no_plain_file_of_our_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        assert why(tmp_path / name) == "it is not a plain file"
    (tmp_path / "fixed").write_bytes(b"x")
    (tmp_path / "fixed").chmod(0o444)
    assert why(tmp_path / "fixed") == "it is read-only"
    (tmp_path / "one").write_bytes(b"x")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    assert why(tmp_path / "two") == "it has more than one name (hard links)"
    with (tmp_path / "large").open("wb") as large:
        large.truncate(MAX_AGENT_SETTINGS_BYTES + 1)
    assert why(tmp_path / "large") == "it is larger than 16,777,216 bytes"
    assert why(tmp_path / "one" / "below").startswith("the system says: ")
    assert why(tmp_path / "nul\0") == "its name holds a NUL"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    os.chown(tmp_path / "f", 12345, -1)
    assert why(tmp_path / "f") == "it belongs to another user"


def test_a_file_that_was_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "f"
    found = files.look(str(file))
    file.write_bytes(b"theirs")
    for data in (b"ours", None):
        with pytest.raises(Unfit, match="it was changed meanwhile"):
            files.replace(found, data)
    assert file.read_bytes() == b"theirs"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    found = files.look(str(file))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Unfit, match="No space left on device"):
        files.replace(found, b"new")
    with pytest.raises(Unfit, match="No space left on device"):
        files.replace(files.look(str(tmp_path / "a" / "b")), b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_folders_go_when_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "kept").write_bytes(b"")
    files.remove_folders([str(tmp_path / name) for name in ("a", "a/b", "c")])
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
