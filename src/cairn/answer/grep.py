"""Build the answer to `cairn grep`: the lines in the order of their files, whether all files were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope
from cairn.answer.search import marked
from cairn.answer.structure import Timings, filled, no_answer, shell_of
from cairn.ask.grepping import Grepped, Totals
from cairn.ask.values import Reply
from cairn.core.limits import MAX_ENVELOPE_BYTES
from cairn.search.grep import GrepLine

GREP = "cairn.grep/1"


def grep_row(path: str, line: GrepLine) -> dict[str, Any]:
    """Return a line as a program reads it; `matches` are spans of its characters, and a line near one has none."""
    text = line.text.decode("utf-8", "replace")
    spans = [[len(line.text[:place].decode("utf-8", "replace")) for place in span] for span in line.spans]
    row: dict[str, Any] = {"path": path, "line": line.number, "text": text}
    return row | ({"matches": spans} if line.is_asked else {"near": True})


def grep_answer(
    reply: Reply[Grepped],
    rows: Sequence[dict[str, Any]],
    totals: Totals,
    *,
    whole: bool = True,
    timings: Timings = (),
    budget: int = MAX_ENVELOPE_BYTES,
) -> Envelope:
    """Return the lines that fit; `totals` counts all of them, and `whole` says that every named path was looked at."""
    if reply.value is None or reply.source is None:
        return no_answer(GREP, reply, timings)
    shell = shell_of(GREP, reply, timings, ("totals", totals._asdict()), exhaustive=whole)
    return filled(shell, marked(rows, reply.source.working), totals.lines, budget)


def grep_end(reply: Reply[Grepped], totals: Totals, *, whole: bool = True, timings: Timings = ()) -> Envelope:
    """Return the last line of an answer in lines of JSON: the envelope without its results, and `end`."""
    answer = grep_answer(reply, (), totals, whole=whole, timings=timings).ended()
    # Every result was a line of its own, and nothing was left out.
    return replace(answer, body=tuple((dict(answer.body) | {"limitsHit": []}).items()))
