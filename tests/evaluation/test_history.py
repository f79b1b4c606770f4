"""Later commits ask an older tree, and only those that a search could answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cairn.evaluation.history as revision_module
from cairn.core.limits import MAX_FILE_BYTES
from cairn.core.types import Root
from cairn.errors import UsageError
from cairn.evaluation.history import History, exported, history_of, masked, names_its_file, question
from cairn.evaluation.scoring import Lines
from cairn.source.git import GitFile, GitHistory
from tests.support import repos
from tests.support import repos as support
from tests.support.faults import Faults
from tests.support.repos import run_git

# --- Subjects become questions when they say what in the code has changed.


@pytest.mark.parametrize(
    ("subject", "asks"),
    [
        ("Keep the lease while a snapshot is published", "Keep the lease while a snapshot is published"),
        ("fix(parser)!: refuse an empty pattern list", "refuse an empty pattern list"),
        ("[core] PROJ-12: Retry a timed out connection (#431)", "Retry a timed out connection"),
        (":bug: Do not lose the `last` line.", "Do not lose the last line"),
    ],
)
def test_what_is_around_the_words_is_taken_off(subject: str, asks: str) -> None:
    found = question(subject)
    assert found is not None
    assert found == asks


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "Fix it",
        "docs: say how the parser works",
        "chore(deps): take the newest parser there is",
        "Bump numpy from 1 to 2 everywhere",
        "Add tests for the parser of patterns",
        "Fix typos in the parser of patterns",
        "Prepare 1.2.3 of the parser package",
        "Make the parser accept a very long line and...",
        "Lassen wir den Parser größere Dateien lesen",
        "x" * 161,
        "Add a new and better one",
    ],
)
def test_what_does_not_say_so_is_no_question(subject: str) -> None:
    assert question(subject) is None


def test_words_of_the_right_files_name_are_taken_out() -> None:
    text = "Retry when parsing a query string fails with a ParserError"
    paths = ["src/query_parser.py"]
    assert names_its_file(text, paths)
    assert masked(text, paths) == "Retry when a string fails with a"
    assert not names_its_file(text, ["src/lease.py"])
    assert masked(text, ["src/lease.py"]) == text


def test_a_name_in_one_piece_is_known_too() -> None:
    assert (
        masked("open the filesystem watcher again later today", ["FileSystem.java"])
        == "open the watcher again later today"
    )


def test_too_little_left_is_no_question() -> None:
    assert masked("Query parser fails on strings", ["query_parser.py"]) is None


# --- An old tree is written as it was, and nothing of it outside its folder or after its time.


def opened_history(folder: Path) -> GitHistory:
    return GitHistory(Root(str(folder), is_git=True))


def test_the_tree_is_there_with_its_bytes_and_gone_afterwards(repo: Path, faults: Faults) -> None:
    old = repos.commit(repo, {b"a.py": b"1\r\n", b"deep/er/b.py": b"2\n", b"byte\xff": b"3"})
    repos.commit(repo, {b"a.py": b"later"})
    git = opened_history(repo)
    faults.limit(revision_module, _STEP_BYTES=3)
    told: list[int] = []
    with exported(git, git.files_at(old), told.append) as (tree, home):
        found = {
            path.relative_to(tree).as_posix(): path.read_bytes() for path in Path(tree).rglob("*") if path.is_file()
        }
        assert found == {"a.py": b"1\r\n", "deep/er/b.py": b"2\n"}, "a name that is no text has no key"
        assert not os.path.exists(home)
        assert not home.startswith(tree)
    assert told == [1, 2, 3]
    assert not os.path.exists(tree)


@pytest.mark.parametrize("name", [b"../out", b"/tmp/out", b"a/../../out", b"a//b", b".", b"x" * 300])
def test_a_name_that_leads_elsewhere_or_nowhere_is_not_written(repo: Path, tmp_path: Path, name: bytes) -> None:
    blob = repos.run_git(repo, "hash-object", "-w", "--stdin", data=b"1")
    with exported(opened_history(repo), [GitFile(name, blob, 1), GitFile(b"ok", blob, 1)]) as (tree, _):
        assert sorted(os.listdir(os.path.dirname(tree))) == ["tree"]
        assert [path.name for path in Path(tree).rglob("*") if path.is_file()] == ["ok"]


def test_a_name_that_is_a_file_and_a_folder_is_the_first_of_them(repo: Path) -> None:
    blob = repos.run_git(repo, "hash-object", "-w", "--stdin", data=b"1")
    files = [GitFile(b"a", blob, 1), GitFile(b"a/b", blob, 1), GitFile(b"a", blob, 1), GitFile(b"gone", "0" * 40, 1)]
    with exported(opened_history(repo), files) as (tree, _):
        assert os.listdir(tree) == ["a"]


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
