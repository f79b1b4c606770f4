"""Watches the files of a server's codebases and keeps their indexes up with them.

One thread waits for the events of all roots. A root is subscribed to first, then everything below it is compared once
(what changed while nobody watched), and from then on what is told: a save costs a look at one file, not at the tree.
Events are hints. Where some are lost, where a folder or a rule changes, and every five minutes, everything is compared;
where nothing can be heard, only that is done, and `state` says so. A file system that others can change tells nothing
of it: there everything is compared every few seconds. What was cleared is neither watched nor caught up.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any

from cairn.ask.allowed import Allowed
from cairn.ask.freshness import Hinted
from cairn.ask.prepare import may_begin, unwanted, why_not_unasked
from cairn.ask.runs import Action, Run
from cairn.ask.workspace import Workspace
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_WATCHED_ROOTS, WATCH_POLL_SECONDS, WATCH_RECONCILE_SECONDS
from cairn.core.types import Root
from cairn.errors import CairnError, Cancelled, NotIndexed, RootNotFound, StoreBusy, WatchFailed
from cairn.source.beneath import Tree
from cairn.source.linked import Linked, linked_files, touched
from cairn.source.mounts import Mounts, unheard
from cairn.source.walk import walk, walk_to
from cairn.source.watch import Watch, watch_tree
from cairn.sync.codebase import Codebase, Proposal, open_codebase
from cairn.sync.report import Gap, RunReport
from cairn.sync.scope import Seen
from cairn.sync.status import State, look
from cairn.sync.tracking import recent_roots
from cairn.watch.event_loop import EventLoop
from cairn.watch.pending_changes import PendingChanges

# While another run is at work: how soon its end is looked for.
_AGAIN_SECONDS = 0.02
# A flood of events is taken in by the armful.
_PACE_SECONDS = 0.005
_LET_ALONE_SECONDS = 60.0
# So often it is looked whether the roots still are where they were: of some that are replaced nothing is told.
_PLACE_SECONDS = 5.0
# While a first index is made: how soon its end is looked for.
_AGAIN_SOON_SECONDS = 0.2
_FOREIGN = "{kind} is a foreign file system: what others change there is not heard"
# A tenth of the time at most is spent on comparing what cannot be heard.
_POLL_SHARE = 10.0
_MOUNTED = "what is mounted in it has changed"
_NOT_WATCHED = "your settings say so (`auto_watch`)"
# A root that is heard no more may have been replaced by another folder: so soon it is listened to anew.
_ANEW_SECONDS = 0.5
# So long the end of the thread is waited for; it lets go of what it holds by itself, however late that is.
_LAST_SECONDS = 10.0


class Beginning(Enum):
    """Why a root is watched, which says what may be done before there is an index.

    `ASKED`: somebody asks for its index. `SERVED`: a server has begun with it, so its first index is made unless that
    is one to ask for. `USED`: somebody has asked it a question. `RECENT`: it was used lately, and nobody waits for it.
    """

    ASKED = "asked"
    SERVED = "served"
    USED = "used"
    RECENT = "recent"


class _WatchedRoot:
    """One root: its events, and who hears when a run of it ends. `caught_up` is set once the first has."""

    def __init__(self, watching: Watching, root: str, clock: Clock, beginning: Beginning) -> None:
        self.pending = PendingChanges(root, clock)
        self.beginning = beginning
        self.caught_up = threading.Event()
        self.reconcile_at = clock.monotonic() + WATCH_RECONCILE_SECONDS
        self.took_seconds = 0.0
        self.mounts = Mounts(root)
        # The folders of the comparison that was followed last.
        self.covered: frozenset[bytes] | None = None
        # What the repository's settings propose and was taken up unasked, well or not: each only once.
        self.taken_up: Proposal | None = None
        self._watching = watching
        # What the step before a search asks.
        self.hear, self.take, self.put_back = self._hear, self.pending.take, self.pending.put_back

    @property
    def waits(self) -> bool:
        return self.pending.waits

    @property
    def period(self) -> float:
        """How long after a comparison of everything comes the next."""
        if not self.pending.unheard:
            return WATCH_RECONCILE_SECONDS
        return min(WATCH_RECONCILE_SECONDS, max(WATCH_POLL_SECONDS, _POLL_SHARE * self.took_seconds))

    def _hear(self) -> None:
        self._watching.listen_anew(self, self._take_in)
        self._watching.wait_for(self)

    def _take_in(self) -> None:
        if self.pending.watch is not None and self.mounts.have_changed:
            self.pending.fail(_MOUNTED)
        else:
            self.pending.hear()

    def want_all(self) -> None:
        self.pending.want_all()
        self._watching.wake()

    def look(self, looked_at: set[bytes]) -> None:
        known = self._watching.linked(self.pending.root)
        linked = {raw: stat for raw, stat in known.items() if raw not in looked_at}
        if not linked:
            return
        looked_at.update(linked)
        try:
            with Tree(Root(self.pending.root, is_git=False)) as tree:
                self.pending.add(touched(tree, linked))
        except (CairnError, OSError):
            self.pending.want_all()
        if self.pending.waits:
            self._watching.wake()

    def found(self, gap: Gap) -> None:
        self._watching.gap(self.pending.root, gap)

    def ended(self, run: Run, hinted: Hinted) -> None:
        self._watching.ended(self, run, hinted)


class Watching:
    """All roots that a server watches.

    `told` hears of every run over a watched root, `found` what a comparison of everything has found to do. Without
    `listen` each root is caught up with once, and then let go.
    """

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock = SYSTEM_CLOCK,
        *,
        listen: bool = True,
        told: Callable[[Run], None] = lambda _: None,
        found: Callable[[str, Gap], None] = lambda _, __: None,
    ) -> None:
        self._workspace, self._clock, self._told, self._found = workspace, clock, told, found
        self._listen = listen
        self._lock = threading.Lock()
        self._roots: dict[str, _WatchedRoot] = {}
        self._let_alone: dict[str, float] = {}
        self._loop: EventLoop[_WatchedRoot] = EventLoop()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="cairn watch", daemon=True)
        self._thread.start()

    def add(self, root: str, beginning: Beginning | None = None, *, create: bool = False) -> None:
        """Watch this root, if it is not, and catch up with what has changed: both beside the caller, who goes on.

        A root without an index that can answer is let alone, unless its beginning asks for one (`create` does so,
        too). When there are too many, the one that nobody has asked about for the longest time is watched no more.
        """
        beginning = beginning or (Beginning.ASKED if create else Beginning.USED)
        with self._lock:
            known = self._roots.pop(root, None)
            if known is not None:
                # The last in order is the one that was asked last.
                self._roots[root] = known
                return
            rests = self._clock.monotonic() < self._let_alone.get(root, 0.0)
            if self._closed or (rests and beginning in (Beginning.USED, Beginning.RECENT)):
                return
            spare = next(iter(self._roots)) if len(self._roots) >= MAX_WATCHED_ROOTS else None
        if spare is not None:
            # Whoever asks about it next has it watched again.
            self.remove(spare)
        with self._lock:
            if self._closed or root in self._roots:
                return
            found = self._roots[root] = _WatchedRoot(self, root, self._clock, beginning)
            if beginning is Beginning.RECENT:
                # Whoever is asked about comes later in order.
                self._roots = {root: found, **self._roots}
        self._workspace.runs.remember(root)
        self._begin(found)

    def remove(self, root: str) -> None:
        """Stop watching this root."""
        with self._lock:
            found = self._roots.pop(root, None)
        if found is not None:
            self._workspace.freshener.unwatch(root)
            self._workspace.runs.forget(root)
            self._loop.forget(found)
            found.pending.close()
            found.caught_up.set()

    def caught_up(self, root: str, seconds: float) -> bool:
        """Whether the first comparison of this root ends within this time, well or not."""
        with self._lock:
            found = self._roots.get(root)
        return found is None or found.caught_up.wait(seconds)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return how each root is watched, for people who ask what a server does."""
        with self._lock:
            roots = list(self._roots.items())
        return {root: _state(one) for root, one in roots}

    def close(self) -> None:
        """Stop watching all roots; a second call does nothing."""
        with self._lock:
            self._closed = True
            roots = list(self._roots)
        for root in roots:
            self.remove(root)
        self._loop.wake()
        self._thread.join(_LAST_SECONDS)

    # --- a root begins ------------------------------------------------------------------------------------------------

    def _begin(self, found: _WatchedRoot) -> None:
        threading.Thread(target=self._subscribe, args=(found,), name="cairn watch begins", daemon=True).start()

    def _subscribe(self, found: _WatchedRoot) -> None:
        root = found.pending.root
        try:
            codebase = open_codebase(root, self._workspace.pool.environ)
            if not self._has_index(codebase, found):
                self._leave(root)
                return
            # What is mounted from here on is noticed, whatever is listened to by then.
            found.mounts = Mounts(root)
            kind = unheard(root)
            if self._listen and kind:
                found.pending.fail(_FOREIGN.format(kind=kind), unheard=True)
                found.reconcile_at = self._clock.monotonic() + found.period
            elif self._listen:
                found.pending.listen(_watch(codebase, self._clock, self._workspace.runs.remember(root)))
            else:
                found.pending.fail(_NOT_WATCHED)
        except WatchFailed as problem:
            found.pending.fail(str(problem.fields["why"]))
        except RootNotFound:
            # Should it come back, whoever asks about it has it watched again.
            self.remove(root)
            return
        except (CairnError, OSError):
            # Who asks about it is told why.
            self._leave(root)
            return
        if not self._holds(found):
            found.pending.close()
            return
        self.wait_for(found)
        self._loop.wake()

    def _leave(self, root: str) -> None:
        """Not this one, nor soon again: each question about it would have us look."""
        with self._lock:
            self._let_alone = {root: self._clock.monotonic() + _LET_ALONE_SECONDS, **self._let_alone}
            while len(self._let_alone) > MAX_WATCHED_ROOTS:
                self._let_alone.popitem()
        self.remove(root)

    def _has_index(self, codebase: Codebase, found: _WatchedRoot) -> bool:
        """Whether there is an index to keep up, or the first comparison may make one.

        The first index of a root that a server begins with is made here, unless it is one to ask for.
        """
        while True:
            status = look(codebase, self._workspace.pool.home, clock=self._clock)
            if status.differs or status.state in (State.CLEARED, State.CORRUPT):
                return False
            if status.tracked is not None and status.tracked.cleared:
                return False
            if status.state is State.INDEXED or found.beginning is Beginning.ASKED:
                return True
            if found.beginning is not Beginning.SERVED or not self._holds(found):
                return False
            if status.state is State.INDEXING:
                # Somebody else makes it; should that come to nothing, it is made here.
                self._clock.sleep(_AGAIN_SOON_SECONDS)
            elif not may_begin(status) or not self._make(codebase):
                return False

    def _make(self, codebase: Codebase) -> bool:
        """Make the first index of a codebase, if nobody need be asked; whether there may be one now."""
        pool, root = self._workspace.pool, codebase.root.path
        run = self._workspace.runs.active(root)
        if run is None:
            if why_not_unasked(codebase, pool.environ, pool.home):
                return False
            try:
                found = partial(self.gap, root)
                run = self._workspace.runs.start(Action.CREATE, codebase, found=found, then=self._told)
            except StoreBusy:
                return True
        while not run.wait(_AGAIN_SOON_SECONDS):
            pass
        return run.error is None or isinstance(run.error, StoreBusy)

    def _holds(self, found: _WatchedRoot) -> bool:
        with self._lock:
            return not self._closed and self._roots.get(found.pending.root) is found

    def linked(self, root: str) -> Linked:
        """Return the files of this root that change without an event."""
        return self._workspace.runs.remember(root).linked or {}

    def wake(self) -> None:
        """See to what waits by now."""
        self._loop.wake()

    def wait_for(self, found: _WatchedRoot) -> None:
        """Wait for events of this root too. After an overflow that is another descriptor."""
        watch = found.pending.watch
        if watch is not None:
            # ValueError: it was closed in between.
            with contextlib.suppress(OSError, ValueError):
                self._loop.listen(found, watch.fileno())

    def listen_anew(self, found: _WatchedRoot, step: Callable[[], None]) -> None:
        """Take a step in which a root may become deaf; then it is tried soon to hear it again."""
        heard = found.pending.watch is not None
        step()
        if heard and found.pending.watch is None:
            found.reconcile_at = self._clock.monotonic() + _ANEW_SECONDS
            self._loop.wake()

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with contextlib.closing(self._loop):
            while not self._closed:
                heard = self._loop.wait(min(_PLACE_SECONDS, self._until_next()))
                for one in heard or self._begun():
                    self._guarded(one, one.hear)
                for one in self._due():
                    self._guarded(one, partial(self._start, one))
                if heard:
                    self._clock.sleep(_PACE_SECONDS)

    def _guarded(self, found: _WatchedRoot, step: Callable[[], None]) -> None:
        """Whatever goes wrong with one root, the others are watched on, and all of this one is compared later."""
        try:
            step()
        except Exception:
            found.put_back(None)

    def _begun(self) -> list[_WatchedRoot]:
        with self._lock:
            roots = list(self._roots.values())
        return [one for one in roots if one.pending.watch is not None or one.pending.why]

    def _until_next(self) -> float:
        now, times = self._clock.monotonic(), [WATCH_RECONCILE_SECONDS]
        for one in self._begun():
            due = one.pending.due()
            times.append((one.reconcile_at if due is None else due) - now)
        return max(0.0, min(times))

    def _due(self) -> list[_WatchedRoot]:
        now, found = self._clock.monotonic(), []
        for one in self._begun():
            if now >= one.reconcile_at:
                one.reconcile_at = now + one.period
                if one.pending.watch is None:
                    # There may be room for it by now. However that goes, everything is compared afterwards.
                    self._begin(one)
                else:
                    one.pending.want_all()
            due = one.pending.due()
            if due is not None and due <= now:
                found.append(one)
        return found

    def _start(self, found: _WatchedRoot) -> None:
        if self._workspace.runs.active(found.pending.root) is not None:
            found.pending.wait(_AGAIN_SECONDS)
            return
        try:
            codebase = open_codebase(found.pending.root, self._workspace.pool.environ)
        except RootNotFound:
            # Should it come back, whoever asks about it has it watched again.
            self.remove(found.pending.root)
            return
        except (CairnError, OSError):
            # Its settings cannot be read: that may pass.
            found.put_back(frozenset())
            return
        if codebase.config.index.auto_reindex and codebase.proposal not in (None, found.taken_up):
            self._take_up(found, codebase)
            return
        gentle = found.beginning is Beginning.RECENT and not found.caught_up.is_set()
        if self._workspace.freshener.start(codebase, found, gentle=gentle) is None:
            found.pending.wait(_AGAIN_SECONDS)

    def _take_up(self, found: _WatchedRoot, codebase: Codebase) -> None:
        """Make the index that the repository's settings propose beside the one in force, as the user has allowed."""

        def told(run: Run) -> None:
            self._told(run)
            # Everything is compared with whichever index is in force then.
            found.pending.want_all()
            self._loop.wake()

        with contextlib.suppress(StoreBusy, Cancelled):
            self._workspace.runs.start(Action.REINDEX, codebase, gentle=True, then=told)
            found.taken_up = codebase.proposal
        found.pending.wait(_AGAIN_SECONDS)

    def ended(self, found: _WatchedRoot, run: Run, hinted: Hinted) -> None:
        """A run of this root is over; from now on, however it went, only what is told is compared."""
        root = found.pending.root
        if isinstance(run.error, NotIndexed):
            # Somebody has cleared it.
            self.remove(root)
        else:
            if run.error is None:
                found.pending.done()
                if isinstance(run.report, RunReport) and not run.report.published:
                    # It did nothing but compare.
                    found.took_seconds = self._clock.monotonic() - run.began
            if self._holds(found):
                self._cover(found, compared=hinted is None)
            if run.codebase.config.index.auto_reindex and run.codebase.proposal not in (None, found.taken_up):
                # Somebody's question has taken what was told of the settings.
                found.pending.want_all()
            self._workspace.freshener.unwatch(root)
            with self._lock:
                if self._roots.get(root) is found and found.pending.watch is not None:
                    self._workspace.freshener.watch(root, found)
            if not self._listen:
                self.remove(root)
        self._told(run)
        found.caught_up.set()
        self._loop.wake()

    def gap(self, root: str, gap: Gap) -> None:
        """A run over everything has something to do."""
        self._found(root, gap)

    def _cover(self, found: _WatchedRoot, *, compared: bool) -> None:
        """Listen to the folders that the run has found, if it `compared` everything.

        It has done so, too, where something of what was told cannot be judged by itself, such as a rule.
        """
        folders = self._workspace.runs.remember(found.pending.root).folders
        if found.pending.watch is None or not (compared or folders is not found.covered):
            # Where nothing is heard, its time to be tried again stays.
            return
        found.reconcile_at, found.covered = self._clock.monotonic() + WATCH_RECONCILE_SECONDS, folders
        if folders is not None:
            self.listen_anew(found, partial(found.pending.cover, folders))


