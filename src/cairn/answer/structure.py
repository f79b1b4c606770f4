"""Build answers about structure: outlines, lines of a file, definitions by name, uses, calls, similar code, maps.

All follow the rules of a search: one snapshot, text of the repository in `text` only (a string, or an object of
strings), whole items left out where they do not fit. What was not found, is ambiguous or cannot be known has the status
that says so, a `message`, and in `candidates` what was perhaps meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, asked, cut, encode, fit
from cairn.answer.gate import closed
from cairn.answer.pasted import within
from cairn.answer.search import (
    NAME,
    coverage_fields,
    marked,
    result_rows,
    source_fields,
    source_hints,
    source_warnings,
)
from cairn.ask.gate import Status
from cairn.ask.values import Reply, Similar, Symbols
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, DEFAULT_GRAPH_NOTES, MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.core.types import Behind
from cairn.graph.calls import CallGraph, Edge, Node
from cairn.graph.callsites import NOTES_TRUNCATED, Note, ShownNotes, relevant
from cairn.graph.cycles import ImportCycle
from cairn.graph.entry_points import EntryPoint
from cairn.graph.modules import are_imports_followed
from cairn.graph.outline import Definition, FileOutline, FileText
from cairn.graph.repo_map import MapFile, RepoMap
from cairn.graph.scopes import Tier
from cairn.graph.uses import Locals, LocalVariable, Use, Uses
from cairn.search.budget import ESTIMATOR
from cairn.search.continuation import Continuation
from cairn.search.continuation import encode as token_of

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


Timings = Sequence[tuple[str, float]]


def outline_answer(
    reply: Reply[FileOutline],
    *,
    limit: int | None = None,
    tokens: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the definitions of a file, in order; `depth` says how deep each one is inside those before it."""
    told = reply.value
    if told is None:
        return no_answer(OUTLINE, reply, timings)
    file = {"path": told.path, "language": told.language, "fileHash": told.file_hash, "partial": told.partial}
    [file] = _rows(reply, [file])
    shell = shell_of(OUTLINE, reply, timings, ("file", file), warnings=[_PARTIAL] if told.partial else [])
    rows = [definition_row(one, with_file=False) for one in told.definitions[:limit]]
    page = filled(shell, rows, len(told.definitions), budget, tokens)
    body = dict(page.body)
    if left := told.definitions[len(body["results"]) :]:
        body["hints"] |= {"next": f"The next definition begins on line {left[0].start_line}."}
    return replace(page, body=tuple(body.items()))


def _next_page(reply: Reply[Symbols] | Reply[Uses], told: Symbols | Uses, shown: int) -> list[tuple[str, str]]:
    """Return the token with which the results after those shown are asked for, if there are any."""
    after = told.offset + shown
    if not shown or after >= told.total or reply.source is None or not reply.source.pages_on:
        return []
    return [("continuation", token_of(Continuation(reply.source.pages_on, told.question, after)))]


