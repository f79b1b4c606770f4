"""git answers without ever running what the repository names."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import cairn.source.git as git_module
from cairn.core.clock import SystemClock
from cairn.core.config import Config, IndexConfig
from cairn.core.types import Root, SkipReason
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.git import (
    GLOBAL_IGNORE_LABEL,
    INFO_EXCLUDE_LABEL,
    Git,
    GitChange,
    GitCommit,
    GitFile,
    GitHistory,
    git_version,
    parse_commit_changes,
    parse_objects,
    parse_tree,
)
from cairn.source.walk import walk
from tests.conformance import conforms
from tests.support.clock import ManualClock
from tests.support.faults import Faults
from tests.support.repos import commit, run_git

ODD_NAMES = (b"a b", b"new\nline", b'quo"te', b"tab\there", b"byte\xff", b"\\back", b"-n", b":(top)x", "é".encode())


def git_of(folder: Path, clock: SystemClock | None = None) -> Git:
    return Git(Root(str(folder), is_git=(folder / ".git").exists()), clock=clock or SystemClock())


def everything(git: Git, old: str, new: str) -> list[object]:
    """Every question Git can be asked; a refusal is an answer too."""
    questions: list[Callable[[], object]] = [
        git.head,
        git.tracked,
        lambda: git.changed_between(old, new),
        lambda: git.merge_base(old, new),
        lambda: git.is_ancestor(old, new),
        git.global_excludes,
        git.staged,
        git.index_entries,
        git.index_written_ns,
    ]
    answers: list[object] = []
    for question in questions:
        try:
            answers.append(question())
        except GitFailed as problem:
            answers.append(problem)
    return answers


# --- answers ------------------------------------------------------------------------------------------------------


def test_head_follows_the_commits_and_is_none_before_the_first(repo: Path) -> None:
    git = git_of(repo)
    assert git.head() is None
    first = commit(repo, {b"a": b"1"})
    assert git.head() == first
    second = commit(repo, {b"a": b"2"})
    assert git.head() == second
    run_git(repo, "checkout", "-q", "--detach", first)
    assert git.head() == first


def programs_started(patching: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands of git that are run from now on."""
    started: list[Sequence[str]] = []
    real = git_module._run

    def run(command: Sequence[str], *more: Any, **rest: Any) -> Any:
        started.append(command)
        return real(command, *more, **rest)

    patching.setattr(git_module, "_run", run)
    return started


