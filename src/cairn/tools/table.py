"""The tools that agents call: one table with their names, descriptions and arguments, and `call`, which never raises.

Descriptions are static and short: an agent reads all of them before its first question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cairn.answer.envelope import Envelope, error, retry_later
from cairn.ask.runs import Action, Patience, retry_after_ms
from cairn.ask.workspace import SessionPool, Workspace
from cairn.core.config import SCOPES
from cairn.core.limits import (
    AGENT_OUTLINE,
    AGENT_RESULTS,
    AGENT_TOKENS,
    DEFAULT_GRAPH_NODES,
    DEFAULT_GRAPH_NOTES,
    DEFAULT_MAP_TOKENS,
    MAX_AGENT_TOKENS,
    MAX_CONFIG_GLOBS,
    MAX_CONTINUATION_CHARS,
    MAX_EDIT_FILES,
    MAX_GRAPH_DEPTH,
    MAX_GRAPH_NODES,
    MAX_GRAPH_NOTES,
    MAX_MAP_FOCUS,
    MAX_MAP_TOKENS,
    MAX_OUTLINE,
    MAX_PATTERN_BYTES,
    MAX_QUERY_CHARS,
    MAX_QUERY_PATTERN_BYTES,
    MAX_RESULTS,
    MIN_MAP_TOKENS,
)
from cairn.core.types import SymbolKind
from cairn.errors import CairnError, InvalidRequest
from cairn.graph.calls import Direction
from cairn.graph.scopes import Tier
from cairn.search.types import Group, Mode
from cairn.sync.report import Tell
from cairn.tools import reading
from cairn.tools.arguments import checked
from cairn.tools.managing import manage_index
from cairn.tools.searching import EDIT_TOOL, SEARCH_TOOL, check_edit, search_codebase

Schema = dict[str, Any]
Handler = Callable[[Workspace, Mapping[str, Any], Patience], Envelope]

_MOST_PATH = 4_096
_MOST_NAME = 500
_MOST_LINE = 999_999_999


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


# --- arguments --------------------------------------------------------------------------------------------------------


def _text(description: str, most: int, **more: object) -> Schema:
    return {"type": "string", "description": description, "minLength": 1, "maxLength": most, **more}


def _texts(description: str, most: int, count: int = MAX_CONFIG_GLOBS) -> Schema:
    items = {"type": "string", "minLength": 1, "maxLength": most}
    return {"type": "array", "description": description, "items": items, "maxItems": count, "default": []}


def _files(description: str) -> Schema:
    items = {"type": "string", "minLength": 1, "maxLength": _MOST_PATH}
    return {"type": "array", "description": description, "items": items, "minItems": 1, "maxItems": MAX_EDIT_FILES}


def _choice(description: str, choices: list[str], default: str | None = None) -> Schema:
    found: Schema = {"type": "string", "description": description, "enum": choices}
    return found if default is None else found | {"default": default}


def _number(description: str, most: int, default: int | None = None, least: int = 1) -> Schema:
    found: Schema = {"type": "integer", "description": description, "minimum": least, "maximum": most}
    return found if default is None else found | {"default": default}


def _flag(description: str) -> Schema:
    return {"type": "boolean", "description": description, "default": False}


def _arguments(required: str = "", **properties: Schema) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | {"required": required.split()} if required else found


_PATH = _text("A folder or file of the codebase; without it the codebase that is served.", _MOST_PATH)
_FILE = _text("The file, from the root of the codebase.", _MOST_PATH)
_FIRST = _number("The first line.", _MOST_LINE)
_LAST = _number("The last line.", _MOST_LINE)

_SEARCH = _arguments(
    "query",
    path=_PATH,
    query=_text("What to look for: a question, words, a name, or a pattern for mode regex.", MAX_QUERY_PATTERN_BYTES),
    mode=_choice(
        "symbol, regex and path look at everything; the others rank.", [mode.value for mode in Mode], Mode.HYBRID.value
    ),
    limit=_number("How many results.", MAX_RESULTS, AGENT_RESULTS),
    scope=_choice("Only code that runs, tests, docs or config.", list(SCOPES)),
    groupBy=_choice(
        "One result for each file, each definition, or each place.", [group.value for group in Group], Group.FILE.value
    ),
    include=_texts("Only paths that fit one of these globs.", MAX_PATTERN_BYTES),
    exclude=_texts("No paths that fit one of these globs.", MAX_PATTERN_BYTES),
    languages=_texts("Only files of these languages.", _MOST_NAME),
    maxTokens=_number("Leave out results beyond about so many tokens.", MAX_AGENT_TOKENS, AGENT_TOKENS),
    allowStale=_flag("While the index is built anew, answer from the old one."),
    continuation=_text("For the next page: hints.continuation is the whole call.", MAX_CONTINUATION_CHARS),
    debug=_flag("Show fingerprints, timings, file hashes and the parts of scores."),
)
_SYMBOL: Schema = {
    "description": "A definition: its name, Class.method, FILE:LINE, or a node of an earlier graph.",
    "anyOf": [
        _text("A name or a place.", _MOST_PATH),
        {
            "type": "object",
            "properties": {"file": _FILE, "symbolId": _text("Its id or its name.", _MOST_PATH)},
            "required": ["file", "symbolId"],
            "additionalProperties": False,
        },
    ],
}


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
        "Find code by meaning, words, names, regex or path. Sees saved files. A folder that was never indexed is "
        "indexed first. Modes symbol, regex and path are exhaustive: what they do not find is not there.",
        _SEARCH,
        search_codebase,
    ),
    Tool(
        "file_outline",
        "Outline of a file",
        "The definitions of a file with signatures and lines, or one of them with what is inside of it. Cheaper than "
        "reading the file.",
        _arguments(
            path=_PATH,
            file=_FILE,
            symbol=_text("Only this definition.", _MOST_NAME),
            startLine=_FIRST,
            endLine=_LAST,
            limit=_number("How many definitions.", MAX_OUTLINE, AGENT_OUTLINE),
        ),
        _reads(reading.file_outline),
    ),
    Tool(
        "call_graph",
        "Callers and callees",
        "Who calls a definition and what it calls, up to three steps, each edge with how sure it is (proven, likely, "
        "name_only). Notes name what could not be resolved.",
        _arguments(
            "symbol",
            path=_PATH,
            symbol=_SYMBOL,
            direction=_choice("Which way.", [way.value for way in Direction], Direction.BOTH.value),
            depth=_number("How many steps.", MAX_GRAPH_DEPTH, 1),
            limit=_number("How many definitions each way.", MAX_GRAPH_NODES, DEFAULT_GRAPH_NODES),
            noteLimit=_number("How many notes.", MAX_GRAPH_NOTES, DEFAULT_GRAPH_NOTES, least=0),
            minTier=_choice("How sure an edge must be.", [tier.value for tier in Tier], Tier.LIKELY.value),
        ),
        _reads(reading.call_graph),
    ),
    Tool(
        "read_file",
        "Read indexed lines",
        "From the index snapshot: lines of a file as they were indexed, and whether the file on disk has changed. Use "
        "it to read what a search has found.",
        _arguments(
            path=_PATH,
            file=_FILE,
            startLine=_FIRST,
            endLine=_LAST,
            mode=_choice("annotated adds the definitions on these lines.", ["plain", "annotated"], "plain"),
        ),
        _reads(reading.read_file),
    ),
    Tool(
        "find_symbol",
        "Find definitions",
        "Where a name is defined, best match first; with references who imports and uses it, and how sure that is.",
        _arguments(
            "name",
            path=_PATH,
            name=_text("A name, Class.method, or with references also FILE:LINE.", _MOST_PATH),
            kind=_choice("Only this kind of definition.", [kind.value for kind in SymbolKind]),
            references=_flag("Show who imports and uses the definition instead."),
            limit=_number("How many results.", MAX_RESULTS, AGENT_RESULTS),
        ),
        _reads(reading.find_symbol),
    ),
    Tool(
        "repo_map",
        "Map of a codebase",
        "What a codebase consists of, in few tokens: folders, languages, entry points, and the signatures that most of "
        "it depends on. Begin with it in a codebase that you do not know.",
        _arguments(
            path=_PATH,
            query=_text("Draw it around what this finds.", MAX_QUERY_CHARS),
            focus=_texts("Draw it around these files.", _MOST_PATH, MAX_MAP_FOCUS),
            include=_texts("Only paths that fit one of these globs.", MAX_PATTERN_BYTES),
            maxTokens=_number("How many tokens at most.", MAX_MAP_TOKENS, DEFAULT_MAP_TOKENS, least=MIN_MAP_TOKENS),
        ),
        _reads(reading.repo_map),
    ),
    Tool(
        "manage_index",
        "Manage an index",
        "Create, rebuild, sync, repair or clear the index of a codebase, or ask for its status. Long runs go on in the "
        "background: call with action status to see how far one is.",
        _arguments(
            "action",
            action=_choice(
                "clear empties the index; your files are never touched.",
                [*(action.value for action in Action), "status"],
            ),
            path=_PATH,
            force=_flag("With create: build anew although there is an index."),
            allowDegraded=_flag("Publish without the files that cannot be indexed."),
        ),
        manage_index,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "index_status",
        "Where an index stands",
        "How many files and chunks are indexed, when, with which model, and whether a run is at work.",
        _arguments(path=_PATH),
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
    _arguments("files", path=_PATH, files=_files("The files, from the root of the codebase.")),
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
    """The answer of a tool to these arguments. Whatever goes wrong is an envelope that says so, never an exception."""
    path = arguments.get("path") if isinstance(arguments, dict) else None
    try:
        tool = _BY_NAME.get(name)
        if tool is None:
            raise InvalidRequest(field="name", why=f"there is no such tool; there are {', '.join(_BY_NAME)}")
        waiting = patience or Patience(progress=progress or (lambda _: None), cancelled=cancelled or (lambda: False))
        return tool.handler(workspace, checked(tool.schema, arguments), waiting)
    except CairnError as problem:
        return error(problem, path=path if isinstance(path, str) else None)
    except Exception:
        # What it was goes to nobody who asks: it could hold anything.
        return error(CairnError(), path=path if isinstance(path, str) else None)
