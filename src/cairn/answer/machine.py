"""Build reports about the machine: the daemon, the checks of `cairn doctor`, and the settings of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, tail
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.sync.report import Check, Severity

DAEMON = "cairn.daemon/1"


class KindRow(NamedTuple):
    """The requests of one kind. The times are in milliseconds, of the last hundreds; None while there are too few."""

    kind: str
    requests: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


class RootRow(NamedTuple):
    """A codebase that the daemon knows: where it stands, the state of its watch, and the run that is at work on it.

    `state` is None where that cannot be told, because the folder is gone or its settings cannot be read.
    """

    root: str
    watch: Mapping[str, Any] | None
    run: str | None
    state: str | None = None
    failed: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """The figures of a running daemon."""

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
    """Return the state of the daemon; without a report, that no daemon answers."""
    kinds = [] if report is None else [_kind(one) for one in report.kinds]
    roots = [] if report is None else [_root(row) for row in report.roots]
    shown = fit(roots, MAX_ENVELOPE_BYTES // 2)
    body = [
        ("running", report is not None),
        ("daemon", None if report is None else _facts(report)),
        ("kinds", kinds),
        ("roots", shown),
        *tail(warnings, cut("roots", len(shown), len(roots))),
        ("hints", {} if report is not None or warnings else {"next": "`cairn daemon start` starts it."}),
    ]
    return ok(DAEMON, path=None, root=None, body=body)


def _root(row: RootRow) -> dict[str, Any]:
    return {"root": row.root, "state": row.state, "watch": row.watch, "run": row.run, "lastRun": row.failed}


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


# --- `cairn doctor`: what Cairn needs, what it can use, and how to get what is missing.


DOCTOR = "cairn.doctor/1"


class IndexerRow(NamedTuple):
    """A program that reads what a compiler knows of a language. `tested`: our own tests have run it."""

    name: str
    family: str
    program: str | None
    version: str | None
    trouble: str
    install: str
    tested: bool


def doctor_report(checks: Sequence[Check], indexers: Sequence[IndexerRow], *, path: str) -> Envelope:
    """Return every check in the order in which it was made; without an error, `healthy` is true."""
    rows = fit([_check(one) for one in checks], MAX_ENVELOPE_BYTES // 2)
    tools = fit([_indexer(one) for one in indexers], MAX_ENVELOPE_BYTES // 4)
    cuts = cut("results", len(rows), len(checks)), cut("indexers", len(tools), len(indexers))
    body = [
        ("healthy", is_healthy(checks)),
        ("results", rows),
        ("indexers", tools),
        *tail((), *cuts),
        ("hints", {}),
    ]
    return ok(DOCTOR, path=path, root=None, body=body)


def is_healthy(checks: Sequence[Check]) -> bool:
    """Whether Cairn can be used here; warnings and notes only say what would make it better."""
    return not any(one.severity is Severity.ERROR for one in checks)


def _check(one: Check) -> dict[str, Any]:
    return {
        "name": one.name,
        "severity": one.severity.value if one.severity else "ok",
        "message": plain(one.message),
        "advice": plain(one.advice),
    }


def _indexer(one: IndexerRow) -> dict[str, Any]:
    return {
        "name": one.name,
        "family": one.family,
        "program": asked(one.program),
        "version": plain(one.version) if one.version else None,
        "trouble": plain(one.trouble),
        "install": plain(one.install),
        "tested": one.tested,
    }


# --- The settings of agents that were changed, or would be.


_SCHEMA = "cairn.install/1"


class FileChange(NamedTuple):
    """What happened to one file. `why`: the reason for a refusal, or who needs what was kept."""

    file: str
    agents: tuple[str, ...]
    what: str
    scope: str
    outcome: str
    why: str = ""
    diff: Sequence[str] = ()


def install_report(
    *,
    path: str,
    root: str | None,
    action: str,
    changes: Sequence[FileChange],
    dry_run: bool,
    snippet: str | None = None,
    hints: dict[str, str] | None = None,
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return every file with its outcome and its difference."""
    rows = [
        {
            "file": asked(change.file),
            "agents": list(change.agents),
            "what": change.what,
            "scope": change.scope,
            "outcome": change.outcome,
            "message": plain(change.why) if change.why else None,
            "diff": list(change.diff),
        }
        for change in changes
    ]
    shown = fit(rows, budget)
    body = [
        ("action", action),
        ("dryRun", dry_run),
        ("results", shown),
        ("snippet", snippet),
        *tail((), cut("results", len(shown), len(rows))),
        ("hints", {name: plain(text) for name, text in (hints or {}).items()}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)
