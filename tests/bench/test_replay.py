"""A history that is lived again leaves the tree that git has, and what people do between commits can be taken back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.replay import Blobs, Change, Life, history

from tests.support.repos import commit, make_repo, run_git
from tests.support.trees import Link


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Files that come, change, go, and become a folder; a commit that changes nothing, a link, a name in two lines."""
    made = make_repo(tmp_path / "repository")
    commit(made, {b"a": b"one\n", b"b": b"two\n"})
    commit(made, {b"a": b"three\n", b"c/d": b"four\n"})
    commit(made, {})
    commit(made, {b"link": Link("a"), b"b": None, b"two\nlines": b"five\n"})
    commit(made, {b"c/d": None})
    (made / "c").rmdir()
    commit(made, {b"a": None, b"c": b"six\n"})
    commit(made, {b"a/e": b"seven\n"})
    return made


@pytest.fixture
def blobs(repository: Path) -> Iterator[Blobs]:
    with Blobs(repository) as blobs:
        yield blobs


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def checked_out(repository: Path, revision: str, folder: Path) -> dict[str, str]:
    folder.mkdir()
    archive = subprocess.run(["git", "-C", repository, "archive", revision], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder, "--exclude", "link"], input=archive, check=True)
    return tree(folder)


def test_after_each_step_the_folder_holds_what_git_has(repository: Path, blobs: Blobs, tmp_path: Path) -> None:
    commits = history(repository, 100)
    assert len(commits) == 7
    assert commits[2] == ()
    life = Life(tmp_path / "tree", commits, blobs)
    life.folder.mkdir()
    for number, _ in enumerate(life.steps(7)):
        assert tree(life.folder) == checked_out(repository, f"HEAD~{6 - number}", tmp_path / str(number))


def test_of_a_long_history_the_last_commits_are_taken(repository: Path) -> None:
    first, *rest = history(repository, 3)
    assert sorted(change.path for change in first) == ["a", "two\nlines"]
    assert [[(change.path, change.new is None) for change in changes] for changes in rest] == [
        [("a", True), ("c", False)],
        [("a/e", False)],
    ]


def test_a_step_says_how_much_it_wrote(repository: Path, blobs: Blobs, tmp_path: Path) -> None:
    assert list(Life(tmp_path, history(repository, 100), blobs).steps(4)) == [8, 11, 0, 5]


def test_when_the_history_is_over_it_goes_back_and_forth_and_ends_nowhere_else(
    repository: Path, blobs: Blobs, tmp_path: Path
) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    life = Life(folder, history(repository, 100), blobs, seed=3)
    seen = set()
    for _ in life.steps(300):
        seen.add(repr(sorted(tree(folder).items())))
    assert len(seen) > 60


def test_the_same_seed_is_the_same_life(repository: Path, blobs: Blobs, tmp_path: Path) -> None:
    ends = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        written = list(Life(folder, history(repository, 100), blobs, seed=1).steps(60))
        ends.append((written, tree(folder)))
    assert ends[0] == ends[1]


def test_a_path_that_leaves_the_folder_is_left_out(repository: Path) -> None:
    blob = run_git(repository, "hash-object", "-w", "c")
    listed = f"100644 blob {blob}\tfine\n040000 tree {{}}\t..\n"
    inner = run_git(repository, "mktree", data=f"100644 blob {blob}\tescaped\n".encode())
    outer = run_git(repository, "mktree", data=listed.format(inner).encode())
    run_git(repository, "update-ref", "HEAD", run_git(repository, "commit-tree", outer, data=b""))
    assert history(repository, 1) == [(Change("fine", None, blob),)]
    assert Change("fine", None, blob).undone == Change("fine", blob, None)
