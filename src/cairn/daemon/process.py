"""The daemon: one process of a user that keeps codebases open and answers all who ask, whatever one of them sends.

One thread accepts, one reads for each client, a few work, and one keeps house: it ends what has had its time, looks at
the memory, and leaves when nobody has asked for long.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Mapping

from cairn import __version__
from cairn.answer.machine import DaemonReport
from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.config import ServeConfig, cairn_home
from cairn.core.limits import DAEMON_CLIENTS, DAEMON_DRAIN_SECONDS, MIB
from cairn.daemon.address import peer, socket_id
from cairn.daemon.admission import Admission
from cairn.daemon.connection import ClientConnection
from cairn.daemon.dispatcher import Dispatcher, House, who_we_are
from cairn.daemon.executor import Executor
from cairn.daemon.frames import settings_digest
from cairn.daemon.logs import Line, Log
from cairn.daemon.memory import Ceiling, Pressure, open_handles, own_memory
from cairn.daemon.requests import Render
from cairn.errors import DaemonBusy

_LOOK_SECONDS = 5.0
# Memory is looked at after requests too, but not after each of a hundred in a row.
_LEAST_LOOK_SECONDS = 1.0
_NO_MEMORY_MS = 2_000


class Daemon:
    """Everything that is served, from the first client to the last."""

    def __init__(
        self,
        environ: Mapping[str, str],
        settings: ServeConfig | None = None,
        clock: Clock = SYSTEM_CLOCK,
        *,
        held: Callable[[], int] = own_memory,
        user_of: Callable[[socket.socket], tuple[int, int]] = peer,
        render: Render = lambda *_: None,
    ) -> None:
        settings = settings or ServeConfig()
        self._clock, self._idle_seconds, self._user_of = clock, settings.idle_seconds, user_of
        self._home = cairn_home(environ)
        self._socket = socket_id(self._home)
        self._began = self._used = clock.monotonic()
        self._began_at = rfc3339(clock.wall_ns())
        self._log = Log(self._home, environ, clock)
        self._admission = Admission(clock)
        self._executor = Executor(environ, clock, self._log, render, auto_watch=settings.auto_watch)
        self._ceiling = Ceiling(settings.memory_mib * MIB, self._executor.shed, held=held)
        house = House(self.leave, self._is_leaving, self.report, self._refusal, self._expect, self._ended)
        self._dispatcher = Dispatcher(
            house, settings_digest(environ), self._executor, self._admission, self._log, clock
        )
        self._lock = threading.Lock()
        self._clients: set[ClientConnection] = set()
        self._nudged, self._looked = threading.Event(), 0.0
        self._why = ""
        self._wake, self._woken = socket.socketpair()

    def serve(self, listener: socket.socket) -> None:
        """Serve until it is time to leave; then finish what was begun, and let go of everything."""
        self._log.write(Line("daemon", action="start", outcome=__version__))
        for work in (self._keep_house, self._executor.warm_up):
            threading.Thread(target=work, name="cairn house", daemon=True).start()
        try:
            self._accept(listener)
        finally:
            # From now on nobody is met; the lock is let go of when all has ended.
            listener.close()
            self._end()

    def leave(self, why: str) -> None:
        """Begin to leave. What is being answered is answered."""
        with self._lock:
            first, self._why = not self._why, self._why or why
        if first:
            self._nudged.set()
            with contextlib.suppress(OSError):
                self._wake.send(b"x")

    def report(self) -> DaemonReport:
        """How things stand."""
        with self._lock:
            clients = len(self._clients)
        load = self._admission.load()
        figures = self._dispatcher.figures
        return DaemonReport(
            pid=os.getpid(),
            version=__version__,
            started_at=self._began_at,
            uptime_seconds=round(self._clock.monotonic() - self._began, 1),
            requests=figures.total,
            kinds=tuple(figures.kinds()),
            running=load.running,
            queued=load.queued,
            refused=load.refused,
            clients=clients,
            handles=open_handles(),
            memory_bytes=own_memory(),
            ceiling_bytes=self._ceiling.most,
            sheds=self._ceiling.sheds,
            log_lines_lost=self._log.lost,
            roots=tuple(self._executor.roots()),
        )

    # --- clients ------------------------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket) -> None:
        waiting = select.poll()
        waiting.register(listener, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        listener.setblocking(False)
        while not self._why:
            waiting.poll()
            try:
                wire, _ = listener.accept()
            except BlockingIOError:
                continue
            except OSError:
                if listener.fileno() < 0:
                    return
                # Out of descriptors: those who are here are served, and who waits is met when one has gone.
                self._clock.sleep(0.1)
                continue
            self._meet(wire)

    def _meet(self, wire: socket.socket) -> None:
        try:
            pid, uid = self._user_of(wire)
            if uid != os.geteuid():
                # To another user not a word.
                wire.close()
                self._log.write(Line("client", action="connect", outcome="refused", code="other_user", client=pid))
                return
            wire.setblocking(True)
            client = ClientConnection(wire, pid)
        except OSError:
            wire.close()
            return
        with self._lock:
            room = len(self._clients) < DAEMON_CLIENTS
            if room:
                self._clients.add(client)
        if room:
            threading.Thread(target=self._entertain, args=(client,), name="cairn client", daemon=True).start()
        else:
            client.send({"refused": {"code": "busy", "message": "There are too many clients.", **who_we_are()}})
            client.release()

    def _entertain(self, client: ClientConnection) -> None:
        try:
            client.read(self._dispatcher.hear)
        finally:
            self._dispatcher.goodbye(client)
            with self._lock:
                self._clients.discard(client)
            client.release()

    # --- the house ----------------------------------------------------------------------------------------------------

    def _keep_house(self) -> None:
        while not self._why:
            wait = _LOOK_SECONDS
            try:
                wait = min(_LOOK_SECONDS, self._idle_seconds, self._look_around())
            except Exception:
                # A look that fails is made again: without this thread no request would ever end by its deadline.
                self._log.write(Line("daemon", action="look", outcome="failed"))
            self._nudged.wait(wait)
            self._nudged.clear()

    def _look_around(self) -> float:
        """End what has had its time, shed what is too much, leave when nobody asks; when to look again."""
        soonest = self._admission.expire()
        now = self._clock.monotonic()
        if now - self._looked >= _LEAST_LOOK_SECONDS:
            self._looked = now
            self._look_at_memory()
        if socket_id(self._home) != self._socket:
            # Somebody has removed the folder it was in: no command can find us, nor tell us to go.
            self.leave("lost")
        if now - self._used >= self._idle_seconds and not self._executor.is_at_work():
            self.leave("idle")
        return _LOOK_SECONDS if soonest is None else soonest

    def _look_at_memory(self) -> None:
        pressure = self._ceiling.look()
        if pressure is not Pressure.NONE:
            self._log.write(Line("memory", action="shed", outcome=pressure.value, bytes=own_memory()))
        if pressure is Pressure.LEAVE:
            self.leave("memory")

    def _is_leaving(self) -> bool:
        return bool(self._why)

    def _refusal(self) -> DaemonBusy | None:
        if self._ceiling.is_full:
            most = self._ceiling.most // MIB
            return DaemonBusy(why=f"its {most} MiB of memory (memory_mib) are used up", retry_after_ms=_NO_MEMORY_MS)
        return None

    def _expect(self, seconds: float) -> None:
        self._used = self._clock.monotonic()
        if seconds < _LOOK_SECONDS:
            # Its time is over before the next look would come by itself.
            self._nudged.set()

    def _ended(self) -> None:
        self._used = self._clock.monotonic()
        if self._used - self._looked >= _LEAST_LOOK_SECONDS:
            self._nudged.set()

    def _end(self) -> None:
        done = self._admission.close(DAEMON_DRAIN_SECONDS)
        outcome = "drained" if done else "cut off"
        # Whatever one of these does, the others are done: clients learn by the end of their connection that we left.
        with contextlib.ExitStack() as last_first:
            last_first.callback(self._log.close)
            last_first.callback(self._log.write, Line("daemon", action="leave", outcome=outcome, code=self._why))
            last_first.callback(self._executor.close)
            # All answers are out: nobody waits for what is let go of now.
            last_first.callback(self._dismiss)

    def _dismiss(self) -> None:
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.close()
        self._wake.close()
        self._woken.close()
