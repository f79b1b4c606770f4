"""Dirty means that a tracked file differs from the commit, and nothing that a repository names is run to find out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cairn.source.dirty as dirty_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import Config
from cairn.core.types import Root
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.dirty import is_dirty
from cairn.source.git import Git
from cairn.source.walk import walk
from tests.conformance import conforms
from tests.source.test_git import Canary, canary, hostile
from tests.support.faults import Faults
from tests.support.repos import commit, run_git

__all__ = ["canary", "hostile"]


def look(folder: Path) -> bool:
    root = Root(str(folder), is_git=True)
    with Tree(root) as tree:
        git = Git(root, clock=SYSTEM_CLOCK)
        walked = {one.raw: one.stat for one in walk(tree, Config()).candidates}
        dirty = is_dirty(git, tree, walked)
        assert is_dirty(git, tree, {}) is dirty, "what the walk has seen only saves looking again"
        return dirty


@conforms("003.GIT1")
def test_a_tree_is_dirty_when_a_tracked_file_is_another(repo: Path) -> None:
    commit(repo, {b"a.py": b"one\n", b"pkg/b.py": b"two\n"})
    assert not look(repo)
    (repo / "loose.py").write_bytes(b"nobody tracks it\n")
    assert not look(repo)
    (repo / "a.py").write_bytes(b"six\n")
    assert look(repo)
    (repo / "a.py").write_bytes(b"one\n")
    assert not look(repo)
    (repo / "pkg/b.py").unlink()
    assert look(repo)


def test_a_file_that_was_only_touched_is_the_same(repo: Path) -> None:
    commit(repo, {b"a.py": b"one\n"})
    os.utime(repo / "a.py", (1, 1))
    assert not look(repo)


def test_what_is_staged_counts_even_when_the_tree_is_as_it_was(repo: Path) -> None:
    commit(repo, {b"a.py": b"one\n"})
    (repo / "a.py").write_bytes(b"two\n")
    run_git(repo, "add", "a.py")
    (repo / "a.py").write_bytes(b"one\n")
    assert look(repo)


def test_a_file_that_became_a_link_is_another(repo: Path) -> None:
    commit(repo, {b"a.py": b"one\n", b"b.py": b"one\n"})
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("b.py")
    assert look(repo)


def test_a_repository_with_long_ids_is_understood(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256")
    commit(tmp_path, {b"a.py": b"one\n"})
    os.utime(tmp_path / "a.py", (1, 1))
    assert not look(tmp_path)
    (tmp_path / "a.py").write_bytes(b"two\n")
    assert look(tmp_path)


def test_in_doubt_it_is_dirty(repo: Path, faults: Faults) -> None:
    commit(repo, {b"a.py": b"one\n", b"b.py": b"one\n"})
    for name in ("a.py", "b.py"):
        os.utime(repo / name, (1, 1))
    assert not look(repo)
    with Faults.meanwhile() as busy:
        busy.limit(dirty_module, MAX_DIRTY_CHECKS=1)
        assert look(repo)
    faults.fail(Git, "index_entries", GitFailed(what="the index", path="here", why="it would not"))
    assert look(repo)


def test_links_and_submodules_and_what_is_not_checked_out_do_not_make_a_tree_dirty(repo: Path) -> None:
    (repo / "link").symlink_to("a.py")
    commit(repo, {b"a.py": b"one\n", b"b.py": b"two\n"})
    assert not look(repo)
    run_git(repo, "update-index", "--skip-worktree", "b.py")
    (repo / "b.py").unlink()
    run_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    run_git(repo, "commit", "-qm", "a submodule")
    assert not look(repo)
    (repo / "link").unlink()
    (repo / "link").symlink_to("b.py")
    assert look(repo)
    (repo / "link").unlink()
    assert look(repo)


@pytest.mark.parametrize("age", [0, 5])
def test_nothing_the_repository_names_is_run_to_find_out(
    hostile: tuple[Path, str, str], canary: Canary, age: int
) -> None:
    # A file that is as young as the index makes git itself read it, through a filter that the repository names.
    for name in ("a.txt",):
        seen = (hostile[0] / name).stat().st_mtime_ns - age * 10**9
        os.utime(hostile[0] / name, ns=(seen, seen))
    assert not look(hostile[0])
    (hostile[0] / "a.txt").write_bytes(b"9\n")
    assert look(hostile[0])
    assert canary.sang == ""
