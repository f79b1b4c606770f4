"""Right before a publish: the tree is as it was indexed, or the draft is compared again."""

from __future__ import annotations

import errno
import os
import shutil
import unicodedata
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import cairn.source.fresh as dirty_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import Config
from cairn.core.types import FileRecord, FileStat, Root, SourceFile, StoredFile
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, detect
from cairn.source.fresh import DiskState, TreeLook, disk_state, find_dirt, spellings, still, take
from cairn.source.git import Git
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from tests.conformance import conforms
from tests.source.test_git import Canary, canary, git_of, hostile
from tests.source.test_listing import LONG_AFTER, age, become_file, chmod_until_it_shows
from tests.support.faults import Faults
from tests.support.repos import commit, run_git
from tests.support.trees import write_tree

# --- Whether a file on disk still is the one that was indexed: bytes decide, and nothing is followed.


DATA = b"def steal(): ...\n"


def state_of(folder: Path, name: str = "a.py") -> DiskState:
    """How the file stands against `DATA`, indexed under a stat that says nothing."""
    held = StoredFile(
        name, FileStat(len(DATA), 1, 1, 1), sha256(DATA).hexdigest(), "python", "parsed", None, "", len(DATA), 1, ""
    )
    with Tree(Root(str(folder), is_git=False)) as tree:
        return disk_state(tree, spellings(name.encode(), name), held)


def test_the_same_bytes_are_the_same_file_whatever_its_times_say(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA)
    os.utime(tmp_path / "a.py", ns=(5, 5))
    assert state_of(tmp_path) is DiskState.SAME


def test_other_bytes_are_noticed_also_when_there_are_as_many(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA + b"\n")
    assert state_of(tmp_path) is DiskState.CHANGED
    (tmp_path / "a.py").write_bytes(DATA.replace(b"steal", b"leave"))
    assert state_of(tmp_path) is DiskState.CHANGED


def test_a_file_that_is_gone_or_lies_below_what_is_no_folder_is_missing(tmp_path: Path) -> None:
    assert state_of(tmp_path) is DiskState.MISSING
    (tmp_path / "src").write_bytes(b"")
    assert state_of(tmp_path, "src/a.py") is DiskState.MISSING


def test_what_is_no_file_any_more_has_changed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(DATA)
    (tmp_path / "a.py").symlink_to("real.py")
    assert state_of(tmp_path) is DiskState.CHANGED
    (tmp_path / "a.py").unlink()
    (tmp_path / "a.py").mkdir()
    assert state_of(tmp_path) is DiskState.CHANGED
    (tmp_path / "folder").symlink_to("elsewhere")
    assert state_of(tmp_path, "folder/a.py") is DiskState.UNKNOWN


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DATA)
    (tmp_path / "a.py").chmod(0)
    assert state_of(tmp_path) is DiskState.UNKNOWN


def test_a_decomposed_name_is_found_under_its_composed_key(tmp_path: Path) -> None:
    composed = "café.py"
    (tmp_path / unicodedata.normalize("NFD", composed)).write_bytes(DATA)
    assert state_of(tmp_path, composed) is DiskState.SAME


# --- Dirty means that a tracked file differs from the commit, and nothing that a repository names is run to
# find out.


__all__ = ["canary", "hostile"]


def look(folder: Path) -> bool:
    root = Root(str(folder), is_git=True)
    with Tree(root) as tree:
        git = Git(root, clock=SYSTEM_CLOCK)
        walked = {one.raw: one.stat for one in walk(tree, Config()).candidates}
        dirty = bool(find_dirt(git, tree, walked))
        assert bool(find_dirt(git, tree, {})) is dirty, "what the walk has seen only saves looking again"
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


def test_an_edit_of_the_same_size_and_time_is_a_change_and_a_copied_tree_is_none(repo: Path, tmp_path: Path) -> None:
    commit(repo, {b"a.py": b"one\n", b"b.py": b"two\n"})
    for name in ("a.py", "b.py"):
        os.utime(repo / name, (1_000_000_000, 1_000_000_000))
    run_git(repo, "update-index", "--refresh")
    assert not look(repo)
    (repo / "a.py").write_bytes(b"six\n")
    os.utime(repo / "a.py", (1_000_000_000, 1_000_000_000))
    assert look(repo)
    (repo / "a.py").write_bytes(b"one\n")
    os.utime(repo / "a.py", (1_000_000_000, 1_000_000_000))
    copied = tmp_path / "copy"
    shutil.copytree(repo, copied)
    assert not look(copied)
    with Faults.meanwhile() as many:
        many.limit(dirty_module, MAX_DIRTY_CHECKS=1)
        assert not look(copied), "of many files that were copied only the first are read"


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


class Draft:
    """A folder with what the last snapshot knew, and the look of a sync over it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = Root(str(top), is_git=(top / ".git").exists())
        self.recorded: dict[str, FileRecord] = {}

    def take(self) -> TreeLook:
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

    def still(self, look: TreeLook) -> bool:
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
        with_head = TreeLook("0" * 40, look.folders, look.ignore_files, look.files, look.gone)
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
