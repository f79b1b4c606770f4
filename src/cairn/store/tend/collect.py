"""Collect: remove old snapshots, what only they used, and staged work that nobody finished; or remove a whole store.

Every generation from a floor on is kept: at least the five newest snapshots, the active one, and every snapshot that
somebody may have begun to read a while ago. The name in `generations/` is removed first, safely, and with it the
snapshot is gone. What then belongs to no snapshot is removed by `tidy`, like everything that a killed run left, so the
next run finishes what a killed collector began.

Old generations may become free again because the collector holds the lease: no writer that lost its lease has a
manifest left with which it could claim one of them.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cairn.core.clock import Clock, Processes, wall_seconds
from cairn.core.limits import (
    GC_SAFETY_MARGIN_MS,
    MAX_STATE_BYTES,
    QUERY_TIMEOUT_MS,
    RETAIN_SNAPSHOTS_MIN,
    RETAIN_SNAPSHOTS_MIN_AGE_SECONDS,
    STAGING_TTL_SECONDS,
)
from cairn.errors import CairnError, ConfigError, EngineError, LeaseStuck, StoreBusy, StoreUnreadable
from cairn.store.format.document import is_store_id, reading_newer
from cairn.store.format.layout import (
    COMPACT_LOCK,
    GENERATIONS,
    INDEX_STATE,
    LEASE_LOCK,
    READERS_LOCK,
    SEGMENTS,
    batch_folder,
    batch_seal,
    generation_number,
    generation_path,
    staging_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.side_files import decode_state
from cairn.store.fs import DiskStat, Fs, read_whole, remove_file, remove_tree
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import LEASE, MOST_TTL_MS, RunKind, busy, find_lease, is_alive, silence_of
from cairn.store.publish.staging import Batch
from cairn.store.publish.tidy import Accounts, accounts_of, tidy, unaccounted
from cairn.store.publish.writer import Attach, Writer, attached, open_writer
from cairn.store.read.snapshot import collecting

# --- removing a whole store: it is renamed in one step, so that it exists or not; then its files are removed ----------


_REMOVED = "removed_"
_LOCK_SECONDS = 1.0
# The lock file or its folder is missing or something else: then nobody can hold the lock.
_NO_LOCK = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL)


def is_leftover(name: str) -> bool:
    """Return whether a folder of this name is left from an unfinished removal."""
    return name.startswith(_REMOVED) and is_store_id(name.removeprefix(_REMOVED))


def require_no_writer(store: Fs, clock: Clock, processes: Processes) -> None:
    """Raise `StoreBusy` when a run may be writing this store.

    A lease that is damaged, or whose process is out of sight, is believed until it has been seen to stand still for its
    term, or has stood still for longer than any lease may last.
    """
    try:
        # A later version of Cairn may hold the lease; only whether it does matters here.
        with reading_newer():
            found = find_lease(store)
        silent = silence_of(store, found, clock, processes)
    except StoreUnreadable:
        if not _stands_still(store, clock):
            raise StoreBusy(kind="unknown", pid="unknown") from None
        return
    except OSError as error:
        if error.errno not in _NO_LOCK:
            raise
        return
    lease = found.record
    if found.data is None or (lease and not is_alive(lease, processes)) or silent * 1_000 > found.term_ms():
        return
    if (lease and processes.is_running(lease.process)) or not _stands_still(store, clock):
        raise busy(found, silent)


@contextlib.contextmanager
def alone(store: Fs, clock: Clock, processes: Processes) -> Iterator[None]:
    """Keep other writers and readers out of a store; `StoreBusy` or `LeaseStuck` when one is at work."""
    with contextlib.ExitStack() as held:
        # Taking or renewing the lease needs this lock.
        _hold(held, store, LEASE_LOCK, "it is about to write")
        require_no_writer(store, clock, processes)
        _hold(held, store, COMPACT_LOCK, "it is writing segments")
        _hold(held, store, READERS_LOCK, "it is about to read")
        yield


def retire(data: Fs, name: str) -> str:
    """Take a store's name away, safely, and return the name that its folder has now."""
    gone = _REMOVED + name
    data.move(name, gone)
    data.sync_folder("")
    return gone


def finish_removal(data: Fs, gone: str) -> None:
    """Remove the folder that `retire` has renamed."""
    remove_tree(data, gone)
    data.sync_folder("")


def _hold(held: contextlib.ExitStack, store: Fs, lock: str, why: str) -> None:
    try:
        held.enter_context(store.lock(lock, exclusive=True, timeout=_LOCK_SECONDS))
    except TimeoutError:
        raise LeaseStuck(why=why) from None
    except OSError as error:
        if error.errno not in _NO_LOCK:
            raise


def _stands_still(store: Fs, clock: Clock) -> bool:
    return clock.wall_ns() - store.stat(LEASE).mtime_ns > MOST_TTL_MS * 1_000_000


