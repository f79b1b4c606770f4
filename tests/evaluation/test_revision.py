"""An old tree is written as it was, and nothing of it outside its folder or after its time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cairn.evaluation.revision as revision_module
from cairn.core.types import Root
from cairn.evaluation.revision import exported
from cairn.source.git_history import GitFile, GitHistory
from tests.support.faults import Faults
from tests.support.repos import commit, run_git


def history_of(folder: Path) -> GitHistory:
    return GitHistory(Root(str(folder), is_git=True))


def test_the_tree_is_there_with_its_bytes_and_gone_afterwards(repo: Path, faults: Faults) -> None:
    old = commit(repo, {b"a.py": b"1\r\n", b"deep/er/b.py": b"2\n", b"byte\xff": b"3"})
    commit(repo, {b"a.py": b"later"})
    git = history_of(repo)
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
    blob = run_git(repo, "hash-object", "-w", "--stdin", data=b"1")
    with exported(history_of(repo), [GitFile(name, blob, 1), GitFile(b"ok", blob, 1)]) as (tree, _):
        assert sorted(os.listdir(os.path.dirname(tree))) == ["tree"]
        assert [path.name for path in Path(tree).rglob("*") if path.is_file()] == ["ok"]


def test_a_name_that_is_a_file_and_a_folder_is_the_first_of_them(repo: Path) -> None:
    blob = run_git(repo, "hash-object", "-w", "--stdin", data=b"1")
    files = [GitFile(b"a", blob, 1), GitFile(b"a/b", blob, 1), GitFile(b"a", blob, 1), GitFile(b"gone", "0" * 40, 1)]
    with exported(history_of(repo), files) as (tree, _):
        assert os.listdir(tree) == ["a"]
