"""Refresh jobs: one runs and one waits, what was asked is never lost, and of many who claim one wins."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.clock import ProcessId, SystemProcesses
from cairn.core.limits import JOB_ATTEMPTS, JOB_LEASE_SECONDS, JOBS_KEPT
from cairn.errors import SemanticUnreadable
from cairn.semantic import jobs
from cairn.semantic.database import TABLES, Connection, SemanticDatabase, register
from cairn.semantic.jobs import EnqueueResult
from cairn.semantic.model import FULL, NOTHING, Job, JobStatus, RefreshScope, of_files
from tests.conformance import conforms
from tests.semantic.pinned import CONTEXT
from tests.semantic.test_model import scopes
from tests.support.clock import ManualClock

OTHER = replace(CONTEXT, id="python:other", root="other")


def fresh() -> Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in TABLES:
        db.execute(statement)
    register(db, [CONTEXT, OTHER])
    return db


@pytest.fixture
def db() -> Iterator[Connection]:
    made = fresh()
    yield made
    made.close()


class Dead(SystemProcesses):
    """Everybody else has died."""

    def is_gone(self, process: ProcessId) -> bool:
        return True


def ask(
    db: Connection, scope: RefreshScope = FULL, head: str = "one", context: str = CONTEXT.id, priority: int = 0
) -> jobs.Enqueued:
    return jobs.enqueue(db, context, scope, head=head, reason="test", priority=priority)


def job(db: Connection, number: int | None) -> Job:
    assert number is not None
    found = jobs.get(db, number)
    assert found is not None
    return found


def claimed(db: Connection, number: int | None = None) -> jobs.Claim:
    found = jobs.claim(db, number)
    assert found is not None
    return found


def test_what_is_asked_first_is_a_job_and_what_is_asked_then_widens_it(db: Connection) -> None:
    first = ask(db, of_files(["a"]))
    assert first.asked is EnqueueResult.CREATED
    assert ask(db, of_files(["b"])) == (first.job, EnqueueResult.WIDENED)
    assert job(db, first.job).scope == of_files(["a", "b"])
    assert ask(db, context=OTHER.id).asked is EnqueueResult.CREATED


@conforms("002.SC6")
def test_what_is_already_covered_is_not_asked_for_again(db: Connection) -> None:
    first = ask(db, RefreshScope(packages=frozenset({"pkg"})))
    before = job(db, first.job)
    for scope in (of_files(["pkg/a"]), RefreshScope(packages=frozenset({"pkg"})), NOTHING):
        assert ask(db, scope).asked is EnqueueResult.COVERED
    assert jobs.jobs(db) == (before,)
    assert ask(db, NOTHING).job is None


def test_nothing_asked_for_makes_no_job(db: Connection) -> None:
    assert ask(db, NOTHING) == (None, EnqueueResult.COVERED)
    assert jobs.jobs(db) == ()
    with pytest.raises(KeyError):
        ask(db, context="nobody")


@conforms("002.SC4")
def test_who_asks_during_a_run_widens_the_job_that_waits_and_not_the_one_that_runs(db: Connection) -> None:
    held = claimed(db, ask(db, of_files(["a"])).job)
    next_ = ask(db, of_files(["a"]))
    assert next_.asked is EnqueueResult.CREATED
    assert ask(db, of_files(["b"])) == (next_.job, EnqueueResult.WIDENED)
    assert job(db, held.job.id).scope == of_files(["a"])
    assert job(db, next_.job).scope == of_files(["a", "b"])
    assert jobs.claim(db) is None
    assert jobs.complete(db, held)
    assert claimed(db).job.id == next_.job


@conforms("002.SC5")
def test_another_commit_supersedes_what_waits_and_what_runs_and_loses_nothing(db: Connection) -> None:
    held = claimed(db, ask(db, of_files(["a"])).job)
    waiting = ask(db, of_files(["b"]))
    new = ask(db, of_files(["c"]), head="two")
    assert new.asked is EnqueueResult.CREATED
    for old in (held.job.id, waiting.job):
        assert job(db, old).status is JobStatus.SUPERSEDED
        assert job(db, old).superseded_reason == jobs.HEAD_CHANGED
    assert job(db, new.job).scope == of_files(["a", "b", "c"])
    assert not jobs.heartbeat(db, held)
    assert not jobs.is_held(db, held)
    assert not jobs.complete(db, held)
    assert jobs.supersede(db, held, "two") is None


def test_a_run_that_finds_another_commit_is_done_again_at_it(db: Connection) -> None:
    held = claimed(db, ask(db, of_files(["a"])).job)
    again = jobs.supersede(db, held, "two")
    assert job(db, held.job.id).status is JobStatus.SUPERSEDED
    assert (job(db, again).head, job(db, again).scope) == ("two", of_files(["a"]))


@conforms("002.JOB6")
def test_a_job_is_claimed_once(db: Connection) -> None:
    number = ask(db).job
    held = claimed(db, number)
    assert held.job.status is JobStatus.RUNNING
    assert held.job.pid == os.getpid()
    assert jobs.claim(db, number) is None
    assert jobs.claim(db) is None
    stranger = replace(held, holder="somebody else")
    assert not jobs.complete(db, stranger)
    assert not jobs.fail(db, stranger, "no")
    assert not jobs.heartbeat(db, stranger)
    assert jobs.complete(db, held)
    assert not jobs.complete(db, held)
    assert jobs.claim(db, number) is None
    assert jobs.claim(db, 99) is None


@conforms("002.JOB6")
def test_a_job_that_was_cancelled_or_overtaken_while_it_waited_is_claimed_by_nobody(db: Connection) -> None:
    cancelled = ask(db).job
    assert cancelled is not None
    assert jobs.cancel(db, cancelled)
    overtaken, there = ask(db).job, ask(db, head="two").job
    assert jobs.claim(db, cancelled) is None
    assert jobs.claim(db, overtaken) is None
    assert (job(db, cancelled).status, job(db, overtaken).status) == (JobStatus.FAILED, JobStatus.SUPERSEDED)
    assert claimed(db).job.id == there


def test_what_somebody_looks_at_goes_first_then_what_was_asked_first(db: Connection) -> None:
    slow, quick = ask(db).job, ask(db, context=OTHER.id).job
    assert ask(db, context=OTHER.id, priority=5).asked is EnqueueResult.COVERED
    assert job(db, quick).priority == 5
    assert [each.id for each in jobs.pending(db)] == [quick, slow]
    assert claimed(db).job.id == quick
    assert claimed(db).job.id == slow


@conforms("002.JOB7")
def test_a_status_is_one_of_five(db: Connection) -> None:
    number = ask(db).job
    for status in JobStatus:
        db.execute("UPDATE refresh_jobs SET status = ? WHERE id = ?", (status, number))
    for wrong in ("done", "", "QUEUED", None):
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("UPDATE refresh_jobs SET status = ? WHERE id = ?", (wrong, number))


@pytest.mark.parametrize("status", ["queued", "running"])
def test_the_database_itself_keeps_a_second_one_out(db: Connection, status: str) -> None:
    number = ask(db).job
    db.execute("UPDATE refresh_jobs SET status = ? WHERE id = ?", (status, number))
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(
            "INSERT INTO refresh_jobs"
            " (context_id, status, scope, trigger_reason, priority, head_at_enqueue, created_at)"
            " SELECT context_id, status, scope, '', 0, '', 0 FROM refresh_jobs"
        )


def test_a_failed_job_says_why_and_a_cancelled_one_too(db: Connection) -> None:
    held = claimed(db, ask(db).job)
    assert jobs.fail(db, held, "the indexer crashed")
    assert job(db, held.job.id).error == "the indexer crashed"
    running, waiting = claimed(db, ask(db).job), ask(db).job
    assert waiting is not None
    for number in (running.job.id, waiting):
        assert jobs.cancel(db, number)
        assert not jobs.cancel(db, number)
        assert (job(db, number).status, job(db, number).error) == (JobStatus.FAILED, jobs.CANCELLED)
    assert not jobs.heartbeat(db, running)


def test_a_failure_is_told_until_the_next_job_of_its_context(db: Connection) -> None:
    jobs.fail(db, claimed(db, ask(db).job), "the indexer crashed")
    ask(db, context=OTHER.id)
    assert [job.error for job in jobs.failures(db)] == ["the indexer crashed"]
    ask(db)
    assert jobs.failures(db) == ()


# --- workers that die -------------------------------------------------------------------------------------------------


def test_the_job_of_a_worker_that_lives_is_left_to_it(db: Connection) -> None:
    held = claimed(db, ask(db).job)
    assert jobs.recover(db) == 0
    later = ManualClock.over_system(JOB_LEASE_SECONDS - 1)
    assert jobs.recover(db, clock=later) == 0
    assert jobs.heartbeat(db, held, clock=later)
    assert jobs.recover(db, clock=ManualClock.over_system(JOB_LEASE_SECONDS + 1)) == 0


@pytest.mark.parametrize("how", ["dead", "silent", "another boot", "unreadable"])
def test_the_job_of_a_dead_or_silent_worker_is_put_back(db: Connection, how: str) -> None:
    held = claimed(db, ask(db, of_files(["a"])).job)
    if how == "unreadable":
        db.execute("UPDATE refresh_jobs SET holder = ?", (json.dumps({"pid": "x"}),))
    clock = ManualClock.over_system()
    clock.move(boottime={"silent": JOB_LEASE_SECONDS + 1, "another boot": -1e9}.get(how, 0.0))
    assert jobs.recover(db, clock=clock, processes=Dead() if how == "dead" else SystemProcesses()) == 1
    assert job(db, held.job.id).status is JobStatus.QUEUED
    assert not jobs.complete(db, held)
    again = claimed(db)
    assert again.job.id == held.job.id
    assert again.job.scope == of_files(["a"])


def test_the_job_of_a_dead_worker_is_joined_with_the_one_that_waits(db: Connection) -> None:
    held, waiting = claimed(db, ask(db, of_files(["a"])).job), ask(db, of_files(["b"])).job
    assert jobs.recover(db, processes=Dead()) == 1
    assert job(db, held.job.id).status is JobStatus.FAILED
    assert job(db, waiting).scope == of_files(["a", "b"])


def test_a_job_that_kills_its_workers_is_given_up(db: Connection) -> None:
    number = ask(db).job
    for _ in range(JOB_ATTEMPTS):
        claimed(db, number)
        jobs.recover(db, processes=Dead())
    assert job(db, number).status is JobStatus.FAILED
    assert "died" in (job(db, number).error or "")


def test_only_the_last_jobs_of_a_context_are_remembered_and_never_less_than_what_is_open(db: Connection) -> None:
    other = ask(db, context=OTHER.id).job
    for _ in range(JOBS_KEPT + 5):
        assert jobs.complete(db, claimed(db, ask(db).job))
    assert len([each for each in jobs.jobs(db) if each.context == CONTEXT.id]) == JOBS_KEPT
    assert job(db, other).status is JobStatus.QUEUED


def test_a_row_that_we_would_not_have_written_hides_no_other_and_a_lost_scope_is_everything(db: Connection) -> None:
    good, bad = ask(db, of_files(["a"])).job, ask(db, context=OTHER.id).job
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.execute("UPDATE refresh_jobs SET status = 'odd' WHERE id = ?", (bad,))
    db.execute("UPDATE refresh_jobs SET scope = 'odd' WHERE id = ?", (good,))
    assert [(each.id, each.scope) for each in jobs.jobs(db)] == [(good, FULL)]


# --- properties -------------------------------------------------------------------------------------------------------

_STEPS = st.one_of(
    st.tuples(st.just("ask"), scopes),
    st.tuples(st.just("claim"), st.none()),
    st.tuples(st.just("complete"), st.none()),
    st.tuples(st.just("die"), st.none()),
    st.tuples(st.just("head"), st.none()),
)


@conforms("002.SC3", "002.SC4", "002.SC5")
@settings(max_examples=60)
@given(st.lists(_STEPS, max_size=25))
def test_all_that_is_asked_for_is_done_in_the_end_and_only_another_commit_supersedes(
    steps: list[tuple[str, RefreshScope | None]],
) -> None:
    db, head, held = fresh(), 0, None
    # What was asked since a job that covers it was claimed, and is still owed.
    owed: list[RefreshScope] = []
    running: list[RefreshScope] = []
    heads: set[int] = set()
    for step, scope in steps:
        if step == "ask" and scope is not None:
            before = {each.id: each for each in jobs.jobs(db)}
            ask(db, scope, head=str(head))
            owed.append(scope)
            for each in jobs.jobs(db):
                old = before.get(each.id)
                if old is not None and old.head == str(head):
                    assert each.status is old.status
                    assert each.scope.covers(old.scope)
        elif step == "claim" and held is None:
            held = jobs.claim(db)
            if held is not None:
                running, owed = owed, []
                assert all(held.job.scope.covers(one) for one in running)
        elif step == "complete" and held is not None:
            if held.job.head != str(head):
                jobs.supersede(db, held, str(head))
            if not jobs.complete(db, held):
                owed += running
            running, held = [], None
        elif step == "die" and held is not None:
            if jobs.is_held(db, held):
                jobs.recover(db, processes=Dead())
            if (lost := jobs.get(db, held.job.id)) is None or lost.error is None or "times" not in lost.error:
                owed += running
            running, held = [], None
        elif step == "head":
            head += 1
            heads.add(head)
        open_ = [each.status for each in jobs.pending(db)]
        assert open_.count(JobStatus.QUEUED) <= 1
        assert open_.count(JobStatus.RUNNING) <= 1
        waiting = [each.scope for each in jobs.pending(db) if each.status is JobStatus.QUEUED]
        for one in owed:
            assert one.empty or (waiting and waiting[0].covers(one))
    if not heads:
        assert all(each.status is not JobStatus.SUPERSEDED for each in jobs.jobs(db))
    db.close()


CLAIMER = """
import sys
from cairn.semantic import jobs
from cairn.semantic.database import SemanticDatabase
database = SemanticDatabase(sys.argv[1], "/project")
rounds, own = int(sys.argv[2]), []
sys.stdin.readline()
for number in range(1, rounds + 1):
    with database.writing() as db:
        held = jobs.claim(db, number)
    if held is not None:
        own.append(number)
