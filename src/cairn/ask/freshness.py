"""Compare the files with the index before an agent's search, once for all callers who came before the comparison began.

Nobody waits for long. A comparison that takes longer goes on by itself, and its snapshot answers the next question.
While somebody watches the files, only what has changed is compared, and everything once in a while.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from cairn.ask.runs import Action, Run, Runs
from cairn.core.clock import Clock
from cairn.core.limits import AGENT_RECENT_SECONDS, AGENT_SYNC_SECONDS, WATCH_RECONCILE_SECONDS
from cairn.errors import Cancelled, StoreBusy
from cairn.sync.codebase import Codebase
from cairn.sync.memory import rules_of
from cairn.sync.report import Freshness, Gap, RunReport

# Each run may leave one small segment, and this many are merged at once: well below the number of segments at which
# every run must merge.
_RUNS_PER_UPKEEP = 8

# So often it is looked whether what waits has been compared.
_VOUCH_SECONDS = 0.005

Hinted = frozenset[bytes] | None
"""The raw paths that are worth a look; None for all of them."""


class Told(Protocol):
    """A watcher of one root: it collects what changes, and keeps that until a run takes it."""

    def hear(self) -> None:
        """Read the events that have come by now: a save that ended before this call is pending afterwards."""

    def look(self, looked_at: set[bytes]) -> None:
        """Look at the files that change without an event, but those that were looked at, and add them to these.

        What may have changed is pending afterwards.
        """

    @property
    def waits(self) -> bool:
        """Whether changes are pending that no run has taken yet."""

    def take(self) -> Hinted:
        """Return the pending changes and forget them: the caller compares them."""

    def put_back(self, hinted: Hinted) -> None:
        """Make changes pending again that were taken and not compared."""

    def want_all(self) -> None:
        """Make everything pending: what a comparison would find has changed without an event."""

    def found(self, gap: Gap) -> None:
        """Report the gap that a run over everything has found."""

    def ended(self, run: Run, hinted: Hinted) -> None:
        """Report that the run which took these changes is over, well or not."""


Wait = Callable[[Run, float], bool]
"""Waits so many seconds for a run, and says whether it is over."""


@dataclass(frozen=True, slots=True)
class _Checked:
    began: float
    ended: float
    fresh: Freshness
    rules: str


class Freshener:
    """Keeps the indexes of a server up with their files."""

    def __init__(self, runs: Runs, clock: Clock) -> None:
        self._runs, self._clock = runs, clock
        self._lock = threading.Lock()
        self._checked: dict[str, _Checked] = {}
        self._watched: dict[str, Told] = {}
        self._since_upkeep: dict[str, int] = {}

    def ensure(
        self,
        codebase: Codebase,
        *,
        seconds: float = AGENT_SYNC_SECONDS,
        wait: Wait = lambda run, seconds: run.wait(seconds),
        rests: bool = True,
    ) -> Freshness:
        """Bring an index that can answer up to date, or say within this time why it is not.

        Without `rests` a comparison that failed a moment ago is tried again.
        """
        root, came = codebase.root.path, self._clock.monotonic()
        looked_at: set[bytes] = set()
        while True:
            told, last = self._who_vouches(codebase), self._checked.get(root)
            if told is not None:
                self._hear(codebase, told, last, looked_at)
            with self._lock:
                if last is not self._checked.get(root):
                    # The run that has ended meanwhile may have met more files to look at.
                    continue
                known = self._known(root, came, told, rests=rests)
                if known is not None:
                    return known
                run = self._runs.active(root)
                own = run is None
                try:
                    run = run or self._begin(codebase, told)
                except StoreBusy:
                    return Freshness("skipped_busy")
            if run.is_beside:
                # The index that it makes is not the one that answers.
                return Freshness("skipped_indexing")
            if not wait(run, came + seconds - self._clock.monotonic()):
                return Freshness("skipped_indexing")
            if own:
                with self._lock:
                    found = self._checked.get(root)
                return found.fresh if found is not None else _told(run)
            # This run began before the call, so it may have missed what was saved since: ask again.

    def _who_vouches(self, codebase: Codebase) -> Told | None:
        """Return the watcher that hears of all that may change an answer, if there is one.

        Which files git tracks changes without an event in the tree: where only they are wanted, nobody does.
        """
        return self._watched.get(codebase.root.path) if codebase.tracked is None else None

    def _hear(self, codebase: Codebase, told: Told, last: _Checked | None, looked_at: set[bytes]) -> None:
        """Have the watcher take in all that may have changed by now, also the settings of the user."""
        told.hear()
        told.look(looked_at)
        if last is None or told.waits or last.rules == rules_of(codebase.config):
            return
        if self._runs.active(codebase.root.path) is None:
            told.want_all()

    def vouched(self, codebase: Codebase, seconds: float) -> Freshness | None:
        """Return that the newest snapshot mirrors the files, if somebody watches them and nothing waits; else None.

        While a change waits for its run, the end of that is waited for so many seconds.
        """
        root, came = codebase.root.path, self._clock.monotonic()
        looked_at: set[bytes] = set()
        while (told := self._who_vouches(codebase)) is not None:
            last = self._checked.get(root)
            self._hear(codebase, told, last, looked_at)
            with self._lock:
                # The run that has ended meanwhile may have met more files to look at.
                still = self._checked.get(root) is last
                if still and last is not None and self._is_watched_well(root, told, last, came):
                    return Freshness("skipped_recent", 0, last.fresh.checked_at)
            if self._clock.monotonic() >= came + seconds:
                return None
            self._clock.sleep(_VOUCH_SECONDS)
        return None

    def start(self, codebase: Codebase, told: Told, *, gentle: bool = False) -> Run | None:
        """Start a run over the pending changes; None while another run is at work."""
        with self._lock:
            if self._runs.active(codebase.root.path) is not None:
                return None
            try:
                # Nobody waits for this run, so it does the upkeep too: often enough that there is little to merge.
                due = self._since_upkeep.get(codebase.root.path, 0) >= _RUNS_PER_UPKEEP
                return self._begin(codebase, told, upkeep=due, gentle=gentle)
            except (StoreBusy, Cancelled):
                return None

    def watch(self, root: str, told: Told) -> None:
        """Ask this watcher, from now on, what has changed below the root."""
        with self._lock:
            self._watched[root] = told

    def unwatch(self, root: str) -> None:
        """Forget the watcher of a root: each search compares all files again."""
        with self._lock:
            self._watched.pop(root, None)

    def _known(self, root: str, came: float, told: Told | None, *, rests: bool) -> Freshness | None:
        """Return what is known of files that need no comparison now; None when they need one."""
        last = self._checked.get(root)
        if last is None:
            return None
        if last.began >= came:
            return replace(last.fresh, mode="coalesced") if last.fresh.mode == "synced" else last.fresh
        if last.fresh.mode == "synced":
            if told is None or not self._is_watched_well(root, told, last, came):
                return None
            return Freshness("skipped_recent", 0, last.fresh.checked_at)
        if not rests or came < last.ended or came >= last.ended + AGENT_RECENT_SECONDS:
            return None
        return last.fresh

    def _is_watched_well(self, root: str, told: Told, last: _Checked, came: float) -> bool:
        """Whether the last comparison and what was told since say how the files are."""
        # A run that began before we came has taken what was told before, and what it did not take waits.
        waits = told.waits or self._runs.active(root) is not None
        return last.fresh.mode == "synced" and not waits and came < last.ended + WATCH_RECONCILE_SECONDS

    def _begin(self, codebase: Codebase, told: Told | None, *, upkeep: bool = False, gentle: bool = False) -> Run:
        hinted = told.take() if told is not None else None

        def ended(run: Run) -> None:
            if told is not None and run.error is not None:
                told.put_back(hinted)
            with self._lock:
                self._checked[run.root] = _Checked(run.began, self._clock.monotonic(), _told(run), rules)
            if told is not None:
                told.ended(run, hinted)

        def found(gap: Gap) -> None:
            if told is not None and hinted is None:
                told.found(gap)

        root, rules = codebase.root.path, rules_of(codebase.config)
        try:
            options: dict[str, bool] = {"upkeep": upkeep, "gentle": gentle}
            run = self._runs.start(Action.SYNC, codebase, hinted=hinted, found=found, then=ended, **options)
        except BaseException:
            if told is not None:
                told.put_back(hinted)
            raise
        self._since_upkeep[root] = 0 if upkeep else self._since_upkeep.get(root, 0) + 1
        return run


def _told(run: Run) -> Freshness:
    """Return the freshness that a sync has achieved."""
    if isinstance(run.report, RunReport):
        report = run.report
        found = Freshness("synced", report.changes.total, run.began_at, snapshot=report.snapshot_id)
        return replace(found, left_out=report.left_out)
    if isinstance(run.error, StoreBusy):
        return Freshness("skipped_busy")
    return Freshness("sync_failed", trouble=run.error.code if run.error else None)
