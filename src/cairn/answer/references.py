"""The answer to who uses a definition: all that is written of it, who imports it, who uses it, and how sure each is.

It keeps the rules of every answer about structure. What is less sure than was asked for is counted and never listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, cut, fit
from cairn.answer.search import NAME
from cairn.answer.structure import Reply, Timings, definition_row, filled, no_answer, shell_of
from cairn.graph.modules import FAMILY
from cairn.graph.scopes import SYNTACTIC
from cairn.graph.uses import Use, Uses
from cairn.limits import DEFAULT_ENVELOPE_BYTES
from cairn.search.continuation import Continuation
from cairn.search.continuation import encode as token_of

REFS = "cairn.refs/1"
_MOST_DEFINITIONS = 20
_ROOM_FOR_DEFINITIONS = 8_192
_VALUES = frozenset({"constant", "variable", "field", "property", "enum_member"})
READS = "Calls, types, bases and annotations are known as uses; where a value is only read is not."
READS_WHERE_INDEXED = "Where a value is only read is known in files that an indexer has read as they are."
TOO_MANY = "{count:,} uses of a name were too many to look at: they are only counted, as name_only."
UNFOLLOWED = "Imports of {language} are not followed, so most uses in other files are name_only."


def references_answer(reply: Reply[Uses], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """The imports of a definition, then its uses, in order of path and place."""
    told = reply.value
    if told is None:
        return no_answer(REFS, reply, timings)
    written = fit([definition_row(one) for one in told.definitions[:_MOST_DEFINITIONS]], _ROOM_FOR_DEFINITIONS)
    counts = {
        "imports": told.imports,
        "proven": told.proven,
        "likely": told.likely,
        "nameOnly": told.name_only,
        "elsewhere": told.elsewhere,
    }
    fields = [("definitions", written), ("counts", counts)]
    shell = shell_of(REFS, reply, timings, *fields, warnings=cautions(told))
    page = filled(shell, [_row(use) for use in told.uses], told.total - told.offset, budget)
    body = dict(page.body)
    hit = cut("definitions", len(written), len(told.definitions))
    body["limitsHit"] = [*([hit] if hit else []), *body["limitsHit"]]
    after = told.offset + len(body["results"])
    if body["results"] and after < told.total and reply.source is not None:
        body["continuation"] = token_of(Continuation(reply.source.snapshot.id, told.question, after))
    return replace(page, body=tuple(body.items()))


def cautions(told: Uses) -> list[str]:
    """What is not known of the uses of such a definition."""
    one = told.definitions[0]
    reads = READS if one.layer == SYNTACTIC else READS_WHERE_INDEXED
    found = [reads] if one.kind in _VALUES else []
    if told.not_looked_at:
        found.append(TOO_MANY.format(count=told.not_looked_at))
    return found if one.language in FAMILY else [*found, UNFOLLOWED.format(language=one.language)]


def _row(use: Use) -> dict[str, Any]:
    row: dict[str, Any] = {"path": use.path, "line": use.line, "column": use.column, "startByte": use.start_byte}
    row |= {"kind": use.kind, "tier": use.tier}
    if NAME.fullmatch(use.inside):
        row["inside"] = use.inside
    return row | {"text": use.text, "layer": use.layer}
