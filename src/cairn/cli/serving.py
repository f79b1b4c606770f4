"""Keep codebases open and serve them: `cairn daemon` in the background, `cairn watch`, and `cairn mcp` for agents."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from cairn import __version__
from cairn.answer.envelope import encode
from cairn.answer.machine import daemon_status
from cairn.ask.gate import gate_error
from cairn.ask.whereabouts import FailedRun
from cairn.cli.index import notes, summary
from cairn.cli.output import Output, ReaderGone, counted, sized
from cairn.core.config import DAEMON_OFF, ServeConfig, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.limits import DAEMON_DRAIN_SECONDS, DAEMON_HELLO_SECONDS, DAEMON_START_SECONDS
from cairn.core.text import lasting, plain
from cairn.daemon.address import dial, peer
from cairn.daemon.client import Connection, Gone, connect, ensure_daemon, log_of, stop_daemon
from cairn.daemon.frames import BadFrame, hello, receive, send
from cairn.errors import AnswerUnwritable, CairnError, DaemonFailed, McpMissing, NotIndexed, UsageError
from cairn.source.programs import bar_programs_of
from cairn.source.root import find_root, printable
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.report import RunReport
from cairn.sync.status import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.runs import Run
    from cairn.ask.workspace import Workspace
    from cairn.daemon.requests import Emit
    from cairn.mcp.calls import Calls
    from cairn.mcp.server import McpServer
    from cairn.sync.report import Gap
    from cairn.watch.watcher import WatchedWorkspace


_GRACE_SECONDS = 5.0
_FACE = "cli"
_NOT_STARTED = "could not be started; `cairn daemon run` shows why"


def configure_daemon(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn daemon`."""
    parser.add_argument(
        "action",
        choices=["start", "stop", "status", "run"],
        help="start it, stop it, see how it is, or run it here until you stop it",
    )


def run_daemon(options: argparse.Namespace, output: Output) -> int:
    """Start, stop, show or run the daemon; starting one that runs, or stopping none, is no error."""
    environ = os.environ
    home = cairn_home(environ)
    if options.action == "run":
        # Whoever started it may have its PATH from a codebase that is never asked about here.
        for root in options.root or ["."]:
            bar_programs_of(root)
        return _run(home, environ)
    if options.action == "start":
        return _start(home, environ, options.root or [], output)
    if options.action == "stop":
        return _stop(home, output)
    return _status(home, environ, output)


def _run(home: str, environ: Mapping[str, str]) -> int:
    from cairn.daemon.listening import listening  # noqa: PLC0415
    from cairn.daemon.memory import share_arenas  # noqa: PLC0415
    from cairn.daemon.process import Daemon  # noqa: PLC0415 - most verbs of most days do not need it

    user = read_user_config(environ)
    settings = load_config(None, user.data, user_file=user_config_path(environ), user_alone=user.alone).serve
    os.umask(0o077)
    share_arenas()
    # A daemon that is about to end may take this long.
    with listening(home, wait_seconds=DAEMON_DRAIN_SECONDS + _GRACE_SECONDS) as listener:
        daemon = Daemon(environ, settings, render=_render)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: daemon.leave(signal.Signals(number).name))
        daemon.serve(listener)
    return 0


def _render(workspace: Workspace, body: Mapping[str, Any], emit: Emit, cancelled: Callable[[], bool]) -> int | None:
    from cairn.cli.commands import run_command  # noqa: PLC0415 - brings numpy; hello is said without it

    return run_command(workspace, body, emit, cancelled)


def _start(home: str, environ: Mapping[str, str], served: Sequence[str], output: Output) -> int:
    roots = [find_root(root).path for root in served]
    if len(roots) == 1:
        _refuse_other_model(roots[0])
    found = ensure_daemon(home, environ, _FACE, seconds=2 * DAEMON_START_SECONDS)
    if found is None:
        raise DaemonFailed(what=_stranger(home, environ) or _NOT_STARTED, log=log_of(home))
    if roots:
        with contextlib.suppress(Gone):
            found.request("serve", {"served": roots})
    return _show(found, output)


