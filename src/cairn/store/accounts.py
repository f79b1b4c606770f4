"""What the snapshots of a store account for. Whatever else lies in it belongs to nobody.

A snapshot that was collected leaves behind what later ones still use: segments, the tombstones that it added, and
beside a segment the hint which files went to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cairn.store.fs import Fs
from cairn.store.ids import is_segment_name, is_snapshot_id
from cairn.store.layout import MANIFEST, MAPPING, SEGMENTS, SNAPSHOTS, segment_folder, snapshot_folder
from cairn.store.manifest import Manifest
from cairn.store.tombstones import snapshot_of


class Accounts(NamedTuple):
    """The snapshots that are published, the segments they name, and which files stay in the folder of each run."""

    published: frozenset[str]
    segments: frozenset[str]
    files: Mapping[str, frozenset[str]]

    @property
    def runs(self) -> frozenset[str]:
        """Every run of which something is in use, published or collected."""
        return frozenset(self.files)


def accounts_of(manifests: Iterable[Manifest]) -> Accounts:
    """All that these manifests name."""
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
    """The paths of files and whole folders of these runs that nobody accounts for."""
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
    """The run that made a segment, by its name."""
    return segment.split("_")[1]
