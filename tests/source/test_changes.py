"""What changed is found by looking, never by believing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

import pytest

from cairn.core.config import Config
from cairn.core.limits import RACY_WINDOW_NS, REHASH_FRACTION
from cairn.core.types import (
    Candidate,
    ChangeSet,
    FileRecord,
    FileStat,
    ReadOutcome,
    Root,
    Skip,
    SkipReason,
    SourceFile,
    Unstable,
    Vanished,
    WalkResult,
)
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, GitHints, detect, git_hints
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from tests.conformance import conforms
from tests.source.test_git import ODD_NAMES, git_of
from tests.support.repos import commit, run_git

QUIET_ROUND = 99
"""A turn of the rotating sample that holds none of the names used here."""
LONG_AFTER = 4_000_000_000 * 10**9
"""A sync so late that no file is near it: the racy rule is out of the way."""


class Snapshot:
    """A real folder, and what an index would have recorded of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = Root(str(folder), is_git=(folder / ".git").exists())
        self.recorded: dict[str, FileRecord] = {}
        self.head: str | None = None
        self.reads: list[str] = []

    def look(
        self, *, synced_at_ns: int | None = LONG_AFTER, hints: GitHints | None = None, **more: object
    ) -> ChangeSet:
        """The changes since the last `take`."""
        with Tree(self.root) as tree:

            def read(candidate: Candidate) -> ReadOutcome:
                self.reads.append(candidate.key)
                return read_stable(tree, candidate)

            self.reads.clear()
            found = git_hints(git_of(self.folder), self.head) if hints is None else hints
            return detect(
                walk(tree, Config()),
                self.recorded,
                read,
                synced_at_ns=synced_at_ns,
                hints=found,
                **{"round_number": QUIET_ROUND, **more},  # type: ignore[arg-type]
            )

    def take(self) -> None:
        """Record the tree as it is, as a sync would."""
        self.recorded = {}
        with Tree(self.root) as tree:
            self._record(tree, walk(tree, Config()).candidates)
        self.head = git_of(self.folder).head()

    def apply(self, changes: ChangeSet) -> None:
        """Record what a change set says and nothing else, as an incremental sync would."""
        for key in (*changes.delete, *(rename.old for rename in changes.rename)):
            del self.recorded[key]
        with Tree(self.root) as tree:
            renamed = (rename.new for rename in changes.rename)
            self._record(tree, (*changes.add, *changes.modify, *changes.touched, *renamed))

    def _record(self, tree: Tree, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            found = read_stable(tree, candidate)
            if isinstance(found, SourceFile):
                self.recorded[found.key] = FileRecord(found.key, found.stat, found.file_hash)


def keys(candidates: tuple[Candidate, ...]) -> list[str]:
    return [candidate.key for candidate in candidates]


def moves(changes: ChangeSet) -> list[tuple[str, str]]:
    return [(rename.old, rename.new.key) for rename in changes.rename]


@pytest.fixture
def plain(tmp_path: Path) -> Snapshot:
    folder = tmp_path / "plain"
    folder.mkdir()
    for name in ("a.py", "b.py", "dir/c.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"# {name} holds its own text\n")
    snapshot = Snapshot(folder)
    snapshot.take()
    return snapshot


@pytest.fixture
def versioned(tmp_path: Path) -> Snapshot:
    folder = tmp_path / "versioned"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    commit(folder, {b"a.py": b"# a\n", b"b.py": b"# b\n", b"dir/c.py": b"# c c\n"})
    snapshot = Snapshot(folder)
    snapshot.take()
    return snapshot


# --- without git --------------------------------------------------------------------------------------------------


@conforms("003.CD11")
def test_without_git_unchanged_files_cost_no_read_and_suspects_are_hashed(plain: Snapshot) -> None:
    assert plain.look() == ChangeSet()
    assert plain.reads == []
    (plain.folder / "b.py").write_text("# other text\n")
    os.utime(plain.folder / "dir/c.py", (5, 5))
    found = plain.look()
    assert keys(found.modify) == ["b.py"]
    assert keys(found.touched) == ["dir/c.py"]
    assert sorted(plain.reads) == ["b.py", "dir/c.py"]
    assert found.hashed == 2


@conforms("003.CD12")
def test_a_change_set_has_adds_modifies_deletes_and_renames(plain: Snapshot) -> None:
    assert {"add", "modify", "delete", "rename"} <= {field.name for field in fields(ChangeSet)}
    (plain.folder / "added.py").write_text("# brand new\n")
    (plain.folder / "a.py").write_text("# a was edited\n")
    (plain.folder / "b.py").unlink()
    (plain.folder / "dir/c.py").rename(plain.folder / "moved.py")
    found = plain.look()
    assert keys(found.add) == ["added.py"]
    assert keys(found.modify) == ["a.py"]
    assert found.delete == ("b.py",)
    assert moves(found) == [("dir/c.py", "moved.py")]


@conforms("003.CD3")
def test_an_edit_that_keeps_size_and_mtime_is_found(plain: Snapshot) -> None:
    path = plain.folder / "a.py"
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert keys(plain.look().modify) == ["a.py"]


@conforms("003.CD3")
def test_an_edit_that_leaves_the_whole_stat_tuple_as_it_was_is_found_near_the_sync(plain: Snapshot) -> None:
    """Two writes within one tick of the file system's clock: no stat can tell them apart."""
    path = plain.folder / "a.py"
    path.write_text("# edited in the same tick\n")
    record = plain.recorded["a.py"]
    stat = path.stat()
    same_tuple = FileStat(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    plain.recorded["a.py"] = record._replace(stat=same_tuple)
    just_synced = stat.st_mtime_ns + RACY_WINDOW_NS // 2
    assert keys(plain.look(synced_at_ns=just_synced).modify) == ["a.py"]
    assert keys(plain.look(synced_at_ns=stat.st_mtime_ns - 10 * RACY_WINDOW_NS).modify) == ["a.py"]
    # Far from the sync only the rotating sample, or a full look, can find it: within one whole turn it does.
    assert plain.look(synced_at_ns=LONG_AFTER).empty
    assert keys(plain.look(full=True).modify) == ["a.py"]
    rounds = [r for r in range(REHASH_FRACTION) if keys(plain.look(round_number=r).modify) == ["a.py"]]
    assert len(rounds) == 1


def test_a_fresh_ctime_makes_a_suspect_though_mtime_is_old(plain: Snapshot) -> None:
    os.utime(plain.folder / "a.py", (5, 5))
    plain.take()
    ctime = (plain.folder / "a.py").stat().st_ctime_ns
    found = plain.look(synced_at_ns=ctime + RACY_WINDOW_NS // 2)
    assert "a.py" in plain.reads
    assert found.empty


def test_a_sync_time_that_is_not_known_hashes_everything(plain: Snapshot) -> None:
    found = plain.look(synced_at_ns=None)
    assert (found.empty, found.full, found.hashed) == (True, True, 3)


def test_every_file_is_hashed_once_in_one_turn_of_the_sample(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"f{number}").write_text(str(number))
    snapshot = Snapshot(tmp_path)
    snapshot.take()
    with Tree(snapshot.root) as tree:
        found = walk(tree, Config())
        read: list[str] = []

        def note(candidate: Candidate) -> ReadOutcome:
            read.append(candidate.key)
            return read_stable(tree, candidate)

        sizes = [
            detect(found, snapshot.recorded, note, synced_at_ns=LONG_AFTER, hints=NO_HINTS, round_number=turn).hashed
            for turn in range(REHASH_FRACTION)
        ]
    assert sorted(read) == sorted(snapshot.recorded)
    assert max(sizes) < 20


def test_touch_and_chmod_change_nothing_but_are_noted(plain: Snapshot) -> None:
    os.utime(plain.folder / "a.py", (5, 5))
    (plain.folder / "b.py").chmod(0o755)
    found = plain.look()
    assert found.empty
    assert keys(found.touched) == ["a.py", "b.py"]
    assert found.touched[0].stat.mtime_ns == 5 * 10**9


def test_swapped_files_are_two_modifies(plain: Snapshot) -> None:
    (plain.folder / "a.py").rename(plain.folder / "t")
    (plain.folder / "b.py").rename(plain.folder / "a.py")
    (plain.folder / "t").rename(plain.folder / "b.py")
    found = plain.look()
    assert (keys(found.modify), found.delete, found.rename) == (["a.py", "b.py"], (), ())


def test_new_files_are_not_read_when_nothing_went_away(plain: Snapshot) -> None:
    (plain.folder / "new.py").write_text((plain.folder / "a.py").read_text())
    (plain.folder / "binary").write_bytes(b"\0\1")
    assert keys(plain.look().add) == ["binary", "new.py"]
    assert plain.reads == []


def test_everything_is_new_to_an_empty_record_and_nothing_is_read(plain: Snapshot) -> None:
    plain.recorded = {}
    found = plain.look(synced_at_ns=None)
    assert keys(found.add) == ["a.py", "b.py", "dir/c.py"]
    assert plain.reads == []


def test_only_new_files_of_a_deleted_size_are_read_to_find_renames(plain: Snapshot) -> None:
    (plain.folder / "a.py").rename(plain.folder / "moved.py")
    (plain.folder / "long.py").write_text("# of quite another size than anything here\n" * 9)
    assert moves(plain.look()) == [("a.py", "moved.py")]
    assert plain.reads == ["moved.py"]


def test_renames_prefer_the_same_name_and_then_byte_order(tmp_path: Path) -> None:
    for name in ("x/__init__.py", "y/__init__.py", "z/b.py", "z/a.py", "z/only.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("same\n")
    snapshot = Snapshot(tmp_path)
    snapshot.take()
    for name, new in (("x/__init__.py", "n/c.py"), ("y/__init__.py", "o/__init__.py"), ("z/b.py", "n/b.py")):
        (tmp_path / new).parent.mkdir(exist_ok=True)
        (tmp_path / name).rename(tmp_path / new)
    (tmp_path / "z/a.py").unlink()
    found = snapshot.look()
    assert moves(found) == [("z/b.py", "n/b.py"), ("y/__init__.py", "n/c.py"), ("x/__init__.py", "o/__init__.py")]
    assert (found.delete, found.add) == (("z/a.py",), ())


def test_a_copy_beside_a_rename_is_an_add(plain: Snapshot) -> None:
    text = (plain.folder / "a.py").read_text()
    (plain.folder / "a.py").unlink()
    for name in ("k.py", "l.py"):
        (plain.folder / name).write_text(text)
    found = plain.look()
    assert (moves(found), keys(found.add), found.delete) == ([("a.py", "k.py")], ["l.py"], ())


def test_a_file_that_an_ignore_rule_takes_out_is_deleted(plain: Snapshot) -> None:
    (plain.folder / ".gitignore").write_text("/b.py\n")
    found = plain.look()
    assert found.delete == ("b.py",)
    assert keys(found.add) == [".gitignore"]


def test_a_file_that_became_binary_is_deleted_and_listed_as_skipped(plain: Snapshot) -> None:
    (plain.folder / "a.py").write_bytes(b"\0\1\2")
    found = plain.look()
    assert found.delete == ("a.py",)
    assert [(skip.raw, skip.reason) for skip in found.skips] == [(b"a.py", SkipReason.NOT_UTF8)]
    assert not found.modify


OUTCOMES: list[tuple[ReadOutcome, ChangeSet]] = [
    (Vanished(b"f"), ChangeSet(delete=("f",), hashed=1)),
    (Unstable(b"f", 5), ChangeSet(unstable=(Unstable(b"f", 5),), hashed=1)),
    (
        Skip(b"f", SkipReason.UNREADABLE),
        ChangeSet(delete=("f",), skips=(Skip(b"f", SkipReason.UNREADABLE),), hashed=1),
    ),
]


@pytest.mark.parametrize(("outcome", "expected"), OUTCOMES)
def test_what_becomes_of_a_suspect_while_it_is_read(outcome: ReadOutcome, expected: ChangeSet) -> None:
    tree = WalkResult((Candidate("f", b"f", FileStat(1, 2, 3, 4)),), (), (), (), ())
    recorded = {"f": FileRecord("f", FileStat(1, 1, 1, 4), "0" * 64)}
    assert (
        detect(tree, recorded, lambda _: outcome, synced_at_ns=LONG_AFTER, hints=NO_HINTS, round_number=QUIET_ROUND)
        == expected
    )


@pytest.mark.parametrize("outcome", [Vanished(b"f"), Unstable(b"f", 5), Skip(b"f", SkipReason.BINARY)])
def test_what_becomes_of_a_new_file_while_it_is_read(outcome: ReadOutcome) -> None:
    tree = WalkResult((Candidate("f", b"f", FileStat(1, 2, 3, 4)),), (), (), (), ())
    recorded = {"old": FileRecord("old", FileStat(1, 1, 1, 9), "0" * 64)}
    found = detect(tree, recorded, lambda _: outcome, synced_at_ns=LONG_AFTER, hints=NO_HINTS)
    assert (found.delete, found.add, found.rename) == (("old",), (), ())
    assert len(found.skips) == isinstance(outcome, Skip)
    assert len(found.unstable) == isinstance(outcome, Unstable)


def test_a_file_that_would_not_hold_still_keeps_a_set_from_being_empty() -> None:
    assert not ChangeSet(unstable=(Unstable(b"f", 5),)).empty


# --- with git -----------------------------------------------------------------------------------------------------


@conforms("003.CD1")
def test_git_only_widens_an_edit_that_git_cannot_see_is_found(versioned: Snapshot) -> None:
    """There is no git-first mode: git is told to look away from a file, and the edit is found all the same."""
    run_git(versioned.folder, "update-index", "--assume-unchanged", "a.py")
    run_git(versioned.folder, "update-index", "--skip-worktree", "b.py")
    (versioned.folder / "a.py").write_text("# A\n")
    (versioned.folder / "b.py").write_text("# B\n")
    assert run_git(versioned.folder, "status", "--porcelain") == ""
    assert git_hints(git_of(versioned.folder), versioned.head).keys == frozenset()
    assert keys(versioned.look().modify) == ["a.py", "b.py"]


def test_hinted_files_are_read_though_their_stat_says_nothing(versioned: Snapshot) -> None:
    found = versioned.look(hints=GitHints(frozenset({"b.py", "no such file"}), None))
    assert (versioned.reads, found.empty) == (["b.py"], True)


def test_commits_hint_at_their_files_and_an_unchanged_head_at_none(versioned: Snapshot) -> None:
    git = git_of(versioned.folder)
    assert git_hints(git, versioned.head) == (frozenset(), versioned.head)
    head = commit(versioned.folder, {b"a.py": b"# 2\n", b"dir/c.py": None, **{b"n/" + n: b"x" for n in ODD_NAMES}})
    named = {"n/" + name.decode() for name in ODD_NAMES if b"\xff" not in name}
    assert git_hints(git, versioned.head) == ({"a.py", "dir/c.py", *named}, head)


@conforms("003.CD8")
def test_after_a_rebase_both_sides_of_the_merge_base_are_looked_at(versioned: Snapshot) -> None:
    base = versioned.head
    assert base is not None
    commit(versioned.folder, {b"only_old.py": b"# old\n", b"a.py": b"# old side\n"})
    versioned.take()
    run_git(versioned.folder, "checkout", "-q", "-b", "other", base)
    head = commit(versioned.folder, {b"only_new.py": b"# new\n"})
    # a.py is back to the base's text: base to head alone would not name it.
    assert git_hints(git_of(versioned.folder), versioned.head) == ({"only_old.py", "a.py", "only_new.py"}, head)
    found = versioned.look()
    assert (keys(found.modify), found.delete, keys(found.add)) == (["a.py"], ("only_old.py",), ["only_new.py"])


@conforms("003.CD8")
def test_an_unrelated_branch_is_scanned_in_full(versioned: Snapshot) -> None:
    run_git(versioned.folder, "checkout", "-q", "--orphan", "alone")
    head = commit(versioned.folder, {b"a.py": b"# orphan\n"})
    assert git_hints(git_of(versioned.folder), versioned.head) == (None, head)
    found = versioned.look()
    assert (found.full, found.hashed, keys(found.modify)) == (True, 3, ["a.py"])


@conforms("003.CD7")
def test_a_last_head_that_was_pruned_is_scanned_in_full(versioned: Snapshot) -> None:
    base = versioned.head
    assert base is not None
    commit(versioned.folder, {b"a.py": b"# lost\n"})
    versioned.take()
    run_git(versioned.folder, "reset", "-q", "--hard", base)
    run_git(versioned.folder, "reflog", "expire", "--expire=now", "--all")
    run_git(versioned.folder, "gc", "-q", "--prune=now")
    assert git_hints(git_of(versioned.folder), versioned.head) == (None, base)
    found = versioned.look()
    assert (found.full, found.hashed, keys(found.modify)) == (True, 3, ["a.py"])


@conforms("003.CD7")
@pytest.mark.parametrize("last", [None, "not an id", "--help", "f" * 40])
def test_a_last_head_that_is_missing_or_nonsense_is_scanned_in_full(versioned: Snapshot, last: str | None) -> None:
    versioned.head = last
    assert git_hints(git_of(versioned.folder), last) == (None, git_of(versioned.folder).head())
    found = versioned.look()
    assert (found.full, found.hashed, found.empty) == (True, 3, True)


@conforms("003.CD7")
def test_a_repository_whose_trees_are_damaged_is_scanned_in_full(versioned: Snapshot) -> None:
    head = commit(versioned.folder, {b"a.py": b"# 2\n"})
    tree = run_git(versioned.folder, "rev-parse", f"{head}^{{tree}}")
    (versioned.folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert git_hints(git_of(versioned.folder), versioned.head) == (None, head)
    assert keys(versioned.look().modify) == ["a.py"]


def test_a_folder_that_never_had_git_trusts_its_stats_and_one_that_lost_it_does_not(plain: Snapshot) -> None:
    assert git_hints(git_of(plain.folder), None) == (frozenset(), None)
    assert git_hints(git_of(plain.folder), "a" * 40) == (None, None)


EDITS: dict[str, Callable[[Path], object]] = {
    "modify": lambda f: (f / "a.py").write_text("# edited\n"),
    "delete": lambda f: (f / "b.py").unlink(),
    "rename": lambda f: (f / "dir/c.py").rename(f / "r.py"),
    "rename over": lambda f: (f / "a.py").rename(f / "b.py"),
    "odd names": lambda f: [Path(os.fsdecode(os.path.join(os.fsencode(f), n))).write_text("x") for n in ODD_NAMES],
    "nothing": lambda f: None,
}


@conforms("003.CD5")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("committed", [False, True])
def test_with_git_or_without_the_changes_mean_the_same(tmp_path: Path, edit: str, committed: bool) -> None:
    found = []
    for name in ("with", "without"):
        folder = tmp_path / name
        folder.mkdir()
        run_git(folder, "init", "-q")
        commit(folder, {b"a.py": b"# a\n", b"b.py": b"# b b\n", b"dir/c.py": b"# c c c\n"})
        if name == "without":
            (folder / ".git").rename(tmp_path / "away")
        snapshot = Snapshot(folder)
        snapshot.take()
        EDITS[edit](folder)
        if committed and name == "with":
            run_git(folder, "add", "-A", ".")
            run_git(folder, "commit", "-q", "--allow-empty", "-m", "x")
        changes = snapshot.look()
        found.append((keys(changes.add), keys(changes.modify), changes.delete, moves(changes)))
    assert found[0] == found[1]
    assert (edit == "nothing") == (found[0] == ([], [], (), []))
