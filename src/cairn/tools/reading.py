"""Tools that read: an outline, lines of a file, definitions, calls, a map, where an index stands, which there are.

They get what can be read and nothing else, so that none of them can write, whatever it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cairn.answer.envelope import Envelope, error, lean, retry_later, with_hints, with_proof, without
from cairn.answer.gate import closed
from cairn.answer.runs import store_status
from cairn.answer.search import SCHEMA, search_answer
from cairn.answer.semantic import gate_answer
from cairn.answer.stores import codebase_list
from cairn.answer.structure import (
    call_graph_answer,
    map_answer,
    outline_answer,
    read_answer,
    references_answer,
    symbols_answer,
)
from cairn.ask.edits import check_edit as checked_files
from cairn.ask.relations import call_graph as calls
from cairn.ask.relations import references
from cairn.ask.relations import repo_map as map_of
from cairn.ask.runs import retry_after_ms
from cairn.ask.session import NOT_CHECKED, Session, Target, ask_all, hold_page
from cairn.ask.structure import Asked, asked_of, checked_lines
from cairn.ask.structure import file_outline as outline
from cairn.ask.structure import find_symbol as symbols
from cairn.ask.structure import read_file as text_of
from cairn.ask.workspace import Desk, Patience, Reading
from cairn.core.clock import SYSTEM_CLOCK
from cairn.errors import InvalidRequest
from cairn.graph.calls import Direction
from cairn.graph.scopes import Tier
from cairn.search.searcher import check
from cairn.search.types import Group, Mode, SearchRequest
from cairn.semantic.catalog import has_contexts
from cairn.semantic.database import SemanticDatabase

# --- The tool that searches: first the files are compared or the folder is indexed, then the snapshot answers.


SEARCH_TOOL = "search_codebase"


def search_codebase(desk: Desk, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Code that fits a question. A question that nobody could answer is refused before anything is indexed."""
    request = _request(arguments)
    check(request)
    target = desk.allowed.resolve(arguments.get("path"))
    token = arguments.get("continuation")
    began = SYSTEM_CLOCK.monotonic()
    fresh, why = (NOT_CHECKED, "") if token is not None else desk.before_search(target, patience)
    stepped = SYSTEM_CLOCK.monotonic()
    with desk.session(target, fresh, stale_ok=arguments["allowStale"], why=why) as session:
        if token is not None:
            hold_page([session], token)
        envelope = _answer(session, request, token, before=stepped - began)
        present = session.gate.facts.last_good is not None
        shown = target.asked if "path" in arguments else session.root
    envelope = with_proof(envelope, present=present) if arguments["debug"] else lean(envelope)
    following = dict(envelope.body).get("continuation")
    if following is not None:
        call = {"tool": SEARCH_TOOL, "args": {**arguments, "path": shown, "continuation": following}}
        envelope = with_hints(envelope, continuation=call)
    return retry_later(envelope, retry_after_ms(desk.runs.active(target.codebase.root.path)))


def _request(arguments: Mapping[str, Any]) -> SearchRequest:
    return SearchRequest(
        query=arguments["query"],
        mode=Mode(arguments["mode"]),
        limit=arguments["limit"],
        languages=tuple(arguments["languages"]),
        include=tuple(arguments["include"]),
        exclude=tuple(arguments["exclude"]),
        scope=arguments.get("scope"),
        max_tokens=arguments["maxTokens"],
        group=Group(arguments["groupBy"]),
        explain=arguments["debug"],
    )


def _answer(session: Session, request: SearchRequest, token: str | None, *, before: float) -> Envelope:
    began = SYSTEM_CLOCK.monotonic()
    answers, page = ask_all([session], request, token)
    [only] = answers
    if only.found is not None:
        searched = SYSTEM_CLOCK.monotonic() - began
        timings = [("sync", before), ("search", searched), ("total", before + searched)]
        return search_answer(answers, page, timings=timings)
    if only.error is not None:
        return error(only.error, path=only.path, root=only.root)
    return closed(SCHEMA, session.gate, path=only.path)


# --- The tool that says what may be edited; it is listed once an indexer has been set up for a codebase that is
# served.


EDIT_TOOL = "check_edit"


