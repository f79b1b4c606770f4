"""A refresh, step by step, with a real program as its indexer: killed, overtaken and broken at every step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.limits import JOB_HEARTBEAT_SECONDS
from cairn.errors import IndexerTimeout, SemanticUnreadable
from cairn.semantic import jobs
from cairn.semantic.database import Connection, SemanticDatabase, register
from cairn.semantic.importing import Indexed
from cairn.semantic.model import FULL, Context, Job, JobStatus, RefreshScope, of_files
from cairn.semantic.worker import Cancelled, RefreshEnvironment, RefreshStep, _Limit, run_job
from tests.conformance import conforms
from tests.semantic.indices import document, index, occurrence
from tests.semantic.pinned import APP, CONTEXT, LIB, Codebase, index_of_demo
from tests.support.clock import ManualClock

INDEXER = "import sys; open(sys.argv[1], 'wb').write(bytes.fromhex(sys.argv[2]))"


class World:
    """A codebase, its database, and what happens around a refresh of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = Codebase(folder / "code", {"lib.py": LIB, "app.py": APP})
        self.database = SemanticDatabase(str(folder / "home"), str(self.code.folder))
        self.head = "one"
        self.data = index_of_demo()
        self.trace: list[str] = []
        self.when: dict[str, Callable[[], object]] = {}
        with self.database.writing() as db:
            register(db, [CONTEXT])

    def ask(self, scope: RefreshScope = FULL) -> int:
        with self.database.writing() as db:
            found = jobs.enqueue(db, CONTEXT.id, scope, head=self.head, reason="test").job
        assert found is not None
        return found

    def happens(self, what: str) -> None:
        self.trace.append(what)
        self.when.get(what, lambda: None)()

    def read_head(self) -> str:
        self.happens("head")
        return self.head

    def index(self, context: Context, scope: RefreshScope, cancelled: Cancelled) -> Indexed:
        """A small program writes the index, as a real indexer would."""
        self.happens("index")
        out = self.folder / "index.scip"
        subprocess.run([sys.executable, "-I", "-S", "-c", INDEXER, str(out), self.data.hex()], check=True)
        self.happens("indexed")
        assert not cancelled()
        return Indexed(out.read_bytes(), str(out), "1.0")

    def surroundings(self) -> RefreshEnvironment:
        def tell(step: RefreshStep, _: Job) -> None:
            self.happens(step)

        return RefreshEnvironment(
            database=self.database,
            root=str(self.code.folder),
            pinned=self.code.pinned(),
            head=self.read_head,
            look=self.code.look,
            files=lambda _: self.code.paths(),
            index=self.index,
            snapshot="snapshot",
            tell=tell,
        )

    def run(self, job: int | None = None) -> Job:
        ended = run_job(self.surroundings(), job)
        assert ended is not None
        return ended.job

    def facts(self) -> int:
        found = self.database.ask(lambda db: db.execute("SELECT count(*) FROM file_semantic_facts").fetchone())
        assert found is not None
        return int(found[0])

    def jobs(self) -> list[tuple[JobStatus, str, RefreshScope]]:
        found = self.database.ask(lambda db: [(job.status, job.head, job.scope) for job in jobs.jobs(db)])
        assert found is not None
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@conforms("002.JOB1")
def test_the_steps_come_in_this_order_and_completed_is_last(world: World) -> None:
    number = world.ask()
    assert world.run(number).status is JobStatus.COMPLETED
    assert world.trace == [
        "claimed", "indexing", "index", "indexed", "checking", "head", "importing", "completed",
    ]  # fmt: skip
    assert world.facts() == 2
    state = world.database.ask(
        lambda db: db.execute("SELECT last_seen_head, last_seen_snapshot FROM repo_state").fetchall()
    )
    assert state == [("one", "snapshot")]


def test_without_a_job_nothing_is_run_and_one_that_runs_is_left_alone(world: World) -> None:
    assert run_job(world.surroundings()) is None
    number = world.ask()
    world.when["index"] = lambda: world.trace.append(str(run_job(world.surroundings(), number)))
    world.run()
    assert "None" in world.trace
    assert world.trace.count("index") == 1


@conforms("002.JOB2", "002.JOB3")
@pytest.mark.parametrize("step", ["claimed", "indexing", "index", "indexed", "checking", "head"])
def test_a_commit_at_any_step_discards_the_output_and_supersedes_the_job(world: World, step: str) -> None:
    number = world.ask(of_files(["lib.py"]))

    def commit() -> None:
        world.head = "two"

    world.when[step] = commit
    ended = world.run(number)
    assert ended.status is JobStatus.SUPERSEDED
    assert ended.superseded_reason == jobs.HEAD_CHANGED
    assert "importing" not in world.trace
    assert world.facts() == 0
    # What it was to cover is covered by the next one, at the new commit.
    assert world.jobs()[0] == (JobStatus.QUEUED, "two", of_files(["lib.py"]))
    world.when.clear()
    assert world.run().status is JobStatus.COMPLETED
    assert world.facts() == 2


@conforms("002.JOB3")
def test_a_job_that_was_superseded_by_who_asked_is_discarded(world: World) -> None:
    number = world.ask()

    def commit() -> None:
        world.head = "two"
        world.ask(of_files(["app.py"]))

    world.when["indexed"] = commit
    assert world.run(number).status is JobStatus.SUPERSEDED
    assert world.facts() == 0
    assert world.jobs()[0] == (JobStatus.QUEUED, "two", FULL)


