"""The tools as an MCP server: the official SDK carries the messages, the answers are the envelopes that everybody gets.

A host gives up on a server that is slow to say hello. So nothing is opened, and nothing heavy imported, before that.
Then what is served is caught up with, whether or not somebody calls.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.uri_template import UriTemplate

from cairn.answer.envelope import encode, error, load_schema
from cairn.answer.pasted import pasted
from cairn.core.limits import SERVE_CALLS
from cairn.core.progress import Phase, Progress
from cairn.errors import InvalidRequest
from cairn.mcp.calls import Calls, Described, ToolReply
from cairn.mcp.prompts import PROMPTS, prompted
from cairn.tools.arguments import told

# --- The tools as MCP lists them, and the shapes of their answers for those who want structured ones.


Schema = dict[str, Any]

# Which envelopes a tool gives, besides the one of an error.
ANSWERS = {
    "explore": ("cairn.explore/1", "cairn.graph/1", "cairn.impact/1"),
    "search_codebase": ("cairn.search/1",),
    "file_outline": ("cairn.outline/1",),
    "call_graph": ("cairn.graph/1",),
    "read_file": ("cairn.read/1",),
    "find_symbol": ("cairn.symbol/1", "cairn.refs/1"),
    "repo_map": ("cairn.map/1",),
    "manage_index": ("cairn.run/1", "cairn.repair/1", "cairn.status/1"),
    "index_status": ("cairn.status/1",),
    "list_codebases": ("cairn.list/1",),
    "check_edit": ("cairn.gate/1",),
}
_ERROR = "cairn.error/1"
_LOCAL = "#/$defs/"


def tools(listed: Sequence[Described], *, structured: bool) -> list[types.Tool]:
    """These tools."""
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=told(tool.schema),
            output_schema=answer_schema(tool.name) if structured else None,
            annotations=_annotations(tool),
        )
        for tool in listed
    ]


def _annotations(tool: Described) -> types.ToolAnnotations:
    """What a tool may do; of one that only reads nothing else is of interest."""
    if tool.read_only:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.ToolAnnotations(
        read_only_hint=False,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )


def answer_schema(tool: str) -> Schema:
    """Return one schema for all that a tool may answer.

    It refers only to itself and names no `$id`: hosts keep the schemas of all tools in one place, where an id that
    comes twice is refused.
    """
    found: Schema = {}
    names = [*ANSWERS[tool], _ERROR]
    for name in names:
        schema = load_schema(name)
        kind = _kind(name)
        parts = schema.pop("$defs", {})
        found[kind] = _moved({key: value for key, value in schema.items() if key not in ("$schema", "$id")}, kind)
        found |= {f"{kind}_{part}": _moved(value, kind) for part, value in parts.items()}
    return {"type": "object", "anyOf": [{"$ref": f"{_LOCAL}{_kind(name)}"} for name in names], "$defs": found}


def _kind(name: str) -> str:
    return name.removeprefix("cairn.").partition("/")[0]


def _moved(value: Any, kind: str) -> Any:
    """The schema with what it refers to under the names that the parts of this kind have."""
    if isinstance(value, list):
        return [_moved(one, kind) for one in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(one, kind) for key, one in value.items()}
    target = value.get("$ref")
    if isinstance(target, str):
        moved["$ref"] = f"{_LOCAL}{kind}_{target.removeprefix(_LOCAL)}"
    return moved


# --- What can be attached to a conversation without a call: where an index stands, and the map of a codebase.


MIME_TYPE = "application/json"
_MOST_LISTED = 50


class ResourceCall(NamedTuple):
    """The tool that answers, and the root that it is asked about."""

    tool: str
    root: str


class _CallKind(NamedTuple):
    tool: str
    template: str
    title: str
    description: str


_KINDS = (
    _CallKind(
        "index_status",
        "cairn://status/{root}",
        "Where an index stands",
        "How many files are indexed, when, with which model, and whether a run is at work.",
    ),
    _CallKind(
        "repo_map",
        "cairn://map/{root}",
        "Map of a codebase",
        "What a codebase consists of, in few tokens.",
    ),
)


def templates() -> list[types.ResourceTemplate]:
    """Return the kinds of resources; `root` is the path of a codebase."""
    return [
        types.ResourceTemplate(
            name=kind.tool,
            title=kind.title,
            uri_template=kind.template,
            description=kind.description,
            mime_type=MIME_TYPE,
        )
        for kind in _KINDS
    ]


def listed(roots: Sequence[str]) -> list[types.Resource]:
    """Return the resources of these codebases, of a bounded number of them."""
    # What is no text can be asked for by a tool, but cannot stand in an address.
    shown = [root for root in roots if root.isprintable()][:_MOST_LISTED]
    return [
        types.Resource(
            name=f"{kind.tool} {root}",
            title=kind.title,
            uri=UriTemplate.parse(kind.template).expand({"root": root}),
            description=kind.description,
            mime_type=MIME_TYPE,
        )
        for root in shown
        for kind in _KINDS
    ]


def resource_at(uri: str) -> ResourceCall | None:
    """Return what an address asks for; the slashes of the root may be written as they are."""
    for kind in _KINDS:
        found = UriTemplate.parse(kind.template.replace("{root}", "{+root}")).match(uri)
        root = found.get("root") if found else None
        if isinstance(root, str) and root:
            return ResourceCall(kind.tool, root)
    return None


_FOLDER = re.compile(r"file://(?:localhost)?(/[^?#]*)", re.IGNORECASE)
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def folder_of(uri: str) -> str | None:
    """Return the folder that a `file:` address names; None for any other."""
    found = _FOLDER.fullmatch(uri)
    if found is None:
        return None
    return os.fsdecode(_ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 16)]), found[1].encode()))


McpServer = Server[None]
Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

NAME = "cairn"
INSTRUCTIONS = (
    "An index of this code that is brought up to date before every search. Ask explore or search_codebase before you "
    "read files one after the other; then read_file, file_outline, find_symbol and call_graph look closer. An answer "
    "with status not_ready, not_indexed or requires_reindex says in hints what to call next."
)
# Where each phase begins, in hundredths of a run: what is told must only ever grow.
_BEGINS = {
    Phase.QUEUED: 0.0,
    Phase.WALKING: 1.0,
    Phase.COMPARING: 2.0,
    Phase.INDEXING: 5.0,
    Phase.PUBLISHING: 95.0,
    Phase.COMPACTING: 97.0,
    Phase.COLLECTING: 98.0,
}
_CLOSE_SECONDS = 2.0
# A client that says that it tells its folders, and does not, is not waited for longer.
_ROOTS_SECONDS = 2.0


class Form(StrEnum):
    """How results are said: as lines that an agent reads, or as the envelope that has a schema."""

    TEXT = "text"
    JSON = "json"


# The argument that every tool takes besides its own. It is not listed: programs ask for it, and agents pay for a list.
FORMAT = "format"


def mcp_server(
    calls: Calls,
    *,
    version: str,
    structured: bool = False,
    form: Form = Form.TEXT,
    follow: Callable[[Sequence[str]], None] | None = None,
) -> McpServer:
    """The server, ready to be run over any transport; it closes who answers its calls when it ends.

    `follow` is told the folders that the client works in, at first and whenever they change.
    """
    face = _Face(calls, structured=structured, form=form, follow=follow)
    with warnings.catch_warnings():
        # Clients tell their folders so for years to come, whatever follows on it.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return _server(face, version, follows=follow is not None)


def _server(face: _Face, version: str, *, follows: bool) -> McpServer:
    return Server(
        NAME,
        version=version,
        title="Cairn",
        description="The code index that tells the truth.",
        instructions=INSTRUCTIONS,
        lifespan=face.lifespan,
        # No argument of ours travels in a header; without this all tools would be listed before each call over HTTP.
        get_tool_input_schema=lambda _: None,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_read_resource=face.read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_roots_list_changed=face.roots_changed if follows else None,
    )


async def _list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(
                        name=prompt.argument, description=prompt.help, required=prompt.otherwise is None
                    )
                ],
            )
            for prompt in PROMPTS
        ]
    )


async def _get_prompt(_: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
    try:
        text = prompted(asked.name, asked.arguments or {})
    except InvalidRequest as problem:
        raise MCPError(code=types.INVALID_PARAMS, message=str(problem)) from None
    said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(messages=[said])


class _Face:
    """What the SDK calls. Whatever may take time is done in a thread, so that the next message is read at once."""

    def __init__(
        self, calls: Calls, *, structured: bool, form: Form, follow: Callable[[Sequence[str]], None] | None
    ) -> None:
        self._calls, self._structured, self._form, self._follow = calls, structured, form, follow
        self._asks_roots, self._telling = follow is not None, anyio.Lock()
        self._limiter: anyio.CapacityLimiter | None = None

    @asynccontextmanager
    async def lifespan(self, _: McpServer) -> AsyncIterator[None]:
        # The SDK's own threads read and write the pipe: calls that wait must not take their places.
        self._limiter = anyio.CapacityLimiter(SERVE_CALLS)
        # Whatever becomes of it, calls are answered; nobody waits for it.
        threading.Thread(target=self._calls.begin, name="cairn begins", daemon=True).start()
        try:
            yield
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await anyio.to_thread.run_sync(self._calls.close, abandon_on_cancel=True)

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        await self._follow_roots(context)
        listed = await self._thread(self._calls.tools)
        return types.ListToolsResult(tools=tools(listed, structured=self._structured))

    async def call_tool(self, context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        await self._follow_roots(context)
        arguments = dict(asked.arguments or {})
        told = arguments.pop(FORMAT, None)
        if told is not None and told not in tuple(Form):
            refused = error(InvalidRequest(field=FORMAT, why=f"must be one of {', '.join(Form)}"))
            return self._result(ToolReply(refused.to_json(), True), self._form)
        reply = await self._answer(asked.name, arguments, context)
        return self._result(reply, self._form if told is None else Form(told), told)

    def _result(self, reply: ToolReply, form: Form, told: str | None = None) -> types.CallToolResult:
        """Return an answer in a form; with `told` the call for the next page asks for the same one."""
        envelope = json.loads(reply.text) if self._structured or form is Form.TEXT or told else {}
        following = envelope.get("hints", {}).get("continuation")
        if told and following:
            following["args"][FORMAT] = told
            reply = reply._replace(text=encode(envelope))
        parts = [part for part in pasted(envelope) if part] if form is Form.TEXT else [reply.text]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=part) for part in parts],
            structured_content=envelope if self._structured else None,
            is_error=reply.failed,
        )

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=templates())

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        roots = await self._thread(self._calls.roots)
        return types.ListResourcesResult(resources=listed(roots))

    async def read_resource(self, context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        found = resource_at(str(asked.uri))
        if found is None:
            raise MCPError(code=types.INVALID_PARAMS, message="There is no such resource.")
        text, _ = await self._answer(found.tool, {"path": found.root}, context)
        contents = types.TextResourceContents(uri=asked.uri, mime_type=MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[contents])

    # --- where the client works ---------------------------------------------------------------------------------------

    async def roots_changed(self, context: Context, _: types.NotificationParams | None) -> None:
        self._asks_roots = self._follow is not None
        await self._follow_roots(context)

    async def _follow_roots(self, context: Context) -> None:
        """Ask a client once which folders it works in; without an answer in time all stays as it is."""
        follow, told = self._follow, context.session.client_capabilities
        if follow is None or told is None or told.roots is None:
            return
        # A call that comes meanwhile waits: it means the folders that are told now.
        async with self._telling:
            if not self._asks_roots:
                return
            self._asks_roots = False
            folders: list[str] = []
            with contextlib.suppress(Exception), anyio.move_on_after(_ROOTS_SECONDS):
                found = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
                folders = [path for root in found.roots[:_MOST_LISTED] if (path := folder_of(str(root.uri)))]
            if folders:
                await self._thread(lambda: follow(folders))

    # --- in threads ---------------------------------------------------------------------------------------------------

    async def _answer(self, name: str, arguments: dict[str, Any], context: Context) -> ToolReply:
        stop = threading.Event()
        teller = _Teller(context, stop)
        try:
            return await self._thread(lambda: self._calls.call(name, arguments, teller, stop.is_set))
        finally:
            # Nobody waits any more, whether it was answered or the caller has cancelled it.
            stop.set()

    async def _thread(self, work: Callable[[], T]) -> T:
        """Its result. Who is cancelled does not wait for the thread, which learns of it by itself."""
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)


class _Teller:
    """Tells whoever called how far a run is, from the thread that waits for it."""

    def __init__(self, context: Context, stop: threading.Event) -> None:
        self._context, self._stop = context, stop
        self._told = -1.0

    def __call__(self, at: Progress) -> None:
        percent = _percent(at)
        if self._stop.is_set() or percent <= self._told:
            return
        self._told = percent
        of = f" {at.done:,} of {at.total:,} files" if at.total else ""
        try:
            anyio.from_thread.run(self._context.session.report_progress, percent, 100.0, f"{at.phase.value}{of}")
        except Exception:
            # A caller that has gone is none to be told; that it has, `stop` says to whoever waits.
            return


def _percent(at: Progress) -> float:
    begin = _BEGINS[at.phase]
    end = _BEGINS[Phase.PUBLISHING] - 1 if at.phase is Phase.INDEXING else begin
    return round(begin + (end - begin) * at.fraction, 1)
