"""Keep the codebases of a server open, do the step before a search, and run what writes in the background.

Calls come from several threads. One session answers one question at a time; codebases do not wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from cairn.ask.allowed import Allowed
from cairn.ask.freshness import Freshener
from cairn.ask.prepare import Policy, step, why_not_unasked
from cairn.ask.runs import Action, Patience, Run, Runs
from cairn.ask.session import NOT_CHECKED, Session, Target
from cairn.ask.whereabouts import Whereabouts, where_all
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import cairn_home
from cairn.core.limits import AGENT_LOOK_SECONDS, SERVE_SESSIONS
from cairn.embedding.choose import Models
from cairn.errors import Cancelled, StoreBusy, StoreError
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.jobs import failed_refreshes
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.report import Freshness
from cairn.sync.status import State, StoreStatus, look, something_sealed
from cairn.sync.tracking import Codebases, Members

_MOST_SEEN = 256
_LAST_SECONDS = 10.0
# A save in a tree that is watched is published about so soon; to wait for that is cheaper than to look at all files.
_SETTLE_SECONDS = 0.5
# So often it is looked whether a first index has sealed anything that can answer.
_PART_SECONDS = 0.2


@dataclass(slots=True, eq=False)
class _Slot:
    """One codebase in the pool. `users` counts the callers that have it or wait for it: meanwhile it stays open."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    session: Session | None = None
    users: int = 0