def _stop(home: str, output: Output) -> int:
    if not stop_daemon(home):
        output.note("There is no daemon.")
    if output.json:
        output.line(daemon_status(None).to_json())
    return 0


def _status(home: str, environ: Mapping[str, str], output: Output) -> int:
    found = connect(home, environ, _FACE)
    if found is not None:
        return _show(found, output)
    stranger = _stranger(home, environ)
    told = f"The daemon {stranger}. Commands from here read the index by themselves." if stranger else ""
    if output.json:
        output.line(daemon_status(None, (told,) if told else ()).to_json())
    else:
        output.line(told or "There is no daemon that answers; `cairn daemon start` starts one.")
    return 0


def _stranger(home: str, environ: Mapping[str, str]) -> str | None:
    """Return what to say about a daemon that this process cannot use; None when nobody listens."""
    try:
        wire = dial(home, DAEMON_HELLO_SECONDS)
    except OSError:
        return None
    said = None
    with contextlib.closing(wire):
        who = f"(process {peer(wire)[0]})"
        with contextlib.suppress(OSError, BadFrame):
            send(wire, hello(__version__, os.getpid(), _FACE, environ))
            reply = receive(wire) or {}
            said = reply.get("refused") or reply.get("hello")
    if not isinstance(said, dict):
        return f"{who} does not answer"
    if said.get("version") != __version__:
        return f"{who} is of version {plain(str(said.get('version')))}; `cairn daemon stop` ends it"
    return f"{who} was started with other settings (a CAIRN_* variable or HOME); `cairn daemon stop` ends it"


def _show(daemon: Connection, output: Output) -> int:
    try:
        status: dict[str, Any] = daemon.request("status", {})["status"]
    except Gone:
        raise DaemonFailed(what="went before it had answered", log=log_of(cairn_home(os.environ))) from None
    finally:
        daemon.close()
    if output.json:
        output.line(encode(status))
        return 0
    facts, memory = status["daemon"], status["daemon"]["memory"]
    output.line(f"The daemon runs: process {facts['pid']}, version {facts['version']}, since {facts['startedAt']}.")
    output.note(
        f"{counted(facts['requests'], 'request')}, {facts['runningRequests']} running,"
        f" {facts['queuedRequests']} waiting;"
        f" {counted(facts['clients'], 'client')}, {counted(facts['openHandles'], 'open handle')},"
        f" {sized(memory['rssAnonBytes'])} of {sized(memory['ceilingBytes'])}."
    )
    for kind in status["kinds"]:
        times = "" if kind["p50Ms"] is None else f", p50 {kind['p50Ms']} ms, p95 {kind['p95Ms']} ms"
        output.note(f"  {kind['kind']}: {kind['count']:,}{times}")
    for root in status["roots"]:
        said = ", ".join(filter(None, [root["state"], root["run"]]))
        output.note(f"  {printable(os.fsencode(root['root']))}{': ' + said if said else ''}")
        if root["lastRun"]:
            output.note(f"    {FailedRun.told(root['lastRun']).sentence}")
    return 0


# --- `cairn watch`: catch up with the files of one codebase, then keep its index up to date until Ctrl-C.


_LOOK_SECONDS = 0.1
# How soon the command notices that nothing is left to watch.
_STILL_SECONDS = 1.0


