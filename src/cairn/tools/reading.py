"""Tools that read: an outline, lines of a file, definitions, calls, a map, where an index stands, which there are.

They get what can be read and nothing else, so that none of them can write, whatever it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cairn.answer.envelope import Envelope, lean, with_hints
from cairn.answer.runs import store_status
from cairn.answer.stores import codebase_list
from cairn.answer.structure import (
    call_graph_answer,
    map_answer,
    outline_answer,
    read_answer,
    references_answer,
    symbols_answer,
)
from cairn.ask.questions import GRAPH, MAP, OUTLINE, SYMBOL
from cairn.ask.relations import call_graph as calls
from cairn.ask.relations import references
from cairn.ask.relations import repo_map as map_of
from cairn.ask.session import Target, hold_page
from cairn.ask.structure import Asked, asked_of, checked_lines
from cairn.ask.structure import file_outline as outline
from cairn.ask.structure import find_symbol as symbols
from cairn.ask.structure import read_file as text_of
from cairn.ask.workspace import SessionPool
from cairn.core.limits import AGENT_OUTLINE, AGENT_RESULTS, AGENT_TOKENS, MAX_AGENT_TOKENS
from cairn.core.options import Face
from cairn.errors import InvalidRequest
from cairn.graph.scopes import Tier

Arguments = Mapping[str, Any]
# How many times the tokens are asked for after a graph was cut.
_MORE = 4


def file_outline(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the definitions of a file."""
    target, asked = _file(pool, arguments)
    with pool.current(target, part_ok=arguments["allowPartial"]) as session:
        found = outline(session, asked, **OUTLINE.values(Face.MCP, arguments))
        limit = arguments.get("limit", AGENT_OUTLINE)
        envelope = lean(outline_answer(found, limit=limit, tokens=tokens_of(arguments, "limit")))
    shown = len(dict(envelope.body).get("results", ()))
    if found.value is None or shown >= len(found.value.definitions):
        return envelope
    args = {"path": target.asked, **arguments, "startLine": found.value.definitions[shown].start_line}
    return with_hints(envelope, continuation={"tool": "file_outline", "args": args})