print(*own)
"""


def claim_by_many(home: str, processes: int, rounds: int) -> None:
    """Every job is claimed by exactly one of the processes that try at the same time."""
    database = SemanticDatabase(home, "/project")
    with database.writing() as db:
        register(db, [replace(CONTEXT, id=f"python:{number}") for number in range(rounds)])
        for number in range(rounds):
            ask(db, context=f"python:{number}")
    command = [sys.executable, "-c", CLAIMER, home, str(rounds)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    answers = []
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in started:
        out, _ = each.communicate()
        assert each.returncode == 0
        answers += [int(number) for number in out.split()]
    assert sorted(answers) == list(range(1, rounds + 1))


@conforms("002.JOB6")
def test_of_some_processes_that_claim_one_job_one_wins(tmp_path: Path) -> None:
    claim_by_many(str(tmp_path / "home"), 3, 20)


@pytest.mark.long
@conforms("002.JOB6")
def test_of_sixteen_processes_that_claim_two_thousand_jobs_each_has_one_winner(tmp_path: Path) -> None:
    claim_by_many(str(tmp_path / "home"), 16, 2_000)


def test_the_transaction_of_a_claim_that_fails_leaves_the_job_where_it_was(tmp_path: Path) -> None:
    database = SemanticDatabase(str(tmp_path / "home"), "/project")
    with database.writing() as db:
        register(db, [CONTEXT])
        number = ask(db).job

    def stopped() -> None:
        with database.writing() as db:
            claimed(db, number)
            db.execute("INSERT INTO refresh_jobs (id) VALUES (NULL)")

    with pytest.raises(SemanticUnreadable):
        stopped()
    with database.writing() as db:
        assert job(db, number).status is JobStatus.QUEUED
