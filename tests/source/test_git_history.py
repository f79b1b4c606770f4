"""The past is told as it was, whatever the repository is called to make of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.core.types import Root
from cairn.errors import GitFailed
from cairn.source.git import GitChange
from cairn.source.git_history import GitCommit, GitFile, GitHistory, parse_commit_changes, parse_objects, parse_tree
from tests.source.test_git import ODD_NAMES, Canary, canary, hostile
from tests.support.repos import commit, run_git

__all__ = ["canary", "hostile"]

BLOB = "0" * 39 + "1"


def history_of(folder: Path) -> GitHistory:
    return GitHistory(Root(str(folder), is_git=True))


def test_commits_are_told_from_the_newest_on_with_author_and_subject(repo: Path) -> None:
    first = commit(repo, {b"a": b"1"})
    run_git(
        repo, "commit", "-q", "--allow-empty", "-m", "Two lines\nin one subject\n\nand a body", "--author", "Zoë <z@z>"
    )
    second = run_git(repo, "rev-parse", "HEAD")
    third = commit(repo, {b"a": b"3"})
    git = history_of(repo)
    assert git.ancestors(third, 10) == (third, second, first)
    assert git.ancestors(third, 2) == (third, second)
    told = git.commits_between(first, third, 10)
    assert told == (GitCommit(third, "t", "x"), GitCommit(second, "Zoë", "Two lines in one subject"))
    assert git.commits_between(first, third, 1) == told[:1]
    assert git.commits_between(third, third, 10) == ()


def test_merges_are_no_commits_of_their_own_but_what_they_bring_is(repo: Path) -> None:
    base = commit(repo, {b"a": b"1"})
    run_git(repo, "checkout", "-q", "-b", "side")
    side = commit(repo, {b"b": b"1"})
    run_git(repo, "checkout", "-q", "main")
    run_git(repo, "merge", "-q", "--no-ff", "-m", "merged", "side")
    head = run_git(repo, "rev-parse", "HEAD")
    git = history_of(repo)
    assert git.ancestors(head, 10) == (head, base)
    assert [one.id for one in git.commits_between(base, head, 10)] == [side]


def test_the_changes_of_many_commits_come_in_one_answer(repo: Path) -> None:
    commit(repo, {b"a": b"1", b"gone": b"1"})
    names = {b"dir/" + name: b"1" for name in ODD_NAMES}
    second = commit(repo, {b"a": b"2", b"gone": None, **names})
    third = commit(repo, {b"a": b"3"})
    empty = commit(repo, {})
    told = history_of(repo).changes_of([third, second, empty])
    assert told[third] == (GitChange("M", b"a"),)
    assert set(told[second]) == {("M", b"a"), ("D", b"gone"), *(("A", name) for name in names)}
    assert told.get(empty, ()) == ()


def test_the_files_of_a_commit_are_plain_ones_with_the_bytes_that_were_stored(repo: Path) -> None:
    names = {name: name * 3 for name in ODD_NAMES}
    os.symlink("a b", repo / "link")
    old = commit(repo, {**names, b"run.sh": b"#!/bin/sh\n"})
    (repo / "run.sh").chmod(0o755)
    run_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{old},sub")
    head = commit(repo, {b"empty": b""})
    git = history_of(repo)
    files = {file.raw: file for file in git.files_at(head)}
    assert set(files) == {*names, b"run.sh", b"empty"}
    blobs = git.blobs([file.blob for file in files.values()])
    assert {raw: blobs[file.blob] for raw, file in files.items()} == {**names, b"run.sh": b"#!/bin/sh\n", b"empty": b""}
    assert all(len(blobs[file.blob]) == file.size for file in files.values())


def test_more_is_asked_and_answered_at_once_than_a_pipe_holds(repo: Path) -> None:
    blob = _stored(repo, b"x" * 3000)
    told = history_of(repo).blobs([blob] * 5000)
    assert told == {blob: b"x" * 3000}


def _stored(repo: Path, data: bytes) -> str:
    return run_git(repo, "hash-object", "-w", "--stdin", data=data)


def test_a_blob_that_is_not_there_is_left_out(repo: Path) -> None:
    there = _stored(repo, b"1\n")
    assert history_of(repo).blobs([BLOB, there]) == {there: b"1\n"}


def test_a_child_that_stops_listening_is_an_answer_too(repo: Path) -> None:
    """`cat-file` ends at once in a repository that is none; what it was to be told has nobody to take it."""
    (repo / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(GitFailed):
        history_of(repo).blobs([BLOB] * 100_000)


@pytest.mark.parametrize("name", ["--output=/tmp/x", "HEAD", "", "0" * 40 + "\n"])
def test_what_is_no_id_never_reaches_git(repo: Path, name: str) -> None:
    good = commit(repo, {b"a": b"1"})
    git = history_of(repo)
    for ask in (
        lambda: git.ancestors(name, 1),
        lambda: git.commits_between(name, good, 1),
        lambda: git.commits_between(good, name, 1),
        lambda: git.changes_of([name]),
        lambda: git.files_at(name),
        lambda: git.blobs([name]),
    ):
        with pytest.raises(GitFailed, match="not a commit id"):
            ask()


def test_nothing_the_repository_names_is_run(
    hostile: tuple[Path, str, str], canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, old, new = hostile
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary.program))
    git = history_of(folder)
    asked = (
        lambda: git.ancestors(new, 10),
        lambda: git.commits_between(old, new, 10),
        lambda: git.changes_of([new]),
        lambda: git.blobs([file.blob for file in git.files_at(new)]),
        # A clone that lacks it would fetch it from its remote, which is a program here.
        lambda: git.blobs([BLOB]),
    )
    for ask in asked:
        try:
            ask()
        except GitFailed:
            continue
    assert canary.sang == ""


# --- what git prints --------------------------------------------------------------------------------------------------


def test_a_list_of_changes_that_is_cut_or_no_list_is_refused() -> None:
    name = BLOB.encode()
    assert parse_commit_changes(b"") == {}
    assert parse_commit_changes(name + b"\0M\0a\0" + name + b"\0") == {BLOB: (GitChange("M", b"a"),)}
    for bad in (b"M\0a\0", name + b"\0M\0", name + b"\0R100\0a\0", name + b"\0M\0a", name + b"\0M\0\0"):
        with pytest.raises(ValueError, match="list of changes"):
            parse_commit_changes(bad)


def test_a_list_of_contents_that_is_cut_or_no_list_is_refused() -> None:
    name = BLOB.encode()
    assert parse_objects(b"") == {}
    assert parse_objects(name + b" missing\n" + name + b" blob 2\na\n\n") == {BLOB: b"a\n"}
    for bad in (name, name + b" blob 2\na", name + b" blob x\na\n", name + b" blob\n", name + b" blob 1\nab"):
        with pytest.raises(ValueError, match="list of contents"):
            parse_objects(bad)


def test_only_plain_files_with_a_known_size_are_listed() -> None:
    name = BLOB.encode()
    out = b"".join(
        [
            b"100644 blob " + name + b"       2\ta\tb\0",
            b"120000 blob " + name + b"       2\tlink\0",
            b"160000 commit " + name + b"       -\tsub\0",
            b"100644 blob " + name + b"     BAD\tlacking\0",
        ]
    )
    assert parse_tree(out) == (GitFile(b"a\tb", BLOB, 2),)
