"""The answer to `cairn map`: the map as text, and which files and entry points stand in it."""

from __future__ import annotations

from typing import Any

from cairn.answer.envelope import Envelope, cut, fit
from cairn.answer.structure import Reply, Timings, filled, no_answer, shell_of
from cairn.graph.entry_points import EntryPoint
from cairn.graph.repo_map import MapFile, RepoMap
from cairn.limits import DEFAULT_ENVELOPE_BYTES
from cairn.search.budget import ESTIMATOR

MAP = "cairn.map/1"
_ENTRY_POINTS_BYTES = 4_096


def map_answer(reply: Reply[RepoMap], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """The map in `text`, which is what the number of tokens is about; `results` are the files in it, in its order."""
    told = reply.value
    if told is None:
        return no_answer(MAP, reply, timings)
    fields = (
        ("tokens", {"estimated": told.tokens, "most": told.max_tokens, "estimator": ESTIMATOR}),
        ("languages", dict(told.languages)),
        ("entryPoints", fit(map(_entry_row, told.entry_points), _ENTRY_POINTS_BYTES)),
        ("text", told.text),
    )
    page = filled(shell_of(MAP, reply, timings, *fields), list(map(_row, told.files)), told.total_files, budget)
    body = dict(page.body)
    cuts = (
        cut("folders", len(told.folders), len(told.folders) + told.folders_left),
        cut("entryPoints", len(body["entryPoints"]), len(told.entry_points) + told.entry_points_left),
        cut("definitions", told.definitions_shown, told.definitions_shown + told.definitions_left),
    )
    body["limitsHit"] += [hit for hit in cuts if hit]
    return Envelope(page.schema, page.status, page.path, page.root, tuple(body.items()))


def _row(one: MapFile) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "language": one.language, "worth": round(one.worth, 6)}
    return row | {"importedBy": one.importers, "definitions": len(one.definitions)}


def _entry_row(one: EntryPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "way": one.way.value}
    row |= {"startLine": one.line} if one.line else {}
    return row | ({"text": one.name} if one.name else {})
