"""A repository that makes git hang: it hangs once for a command, not once for a question, and the answer says so.

What git opens is made a pipe that nobody writes to: every file of a repository in turn, every other name that git looks
for, and every setting that names a file. Calls that were begun and never ended are counted; where a machine is so busy
that a git which works looks as if it hung, git is given more time.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cairn.source.git as git_module
from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.core.types import Root
from cairn.source.git import Git, unanswered
from cairn.tools.table import call
from tests.hostile.test_programs import LINES
from tests.source.test_git import everything
from tests.support.clock import ManualClock
from tests.support.commands import Person, Typed, forked
from tests.support.faults import Faults
from tests.support.repos import commit, make_repo, run_git
from tests.support.servers import PATIENT

# The seconds given to git, first and where that was not enough: one that hangs does so however long it is waited for.
SOON = 0.3
LATER = (3.0, 30.0)
TELLS = "git could not answer"
# A command that gives git the time that tests give it.
LIMITED = """
import sys, cairn.source.git as git, cairn.thin
git.GIT_TIMEOUT_SECONDS = git.GIT_HISTORY_SECONDS = {seconds}
sys.exit(cairn.thin.main())
"""


class CountedGit:
    """The real git behind a script that notes when a call begins and when it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.log, self.folder = folder / "calls", folder
        note = f">> {shlex.quote(str(self.log))}"
        real = shutil.which("git")
        (folder / "git").write_text(
            f'#!/bin/sh\necho begun {note}\n{real} "$@"\nleft=$?\necho ended {note}\nexit $left\n'
        )
        (folder / "git").chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    @property
    def begun(self) -> int:
        return self.log.read_text().count("begun") if self.log.exists() else 0

    @property
    def hung(self) -> int:
        """Calls that were begun and killed."""
        return self.begun - self.log.read_text().count("ended") if self.log.exists() else 0

    def forget(self) -> None:
        self.log.unlink(missing_ok=True)


@pytest.fixture
def counted(tmp_path: Path) -> CountedGit:
    return CountedGit(tmp_path / "counted")


def patiently(faults: Faults, ask: Callable[[], bool]) -> bool:
    """Return what is found with little time for git; where that does not hold, what is found with more."""
    for seconds in (SOON, *LATER):
        faults.limit(git_module, GIT_TIMEOUT_SECONDS=seconds, GIT_HISTORY_SECONDS=seconds)
        try:
            return ask()
        except AssertionError:
            if seconds == LATER[-1]:
                raise
    raise AssertionError


# --- every name that git opens ----------------------------------------------------------------------------------------


def rich_repository(folder: Path) -> tuple[str, str]:
    """Make a repository that holds every kind of file; return two of its commits."""
    repo = make_repo(folder / "repo")
    old = commit(repo, {b"a.txt": b"1\n", b"dir/b.txt": b"1\n"})
    run_git(repo, "gc", "-q")
    run_git(repo, "commit-graph", "write", "--reachable")
    run_git(repo, "multi-pack-index", "write")
    new = commit(repo, {b"a.txt": b"2\n"})
    run_git(repo, "config", "extensions.worktreeConfig", "true")
    run_git(repo, "worktree", "add", "-q", "--detach", str(folder / "linked"))
    return old, new