def test_without_a_commit_the_bytes_alone_decide(world: World) -> None:
    world.head = ""
    number = world.ask()
    world.when["indexed"] = lambda: world.code.write("lib.py", LIB + "\nx = 1\n")
    assert world.run(number).status is JobStatus.COMPLETED
    assert world.facts() == 1


def failing(world: World, problem: BaseException) -> None:
    def fail() -> None:
        raise problem

    world.when["index"] = fail


@conforms("002.JOB5")
def test_an_indexer_that_fails_leaves_its_reason_in_the_job_and_what_was_known_as_it_was(world: World) -> None:
    world.run(world.ask())
    failing(world, SemanticUnreadable(path="index.scip", why="it is empty"))
    ended = world.run(world.ask())
    assert ended.status is JobStatus.FAILED
    assert "it is empty" in (ended.error or "")
    assert world.facts() == 2
    for problem, why in ((KeyboardInterrupt(), jobs.CANCELLED), (RuntimeError(), "internal: RuntimeError")):
        failing(world, problem)
        number = world.ask()
        with pytest.raises(type(problem)):
            world.run(number)
        with world.database.writing() as db:
            found = jobs.get(db, number)
        assert found is not None
        assert (found.status, found.error) == (JobStatus.FAILED, why)


@conforms("002.JOB4")
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "late"])
def test_an_index_that_is_damaged_is_taken_in_not_at_all(world: World, damage: str) -> None:
    world.run(world.ask())
    before = world.database.ask(dump)
    world.code.write("lib.py", LIB + "\nx = 1\n")
    whole = index_of_demo("0.2")
    # The last document is broken: the first one was taken in already, and goes with the transaction.
    world.data = {"cut": whole[:-3], "garbage": b"\xff" * 50, "empty": b"", "late": whole + b"\x12\x05x"}[damage]
    assert world.run(world.ask()).status is JobStatus.FAILED
    assert world.database.ask(dump) == before


def dump(db: Connection) -> list[list[tuple[object, ...]]]:
    tables = ("files", "file_semantic_facts", "symbols", "occurrences", "edges", "identities", "repo_state")
    return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_job_that_is_cancelled_while_it_runs_stops_the_indexer(world: World) -> None:
    number = world.ask()

    asked = []

    def index(context: Context, scope: RefreshScope, cancelled: Cancelled) -> Indexed:
        asked.append(cancelled())
        with world.database.writing() as db:
            assert jobs.cancel(db, number)
        asked.append(cancelled())
        raise SemanticUnreadable(path="index.scip", why="it was stopped")

    ended = run_job(replace(world.surroundings(), index=index, clock=ManualClock(step=JOB_HEARTBEAT_SECONDS)), number)
    assert asked == [False, True]
    assert ended is not None
    assert (ended.job.status, ended.job.error) == (JobStatus.FAILED, jobs.CANCELLED)


# --- killed at every step ---------------------------------------------------------------------------------------------

STEPS = ["claimed", "indexing", "index", "indexed", "checking", "head", "importing", "imported", "completed"]


def killed_at(folder: Path, step: str, number: int) -> None:
    """A process that runs the job and is killed by itself at that step."""
    pid = os.fork()
    if pid == 0:
        try:
            world = World(folder)
            if step == "imported":
                # Between the import and the end of its transaction.
                jobs.complete = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            world.when[step] = lambda: os.kill(os.getpid(), signal.SIGKILL)
            world.run(number)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)


@conforms("002.JOB4", "002.JOB5")
@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_any_step_has_taken_in_all_or_nothing_and_its_job_is_done_again(
    tmp_path: Path, step: str
) -> None:
    world = World(tmp_path)
    number = world.ask()
    killed_at(tmp_path, step, number)
    done = step == "completed"
    assert world.facts() == (2 if done else 0)
    assert world.jobs()[0][0] is (JobStatus.COMPLETED if done else JobStatus.RUNNING)
    with world.database.writing(check=True) as db:
        assert jobs.recover(db) == (0 if done else 1)
    if not done:
        assert world.run().status is JobStatus.COMPLETED
    assert world.facts() == 2


@pytest.mark.parametrize("documents", [1, 400])
def test_an_import_ends_when_its_time_is_over_and_what_was_known_stays(world: World, documents: int) -> None:
    """Documents without number, or one whose statements never end: the clock is looked at in both."""
    world.run(world.ask())
    known = world.facts()
    clock = ManualClock.over_system()
    world.data = index(*[document("app.py", [occurrence([0, 5, 8], "scip-python python demo 0 lib/x.")])] * documents)

    def late() -> None:
        clock.step = 6.0

    world.when["importing"] = late
    world.ask()
    ended = run_job(replace(world.surroundings(), clock=clock, import_seconds=10))
    assert ended is not None
    assert ended.trouble is not None
    assert "to take in what it wrote took longer than 10 seconds" in str(ended.trouble)
    assert (ended.job.status, world.facts()) == (JobStatus.FAILED, known)


def test_a_statement_of_the_database_that_takes_too_long_is_ended(world: World) -> None:
    clock = ManualClock(step=6.0)
    limit = _Limit(replace(world.surroundings(), clock=clock, import_seconds=10), CONTEXT)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with world.database.writing() as db:
        with pytest.raises(IndexerTimeout):
            limit.kept(db, lambda: db.execute(endless).fetchone())
        assert db.execute("SELECT 1").fetchone() == (1,), "the next one has its own time"
