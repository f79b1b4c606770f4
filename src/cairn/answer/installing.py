"""What is said about the settings of agents that were changed, or would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, plain, tail
from cairn.limits import DEFAULT_ENVELOPE_BYTES

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
    """Every file with its outcome and its difference."""
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