def read_file(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return lines of a file as they were indexed."""
    target, asked = _file(pool, arguments)
    with pool.current(target, part_ok=arguments["allowPartial"]) as session:
        found, annotate = text_of(session, asked), arguments["mode"] == "annotated"
        envelope = lean(read_answer(found, annotate=annotate, tokens=tokens_of(arguments, "endLine")))
    if not _was_cut(envelope, "lines"):
        return envelope
    args = {"path": target.asked, **arguments, "startLine": dict(envelope.body)["endLine"] + 1}
    return with_hints(envelope, continuation={"tool": "read_file", "args": args})


def find_symbol(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the definitions whose name fits, or the imports and uses of the one that is meant."""
    target = pool.allowed.resolve(arguments.get("path"))
    name, token = arguments["name"], arguments.get("continuation")
    now = pool.current(target, part_ok=arguments["allowPartial"]) if token is None else pool.session(target)
    with now as session:
        if token is not None:
            hold_page([session], token)
        if arguments["references"]:
            asked = asked_of(name, target.codebase.root.path)
            given = {each: arguments[each] for each in ("limit", "continuation") if each in arguments}
            tokens = tokens_of(arguments, "limit")
            roles = [arguments["role"]] if "role" in arguments else []
            uses = references(session, asked, min_tier=Tier(arguments["minTier"]), roles=roles, **given)
            found = references_answer(uses, tokens=tokens)
        else:
            # A place means the definition there.
            place = asked_of(name, target.codebase.root.path)
            exact = place.lines is not None or "#" in name
            name = name if place.lines is None else f"{place.file}:{place.lines[0]}"
            given = {"limit": AGENT_RESULTS, "exact": exact} | SYMBOL.values(Face.MCP, arguments)
            found = symbols_answer(symbols(session, name, **given), tokens=tokens_of(arguments, "limit"))
        return _paged("find_symbol", {"path": target.asked, **arguments}, lean(found))


def tokens_of(arguments: Arguments, other: str) -> int | None:
    """Return how long an answer may be: what was asked for, no bound when `other` was asked for, else the usual."""
    found: int | None = arguments.get("maxTokens")
    return AGENT_TOKENS if found is None and other not in arguments else found


def _was_cut(envelope: Envelope, field: str) -> bool:
    return any(hit["field"] == field for hit in dict(envelope.body).get("limitsHit", ()))


def _paged(tool: str, arguments: Arguments, envelope: Envelope) -> Envelope:
    """Return the answer with the whole call for its next page, when there is one."""
    token = dict(envelope.body).get("continuation")
    if token is None:
        return envelope
    return with_hints(envelope, continuation={"tool": tool, "args": {**arguments, "continuation": token}})


def call_graph(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the callers of a definition, and what it calls."""
    target = pool.allowed.resolve(arguments.get("path"))
    root, symbol = target.codebase.root.path, arguments["symbol"]
    file = None
    if isinstance(symbol, dict):
        file, symbol = Asked(symbol["file"], symbol["file"], root), symbol["symbolId"]
        # The id of a node begins with its file; inside of that file the rest is the name.
        symbol = symbol.removeprefix(f"{file.file}#")
    with pool.current(target, part_ok=arguments["allowPartial"]) as session:
        found = calls(
            session,
            asked_of(symbol, root) if file is None else Asked(symbol, symbol, root),
            file=file,
            to=asked_of(arguments["to"], root) if "to" in arguments else None,
            **GRAPH.values(Face.MCP, arguments),
        )
        tokens = tokens_of(arguments, "limit")
        envelope = lean(call_graph_answer(found, note_limit=arguments["noteLimit"], tokens=tokens))
    if tokens is None or tokens >= MAX_AGENT_TOKENS or not _was_cut(envelope, "edges"):
        return envelope
    args = {"path": target.asked, **arguments, "maxTokens": min(_MORE * tokens, MAX_AGENT_TOKENS)}
    return with_hints(envelope, continuation={"tool": "call_graph", "args": args})


def repo_map(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return a map of a codebase in so many tokens."""
    target = pool.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    with pool.current(target, part_ok=arguments["allowPartial"]) as session:
        found = map_of(
            session,
            focus=[Asked(file, file, root) for file in arguments["focus"]],
            **MAP.values(Face.MCP, arguments),
        )
        return lean(map_answer(found))


def index_status(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the state of the index of a codebase."""
    target = pool.allowed.resolve(arguments.get("path"))
    status = pool.status(target)
    warnings = (*target.codebase.config.warnings, *status.warnings, *pool.failed_refreshes(target))
    return store_status(status, path=target.asked, warnings=warnings)


def list_codebases(pool: SessionPool, _: Arguments) -> Envelope:
    """Return the codebases that are indexed."""
    found = pool.codebases()
    return codebase_list(found.stores, tracked=found.tracked, standing=pool.standing(found))


def _file(pool: SessionPool, arguments: Arguments) -> tuple[Target, Asked]:
    """The codebase and the file in it: named from the root as answers do, else from the folder that `path` names."""
    path, file = arguments.get("path"), arguments.get("file")
    lines = None
    if "startLine" in arguments or "endLine" in arguments:
        lines = checked_lines(arguments.get("startLine", 1), arguments.get("endLine"))
    if path is None and file is not None and os.path.isabs(file):
        path = asked_of(file, os.sep).file
    target = pool.allowed.resolve(path)
    root, below = target.codebase.root.path, target.below[0] if target.below else ""
    if file is None:
        if not below:
            raise InvalidRequest(field="file", why="it is missing, and path names no file")
        return target, Asked(target.asked, below, root, lines)
    if lines is None:
        # FILE:A-B, as answers and terminals write it.
        said = asked_of(file, root)
        file, lines = said.file, said.lines
    base = root
    if below and not os.path.lexists(os.path.join(root, file)) and os.path.lexists(os.path.join(root, below, file)):
        base = os.path.join(root, below)
    return target, Asked(file, file, base, lines)
