"""The repositories of the tests are git's own, and the same on every machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.repos import checkout, commit, head, make_repo, run_git
from tests.support.trees import File


def test_a_repository_begins_with_its_files_on_its_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "1", "run.sh": File("x", mode=0o755)}, branch="trunk")
    assert run_git(repo, "branch", "--show-current") == "trunk"
    assert run_git(repo, "ls-files", "-s").count("100755") == 1
    assert run_git(repo, "status", "--porcelain") == ""
    assert run_git(make_repo(tmp_path / "bare"), "rev-list", "--all") == ""


def test_a_commit_holds_all_that_changed_and_is_made_even_if_nothing_did(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, {"a": "1", "b": "1"})
    (repo / "b").write_text("by hand")
    second = commit(repo, {"a": None, "c/d": b"2"}, message="Second", author="Ada <a@b>")
    assert second == head(repo)
    assert run_git(repo, "show", "-s", "--format=%s %an %ae", second) == "Second Ada a@b"
    assert run_git(repo, "diff", "--name-status", "HEAD^", "HEAD").split() == ["D", "a", "M", "b", "A", "c/d"]
    assert commit(repo) != second


def test_branches_are_made_and_left(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, {"a": "1"})
    first = head(repo)
    checkout(repo, "side", new=True)
    commit(repo, {"a": "2"})
    checkout(repo, "main")
    assert head(repo) == first
    assert (repo / "a").read_text() == "1"
    checkout(repo, "side")
    assert (repo / "a").read_text() == "2"


def test_git_reads_what_it_is_given_and_a_failure_is_an_error(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    blob = run_git(repo, "hash-object", "-w", "--stdin", data=b"text\n")
    assert run_git(repo, "cat-file", "blob", blob) == "text"
    with pytest.raises(subprocess.CalledProcessError):
        run_git(repo, "cat-file", "blob", "0" * 40)


def test_the_settings_of_whoever_runs_the_tests_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings"
    settings.write_text("[user]\n\tname = me\n[commit]\n\tgpgsign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    repo = make_repo(tmp_path / "repo", {"a": "1"})
    assert (repo / ".git").is_dir()
    assert run_git(repo, "log", "--format=%an <%ae>") == "t <t@t>"
