from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.errors import ConfigError, ConfigUnreadable, RootNotFound
from cairn.sync.codebase import open_codebase
from tests.support.repos import make_repo, run_git


def test_the_settings_of_the_root_hold_in_every_folder_below(tmp_path: Path) -> None:
    make_repo(tmp_path)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / ".cairn.toml").write_text('[index]\nexclude = ["gen"]\n')
    codebase = open_codebase(str(tmp_path / "src" / "deep"), {"HOME": "/nonexistent"})
    assert codebase.root.path == str(tmp_path.resolve())
    assert codebase.config.index.exclude == ("gen",)
    assert codebase.tracked is None


def test_the_users_own_settings_are_read_from_their_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[index]\ncollisions = "keep"\n')
    (tmp_path / "repo").mkdir()
    codebase = open_codebase(str(tmp_path / "repo"), {"CAIRN_HOME": str(home)})
    assert codebase.config.index.collisions == "keep"


def test_tracked_files_are_asked_for_only_when_the_others_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".cairn.toml").write_text("[index]\nuntracked = false\n")
    assert open_codebase(str(tmp_path), {"HOME": "/nonexistent"}).tracked is None, "without git the setting is void"
    make_repo(tmp_path)
    (tmp_path / "a.py").write_text("x")
    run_git(tmp_path, "add", "a.py")
    assert open_codebase(str(tmp_path), {"HOME": "/nonexistent"}).tracked == frozenset({b"a.py"})


def test_settings_that_cannot_be_read_are_an_error_and_not_a_default(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".cairn.toml")
    with pytest.raises(ConfigUnreadable):
        open_codebase(str(tmp_path), {"HOME": "/nonexistent"})
    (tmp_path / ".cairn.toml").unlink()
    (tmp_path / ".cairn.toml").write_text("[index]\nnonsense = 1\n")
    with pytest.raises(ConfigError):
        open_codebase(str(tmp_path), {"HOME": "/nonexistent"})
    with pytest.raises(RootNotFound):
        open_codebase(str(tmp_path / "nowhere"), {"HOME": "/nonexistent"})


@pytest.mark.parametrize(
    ("bits", "asked", "shared"),
    [
        (0o700, False, False),
        (0o700, True, False),
        (0o2770, False, True),
        (0o2770, True, True),
        (0, False, False),
        (0, True, True),
    ],
)
def test_what_the_home_is_decides_what_is_taken_in_and_a_wish_only_where_there_is_none(
    tmp_path: Path, bits: int, asked: bool, shared: bool
) -> None:
    tree, home = make_repo(tmp_path / "tree"), tmp_path / "home"
    if bits:
        home.mkdir()
        home.chmod(bits)
    codebase = open_codebase(str(tree), {"CAIRN_HOME": str(home)}, shared=asked)
    assert codebase.config.index.untracked is not shared
    assert codebase.tracked == (frozenset() if shared else None)
    assert codebase.root.of_group is shared
