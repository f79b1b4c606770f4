"""Who answers the calls of an MCP server: the daemon while there is one, else this process by itself.

An answer of the daemon is final, whatever it says. Only when none comes is the call made once more: by a daemon that
was started in its stead, and then here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from cairn.answer.envelope import encode, error
from cairn.ask.gate import Status
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.progress import Phase, Progress, Tell
from cairn.daemon.client import Abandoned, Connection, Gone, connect, ensure_daemon
from cairn.daemon.frames import BadFrame
from cairn.errors import CairnError, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.workspace import Workspace

_FACE = "mcp"
# After a try that came to nothing the daemon is let alone for so long.
_REST_SECONDS = 5.0
# The host waits for hello, and what is heavy would be loaded beside it: so long it comes later.
_HELLO_SECONDS = 1.0


class Described(NamedTuple):
    """A tool as it is listed to agents."""

    name: str
    title: str
    description: str
    schema: dict[str, Any]
    read_only: bool
    destructive: bool
    idempotent: bool


class ToolReply(NamedTuple):
    """An envelope as JSON, and whether it tells of an error."""

    text: str
    failed: bool


class Calls(Protocol):
    """What an MCP server asks. All of it may take time, and comes from several threads."""

    def begin(self) -> None: ...

    def serve(self, folders: Sequence[str]) -> None: ...

    def tools(self) -> Sequence[Described]: ...

    def call(self, name: str, arguments: dict[str, Any], tell: Tell, cancelled: Callable[[], bool]) -> ToolReply: ...

    def roots(self) -> Sequence[str]: ...

    def close(self) -> None: ...


class InThisProcess:
    """Answers in this process, from a workspace that is opened with the first call.

    `semantic` says whether an indexer has been set up for what is served.
    """

    def __init__(self, open_workspace: Callable[[], Workspace], semantic: Callable[[], bool] = lambda: False) -> None:
        self._open, self._semantic = open_workspace, semantic
        self._served: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._workspace: Workspace | None = None
        self._closed = threading.Event()

    def begin(self) -> None:
        """Open the workspace, which catches up with what it serves: not at once, since hello is said first."""
        self._closed.wait(_HELLO_SECONDS)
        # Trouble is told to whoever calls a tool.
        with self._lock, contextlib.suppress(CairnError):
            if self._workspace is None and not self._closed.is_set():
                self._workspace = self._made()

    def serve(self, folders: Sequence[str]) -> None:
        """Serve these folders from now on."""
        with self._lock:
            self._served = tuple(folders)
            if self._workspace is not None:
                self._workspace.pool.allowed.serve(folders)

    def tools(self) -> Sequence[Described]:
        """Return all tools that are of use here."""
        from cairn.tools.table import listed  # noqa: PLC0415 - brings numpy; hello is said without it

        found = listed(semantic=self._semantic())
        return [Described(*(getattr(tool, field) for field in Described._fields)) for tool in found]

    def call(self, name: str, arguments: dict[str, Any], tell: Tell, cancelled: Callable[[], bool]) -> ToolReply:
        """Return the answer of a tool; trouble of any kind is an answer, too."""
        from cairn.tools.shield import shielded  # noqa: PLC0415 - see above
        from cairn.tools.table import call  # noqa: PLC0415

        try:
            envelope = call(self._opened(), name, arguments, progress=tell, cancelled=cancelled)
        except CairnError as problem:
            # The user's settings cannot be read, and the sentence may quote them.
            envelope = shielded(error(problem), lambda _: None)
        return ToolReply(envelope.to_json(), envelope.status is Status.ERROR)

    def roots(self) -> Sequence[str]:
        """Return the folders that may be used."""
        try:
            return self._opened().pool.allowed.roots()
        except CairnError:
            return ()

    def close(self) -> None:
        """Close the workspace, if it was opened."""
        self._closed.set()
        with self._lock:
            workspace, self._workspace = self._workspace, None
        if workspace is not None:
            workspace.close()

    def _opened(self) -> Workspace:
        with self._lock:
            if self._workspace is None:
                self._workspace = self._made()
            return self._workspace

    def _made(self) -> Workspace:
        made = self._open()
        if self._served:
            made.pool.allowed.serve(self._served)
        return made


class ThroughDaemon:
    """Asks the daemon, which is started when there is none; what it does not answer is answered by `own`."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str],
        served: Sequence[str],
        own: InThisProcess,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._home, self._environ, self._served, self._own = home, environ, list(served), own
        self._clock = clock
        self._lock = threading.Lock()
        self._daemon: Connection | None = None
        self._rests_until = 0.0

    def begin(self) -> None:
        """Have the daemon, which is started now, catch up with what is served; without one this process does."""
        if self._asked("serve", {"served": self._served}) is None:
            self._own.begin()

    def serve(self, folders: Sequence[str]) -> None:
        """Serve these folders from now on, also by the daemon."""
        self._served = list(folders)
        self._own.serve(folders)
        self._asked("serve", {"served": self._served}, start=False)

    def tools(self) -> Sequence[Described]:
        """Return all tools. No daemon is started for a list alone."""
        reply = self._asked("tools", {"served": self._served}, start=False)
        if reply is None or "tools" not in reply:
            return self._own.tools()
        return [Described(**one) for one in reply["tools"]]

    def call(self, name: str, arguments: dict[str, Any], tell: Tell, cancelled: Callable[[], bool]) -> ToolReply:
        """Return the answer of a tool: of the daemon, or else of this process."""
        body = {"name": name, "arguments": arguments, "served": self._served}
        try:
            reply = self._asked("tool", body, lambda at: tell(_progress(at)), cancelled)
        except Abandoned:
            return ToolReply(error(Cancelled()).to_json(), True)
        if reply is None or "envelope" not in reply:
            return self._own.call(name, arguments, tell, cancelled)
        envelope = reply["envelope"]
        return ToolReply(encode(envelope), envelope["status"] == Status.ERROR)

    def roots(self) -> Sequence[str]:
        """Return the folders that may be used."""
        reply = self._asked("roots", {"served": self._served})
        return self._own.roots() if reply is None or "roots" not in reply else reply["roots"]

    def close(self) -> None:
        """Leave the daemon to the others."""
        with self._lock:
            daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.close()
        self._own.close()

    def _asked(
        self,
        kind: str,
        body: dict[str, Any],
        tell: Callable[[dict[str, Any]], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
        *,
        start: bool = True,
    ) -> dict[str, Any] | None:
        """Return the reply of a daemon; None when there is none, or when a second one has gone as well."""
        for _ in range(2):
            daemon = self._met(start=start)
            if daemon is None:
                return None
            try:
                return daemon.request(kind, body, progress=tell, cancelled=cancelled)
            except Gone:
                continue
            except BadFrame:
                # More than the daemon takes: it is no more for us.
                return None
        return None

    def _met(self, *, start: bool) -> Connection | None:
        with self._lock:
            if self._daemon is not None and not self._daemon.is_gone:
                return self._daemon
            if self._clock.monotonic() < self._rests_until:
                return None
            self._daemon = (ensure_daemon if start else connect)(self._home, self._environ, _FACE)
            if self._daemon is None and start:
                self._rests_until = self._clock.monotonic() + _REST_SECONDS
            return self._daemon


def _progress(at: Mapping[str, Any]) -> Progress:
    return Progress(Phase(at["phase"]), at["done"], at["total"], at["rate"])
