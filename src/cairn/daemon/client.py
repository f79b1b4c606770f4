"""A connection to the daemon that several threads may ask at once.

An answer is final, whatever it says. Only a connection that ends before the answer is no answer: that is `Gone`, and
whoever asked may ask once more elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping

from cairn import __version__
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import DAEMON_DRAIN_SECONDS, DAEMON_HELLO_SECONDS, DAEMON_START_SECONDS
from cairn.daemon.address import RUN, START_LOCK, dial, patient, peer
from cairn.daemon.frames import PROTOCOL, BadFrame, hello, receive, send, settings_digest
from cairn.daemon.logs import FOLDER, log_name
from cairn.errors import DaemonFailed, StoreError
from cairn.source.programs import ProgramPath
from cairn.source.root import printable
from cairn.store import Disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Message = dict[str, Any]


_TICK_SECONDS = 0.1
# So long it may say nothing before it is asked whether it lives, and so long it has to say so.
_QUIET_SECONDS = 2.0
LEAVING = "leaving"


class Gone(Exception):
    """The daemon ended, or stopped responding, before it had answered."""


class Abandoned(Exception):
    """The caller does not wait for the answer any more."""


def connect(
    home: str, environ: Mapping[str, str], face: str, *, seconds: float = DAEMON_HELLO_SECONDS
) -> Connection | None:
    """Return a connection to the daemon; None when there is none of this version and with these settings.

    A daemon of an older version is asked to leave.
    """
    try:
        wire = dial(home, seconds)
    except OSError:
        return None
    try:
        send(wire, hello(__version__, os.getpid(), face, environ))
        reply = receive(wire) or {}
        said = reply.get("hello")
        if isinstance(said, dict) and _fits(said, environ):
            # From here on the thread that reads waits for as long as it takes.
            wire.settimeout(None)
            patient(wire)
            return Connection(wire, said)
        told = said if isinstance(said, dict) else reply.get("refused")
        if isinstance(told, dict) and is_older(told.get("version"), __version__):
            send(wire, {"id": 0, "leave": {}})
            receive(wire)
    except (OSError, BadFrame):
        pass
    wire.close()
    return None


def dismiss(wire: socket.socket, seconds: float) -> bool:
    """Ask the daemon at the other end to leave, whatever its version and settings; return whether it did in time.

    The daemon ends the connection as the last thing it does.
    """
    until = SYSTEM_CLOCK.monotonic() + seconds
    wire.settimeout(2 * _QUIET_SECONDS)
    try:
        send(wire, {"id": 0, "leave": {}})
        while receive(wire) is not None:
            if SYSTEM_CLOCK.monotonic() > until:
                return False
            SYSTEM_CLOCK.sleep(_TICK_SECONDS)
            # A client that has not said hello and says nothing else is not waited for.
            send(wire, {"ping": 0})
    except TimeoutError:
        return False
    except (OSError, BadFrame):
        # It went in the middle of a word.
        return True
    return True


def _fits(said: Message, environ: Mapping[str, str]) -> bool:
    ours = (PROTOCOL, __version__, settings_digest(environ))
    return (said.get("protocol"), said.get("version"), said.get("settings")) == ours


def is_older(version: object, than: str) -> bool:
    """Whether a version comes before another; False for a text that is no version."""
    if not isinstance(version, str) or not version[:1].isdigit():
        return False
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.partition("+")[0].split(".") if part.isascii() and part.isdigit()]


def is_final(reply: Mapping[str, Any]) -> bool:
    """Whether a reply ends a request, so that it is not repeated; only that of a leaving daemon does not."""
    if "progress" in reply or "out" in reply or "err" in reply:
        return False
    problem = reply.get("error")
    return not (isinstance(problem, dict) and problem.get("code") == LEAVING)


class Connection:
    """A connection to the daemon. Requests may overlap; they wait their turn there."""

    def __init__(self, wire: socket.socket, said: Message) -> None:
        self.pid = said.get("pid")
        self._wire = wire
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[Message | None]] = {}
        self._last = 0
        self._gone = False
        threading.Thread(target=self._read, name="cairn daemon", daemon=True).start()

    @property
    def is_gone(self) -> bool:
        return self._gone

    def request(
        self,
        kind: str,
        body: Message,
        *,
        progress: Callable[[Message], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Message:
        """Return the answer; raises `Gone` when none will come and `Abandoned` when nobody waits for it."""
        number, replies = self._begin()
        try:
            self._send({"id": number, kind: body})
            return self._answer(number, replies, progress, cancelled)
        finally:
            with self._lock:
                self._waiting.pop(number, None)

    def close(self) -> None:
        """Close the connection; every waiting caller gets `Gone`."""
        self._gone = True
        try:
            self._wire.shutdown(socket.SHUT_RDWR)
        except OSError:
            # It was gone already.
            return

    def _begin(self) -> tuple[int, queue.SimpleQueue[Message | None]]:
        with self._lock:
            if self._gone:
                raise Gone
            self._last += 1
            replies = self._waiting[self._last] = queue.SimpleQueue()
            return self._last, replies

    def _answer(
        self,
        number: int,
        replies: queue.SimpleQueue[Message | None],
        progress: Callable[[Message], None],
        cancelled: Callable[[], bool],
    ) -> Message:
        heard, asked = SYSTEM_CLOCK.monotonic(), False
        while True:
            if cancelled():
                self._send({"cancel": number})
                raise Abandoned
            try:
                reply = replies.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                quiet = SYSTEM_CLOCK.monotonic() - heard
                if quiet > 2 * _QUIET_SECONDS:
                    # It does not even say that it lives: stopped, or out of all bounds.
                    self.close()
                    raise Gone from None
                if quiet > _QUIET_SECONDS and not asked:
                    asked = True
                    self._send({"ping": number})
                continue
            heard, asked = SYSTEM_CLOCK.monotonic(), False
            if reply is None:
                raise Gone
            if "progress" in reply:
                progress(reply["progress"])
            elif "out" in reply or "err" in reply:
                progress(reply)
            elif "pong" not in reply:
                if not is_final(reply):
                    raise Gone
                return reply

    def _send(self, message: Message) -> None:
        try:
            with self._sending:
                send(self._wire, message)
        except OSError:
            self.close()
            raise Gone from None

    def _read(self) -> None:
        """Give every message to the caller that waits for it, until the end of the stream."""
        try:
            while (message := receive(self._wire)) is not None:
                number = message.get("id", message.get("pong"))
                with self._lock:
                    waiting = self._waiting.get(number) if isinstance(number, int) else None
                if waiting is not None:
                    waiting.put(message)
        except (OSError, BadFrame):
            pass
        with self._lock:
            self._gone = True
            left = list(self._waiting.values())
        self._wire.close()
        for replies in left:
            replies.put(None)


# --- Starts the daemon of a user, apart from whoever started it: it lives on when that one has gone.


_START_TICK_SECONDS = 0.02


def ensure_daemon(
    home: str,
    environ: Mapping[str, str],
    face: str,
    *,
    seconds: float = DAEMON_START_SECONDS,
    clock: Clock = SYSTEM_CLOCK,
) -> Connection | None:
    """Return a connection to the daemon, starting it when there is none; None when that fails or takes too long.

    Of many callers at once one starts the daemon, and the others wait for it.
    """
    # On a busy machine a hello can take long, and to do all by oneself takes longer.
    found = connect(home, environ, face, seconds=seconds)
    if found is not None or not nobody_listens(home):
        # One that listens but does not answer is stopped, of another version, or not ours: a second one helps nobody.
        return found
    until = clock.monotonic() + seconds
    try:
        with Disk.at(home, RUN, create=True) as disk:
            with contextlib.suppress(FileExistsError):
                disk.create_bytes(START_LOCK, b"")
            with disk.lock(START_LOCK, exclusive=True, timeout=seconds):
                if nobody_listens(home):
                    _spawn(environ)
                while nobody_listens(home) and clock.monotonic() < until:
                    clock.sleep(_START_TICK_SECONDS)
    except (OSError, StoreError):
        return None
    return connect(home, environ, face, seconds=max(DAEMON_HELLO_SECONDS, until - clock.monotonic()))


def nobody_listens(home: str) -> bool:
    """Whether there is certainly no daemon at the socket."""
    try:
        dial(home, DAEMON_HELLO_SECONDS).close()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _spawn(environ: Mapping[str, str]) -> None:
    # Its PATH comes from here, and it stands elsewhere: it is told in which repository no program may be looked for.
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    process = subprocess.Popen(  # noqa: S603 - this very program
        # Not from the folder that it is started in, whatever lies there.
        [sys.executable, "-P", "-m", "cairn", "daemon", "run", "--root", here],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**environ, **ProgramPath(environ).environ},
        start_new_session=True,
        umask=0o077,
    )
    # Its end is noticed, should it come before ours: a process that nobody asks for stays in the table for ever.
    threading.Thread(target=process.wait, name="cairn daemon's end", daemon=True).start()


# --- stopping one -----------------------------------------------------------------------------------------------------

_GRACE_SECONDS = 5.0


def stop_daemon(home: str) -> bool:
    """Whether there was a daemon, of whatever version and settings; it is gone now, or `DaemonFailed` says that not."""
    try:
        wire = dial(home, DAEMON_HELLO_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return False
    except OSError:
        raise DaemonFailed(what="does not go", log=log_of(home)) from None
    with contextlib.closing(wire):
        if not dismiss(wire, DAEMON_DRAIN_SECONDS + 2 * _GRACE_SECONDS):
            raise DaemonFailed(what=f"(process {peer(wire)[0]}) does not go", log=log_of(home))
    return True


def log_of(home: str) -> str:
    """The path of the daemon's log, as it is shown to people."""
    return printable(os.fsencode(os.path.join(home, FOLDER, log_name(home))))
