"""Build the answer to a search: the results with their places, the snapshot they are from, and what was not searched.

Text of a repository stands in `text` and nowhere else; names of files and definitions are names. What a person reads
(`message`, `warnings`, `hints`) is fixed here. An envelope is bounded: whole results are left out, `limitsHit` says so,
and `continuation` is the token of the next page, on the same snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import floor
from typing import Any

from cairn.answer.envelope import Envelope, asked, cut, encode, error, fit
from cairn.answer.gate import PROBE_FAILED, closed, gate_fields, indexing_fields, proposal_hint
from cairn.ask.gate import Status, first_told
from cairn.ask.values import Answer, Page, Source
from cairn.core.limits import (
    DEFAULT_ENVELOPE_BYTES,
    MAX_ENVELOPE_BYTES,
)
from cairn.core.text import plain
from cairn.errors import CairnError
from cairn.search.continuation import Continuation
from cairn.search.continuation import encode as token_of
from cairn.search.snippets import shortened_to
from cairn.search.types import Extract, Hit
from cairn.sync.proof import ProofReason
from cairn.sync.report import Freshness

SCHEMA = "cairn.search/1"

_SCORE_DIGITS = 6
# Room for the continuation, `limitsHit` and the brackets.
_RESERVE = 1_024
_LEAST_RESULT = 4_096
# A name is one word. A heading of a document is a sentence that anybody may have written: it appears in `text` only.
NAME = re.compile(r"[^\s\x00-\x1f]{1,200}")

TROUBLE = "The index could not catch up with the files ({code}); the answer is from its last snapshot."
# What an answer does not know of the files, by the mode of its freshness.
_NOT_CURRENT = {
    "unfinished": "The files could not all be compared with the index in time, so recent changes may be missing.",
    "skipped_indexing": "A run is bringing the index up to date; the answer is from the last snapshot.",
    "skipped_busy": "Another run is writing the index; the answer is from the last snapshot.",
    "stale_ok": "The index is being built anew; the answer is from the old one.",
}
_PARTIAL = "The index is still being made: {done:,} of {files:,} files ({share}%) answer, and no others were looked at."
# Of these the reason passes by itself, and the same question soon has a better answer.
_PASSING = frozenset({"unfinished", "skipped_indexing", "skipped_busy", "partial"})
_RETRY_MS = 1_000


def search_answer(
    answers: Sequence[Answer],
    page: Page,
    *,
    timings: Sequence[tuple[str, float]] = (),
    ask_id: str | int | None = None,
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the envelope of a search over one codebase that answers, or over several of which at least one does."""
    budget = min(budget, MAX_ENVELOPE_BYTES)
    several = len(answers) > 1
    head = [("id", ask_id)] if ask_id is not None else []
    if several:
        facts = [("codebases", [_codebase(answer) for answer in answers]), ("coverage", _summed(answers))]
    else:
        [only] = answers
        assert only.source is not None
        assert only.found is not None
        facts = [
            *source_fields(only.source),
            ("coverage", coverage_fields(only.source, exhaustive=only.found.exhaustive)),
        ]
    tail: list[tuple[str, Any]] = [
        ("warnings", _warnings(answers)),
        ("hints", source_hints(answer.source for answer in answers)),
        ("timingsMs", {name: round(1_000 * seconds, 3) for name, seconds in timings}),
    ]
    shell = Envelope(
        SCHEMA,
        Status.OK,
        None if several else asked(answers[0].path),
        None if several else asked(answers[0].root),
        (*head, *facts, ("results", []), ("limitsHit", []), *tail),
    )
    room = budget - len(shell.to_json().encode()) - _RESERVE
    roots = [answer.root for answer in answers] if several else None
    working = [answer.source.working if answer.source else {} for answer in answers]
    results, shortened = _fitting(page.hits, roots, working, max(room, _LEAST_RESULT))
    body = dict(shell.body) | {"results": results, "limitsHit": _limits(page, len(results), shortened)}
    after = page.offset + len(results)
    names = [answer.source.pages_on for answer in answers if answer.source]
    if results and all(names) and after < page.total and (page.last is None or after < page.last):
        ids = "+".join(names)
        body["continuation"] = token_of(Continuation(ids, page.question, after))
    return replace(shell, body=tuple(body.items()))


def source_hints(sources: Iterable[Source | None]) -> dict[str, Any]:
    """Return hints on the snapshots that answer: when to ask again, and whether a proof could not be read or fails."""
    known = [source for source in sources if source is not None]
    hints: dict[str, Any] = {"debugProofCheck": PROBE_FAILED} if any(one.probe_failed for one in known) else {}
    if any(one.freshness.mode in _PASSING and not one.freshness.is_current for one in known):
        hints["retryAfterMs"] = _RETRY_MS
    if why := next((one.engine_proof for one in known if one.engine_proof is not None), None):
        # A server that did not answer may hold the copy: look before sending it again.
        action = "cairn engine status" if why is ProofReason.PROBE_FAILED else "cairn engine push"
        hints["engine"] = {"completionProof": why.value, "recommendedAction": action}
    if proposed := next((one.proposed for one in known if one.proposed is not None), None):
        hints["requiresReindex"] = proposal_hint(proposed)
    return hints


