"""The tools that agents call: one table with their names, descriptions and arguments, and `call`, which never raises.

Descriptions are static and short: an agent reads all of them before its first question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cairn.answer.envelope import Envelope, error, retry_later, with_hints
from cairn.ask.common_options import MOST_PATH, MOST_TOKENS, PARTIAL, PATH
from cairn.ask.questions import GRAPH, MAP, OUTLINE, READ, SEARCH, SYMBOL
from cairn.ask.runs import Action, Patience, retry_after_ms
from cairn.ask.session import text_of
from cairn.ask.workspace import SessionPool, Workspace
from cairn.core.limits import MAX_EDIT_FILES
from cairn.core.options import Choice, Face, Flag, Option, OptionTable, Text, TextList
from cairn.core.progress import Tell
from cairn.errors import CairnError, InvalidRequest
from cairn.tools import reading
from cairn.tools.arguments import checked, forgiven, schema_of
from cairn.tools.managing import manage_index
from cairn.tools.searching import (
    EDIT_TOOL,
    EXPLORE_TOOL,
    SEARCH_TOOL,
    ExploreMode,
    check_edit,
    explore,
    search_codebase,
)
from cairn.tools.shield import shielded

Schema = dict[str, Any]
Handler = Callable[[Workspace, Mapping[str, Any], Patience], Envelope]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what an agent reads of it, what it may do, and who does it. `schema` is JSON Schema of its arguments."""

    name: str
    title: str
    description: str
    schema: Schema
    handler: Handler
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True


def _arguments(*options: Option) -> Schema:
    return schema_of(OptionTable("", options).on(Face.MCP))


# --- the table --------------------------------------------------------------------------------------------------------


def _reads(handler: Callable[[SessionPool, Mapping[str, Any]], Envelope]) -> Handler:
    """A tool that only reads: it gets the pool of sessions, with which nothing can be written."""

    def answer(workspace: Workspace, arguments: Mapping[str, Any], _: Patience) -> Envelope:
        found = handler(workspace.pool, arguments)
        return retry_later(found, retry_after_ms(workspace.runs.active(found.root or "")))

    return answer


TOOLS: tuple[Tool, ...] = (
    Tool(
        SEARCH_TOOL,
        "Search code",
        "Find code where explore is too narrow: by meaning, words, names, regex or path. Sees saved files; indexes a "
        "new folder first. Modes symbol, regex and path are exhaustive, unless warnings say what was not searched.",
        schema_of(SEARCH.on(Face.MCP)),
        search_codebase,
    ),
    Tool(
        EXPLORE_TOOL,
        "Explore a definition",
        "Begin here with a question or a definition: its text, callers with code, callees, heirs and tests at once. "
        "Modes: path (how it reaches another), tests (to run), impact (of changing it), changes (since a commit).",
        _arguments(
            Option(name="about", type=Text(MOST_PATH), help="a question, name, Class.method, FILE:LINE or commit"),
            Option(name="mode", type=Choice(ExploreMode, "mode"), help="see above", default=ExploreMode.AROUND),
            Option(name="to", type=Text(MOST_PATH), help="the end of a path"),
            PATH,
            MOST_TOKENS,
            PARTIAL,
        ),
        explore,
    ),
    Tool(
        "file_outline",
        "Outline of a file",
        "The definitions of a file with signatures and lines, or what is inside of one. Use it instead of reading a "
        "whole file.",
        schema_of(OUTLINE.on(Face.MCP)),
        _reads(reading.file_outline),
    ),
    Tool(
        "call_graph",
        "Callers and callees",
        "More calls than explore shows: who calls a definition and what it calls, up to three steps, each with how "
        "sure it is (proven, likely, name_only), and what could not be resolved.",
        schema_of(GRAPH.on(Face.MCP)),
        _reads(reading.call_graph),
    ),
    Tool(
        "read_file",
        "Read indexed lines",
        "From the index snapshot, or from the disk where a file has changed: lines of a file, such as what a search "
        "has found.",
        schema_of(READ.on(Face.MCP)),
        _reads(reading.read_file),
    ),
    Tool(
        "find_symbol",
        "Find definitions",
        "Where a name is defined; with references every use of it (before a rename), by role, and how sure it is.",
        schema_of(SYMBOL.on(Face.MCP)),
        _reads(reading.find_symbol),
    ),
    Tool(
        "repo_map",
        "Map of a codebase",
        "For a codebase that you do not know: folders, languages, entry points, and the signatures that most of it "
        "depends on.",
        schema_of(MAP.on(Face.MCP)),
        _reads(reading.repo_map),
    ),
    Tool(
        "manage_index",
        "Manage an index",
        "Create, rebuild, sync, repair or clear an index. Long runs go on in the background: action status says how "
        "far.",
        _arguments(
            Option(
                name="action",
                type=Choice((*(action.value for action in Action), "status")),
                help="clear empties the index; your files are never touched.",
                required=True,
            ),
            PATH,
            Option(name="force", type=Flag(), help="build anew over an index; clear needs it"),
            Option(name="allow_degraded", type=Flag(), help="publish without the files that cannot be indexed"),
        ),
        manage_index,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "index_status",
        "Where an index stands",
        "How much is indexed, when, with which model, and whether a run is at work.",
        _arguments(PATH),
        _reads(reading.index_status),
    ),
    Tool(
        "list_codebases",
        "Indexed codebases",
        "Which codebases have an index on this machine.",
        _arguments(),
        _reads(reading.list_codebases),
    ),
)
CHECK_EDIT = Tool(
    EDIT_TOOL,
    "May this be edited",
    "How fresh and how sure what indexers know of files is, and whether they may be edited together by it. Ask before "
    "you rename or move something that other files use.",
    _arguments(
        PATH,
        Option(
            name="files",
            type=TextList(MOST_PATH, MAX_EDIT_FILES, least=1),
            help="the files, from the root of the codebase",
            required=True,
        ),
    ),
    check_edit,
)
_BY_NAME = {tool.name: tool for tool in (*TOOLS, CHECK_EDIT)}