def _watch(codebase: Codebase, clock: Clock, seen: Seen) -> Watch:
    """Return a subscription to the folders that a walk enters, and to new ones that it would enter.

    The files with several names that the walk meets are kept in `seen`, unless a run has looked for them.
    """
    config, tracked = codebase.config, codebase.tracked

    def wanted(raw: bytes) -> bool:
        with Tree(codebase.root) as tree:
            return raw in walk_to(tree, config, raw, tracked=tracked).folders

    looked_at_ns = clock.wall_ns()
    with Tree(codebase.root) as tree:
        walked = walk(tree, config, tracked=tracked)
    if seen.linked is None:
        seen.linked = linked_files(walked, looked_at_ns)
    return watch_tree(codebase.root, walked.folders, wanted=wanted, clock=clock)


def _state(found: _WatchedRoot) -> dict[str, Any]:
    pending = found.pending
    watch = pending.watch
    mode = "watching" if watch is not None else "polling" if pending.why else "starting"
    return {
        "mode": mode,
        "why": pending.why or None,
        "everySeconds": round(found.period, 1),
        "folders": watch.folders if watch is not None else 0,
        "pending": pending.pending,
        "lastEventAt": pending.last_event_at,
        "overflows": pending.overflows,
        "caughtUp": found.caught_up.is_set(),
    }


