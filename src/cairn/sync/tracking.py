"""Note in the registry how runs ended, and list a user's codebases with its help.

The registry never fails a run: trouble with it is ignored. What the registry knows already is not written again, so
most syncs do not write there; the store itself knows when it was last synced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.limits import DAEMON_RECENT_SECONDS
from cairn.errors import CairnError, Cancelled, Interrupted, LeaseStuck, StoreBusy, StoreError, StoreUnreadable
from cairn.store import Home, Registry, RunKind, RunOutcome, Store, Tracked
from cairn.sync.codebase import StorePlace, model_of
from cairn.sync.inventory import StoreEntry, StoreTrouble, inventory

_TROUBLE = (OSError, StoreError, StoreUnreadable)


# --- what runs note ---------------------------------------------------------------------------------------------------


@contextmanager
def noted(place: StorePlace, kind: RunKind, clock: Clock) -> Iterator[None]:
    """Note what a run is going to make before it begins, and afterwards how it ended; the run holds the lease."""
    # A sync changes neither the store nor the model, so there is nothing to note before it ends.
    full = kind is not RunKind.SYNC
    if full:
        _note(place, kind, RunOutcome.BEGUN, None, clock)
    try:
        yield
    except BaseException as problem:
        outcome, code = _ended(problem)
        # A sync that is cancelled is no news: that happens many times a day.
        if full or outcome is RunOutcome.FAILED:
            _note(place, kind, outcome, code, clock)
        raise
    _note(place, kind, RunOutcome.SUCCEEDED, None, clock)


@contextmanager
def refused(place: StorePlace, kind: RunKind, clock: Clock) -> Iterator[None]:
    """Note that a run failed before it began; that another run is at work, or that this one was stopped, is no news."""
    try:
        yield
    except (StoreBusy, LeaseStuck):
        raise
    except BaseException as problem:
        outcome, code = _ended(problem)
        if outcome is RunOutcome.FAILED:
            _note(place, kind, outcome, code, clock)
        raise


def note_recovered(place: StorePlace, clock: Clock) -> None:
    """Note that a sync has found nothing to do, after one that had failed: what that has missed is gone."""
    known = remembered(place)
    if known is not None and known.last_run_outcome is RunOutcome.FAILED:
        _note(place, RunKind.SYNC, RunOutcome.SUCCEEDED, None, clock)


def note_cleared(place: StorePlace, clock: Clock) -> None:
    """Note that the index was emptied on purpose, so that no sync fills it again, whatever the settings."""
    _note(place, RunKind.CLEAR, RunOutcome.SUCCEEDED, None, clock)


def _ended(problem: BaseException) -> tuple[RunOutcome, str | None]:
    if isinstance(problem, CairnError) and not isinstance(problem, Cancelled | Interrupted):
        return RunOutcome.FAILED, problem.code
    if isinstance(problem, OSError):
        return RunOutcome.FAILED, Store.trouble("", problem).code
    return RunOutcome.CANCELLED, None


def _note(place: StorePlace, kind: RunKind, outcome: RunOutcome, code: str | None, clock: Clock) -> None:
    now = rfc3339(clock.wall_ns())

    def noted(before: Tracked | None) -> Tracked:
        return replace(
            before or Tracked(place.root, place.store_id, now),
            store_id=place.store_id,
            cleared=kind is RunKind.CLEAR,
            embedding_model=model_of(place.fingerprint.fields),
            last_run_kind=kind.value,
            last_run_outcome=outcome,
            last_run_at=now,
            last_error_code=code,
        )

    known = remembered(place)
    if known is not None and replace(noted(known), last_run_at=known.last_run_at) == known:
        return
    change(place.home, lambda registry: registry.put(noted(_of(registry.entries(), place.root))), clock)


def change(home: str, write: Callable[[Registry], None], clock: Clock = SYSTEM_CLOCK) -> None:
    """Write to the registry, ignoring trouble; a new registry first learns what the stores know."""
    try:
        _change(home, write, clock)
    except OSError:
        # That a run failed because its disk is full is to be known all the same: for a moment there is some room.
        if Home(home).reserve.give_up():
            with contextlib.suppress(*_TROUBLE):
                _change(home, write, clock)
            Home(home).reserve.keep(again=True)
    except _TROUBLE:
        return


def _change(home: str, write: Callable[[Registry], None], clock: Clock) -> None:
    with Home(home).registry(clock) as (registry, new):
        if new:
            for entry in from_stores(inventory(home, measured=False).stores, rfc3339(clock.wall_ns())):
                registry.put(entry)
        write(registry)


def from_stores(stores: tuple[StoreEntry, ...], now: str) -> list[Tracked]:
    """Return the codebases that the stores know by themselves: those whose newest snapshot names its root."""
    # Of several indexes of a root the one used last comes last, and replaces the others in the registry.
    known = [one for one in stores if one.root is not None and one.active_snapshot_id is not None and not one.trouble]
    return [
        Tracked(one.root, one.store_id, one.created_at or now, one.cleared, one.embedding_model)
        for one in sorted(known, key=lambda one: one.last_used_at or "")
        if one.root is not None
    ]


# --- what is remembered -----------------------------------------------------------------------------------------------


def remembered(place: StorePlace) -> Tracked | None:
    """Return what the registry knows of the codebase of this place; None too when it cannot be read."""
    with contextlib.suppress(*_TROUBLE):
        return _of(Home(place.home).tracked(), place.root)
    return None


def _of(entries: tuple[Tracked, ...], root: str) -> Tracked | None:
    return next((entry for entry in entries if entry.root == root), None)


# --- all of them ------------------------------------------------------------------------------------------------------


class Codebases(NamedTuple):
    """The stores of a user, and what the registry remembers of codebases, with or without a store."""

    stores: tuple[StoreEntry, ...] = ()
    tracked: tuple[Tracked, ...] = ()


def recent_roots(home: str, clock: Clock = SYSTEM_CLOCK) -> list[str]:
    """Return the roots of the codebases that were used within `DAEMON_RECENT_SECONDS`, the one used last first."""
    since = rfc3339(clock.wall_ns() - int(DAEMON_RECENT_SECONDS * 1e9))
    with contextlib.suppress(*_TROUBLE):
        stores = inventory(home, measured=False, clock=clock).stores
        used = [(one.last_used_at or "", one.root) for one in stores if one.trouble is None and not one.cleared]
        newest_first = sorted((at, root) for at, root in used if root is not None and at >= since)[::-1]
        return list(dict.fromkeys(root for _, root in newest_first))
    return []


class Members:
    """The list of a user's codebases. When a store cannot be read, its last known entry stays.

    Looking changes nothing.
    """

    def __init__(self, home: str, clock: Clock = SYSTEM_CLOCK) -> None:
        self._home, self._clock = home, clock
        self._stores: dict[str, StoreEntry] = {}
        self._tracked: tuple[Tracked, ...] = ()

    def look(self) -> Codebases:
        """Return all codebases as they are now or, where they cannot be read now, as they were."""
        with contextlib.suppress(*_TROUBLE):
            self._tracked = Home(self._home).tracked(self._clock)
        try:
            found = inventory(self._home, measured=False, clock=self._clock).stores
        except (StoreError, StoreUnreadable) as problem:
            trouble = StoreTrouble(problem.code, problem.sentence)
            return Codebases(tuple(replace(one, trouble=trouble) for one in self._stores.values()), self._tracked)
        self._stores = {one.store_id: self._with_memory(one) for one in found}
        return Codebases(tuple(self._stores.values()), self._tracked)

    def _with_memory(self, entry: StoreEntry) -> StoreEntry:
        """Return the entry; a store in trouble gets what it said of itself before."""
        known = self._stores.get(entry.store_id)
        if entry.trouble is None or known is None:
            return entry
        return replace(known, trouble=entry.trouble, writer_alive=entry.writer_alive)
