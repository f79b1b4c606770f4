"""The answer to which local names a function has: where each is bound, written and read, by its syntax alone."""

from __future__ import annotations

from typing import Any

from cairn.answer.envelope import Envelope
from cairn.answer.search import NAME
from cairn.answer.structure import Reply, Timings, definition_row, filled, no_answer, shell_of
from cairn.graph.local_uses import Locals, LocalVariable
from cairn.limits import DEFAULT_ENVELOPE_BYTES

LOCAL = "cairn.local/1"


def local_answer(reply: Reply[Locals], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """The local names in the order in which they first stand, each whole; all of the function was looked at."""
    told = reply.value
    if told is None:
        return no_answer(LOCAL, reply, timings)
    shell = shell_of(LOCAL, reply, timings, ("definition", definition_row(told.definition)))
    return filled(shell, [_row(one) for one in told.names], len(told.names), budget)


def _row(one: LocalVariable) -> dict[str, Any]:
    row: dict[str, Any] = {"symbol": one.name} if NAME.fullmatch(one.name) else {}
    row["scope"] = one.scope_line
    row["places"] = [
        {"line": each.line, "column": each.column, "startByte": each.start_byte, "role": each.role, "text": each.text}
        for each in one.places[:_MOST_PLACES]
    ]
    return row | {"placeCount": len(one.places)}


_MOST_PLACES = 100
