"""The codebases that a server keeps open, the step before a search, and the runs in the background.

Calls come from several threads. One session answers one question at a time; codebases do not wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from cairn.ask.allowed import Allowed
from cairn.ask.freshness import Freshener
from cairn.ask.runs import Action, Run, Runs
from cairn.ask.session import NOT_CHECKED, Session, Target
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import cairn_home
from cairn.core.limits import AGENT_SYNC_SECONDS, AGENT_WAIT_SECONDS, SERVE_SESSIONS
from cairn.embedding.choose import Models
from cairn.errors import Cancelled, StoreBusy, StoreError
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.jobs import failed_refreshes
from cairn.store.standing import Freshness, State, StoreStatus
from cairn.sync.report import Tell
from cairn.sync.status import look
from cairn.sync.tracking import Codebases, Members

_TICK_SECONDS = 0.1
_MOST_SEEN = 256
_LAST_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call waits for a run, whom it tells how far that is, and how it learns that nobody waits any more."""

    seconds: float = AGENT_WAIT_SECONDS
    sync_seconds: float = AGENT_SYNC_SECONDS
    progress: Tell = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    clock: Clock = SYSTEM_CLOCK

    def wait(self, run: Run, seconds: float | None = None) -> bool:
        """Whether the run is over in time. `Cancelled` when nobody waits for the answer."""
        until = self.clock.monotonic() + (self.seconds if seconds is None else seconds)
        told = None
        while not run.wait(min(_TICK_SECONDS, until - self.clock.monotonic())):
            if self.cancelled():
                raise Cancelled
            now = run.progress
            if now is not None and now != told:
                self.progress(now)
                told = now
            if self.clock.monotonic() >= until:
                return False
        return True


