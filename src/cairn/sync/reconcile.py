"""Bring the registry in line with the stores, for a maintenance command; nothing that answers questions calls this."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.config import cairn_home
from cairn.errors import CairnError
from cairn.store import Registry, Tracked
from cairn.sync.codebase import model_of, open_codebase, place_of
from cairn.sync.inventory import StoreEntry, inventory
from cairn.sync.proof import validate_completion_proof
from cairn.sync.remote.copy import engine_standing
from cairn.sync.tracking import change


def reconcile_non_destructive(environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK) -> list[str]:
    """Add indexed codebases that are proven and missing to the registry; return the roots that were added.

    Where the settings name a search server, its marker must prove the index as well: a server that does not answer adds
    nothing. A root with a run in progress is left alone, and no codebase is ever removed.
    """
    home = cairn_home(environ)
    proven = [
        found
        for entry in inventory(home, measured=False, clock=clock).stores
        if (found := _proven(entry, environ, clock)) is not None
    ]
    added: list[str] = []

    def add(registry: Registry) -> None:
        known = {entry.root for entry in registry.entries()}
        for entry in proven:
            if entry.root not in known:
                registry.put(entry)
                added.append(entry.root)

    if proven:
        change(home, add, clock)
    return added


def prune(home: str, clock: Clock = SYSTEM_CLOCK) -> list[str]:
    """Remove codebases without a store from the registry; return their roots. A damaged store counts as a store."""
    gone: list[str] = []

    def forget(registry: Registry) -> None:
        stores = inventory(home, measured=False, clock=clock).stores
        there = {entry.store_id for entry in stores}
        roots = {entry.root for entry in stores}
        for entry in registry.entries():
            if entry.store_id not in there and entry.root not in roots:
                registry.forget(entry.root)
                gone.append(entry.root)

    change(home, forget, clock)
    return gone


def _proven(entry: StoreEntry, environ: Mapping[str, str], clock: Clock) -> Tracked | None:
    if entry.root is None or entry.writer_alive or entry.trouble is not None:
        return None
    try:
        codebase = open_codebase(entry.root, environ)
    except CairnError:
        return None
    place = place_of(codebase, cairn_home(environ))
    if place.store_id != entry.store_id or not validate_completion_proof(place).is_valid:
        return None
    there = engine_standing(codebase, cairn_home(environ), environ, clock)
    if there.uri and (there.proof is None or not there.proof.is_valid):
        return None
    tracked_at = entry.created_at or rfc3339(clock.wall_ns())
    return Tracked(place.root, place.store_id, tracked_at, embedding_model=model_of(place.fingerprint.fields))
