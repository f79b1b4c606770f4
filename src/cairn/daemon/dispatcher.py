"""What clients of the daemon say, and what becomes of it: a greeting, a refusal, or a request that is worked on."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cairn import __version__
from cairn.answer.envelope import error, with_hints
from cairn.answer.machine import DaemonReport, KindRow, daemon_status
from cairn.ask.gate import Status
from cairn.core.clock import Clock
from cairn.core.limits import DAEMON_LEAST_TIMES
from cairn.daemon.admission import Admission, Ticket
from cairn.daemon.client import LEAVING
from cairn.daemon.connection import ClientConnection, Message
from cairn.daemon.executor import Executor
from cairn.daemon.frames import PROTOCOL
from cairn.daemon.logs import Line, Log
from cairn.daemon.requests import BadRequest, Request, name_of, request_of
from cairn.errors import CairnError, Cancelled, DaemonBusy

# --- How many requests of each kind there were, and how long the last of them took.


_LAST = 512
_MOST_KINDS = 64
_OTHER = "other"


class Figures:
    """Counts by kind. Clients choose what they ask for, so the kinds are bounded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, kind: str, milliseconds: float, *, failed: bool) -> None:
        with self._lock:
            if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
                kind = _OTHER
            count, failures = self._counts.get(kind, (0, 0))
            self._counts[kind] = count + 1, failures + failed
            self._times.setdefault(kind, deque(maxlen=_LAST)).append(milliseconds)

    @property
    def total(self) -> int:
        with self._lock:
            return sum(count for count, _ in self._counts.values())

    def kinds(self) -> list[KindRow]:
        """Return all kinds in the order of their names."""
        with self._lock:
            found = [(kind, *self._counts[kind], sorted(self._times[kind])) for kind in sorted(self._counts)]
        return [
            KindRow(kind, count, failed, _quantile(times, 0.5), _quantile(times, 0.95))
            for kind, count, failed, times in found
        ]


def _quantile(ordered: list[float], part: float) -> float | None:
    """Return the time below which this part of the requests took; None of so few that one of them would decide it."""
    if len(ordered) < DAEMON_LEAST_TIMES:
        return None
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)


@dataclass(frozen=True, slots=True)
class House:
    """What the dispatcher can ask of the daemon around it."""

    leave: Callable[[str], None]
    is_leaving: Callable[[], bool]
    report: Callable[[], DaemonReport]
    # Why nothing can be taken just now, with the milliseconds after which that may be over; None when it can.
    refusal: Callable[[], DaemonBusy | None]
    # Something was begun that must end within so many seconds, or has just ended.
    begun: Callable[[float], None]
    ended: Callable[[], None]


