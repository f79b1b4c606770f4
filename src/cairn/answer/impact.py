"""Build the answer to what a change reaches: the changes, who calls them, what takes their place, and tests to run.

Text of a repository stands in `text` and in signatures, as in every answer about structure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, cut, fit
from cairn.answer.pasted import within
from cairn.answer.search import NAME
from cairn.answer.structure import Timings, definition_row, filled, no_answer, room, shell_of
from cairn.ask.values import Reply
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.graph.impact import Affected, Changed, Impact, InPlace, RankedTest

IMPACT = "cairn.impact/1"
GAVE_UP = "There are so many callers that the search for them was given up; more of them exist."
_MOST_FILES = 100


def impact_answer(
    reply: Reply[Impact],
    *,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
    tokens: int | None = None,
    tests_only: bool = False,
) -> Envelope:
    """Return what a change reaches; `results` are the tests to run, those first for which most speaks.

    With `tokens` no part takes more than its share of so many when it is said as lines. With `tests_only` the other
    parts are empty.
    """
    told = reply.value
    if told is None:
        return no_answer(IMPACT, reply, timings)
    shell = shell_of(
        IMPACT,
        reply,
        timings,
        ("revision", told.revision or None),
        ("files", list(told.files[:_MOST_FILES])),
        ("changed", []),
        ("callers", []),
        ("heirs", []),
        ("importers", []),
        warnings=[GAVE_UP] if told.looked_at else [],
    )
    tests = [_test_row(one) for one in told.tests]
    total = len(told.tests) + told.left.get("tests", 0)
    page = filled(shell, tests, total, budget // 4, tokens if tests_only else tokens and tokens // 4)
    body = dict(page.body)
    parts: dict[str, list[dict[str, Any]]] = (
        {}
        if tests_only
        else {
            "changed": [_changed_row(one) for one in told.changed],
            "callers": [_caller_row(one) for one in told.callers],
            "heirs": [_heir_row(one) for one in told.heirs],
            "importers": [{"path": one} for one in told.importers],
        }
    )
    for number, (name, every) in enumerate(parts.items()):
        rows = every[: within(every, tokens and tokens // len(parts))]
        left = room(replace(page, body=tuple(body.items())), budget)
        body[name] = fit(rows, left // (len(parts) - number))
        hit = cut(name, len(body[name]), len(every) + told.left.get(name, 0))
        body["limitsHit"] = [*body["limitsHit"], *([hit] if hit else [])]
    hit = cut("files", len(body["files"]), len(told.files))
    body["limitsHit"] = [*body["limitsHit"], *([hit] if hit else [])]
    return replace(page, body=tuple(body.items()))


def _changed_row(one: Changed) -> dict[str, Any]:
    row: dict[str, Any] = {"change": one.kind.value} if one.kind is not None else {}
    if one.old_name and NAME.fullmatch(one.old_name):
        row["oldName"] = one.old_name
    return row | definition_row(replace(one.definition, doc=""))


def _caller_row(one: Affected) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "line": one.line, "depth": one.depth, "tier": one.tier.value}
    if one.definition is not None and NAME.fullmatch(one.definition.qualified):
        row["symbol"] = one.definition.qualified
    return row | {"text": one.text}


def _heir_row(one: InPlace) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "line": one.line, "kind": one.kind, "tier": one.tier.value}
    return row | ({"symbol": one.name} if NAME.fullmatch(one.name) else {})


def _test_row(one: RankedTest) -> dict[str, Any]:
    return {"path": one.path, "reason": one.reason.value, "score": one.score}
