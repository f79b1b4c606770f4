"""The answers to questions about structure: outlines, lines of a file, definitions by name, similar code.

All keep the rules of a search: one snapshot, text of the repository in `text` only (a string, or an object of them),
whole items left out where they do not fit. What was not found, is not the only one or cannot be known has the status
that says so, a `message`, and in `candidates` what was perhaps meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from cairn.answer.envelope import Envelope, Status, asked, cut, encode, fit, plain
from cairn.answer.gate import Gate, closed
from cairn.answer.search import (
    NAME,
    Source,
    coverage_fields,
    proof_hints,
    result_rows,
    source_fields,
    source_warnings,
)
from cairn.errors import Ambiguous, NotFound, Unsupported
from cairn.graph.outline import Definition, FileOutline
from cairn.graph.passage import FileText
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.search.continuation import Continuation
from cairn.search.continuation import encode as token_of
from cairn.search.types import ChunkSpan, Found

OUTLINE, READ, SYMBOL, SIMILAR = "cairn.outline/1", "cairn.read/1", "cairn.symbol/1", "cairn.similar/1"

_LEAST_ROOM = 4_096
# Room for `limitsHit` and a hint.
_RESERVE = 1_024
_MOST_CANDIDATES = 20
_PARTIAL = "Some lines of the file could not be parsed, so definitions may be missing."
MOVED = {
    "changed": "The file on disk has changed since it was indexed; this is what was indexed.",
    "missing": "The file on disk is gone; this is what was indexed.",
    "unknown": "The file on disk cannot be compared with what was indexed.",
}


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a question has no answer, and what was perhaps meant; `total` counts all that was."""

    error: NotFound | Ambiguous | Unsupported
    candidates: tuple[Definition, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Symbols:
    """The best of all definitions whose name fits, how many there are, and in how many files was looked.

    `offset` of them stood on the pages before; `question` names the question in the token of the next page.
    """

    definitions: tuple[Definition, ...]
    total: int
    files: int
    offset: int = 0
    question: str = ""


@dataclass(frozen=True, slots=True)
class Similar:
    """The chunk that was pointed at, and the chunks that are like it."""

    chunk: ChunkSpan
    found: Found


Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Reply(Generic[Told]):
    """What a codebase says to a question: a value, a miss, or (with neither) a closed gate."""

    path: str
    root: str
    gate: Gate
    source: Source | None = None
    value: Told | None = None
    miss: Miss | None = None


Timings = Sequence[tuple[str, float]]


def outline_answer(
    reply: Reply[FileOutline], *, limit: int | None = None, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """The definitions of a file, in order; `depth` says how deep each one is inside of those before it."""
    told = reply.value
    if told is None:
        return no_answer(OUTLINE, reply, timings)
    file = {"path": told.path, "language": told.language, "fileHash": told.file_hash, "partial": told.partial}
    shell = shell_of(OUTLINE, reply, timings, ("file", file), warnings=[_PARTIAL] if told.partial else [])
    rows = [definition_row(one, with_file=False) for one in told.definitions[:limit]]
    page = filled(shell, rows, len(told.definitions), budget)
    body = dict(page.body)
    if left := told.definitions[len(body["results"]) :]:
        body["hints"] |= {"next": f"The next definition begins on line {left[0].start_line}."}
    return replace(page, body=tuple(body.items()))


def symbols_answer(reply: Reply[Symbols], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """The definitions whose name fits, best first. All of the snapshot was looked at."""
    told = reply.value
    if told is None:
        return no_answer(SYMBOL, reply, timings)
    shell = shell_of(SYMBOL, reply, timings, exhaustive=True)
    page = filled(shell, [definition_row(one) for one in told.definitions], told.total - told.offset, budget)
    body = dict(page.body)
    after = told.offset + len(body["results"])
    if body["results"] and after < told.total and reply.source is not None:
        body["continuation"] = token_of(Continuation(reply.source.snapshot.id, told.question, after))
    return replace(page, body=tuple(body.items()))


def similar_answer(reply: Reply[Similar], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """The chunks that are like one, the most similar first."""
    told = reply.value
    if told is None:
        return no_answer(SIMILAR, reply, timings)
    chunk = {"path": told.chunk.path, "startLine": told.chunk.start_line, "endLine": told.chunk.end_line}
    shell = shell_of(SIMILAR, reply, timings, ("chunk", chunk))
    return filled(shell, result_rows(told.found.hits), max(told.found.total, len(told.found.hits)), budget)


def read_answer(
    reply: Reply[FileText], *, annotate: bool = False, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """Lines of a file, as many whole ones as fit; of a first one that does not, its beginning."""
    told = reply.value
    if told is None:
        return no_answer(READ, reply, timings)
    warnings = [MOVED[told.disk]] if told.disk in MOVED else []
    crossed = [definition_row(one, with_file=False) for one in told.definitions] if annotate else []
    rows = fit(crossed, _LEAST_ROOM)
    fields = [*_file_fields(told), *([("symbols", rows)] if annotate else [])]
    shell = shell_of(READ, reply, timings, *fields, warnings=warnings)
    lines = told.text.split("\n") if told.end_line >= told.start_line else []
    kept, whole = _lines_that_fit(lines, room(shell, budget))
    body = dict(shell.body)
    body["text"] = "\n".join(kept)
    body["endLine"] = told.start_line + len(kept) - 1 if lines else told.end_line
    hits = [cut("lines", len(kept), len(lines)), cut("symbols", len(rows), len(crossed))]
    if not whole:
        hits.append({"field": "text", "shown": 1, "left": 1})
    body["limitsHit"] = [hit for hit in hits if hit]
    if len(kept) < len(lines):
        body["hints"] |= {"next": f"The next lines begin at {body['endLine'] + 1}."}
    return replace(shell, body=tuple(body.items()))


def _file_fields(told: FileText) -> list[tuple[str, Any]]:
    file = {"path": told.path, "language": told.language, "fileHash": told.file_hash, "lines": told.lines}
    span = [("startLine", told.start_line), ("endLine", told.end_line)]
    return [("file", file), ("disk", told.disk), *span, ("text", "")]


# --- parts ------------------------------------------------------------------------------------------------------------


def definition_row(one: Definition, *, with_file: bool = True) -> dict[str, Any]:
    """A definition as every answer shows it. A name that is no single word stands in the text only."""
    row: dict[str, Any] = {"path": one.path} if with_file else {}
    row |= {"startLine": one.start_line, "endLine": one.end_line}
    row |= {"startByte": one.start_byte, "endByte": one.end_byte}
    if with_file:
        row["language"] = one.language
    row["kind"] = one.kind
    if NAME.fullmatch(one.qualified):
        row["symbol"] = one.qualified
    row |= {"way": one.way} if with_file and one.way else {}
    row |= {} if with_file else {"depth": one.depth}
    return row | {"exported": one.exported, "text": _text(one), "layer": one.layer}


def _text(one: Definition) -> dict[str, str]:
    every = {"name": one.name, "signature": one.signature, "doc": one.doc}
    return {field: text for field, text in every.items() if text}


def shell_of(
    schema: str,
    reply: Reply[Any],
    timings: Timings,
    *fields: tuple[str, Any],
    warnings: Sequence[str] = (),
    exhaustive: bool = False,
) -> Envelope:
    """The answer without its results, which `filled` puts in."""
    assert reply.source is not None, "an answer is from a snapshot"
    body = [
        *source_fields(reply.source),
        ("coverage", coverage_fields(reply.source, exhaustive=exhaustive)),
        *fields,
        *([] if schema == READ else [("results", [])]),
        ("limitsHit", []),
        ("warnings", _warnings(reply, warnings)),
        ("hints", proof_hints([reply.source])),
        ("timingsMs", {name: round(1_000 * seconds, 3) for name, seconds in timings}),
    ]
    return Envelope(schema, Status.OK, asked(reply.path), asked(reply.root), tuple(body))


def _warnings(reply: Reply[Any], own: Sequence[str]) -> list[str]:
    return [*own, *(source_warnings(reply.source) if reply.source else ())]


def room(shell: Envelope, budget: int) -> int:
    """How many bytes more an answer may have."""
    return max(min(budget, MAX_ENVELOPE_BYTES) - len(shell.to_json().encode()) - _RESERVE, _LEAST_ROOM)


def filled(shell: Envelope, rows: Sequence[dict[str, Any]], total: int, budget: int) -> Envelope:
    """The answer with as many whole results as fit; `limitsHit` counts what is left of the total."""
    shown = fit(rows, room(shell, budget))
    hit = cut("results", len(shown), total)
    body = dict(shell.body) | {"results": shown, "limitsHit": [hit] if hit else []}
    return replace(shell, body=tuple(body.items()))


def no_answer(schema: str, reply: Reply[Any], timings: Timings) -> Envelope:
    """The answer to a question that has none: a closed gate, or why nothing was found and what was perhaps meant."""
    miss = reply.miss
    if miss is None:
        return closed(schema, reply.gate, path=reply.path)
    assert reply.source is not None, "what is not there was looked for"
    shown = [definition_row(one) for one in miss.candidates[:_MOST_CANDIDATES]]
    hit = cut("candidates", len(shown), max(miss.total, len(miss.candidates)))
    body: list[tuple[str, Any]] = [
        ("message", plain(miss.error.sentence)),
        *source_fields(reply.source),
        ("candidates", shown),
        ("limitsHit", [hit] if hit else []),
        ("warnings", _warnings(reply, ())),
        ("hints", proof_hints([reply.source]) | {"next": plain(miss.error.advice)}),
        ("timingsMs", {name: round(1_000 * seconds, 3) for name, seconds in timings}),
    ]
    return Envelope(schema, Status(miss.error.code), asked(reply.path), asked(reply.root), tuple(body))


def _lines_that_fit(lines: Sequence[str], room: int) -> tuple[list[str], bool]:
    """As many leading lines as fit into a JSON text of this size; False when even the first was cut."""
    kept: list[str] = []
    left = room
    for line in lines:
        left -= len(encode(line).encode())
        if left < 0:
            break
        kept.append(line)
    if kept or not lines:
        return kept, True
    first = lines[0]
    return [first[: _most(min(len(first), room), lambda count: len(encode(first[:count]).encode()) <= room)]], False


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The highest number up to this one that fits, when all below it do."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
