"""What is said about the machine: what Cairn needs, what it can use, and how to get what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, plain, tail
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.store.standing import Check, Severity

SCHEMA = "cairn.doctor/1"


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
    """Every check in the order in which it was made; healthy is what has no error."""
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
    return ok(SCHEMA, path=path, root=None, body=body)


def is_healthy(checks: Sequence[Check]) -> bool:
    """Whether Cairn can be used here at all; what is only missing makes it less than it could be."""
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