def symbols_answer(
    reply: Reply[Symbols],
    *,
    tokens: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the definitions whose name fits, best first; all of the snapshot was searched."""
    told = reply.value
    if told is None:
        return no_answer(SYMBOL, reply, timings)
    shell = shell_of(SYMBOL, reply, timings, exhaustive=True)
    rows = _rows(reply, map(definition_row, told.definitions))
    page = filled(shell, rows, told.total - told.offset, budget, tokens)
    body = dict(page.body)
    return replace(page, body=(*body.items(), *_next_page(reply, told, len(body["results"]))))


def similar_answer(reply: Reply[Similar], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """Return the chunks that are similar to one, the most similar first."""
    told = reply.value
    if told is None:
        return no_answer(SIMILAR, reply, timings)
    chunk = {"path": told.chunk.path, "startLine": told.chunk.start_line, "endLine": told.chunk.end_line}
    shell = shell_of(SIMILAR, reply, timings, ("chunk", chunk))
    rows = _rows(reply, result_rows(told.found.hits))
    return filled(shell, rows, max(told.found.total, len(told.found.hits)), budget)


def read_answer(
    reply: Reply[FileText],
    *,
    annotate: bool = False,
    tokens: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return lines of a file, as many whole ones as fit; of a first line that does not fit, its beginning."""
    told = reply.value
    if told is None:
        return no_answer(READ, reply, timings)
    warnings = [MOVED[told.disk]] if told.disk in MOVED else []
    crossed = [definition_row(one, with_file=False) for one in told.definitions] if annotate else []
    rows = fit(crossed, _LEAST_ROOM)
    fields = [*_file_fields(reply, told), *([("symbols", rows)] if annotate else [])]
    shell = shell_of(READ, reply, timings, *fields, warnings=warnings)
    lines = told.text.split("\n") if told.end_line >= told.start_line else []
    kept, whole = _lines_that_fit(lines, room(shell, budget))
    kept = kept[: within(kept, tokens)]
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


def _file_fields(reply: Reply[FileText], told: FileText) -> list[tuple[str, Any]]:
    file = {"path": told.path, "language": told.language, "fileHash": told.file_hash, "lines": told.lines}
    [file] = _rows(reply, [file])
    span = [("startLine", told.start_line), ("endLine", told.end_line)]
    return [("file", file), ("disk", told.disk), *span, ("text", "")]


# --- parts ------------------------------------------------------------------------------------------------------------


def _rows(reply: Reply[Any], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, those of files of the working tree marked."""
    return marked(rows, reply.source.working if reply.source is not None else {})


def definition_row(one: Definition, *, with_file: bool = True) -> dict[str, Any]:
    """Return a definition as every answer shows it; a name that is no single word appears in `text` only."""
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
    """Return the answer without its results, which `filled` adds."""
    assert reply.source is not None, "an answer is from a snapshot"
    body = [
        *source_fields(reply.source),
        ("coverage", coverage_fields(reply.source, exhaustive=exhaustive)),
        *fields,
        *([] if schema == READ else [("results", [])]),
        ("limitsHit", []),
        ("warnings", _warnings(reply, warnings)),
        ("hints", source_hints([reply.source])),
        ("timingsMs", {name: round(1_000 * seconds, 3) for name, seconds in timings}),
    ]
    return Envelope(schema, Status.OK, asked(reply.path), asked(reply.root), tuple(body))


def _warnings(reply: Reply[Any], own: Sequence[str]) -> list[str]:
    return [*own, *(source_warnings(reply.source) if reply.source else ())]


def room(shell: Envelope, budget: int) -> int:
    """Return how many bytes the answer may still grow."""
    return max(min(budget, MAX_ENVELOPE_BYTES) - len(shell.to_json().encode()) - _RESERVE, _LEAST_ROOM)


def filled(
    shell: Envelope, rows: Sequence[dict[str, Any]], total: int, budget: int, tokens: int | None = None
) -> Envelope:
    """Return the answer with as many whole results as fit; `limitsHit` counts what is left of the total.

    With `tokens` it is no longer than so many when it is said as lines; the first result is always there.
    """
    shown = fit(rows, room(shell, budget))
    shown = shown[: within(shown, tokens)]
    hit = cut("results", len(shown), total)
    body = dict(shell.body) | {"results": shown, "limitsHit": [hit] if hit else []}
    return replace(shell, body=tuple(body.items()))


def no_answer(schema: str, reply: Reply[Any], timings: Timings) -> Envelope:
    """Return the answer to a question without a value: a closed gate, or a miss with what was perhaps meant."""
    miss = reply.miss
    if miss is None:
        return closed(schema, reply.gate, path=reply.path)
    assert reply.source is not None, "what is not there was looked for"
    shown = _rows(reply, map(definition_row, miss.candidates[:_MOST_CANDIDATES]))
    hit = cut("candidates", len(shown), max(miss.total, len(miss.candidates)))
    body: list[tuple[str, Any]] = [
        ("message", plain(miss.error.sentence)),
        *source_fields(reply.source),
        ("candidates", shown),
        ("limitsHit", [hit] if hit else []),
        ("warnings", _warnings(reply, ())),
        ("hints", source_hints([reply.source]) | {"next": plain(miss.error.advice)}),
        ("timingsMs", {name: round(1_000 * seconds, 3) for name, seconds in timings}),
    ]
    return Envelope(schema, Status(miss.error.code), asked(reply.path), asked(reply.root), tuple(body))


def _lines_that_fit(lines: Sequence[str], room: int) -> tuple[list[str], bool]:
    """Return as many leading lines as fit into a JSON text of this size; False when even the first was cut."""
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
    """Return the highest number up to `high` that fits, when all numbers below it do."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# --- `cairn refs`: what is written of a definition, who imports and uses it, and how sure each use is.


REFS = "cairn.refs/1"
_MOST_DEFINITIONS = 20
_ROOM_FOR_DEFINITIONS = 8_192
BEHIND = "Since an indexer read the code {what}; syntax alone answers there. Run: cairn semantic refresh"
_CHANGED, _IN_DOUBT = "{files} changed", "{files} on what has changed"
BEST = "{others} this name; this answer is about the best one."
NO_WAY = "No known call leads from the one to the other, however many steps are gone."
GUESSED = "No surer way is known: calls marked name_only share no more than a name with what they are taken for."
GAVE_UP = "No way was found among the calls of the {count:,} definitions that were looked at."
STOPPED = "There may be more: the calls of {count:,} definitions were looked at."
UTILITY = "1 definition that very many files use, such as an assertion or an allocator, comes last."
UTILITIES = "{count:,} definitions that very many files use, such as assertions or allocators, come last."
FURTHER = "Not looked at for this page: {files} further away, with at least {uses} of the name; the next goes on there."
TOO_FAR = "Not looked at: {uses} of a name in files further away; `cairn refs` lists what they are."
UNFOLLOWED = "Imports of {language} are not followed, so most uses in other files are name_only."


def references_answer(
    reply: Reply[Uses],
    *,
    tokens: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the uses of a definition: sure ones, then its imports, then the places that may mean it."""
    told = reply.value
    if told is None:
        return no_answer(REFS, reply, timings)
    rows = _rows(reply, map(definition_row, told.definitions[:_MOST_DEFINITIONS]))
    written = fit(rows, _ROOM_FOR_DEFINITIONS)
    counts = {
        "imports": told.imports,
        "proven": told.proven,
        "likely": told.likely,
        "nameOnly": told.name_only,
        "elsewhere": told.elsewhere,
        "mentions": told.mentions,
        "roles": dict(told.roles),
    }
    fields = [("definitions", written), ("counts", counts), *_candidates(reply, told.candidates)]
    shell = shell_of(REFS, reply, timings, *fields, warnings=use_cautions(told))
    page = filled(shell, _rows(reply, map(_use_row, told.uses)), told.total - told.offset, budget, tokens)
    body = dict(page.body)
    hit = cut("definitions", len(written), len(told.definitions))
    body["limitsHit"] = [*([hit] if hit else []), *body["limitsHit"]]
    return replace(page, body=(*body.items(), *_next_page(reply, told, len(body["results"]))))


def _candidates(reply: Reply[Any], others: Sequence[Definition]) -> list[tuple[str, Any]]:
    """Return the field of an answer that names the other definitions of its name; none without others."""
    shown = _rows(reply, map(definition_row, others[:_MOST_CANDIDATES]))
    return [("candidates", shown)] if shown else []


def best_of(candidates: Sequence[Definition]) -> list[str]:
    """Return the caution that other definitions have the same name."""
    if not candidates:
        return []
    count = len(candidates)
    return [BEST.format(others="1 more definition has" if count == 1 else f"{count:,} more definitions have")]


def behind(told: Behind) -> list[str]:
    """Return the caution that some files, or what they depend on, are not as an indexer read them."""
    said = []
    if told.changed:
        said.append(_CHANGED.format(files="1 file has" if told.changed == 1 else f"{told.changed:,} files have"))
    if told.in_doubt:
        said.append(
            _IN_DOUBT.format(files="1 file depends" if told.in_doubt == 1 else f"{told.in_doubt:,} files depend")
        )
    return [BEHIND.format(what=" and ".join(said))] if said else []


def use_cautions(told: Uses) -> list[str]:
    """Return what is not known of the uses of such a definition."""
    one = told.definitions[0]
    found = [*best_of(told.candidates), *behind(told.behind)]
    if told.files_left:
        uses = "1 use" if told.not_looked_at == 1 else f"{told.not_looked_at:,} uses"
        files = "1 file" if told.files_left == 1 else f"{told.files_left:,} files"
        found.append(FURTHER.format(files=files, uses=uses))
    return found if are_imports_followed(one.language) else [*found, UNFOLLOWED.format(language=one.language)]


def _use_row(use: Use) -> dict[str, Any]:
    row: dict[str, Any] = {"path": use.path, "line": use.line, "column": use.column, "startByte": use.start_byte}
    row |= {"kind": use.kind, "tier": use.tier}
    if NAME.fullmatch(use.inside):
        row["inside"] = use.inside
    return row | {"text": use.text, "layer": use.layer}


# --- `cairn graph`: nodes, edges with how sure they are, and notes on the rest.


GRAPH = "cairn.graph/1"


def call_graph_answer(
    reply: Reply[CallGraph],
    *,
    note_limit: int = DEFAULT_GRAPH_NOTES,
    tokens: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the nearest nodes, the edges between them and the notes about them, as many as fit."""
    told = reply.value
    if told is None:
        return no_answer(GRAPH, reply, timings)
    asked: dict[str, Any] = {"symbolId": told.root, "direction": told.direction.value, "depth": told.depth}
    asked |= {"to": told.target} if told.target else {}
    others = _candidates(reply, told.candidates)
    shell = shell_of(GRAPH, reply, timings, ("graph", asked), *others, warnings=graph_cautions(told))
    room = max(min(budget, MAX_ENVELOPE_BYTES) - len(shell.to_json().encode()) - _RESERVE, _LEAST_ROOM)
    # Notes get at least a quarter of the room, and what the graph leaves.
    nodes, edges, used = _that_fit(told, room * 3 // 4, tokens)
    notes = shown_notes(told, nodes, edges, note_limit)
    rows = fit([_note_row(note) for note in notes.notes], room - used)
    notes = notes._replace(notes=notes.notes[: len(rows)])
    hits = [
        cut("nodes", len(nodes), len(told.nodes) + told.nodes_left),
        cut("edges", len(edges), len(told.edges) + told.edges_left),
        cut("notes", len(rows), notes.total),
    ]
    body = dict(shell.body)
    warnings = [*([NOTES_TRUNCATED] if notes.truncated else []), *body["warnings"]]
    last = {name: body.pop(name) for name in ("limitsHit", "warnings", "hints", "timingsMs")}
    del body["results"]
    body |= {
        "nodes": _rows(reply, map(node_row, nodes)),
        "edges": [edge_row(edge) for edge in edges],
        "notes": rows,
        "notesTruncated": notes.truncated,
        "totalNoteCount": notes.total,
        "returnedNoteCount": len(rows),
    }
    last |= {"limitsHit": [hit for hit in hits if hit], "warnings": warnings}
    return replace(shell, body=tuple((body | last).items()))


def shown_notes(told: CallGraph, nodes: Sequence[Node], edges: Sequence[Edge], limit: int) -> ShownNotes:
    """Return the notes about these nodes and edges."""
    files = {node.path for node in nodes} | {edge.site.path for edge in edges}
    return relevant(told.notes, files, {node.id for node in nodes}, limit)


def graph_cautions(told: CallGraph) -> list[str]:
    """Return what is not known of calls in the language that was asked about, and what was too much to look at."""
    language = told.nodes[0].language
    found = [*best_of(told.candidates), *behind(told.behind)]
    if told.not_looked_at:
        uses = "1 use" if told.not_looked_at == 1 else f"{told.not_looked_at:,} uses"
        found.append(TOO_FAR.format(uses=uses))
    if told.target and not told.edges and told.target != told.root:
        found.append(GAVE_UP.format(count=told.looked_at) if told.looked_at else NO_WAY)
    elif told.target and any(edge.tier is Tier.NAME_ONLY for edge in told.edges):
        found.append(GUESSED)
    elif told.looked_at:
        found.append(STOPPED.format(count=told.looked_at))
    if utilities := sum(node.used_in > 0 for node in told.nodes):
        found.append(UTILITY if utilities == 1 else UTILITIES.format(count=utilities))
    return found if are_imports_followed(language) else [*found, UNFOLLOWED.format(language=language)]


def _that_fit(told: CallGraph, room: int, tokens: int | None) -> tuple[list[Node], list[Edge], int]:
    """Return the leading edges, with their nodes, that take at most so many bytes and tokens; the first node always."""
    known = {node.id: node for node in told.nodes}
    nodes = {told.root: known[told.root]}
    edges: list[Edge] = []
    used = _size(node_row(known[told.root]))
    for edge in told.edges[: within([edge_row(edge) for edge in told.edges], tokens)]:
        fresh = {end: known[end] for end in (edge.src, edge.dst) if end not in nodes}
        cost = sum(map(_size, (edge_row(edge), *map(node_row, fresh.values()))))
        if used + cost > room:
            break
        nodes |= fresh
        edges.append(edge)
        used += cost
    return list(nodes.values()), edges, used


def _size(row: dict[str, Any]) -> int:
    return len(encode(row).encode()) + 1


def node_row(node: Node) -> dict[str, Any]:
    """Return a definition as every answer shows it, with its id and its distance."""
    head = {"symbolId": node.id, "distance": node.distance}
    if node.definition is None:
        return head | {"path": node.path, "language": node.language, "kind": "file"}
    head |= ({"usedInFiles": node.used_in} if node.used_in else {}) | ({"isTest": True} if node.is_test else {})
    # Documentation would take the room of other nodes.
    return head | definition_row(replace(node.definition, doc=""))


def edge_row(edge: Edge) -> dict[str, Any]:
    """Return an edge; `count` places make it, and `site` is the first of the surest."""
    site = {"path": edge.site.path, "line": edge.site.line, "column": edge.site.column}
    row = {"src": edge.src, "dst": edge.dst, "kind": edge.kind.value, "tier": edge.tier.value}
    return row | {"site": site, "count": edge.count, "text": edge.site.text, "layer": edge.layer}


def _note_row(note: Note) -> dict[str, Any]:
    row: dict[str, Any] = {"type": note.type.value, "file": note.file}
    row |= {"symbolId": note.symbol_id, "startLine": note.start_line, "detail": note.detail}
    return row | ({"text": note.text} if note.text else {})


# --- `cairn map`: the map as text, and which files and entry points are in it.


MAP = "cairn.map/1"
_ENTRY_POINTS_BYTES = 4_096


def map_answer(reply: Reply[RepoMap], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """Return the map in `text`, whose tokens are counted; `results` are the files on it, in its order."""
    told = reply.value
    if told is None:
        return no_answer(MAP, reply, timings)
    fields = (
        ("tokens", {"estimated": told.tokens, "most": told.max_tokens, "estimator": ESTIMATOR}),
        ("languages", dict(told.languages)),
        ("entryPoints", fit(map(_entry_row, told.entry_points), _ENTRY_POINTS_BYTES)),
        ("text", told.text),
        *([("cycles", [_cycle_row(one) for one in told.cycles])] if told.cycles else []),
    )
    rows = _rows(reply, map(_map_row, told.files))
    page = filled(shell_of(MAP, reply, timings, *fields), rows, len(told.files) + told.files_left, budget)
    body = dict(page.body)
    cuts = (
        cut("folders", len(told.folders), len(told.folders) + told.folders_left),
        cut("entryPoints", len(body["entryPoints"]), len(told.entry_points) + told.entry_points_left),
        cut("definitions", told.definitions_shown, told.definitions_shown + told.definitions_left),
        cut("cycles", len(told.cycles), len(told.cycles) + told.cycles_left),
    )
    body["limitsHit"] += [hit for hit in cuts if hit]
    return Envelope(page.schema, page.status, page.path, page.root, tuple(body.items()))


def _cycle_row(one: ImportCycle) -> dict[str, Any]:
    steps = [{"path": each.path, "startLine": each.line, "text": each.text.strip()} for each in one.steps]
    return {"imports": steps, "filesInKnot": one.knot}


def _map_row(one: MapFile) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "language": one.language, "worth": round(one.worth, 6)}
    return row | {"importedBy": one.importers, "definitions": len(one.definitions)}


def _entry_row(one: EntryPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "way": one.way.value}
    row |= {"startLine": one.line} if one.line else {}
    return row | ({"text": one.name} if one.name else {})


# --- `cairn refs --local`: where each local name of a function is bound, written and read, by its syntax alone.


LOCAL = "cairn.local/1"


def local_answer(reply: Reply[Locals], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """Return the local names in the order in which they first appear, each whole; all of the function was searched."""
    told = reply.value
    if told is None:
        return no_answer(LOCAL, reply, timings)
    shell = shell_of(LOCAL, reply, timings, ("definition", definition_row(told.definition)))
    return filled(shell, [_binding_row(one) for one in told.names], len(told.names), budget)


def _binding_row(one: LocalVariable) -> dict[str, Any]:
    row: dict[str, Any] = {"symbol": one.name} if NAME.fullmatch(one.name) else {}
    row["scope"] = one.scope_line
    row["places"] = [
        {"line": each.line, "column": each.column, "startByte": each.start_byte, "role": each.role, "text": each.text}
        for each in one.places[:_MOST_PLACES]
    ]
    return row | {"placeCount": len(one.places)}


_MOST_PLACES = 100