def test_head_is_asked_once_while_nothing_is_committed_switched_or_packed(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = commit(repo, {b"a": b"1"})
    started = programs_started(monkeypatch)
    assert [git_of(repo).head() for _ in range(3)] == [first] * 3
    assert len(started) == 1
    second = commit(repo, {b"a": b"2"})
    assert git_of(repo).head() == second
    run_git(repo, "pack-refs", "--all")
    assert [git_of(repo).head() for _ in range(3)] == [second] * 3
    run_git(repo, "update-ref", "HEAD", first)
    assert git_of(repo).head() == first
    run_git(repo, "pack-refs", "--all")
    assert git_of(repo).head() == first
    run_git(repo, "update-ref", "HEAD", second)
    run_git(repo, "pack-refs", "--all")
    assert git_of(repo).head() == second
    run_git(repo, "checkout", "-q", "--detach", first)
    assert [git_of(repo).head() for _ in range(2)] == [first] * 2
    run_git(repo, "symbolic-ref", "HEAD", "refs/heads/not-born")
    assert git_of(repo).head() is None
    run_git(repo, "symbolic-ref", "refs/heads/to-another", "refs/heads/main")
    run_git(repo, "symbolic-ref", "HEAD", "refs/heads/to-another")
    assert git_of(repo).head() == run_git(repo, "rev-parse", "HEAD")
    before = len(started)
    assert git_of(repo).head() == run_git(repo, "rev-parse", "HEAD")
    assert len(started) == before + 1, "a name that leads to a name is followed by git alone"


def test_a_folder_without_git_has_no_head_and_refuses_the_rest(tmp_path: Path) -> None:
    git = git_of(tmp_path)
    assert git.head() is None
    assert git.global_excludes() == ()
    with pytest.raises(GitFailed):
        git.tracked()


def test_a_machine_without_git_has_no_head(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo, {b"a": b"1"})
    monkeypatch.setenv("PATH", "/nowhere")
    assert git_of(repo).head() is None


@conforms("003.CD4")
def test_names_with_any_byte_come_back_as_they_are(repo: Path) -> None:
    old = commit(repo, {b"stays": b"1", **{b"dir/" + name: b"1" for name in ODD_NAMES}})
    git = git_of(repo)
    assert git.tracked() == {b"stays", *(b"dir/" + name for name in ODD_NAMES)}
    new = commit(repo, {b"dir/" + name: b"2" for name in ODD_NAMES})
    assert set(git.changed_between(old, new)) == {GitChange("M", b"dir/" + name) for name in ODD_NAMES}


def test_changes_say_added_deleted_modified_and_never_renamed(repo: Path) -> None:
    old = commit(repo, {b"keep": b"1", b"edit": b"1", b"move": b"same bytes\n" * 20, b"type": b"x"})
    os.unlink(repo / "type")
    os.symlink("keep", repo / "type")
    new = commit(repo, {b"edit": b"2", b"move": None, b"moved": b"same bytes\n" * 20})
    found = git_of(repo).changed_between(old, new)
    assert set(found) == {("M", b"edit"), ("D", b"move"), ("A", b"moved"), ("T", b"type")}


def test_submodules_are_not_files_of_the_repository(repo: Path) -> None:
    old = commit(repo, {b"a": b"1"})
    run_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{old},sub")
    git = git_of(repo)
    assert git.tracked() == {b"a"}
    run_git(repo, "commit", "-q", "-m", "sub")
    assert git.changed_between(old, run_git(repo, "rev-parse", "HEAD")) == ()


def test_what_is_staged_is_told_and_what_was_edited_is_not(repo: Path) -> None:
    commit(repo, {b"same": b"1", b"edit": b"1"})
    git = git_of(repo)
    assert not git.staged()
    (repo / "edit").write_bytes(b"22")
    assert not git.staged()
    run_git(repo, "add", "edit")
    assert git.staged()


def test_the_index_is_told_with_the_stat_tuples_in_it(repo: Path) -> None:
    commit(repo, {b"a b": b"1", b"\xff": b"22"})
    git = git_of(repo)
    told = git.index_entries()
    assert b"\ta b\0  ctime: " in told
    assert b"\t\xff\0" in told
    assert b"  size: 2\t" in told
    assert git.index_written_ns() == (repo / ".git/index").stat().st_mtime_ns
    (repo / ".git/index").unlink()
    assert git.index_written_ns() == 0


def test_before_the_first_commit_nothing_says_what_is_staged(repo: Path) -> None:
    with pytest.raises(GitFailed):
        git_of(repo).staged()


def test_ancestry_and_merge_base(repo: Path) -> None:
    base = commit(repo, {b"a": b"1"})
    left = commit(repo, {b"left": b"1"})
    run_git(repo, "checkout", "-q", "-b", "other", base)
    right = commit(repo, {b"right": b"1"})
    run_git(repo, "checkout", "-q", "--orphan", "alone")
    orphan = commit(repo, {b"alone": b"1"})
    git = git_of(repo)
    assert git.is_ancestor(base, left)
    assert not git.is_ancestor(left, base)
    assert git.merge_base(left, right) == base
    assert git.merge_base(left, orphan) is None
    with pytest.raises(GitFailed):
        git.is_ancestor("0" * 40, left)
    with pytest.raises(GitFailed):
        git.changed_between("1" * 40, left)


@pytest.mark.parametrize(
    "name", ["--output=/tmp/x", "HEAD", "", "abc123", "A" * 40, "0" * 39, "0" * 40 + "\n", "é" * 40]
)
def test_what_is_no_commit_id_never_reaches_a_command_line(repo: Path, name: str) -> None:
    good = commit(repo, {b"a": b"1"})
    git = git_of(repo)
    for ask in (git.changed_between, git.merge_base, git.is_ancestor):
        with pytest.raises(GitFailed, match="not a commit id"):
            ask(name, good)
        with pytest.raises(GitFailed, match="not a commit id"):
            ask(good, name)


@conforms("003.GIT2")
def test_untracked_files_are_in_by_default_and_out_when_the_settings_say_so(repo: Path) -> None:
    commit(repo, {b"known.py": b"1", b"dir/known too.py": b"1"})
    (repo / "new.py").write_text("2")
    with Tree(Root(str(repo), is_git=True)) as tree:
        assert Config().index.untracked
        with_untracked = walk(tree, Config())
        without = walk(tree, Config(index=IndexConfig(untracked=False)), tracked=git_of(repo).tracked())
    assert {c.raw for c in with_untracked.candidates} == {b"known.py", b"dir/known too.py", b"new.py"}
    assert {c.raw for c in without.candidates} == {b"known.py", b"dir/known too.py"}
    assert (b"new.py", SkipReason.UNTRACKED) in {(s.raw, s.reason) for s in without.skips}


def test_a_linked_worktree_has_its_own_head_and_the_shared_exclude_file(repo: Path, tmp_path: Path) -> None:
    first = commit(repo, {b"a": b"1"})
    (repo / ".git/info/exclude").write_text("shared-rule\n")
    run_git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), first)
    second = commit(repo, {b"a": b"2"})
    linked = git_of(tmp_path / "linked")
    assert (linked.head(), git_of(repo).head()) == (first, second)
    assert linked.tracked() == {b"a"}
    assert dict(linked.global_excludes())[INFO_EXCLUDE_LABEL] == b"shared-rule\n"


