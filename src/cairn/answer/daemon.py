"""What is said about the daemon: whether it runs, how busy it is, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, cut, fit, ok, tail
from cairn.limits import MAX_ENVELOPE_BYTES

SCHEMA = "cairn.daemon/1"


class KindRow(NamedTuple):
    """The requests of one kind. The times are milliseconds, of the last few hundred."""

    kind: str
    requests: int
    failed: int
    p50_ms: float
    p95_ms: float


class RootRow(NamedTuple):
    """A codebase that the daemon watches, as far as it does, and the run that is at work on it."""

    root: str
    watch: Mapping[str, Any] | None
    run: str | None


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """A daemon that runs."""

    pid: int
    version: str
    started_at: str
    uptime_seconds: float
    requests: int
    kinds: tuple[KindRow, ...]
    running: int
    queued: int
    refused: int
    clients: int
    handles: int
    memory_bytes: int
    ceiling_bytes: int
    sheds: int
    log_lines_lost: int
    roots: tuple[RootRow, ...]


def daemon_status(report: DaemonReport | None, warnings: tuple[str, ...] = ()) -> Envelope:
    """Where the daemon stands; without a report that there is none that answers."""
    kinds = [] if report is None else [_kind(one) for one in report.kinds]
    roots = [] if report is None else [{"root": r.root, "watch": r.watch, "run": r.run} for r in report.roots]
    shown = fit(roots, MAX_ENVELOPE_BYTES // 2)
    body = [
        ("running", report is not None),
        ("daemon", None if report is None else _facts(report)),
        ("kinds", kinds),
        ("roots", shown),
        *tail(warnings, cut("roots", len(shown), len(roots))),
        ("hints", {} if report is not None or warnings else {"next": "`cairn daemon start` starts it."}),
    ]
    return ok(SCHEMA, path=None, root=None, body=body)


def _kind(row: KindRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "count": row.requests,
        "failed": row.failed,
        "p50Ms": row.p50_ms,
        "p95Ms": row.p95_ms,
    }


def _facts(report: DaemonReport) -> dict[str, Any]:
    return {
        "pid": report.pid,
        "version": report.version,
        "startedAt": report.started_at,
        "uptimeSeconds": report.uptime_seconds,
        "requests": report.requests,
        "runningRequests": report.running,
        "queuedRequests": report.queued,
        "refusedRequests": report.refused,
        "clients": report.clients,
        "openHandles": report.handles,
        "memory": {
            "rssAnonBytes": report.memory_bytes,
            "ceilingBytes": report.ceiling_bytes,
            "sheds": report.sheds,
        },
        "logLinesLost": report.log_lines_lost,
    }
