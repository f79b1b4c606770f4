"""Where the daemon's requests are done: the workspace with the open codebases, and whoever watches their files.

All of it is heavy, so it is loaded beside the first hello, not before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from cairn.answer.machine import RootRow
from cairn.answer.runs import failed_run
from cairn.ask.gate import Status
from cairn.core.clock import Clock
from cairn.core.config import cairn_home
from cairn.core.limits import MAX_FRAME_RESPONSE_BYTES
from cairn.daemon.admission import Ticket
from cairn.daemon.connection import ClientConnection, text_frame
from cairn.daemon.frames import encode
from cairn.daemon.logs import Line, Log
from cairn.daemon.memory import give_back
from cairn.daemon.requests import Render, Request, progress_message
from cairn.errors import CairnError, Cancelled
from cairn.sync.codebase import open_codebase, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.runs import Run
    from cairn.ask.whereabouts import Whereabouts
    from cairn.core.progress import Progress
    from cairn.sync.report import Gap
    from cairn.tools.table import Tool
    from cairn.watch.watcher import WatchedWorkspace

Done = tuple[Line, bytes]


class Executor:
    """The workspace, opened when it is first needed."""

    def __init__(
        self, environ: Mapping[str, str], clock: Clock, log: Log, render: Render, *, auto_watch: bool = True
    ) -> None:
        self._environ, self._clock, self._log, self._render = environ, clock, log, render
        self._auto_watch = auto_watch
        self._lock = threading.Lock()
        self._workspace: WatchedWorkspace | None = None
        self._closed = False
        self._ways: dict[str, Callable[[ClientConnection, Request, Ticket], Done]] = {
            "tool": self._tool,
            "tools": self._tools,
            "roots": self._roots,
            "serve": self._serve,
            "command": self._command,
        }

    def workspace(self) -> WatchedWorkspace:
        """The workspace of all clients; `Cancelled` when it is closed for good."""
        with self._lock:
            if self._closed:
                raise Cancelled
            if self._workspace is None:
                from cairn.ask.allowed import Allowed  # noqa: PLC0415 - brings numpy; hello is said without it
                from cairn.watch.watcher import WatchedWorkspace  # noqa: PLC0415

                workspace = WatchedWorkspace(
                    self._environ,
                    Allowed(self._environ),
                    self._clock,
                    auto_watch=self._auto_watch,
                    found=self._note_gap,
                )
                workspace.runs.observe = self._note
                self._workspace = workspace
            return self._workspace

    def warm_up(self) -> None:
        """Load what the first request needs, before it comes; then catch up with what was used lately."""
        try:
            workspace = self.workspace()
            import_module("cairn.tools.table")
            workspace.serve_recent(lambda: self._closed)
        except CairnError:
            # Settings that cannot be read, which whoever asks is told.
            return

    def perform(self, client: ClientConnection, request: Request, ticket: Ticket) -> Done:
        """Do what is asked for: the line for the log, and the frame of the answer."""
        return self._ways[request.kind](client, request, ticket)

    def is_at_work(self) -> bool:
        """Whether a run goes on."""
        with self._lock:
            return self._workspace is not None and bool(self._workspace.runs.at_work())

    def roots(self) -> list[RootRow]:
        """The codebases whose files are watched or written."""
        with self._lock:
            workspace = self._workspace
        if workspace is None:
            return []
        runs = {run.root: run.action.value for run in workspace.runs.at_work()}
        watched = workspace.watching.state()
        rows = []
        for root in sorted({*runs, *watched}):
            stands = _stands(workspace, root)
            state, failed = (None, None) if stands is None else (stands.state.value, failed_run(stands))
            rows.append(RootRow(root, watched.get(root), runs.get(root), state, failed))
        return rows

    def shed(self) -> None:
        """Let go of whatever can be made again."""
        with self._lock:
            workspace = self._workspace
        if workspace is not None:
            workspace.pool.shed()
        give_back()

    def close(self) -> None:
        """Stop watching, stop the runs, close what is open."""
        with self._lock:
            self._closed = True
            workspace, self._workspace = self._workspace, None
        if workspace is not None:
            workspace.close()

    # --- kinds of requests --------------------------------------------------------------------------------------------

    def _tool(self, client: ClientConnection, request: Request, ticket: Ticket) -> Done:
        from cairn.tools.table import call  # noqa: PLC0415 - see above

        def tell(at: Progress) -> None:
            if not ticket.cancelled():
                client.send({"id": request.number, "progress": progress_message(at)})

        body = request.body
        view = self.workspace().serving(body.get("served", []))
        envelope = call(view, body["name"], body.get("arguments", {}), progress=tell, cancelled=ticket.cancelled)
        code = dict(envelope.body)["error"]["code"] if envelope.status is Status.ERROR else None
        line = Line("request", envelope.root, outcome=envelope.status.value, code=code)
        return line, text_frame(request.number, "envelope", envelope.to_json())

    def _tools(self, _: ClientConnection, request: Request, __: Ticket) -> Done:
        from cairn.tools.searching import is_set_up  # noqa: PLC0415 - see above
        from cairn.tools.table import listed  # noqa: PLC0415

        view = self.workspace().serving(request.body.get("served", []))
        return _plain(request, [_described(tool) for tool in listed(semantic=is_set_up(view.pool))])

    def _roots(self, _: ClientConnection, request: Request, __: Ticket) -> Done:
        return _plain(request, list(self.workspace().serving(request.body.get("served", [])).pool.allowed.roots()))

    def _serve(self, _: ClientConnection, request: Request, __: Ticket) -> Done:
        """Begin with the folders that are served to a client, as far as they may be used."""
        workspace = self.workspace()
        begun = workspace.serving(request.body.get("served", [])).pool.allowed.served_roots()
        workspace.serve(begun)
        return _plain(request, list(begun))

    def _command(self, client: ClientConnection, request: Request, ticket: Ticket) -> Done:
        number = request.number

        def emit(kind: str, text: str) -> None:
            if ticket.cancelled():
                raise Cancelled
            client.send({"id": number, kind: text})

        workspace, roots = self.workspace(), [""]

        def used(root: str) -> None:
            roots.append(root)
            workspace.pool.used(root)

        view = workspace.serving(())
        view.pool.used = used
        status = self._render(view, request.body, emit, ticket.cancelled)
        outcome = "direct" if status is None else f"exit {status}"
        reply: dict[str, object] = {"direct": "Run it yourself."} if status is None else {"exit": status}
        return Line("request", roots[-1] or None, outcome=outcome), encode({"id": number, **reply})

    def _note_gap(self, root: str, gap: Gap) -> None:
        """A comparing over everything has found something to do."""
        self._log.write(Line("catch_up", root, action="compare", outcome=gap.sentence))

    def _note(self, run: Run) -> None:
        """A run has begun, or is over."""
        outcome = run.error.code if run.error is not None else "done" if run.report is not None else "begun"
        took = None if outcome == "begun" else round(1000 * (self._clock.monotonic() - run.began), 3)
        store = place_of(run.codebase, cairn_home(self._environ)).store_id
        self._log.write(Line("run", run.root, store, run.action.value, outcome, ms=took))


def _stands(workspace: WatchedWorkspace, root: str) -> Whereabouts | None:
    """Return where a codebase stands; None when that cannot be told."""
    from cairn.ask.session import Target  # noqa: PLC0415 - brings numpy; hello is said without it
    from cairn.ask.whereabouts import where  # noqa: PLC0415

    try:
        codebase = open_codebase(root, workspace.pool.environ, with_tracked=False)
        return where(workspace.pool.status(Target(root, codebase), measured=False))
    except (CairnError, OSError):
        return None


def _plain(request: Request, answer: object) -> Done:
    return Line("request", outcome="ok"), encode({"id": request.number, request.kind: answer}, MAX_FRAME_RESPONSE_BYTES)


def _described(tool: Tool) -> dict[str, Any]:
    return {field.name: getattr(tool, field.name) for field in fields(tool) if field.name != "handler"}