@dataclass(slots=True, eq=False)
class _Seat:
    """One codebase's place at the desk. `users` counts who has it or waits for it: then it is not taken away."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    session: Session | None = None
    users: int = 0


class Reading:
    """Codebases to read from. Nothing can be written with it but that a store was used."""

    def __init__(
        self,
        environ: Mapping[str, str],
        allowed: Allowed,
        clock: Clock = SYSTEM_CLOCK,
        *,
        most: int = SERVE_SESSIONS,
        starting: Callable[[str], Run | None] = lambda _: None,
        models: Models | None = None,
    ) -> None:
        self.allowed = allowed
        self.home = cairn_home(environ)
        self.environ = environ
        self._environ, self._clock, self._most = environ, clock, most
        self._starting = starting
        self._models = models or Models(environ, clock)
        self._lock = threading.Lock()
        self._seats: dict[str, _Seat] = {}
        self._listing, self._members = threading.Lock(), Members(self.home, clock)
        self._seen: dict[str, StoreStatus] = {}
        # Told the root of every codebase that is asked while it can answer.
        self.used: Callable[[str], None] = lambda _: None

    def serving(self, served: Sequence[str]) -> Self:
        """The same codebases, for somebody to whom other folders are served."""
        view = copy(self)
        view.allowed = Allowed(self._environ, served)
        return view

    @contextmanager
    def session(
        self, target: Target, fresh: Freshness = NOT_CHECKED, *, stale_ok: bool = False, why: str = ""
    ) -> Iterator[Session]:
        """The codebase, ready to be asked, for one caller at a time; it holds the newest snapshot."""
        root = target.codebase.root.path
        seat = self._taken(root)
        try:
            with seat.lock:
                session = self._opened(seat, target)
                run = self._starting(root)
                starting = run.writer if run is not None and run.is_starting else None
                session.look(fresh, stale_ok=stale_ok, starting=starting, why=why)
                if session.gate.facts.state is State.INDEXED:
                    self.used(root)
                yield session
        finally:
            self._let_go(seat)

    def status(self, target: Target) -> StoreStatus:
        """Where the store of a codebase stands; a full run closes the gate from its start on.

        One that cannot be read just now stands as it was last seen to; the error is told when it never was.
        """
        root = target.codebase.root.path
        status = self._looked(target)
        run = self._starting(root)
        if run is None or not run.is_starting or (status.writer is not None and status.writer.alive):
            return status
        # Its lease is not there yet.
        return replace(status, state=State.INDEXING, writer=run.writer)

    def _looked(self, target: Target) -> StoreStatus:
        root = target.codebase.root.path
        try:
            status = look(target.codebase, self.home)
        except StoreError as problem:
            with self._lock:
                seen = self._seen.get(root)
            if seen is None:
                raise
            note = f"{problem.sentence} This is how the index stood when it was last read."
            return replace(seen, probe_failed=True, warnings=(*seen.warnings, note))
        with self._lock:
            self._seen.pop(root, None)
            self._seen[root] = status
            while len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return status

    def failed_refreshes(self, target: Target) -> tuple[str, ...]:
        """What went wrong when indexers were last run."""
        return failed_refreshes(SemanticDatabase(self.home, target.codebase.root.path))

    def codebases(self) -> Codebases:
        """All codebases of the user. Trouble makes none of them go, nor forget what it has said before."""
        with self._listing:
            return self._members.look()

    def close(self) -> None:
        """Close what is open, once whoever is asking has been answered; a second call does nothing.

        Who takes too long keeps it: the process is about to end.
        """
        with self._lock:
            seats = list(self._seats.values())
            self._seats.clear()
        for seat in seats:
            _close(seat, _LAST_SECONDS)

    def shed(self) -> None:
        """Close what nobody asks just now, and let go of the models; all of it is made again when it is needed."""
        with self._lock:
            idle = [root for root, seat in self._seats.items() if not seat.users]
            closing = [self._seats.pop(root) for root in idle]
        for seat in closing:
            _close(seat)
        self._models.let_go()

    def _taken(self, root: str) -> _Seat:
        with self._lock:
            # The last in order is the one that was asked last.
            seat = self._seats[root] = self._seats.pop(root) if root in self._seats else _Seat()
            seat.users += 1
            return seat

    def _let_go(self, seat: _Seat) -> None:
        with self._lock:
            seat.users -= 1
            spare = len(self._seats) - self._most
            idle = [root for root, one in self._seats.items() if not one.users][: max(0, spare)]
            closing = [self._seats.pop(root) for root in idle]
            if seat.users == 0 and seat not in self._seats.values():
                closing.append(seat)
        for one in closing:
            _close(one)

    def _opened(self, seat: _Seat, target: Target) -> Session:
        """The session of the seat; a new one when the settings of the codebase are not those that it was made with."""
        session = seat.session
        if session is not None and session.target.codebase == target.codebase:
            session.target = target
            return session
        if session is not None:
            session.close()
        embedder = self._models.of(target.codebase.config.embedding)
        seat.session = Session(target, self._environ, self._clock, embedder=embedder)
        return seat.session


class Desk(Reading):
    """What all faces share: sessions to ask, runs to start, and the step before a search."""

    def __init__(
        self, environ: Mapping[str, str], allowed: Allowed, clock: Clock = SYSTEM_CLOCK, *, most: int = SERVE_SESSIONS
    ) -> None:
        models = Models(environ, clock)
        self.runs = Runs(environ, clock, models=models)
        self.freshener = Freshener(self.runs, clock)
        super().__init__(environ, allowed, clock, most=most, starting=self.runs.active, models=models)

    def close(self) -> None:
        """Stop the runs and close what is open."""
        self.runs.close()
        super().close()

    def before_search(self, target: Target, patience: Patience) -> tuple[Freshness, str]:
        """Compare the files, or index a folder that nobody ever did; what was done, or why there is no index."""
        with self.session(target) as session:
            facts = session.gate.facts
        codebase, root = target.codebase, target.codebase.root.path
        if facts.state is State.INDEXED and not facts.differs:
            if facts.writer is not None and self.runs.active(root) is None:
                return Freshness("skipped_indexing"), ""
            return self.freshener.ensure(codebase, seconds=patience.sync_seconds), ""
        run = self.runs.active(root)
        if run is None:
            if facts.state is not State.NOT_INDEXED or facts.failed or facts.differs or facts.stale:
                # Only somebody who asks for it fills what was cleared, broken, or made with other settings.
                return NOT_CHECKED, ""
            refusal = self._not_by_itself(target)
            if refusal:
                return NOT_CHECKED, refusal
            try:
                run = self.runs.start(Action.CREATE, codebase, upkeep=False)
            except StoreBusy:
                run = self.runs.active(root)
        if run is not None and run.action is Action.CREATE and patience.wait(run) and run.report is not None:
            return Freshness("synced", 0, run.began_at), ""
        return NOT_CHECKED, self._not_by_itself(target)

    def _not_by_itself(self, target: Target) -> str:
        """Why a folder is not indexed by the way; empty when it may be."""
        if not target.codebase.config.search.auto_index:
            return "the user's settings leave it to them to index a folder"
        last = self.runs.last(target.codebase.root.path)
        if last is not None and last.action is Action.CREATE and last.error is not None:
            if isinstance(last.error, Cancelled | StoreBusy):
                return ""
            return f"the run that should have made it failed ({last.error.code})"
        return ""


def _close(seat: _Seat, seconds: float = -1) -> None:
    if not seat.lock.acquire(timeout=seconds):
        return
    try:
        if seat.session is not None:
            seat.session.close()
            seat.session = None
    finally:
        seat.lock.release()
