"""Decide which request is served next: a few at once, a queue, a share for each client, a deadline for all.

Clients take turns, and only so many requests of one are worked on at once: a client with many waits for itself. A
request waits for as long as its caller has time; only where the queue is full it is refused at once, with the time to
come again. A request is answered once: by its result, or because it was cancelled or its time was over.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import DAEMON_CALLS, DAEMON_CALLS_PER_CLIENT, DAEMON_QUEUE, DAEMON_QUEUE_PER_CLIENT
from cairn.errors import CairnError, Cancelled, DaemonBusy, DeadlinePassed

Work = Callable[["Ticket"], None]
_RETRY_MS = 500


class Ticket:
    """One admitted request. `cancelled` is for the code that works on it: true as soon as nobody waits."""

    def __init__(self, client: Hashable, work: Work, give_up: Callable[[CairnError], None], until: float) -> None:
        self.client, self.until = client, until
        self.running = False
        self._work, self._give_up = work, give_up
        self._lock = threading.Lock()
        self._over = False

    def cancelled(self) -> bool:
        return self._over

    def settle(self) -> bool:
        """Whether the caller is the one to answer this request; True once."""
        with self._lock:
            was, self._over = self._over, True
            return not was

    def end(self, why: CairnError) -> None:
        """Give the request up, unless it was answered."""
        if self.settle():
            self._give_up(why)

    def run(self) -> None:
        if not self._over:
            self._work(self)


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """How many requests are queued and running."""

    running: int
    queued: int
    refused: int


class Admission:
    """The queue of requests before a few worker threads.

    Of one client `each` are worked on at once, and at most `line` wait.
    """

    def __init__(
        self,
        clock: Clock = SYSTEM_CLOCK,
        *,
        at_once: int = DAEMON_CALLS,
        queue: int = DAEMON_QUEUE,
        each: int = DAEMON_CALLS_PER_CLIENT,
        line: int = DAEMON_QUEUE_PER_CLIENT,
    ) -> None:
        self._clock, self._at_once, self._queue, self._each, self._line = clock, at_once, queue, each, line
        self._changed = threading.Condition()
        # The first client in order is the next one.
        self._waiting: dict[Hashable, deque[Ticket]] = {}
        self._running: set[Ticket] = set()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._refused = 0
        self._closed = False

    def submit(self, client: Hashable, work: Work, give_up: Callable[[CairnError], None], seconds: float) -> Ticket:
        """Admit a request: `work` does and answers it, `give_up` is called instead when it is given up.

        Raises `DaemonBusy` when the queue is full.
        """
        ticket = Ticket(client, work, give_up, self._clock.monotonic() + seconds)
        with self._changed:
            self._let_in(ticket)
            self._waiting.setdefault(client, deque()).append(ticket)
            if self._idle < self._queued() and len(self._threads) < self._at_once:
                thread = threading.Thread(target=self._serve, name="cairn worker", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Cancel a request for whose answer nobody waits any more."""
        ticket.end(Cancelled())
        self._forget(ticket)

    def leave(self, client: Hashable) -> None:
        """Cancel all requests of a client that has gone."""
        with self._changed:
            theirs = [*self._waiting.get(client, ()), *(one for one in self._running if one.client == client)]
        for ticket in theirs:
            self.cancel(ticket)

    def expire(self) -> float | None:
        """End the requests whose time is over; return the seconds until the next one's, None without requests."""
        now = self._clock.monotonic()
        with self._changed:
            there = [*(one for line in self._waiting.values() for one in line), *self._running]
        for ticket in there:
            if ticket.until <= now:
                ticket.end(DeadlinePassed())
                self._forget(ticket)
        left = [ticket.until - now for ticket in there if ticket.until > now and not ticket.cancelled()]
        return min(left, default=None)

    def load(self) -> QueueLoad:
        with self._changed:
            return QueueLoad(len(self._running), self._queued(), self._refused)

    def close(self, seconds: float) -> bool:
        """Admit no more requests and finish the admitted ones; return whether that was done in time."""
        until = self._clock.monotonic() + seconds
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while self._running or self._waiting:
                left = until - self._clock.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    # --- parts, under the lock but for `_serve` and `_forget` ---------------------------------------------------------

    def _let_in(self, ticket: Ticket) -> None:
        own = len(self._waiting.get(ticket.client, ()))
        why = ""
        if self._closed:
            why = "it is about to leave"
        elif own >= self._line:
            why = f"{own} of yours wait already"
        elif self._queued() >= self._queue:
            why = f"{self._queued()} wait already"
        if why:
            self._refused += 1
            raise DaemonBusy(why=why, retry_after_ms=_RETRY_MS)

    def _queued(self) -> int:
        return sum(map(len, self._waiting.values()))

    def _next(self) -> Ticket | None:
        """Take the next request of the first client in order that has fewer at work than its share."""
        at_work = Counter(one.client for one in self._running)
        for client in self._waiting:
            if at_work[client] >= self._each:
                continue
            line = self._waiting.pop(client)
            ticket = line.popleft()
            if line:
                # Behind all others.
                self._waiting[client] = line
            return ticket
        return None

    def _serve(self) -> None:
        while True:
            with self._changed:
                while (ticket := self._next()) is None:
                    if self._closed:
                        return
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                self._running.add(ticket)
                ticket.running = True
            try:
                ticket.run()
            except CairnError as problem:
                ticket.end(problem)
            except BaseException:
                # What it was goes to nobody who asks: it could hold anything. Not even one that would end the process
                # ends this thread: nobody would do what waits.
                ticket.end(CairnError())
            finally:
                with self._changed:
                    self._running.discard(ticket)
                    self._changed.notify_all()

    def _forget(self, ticket: Ticket) -> None:
        """Remove a request: a queued one makes room at once, a running one keeps its place until it ends."""
        with self._changed:
            line = self._waiting.get(ticket.client)
            if line is not None and ticket in line:
                line.remove(ticket)
                if not line:
                    del self._waiting[ticket.client]
                self._changed.notify_all()
