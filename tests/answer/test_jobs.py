"""What is said about refreshes, against the shipped schemas and their bounds."""

from __future__ import annotations

from cairn.answer.semantic import ContextRefresh, JobRow, ScopeRow, job_list, refresh_report
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from tests.answer.test_envelope import valid

JOB = JobRow(
    *(7, "python:src/häuser", "failed", ScopeRow(False, ("a.py", "b.py"), ("pkg",), 0.0), "asked", 10, "abc", 5.0, 6.0),
    *(7.5, "it failed\x1b\u202e", None, 4_711),
)


def test_a_job_says_what_it_covers_and_why_it_failed() -> None:
    value = valid(job_list([JOB], path=".", root="/r", database="/home/me/.cairn/semantic/x.db"))
    [job] = value["jobs"]
    assert job["scope"] == {
        "full": False,
        "files": ["a.py", "b.py"],
        "fileCount": 2,
        "folders": ["pkg"],
        "since": "1970-01-01T00:00:00Z",
    }
    assert (job["error"], job["finishedAt"]) == ("it failed\\x1b\\u202e", "1970-01-01T00:00:07Z")


def test_a_job_that_waits_has_not_begun_and_one_without_a_commit_has_none() -> None:
    waiting = JOB._replace(status="queued", started_at=None, finished_at=None, error=None, head="", pid=None)
    [job] = valid(job_list([waiting], path=".", root="/r", database="/x"))["jobs"]
    assert [job[name] for name in ("startedAt", "finishedAt", "error", "head", "pid")] == [None] * 5


def test_many_jobs_and_long_scopes_are_cut_and_say_so() -> None:
    wide = JOB._replace(scope=ScopeRow(False, tuple(f"{number:0200}.py" for number in range(500))))
    envelope = job_list([wide] * 500, path=".", root="/r", database="/x")
    value = valid(envelope)
    assert value["jobs"][0]["scope"]["fileCount"] == 500
    assert len(value["jobs"][0]["scope"]["files"]) == 20
    assert value["limitsHit"][0]["field"] == "jobs"
    assert len(envelope.to_json()) <= DEFAULT_ENVELOPE_BYTES


def test_a_time_that_no_clock_shows_is_none() -> None:
    for odd in (-1.0, 1e300, float("nan")):
        [job] = valid(job_list([JOB._replace(created_at=odd)], path=".", root="/r", database="/x"))["jobs"]
        assert job["createdAt"] is None


def test_a_refresh_says_what_became_of_each_context() -> None:
    rows = [
        ContextRefresh("python:.", "python", "completed", JOB, 3, 1, 99),
        ContextRefresh("go:.", "go", "failed", None, code="indexer_missing"),
    ]
    value = valid(refresh_report(rows, path=".", root="/r", warnings=["Something."]))
    assert [row["outcome"] for row in value["contexts"]] == ["completed", "failed"]
    assert (value["contexts"][0]["changedMeanwhile"], value["contexts"][1]["job"]) == (1, None)
    assert value["warnings"] == ["Something."]
