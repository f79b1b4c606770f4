"""What a run does for the store when it is over: merge segments and collect what nobody needs, when it is due.

The run itself is published by then. Nothing here can take that back, and no trouble with it is the user's.
"""

from __future__ import annotations

import contextlib

from cairn.core.clock import Clock
from cairn.errors import CairnError
from cairn.store.fs import Fs
from cairn.store.manifest import Manifest
from cairn.store.tiers import is_overdue
from cairn.sync.attach import Attach
from cairn.sync.collect import collect_store, is_due
from cairn.sync.compact import compact_store
from cairn.sync.report import Phase, Progress, Tell


def look_after(
    fs: Fs, place: str, newest: Manifest, tell: Tell, *, eager: bool, clock: Clock, attach: Attach | None = None
) -> str:
    """Leave the store small. Unless `eager`, only when it can wait no longer. The snapshot that holds the files now."""
    snapshot = newest.snapshot_id
    if not eager and not is_overdue(newest):
        return snapshot
    # A full disk, another writer, a store that somebody damages: the next run finds the same to do. And who presses
    # Ctrl-C now stops this, not the run, which has been published.
    with contextlib.suppress(CairnError, OSError, KeyboardInterrupt):
        report = compact_store(fs, place, tell, clock=clock, attach=attach)
        if report.before.snapshot_id == snapshot:
            snapshot = report.after.snapshot_id
        if is_due(fs, clock):
            tell(Progress(Phase.COLLECTING))
            collect_store(fs, place, clock=clock, attach=attach)
    return snapshot
