"""Clear away what other runs have left behind, whoever they were and however long ago.

The lease names only the run before. But names that it removed come back when the power goes before that was safe, and a
run may be killed while it tidies up behind another: so everything that no snapshot accounts for is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

from cairn.errors import StoreUnreadable
from cairn.store.files import despite_a_sleeper, remove_tree
from cairn.store.fs import Fs
from cairn.store.generations import is_published, read_generation
from cairn.store.ids import is_segment_name, is_snapshot_id
from cairn.store.layout import (
    GENERATIONS,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    generation_number,
    generation_path,
    is_temp,
    manifest_path,
    staging_folder,
)
from cairn.store.lease import Lease
from cairn.store.staging import Batch, Staging, remove_temps
from cairn.store.tombstones import snapshot_of


class _Traces(NamedTuple):
    """Which runs have left something, and where."""

    snapshots: set[str]
    staged: set[str]
    installed: set[str]
    temps: set[str]


def tidy(fs: Fs, staging: Staging, lease: Lease) -> list[Batch]:
    """Nothing of any other run is left but what was published; the batches that they had sealed are taken over.

    Only for the holder of the lease, with its fence in place: no run that came before can win a number any more.
    """
    traces = _look(fs)
    # After the look: had we been robbed before it, the thief's own run would be among the traces.
    lease.require_ours()
    numbers = [number for name in fs.list_folder(GENERATIONS) if (number := generation_number(name)) is not None]
    won = _winners(fs, traces.snapshots, numbers)
    for run in sorted(won):
        if run in traces.staged:
            with despite_a_sleeper():
                remove_tree(fs, staging_folder(run))
        if run in traces.temps:
            remove_temps(fs, run)
    others = traces.snapshots.union(traces.staged, traces.installed, traces.temps) - won - {staging.run}
    kept = _named_by_manifests(fs, numbers) if others else frozenset()
    # Unknown is what a damaged manifest names: then nothing is taken away.
    losers = [] if kept is None else sorted(others - kept)
    return [batch for run in losers for batch in staging.adopt(run)]


def _look(fs: Fs) -> _Traces:
    return _Traces(
        snapshots=set(filter(is_snapshot_id, fs.list_folder(SNAPSHOTS))),
        staged=set(filter(is_snapshot_id, fs.list_folder(STAGING))),
        installed={_run_of(name) for name in fs.list_folder(SEGMENTS) if is_segment_name(name)},
        temps={run for name in fs.list_folder("") if is_temp(name) and is_snapshot_id(run := name.split(".")[-2])},
    )


def _winners(fs: Fs, snapshots: set[str], numbers: list[int]) -> set[str]:
    """The runs whose manifest has won a number, damaged or not: two names of one file need not be read."""
    claimed = {fs.stat(generation_path(number))[:2] for number in numbers}
    return {run for run in snapshots if _inode(fs, run) in claimed or is_published(fs, run)}


def _inode(fs: Fs, run: str) -> tuple[int, ...] | None:
    try:
        return fs.stat(manifest_path(run))[:2]
    except FileNotFoundError:
        return None


def _named_by_manifests(fs: Fs, numbers: list[int]) -> frozenset[str] | None:
    """The runs of which something is in use, even if their own manifest is gone; None when that cannot be known."""
    try:
        manifests = [read_generation(fs, number) for number in numbers]
    except StoreUnreadable:
        return None
    found = [manifest for manifest in manifests if manifest is not None]
    return frozenset(
        [manifest.snapshot_id for manifest in found]
        + [_run_of(ref.name) for manifest in found for ref in manifest.segments]
        + [snapshot_of(ref.path) for manifest in found for ref in manifest.tombstones]
    )


def _run_of(segment: str) -> str:
    return segment.split("_")[1]