class SessionPool:
    """The open sessions of many codebases. Nothing can be written with a pool but a note that a store was used."""

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
        self._slots: dict[str, _Slot] = {}
        self._listing, self._members = threading.Lock(), Members(self.home, clock)
        self._seen: dict[str, StoreStatus] = {}
        # Called with the root of every codebase that is asked while it can answer.
        self.used: Callable[[str], None] = lambda _: None
        # Asked whether somebody watches the files of a root, so that its newest snapshot mirrors them.
        self.vouched: Callable[[Codebase, float], Freshness | None] = lambda _, __: None
        # Where a session is kept after its question, see `Workspace.asked`.
        self._held: ExitStack | None = None
        self.last: Session | None = None

    def serving(self, served: Sequence[str]) -> Self:
        """Return a pool of the same codebases, for a client to whom other folders are served."""
        view = copy(self)
        view.allowed = Allowed(self._environ, served)
        return view

    @contextmanager
    def session(
        self,
        target: Target,
        fresh: Freshness = NOT_CHECKED,
        *,
        stale_ok: bool = False,
        part_ok: bool = False,
        why: str = "",
    ) -> Iterator[Session]:
        """The session of a codebase, with the newest snapshot, for one caller at a time."""
        root = target.codebase.root.path
        self.release()
        with ExitStack() as stack:
            slot = self._taken(root)
            stack.callback(self._let_go, slot)
            stack.enter_context(slot.lock)
            session = self._opened(slot, target)
            run = self._starting(root)
            starting = run.writer if run is not None and run.is_starting else None
            session.look(fresh, stale_ok=stale_ok, part_ok=part_ok, starting=starting, why=why)
            if session.gate.facts.state is State.INDEXED:
                self.used(root)
            yield session
            if self._held is not None:
                self.last = session
                self._held.push(stack.pop_all())

    def release(self) -> None:
        """Give back the session that was kept after its question, if there is one."""
        self.last = None
        if self._held is not None:
            self._held.close()

    @contextmanager
    def current(
        self, target: Target, seconds: float = AGENT_LOOK_SECONDS, *, part_ok: bool = False
    ) -> Iterator[Session]:
        """The codebase with its files as they are now: what has changed is laid over the newest snapshot, in memory.

        Nothing is written. What could not be compared or read within this time, the answer says. With `part_ok` what is
        done of an index answers while it is being made.
        """
        came = self._clock.monotonic()
        vouched = self.vouched(target.codebase, min(seconds, _SETTLE_SECONDS))
        with self.session(target, part_ok=part_ok) as session:
            if vouched is not None and session.gate.is_open:
                session.vouch(vouched)
            else:
                session.compare(came, came + seconds)
            yield session

    def status(self, target: Target, *, measured: bool = True) -> StoreStatus:
        """Return where the store of a codebase stands; a full run closes the gate from its start.

        A store that cannot be read just now has its last known status; raises its error when none is known. With
        `measured` false its size is not looked for.
        """
        root = target.codebase.root.path
        status = self._looked(target, measured)
        run = self._starting(root)
        if run is None or not run.is_starting or (status.writer is not None and status.writer.alive):
            return status
        # The run has not taken its lease yet, so the store does not show it.
        return replace(status, state=State.INDEXING, writer=run.writer)

    def _looked(self, target: Target, measured: bool) -> StoreStatus:
        root = target.codebase.root.path
        try:
            status = look(target.codebase, self.home, clock=self._clock, measured=measured)
        except StoreError as problem:
            with self._lock:
                seen = self._seen.get(root)
            if seen is None:
                raise
            note = f"{problem.sentence} This is how the index stood when it was last read."
            return replace(seen, probe_failed=True, warnings=(*seen.warnings, note))
        with self._lock:
            if not measured and root in self._seen:
                status = replace(status, disk=self._seen[root].disk, store_bytes=self._seen[root].store_bytes)
            self._seen.pop(root, None)
            self._seen[root] = status
            while len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return status

    def failed_refreshes(self, target: Target) -> tuple[str, ...]:
        """Return what went wrong when indexers were last run."""
        return failed_refreshes(SemanticDatabase(self.home, target.codebase.root.path))

    def codebases(self) -> Codebases:
        """Return all codebases of the user; one whose store cannot be read keeps its last known entry."""
        with self._listing:
            return self._members.look()

    def standing(self, found: Codebases) -> dict[str, Whereabouts]:
        """Return where each of these codebases stands, as far as its folder is there."""

        def looked(codebase: Codebase) -> StoreStatus:
            return self.status(Target(codebase.root.path, codebase), measured=False)

        return where_all(found, self._environ, looked)

    def close(self) -> None:
        """Close every session once it has answered its callers; a second call does nothing.

        A session that takes too long stays open: the process is about to end.
        """
        with self._lock:
            slots = list(self._slots.values())
            self._slots.clear()
        for slot in slots:
            _close(slot, _LAST_SECONDS)

    def shed(self) -> None:
        """Close the sessions that nobody uses just now, and release the models; both are made again when needed."""
        with self._lock:
            idle = [root for root, slot in self._slots.items() if not slot.users]
            closing = [self._slots.pop(root) for root in idle]
        for slot in closing:
            _close(slot)
        self._models.let_go()

    def _taken(self, root: str) -> _Slot:
        with self._lock:
            # The order of the slots is the order of their last use.
            slot = self._slots[root] = self._slots.pop(root) if root in self._slots else _Slot()
            slot.users += 1
            return slot

    def _let_go(self, slot: _Slot) -> None:
        with self._lock:
            slot.users -= 1
            spare = len(self._slots) - self._most
            idle = [root for root, one in self._slots.items() if not one.users][: max(0, spare)]
            closing = [self._slots.pop(root) for root in idle]
            if slot.users == 0 and slot not in self._slots.values():
                closing.append(slot)
        for one in closing:
            _close(one)

    def _opened(self, slot: _Slot, target: Target) -> Session:
        """Return the session of the slot; a new one when the settings of the codebase have changed."""
        session = slot.session
        if session is not None and session.target.codebase == target.codebase:
            session.target = target
            return session
        if session is not None:
            session.close()
        embedder = self._models.of(target.codebase.config.embedding)
        slot.session = Session(target, self._environ, self._clock, embedder=embedder)
        return slot.session