class Dispatcher:
    """Hears every message of every client; each in the thread that reads for it."""

    def __init__(
        self, house: House, settings: str, executor: Executor, admission: Admission, log: Log, clock: Clock
    ) -> None:
        self.figures = Figures()
        self._house, self._settings = house, settings
        self._executor, self._admission, self._log, self._clock = executor, admission, log, clock

    def hear(self, client: ClientConnection, message: Message) -> None:
        """Answer a message, or begin to."""
        if "hello" in message:
            self._greet(client, message["hello"])
        elif "cancel" in message:
            self._cancel(client, message["cancel"])
        elif "ping" in message:
            client.send({"pong": message["ping"]})
        else:
            try:
                request = request_of(message)
            except BadRequest as problem:
                number = message.get("id")
                client.refuse(number if isinstance(number, int) else None, "bad_frame", f"{problem}.")
                return
            self._take(client, request)

    def goodbye(self, client: ClientConnection) -> None:
        """A client has gone: nobody waits for what it has asked."""
        with client.lock:
            left = list(client.tickets.values())
        for ticket in left:
            self._admission.cancel(ticket)

    def _greet(self, client: ClientConnection, said: object) -> None:
        told = said if isinstance(said, dict) else {}
        protocols = told.get("protocols")
        if not isinstance(protocols, list) or PROTOCOL not in protocols:
            self._turn_away(client, "version", f"This daemon speaks protocol {PROTOCOL}.")
        elif told.get("settings") != self._settings:
            self._turn_away(client, "settings", "This daemon was started with other settings (CAIRN_*, HOME).")
        else:
            client.face = "mcp" if told.get("face") == "mcp" else "cli"
            client.send({"hello": {"protocol": PROTOCOL, "settings": self._settings, **who_we_are()}})

    def _turn_away(self, client: ClientConnection, code: str, why: str) -> None:
        client.send({"refused": {"code": code, "message": why, **who_we_are()}})
        self._log.write(Line("client", action="hello", outcome="refused", code=code, client=client.pid))

    def _cancel(self, client: ClientConnection, number: object) -> None:
        with client.lock:
            ticket = client.tickets.get(number) if isinstance(number, int) else None
        if ticket is not None:
            self._admission.cancel(ticket)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _take(self, client: ClientConnection, request: Request) -> None:
        number = request.number
        if request.kind == "leave":
            client.send({"id": number, "leave": {"pid": os.getpid()}})
            self._house.leave("asked")
        elif not client.face:
            client.refuse(number, "bad_frame", "Say hello first.")
        elif request.kind == "status":
            client.send_text(number, "status", daemon_status(self._house.report()).to_json())
        elif self._house.is_leaving():
            client.refuse(number, LEAVING, "The daemon is about to leave.")
        else:
            self._queue(client, request)

    def _queue(self, client: ClientConnection, request: Request) -> None:
        work = _Accepted(self, client, request, self._clock.monotonic())
        # The lock is held until the ticket is noted, or an answer could come before it.
        with client.lock:
            try:
                if request.number in client.tickets:
                    raise BadRequest
                refusal = self._house.refusal()
                if refusal is not None:
                    raise refusal
                ticket = self._admission.submit(client.pid, work.do, work.give_up, request.seconds)
                client.tickets[request.number] = ticket
            except (BadRequest, DaemonBusy) as problem:
                trouble: Exception | None = problem
            else:
                trouble = None
        if isinstance(trouble, DaemonBusy) and self._house.is_leaving():
            # Its client is answered by whoever comes after it.
            client.refuse(request.number, LEAVING, "The daemon is about to leave.")
        elif isinstance(trouble, DaemonBusy):
            work.refuse(trouble)
        elif trouble is not None:
            client.refuse(request.number, "bad_frame", "A request with this id is not answered yet.")
        else:
            self._house.begun(request.seconds)

    def over(self, client: ClientConnection, request: Request, began: float, done: Line) -> None:
        """A request is answered, or given up."""
        with client.lock:
            client.tickets.pop(request.number, None)
        took = round(1000 * (self._clock.monotonic() - began), 3)
        name = name_of(request)
        self.figures.add(name, took, failed=done.code is not None)
        self._log.write(done._replace(action=name, ms=took, client=client.pid))
        self._house.ended()

    def perform(self, client: ClientConnection, request: Request, ticket: Ticket) -> tuple[Line, bytes]:
        """Do it; the line for the log and the frame of the answer."""
        return self._executor.perform(client, request, ticket)


@dataclass(frozen=True, slots=True)
class _Accepted:
    """One request from its admission to its answer, which is given once."""

    dispatcher: Dispatcher
    client: ClientConnection
    request: Request
    began: float

    def do(self, ticket: Ticket) -> None:
        line, frame = self.dispatcher.perform(self.client, self.request, ticket)
        if ticket.settle():
            self.dispatcher.over(self.client, self.request, self.began, line)
            self.client.send_frame(frame)

    def give_up(self, problem: CairnError) -> None:
        line = Line("request", outcome=Status.ERROR.value, code=problem.code)
        self.dispatcher.over(self.client, self.request, self.began, line)
        self.refuse(problem)

    def refuse(self, problem: CairnError) -> None:
        """Tell why there is no answer; to a tool as the envelope that its answer would be."""
        if isinstance(problem, Cancelled):
            # Nobody waits.
            return
        number = self.request.number
        later = problem.fields.get("retry_after_ms")
        hints: dict[str, Any] = {} if later is None else {"retryAfterMs": later}
        if self.request.kind == "tool":
            self.client.send_text(number, "envelope", with_hints(error(problem), **hints).to_json())
        else:
            self.client.refuse(number, problem.code, problem.sentence, **hints)


def who_we_are() -> Message:
    """What a daemon says of itself to everybody who says hello."""
    return {"version": __version__, "pid": os.getpid()}
