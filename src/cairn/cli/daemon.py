"""`cairn daemon`: the process that keeps your codebases open, so that every question is answered at once."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from cairn import __version__
from cairn.answer.daemon import daemon_status
from cairn.answer.envelope import encode, plain
from cairn.cli.output import Output, counted, sized
from cairn.config import cairn_home, load_config, read_user_config, user_config_path
from cairn.errors import DaemonFailed
from cairn.limits import DAEMON_DRAIN_SECONDS, DAEMON_HELLO_SECONDS, DAEMON_START_SECONDS
from cairn.serve.address import dial, peer
from cairn.serve.client import Connection, Gone, connect, dismiss
from cairn.serve.frames import BadFrame, hello, receive, send
from cairn.serve.logs import FOLDER, NAME
from cairn.source.root import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.serve.desk import Desk
    from cairn.serve.requests import Emit

_FACE = "cli"
_NOT_STARTED = "could not be started; `cairn daemon run` shows why"
# Beyond the time in which it finishes what it is doing.
_GRACE_SECONDS = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn daemon`."""
    parser.add_argument(
        "action",
        choices=["start", "stop", "status", "run"],
        help="start it, stop it, see how it is, or run it here until you stop it",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Do what was asked; to start one that runs, and to stop none, is done already."""
    environ = os.environ
    home = cairn_home(environ)
    if options.action == "run":
        return _run(home, environ)
    if options.action == "start":
        return _start(home, environ, output)
    if options.action == "stop":
        return _stop(home, output)
    return _status(home, environ, output)


def _run(home: str, environ: Mapping[str, str]) -> int:
    from cairn.serve.daemon import Daemon  # noqa: PLC0415 - most verbs of most days do not need it
    from cairn.serve.listening import listening  # noqa: PLC0415
    from cairn.serve.memory import share_arenas  # noqa: PLC0415

    user = read_user_config(environ)
    settings = load_config(None, user.data, user_file=user_config_path(environ), user_alone=user.alone).serve
    os.umask(0o077)
    share_arenas()
    # One that is about to leave may take this long.
    with listening(home, wait_seconds=DAEMON_DRAIN_SECONDS + _GRACE_SECONDS) as listener:
        daemon = Daemon(environ, settings, render=_render)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: daemon.leave(signal.Signals(number).name))
        daemon.serve(listener)
    return 0


def _render(desk: Desk, body: Mapping[str, Any], emit: Emit, cancelled: Callable[[], bool]) -> int | None:
    from cairn.cli.commands import run_command  # noqa: PLC0415 - brings numpy; hello is said without it

    return run_command(desk, body, emit, cancelled)


def _start(home: str, environ: Mapping[str, str], output: Output) -> int:
    from cairn.serve.starting import ensure_daemon  # noqa: PLC0415 - see above

    found = ensure_daemon(home, environ, _FACE, seconds=2 * DAEMON_START_SECONDS)
    if found is None:
        raise DaemonFailed(what=_stranger(home, environ) or _NOT_STARTED, log=_log(home))
    return _show(found, output)


def _stop(home: str, output: Output) -> int:
    if not stop(home):
        output.note("There is no daemon.")
    if output.json:
        output.line(daemon_status(None).to_json())
    return 0


def stop(home: str) -> bool:
    """Whether there was a daemon, of whatever version and settings; it is gone now, or `DaemonFailed` says that not."""
    try:
        wire = dial(home, DAEMON_HELLO_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return False
    except OSError:
        raise DaemonFailed(what="does not go", log=_log(home)) from None
    with contextlib.closing(wire):
        if not dismiss(wire, DAEMON_DRAIN_SECONDS + 2 * _GRACE_SECONDS):
            raise DaemonFailed(what=f"(process {peer(wire)[0]}) does not go", log=_log(home))
    return True


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
    """What is to be said of a daemon that does not speak with us; None when nobody listens."""
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
        raise DaemonFailed(what="went before it had answered", log=_log(cairn_home(os.environ))) from None
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
        output.note(f"  {kind['kind']}: {kind['count']:,}, p50 {kind['p50Ms']} ms, p95 {kind['p95Ms']} ms")
    for root in status["roots"]:
        output.note(f"  {printable(os.fsencode(root['root']))}{': ' + root['run'] if root['run'] else ''}")
    return 0


def _log(home: str) -> str:
    return printable(os.fsencode(os.path.join(home, FOLDER, NAME)))
