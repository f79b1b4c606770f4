"""What is kept of a whole comparison: enough to judge named files, and to know when that is not enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.config import Config
from cairn.core.types import Root, SkipReason, WalkResult
from cairn.source.beneath import Tree
from cairn.source.walk import walk
from cairn.sync.scope import OutOfScope, Scope, Seen, SeenTree, seen_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src/deep", "build"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in ("a.py", "src/b.py", "src/deep/c.py", "old.log"):
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def walked(folder: Path) -> WalkResult:
    with Tree(Root(str(folder), is_git=False)) as tree:
        return walk(tree, Config())


def seen_in(folder: Path) -> SeenTree:
    return seen_tree("snap", 7, Config(), walked(folder), (), False)


def looked(folder: Path, seen: SeenTree, *raws: bytes, config: Config | None = None) -> WalkResult:
    with Tree(Root(str(folder), is_git=False)) as tree:
        return Scope(seen, frozenset(raws)).walk(tree, config or Config())


def test_named_files_are_found_with_the_folders_on_their_way(folder: Path) -> None:
    found = looked(folder, seen_in(folder), b"src/b.py", b"gone.py", b"old.log")
    assert [one.raw for one in found.candidates] == [b"src/b.py"]
    assert found.folders == (b"", b"src")
    assert [(skip.raw, skip.reason) for skip in found.skips] == [(b"old.log", SkipReason.IGNORED)]


def test_what_is_in_a_folder_that_was_left_out_before_stays_out(folder: Path) -> None:
    (folder / "build/x.py").write_text("x = 1\n")
    found = looked(folder, seen_in(folder), b"build/x.py")
    assert (found.candidates, found.skips) == ((), ())


@pytest.mark.parametrize("raw", [b"src", b"src/deep", b".gitignore", b"src/.gitignore", b".cairn.toml", b"src/.git"])
def test_folders_and_rules_are_out_of_scope(folder: Path, raw: bytes) -> None:
    with pytest.raises(OutOfScope):
        looked(folder, seen_in(folder), raw)


def test_a_rule_that_has_changed_on_the_way_is_out_of_scope_though_nobody_named_it(folder: Path) -> None:
    seen = seen_in(folder)
    (folder / "src/.gitignore").write_text("c.py\n")
    assert looked(folder, seen, b"a.py").candidates
    with pytest.raises(OutOfScope):
        looked(folder, seen, b"src/deep/c.py")


def test_other_settings_are_out_of_scope(folder: Path) -> None:
    other = Config(warnings=("other",))
    with pytest.raises(OutOfScope):
        looked(folder, seen_in(folder), b"a.py", config=other)


def test_names_that_are_left_out_are_counted_as_they_come_and_go(folder: Path) -> None:
    seen = seen_in(folder)
    before = dict(seen.skipped)
    (folder / "old.log").unlink()
    (folder / "id_rsa").write_text("secret\n")
    scope = Scope(seen, frozenset({b"old.log", b"id_rsa"}))
    rest = scope.rest()
    assert rest[SkipReason.IGNORED] == before[SkipReason.IGNORED] - 1
    found = looked(folder, seen, b"old.log", b"id_rsa")
    assert not scope.is_same_set(found)
    scope.settle("next", found, (), b"a.py")
    assert (seen.snapshot_id, seen.dirt) == ("next", b"a.py")
    assert +seen.skipped == seen_in(folder).skipped
    assert seen.skips == seen_in(folder).skips


def test_what_is_kept_follows_a_merge_and_goes_when_another_compared_everything(folder: Path) -> None:
    seen = Seen(seen_in(folder))
    seen.follow("snap", "merged")
    assert seen.tree is not None
    assert seen.tree.snapshot_id == "merged"
    seen.follow("snap", "wrong")
    assert seen.tree.snapshot_id == "merged"
    seen.keep_if(7)
    assert seen.tree is not None
    seen.keep_if(8)
    assert seen.tree is None


def test_a_name_that_is_not_utf8_has_no_key(folder: Path) -> None:
    assert Scope(seen_in(folder), frozenset({b"\xff.py", b"a.py"})).keys == ["a.py"]
