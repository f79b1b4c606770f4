"""Later commits ask an older tree, and only those that a search could answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.limits import MAX_FILE_BYTES
from cairn.core.types import Root
from cairn.errors import UsageError
from cairn.evaluation.history import History, history_of
from cairn.evaluation.metric import Lines
from cairn.source.git_history import GitHistory
from tests.support import repos as support
from tests.support.repos import run_git


def commit(folder: Path, subject: str, author: str = "t <t@t>", **files: str | None) -> str:
    """Commit files; `__` in a name is a `/`, and Python is what they are written in."""
    named = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    return support.commit(folder, named, message=subject, author=author)


def history(folder: Path, commits: int = 400) -> History:
    return history_of(GitHistory(Root(str(folder), is_git=True)), "mine", commits, MAX_FILE_BYTES)


@pytest.fixture
def started(repo: Path) -> str:
    """The commit that the later ones ask: everything is there in a first form."""
    return commit(repo, "Begin", lease="1", parser="1", store="1", reader="1", tests__test_lease="1")


def test_subjects_ask_and_the_modified_source_files_answer(repo: Path, started: str) -> None:
    commit(repo, "Nothing yet")
    commit(repo, "Begin again")
    second = commit(repo, "Let a stale owner be replaced sooner", lease="2", tests__test_lease="2")
    commit(repo, "Parser accepts an empty pattern list", parser="2", store="2")
    whole = history(repo)
    assert whole.commits == 3, "three fifths of a short history ask"
    assert started != whole.base
    assert [one.targets for one in whole.plain if one.category == "unnamed"] == [(Lines("lease.py"),)]
    found = history(repo, 1)
    assert (found.base, found.commits) == (second, 1)
    assert {one.text: one.targets for one in found.plain} == {
        "Parser accepts an empty pattern list": (Lines("parser.py"), Lines("store.py")),
    }
    [asked] = found.plain
    assert (asked.repository, asked.language, asked.category) == ("mine", "python", "named")
    assert [one.text for one in found.masked] == ["accepts an empty pattern list"]


@pytest.mark.parametrize(
    ("subject", "author", "files"),
    [
        ("Tell the reader where the file ends", "t <t@t>", {"lease": "2", "parser": "2", "store": "2", "reader": "2"}),
        ("Tell the reader where the file ends", "t <t@t>", {"lease": "2", "brand_new": "1"}),
        ("Tell the reader where the file ends", "t <t@t>", {"lease": None}),
        ("Tell the reader where the file ends", "t <t@t>", {"tests__test_lease": "2"}),
        ("Tell the reader where the file ends", "t <t@t>", {"docs__conf": "2"}),
        ("Tell the reader where the file ends", "merge-bot[bot] <t@t>", {"lease": "2"}),
        ("docs: tell the reader where the file ends", "t <t@t>", {"lease": "2"}),
    ],
)
@pytest.mark.usefixtures("started")
def test_what_no_search_could_answer_is_not_asked(
    repo: Path, subject: str, author: str, files: dict[str, str | None]
) -> None:
    for _ in range(3):
        commit(repo, "Nothing at all")
    commit(repo, subject, author, **files)
    with pytest.raises(UsageError, match="None of the last 3 commits of mine"):
        history(repo, 3)


@pytest.mark.usefixtures("started")
def test_a_file_that_came_after_the_tree_answers_nothing(repo: Path) -> None:
    commit(repo, "Begin the other half", younger="1")
    commit(repo, "Keep the younger one in memory", younger="2")
    commit(repo, "Keep the lease owner in memory", lease="2")
    assert [one.targets for one in history(repo, 1).plain] == [(Lines("lease.py"),)]
    found = history(repo, 2)
    assert [one.targets for one in found.plain if Lines("younger.py") in one.targets] == [(Lines("younger.py"),)]


@pytest.mark.usefixtures("started")
def test_one_file_does_not_ask_everything_and_nothing_is_asked_twice(repo: Path) -> None:
    for at, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight")):
        commit(repo, f"Hold the {word} owner in memory", lease=f"v{at}")
    commit(repo, "Hold the six owner in MEMORY", lease="v9")
    commit(repo, "Forget the tree that was read", store="2")
    for at in range(8):
        run_git(repo, "commit", "-q", "--allow-empty", "-m", f"Nothing {at}")
    found = history(repo)
    assert found.commits == 11
    texts = [one.text.lower() for one in found.plain]
    assert len(texts) == len(set(texts))
    assert sum(one.targets == (Lines("lease.py"),) for one in found.plain) <= 5
    assert found == history(repo)


def test_a_folder_without_commits_has_no_history(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mine has no git history"):
        history(repo)
    bare = GitHistory(Root(str(tmp_path), is_git=False))
    with pytest.raises(UsageError, match="no git history"):
        history_of(bare, "mine", 10, MAX_FILE_BYTES)
