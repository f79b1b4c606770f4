"""Before an agent's search the files are compared with the index: by one caller for all who came before it began.

Nobody waits for long. A comparing that takes longer goes on by itself, and its snapshot answers the next question.
After one that found nothing the tree is given a rest, as long as the comparing took and a second at most. While
somebody watches the files, they are compared when they change, and once in a while.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from cairn.clock import Clock
from cairn.errors import StoreBusy
from cairn.limits import AGENT_RECENT_SECONDS, AGENT_SYNC_SECONDS, RECENT_SYNC_SECONDS
from cairn.serve.runs import Action, Run, Runs
from cairn.store.standing import Freshness
from cairn.sync.codebase import Codebase
from cairn.sync.report import RunReport


@dataclass(frozen=True, slots=True)
class _Checked:
    began: float
    ended: float
    fresh: Freshness


class Freshener:
    """Keeps the indexes of a server up with their files."""

    def __init__(self, runs: Runs, clock: Clock) -> None:
        self._runs, self._clock = runs, clock
        self._lock = threading.Lock()
        self._checked: dict[str, _Checked] = {}
        self._changed: dict[str, float] = {}
        self._watched: set[str] = set()

    def ensure(self, codebase: Codebase, *, seconds: float = AGENT_SYNC_SECONDS) -> Freshness:
        """Bring an index that can answer up to date, or say within this time why it is not."""
        root, came = codebase.root.path, self._clock.monotonic()
        while True:
            with self._lock:
                known = self._known(root, came)
                if known is not None:
                    return known
                run = self._runs.active(root)
                own = run is None
                try:
                    run = run or self._begin(codebase)
                except StoreBusy:
                    return Freshness("skipped_busy")
            if not run.wait(came + seconds - self._clock.monotonic()):
                return Freshness("skipped_indexing")
            if own:
                with self._lock:
                    found = self._checked.get(root)
                return found.fresh if found is not None else _told(run)
            # It began before we came, and may have passed what was saved since.

    def watch(self, root: str, *, watched: bool = True) -> None:
        """Somebody tells by `changed` when files below this root change, or does so no more."""
        with self._lock:
            (self._watched.add if watched else self._watched.discard)(root)

    def changed(self, root: str) -> None:
        """Files below this root have changed: however recent the last look is, the next search looks again."""
        with self._lock:
            self._changed[root] = self._clock.monotonic()

    def _known(self, root: str, came: float) -> Freshness | None:
        """What is known of files that need not be looked at now; None when they are."""
        last = self._checked.get(root)
        if last is None:
            return None
        if last.began >= came:
            return replace(last.fresh, mode="coalesced") if last.fresh.mode == "synced" else last.fresh
        if came < last.ended or came >= last.ended + self._rest(root, last):
            return None
        if self._changed.get(root, last.began - 1) >= last.began:
            return None
        if last.fresh.mode == "synced":
            return Freshness("skipped_recent", 0, last.fresh.checked_at)
        return last.fresh

    def _rest(self, root: str, last: _Checked) -> float:
        if last.fresh.mode != "synced":
            return AGENT_RECENT_SECONDS
        if root in self._watched:
            return RECENT_SYNC_SECONDS
        # Where something has just changed, more is to come.
        return 0.0 if last.fresh.changed else min(AGENT_RECENT_SECONDS, last.ended - last.began)

    def _begin(self, codebase: Codebase) -> Run:
        return self._runs.start(Action.SYNC, codebase, upkeep=False, then=self._ended)

    def _ended(self, run: Run) -> None:
        with self._lock:
            self._checked[run.root] = _Checked(run.began, self._clock.monotonic(), _told(run))


def _told(run: Run) -> Freshness:
    """What a sync came to."""
    if isinstance(run.report, RunReport):
        return Freshness("synced", run.report.changes.total, run.began_at, snapshot=run.report.snapshot_id)
    if isinstance(run.error, StoreBusy):
        return Freshness("skipped_busy")
    return Freshness("sync_failed", trouble=run.error.code if run.error else None)
