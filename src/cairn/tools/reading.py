"""Tools that read: an outline, lines of a file, definitions, calls, a map, where an index stands, which there are.

They get what can be read and nothing else, so that none of them can write, whatever it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cairn.answer.envelope import Envelope, lean, without
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
from cairn.ask.session import Target
from cairn.ask.structure import Asked, asked_of, checked_lines
from cairn.ask.structure import file_outline as outline
from cairn.ask.structure import find_symbol as symbols
from cairn.ask.structure import read_file as text_of
from cairn.ask.workspace import SessionPool
from cairn.core.options import Face
from cairn.errors import InvalidRequest

Arguments = Mapping[str, Any]


def file_outline(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the definitions of a file."""
    target, asked = _file(pool, arguments)
    with pool.current(target) as session:
        found = outline(session, asked, **OUTLINE.values(Face.MCP, arguments))
        return lean(outline_answer(found, limit=arguments["limit"]))


def read_file(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return lines of a file as they were indexed."""
    target, asked = _file(pool, arguments)
    with pool.current(target) as session:
        return lean(read_answer(text_of(session, asked), annotate=arguments["mode"] == "annotated"))


def find_symbol(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the definitions whose name fits, or the imports and uses of the one that is meant."""
    target = pool.allowed.resolve(arguments.get("path"))
    name = arguments["name"]
    with pool.current(target) as session:
        if arguments["references"]:
            uses = references(session, asked_of(name, target.codebase.root.path), limit=arguments["limit"])
            return without(lean(references_answer(uses)), "continuation")
        found = symbols(session, name, **SYMBOL.values(Face.MCP, arguments))
        return without(lean(symbols_answer(found)), "continuation")


def call_graph(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return the callers of a definition, and what it calls."""
    target = pool.allowed.resolve(arguments.get("path"))
    root, symbol = target.codebase.root.path, arguments["symbol"]
    file = None
    if isinstance(symbol, dict):
        file, symbol = Asked(symbol["file"], symbol["file"], root), symbol["symbolId"]
        # The id of a node begins with its file; inside of that file the rest is the name.
        symbol = symbol.removeprefix(f"{file.file}#")
    with pool.current(target) as session:
        found = calls(
            session,
            asked_of(symbol, root) if file is None else Asked(symbol, symbol, root),
            file=file,
            **GRAPH.values(Face.MCP, arguments),
        )
        return lean(call_graph_answer(found, note_limit=arguments["noteLimit"]))


def repo_map(pool: SessionPool, arguments: Arguments) -> Envelope:
    """Return a map of a codebase in so many tokens."""
    target = pool.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    with pool.current(target) as session:
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
    return codebase_list(found.stores, tracked=found.tracked)


def _file(pool: SessionPool, arguments: Arguments) -> tuple[Target, Asked]:
    """The codebase and the file in it: named from the root as answers do, else from the folder that `path` names."""
    path, file = arguments.get("path"), arguments.get("file")
    lines = None
    if "startLine" in arguments or "endLine" in arguments:
        lines = checked_lines(arguments.get("startLine", 1), arguments.get("endLine"))
    target = pool.allowed.resolve(file if path is None and file is not None and os.path.isabs(file) else path)
    root, below = target.codebase.root.path, target.below[0] if target.below else ""
    if file is None:
        if not below:
            raise InvalidRequest(field="file", why="it is missing, and path names no file")
        return target, Asked(target.asked, below, root, lines)
    base = root
    if below and not os.path.lexists(os.path.join(root, file)) and os.path.lexists(os.path.join(root, below, file)):
        base = os.path.join(root, below)
    return target, Asked(file, file, base, lines)