NAMES = frozenset(_BY_NAME)


def listed(*, semantic: bool) -> tuple[Tool, ...]:
    """The tools that are of use, whether or not an indexer has been set up."""
    return (*TOOLS, CHECK_EDIT) if semantic else TOOLS


def call(
    workspace: Workspace,
    name: str,
    arguments: object,
    *,
    progress: Tell | None = None,
    cancelled: Callable[[], bool] | None = None,
    patience: Patience | None = None,
) -> Envelope:
    """The answer of a tool to these arguments. Whatever goes wrong is an envelope that says so, never an exception.

    This is the only way out to an agent, and no secret takes it (`shield`).
    """
    path = arguments.get("path") if isinstance(arguments, dict) else None
    waiting = patience or Patience(progress=progress or (lambda _: None), cancelled=cancelled or (lambda: False))
    with workspace.asked() as view:
        try:
            try:
                found = _answer(view, name, arguments, waiting)
            except CairnError as problem:
                found = _in_calls(error(problem, path=path if isinstance(path, str) else None))
            last = view.pool.last
            return shielded(found, lambda file: None if last is None else text_of(last, file))
        except CairnError as problem:
            return error(problem, path=path if isinstance(path, str) else None)
        except Exception:
            # What it was goes to nobody who asks: it could hold anything.
            return error(CairnError(), path=path if isinstance(path, str) else None)


def _answer(workspace: Workspace, name: str, arguments: object, patience: Patience) -> Envelope:
    tool = _BY_NAME.get(name)
    if tool is None:
        raise InvalidRequest(field="name", why=f"there is no such tool; there are {', '.join(_BY_NAME)}")
    found = tool.handler(workspace, checked(tool.schema, forgiven(tool.schema, arguments)), patience)
    return _in_calls(_next_call(tool, found))


# What a person types, and what an agent calls instead. Other commands are left to the user, who is told of them.
_CALLED = {
    "search": "search_codebase", "outline": "file_outline", "read": "read_file", "symbol": "find_symbol",
    "refs": "find_symbol with references", "graph": "call_graph", "map": "repo_map",
    "impact": "explore with mode impact",
    "sync": "manage_index with action sync", "reindex": "manage_index with action reindex",
    "index": "manage_index with action create", "repair": "manage_index with action repair", "status": "index_status",
    "list": "list_codebases", "files": "search_codebase with mode path",
}  # fmt: skip
_TYPED = re.compile(r"`cairn ([a-z]+)(?: [^`]*)?`")


def _in_calls(envelope: Envelope) -> Envelope:
    """Return the envelope with calls of tools in the place of commands, in what is said to whoever asks."""
    body = dict(envelope.body)
    hints, warnings = body.get("hints", {}), body.get("warnings", [])
    said = {"hints": {name: _as_call(one) for name, one in hints.items()}, "warnings": list(map(_as_call, warnings))}
    changed = {name: value for name, value in said.items() if name in body and value != body[name]}
    return replace(envelope, body=tuple((body | changed).items())) if changed else envelope


def _as_call(said: Any) -> Any:
    if not isinstance(said, str):
        return said
    return _TYPED.sub(_called, said)


def _called(typed: re.Match[str]) -> str:
    # What is left out no call lists.
    has_call = typed[1] in _CALLED and "--skipped" not in typed[0]
    return f"`{_CALLED[typed[1]]}`" if has_call else typed[0]


def _next_call(tool: Tool, envelope: Envelope) -> Envelope:
    """Return the envelope with the call for its next page, if it names one, without what holds by default."""
    following = dict(envelope.body).get("hints", {}).get("continuation")
    if following is None:
        return envelope
    usual = {name: part["default"] for name, part in tool.schema["properties"].items() if "default" in part}
    args = {name: value for name, value in following["args"].items() if name not in usual or value != usual[name]}
    return with_hints(envelope, continuation={**following, "args": args})
