"""Right before a publish: the tree is as it was indexed, or the draft is compared again."""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.core.config import Config
from cairn.core.types import FileRecord, Root, SourceFile
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, detect
from cairn.source.fresh import Look, still, take
from cairn.source.git import Git
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from tests.source.test_git import git_of
from tests.source.test_listing import LONG_AFTER, age, become_file, chmod_until_it_shows
from tests.support.repos import commit, run_git
from tests.support.trees import write_tree


class Draft:
    """A folder with what the last snapshot knew, and the look of a sync over it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = Root(str(top), is_git=(top / ".git").exists())
        self.recorded: dict[str, FileRecord] = {}

    def take(self) -> Look:
        """Find the changes, read them as an index run would, and record them."""
        head = git_of(self.top).head()
        with Tree(self.root) as tree:
            found = walk(tree, Config())
            changes = detect(
                found, self.recorded, lambda one: read_stable(tree, one), synced_at_ns=LONG_AFTER, hints=NO_HINTS
            )
            for key in (*changes.delete, *(rename.old for rename in changes.rename)):
                del self.recorded[key]
            indexed = []
            for candidate in (*changes.add, *changes.modify, *(rename.new for rename in changes.rename)):
                source = read_stable(tree, candidate)
                assert isinstance(source, SourceFile)
                indexed.append((source.raw, source.stat))
                self.recorded[source.key] = FileRecord(source.key, source.stat, source.file_hash)
        self.deleted = changes.delete
        return take(head, found, changes, indexed)

    def still(self, look: Look) -> bool:
        with Tree(self.root) as tree:
            return still(tree, git_of(self.top), look)


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    top = tmp_path / "top"
    write_tree(top, {"a.py": "a", "sub/b.py": "b", "sub/deep/c.py": "c", "gone.py": "g", "sub/old.py": "moved\n" * 9})
    write_tree(top, {".gitignore": "*.log\n", "sub/.gitignore": "x\n", ".cairnignore": "y\n"})
    age(top)
    return Draft(top)


def test_a_tree_that_held_still_is_fresh(draft: Draft) -> None:
    assert draft.still(draft.take())
    (draft.top / "gone.py").unlink()
    (draft.top / "sub/old.py").rename(draft.top / "new.py")
    write_tree(draft.top, {"a.py": "edited"})
    look = draft.take()
    assert set(look.gone) == {b"gone.py", b"sub/old.py"}
    assert {folder: [name for name, _ in files] for folder, files in look.files} == {b"": [b"a.py", b"new.py"]}
    assert draft.still(look)


def replaced(path: Path) -> None:
    path.unlink()
    path.symlink_to("b.py")


@pytest.mark.parametrize(
    "deed",
    [
        lambda top: write_tree(top, {"a.py": "other"}),
        lambda top: chmod_until_it_shows(top / "sub/deep/c.py"),
        lambda top: (top / "sub/b.py").unlink(),
        lambda top: replaced(top / "sub/old.py"),
        lambda top: (top / "sub").rename(top / "bus"),
        lambda top: write_tree(top, {".gitignore": "*.lob\n"}),
        lambda top: write_tree(top, {"sub/.gitignore": ""}),
        lambda top: write_tree(top, {".cairnignore": "!y\n"}),
        lambda top: (top / "sub/.gitignore").unlink(),
        lambda top: write_tree(top, {"sub/deep/.gitignore": "c.py\n"}),
    ],
)
def test_any_change_of_what_was_indexed_or_of_a_rule_is_seen(draft: Draft, deed: Callable[[Path], object]) -> None:
    look = draft.take()
    deed(draft.top)
    assert not draft.still(look)


def test_a_rule_is_seen_even_when_nothing_was_indexed_near_it(draft: Draft) -> None:
    draft.take()
    write_tree(draft.top, {"a.py": "edited"})
    look = draft.take()
    assert draft.still(look)
    write_tree(draft.top, {"sub/deep/.gitignore": "c.py\n"})
    assert not draft.still(look)


def test_a_deleted_file_that_came_back_is_seen(draft: Draft) -> None:
    draft.take()
    (draft.top / "gone.py").unlink()
    look = draft.take()
    assert draft.still(look)
    write_tree(draft.top, {"gone.py": "again"})
    assert not draft.still(look)


def test_the_old_name_of_a_rename_must_stay_free(draft: Draft) -> None:
    draft.take()
    (draft.top / "sub/old.py").rename(draft.top / "new.py")
    look = draft.take()
    write_tree(draft.top, {"sub/old.py": "back"})
    assert not draft.still(look)


def test_a_file_that_a_new_rule_leaves_out_is_deleted_and_may_be_there(draft: Draft) -> None:
    draft.take()
    write_tree(draft.top, {".gitignore": "gone.py\nsub/\n"})
    look = draft.take()
    assert set(draft.deleted) == {"gone.py", "sub/.gitignore", "sub/b.py", "sub/deep/c.py", "sub/old.py"}
    assert look.gone == ()
    assert draft.still(look)


def test_a_file_that_is_no_text_any_more_is_deleted_and_may_be_there(draft: Draft) -> None:
    draft.take()
    (draft.top / "a.py").write_bytes(b"\0\0\0")
    look = draft.take()
    assert draft.deleted == ("a.py",)
    assert draft.still(look)


def test_a_folder_or_a_link_may_stand_where_a_file_was(draft: Draft) -> None:
    draft.take()
    (draft.top / "gone.py").unlink()
    write_tree(draft.top, {"gone.py/inner.py": "x"})
    (draft.top / "a.py").unlink()
    (draft.top / "a.py").symlink_to("sub/b.py")
    look = draft.take()
    assert set(draft.deleted) == {"a.py", "gone.py"}
    assert draft.still(look)


def test_a_file_or_a_link_may_stand_where_the_folder_of_deleted_files_was(draft: Draft) -> None:
    draft.take()
    (draft.top / "sub").rename(draft.top.parent / "elsewhere")
    look = draft.take()
    assert b"sub/deep/c.py" in look.gone
    (draft.top / "sub").symlink_to(draft.top.parent / "elsewhere")
    assert draft.still(look), "nothing is indexed through a link"
    become_file(draft.top / "sub")
    assert draft.still(look)


def test_of_two_spellings_of_a_name_one_may_go(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD"))
    write_tree(tmp_path, {composed: "one", decomposed: "two"})
    draft = Draft(tmp_path)
    draft.take()
    assert set(draft.recorded) == {composed, decomposed}
    (tmp_path / composed).unlink()
    look = draft.take()
    assert draft.deleted == (decomposed,), "the one that stays takes over the key"
    assert draft.still(look)


def test_ignore_files_of_folders_that_share_a_key_are_told_apart(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    write_tree(tmp_path, {f"{composed}/.gitignore": "z\n", f"{decomposed}/.gitignore": "a\n", f"{composed}/f.py": "x"})
    draft = Draft(tmp_path)
    look = draft.take()
    assert draft.still(look)
    write_tree(tmp_path, {f"{decomposed}/.gitignore": "b\n"})
    assert not draft.still(look)


# --- git ----------------------------------------------------------------------------------------------------------


def test_a_commit_since_the_walk_is_seen(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    commit(tmp_path, {b"a.py": b"1"})
    draft = Draft(tmp_path)
    look = draft.take()
    assert draft.still(look)
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "next")
    assert not draft.still(look)


def test_without_git_the_files_and_the_rules_carry_it(draft: Draft) -> None:
    look = draft.take()
    assert look.head is None
    assert draft.still(look)


class SilentGit(Git):
    """A git that does not answer in time."""

    def head(self) -> str | None:
        raise GitFailed(path="top", what="head", why="no answer")


def test_a_git_that_does_not_answer_is_no_head(draft: Draft) -> None:
    look = draft.take()
    with Tree(draft.root) as tree:
        assert still(tree, SilentGit(draft.root), look)
        with_head = Look("0" * 40, look.folders, look.ignore_files, look.files, look.gone)
        assert not still(tree, SilentGit(draft.root), with_head)


# --- trouble ------------------------------------------------------------------------------------------------------


class BrokenTree(Tree):
    """A tree on a machine in trouble."""

    trouble = errno.EMFILE

    def open_folder(self, raw: bytes) -> int:
        raise OSError(self.trouble, os.strerror(self.trouble))

    def lstat(self, raw: bytes) -> os.stat_result:
        raise OSError(self.trouble, os.strerror(self.trouble))


class FailingTree(BrokenTree):
    """A tree on a disk that cannot be read."""

    trouble = errno.EIO


@pytest.mark.parametrize("deleted", [False, True])
def test_only_a_machine_in_trouble_raises(draft: Draft, deleted: bool) -> None:
    look = draft.take()
    if deleted:
        (draft.top / "gone.py").unlink()
        look = draft.take()
        assert (look.files, look.gone) == ((), (b"gone.py",))
    with BrokenTree(draft.root) as tree, pytest.raises(OSError, match="Too many open files"):
        still(tree, git_of(draft.top), look)
    with FailingTree(draft.root) as tree:
        assert not still(tree, git_of(draft.top), look), "what cannot be seen is not fresh"


def test_a_pipe_with_the_name_of_an_ignore_file_does_not_block(draft: Draft) -> None:
    look = draft.take()
    (draft.top / ".gitignore").unlink()
    os.mkfifo(draft.top / ".gitignore")
    assert not draft.still(look)
