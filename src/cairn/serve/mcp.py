"""The tools as an MCP server: the official SDK carries the messages, the answers are the envelopes that everybody gets.

A host gives up on a server that is slow to say hello. So nothing is opened, and nothing heavy imported, before the
first request that needs it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from cairn.limits import SERVE_CALLS
from cairn.serve import mcp_resources, mcp_shapes
from cairn.serve.calls import Answer, Calls
from cairn.sync.report import Phase, Progress

McpServer = Server[None]
Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

NAME = "cairn"
INSTRUCTIONS = (
    "An index of this code that is brought up to date before every search. Find code with search_codebase before you "
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


def mcp_server(calls: Calls, *, version: str, structured: bool = False) -> McpServer:
    """The server, ready to be run over any transport; it closes who answers its calls when it ends."""
    face = _Face(calls, structured=structured)
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
    )


class _Face:
    """What the SDK calls. Whatever may take time is done in a thread, so that the next message is read at once."""

    def __init__(self, calls: Calls, *, structured: bool) -> None:
        self._calls, self._structured = calls, structured
        self._limiter: anyio.CapacityLimiter | None = None

    @asynccontextmanager
    async def lifespan(self, _: McpServer) -> AsyncIterator[None]:
        # The SDK's own threads read and write the pipe: calls that wait must not take their places.
        self._limiter = anyio.CapacityLimiter(SERVE_CALLS)
        try:
            yield
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await anyio.to_thread.run_sync(self._calls.close, abandon_on_cancel=True)

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = await self._thread(self._calls.tools)
        return types.ListToolsResult(tools=mcp_shapes.tools(listed, structured=self._structured))

    async def call_tool(self, context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        text, failed = await self._answer(asked.name, asked.arguments or {}, context)
        if self._structured:
            # Both at once would be read twice.
            return types.CallToolResult(content=[], structured_content=json.loads(text), is_error=failed)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=mcp_resources.templates())

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        roots = await self._thread(self._calls.roots)
        return types.ListResourcesResult(resources=mcp_resources.listed(roots))

    async def read_resource(self, context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        found = mcp_resources.asked(str(asked.uri))
        if found is None:
            raise MCPError(code=types.INVALID_PARAMS, message="There is no such resource.")
        text, _ = await self._answer(found.tool, {"path": found.root}, context)
        contents = types.TextResourceContents(uri=asked.uri, mime_type=mcp_resources.MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[contents])

    # --- in threads ---------------------------------------------------------------------------------------------------

    async def _answer(self, name: str, arguments: dict[str, Any], context: Context) -> Answer:
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
