"""The same tree as a snapshot of few or many segments, with old versions and deleted files still lying in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cairn.engine.scan import Texts
from cairn.store.read.snapshot import SnapshotView, open_view
from tests.store.disks import MemoryDisk
from tests.store.little import save


def layered(tree: Mapping[str, bytes], layers: int, ghost: bytes = b"") -> MemoryDisk:
    """A store that holds exactly this tree, written in so many steps; `ghost` is text that is deleted in the end."""
    fs = MemoryDisk()
    keys = sorted(tree)
    state: dict[str, bytes] = {}
    for step in range(layers - 1):
        later = {key for other in range(step + 1, layers) for key in keys[other::layers]}
        # Of what comes later there is an old version first.
        state |= {key: ghost + tree[key] + b"old" for key in later} | {key: tree[key] for key in keys[step::layers]}
        save(fs, state | {f"a ghost {step}.txt": ghost + b"%d" % step, f"z/ghost {step}.txt": ghost})
    save(fs, tree)
    return fs


@contextmanager
def viewed(fs: MemoryDisk) -> Iterator[SnapshotView]:
    view = open_view(fs, "store")
    assert view is not None
    with view:
        yield view


@contextmanager
def texts_of(tree: Mapping[str, bytes], layers: int = 1, ghost: bytes = b"") -> Iterator[Texts]:
    with viewed(layered(tree, layers, ghost)) as view:
        yield Texts(view)