def _files(folder: Path) -> Iterator[str]:
    """Name the files of a rich repository, as they are called in every one."""
    rich_repository(folder)
    for path in sorted((folder / "repo" / ".git").rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "/hooks/" not in name:
            yield name
    yield "linked/.git"


# Names that git looks for and that this repository does not hold.
ABSENT = [
    "repo/.git/info/grafts",
    "repo/.git/info/attributes",
    "repo/.git/info/sparse-checkout",
    "repo/.git/shallow",
    "repo/.git/commondir",
    "repo/.git/config.worktree",
    "repo/.git/objects/info/alternates",
    "repo/.git/objects/info/commit-graphs/commit-graph-chain",
    "repo/.git/refs/heads/main",
    "repo/.git/refs/HEAD",
    "repo/.git/index.lock",
    "repo/.git/hooks/fsmonitor-watchman",
    "repo/.gitattributes",
    "repo/.gitmodules",
    "repo/.gitignore",
]
# Settings whose value is a file that git reads or runs.
SETTINGS = [
    "include.path",
    "includeIf.gitdir:/.path",
    "core.excludesFile",
    "core.attributesFile",
    "core.fsmonitor",
    "core.hooksPath",
    "core.worktree",
    "core.alternateRefsCommand",
    "core.sshCommand",
    "extensions.partialClone",
]
FEW = ["repo/.git/HEAD", "repo/.git/index", "repo/.git/packed-refs", "repo/.git/config", "include.path", "linked/.git"]


def _hangs(place: Path, counted: CountedGit, old: str, new: str, root: Path) -> bool:
    """Ask everything; at most one call hangs, which is told, and none is begun after it. Return whether one hung."""
    counted.forget()
    known = Root(str(root), is_git=True)
    everything(Git(known), old, new)
    assert counted.hung <= 1, place
    assert bool(unanswered(known)) == bool(counted.hung), place
    if counted.hung:
        before = counted.begun
        everything(Git(known), old, new)
        assert counted.begun == before, f"{place}: git was asked again"
    return bool(counted.hung)


def _pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _asked(
    tmp_path: Path, counted: CountedGit, monkeypatch: pytest.MonkeyPatch, faults: Faults, names: Callable[[], list[str]]
) -> None:
    template = tmp_path / "template"
    old, new = rich_repository(template)
    monkeypatch.setenv("PATH", counted.path)
    # Each in a place of its own: that git has hung is remembered by the place.
    places = (tmp_path / f"case{number}" for number in itertools.count())
    for name in names():
        for tree in ("repo", "linked"):

            def ask(name: str = name, tree: str = tree) -> bool:
                here = next(places)
                shutil.copytree(template, here, symlinks=True)
                (here / "linked" / ".git").write_text(f"gitdir: {here}/repo/.git/worktrees/linked\n")
                _make_hang(here, name)
                try:
                    return _hangs(Path(name), counted, old, new, here / tree)
                finally:
                    shutil.rmtree(here)

            patiently(faults, ask)


def _make_hang(here: Path, name: str) -> None:
    """Make a pipe of what a repository calls so, or of what its setting names."""
    if name not in SETTINGS:
        _pipe(here / name)
        return
    os.mkfifo(here / "pipe")
    # Written by hand: git itself would read what it has just been told.
    section, _, key = name.rpartition(".")
    head, _, rest = section.partition(".")
    with (here / "repo/.git/config").open("a") as config:
        config.write(f"[{head}{f' {json.dumps(rest)}' if rest else ''}]\n\t{key} = {here}/pipe\n")


def test_what_git_opens_and_is_a_pipe_makes_it_hang_once(
    tmp_path: Path, counted: CountedGit, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    _asked(tmp_path, counted, monkeypatch, faults, lambda: FEW)


@pytest.mark.long
def test_every_name_that_git_opens_and_is_a_pipe_makes_it_hang_once_at_most(
    tmp_path: Path, counted: CountedGit, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    every = [*_files(tmp_path / "names"), *ABSENT, *SETTINGS]
    assert set(FEW) <= set(every)
    assert len(every) > 40
    _asked(tmp_path, counted, monkeypatch, faults, lambda: every)


# --- one deadline -----------------------------------------------------------------------------------------------------


def test_all_calls_share_one_deadline_and_time_without_git_is_given_back(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    """Each call takes eight seconds of a clock that the test moves: two fit into twenty, the third does not."""
    commit(repo, {b"a": b"1"})
    clock, run, given = ManualClock.over_system(), git_module._run, []

    def slow(
        command: object, cwd: object, environ: object, clock_: object, seconds: float, feed: bytes = b""
    ) -> object:
        given.append(round(seconds))
        if seconds < 8:
            clock.sleep(seconds)
            raise git_module._LateError
        clock.sleep(8)
        return run(command, cwd, environ, clock, 600.0, feed)  # type: ignore[arg-type]

    monkeypatch.setattr(git_module, "_run", slow)
    root = Root(str(repo), is_git=True)
    for _ in range(2):
        Git(root, clock=clock).tracked()
    for _ in range(3):
        with pytest.raises(git_module.GitFailed, match="longer than 20 seconds"):
            Git(root, clock=clock).tracked()
    assert given == [20, 12, 4]
    assert TELLS in unanswered(root)[0]
    clock.sleep(git_module.GIT_REST_SECONDS)
    assert Git(root, clock=clock).tracked()
    assert given[-1] == 20
    assert unanswered(root) == ()


# --- every face says so -----------------------------------------------------------------------------------------------


class Stuck(Person):
    """Somebody whose repository has been indexed, and includes a pipe since."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.counted = CountedGit(folder / "counted")
        self.commit()
        assert self.cairn("index").status == 0
        os.mkfifo(folder / "pipe")
        with (self.tree / ".git" / "config").open("a") as config:
            config.write(f"[include]\n\tpath = {folder / 'pipe'}\n")
        self.environment["PATH"] = self.counted.path

    def cairn(self, *arguments: str) -> Typed:
        limited = LIMITED.format(seconds=git_module.GIT_TIMEOUT_SECONDS)
        done = forked(["-c", limited, *arguments], self.tree, self.environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture
def stuck(tmp_path: Path) -> Stuck:
    return Stuck(tmp_path)


def _told(stuck: Stuck, line: str) -> bool:
    """Type a command twice, for a person and for a program. Return whether git was asked and hung."""
    stuck.counted.forget()
    done = stuck.cairn(*line.split())
    hung = stuck.counted.hung
    assert hung <= 1, line
    assert (TELLS in done.stderr) == bool(hung), (line, done)
    said = [one for one in done.stderr.splitlines() if TELLS in one]
    assert len(said) <= 1, "it is one line"
    stuck.counted.forget()
    done = stuck.cairn(*line.split(), "--json")
    envelope = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    told = [*envelope.get("warnings", ()), envelope.get("error", {}).get("message", "")]
    assert any(TELLS in one for one in told) == bool(stuck.counted.hung), (line, done)
    return bool(hung)


@pytest.mark.parametrize(
    "line",
    [
        "search lease",
        "sync",
        *(pytest.param(line, marks=pytest.mark.long) for line in ("files", "reindex", "semantic gate src/lease.py")),
    ],
)
def test_a_command_whose_git_hangs_answers_and_says_so(stuck: Stuck, line: str, faults: Faults) -> None:
    assert patiently(faults, lambda: _told(stuck, line))


@pytest.mark.long
@pytest.mark.parametrize("line", [one for one in LINES if not one.startswith(("daemon", "mcp", "completion"))])
def test_every_command_says_so_whenever_git_hangs(stuck: Stuck, line: str, faults: Faults) -> None:
    patiently(faults, lambda: _told(stuck, line))


def test_a_repository_whose_settings_need_git_says_that_it_does_not_answer(stuck: Stuck, faults: Faults) -> None:
    (stuck.tree / ".cairn.toml").write_text("[index]\nuntracked = false\n")

    def ask() -> bool:
        stuck.counted.forget()
        done = stuck.cairn("search", "lease")
        assert (done.status, stuck.counted.hung) == (26, 1)
        return TELLS in done.stderr

    assert patiently(faults, ask)


def test_a_tool_says_so_too(stuck: Stuck, monkeypatch: pytest.MonkeyPatch, faults: Faults) -> None:
    for name, value in stuck.environment.items():
        monkeypatch.setenv(name, value)
    assert patiently(faults, lambda: _tools_tell(stuck))


def _tools_tell(stuck: Stuck) -> bool:
    """Ask two tools of one process. Return whether git was asked and hung."""
    stuck.counted.forget()
    git_module._patience.clear()
    desk = Workspace(os.environ, Allowed(os.environ, [str(stuck.tree)]))
    try:
        for name, arguments in (("search_codebase", {"query": "lease"}), ("find_symbol", {"name": "Lease"})):
            told = json.loads(call(desk, name, arguments, patience=PATIENT).to_json())
            assert told["status"] == "ok"
            assert any(TELLS in one for one in told["warnings"]), told
    finally:
        desk.close()
    # The memory of this process holds for both.
    assert stuck.counted.hung == 1
    return True
