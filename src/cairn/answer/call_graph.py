"""The answer to who calls a definition and what it calls: nodes, edges with how sure they are, and notes on the rest.

It keeps the rules of every answer about structure. A node that does not fit takes its edges with it, and the notes
follow what is returned: none of them is about anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, cut, encode, fit
from cairn.answer.references import TOO_MANY, UNFOLLOWED
from cairn.answer.structure import Reply, Timings, definition_row, no_answer, shell_of
from cairn.graph.calls import CallGraph, Edge, Node
from cairn.graph.modules import FAMILY
from cairn.graph.notes import NOTES_TRUNCATED, Note, ShownNotes, relevant
from cairn.limits import DEFAULT_ENVELOPE_BYTES, DEFAULT_GRAPH_NOTES, MAX_ENVELOPE_BYTES

GRAPH = "cairn.graph/1"
# Room for `limitsHit`, a warning more and the counts.
_RESERVE = 1_024
_LEAST_ROOM = 4_096


def call_graph_answer(
    reply: Reply[CallGraph],
    *,
    note_limit: int = DEFAULT_GRAPH_NOTES,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """The nearest nodes, the edges between them and the notes about them, as many as fit."""
    told = reply.value
    if told is None:
        return no_answer(GRAPH, reply, timings)
    asked = {"symbolId": told.root, "direction": told.direction.value, "depth": told.depth}
    shell = shell_of(GRAPH, reply, timings, ("graph", asked), warnings=cautions(told))
    room = max(min(budget, MAX_ENVELOPE_BYTES) - len(shell.to_json().encode()) - _RESERVE, _LEAST_ROOM)
    # Notes get a quarter at least, and what the graph leaves.
    nodes, edges, used = _that_fit(told, room * 3 // 4)
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
        "nodes": [node_row(node) for node in nodes],
        "edges": [edge_row(edge) for edge in edges],
        "notes": rows,
        "notesTruncated": notes.truncated,
        "totalNoteCount": notes.total,
        "returnedNoteCount": len(rows),
    }
    last |= {"limitsHit": [hit for hit in hits if hit], "warnings": warnings}
    return replace(shell, body=tuple((body | last).items()))


def shown_notes(told: CallGraph, nodes: Sequence[Node], edges: Sequence[Edge], limit: int) -> ShownNotes:
    """The notes about these nodes and edges."""
    files = {node.path for node in nodes} | {edge.site.path for edge in edges}
    return relevant(told.notes, files, {node.id for node in nodes}, limit)


def cautions(told: CallGraph) -> list[str]:
    """What is not known of calls in the language of what was asked about, and what nobody looked at."""
    language = told.nodes[0].language
    found = [TOO_MANY.format(count=told.not_looked_at)] if told.not_looked_at else []
    return found if language in FAMILY else [*found, UNFOLLOWED.format(language=language)]


def _that_fit(told: CallGraph, room: int) -> tuple[list[Node], list[Edge], int]:
    """As many leading edges, with the nodes at their ends, as take at most so many bytes; the first node always."""
    known = {node.id: node for node in told.nodes}
    nodes = {told.root: known[told.root]}
    edges: list[Edge] = []
    used = _size(node_row(known[told.root]))
    for edge in told.edges:
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
    """A definition as every answer shows it, with its id and how far it is."""
    head = {"symbolId": node.id, "distance": node.distance}
    if node.definition is None:
        return head | {"path": node.path, "language": node.language, "kind": "file"}
    # What is written about it would take the room of other nodes.
    return head | definition_row(replace(node.definition, doc=""))


def edge_row(edge: Edge) -> dict[str, Any]:
    """An edge; `count` places make it, and `site` is the first of the surest."""
    site = {"path": edge.site.path, "line": edge.site.line, "column": edge.site.column}
    row = {"src": edge.src, "dst": edge.dst, "kind": edge.kind.value, "tier": edge.tier.value}
    return row | {"site": site, "count": edge.count, "layer": edge.layer}


def _note_row(note: Note) -> dict[str, Any]:
    row: dict[str, Any] = {"type": note.type.value, "file": note.file}
    row |= {"symbolId": note.symbol_id, "startLine": note.start_line, "detail": note.detail}
    return row | ({"text": note.text} if note.text else {})