def gravest(answers: Sequence[Answer]) -> Answer:
    """Return the answer that stands for several codebases that do not answer."""
    told = first_told(answer.status for answer in answers)
    return next(answer for answer in answers if told is None or answer.status is told)


def nobody_answers(answers: Sequence[Answer], *, ask_id: str | int | None = None) -> Envelope:
    """Return the envelope when none of several codebases can answer: each says why, and the gravest is the status."""
    grave = gravest(answers)
    why = gate_fields(grave.gate) if grave.gate is not None else [("error", _error(grave.error))]
    head = [("id", ask_id)] if ask_id is not None else []
    listed = [("codebases", [_codebase(answer) for answer in answers])]
    tail: list[tuple[str, Any]] = [("limitsHit", []), ("warnings", []), ("hints", {})]
    return Envelope(SCHEMA, grave.status, None, None, (*head, *why, *listed, *tail))


# --- results ----------------------------------------------------------------------------------------------------------


def _fitting(
    hits: Sequence[tuple[int, Hit]],
    roots: Sequence[str] | None,
    working: Sequence[Mapping[str, str]],
    room: int,
) -> tuple[list[dict[str, Any]], bool]:
    """Return as many whole results as there is room for; of a first result that is too long, as many lines as fit."""

    def row(number: int, hit: Hit) -> dict[str, Any]:
        return _marked(_result(hit, roots[number] if roots else None), working[number])

    results = fit([row(number, hit) for number, hit in hits], room)
    if not results or len(encode(results[0]).encode()) < room:
        return results, False
    number, first = hits[0]
    return [row(number, shortened_to(first, lambda hit: len(encode(row(number, hit)).encode()) < room))], True