def configure_watch(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn watch` has only the options that all commands have."""


def run_watch(options: argparse.Namespace, output: Output) -> int:
    """Watch until the user stops it, the index is cleared, or the folder is gone."""
    codebase = open_codebase(options.root, os.environ)
    from cairn.ask.allowed import Allowed  # noqa: PLC0415 - brings numpy; a wrong root is told before
    from cairn.ask.refusing import refuse_other_model  # noqa: PLC0415
    from cairn.ask.whereabouts import where  # noqa: PLC0415
    from cairn.watch.watcher import WatchedWorkspace  # noqa: PLC0415

    root, home = codebase.root.path, cairn_home(os.environ)
    refuse_other_model(codebase, home)
    shown = _WatchLines(options, output, codebase)
    workspace = WatchedWorkspace(
        os.environ, Allowed(os.environ, [root]), roots=[root], create=True, told=shown.run, found=shown.gap
    )
    try:
        while True:
            _catch_up(workspace, root, output)
            watched = root in workspace.watching.state()
            if watched:
                output.note(f"{_how(workspace, root)} {printable(os.fsencode(root))}; Ctrl-C stops it.")
                output.stderr.flush()
                while not shown.cleared.wait(_STILL_SECONDS) and root in workspace.watching.state():
                    pass
            if shown.trouble is not None:
                raise shown.trouble
            # This raises the error of a folder that is gone.
            gate = where(look(open_codebase(root, os.environ), home)).gate
            if not (watched and gate.is_open):
                raise gate_error(gate, printable(os.fsencode(root)))
            # The folder was gone for a while, and exists again.
            workspace.watching.add(root, create=True)
    except KeyboardInterrupt:
        # Ctrl-C is how the user ends the command.
        return 0
    finally:
        workspace.close()


def _catch_up(workspace: WatchedWorkspace, root: str, output: Output) -> None:
    """Show the progress of the first comparison, until it is over."""
    progress = output.progress()
    try:
        while not workspace.watching.caught_up(root, _LOOK_SECONDS):
            going = workspace.runs.active(root)
            if going is not None and going.progress is not None:
                progress.tell(going.progress)
    finally:
        progress.done()


def _how(workspace: WatchedWorkspace, root: str) -> str:
    state = workspace.watching.state()[root]
    if state["mode"] == "watching":
        return "Watching"
    why, period = plain(state["why"] or ""), lasting(state["everySeconds"])
    return f"Changes cannot be heard here ({why}). Every {period} Cairn compares"


class _WatchLines:
    """Prints what runs find and do."""

    def __init__(self, options: argparse.Namespace, output: Output, codebase: Codebase) -> None:
        self._options, self._output, self._codebase = options, output, codebase
        self.cleared = threading.Event()
        # Why nothing more can be printed.
        self.trouble: Exception | None = None

    def gap(self, _: str, gap: Gap) -> None:
        self._output.note(gap.sentence)
        self._output.stderr.flush()

    def run(self, ended: Run) -> None:
        """Print what became of a run. Where that cannot be read any more, there is no reason to watch."""
        try:
            self._print(ended)
        except (ReaderGone, AnswerUnwritable) as problem:
            self.trouble = problem
            self.cleared.set()

    def _print(self, ended: Run) -> None:
        from cairn.answer.runs import run_envelope  # noqa: PLC0415

        output, report = self._output, ended.report
        if isinstance(ended.error, NotIndexed):
            self.cleared.set()
        elif ended.error is not None:
            output.note(f"{output.styled('note: ', 'yellow', output.stderr)}{plain(ended.error.sentence)}")
        elif isinstance(report, RunReport) and report.published:
            if self._options.json:
                output.line(
                    run_envelope(
                        self._options.root, self._codebase.root.path, report, warnings=self._codebase.config.warnings
                    ).to_json()
                )
            else:
                output.line(summary(report, "sync"))
                notes(report, (), output)
        output.stdout.flush()
        output.stderr.flush()


# --- `cairn mcp`: the tools for coding agents, over stdin and stdout or over HTTP.


_PORT = 8717
_MOST_PORT = 65_535


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn mcp`."""
    parser.add_argument("--http", action="store_true", help="serve over HTTP on this machine, for those with the token")
    parser.add_argument("--port", type=int, default=None, metavar="N", help=f"the port for --http (default: {_PORT})")
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="lines that agents read, or envelopes that have schemas",
    )
    parser.add_argument(
        "--structured", action="store_true", help="answer with structured content and schemas besides the text"
    )


def run_mcp(options: argparse.Namespace, output: Output) -> int:
    """Serve until the agent ends, or the user stops it."""
    # Read the parent's id first: loading the rest takes a second, in which the agent may end.
    host = os.getppid()
    if options.port is not None and not (options.http and 0 <= options.port <= _MOST_PORT):
        raise UsageError(problem=f"--port takes a number up to {_MOST_PORT}, together with --http.")
    # A missing folder is reported now; whether it may be served, and all else, when it is asked about.
    roots = [find_root(root).path for root in options.root or ["."]]
    for root in roots:
        bar_programs_of(root)
    if len(roots) == 1:
        _refuse_other_model(roots[0])
    try:
        from cairn.mcp.server import Form, mcp_server  # noqa: PLC0415 - an extra that most installs do without
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] in {"mcp", "mcp_types", "anyio"}:
            raise McpMissing from None
        raise
    if not os.environ.get("CAIRN_DEBUG"):
        # The logs of the libraries may hold what was asked and answered.
        logging.disable(logging.CRITICAL)
    calls = _calls(roots, options)
    # What the user has named stays; over HTTP there are several clients.
    follow = None if options.root or options.http else lambda folders: _follow(calls, folders)
    server = mcp_server(
        calls, version=__version__, structured=options.structured, form=Form(options.format), follow=follow
    )
    if options.http:
        return _over_http(server, _PORT if options.port is None else options.port, output)
    return _over_stdio(server, host, output)


def _follow(calls: Calls, folders: Sequence[str]) -> None:
    """Serve the codebases that a client works in."""
    roots = []
    for folder in folders:
        with contextlib.suppress(CairnError):
            roots.append(find_root(folder).path)
    for root in roots:
        bar_programs_of(root)
    if roots:
        calls.serve(roots)


def _refuse_other_model(root: str) -> None:
    """Refuse to serve a single codebase whose index has another model; wrong settings are reported when it is asked."""
    from cairn.ask.refusing import refuse_other_model  # noqa: PLC0415 - only then

    try:
        codebase = open_codebase(root, os.environ)
    except CairnError:
        return
    refuse_other_model(codebase, cairn_home(os.environ))


def _calls(roots: list[str], options: argparse.Namespace) -> Calls:
    """Return who answers: the daemon, unless the user wants none or the settings cannot be read."""
    from cairn.mcp.calls import InThisProcess, ThroughDaemon  # noqa: PLC0415 - see above

    settings = ServeConfig()
    own = InThisProcess(lambda: _workspace(roots, settings), lambda: _is_indexed(roots))
    try:
        user = read_user_config(os.environ)
        path = user_config_path(os.environ)
        settings = load_config(None, user.data, user_file=path, user_alone=user.alone).serve
        home = cairn_home(os.environ)
    except CairnError:
        # The error is reported when a tool is called.
        return own
    if options.offline or settings.daemon == DAEMON_OFF:
        return own
    return ThroughDaemon(home, os.environ, roots, own)


def _workspace(roots: list[str], settings: ServeConfig) -> Workspace:
    from cairn.ask.allowed import Allowed  # noqa: PLC0415 - brings numpy; hello is said without it
    from cairn.watch.watcher import WatchedWorkspace  # noqa: PLC0415

    allowed = Allowed(os.environ, roots)
    return WatchedWorkspace(os.environ, allowed, roots=allowed.served_roots(), auto_watch=settings.auto_watch)


def _is_indexed(roots: list[str]) -> bool:
    """Whether an indexer has been set up for one of the served codebases."""
    from cairn.semantic.database import (  # noqa: PLC0415 - only a list of tools needs it
        SemanticDatabase,
        has_contexts,
    )

    return any(has_contexts(SemanticDatabase(cairn_home(os.environ), root)) for root in roots)


def _over_stdio(server: McpServer, host: int, output: Output) -> NoReturn:
    from cairn.mcp.stdio import serve_stdio  # noqa: PLC0415 - see above

    if sys.stdin.isatty():
        output.note("This is for coding agents: they start it and speak to it over stdin (`cairn install`).")
    serve_stdio(server, host)


def _over_http(server: McpServer, port: int, output: Output) -> int:
    from cairn.mcp.http import (  # noqa: PLC0415
        serve_http,
        token_of,
        token_path,
    )

    def ready(address: str) -> None:
        where = printable(os.fsencode(token_path(os.environ)))
        output.note(f"Serving {address}; send `Authorization: Bearer` and what {where} holds. Ctrl-C stops it.")
        output.stderr.flush()

    try:
        serve_http(server, token_of(os.environ), port, ready)
    except KeyboardInterrupt:
        # Ctrl-C is how the user ends a server.
        return 0
    return 0