_DAMAGED = "Snapshot number {number} is damaged, so nothing was collected; run `cairn repair`."


class Collected(NamedTuple):
    """The outcome of a collection: ids of removed snapshots, removed segments and batches, their bytes, kept snapshots.

    `note` says why nothing was collected, `trouble` why a copy of the store elsewhere keeps what was removed here.
    """

    snapshots: tuple[str, ...] = ()
    segments: int = 0
    staging: int = 0
    freed_bytes: int = 0
    kept: int = 0
    note: str | None = None
    trouble: CairnError | None = None


class CollectionPlan(NamedTuple):
    """What to keep and to remove: snapshots, generations (damaged ones too), fences, and paths below the store."""

    retained: tuple[Manifest, ...] = ()
    doomed: tuple[Manifest, ...] = ()
    numbers: tuple[int, ...] = ()
    fences: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    note: str | None = None

    def outcome(self, freed_bytes: int) -> Collected:
        """Return the outcome for a plan that was carried out."""
        return Collected(
            snapshots=tuple(manifest.snapshot_id for manifest in self.doomed),
            segments=sum(path.startswith(f"{SEGMENTS}/") for path in self.paths),
            freed_bytes=freed_bytes,
            kept=len(self.retained),
            note=self.note,
        )


def collect(writer: Writer, clock: Clock) -> Collected:
    """Collect within the run that holds the lease; a note says when nothing was done because a reader is opening.

    `LeaseLost` when the lease was taken over: nobody collects without it.
    """
    fs = writer.fs
    writer.lease.check()
    plan = make_plan(fs, writer.base, clock)
    if plan.note is not None:
        return plan.outcome(0)
    with collecting(fs) as refused:
        if refused is not None:
            return Collected(kept=len(plan.retained) + len(plan.doomed), note=refused)
        freed = _size(fs, plan.paths)
        _take_numbers(fs, plan)
        # From here on no reader can find a removed snapshot, so readers may go on. Open views still read their files.
    if plan.numbers:
        writer.adopted += tuple(tidy(fs, writer.staging, writer.lease))
    # Fences go last: if a damaged manifest kept the tidying before from removing a sleeper's manifest, the fence must
    # stand until `tidy` has removed it.
    for number in plan.fences:
        remove_file(fs, generation_path(number))
    staged, staged_bytes = _expire(writer, clock)
    return plan.outcome(freed + staged_bytes)._replace(staging=staged)


def collect_store(
    fs: Fs, place: str, *, clock: Clock, wait_seconds: float = 0.0, attach: Attach | None = None
) -> Collected:
    """Take the lease, collect and release. What an unreachable server keeps is removed by the next collection."""
    with open_writer(fs, place, RunKind.GC, clock=clock, wait_seconds=wait_seconds) as writer:
        done = collect(writer, clock)
        try:
            with attached(attach, writer) as away:
                if away is not None and done.note is None:
                    away.sweep()
        except (ConfigError, EngineError, StoreUnreadable) as trouble:
            return done._replace(trouble=trouble)
        return done


def is_due(fs: Fs, clock: Clock) -> bool:
    """Return whether a collection would remove several snapshots at once. Reads one folder and one manifest."""
    numbers = sorted(filter(None, map(generation_number, fs.list_folder(GENERATIONS))))
    if len(numbers) <= 2 * RETAIN_SNAPSHOTS_MIN:
        return False
    # The snapshot before this one has been out of date since this one was published.
    following = read_generation(fs, numbers[RETAIN_SNAPSHOTS_MIN])
    if following is None or following.completion is None:
        return True
    published = wall_seconds(following.completion.completed_at)
    return clock.wall_ns() / 1e9 - published > RETAIN_SNAPSHOTS_MIN_AGE_SECONDS


def foresee(fs: Fs, active: Manifest | None, clock: Clock) -> Collected:
    """Return which snapshots `collect` would remove, without the lease and without a change."""
    plan = make_plan(fs, active, clock)
    return plan.outcome(_size(fs, plan.paths))


