"""`cairn semantic refresh`, killed for real wherever it can be; and a commit while it runs.

Whatever was there before is there after it, the next refresh completes, and nothing that was started is left.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cairn.semantic import jobs
from cairn.semantic.model import JobStatus
from tests.conformance import conforms
from tests.faults.traced import require_strace
from tests.semantic import fake_indexer
from tests.semantic.indexers import real_indexer
from tests.semantic.worlds import TREE, World
from tests.support.waiting import is_alive, until

_WRITES = "write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat,mkdirat,fchmod"
_KILLED = -9


class Command(World):
    """A codebase with an index, and the small indexer on PATH."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, TREE)
        self.place, self.tools = place, fake_indexer.install(place / "tools")
        self.environ["PATH"] = f"{self.tools}{os.pathsep}{self.environ['PATH']}"
        # Where the package under test is, when it is not the installed one.
        self.environ |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}

    def mood(self, mood: str) -> None:
        (self.tools / "mood").write_text(mood)

    def refresh(self, *before: str) -> int:
        """How the command ended; a number below zero is the signal that ended it."""
        command = [*before, sys.executable, "-m", "cairn", "semantic", "refresh"]
        return subprocess.run(command, cwd=self.tree, env=self.environ, capture_output=True, check=False).returncode

    def statuses(self) -> list[JobStatus]:
        """How the jobs stand, the newest first."""
        return [job.status for job in self.database.ask(jobs.jobs) or ()]

    def known(self) -> set[str]:
        asked = "SELECT path FROM file_semantic_facts JOIN files ON files.id = file_id"
        return {path for (path,) in self.database.ask(lambda db: db.execute(asked).fetchall()) or ()}

    def base(self) -> dict[str, str]:
        """Every file of the index itself, but the lease of the sync that comes first, and its memory of the tree."""
        data = Path(self.environ["CAIRN_HOME"], "data")
        return {
            str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(data.rglob("*"))
            if path.is_file() and path.name != "tree.bin" and path.parent.name != "locks"
        }

    def recovers(self, base: dict[str, str]) -> None:
        """The next refresh completes, and the index is the same to the byte."""
        self.mood("")
        assert self.base() == base
        assert self.refresh() == 0
        assert self.known() == {"lib.py", "app.py", "hand.py", "notes.py"}
        assert self.statuses()[0] is JobStatus.COMPLETED
        assert not {JobStatus.RUNNING, JobStatus.QUEUED} & set(self.statuses())
        assert self.base() == base


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path.resolve())


@pytest.mark.parametrize("mood", ["kill", pytest.param("kill-late", marks=pytest.mark.long)])
def test_killed_while_its_indexer_runs_it_takes_it_along_and_the_next_one_does_the_work(
    command: Command, mood: str
) -> None:
    base = command.base()
    command.mood(mood)
    assert command.refresh() == _KILLED
    indexer = int((command.tools / "pid").read_text())
    until(lambda: not is_alive(indexer), lambda: "the indexer outlives who has started it")
    assert (command.statuses(), command.known()) == ([JobStatus.RUNNING], set())
    command.recovers(base)


@conforms("002.JOB2", "002.JOB3")
def test_a_commit_while_the_indexer_runs_discards_what_it_says(command: Command) -> None:
    command.mood("run test -e later.py || { echo 'def later(): ...' > later.py; git add -A; " + _COMMIT + "; }")
    assert command.refresh() == 0
    # What was run at the old commit is worth nothing; at the new one it is done again, new file and all.
    assert command.statuses() == [JobStatus.COMPLETED, JobStatus.SUPERSEDED]
    assert command.known() == {"lib.py", "app.py", "hand.py", "notes.py", "later.py"}


_COMMIT = "git -c user.name=m -c user.email=m@x -c commit.gpgsign=false commit -qm x"


# --- a real indexer ---------------------------------------------------------------------------------------------------