# --- How a server begins: it catches up with what it slept through.


class WatchedWorkspace(Workspace):
    """A workspace whose codebases are watched: those that are named at once, others from the first question on.

    With `auto_watch` false those that are named are caught up with once, and none is watched.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        allowed: Allowed,
        clock: Clock = SYSTEM_CLOCK,
        *,
        roots: Sequence[str] = (),
        create: bool = False,
        auto_watch: bool = True,
        told: Callable[[Run], None] = lambda _: None,
        found: Callable[[str, Gap], None] = lambda _, __: None,
    ) -> None:
        super().__init__(environ, allowed, clock)
        self.watching = Watching(self, clock, listen=auto_watch, told=told, found=found)
        if auto_watch:
            self.pool.used = self.watching.add
        self.serve(roots, Beginning.ASKED if create else Beginning.SERVED)

    def serve(self, roots: Sequence[str], beginning: Beginning = Beginning.SERVED) -> None:
        """Begin with these roots: catch up with them and watch them, beside the caller."""
        for root in roots:
            self.watching.add(root, beginning)

    def serve_recent(self, is_over: Callable[[], bool]) -> None:
        """Catch up with the codebases that were used lately, one after the other, until that is done or `is_over`."""
        for root in recent_roots(self.pool.home, self._clock)[:MAX_WATCHED_ROOTS]:
            if is_over():
                return
            if unwanted(Root(root, is_git=True), self.pool.environ, self.pool.home):
                continue
            self.watching.add(root, Beginning.RECENT)
            while not (self.watching.caught_up(root, _AGAIN_SOON_SECONDS) or is_over()):
                pass

    def close(self) -> None:
        """Watch no more, stop the runs and close what is open."""
        self.watching.close()
        super().close()
