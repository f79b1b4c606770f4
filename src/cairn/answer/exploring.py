"""Build the answer to what there is around a definition: its text, and what leads to it and from it, part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, cut, fit
from cairn.answer.pasted import tokens_of, within
from cairn.answer.search import NAME, result_rows
from cairn.answer.structure import best_of, definition_row, no_answer, room, shell_of
from cairn.ask.exploring import Explored
from cairn.ask.values import Reply
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.graph.calls import Edge, Node
from cairn.graph.uses import Use

EXPLORE = "cairn.explore/1"
# The text of the definition gets at most this part of what there is room for, and each part what those before it leave.
_TEXT = 0.5
_MOST_OTHERS = 8


def explore_answer(reply: Reply[Explored], *, tokens: int, budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """Return a definition with its first lines and what is around it, in about so many tokens as lines."""
    told = reply.value
    if told is None:
        return no_answer(EXPLORE, reply, ())
    one = told.definition
    lines = told.text.text.split("\n")
    kept = lines[: max(1, within(lines, int(_TEXT * tokens)))]
    body = {"path": one.path, "startLine": one.start_line, "endLine": one.start_line + len(kept) - 1}
    shell = shell_of(
        EXPLORE,
        reply,
        (),
        ("definition", definition_row(replace(one, doc=""))),
        ("body", body | {"text": "\n".join(kept)}),
        warnings=best_of(told.others),
    )
    left = tokens - tokens_of(kept)
    parts: dict[str, list[dict[str, Any]]] = {
        "callers": [_caller(edge) for edge in told.callers],
        "heirs": [_heir(use) for use in told.heirs],
        "callees": [_callee(node) for node in told.callees],
        "tests": [_callee(node) for node in told.tests],
        "found": result_rows(told.hits),
        "candidates": [definition_row(replace(other, doc="")) for other in told.others[:_MOST_OTHERS]],
    }
    shown = dict(shell.body)
    del shown["results"]
    last = {name: shown.pop(name) for name in ("limitsHit", "warnings", "hints", "timingsMs")}
    hits = [cut("lines", len(kept), len(lines))]
    for number, (name, rows) in enumerate(parts.items()):
        share = max(left, 0) // (len(parts) - number) * 2 if number < len(parts) - 1 else max(left, 0)
        some = fit(rows[: within(rows, share)] if rows and share else [], room(shell, budget) // len(parts))
        left -= tokens_of(some)
        if rows:
            shown[name] = some
        hits.append(cut(name, len(some), len(rows)))
    last["limitsHit"] = [hit for hit in hits if hit]
    return replace(shell, body=tuple((shown | last).items()))


def _caller(edge: Edge) -> dict[str, Any]:
    row: dict[str, Any] = {"path": edge.site.path, "line": edge.site.line, "tier": edge.tier.value}
    name = edge.src.partition("#")[2]
    if NAME.fullmatch(name):
        row["inside"] = name
    return row | {"text": edge.site.text}


def _heir(use: Use) -> dict[str, Any]:
    row: dict[str, Any] = {"path": use.path, "line": use.line, "tier": use.tier}
    return row | ({"inside": use.inside} if NAME.fullmatch(use.inside) else {}) | {"text": use.text}


def _callee(node: Node) -> dict[str, Any]:
    if node.definition is None:
        return {"path": node.path, "startLine": 1, "endLine": 1, "text": {}}
    return definition_row(replace(node.definition, doc=""))
