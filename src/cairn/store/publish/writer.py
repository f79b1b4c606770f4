"""Open a run that writes: it holds the lease, builds on the newest whole snapshot, and leaves nothing half done.

A writer that takes over the lease first puts a fence in the way of the writer before it, and then ends what that writer
had begun: it makes a swap of the pointer that was due, removes a manifest that was never published, and adopts sealed
batches.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Protocol

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.limits import LEASE_TTL_MS
from cairn.core.types import StoredFile
from cairn.errors import StoreUnreadable
from cairn.store.format.layout import (
    POINTER,
    RANDOM_BYTES,
    SNAPSHOTS,
    create_store,
    encode_pointer,
    is_created,
    snapshot_id,
    temp_path,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.seal import Remembered, load_digests
from cairn.store.fs import Fs, is_full, replace_file
from cairn.store.publish.generations import is_published, plant_fence, published, read_claims
from cairn.store.publish.lease import Lease, RunKind, acquire
from cairn.store.publish.staging import Batch, BatchWriter, Layer, Staging, staged_records, withdraw
from cairn.store.publish.tidy import tidy
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.sharing import require_capable

Base = Callable[[Lease, Remembered], SnapshotView | None]


class Away(Protocol):
    """A copy of the store elsewhere, which a snapshot must reach before it is published."""

    def send(self, view: SnapshotView) -> None:
        """Store safely in the copy all that the snapshot reads; raises when that fails."""

    def mark(self, manifest: Manifest) -> None:
        """Mark the snapshot as published in the copy."""

    def sweep(self) -> tuple[int, int]:
        """Remove what no kept snapshot names; return how many segments and markers. For the holder of the lease."""


class Writer(AbstractContextManager["Writer"]):
    """A run that holds the lease.

    `view` is the snapshot that the run builds on (None: the first run), `newest` the highest generation that is taken.
    `adopted` are the batches of earlier runs that were killed, `layers` what this run wants on top of its base; `away`
    is a copy that is kept elsewhere. Leaving the context without a publish withdraws what was put in place and keeps
    the sealed batches for the next run, unless they have filled the disk.
    """

    def __init__(self, fs: Fs, lease: Lease, view: SnapshotView | None, newest: int, staging: Staging) -> None:
        self.fs = fs
        self.lease = lease
        self.view = view
        self.newest = newest
        self.staging = staging
        self.adopted: tuple[Batch, ...] = ()
        self.away: Away | None = None
        self.layers: list[Layer] = []
        self._closing = ExitStack()

    @property
    def run(self) -> str:
        return self.lease.run_id

    @property
    def base(self) -> Manifest | None:
        """The manifest that this run builds on."""
        return self.view.manifest if self.view is not None else None

    def add_layer(
        self,
        *,
        replaced: Iterable[str] = (),
        deleted: Iterable[str] = (),
        renamed: Iterable[str] = (),
        batches: Iterable[Batch] = (),
    ) -> None:
        """Add a layer that hides the files with these keys and puts the batches on top; an empty layer is dropped."""
        layer = Layer.of(replaced=replaced, deleted=deleted, renamed=renamed, batches=batches)
        if layer.tombstones or layer.batches:
            self.layers.append(layer)

    def segments(self, dimension: int, chunker_version: str) -> BatchWriter:
        """Return a writer of batches for this run's files and their vectors."""
        return BatchWriter(self.fs, self.staging, dimension, chunker_version)

    def records(self, batch: Batch) -> list[StoredFile]:
        """Return the records of the files in a batch of this run, whether made or adopted."""
        return staged_records(self.fs, self.run, batch)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        # When the disk is full or gone, or a new holder of the lease tidies up at this moment, the next run does this
        # work.
        with self._closing, contextlib.suppress(OSError):
            if is_published(self.fs, self.run):
                return
            with contextlib.suppress(OSError):
                withdraw(self.fs, self.run)
            if is_full(error):
                # What filled the disk is given back: whoever makes room need not know of half an index.
                with contextlib.suppress(OSError):
                    self.staging.end()
            if isinstance(error, OSError | StoreUnreadable):
                # Files may be missing because a new holder of the lease tidied them away: then report the lost lease,
                # and no damage.
                self.lease.require_ours()


