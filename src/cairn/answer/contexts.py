"""What is said about the parts of a codebase that an indexer understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, cut, fit, ok, plain, tail
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES

CONTEXTS = "cairn.contexts/1"
_MOST_HOLES = 100


class ContextRow(NamedTuple):
    """One context, how many files it holds, and the indexer that reads it: where that is, or why it is not there."""

    id: str
    family: str
    root: str
    name: str
    fence: str
    why: str
    files: int
    config_hash: str
    punched: tuple[str, ...]
    indexer: str
    program: str | None
    trouble: str
    install: str
    tested: bool


class DetachedRow(NamedTuple):
    """A package that belongs to no context, and the file that decides it."""

    family: str
    root: str
    fence: str
    why: str


def context_list(
    contexts: Sequence[ContextRow],
    detached: Sequence[DetachedRow],
    *,
    path: str,
    root: str,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Every context with its reason, and what belongs to none."""
    room = min(budget, MAX_ENVELOPE_BYTES) // 4
    shown = fit([_context(one) for one in contexts], room)
    alone = fit([_detached(one) for one in detached], room)
    body = [
        ("results", shown),
        ("detached", alone),
        *tail(warnings, cut("results", len(shown), len(contexts)), cut("detached", len(alone), len(detached))),
        ("hints", {}),
    ]
    return ok(CONTEXTS, path=path, root=root, body=body)


def _context(row: ContextRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "family": row.family,
        "root": row.root,
        "name": plain(row.name),
        "fence": row.fence or None,
        "why": plain(row.why),
        "files": row.files,
        "configHash": row.config_hash,
        "nested": list(row.punched[:_MOST_HOLES]),
        "nestedCount": len(row.punched),
        "indexer": {
            "name": row.indexer,
            "program": row.program,
            "trouble": plain(row.trouble) or None,
            "install": row.install,
            "tested": row.tested,
        },
    }


def _detached(row: DetachedRow) -> dict[str, Any]:
    return {"family": row.family, "root": row.root, "fence": row.fence, "why": plain(row.why)}
