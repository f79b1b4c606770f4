"""Merge segments into fewer, without what is dead in them, while everybody else goes on reading and writing.

Merging takes no lease: it reads a view, and writes where no other run looks. Only the publish takes it. When another
snapshot was published meanwhile, the merged segments stand on that one just as well, as long as it still holds those
that they replace; if it does not, the work is thrown away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from cairn.core.clock import Clock
from cairn.core.fingerprint import IndexFingerprint
from cairn.store.draft import Draft, Rewrite
from cairn.store.files import remove_tree
from cairn.store.fs import Fs
from cairn.store.layout import COMPACT_LOCK, WORKSHOP
from cairn.store.manifest import Manifest
from cairn.store.merge import merge
from cairn.store.publish import publish
from cairn.store.seal import Remembered, Sealed, seal_files
from cairn.store.snapshot import SnapshotView, parts_of
from cairn.store.writer import Writer

Tell = Callable[[int], None]


class Built(NamedTuple):
    """A merged segment that is sealed and waits in its folder; None when nothing of the replaced ones was live."""

    replaced: tuple[str, ...]
    folder: str | None
    sealed: Sealed
    rows: int
    files: int


@contextlib.contextmanager
def workshop(fs: Fs) -> Iterator[str]:
    """A folder to build in, which no run adopts or removes, empty before and gone afterwards.

    TimeoutError: somebody else is building.
    """
    with fs.lock(COMPACT_LOCK, exclusive=True, timeout=0.0):
        # Whoever built here before us is dead, or we would not have the lock.
        remove_tree(fs, WORKSHOP)
        fs.make_folder(WORKSHOP)
        try:
            yield WORKSHOP
        finally:
            with contextlib.suppress(OSError):
                remove_tree(fs, WORKSHOP)


def build(
    fs: Fs, view: SnapshotView, groups: Iterable[Sequence[str]], folder: str, tell: Tell = lambda _: None
) -> list[Built]:
    """Merge each group of segments of the view into a folder below this one; `tell` hears how many are done."""
    built = []
    for number, group in enumerate(groups):
        tell(number)
        parts = [part for part in parts_of(view) if part.ref.name in group]
        place = f"{folder}/{number}"
        fs.make_folder(place)
        merged = merge(fs, place, parts)
        if merged.files or merged.records:
            built.append(Built(tuple(group), place, seal_files(fs, place, Remembered()), merged.rows, merged.files))
        else:
            remove_tree(fs, place)
            built.append(Built(tuple(group), None, Sealed(()), 0, 0))
    return built


def holders(view: SnapshotView, paths: Iterable[str]) -> frozenset[str]:
    """The segments of a view that hold any copy of one of these files, dead or alive."""
    wanted = list(paths)
    return frozenset(
        part.ref.name for part in parts_of(view) if any(part.segment.find(path) is not None for path in wanted)
    )


def rewrite(writer: Writer, groups: Iterable[Sequence[str]], without: Collection[str]) -> tuple[Rewrite, ...]:
    """Merge each group of segments of the base, without these files, as a part of the run that holds the lease."""
    assert writer.view is not None
    rewrites = []
    for group in groups:
        writer.lease.beat()
        parts = [part for part in parts_of(writer.view) if part.ref.name in group]
        merged = merge(writer.fs, writer.staging.begin(), parts, without)
        batch = None
        if merged.files or merged.records:
            batch = writer.staging.seal(merged.rows, merged.files, adoptable=False)
        else:
            writer.staging.drop()
        rewrites.append(Rewrite(tuple(group), batch))
    return tuple(rewrites)


def fits(built: Iterable[Built], base: Manifest | None) -> bool:
    """Whether the base of a run still holds everything that is to be replaced."""
    held = {ref.name for ref in base.segments} if base and base.completion else set()
    return all(held.issuperset(each.replaced) for each in built)


def publish_merged(writer: Writer, built: Iterable[Built], clock: Clock) -> Manifest:
    """A snapshot that holds what the base holds, in the merged segments. The tree is not looked at: nothing changes."""
    base, view = writer.base, writer.view
    assert base is not None
    assert view is not None
    counts = view.counts()
    rewrites = [
        Rewrite(
            each.replaced,
            None if each.folder is None else writer.staging.take(each.folder, each.sealed, each.rows, each.files),
        )
        for each in built
    ]
    draft = Draft(
        root=base.canonical_root,
        store_id=base.store_id,
        fingerprint=IndexFingerprint(base.config_fields, base.config_fingerprint),
        ignore_fingerprint=base.ignore_fingerprint,
        git=base.git,
        read_at=base.created_at,
        on_base=True,
        rewrites=tuple(rewrites),
        files=counts.files + counts.skip_records,
        skipped=base.skipped,
        errors=base.errors,
        complete=base.completion is not None,
    )
    manifest = publish(writer, draft, lambda: True, clock)
    assert manifest is not None
    return manifest