def check_edit(desk: Desk, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Freshness and certainty of files, and what may be edited; what was saved a moment before closes the gate."""
    target = desk.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    fresh, why = desk.before_search(target, patience)
    with desk.session(target, fresh, why=why) as session:
        return lean(gate_answer(checked_files(session, [Asked(file, file, root) for file in arguments["files"]])))


def is_set_up(reading: Reading) -> bool:
    """Whether an indexer has been set up for one of the codebases that may be asked about."""
    return any(has_contexts(SemanticDatabase(reading.home, root)) for root in reading.allowed.roots())


Arguments = Mapping[str, Any]


def file_outline(reading: Reading, arguments: Arguments) -> Envelope:
    """The definitions of a file."""
    target, asked = _file(reading, arguments)
    with reading.session(target) as session:
        return lean(outline_answer(outline(session, asked, symbol=arguments.get("symbol")), limit=arguments["limit"]))


def read_file(reading: Reading, arguments: Arguments) -> Envelope:
    """Lines of a file as they were indexed."""
    target, asked = _file(reading, arguments)
    with reading.session(target) as session:
        return lean(read_answer(text_of(session, asked), annotate=arguments["mode"] == "annotated"))


def find_symbol(reading: Reading, arguments: Arguments) -> Envelope:
    """The definitions whose name fits; or who imports and uses the one that is meant."""
    target = reading.allowed.resolve(arguments.get("path"))
    name, limit = arguments["name"], arguments["limit"]
    with reading.session(target) as session:
        if arguments["references"]:
            uses = references(session, asked_of(name, target.codebase.root.path), limit=limit)
            return without(lean(references_answer(uses)), "continuation")
        kinds = [arguments["kind"]] if "kind" in arguments else []
        found = symbols(session, name, kinds=kinds, limit=limit)
        return without(lean(symbols_answer(found)), "continuation")


def call_graph(reading: Reading, arguments: Arguments) -> Envelope:
    """Who calls a definition, and what it calls."""
    target = reading.allowed.resolve(arguments.get("path"))
    root, symbol = target.codebase.root.path, arguments["symbol"]
    file = None
    if isinstance(symbol, dict):
        file, symbol = Asked(symbol["file"], symbol["file"], root), symbol["symbolId"]
        # The id of a node begins with its file; inside of that file the rest is the name.
        symbol = symbol.removeprefix(f"{file.file}#")
    with reading.session(target) as session:
        found = calls(
            session,
            asked_of(symbol, root) if file is None else Asked(symbol, symbol, root),
            file=file,
            direction=Direction(arguments["direction"]),
            depth=arguments["depth"],
            min_tier=Tier(arguments["minTier"]),
            limit=arguments["limit"],
        )
        return lean(call_graph_answer(found, note_limit=arguments["noteLimit"]))


def repo_map(reading: Reading, arguments: Arguments) -> Envelope:
    """What a codebase consists of, in so many tokens."""
    target = reading.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    with reading.session(target) as session:
        found = map_of(
            session,
            query=arguments.get("query"),
            focus=[Asked(file, file, root) for file in arguments["focus"]],
            include=arguments["include"],
            max_tokens=arguments["maxTokens"],
        )
        return lean(map_answer(found))


def index_status(reading: Reading, arguments: Arguments) -> Envelope:
    """Where the index of a codebase stands."""
    target = reading.allowed.resolve(arguments.get("path"))
    status = reading.status(target)
    warnings = (*target.codebase.config.warnings, *status.warnings, *reading.failed_refreshes(target))
    return store_status(status, path=target.asked, warnings=warnings)


def list_codebases(reading: Reading, _: Arguments) -> Envelope:
    """Which codebases are indexed."""
    found = reading.codebases()
    return codebase_list(found.stores, tracked=found.tracked)


def _file(reading: Reading, arguments: Arguments) -> tuple[Target, Asked]:
    """The codebase and the file in it: named from the root as answers do, else from the folder that `path` names."""
    path, file = arguments.get("path"), arguments.get("file")
    lines = None
    if "startLine" in arguments or "endLine" in arguments:
        lines = checked_lines(arguments.get("startLine", 1), arguments.get("endLine"))
    target = reading.allowed.resolve(file if path is None and file is not None and os.path.isabs(file) else path)
    root, below = target.codebase.root.path, target.below[0] if target.below else ""
    if file is None:
        if not below:
            raise InvalidRequest(field="file", why="it is missing, and path names no file")
        return target, Asked(target.asked, below, root, lines)
    base = root
    if below and not os.path.lexists(os.path.join(root, file)) and os.path.lexists(os.path.join(root, below, file)):
        base = os.path.join(root, below)
    return target, Asked(file, file, base, lines)
