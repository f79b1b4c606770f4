"""Remove what other runs have left behind, however long ago: orphaned segments, manifests that were never published.

The lease names only the run before. But names that a run removed come back when the power goes before the removal was
safe, and a run may be killed while it tidies up behind another: so everything that no snapshot accounts for is checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from cairn.errors import StoreUnreadable
from cairn.store.format.layout import (
    COMPACT_LOCK,
    GENERATIONS,
    MANIFEST,
    MAPPING,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    WORKSHOP,
    generation_number,
    generation_path,
    is_segment_name,
    is_snapshot_id,
    is_temp,
    manifest_path,
    segment_folder,
    snapshot_folder,
    staging_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.tombstones import snapshot_of
from cairn.store.fs import Fs, despite_a_sleeper, remove_file, remove_tree
from cairn.store.publish.generations import is_published, read_generation
from cairn.store.publish.lease import Lease
from cairn.store.publish.staging import Batch, Staging, remove_temps

# --- what the snapshots of a store account for ------------------------------------------------------------------------


class Accounts(NamedTuple):
    """The published snapshots, the segments they name, and which files stay in the folder of each run."""

    published: frozenset[str]
    segments: frozenset[str]
    files: Mapping[str, frozenset[str]]

    @property
    def runs(self) -> frozenset[str]:
        """Every run that made something still in use, whether its snapshot is published or collected."""
        return frozenset(self.files)


def accounts_of(manifests: Iterable[Manifest]) -> Accounts:
    """Return everything that these manifests name."""
    manifests = tuple(manifests)
    segments = frozenset(ref.name for manifest in manifests for ref in manifest.segments)
    files: dict[str, set[str]] = defaultdict(set)
    for name in segments:
        files[run_of(name)].add(MAPPING)
    for manifest in manifests:
        files[manifest.snapshot_id] |= {MANIFEST, MAPPING}
        for ref in manifest.tombstones:
            files[snapshot_of(ref.path)].add(ref.path.rpartition("/")[2])
    published = frozenset(manifest.snapshot_id for manifest in manifests)
    return Accounts(published, segments, {run: frozenset(names) for run, names in files.items()})


def unaccounted(fs: Fs, accounts: Accounts, runs: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files and whole folders of these runs that no snapshot accounts for."""
    runs = frozenset(runs)
    for run in fs.list_folder(SNAPSHOTS):
        if is_snapshot_id(run) and run in runs:
            folder = snapshot_folder(run)
            if stays := accounts.files.get(run):
                yield from (f"{folder}/{name}" for name in fs.list_folder(folder) if name not in stays)
            else:
                yield folder
    for name in fs.list_folder(SEGMENTS):
        if is_segment_name(name) and run_of(name) in runs and name not in accounts.segments:
            yield segment_folder(name)


def run_of(segment: str) -> str:
    """Return the run that made a segment, by the segment's name."""
    return segment.split("_")[1]


class _Traces(NamedTuple):
    """The runs that have left something, by where they left it; and whether there is a folder of merged segments."""

    snapshots: set[str]
    staged: set[str]
    installed: set[str]
    temps: set[str]
    merging: bool


def tidy(fs: Fs, staging: Staging, lease: Lease) -> list[Batch]:
    """Remove everything of other runs but what was published, and return the sealed batches that are adopted.

    Only for the holder of the lease with its fence in place: no earlier run can claim a number any more.
    """
    traces = _look(fs)
    # Check after looking: if the lease was lost before that, the run of its new holder would be among the traces.
    lease.require_ours()
    if traces.merging:
        _sweep_workshop(fs)
    numbers = [number for name in fs.list_folder(GENERATIONS) if (number := generation_number(name)) is not None]
    won = _winners(fs, traces.snapshots, numbers)
    for run in sorted(won):
        if run in traces.staged:
            with despite_a_sleeper():
                remove_tree(fs, staging_folder(run))
        if run in traces.temps:
            remove_temps(fs, run)
    others = traces.snapshots.union(traces.staged, traces.installed, traces.temps) - won - {staging.run}
    accounts = _accounts(fs, numbers, lease) if others else None
    if accounts is None:
        return []
    adopted = []
    for run in sorted(others - accounts.runs):
        lease.beat()
        adopted += staging.adopt(run)
    _finish_collecting(fs, accounts, (others & accounts.runs) - accounts.published)
    return adopted


def _sweep_workshop(fs: Fs) -> None:
    """Remove half-built merged segments, unless a builder is at work; the lock of a dead builder is free."""
    with suppress(TimeoutError), fs.lock(COMPACT_LOCK, exclusive=True, timeout=0.0):
        remove_tree(fs, WORKSHOP)


def _look(fs: Fs) -> _Traces:
    snapshots, staging = fs.list_folder(SNAPSHOTS), fs.list_folder(STAGING)
    return _Traces(
        snapshots=set(filter(is_snapshot_id, snapshots)),
        staged=set(filter(is_snapshot_id, staging)),
        installed={run_of(name) for name in fs.list_folder(SEGMENTS) if is_segment_name(name)},
        temps={run for name in fs.list_folder("") if is_temp(name) and is_snapshot_id(run := name.split(".")[-2])},
        merging=WORKSHOP.rpartition("/")[2] in staging,
    )


def _winners(fs: Fs, snapshots: set[str], numbers: list[int]) -> set[str]:
    """Return the runs whose manifest has claimed a number, damaged or not; two names of one file need not be read."""
    claimed = {_inode(fs, generation_path(number)) for number in numbers}
    found = {run: _inode(fs, manifest_path(run)) for run in snapshots}
    # A folder without a manifest holds what a collected snapshot left to later ones.
    return {run for run, inode in found.items() if inode and (inode in claimed or is_published(fs, run))}


def _inode(fs: Fs, path: str) -> tuple[int, ...] | None:
    try:
        return fs.stat(path)[:2]
    except FileNotFoundError:
        return None


def _accounts(fs: Fs, numbers: list[int], lease: Lease) -> Accounts | None:
    """Return what is in use, even if the manifest that added it is gone; None when that cannot be known.

    A damaged manifest may name anything, so then nothing is removed.
    """
    manifests = []
    for number in numbers:
        try:
            manifests.append(read_generation(fs, number))
        except FileNotFoundError:
            # Either a sleeping collector, which lost the lease to us, woke up and went on, which is harmless. Or we
            # have lost the lease ourselves: then later snapshots, which are not among the numbers, may use what this
            # one added.
            lease.require_ours()
        except StoreUnreadable:
            return None
    return accounts_of(manifest for manifest in manifests if manifest is not None)


def _finish_collecting(fs: Fs, accounts: Accounts, runs: set[str]) -> None:
    """Remove from the folders of collected snapshots everything that later ones do not use."""
    for path in list(unaccounted(fs, accounts, runs)):
        try:
            remove_file(fs, path)
        except IsADirectoryError:
            remove_tree(fs, path)