class Workspace:
    """What the faces of a server share: a pool of sessions to ask, runs to start, and the step before a read.

    Tools that only read get the `pool`, with which nothing can be written. Background runs do the step before a read:
    no caller waits longer than its patience, and a run that goes on serves the next question.
    """

    def __init__(
        self, environ: Mapping[str, str], allowed: Allowed, clock: Clock = SYSTEM_CLOCK, *, most: int = SERVE_SESSIONS
    ) -> None:
        models = Models(environ, clock)
        self.runs = Runs(environ, clock, models=models)
        self.freshener = Freshener(self.runs, clock)
        self.pool = SessionPool(environ, allowed, clock, most=most, starting=self.runs.active, models=models)
        self.pool.vouched = self.freshener.vouched
        self._clock = clock

    def serving(self, served: Sequence[str]) -> Self:
        """Return a workspace of the same codebases, for a client to whom other folders are served."""
        view = copy(self)
        view.pool = self.pool.serving(served)
        return view

    def close(self) -> None:
        """Stop the runs and close the sessions."""
        self.runs.close()
        self.pool.close()

    @contextmanager
    def asked(self) -> Iterator[Self]:
        """The same workspace for one call: the session that was asked last is the caller's until the end of the block.

        So whoever writes the answer down can still look at what it is about.
        """
        view = copy(self)
        view.pool = copy(self.pool)
        with ExitStack() as held:
            view.pool._held = held
            yield view

    # --- the step before a read ---------------------------------------------------------------------------------------

    @contextmanager
    def prepared(self, target: Target, policy: Policy, patience: Patience) -> Iterator[Session]:
        """The session of a codebase, after the step that the policy allows and within the caller's patience."""
        began = self._clock.monotonic()
        with self.pool.session(target, stale_ok=policy.stale_ok, part_ok=policy.part_ok) as session:
            facts = session.gate.facts
        # Others may ask while this step goes on.
        self.pool.release()
        fresh, why = step(facts, target.codebase, policy, _InBackground(self, patience))
        seconds = self._clock.monotonic() - began
        with self.pool.session(target, fresh, stale_ok=policy.stale_ok, part_ok=policy.part_ok, why=why) as session:
            if policy.sync and policy.overlay and not fresh.is_current and session.gate.is_open:
                # The run goes on by itself; what it would publish is read for this answer.
                session.compare(began, began + AGENT_LOOK_SECONDS)
            session.step_seconds = seconds
            yield session


class _InBackground:
    """Does a step by background runs of a workspace, for one caller with its patience."""

    def __init__(self, workspace: Workspace, patience: Patience) -> None:
        self._runs, self._freshener, self._patience = workspace.runs, workspace.freshener, patience
        self._environ, self._home = workspace.pool.environ, workspace.pool.home

    def has_run(self, root: str) -> bool:
        return self._runs.active(root) is not None

    def catch_up(self, codebase: Codebase, policy: Policy) -> Freshness:
        wait = replace(self._patience, progress=policy.tell).wait
        return self._freshener.ensure(codebase, seconds=policy.seconds, wait=wait, rests=policy.rests)

    def create(self, codebase: Codebase, policy: Policy) -> tuple[Freshness, str]:
        root = codebase.root.path
        run = self._runs.active(root)
        if run is None:
            refusal = self._failed_before(codebase) or why_not_unasked(codebase, self._environ, self._home)
            if refusal:
                return NOT_CHECKED, refusal
            try:
                run = self._runs.start(Action.CREATE, codebase, upkeep=False)
            except StoreBusy:
                run = self._runs.active(root)
        if run is not None and run.action is Action.CREATE and self._waited(run, policy) and run.report is not None:
            return Freshness("synced", 0, run.began_at), ""
        return NOT_CHECKED, self._failed_before(codebase)

    def _waited(self, run: Run, policy: Policy) -> bool:
        """Whether the run is over before the caller's patience is, and before what is done of it answers instead."""
        if not policy.part_ok:
            return self._patience.wait(run)
        place = place_of(run.codebase, self._home)
        until = run.now() + self._patience.seconds
        while not self._patience.wait(run, min(_PART_SECONDS, until - run.now())):
            if run.now() >= until or something_sealed(place):
                return False
        return True

    def _failed_before(self, codebase: Codebase) -> str:
        """Return why the last run that should have made this index has failed; empty when none has."""
        last = self._runs.last(codebase.root.path)
        if last is not None and last.action is Action.CREATE and last.error is not None:
            if isinstance(last.error, Cancelled | StoreBusy):
                return ""
            return f"the run that should have made it failed ({last.error.code})"
        return ""


def _close(slot: _Slot, seconds: float = -1) -> None:
    if not slot.lock.acquire(timeout=seconds):
        return
    try:
        if slot.session is not None:
            slot.session.close()
            slot.session = None
    finally:
        slot.lock.release()