def result_rows(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return results of one codebase as every answer shows them."""
    return [_result(hit, None) for hit in hits]


def _result(hit: Hit, codebase: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {} if codebase is None else {"codebase": codebase}
    row |= {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "language": hit.language,
        "kind": hit.kind,
    }
    if NAME.fullmatch(hit.symbol):
        row["symbol"] = hit.symbol
    row |= {"score": round(hit.score, _SCORE_DIGITS), "text": hit.text}
    if hit.match_lines:
        row["matchLines"] = list(hit.match_lines)
    if hit.lines_left:
        row["matchLinesLeft"] = hit.lines_left
    if hit.definition is not None:
        first, last, signature = hit.definition
        row["definition"] = {"startLine": first, "endLine": last, "text": signature}
    if hit.extracts:
        row["extracts"] = [_extract(one) for one in hit.extracts]
    row |= {"fileHash": hit.file_hash, "layer": hit.layer}
    if hit.reasons:
        row["reasons"] = {name: round(part, _SCORE_DIGITS) for name, part in hit.reasons}
    return row


def _extract(one: Extract) -> dict[str, Any]:
    return {"startLine": one.start_line, "endLine": one.start_line + one.text.count("\n"), "text": one.text}


def _limits(page: Page, shown: int, shortened: bool) -> list[dict[str, Any]]:
    left = cut("results", shown, max(page.total - page.offset, shown))
    hits = [left] if left else []
    named = [(len(hit.match_lines), hit.lines_left) for _, hit in page.hits[:shown] if hit.lines_left]
    if named:
        some, more = map(sum, zip(*named, strict=True))
        hits.append({"field": "matchLines", "shown": some, "left": more})
    if page.shortened or shortened:
        hits.append({"field": "text", "shown": 1, "left": 1})
    return hits


# --- where they are from ----------------------------------------------------------------------------------------------


def source_fields(source: Source) -> list[tuple[str, Any]]:
    """Return the snapshot, its fingerprints, and how fresh it is."""
    snapshot, fresh = source.snapshot, source.freshness
    # Where nobody has compared the files, nobody knows how many have changed.
    changed = None if fresh.checked_at is None else fresh.changed
    fields: list[tuple[str, Any]] = [
        (
            "snapshot",
            {
                "id": snapshot.id,
                "publishedAt": snapshot.created_at,
                "head": snapshot.head,
                "dirty": snapshot.dirty,
                "degraded": snapshot.degraded,
            },
        ),
        (
            "fingerprints",
            {
                "index": source.index_fingerprint,
                "ignore": source.ignore_fingerprint,
                "query": source.query_fingerprint,
            },
        ),
        ("freshness", {"mode": fresh.mode, "changedFiles": changed, "checkedAt": fresh.checked_at}),
    ]
    if source.writer is not None:
        fields.append(("indexing", indexing_fields(source.writer)))
    return fields


def coverage_fields(source: Source, *, exhaustive: bool) -> dict[str, Any]:
    """Return what the snapshot holds, and whether all of it was searched."""
    snapshot, fresh = source.snapshot, source.freshness
    # Rounded down, so that what is left is never nothing.
    part = {"partial": True, "share": floor(1_000 * fresh.done / fresh.files) / 1_000} if fresh.files else {}
    return {
        "eligible": fresh.files or snapshot.files + snapshot.errors,
        "indexed": snapshot.files,
        "skipped": {reason: count for reason, count in sorted(source.skipped) if count},
        "exhaustive": exhaustive and source.is_whole,
        **part,
    }


def _codebase(answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"path": asked(answer.path), "root": asked(answer.root), "status": answer.status.value}
    if answer.source is not None and answer.found is not None:
        return (
            row
            | dict(source_fields(answer.source))
            | {"coverage": coverage_fields(answer.source, exhaustive=answer.found.exhaustive)}
        )
    if answer.gate is not None:
        return row | dict(gate_fields(answer.gate))
    return row | {"error": _error(answer.error)}


def _error(problem: CairnError | None) -> dict[str, Any]:
    assert problem is not None, "a codebase that does not answer says why"
    # The error's fields may hold names from the repository, so they are left out here.
    return {"code": problem.code, "message": plain(problem.sentence), "retryable": problem.retryable, "details": {}}


def _summed(answers: Sequence[Answer]) -> dict[str, Any]:
    each = [
        coverage_fields(answer.source, exhaustive=answer.found.exhaustive)
        for answer in answers
        if answer.source and answer.found
    ]
    partial = len(each) < len(answers) or any(one.get("partial") for one in each)
    skipped: dict[str, int] = {}
    for one in each:
        for reason, count in one["skipped"].items():
            skipped[reason] = skipped.get(reason, 0) + count
    return {
        "eligible": sum(one["eligible"] for one in each),
        "indexed": sum(one["indexed"] for one in each),
        "skipped": dict(sorted(skipped.items())),
        "exhaustive": not partial and all(one["exhaustive"] for one in each),
        "partial": partial,
    }


def _warnings(answers: Sequence[Answer]) -> list[str]:
    found = []
    if any(answer.found is not None and answer.found.by_words_alone for answer in answers):
        found.append("The model of vectors did not answer, so the results are ranked by words alone.")
    for source in (answer.source for answer in answers if answer.source is not None):
        found += source_warnings(source)
    return list(dict.fromkeys(found))


def source_warnings(source: Source) -> list[str]:
    """Return what a reader should know about a snapshot before believing it."""
    found = [said] if (said := freshness_sentence(source.freshness)) else []
    if source.damaged:
        found.append("A newer snapshot is damaged, so an older one answers; `cairn health` says more.")
    if source.snapshot.degraded:
        found.append("Some files could not be indexed and were not searched; `cairn health` names them.")
    return [*found, *source.narrowed, *map(plain, source.later)]


def freshness_sentence(fresh: Freshness) -> str:
    """Return what an answer does not know of the files, or which of them it knows no more; empty when all is known."""
    if fresh.files:
        return _PARTIAL.format(done=fresh.done, files=fresh.files, share=100 * fresh.done // fresh.files)
    if fresh.missed:
        many = "1 changed file was" if fresh.missed == 1 else f"{fresh.missed:,} changed files were"
        return f"{many} not read for this answer, which shows what was indexed before."
    if fresh.trouble is not None:
        return TROUBLE.format(code=fresh.trouble)
    return fresh.left_out if fresh.is_current else _NOT_CURRENT.get(fresh.mode, "")


def marked(rows: Iterable[dict[str, Any]], working: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows, with those of files that were read from the working tree marked and their hashes given."""
    if not working:
        return list(rows)
    return [_marked(row, working) for row in rows]


def _marked(row: dict[str, Any], working: Mapping[str, str]) -> dict[str, Any]:
    read = working.get(row.get("path", ""))
    return row if read is None else row | {"source": "working_tree", "sha256": read}


def search_envelope(
    answers: Sequence[Answer], page: Page, timings: Sequence[tuple[str, float]], *, ask_id: str | int | None = None
) -> Envelope:
    """Return the envelope of a search, whatever came of it: results, closed gates, or errors."""
    if any(answer.found is not None for answer in answers):
        return search_answer(answers, page, timings=timings, ask_id=ask_id)
    if len(answers) > 1:
        return nobody_answers(answers, ask_id=ask_id)
    [only] = answers
    if only.gate is not None:
        return closed(SCHEMA, only.gate, path=only.path, ask_id=ask_id)
    assert only.error is not None
    return error(only.error, path=only.path, root=only.root, ask_id=ask_id)
