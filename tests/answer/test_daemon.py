"""What is said about the daemon, whether it is there or not."""

from __future__ import annotations

import json

from cairn.answer.machine import DaemonReport, KindRow, RootRow, daemon_status
from cairn.core.limits import MAX_ENVELOPE_BYTES
from tests.schemas import check


def report(roots: int = 1) -> DaemonReport:
    return DaemonReport(
        pid=7,
        version="0.1.0",
        started_at="2026-11-16T00:00:00Z",
        uptime_seconds=1.5,
        requests=3,
        kinds=(KindRow("find_symbol", 3, 1, 0.5, 2.25),),
        running=1,
        queued=2,
        refused=4,
        clients=5,
        handles=20,
        memory_bytes=100,
        ceiling_bytes=200,
        sheds=1,
        log_lines_lost=0,
        roots=tuple(RootRow(f"/r/{number:06}" + "x" * 200, {"mode": "watching"}, None) for number in range(roots)),
    )


def test_one_that_runs_is_told_with_all_it_does_and_holds() -> None:
    told = json.loads(daemon_status(report()).to_json())
    check(told, "cairn.daemon/1")
    assert told["running"] is True
    assert told["kinds"] == [{"kind": "find_symbol", "count": 3, "failed": 1, "p50Ms": 0.5, "p95Ms": 2.25}]
    assert told["daemon"]["memory"] == {"rssAnonBytes": 100, "ceilingBytes": 200, "sheds": 1}
    assert (told["daemon"]["runningRequests"], told["daemon"]["queuedRequests"]) == (1, 2)
    assert told["hints"] == {}


def test_that_there_is_none_is_an_answer_which_says_how_to_start_it() -> None:
    told = json.loads(daemon_status(None).to_json())
    check(told, "cairn.daemon/1")
    assert (told["running"], told["daemon"], told["kinds"], told["roots"]) == (False, None, [], [])
    assert "cairn daemon start" in told["hints"]["next"]


def test_any_number_of_codebases_fits() -> None:
    text = daemon_status(report(roots=20_000)).to_json()
    told = json.loads(text)
    check(told, "cairn.daemon/1")
    assert len(text.encode()) <= MAX_ENVELOPE_BYTES
    [hit] = told["limitsHit"]
    assert (hit["field"], hit["shown"] + hit["left"]) == ("roots", 20_000)