def make_plan(fs: Fs, active: Manifest | None, clock: Clock) -> CollectionPlan:
    """Decide what to remove: nothing without an active snapshot, and nothing while a kept generation is damaged."""
    manifests: list[Manifest] = []
    fences: list[int] = []
    damaged: list[int] = []
    for number in sorted(n for name in fs.list_folder(GENERATIONS) if (n := generation_number(name)) is not None):
        try:
            manifest = read_generation(fs, number)
        except FileNotFoundError:
            # Another collector removed it: a sleeper that lost the lease to us, or any collector while we only foresee.
            continue
        except StoreUnreadable:
            damaged.append(number)
            continue
        if manifest is None:
            fences.append(number)
        else:
            manifests.append(manifest)
    if active is None:
        return CollectionPlan(tuple(manifests))
    floor = floor_of(manifests, active, clock.wall_ns() // 1_000_000_000)
    if damaged and damaged[-1] >= floor:
        # A damaged manifest may name anything: what only it uses would look unused.
        return CollectionPlan(tuple(manifests), note=_DAMAGED.format(number=damaged[-1]))
    retained = tuple(manifest for manifest in manifests if manifest.generation >= floor)
    doomed = tuple(manifest for manifest in manifests if manifest.generation < floor)
    accounts = accounts_of(retained)
    return CollectionPlan(
        retained=retained,
        doomed=doomed,
        numbers=tuple(sorted([*damaged, *(manifest.generation for manifest in doomed)])),
        fences=tuple(number for number in fences if number < floor),
        paths=tuple(unaccounted(fs, accounts, _runs_of(doomed, accounts))),
    )


def floor_of(manifests: Sequence[Manifest], active: Manifest, now: int) -> int:
    """Return the lowest generation that is kept.

    A snapshot that was followed by another one is kept for some minutes more. A follower from the future was published
    by a clock that has been set back since: then the snapshot is kept too, until a later one has been out of date for
    that long.
    """
    floor = min([active.generation, *(manifest.generation for manifest in manifests[-RETAIN_SNAPSHOTS_MIN:])])
    seen_one_age = False
    for before, after in reversed(list(pairwise(manifests))):
        published_at = after.completion.completed_at if after.completion else after.created_at
        waited = now - wall_seconds(published_at)
        seen_one_age = seen_one_age or waited > _kept_seconds()
        if 0 <= waited <= _kept_seconds() or (waited < 0 and not seen_one_age):
            floor = min(floor, before.generation)
    return floor


def _kept_seconds() -> float:
    """Return how long a snapshot is kept after it was followed: no query that began with it lasts longer."""
    return max(RETAIN_SNAPSHOTS_MIN_AGE_SECONDS, (QUERY_TIMEOUT_MS + GC_SAFETY_MARGIN_MS) / 1000)


def _runs_of(doomed: Iterable[Manifest], retained: Accounts) -> frozenset[str]:
    """Return the runs to clean up: those of doomed snapshots, and those of which only a part is still in use."""
    return (accounts_of(doomed).runs | retained.runs) - retained.published


def _take_numbers(fs: Fs, plan: CollectionPlan) -> None:
    """Remove the generations of doomed snapshots, safely, which makes them no snapshots any more."""
    if not plan.numbers:
        return
    _forget_state(fs, plan)
    for number in plan.numbers:
        remove_file(fs, generation_path(number))
    fs.sync_folder(GENERATIONS)


def _forget_state(fs: Fs, plan: CollectionPlan) -> None:
    """Remove an index state that names a doomed snapshot; a later run writes it again."""
    try:
        state = decode_state(read_whole(fs, INDEX_STATE, MAX_STATE_BYTES, "index state"))
    except (FileNotFoundError, StoreUnreadable):
        return
    if all(manifest.snapshot_id != state.active_snapshot_id for manifest in plan.retained):
        remove_file(fs, INDEX_STATE)
        fs.sync_folder("")


# --- work that was staged and forgotten -------------------------------------------------------------------------------


def _expire(writer: Writer, clock: Clock) -> tuple[int, int]:
    """Remove batches of killed runs that nobody has finished for long; return how many, and their bytes.

    Nobody else can have staged batches: we hold the lease, and `tidy` has moved all batches to our own run.
    """
    fs, run = writer.fs, writer.run
    before = clock.wall_ns() - STAGING_TTL_SECONDS * 1_000_000_000
    old = [batch for batch in writer.adopted if _newest_change(fs, batch_folder(run, batch.number)) < before]
    freed = 0
    for batch in old:
        freed += _drop(writer, batch)
    writer.adopted = tuple(batch for batch in writer.adopted if batch not in old)
    if old and not writer.adopted:
        remove_tree(fs, staging_folder(run))
    return len(old), freed


def _drop(writer: Writer, batch: Batch) -> int:
    paths = batch_seal(writer.run, batch.number), batch_folder(writer.run, batch.number)
    freed = _size(writer.fs, paths)
    # Remove the seal first: a batch without a seal belongs to nobody.
    remove_file(writer.fs, paths[0])
    remove_tree(writer.fs, paths[1])
    return freed


def _newest_change(fs: Fs, folder: str) -> int:
    """Return when a file of a staged folder was last written; moves and seals do not count."""
    return max((found.mtime_ns for found in _files_below(fs, folder)), default=fs.stat(folder).mtime_ns)


def _size(fs: Fs, paths: Iterable[str]) -> int:
    """Return the bytes of these files and of all files below these folders; missing ones count nothing."""
    return sum(found.size for path in paths for found in _files_below(fs, path))


def _files_below(fs: Fs, path: str) -> Iterator[DiskStat]:
    with contextlib.suppress(FileNotFoundError):
        found = fs.stat(path)
        if not found.is_folder:
            yield found
            return
        for name in fs.list_folder(path):
            yield from _files_below(fs, f"{path}/{name}")