def below(pid: int) -> set[int]:
    """The processes that a process has started, and those that these have."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@contextmanager
def at_work(command: Command) -> Iterator[subprocess.Popen[bytes]]:
    """A refresh whose indexer runs, and is not through: node has begun, which takes seconds."""
    command.environ["PATH"] = os.pathsep.join([os.path.dirname(real_indexer("scip-python")), os.environ["PATH"]])
    refresh = [sys.executable, "-m", "cairn", "semantic", "refresh"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(refresh, cwd=command.tree, env=command.environ, stdout=quiet, stderr=quiet) as running:
        until(lambda: running.poll() is not None or _is_at_work(command, running.pid))
        assert running.poll() is None, "it was through before we looked"
        yield running


def _is_at_work(command: Command, pid: int) -> bool:
    return len(below(pid)) >= 2 and JobStatus.RUNNING in command.statuses()


@pytest.mark.long
def test_killed_while_a_real_indexer_runs_it_takes_it_along(command: Command) -> None:
    base = command.base()
    with at_work(command) as running:
        started = below(running.pid)
        running.kill()
    until(lambda: not any(map(is_alive, started)))
    assert (command.statuses(), command.known()) == ([JobStatus.RUNNING], set())
    command.recovers(base)


@pytest.mark.long
def test_a_commit_while_a_real_indexer_runs_discards_what_it_says(command: Command) -> None:
    with at_work(command) as running:
        command.git("commit", "-q", "--allow-empty", "-m", "another")
    assert running.returncode == 0
    assert command.statuses() == [JobStatus.COMPLETED, JobStatus.SUPERSEDED]
    assert command.known() == {"lib.py", "app.py", "hand.py", "notes.py"}


# --- at every write ---------------------------------------------------------------------------------------------------


def traced(command: Command, inject: str | None = None) -> tuple[int, list[str]]:
    """How a refresh under strace ended, and the calls by which it changed anything below its home, in order.

    Only the command itself is watched: what it starts ends with it.
    """
    log = command.place / "strace"
    options = ["-qq", "-y", "-o", str(log), "-e", f"trace={_WRITES}", "-e", "signal=none"]
    status = command.refresh("strace", *options, *(["-e", f"inject={inject}"] if inject else []))
    return status, log.read_text().splitlines()


def prepared(command: Command) -> Callable[[], None]:
    """Gives back the home as it is now."""
    kept, home = command.place / "kept", Path(command.environ["CAIRN_HOME"])
    subprocess.run(["cp", "-a", str(home), str(kept)], check=True)

    def restore() -> None:
        shutil.rmtree(home)
        subprocess.run(["cp", "-a", str(kept), str(home)], check=True)

    return restore


@pytest.mark.long
@conforms("002.JOB4", "002.JOB5")
def test_killed_at_any_write_it_has_taken_in_all_or_nothing(command: Command) -> None:
    require_strace()
    restore, base = prepared(command), command.base()
    status, calls = traced(command)
    assert status == 0
    whole = command.known()
    points = places(calls)
    print(f"\n{len(points)} of {len(calls)} calls")
    phases: set[tuple[bool, tuple[JobStatus, ...]]] = set()
    for call, number in points:
        restore()
        status, _ = traced(command, f"{call}:signal=KILL:when={number}")
        assert status in (_KILLED, 128 + 9), (call, number)
        assert command.known() in (set(), whole), (call, number)
        # What is known was taken in by a job that says so, and no other job says so.
        assert (JobStatus.COMPLETED in command.statuses()) is bool(command.known())
        phases.add((bool(command.known()), tuple(command.statuses())))
        command.recovers(base)
    # Before the job, while it waits, while it runs, and after it.
    wanted = [(False, ()), (False, (JobStatus.QUEUED,)), (False, (JobStatus.RUNNING,)), (True, (JobStatus.COMPLETED,))]
    assert phases >= set(wanted), phases


def places(calls: list[str], most: int = 18) -> list[tuple[str, int]]:
    """Some of the calls that touch what is semantic, spread evenly, each by its name and its number of that name."""
    seen: dict[str, int] = {}
    found = []
    for line in calls:
        call = line.partition("(")[0]
        seen[call] = seen.get(call, 0) + 1
        if re.search(r"/semantic[/>]", line):
            found.append((call, seen[call]))
    step = max(1, len(found) // most)
    return [*found[::step], *found[-3:]]