# --- rules from outside the repository ----------------------------------------------------------------------------


def test_the_global_ignore_file_is_the_persons_and_never_the_repositorys(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "planted").write_text("planted\n")
    run_git(repo, "config", "core.excludesFile", str(tmp_path / "planted"))
    (repo / ".git/info/exclude").unlink(missing_ok=True)
    git = git_of(repo)
    assert git.global_excludes() == ()
    (home / ".config/git/ignore").write_text("default\n")
    assert git.global_excludes() == ((GLOBAL_IGNORE_LABEL, b"default\n"),)
    (home / "mine").write_text("mine\n")
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    assert git.global_excludes() == ((GLOBAL_IGNORE_LABEL, b"mine\n"),)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (home / ".gitconfig").unlink()
    (tmp_path / "xdg/git").mkdir(parents=True)
    (tmp_path / "xdg/git/ignore").write_text("xdg\n")
    assert git.global_excludes() == ((GLOBAL_IGNORE_LABEL, b"xdg\n"),)


def test_an_exclude_file_that_is_no_file_or_endless_does_no_harm(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    exclude = repo / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    os.mkfifo(exclude)
    assert git_of(repo).global_excludes() == ()
    exclude.unlink()
    exclude.symlink_to("/etc/passwd")
    assert git_of(repo).global_excludes() == ()
    exclude.unlink()
    exclude.write_bytes(b"x" * (git_module.MAX_IGNORE_BYTES + 10))
    assert len(dict(git_of(repo).global_excludes())[INFO_EXCLUDE_LABEL]) == git_module.MAX_IGNORE_BYTES


# --- hostile repositories -----------------------------------------------------------------------------------------

HOOKS = "post-index-change reference-transaction pre-auto-gc post-checkout post-merge fsmonitor-watchman post-commit"
EVIL_CONFIG = """
[core]
    fsmonitor = {canary} core.fsmonitor
    hooksPath = {hooks}
    pager = {canary} core.pager
    editor = {canary} core.editor
    sshCommand = {canary} core.sshCommand
    gitProxy = {canary} core.gitProxy
    askPass = {canary}
    alternateRefsCommand = {canary} core.alternateRefsCommand
    untrackedCache = true
    attributesFile = {attributes}
[diff]
    external = {canary} diff.external
    noPrefix = true
    renames = copies
    ignoreSubmodules = none
[diff "evil"]
    command = {canary} diff.command
    textconv = {canary} diff.textconv
    cachetextconv = true
[filter "evil"]
    clean = {canary} filter.clean
    smudge = {canary} filter.smudge
    required = true
[filter "evilprocess"]
    process = {canary} filter.process
[merge "evil"]
    driver = {canary} merge.driver
[credential]
    helper = !{canary} credential.helper
[gpg]
    program = {canary}
[gpg "ssh"]
    program = {canary}
    defaultKeyCommand = {canary} gpg.ssh.defaultKeyCommand
[log]
    showSignature = true
[alias]
    rev-parse = !{canary} alias
    ls-files = !{canary} alias
    diff-tree = !{canary} alias
    diff-index = !{canary} alias
    diff-files = !{canary} alias
    merge-base = !{canary} alias
    config = !{canary} alias
[pager]
    rev-parse = {canary} pager
    ls-files = {canary} pager
    diff-tree = {canary} pager
    diff-index = {canary} pager
    diff-files = {canary} pager
    merge-base = {canary} pager
    config = {canary} pager
[interactive]
    diffFilter = {canary} interactive.diffFilter
[uploadpack]
    packObjectsHook = {canary} uploadpack
[remote "evil"]
    url = ext::{canary} remote.ext
    promisor = true
    fetch = +refs/heads/*:refs/remotes/evil/*
    uploadpack = {canary} remote.uploadpack
    vcs = evil
[extensions]
    partialClone = evil
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[submodule "evil"]
    update = !{canary} submodule.update
    url = ext::{canary} submodule
[submodule]
    recurse = true
[status]
    submoduleSummary = true
[gc]
    auto = 1
[maintenance]
    auto = true
[tar "evil"]
    command = {canary} tar
[trailer "evil"]
    command = {canary} trailer
[include]
    path = {included}
"""


class Canary:
    """A program that leaves a line behind each time anything runs it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.log = folder / "sang"
        self.program = folder / "canary"
        self.program.write_text(f'#!/bin/sh\necho "$0 $@" >> {self.log}\nexit 1\n')
        self.program.chmod(0o755)

    @property
    def sang(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "cage")


@pytest.fixture
def hostile(repo: Path, tmp_path: Path, canary: Canary) -> tuple[Path, str, str]:
    """A repository whose config, attributes and hooks name the canary wherever git would run something."""
    old = commit(repo, {b"a.txt": b"1\n", b"b.bin": b"1\n"})
    new = commit(repo, {b"a.txt": b"2\n", b"b.bin": b"2\n"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for folder in (hooks, repo / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS.split():
            shutil.copy(canary.program, folder / name)
    attributes = tmp_path / "attributes"
    attributes.write_text("* filter=evil diff=evil merge=evil\n")
    (repo / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n*.bin filter=evilprocess\n")
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tfsmonitor = {canary.program} included\n")
    with (repo / ".git/config").open("a") as config:
        config.write(
            EVIL_CONFIG.format(canary=canary.program, hooks=hooks, attributes=attributes, included=included).replace(
                "[core]", "[core]\n    repositoryformatversion = 1", 1
            )
        )
    # Same size, other time: git would have to run the clean filter to know whether it changed.
    os.utime(repo / "a.txt", (1, 1))
    os.utime(repo / "b.bin", (1, 1))
    return repo, old, new


def test_the_trap_works_plain_git_status_runs_what_the_repository_names(
    hostile: tuple[Path, str, str], canary: Canary
) -> None:
    subprocess.run(["git", "status"], cwd=hostile[0], capture_output=True, check=False)
    assert "fsmonitor" in canary.sang or "included" in canary.sang
    assert "filter" in canary.sang


def test_nothing_the_repository_names_is_ever_run(
    hostile: tuple[Path, str, str], canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = hostile
    # The caller's environment must not reach git either.
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_EDITOR"):
        monkeypatch.setenv(name, str(canary.program))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_EXEC_PATH", str(canary.program.parent))
    answers = everything(git_of(repo), old, new)
    assert answers[:5] == [new, {b"a.txt", b"b.bin"}, (("M", b"a.txt"), ("M", b"b.bin")), old, True]
    # The index is told with the blobs that it holds; what is in the files now, no filter was asked.
    assert answers[6] is False
    assert b"\ta.txt\0" in answers[7]  # type: ignore[operator]
    assert canary.sang == ""
    assert not (repo / ".git/index.lock").exists()


def test_a_missing_object_is_not_fetched_from_a_remote_the_repository_names(
    hostile: tuple[Path, str, str], canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, old, new = hostile
    tree = run_git(repo, "-c", "core.fsmonitor=false", "rev-parse", f"{new}^{{tree}}")
    run_git(repo, "config", "--unset", "remote.evil.vcs")
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    monkeypatch.setitem(git_module._ENVIRONMENT, "GIT_NO_LAZY_FETCH", "0")
    # Even a git that does not know how to leave lazy fetching alone finds no transport.
    everything(git_of(repo), old, new)
    assert canary.sang == ""
    # The trap works: with protocol.allow=never alone, the repository's own protocol.ext.allow wins.
    subprocess.run(
        ["git", "-c", "protocol.allow=never", "diff-tree", "-r", old, new],
        cwd=repo,
        env={"PATH": os.environ["PATH"], "GIT_NO_LAZY_FETCH": "0"},
        capture_output=True,
        check=False,
    )
    assert "remote" in canary.sang


def test_a_git_program_inside_the_repository_is_never_run(
    repo: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit(repo, {b"a": b"1"})
    (repo / "bin").mkdir()
    for place in (repo / "git", repo / "bin/git"):
        shutil.copy(canary.program, place)
    (repo.parent / "link").symlink_to(repo / "bin")
    real = os.path.dirname(shutil.which("git") or "")
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin", f"{repo}/bin", f"{repo.parent}/link", real]))
    monkeypatch.chdir(repo)
    assert git_of(repo).head() == head
    assert canary.sang == ""


@pytest.mark.parametrize("elsewhere", ["elsewhere", ".", "repo/dir"])
def test_a_redirected_working_tree_does_not_change_the_answer(repo: Path, tmp_path: Path, elsewhere: str) -> None:
    head = commit(repo, {b"dir/a": b"1", b"b": b"1"})
    (tmp_path / "elsewhere").mkdir()
    run_git(repo, "config", "core.worktree", str(tmp_path / elsewhere))
    assert git_of(repo).head() == head
    assert git_of(repo).tracked() == {b"dir/a", b"b"}


def test_a_broken_git_folder_does_not_make_git_look_above_the_root(repo: Path) -> None:
    commit(repo, {b"a": b"1"})
    inner = repo / "inner"
    (inner / ".git").mkdir(parents=True)
    git = git_of(inner)
    assert git.head() is None
    with pytest.raises(GitFailed):
        git.tracked()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to someone else")
def test_a_repository_of_another_user_is_refused_by_git_and_scanned_without_it(repo: Path) -> None:
    commit(repo, {b"a": b"1"})
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    git = git_of(repo)
    assert git.head() is None
    with pytest.raises(GitFailed, match="ownership"):
        git.tracked()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to someone else")
def test_a_repository_that_is_indexed_for_a_group_may_belong_to_any_member(repo: Path) -> None:
    head = commit(repo, {b"a": b"1"})
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    git = Git(Root(str(repo), is_git=True, of_group=True))
    assert git.head() == head
    assert git.tracked() == {b"a"}


# --- a child that misbehaves --------------------------------------------------------------------------------------


def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> str:
    """A program called git that comes first; it may hand on to the real one as `$REAL`."""
    real = shutil.which("git")
    assert real is not None
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\nREAL={real}\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return real


LOCKED = """fatal: Unable to create '/x/.git/index.lock': File exists."""


def test_a_locked_repository_is_asked_again_and_then_answers(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit(repo, {b"a": b"1"})
    fake_git(
        tmp_path,
        monkeypatch,
        f"""echo x >> {tmp_path}/asked
        if [ $(wc -l < {tmp_path}/asked) -lt 4 ]; then echo "{LOCKED}" >&2; exit 128; fi
        exec "$REAL" "$@" """,
    )
    clock = ManualClock.over_system()
    assert git_of(repo, clock).head() == head
    assert len(clock.slept) == 3
    assert clock.slept == sorted(clock.slept)


def test_a_repository_that_stays_locked_is_given_up_after_a_bounded_number_of_tries(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, {b"a": b"1"})
    fake_git(tmp_path, monkeypatch, f"""echo x >> {tmp_path}/asked; echo "{LOCKED}" >&2; exit 128""")
    with pytest.raises(GitFailed, match="locked"):
        git_of(repo, ManualClock.over_system()).tracked()
    assert len((tmp_path / "asked").read_text().split()) == git_module.GIT_LOCK_ATTEMPTS


@conforms("003.CD6")
def test_a_held_index_lock_does_not_stop_reading(repo: Path) -> None:
    head = commit(repo, {b"a": b"1"})
    (repo / ".git/index.lock").touch()
    assert git_of(repo).head() == head
    assert git_of(repo).tracked() == {b"a"}


def test_a_git_that_hangs_is_killed_with_all_its_children(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    commit(repo, {b"a": b"1"})
    fake_git(tmp_path, monkeypatch, f"sleep 600 & echo $! > {tmp_path}/child; sleep 600")
    faults.limit(git_module, GIT_TIMEOUT_SECONDS=0.5)
    with pytest.raises(GitFailed, match="longer than"):
        git_of(repo).head()
    child = (tmp_path / "child").read_text().strip()
    for _ in range(100):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        SystemClock().sleep(0.05)
    pytest.fail("a child of git outlived the call")


def test_a_config_that_includes_a_pipe_cannot_hang_us(repo: Path, tmp_path: Path, faults: Faults) -> None:
    commit(repo, {b"a": b"1"})
    os.mkfifo(tmp_path / "pipe")
    run_git(repo, "config", "include.path", str(tmp_path / "pipe"))
    faults.limit(git_module, GIT_TIMEOUT_SECONDS=0.5)
    with pytest.raises(GitFailed, match="longer than"):
        git_of(repo).head()


def test_a_git_that_prints_without_end_is_stopped_at_the_cap(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    commit(repo, {b"a": b"1"})
    fake_git(tmp_path, monkeypatch, "cat /dev/zero")
    faults.limit(git_module, GIT_OUTPUT_BYTES=1_000_000)
    with pytest.raises(GitFailed, match="printed more"):
        git_of(repo).tracked()


def test_a_flood_on_the_error_stream_neither_blocks_nor_fills_the_message(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, {b"a": b"1"})
    fake_git(tmp_path, monkeypatch, "head -c 3000000 /dev/zero | tr '\\0' '\\033' >&2; exit 128")
    with pytest.raises(GitFailed) as caught:
        git_of(repo).tracked()
    assert len(caught.value.sentence) < 600
    assert "\033" not in caught.value.sentence


def test_the_version_is_that_of_the_git_on_path_and_none_where_none_answers(tmp_path: Path) -> None:
    def version(path: str) -> str | None:
        return git_version({"PATH": path}, "")

    assert run_git(tmp_path, "version") == version(os.environ["PATH"])
    for name, script in (("broken", "exit 3"), ("loud", "printf 'git version 9\\033[2J\\nmore'")):
        (tmp_path / name).mkdir()
        program = tmp_path / name / "git"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    assert version(str(tmp_path / "broken")) is None
    assert version(str(tmp_path / "loud")) == "git version 9?[2J"
    assert version("relative:/nonexistent") is None
    (tmp_path / "loud" / "git").write_bytes(b"no program")
    assert version(str(tmp_path / "loud")) is None


# --- The past is told as it was, whatever the repository is called to make of it.


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