_FIRST = (RunKind.CREATE, RunKind.REINDEX, RunKind.SYNC)
Attach = Callable[[Writer], AbstractContextManager[Away | None]]


def attached(attach: Attach | None, writer: Writer) -> AbstractContextManager[Away | None]:
    """Attach the writer to its copy elsewhere, if there is one."""
    return nullcontext() if attach is None else attach(writer)


def open_writer(
    fs: Fs,
    place: str,
    kind: RunKind,
    *,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
    wait_seconds: float = 0.0,
    rebuild: bool = False,
    base: Base | None = None,
    lease_ttl_ms: int = LEASE_TTL_MS,
) -> Writer:
    """Take the lease and tidy up behind earlier runs. `StoreBusy` when another run holds the lease.

    With `rebuild`, a store without a whole snapshot is no obstacle: the run will not build on any. A repair decides by
    itself what to build on (`base`), with the lease and before anything is tidied, and uses no remembered digests.
    """
    if not is_created(fs):
        create_store(fs)
    # What a disk can do is tried until a run has written its snapshot there, in the store of a group before each run.
    if fs.modes.shared or (kind in _FIRST and not fs.list_folder(SNAPSHOTS)):
        require_capable(fs, place)
    run = snapshot_id(clock.wall_ns(), secrets.token_bytes(RANDOM_BYTES))
    with ExitStack() as stack:
        lease = stack.enter_context(
            acquire(
                fs,
                run_id=run,
                kind=kind,
                floor_epoch=_highest_epoch(fs),
                clock=clock,
                processes=processes,
                ttl_ms=lease_ttl_ms,
                wait_seconds=wait_seconds,
            )
        )
        with _unless_robbed(lease):
            if lease.fence_owed:
                plant_fence(fs, read_claims(fs).newest)
                lease.fence_owed = False
            remembered = load_digests(fs) if base is None else Remembered()
            view = _open_base(fs, place, remembered, rebuild) if base is None else base(lease, remembered)
            if view is not None:
                stack.enter_context(view)
                finish_swap(fs, run, view.manifest)
            staging = Staging(fs, run, remembered)
            writer = Writer(fs, lease, view, read_claims(fs).newest, staging)
            # Tidy up behind all runs, not only the last one: another run may have been killed while it tidied up, and a
            # power cut can bring removed names back.
            writer.adopted = tuple(tidy(fs, staging, lease))
        writer._closing = stack.pop_all()
        return writer


@contextlib.contextmanager
def _unless_robbed(lease: Lease) -> Iterator[None]:
    """Raise `LeaseLost` in place of errors about files that a new holder of the lease has tidied away."""
    try:
        yield
    except (OSError, StoreUnreadable):
        with contextlib.suppress(OSError):
            lease.require_ours()
        raise


def point_to(fs: Fs, run: str, manifest: Manifest) -> None:
    """Make the pointer name this snapshot, safely."""
    replace_file(fs, POINTER, temp_path(POINTER, run), encode_pointer(manifest.snapshot_id), safe=True)


def finish_swap(fs: Fs, run: str, newest: Manifest) -> None:
    """Make the swap that a writer, killed after its claim, still owed. The pointer never goes back."""
    pointed = read_claims(fs).pointed
    if pointed is None or pointed.generation < newest.generation:
        point_to(fs, run, newest)


def _open_base(fs: Fs, place: str, remembered: Remembered, rebuild: bool) -> SnapshotView | None:
    try:
        return open_view(fs, place, remembered=remembered)
    except StoreUnreadable:
        if rebuild:
            return None
        raise


def _highest_epoch(fs: Fs) -> int:
    """Return the highest epoch that a manifest shows: the lease must go on from there even if its own file was lost.

    This is read before the lease is taken, so that a store of a later version is refused before anything is written.
    """
    newest = next(published(fs, read_claims(fs), []), None)
    return newest.lease_epoch if newest else 0
