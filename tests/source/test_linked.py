"""What no event tells of is known after a walk: files with several names, and repositories in the tree."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.core.config import Config
from cairn.core.limits import RACY_WINDOW_NS
from cairn.core.types import Root
from cairn.source.beneath import Tree
from cairn.source.linked import linked_files, touched
from cairn.source.walk import walk
from tests.support.trees import write_tree


def test_a_file_with_several_names_is_looked_at_again_until_its_times_prove_something(tmp_path: Path) -> None:
    write_tree(tmp_path, {"tree/a.py": "one = 1\n", "tree/b.py": "two = 2\n"})
    os.link(tmp_path / "tree" / "a.py", tmp_path / "elsewhere")
    changed_at = (tmp_path / "elsewhere").stat().st_ctime_ns
    with Tree(Root(str(tmp_path / "tree"), is_git=False)) as tree:
        walked = walk(tree, Config())
        young = linked_files(walked, changed_at)
        assert young == {b"a.py": None}
        assert touched(tree, young) == {b"a.py"}
        old = linked_files(walked, changed_at + RACY_WINDOW_NS + 1)
        assert touched(tree, old) == frozenset()
        (tmp_path / "elsewhere").write_text("three = 3\n")
        assert touched(tree, old) == {b"a.py"}
        (tmp_path / "tree" / "a.py").unlink()
        assert touched(tree, old) == {b"a.py"}


def test_a_file_with_one_name_is_not_looked_at(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "one = 1\n"})
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        assert linked_files(walk(tree, Config()), 0) == {}


def test_a_repository_in_the_tree_is_looked_at_until_it_is_none(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/.git": "gitdir: /elsewhere\n", "b/.git/HEAD": "ref: refs/heads/main\n", "c/.svn/x": "x"})
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        linked = linked_files(walk(tree, Config()), 0)
        assert set(linked) == {b"a/.git", b"b/.git"}
        assert touched(tree, linked) == frozenset()
        (tmp_path / "a" / ".git").unlink()
        assert touched(tree, linked) == {b"a/.git"}
        (tmp_path / "b" / ".git" / "HEAD").unlink()
        assert touched(tree, linked) == {b"a/.git", b"b/.git"}
