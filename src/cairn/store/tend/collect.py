"""Take away what nobody needs any more: old snapshots, what only they used, and work that was staged and forgotten.

Kept is every number from a floor on: at least the five newest snapshots, the one that answers, and all that somebody
may have begun to read a while ago. A number goes first, safely, and with it the snapshot. What then belongs to nobody
goes the way of everything that a killed run left (`tidy`), so a collector that dies at any step leaves nothing that the
next run does not clear away.

Old numbers can be free again because of the run that holds the lease: no writer that was robbed has a manifest left
that it could still claim one with.
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
from cairn.store.fs import FileStat, Fs, read_whole, remove_file, remove_tree
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import LEASE, MOST_TTL_MS, RunKind, is_alive, read_lease
from cairn.store.publish.staging import Batch
from cairn.store.publish.tidy import Accounts, accounts_of, tidy, unaccounted
from cairn.store.publish.writer import Attach, Writer, attached, open_writer
from cairn.store.read.snapshot import collecting

# --- Taking a whole store away: it gets another name in one step, so a store is there or it is not; then its
# files go.


_REMOVED = "removed_"
_LOCK_SECONDS = 1.0
# The lock, or the folder that holds it, is not there or is something else: then nobody can have it.
_NO_LOCK = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL)


def is_leftover(name: str) -> bool:
    """Whether this is what a removal that was cut short has left."""
    return name.startswith(_REMOVED) and is_store_id(name.removeprefix(_REMOVED))


def require_no_writer(store: Fs, clock: Clock, processes: Processes) -> None:
    """`StoreBusy` when a run may be writing this store.

    A lease that cannot be read, or whose process is out of sight, is believed until it has stood still for longer than
    any lease may last.
    """
    try:
        # A later version may hold it: whether it does is all that is asked.
        with reading_newer():
            lease = read_lease(store)
    except StoreUnreadable:
        if not _stands_still(store, clock):
            raise StoreBusy(kind="unknown", pid="unknown") from None
        return
    except OSError as error:
        if error.errno not in _NO_LOCK:
            raise
        return
    if lease is None or not is_alive(lease, processes):
        return
    me = processes.me()
    in_sight = (lease.process.boot_id, lease.process.namespace) == (me.boot_id, me.namespace)
    if in_sight or not _stands_still(store, clock):
        raise StoreBusy(kind=lease.run_kind.value, pid=lease.process.pid)


@contextlib.contextmanager
def alone(store: Fs, clock: Clock, processes: Processes) -> Iterator[None]:
    """While nobody else writes the store or opens it to read. `StoreBusy` or `LeaseStuck` when somebody does."""
    with contextlib.ExitStack() as held:
        # Nobody takes the lease, or renews it, without this lock.
        _hold(held, store, LEASE_LOCK, "it is about to write")
        require_no_writer(store, clock, processes)
        _hold(held, store, COMPACT_LOCK, "it is writing segments")
        _hold(held, store, READERS_LOCK, "it is about to read")
        yield


def retire(data: Fs, name: str) -> str:
    """Take the store's name away, safely; the name that it has now."""
    gone = _REMOVED + name
    data.move(name, gone)
    data.sync_folder("")
    return gone


def finish_removal(data: Fs, gone: str) -> None:
    """Remove what `retire` left."""
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
    """What went: the ids of snapshots, how many segments and staged pieces, and their bytes; `kept` snapshots stay.

    `note` says why nothing was collected, `trouble` why a copy of the store elsewhere keeps what went here.
    """

    snapshots: tuple[str, ...] = ()
    segments: int = 0
    staging: int = 0
    freed_bytes: int = 0
    kept: int = 0
    note: str | None = None
    trouble: CairnError | None = None


class Plan(NamedTuple):
    """What is to go: the snapshots, the numbers of those and of damaged ones, fences, and paths below the store."""

    retained: tuple[Manifest, ...] = ()
    doomed: tuple[Manifest, ...] = ()
    numbers: tuple[int, ...] = ()
    fences: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    note: str | None = None

    def outcome(self, freed_bytes: int) -> Collected:
        """What is said when all of it has gone."""
        return Collected(
            snapshots=tuple(manifest.snapshot_id for manifest in self.doomed),
            segments=sum(path.startswith(f"{SEGMENTS}/") for path in self.paths),
            freed_bytes=freed_bytes,
            kept=len(self.retained),
            note=self.note,
        )


def collect(writer: Writer, clock: Clock) -> Collected:
    """Collect, as the run that holds the lease. While somebody opens a snapshot nothing is changed, and a note says so.

    `LeaseLost` when the lease is not ours: nobody collects without it.
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
        # From here on nobody can find what was taken away, so readers may go on. Who had opened it still reads it.
    if plan.numbers:
        writer.adopted += tuple(tidy(fs, writer.staging, writer.lease))
    # Last of all: had a damaged manifest made the tidying before this run blind, a sleeper's would still be there.
    for number in plan.fences:
        remove_file(fs, generation_path(number))
    staged, staged_bytes = _expire(writer, clock)
    return plan.outcome(freed + staged_bytes)._replace(staging=staged)


def collect_store(
    fs: Fs, place: str, *, clock: Clock, wait_seconds: float = 0.0, attach: Attach | None = None
) -> Collected:
    """One whole run: take the lease, collect, let go. What a server that cannot be asked keeps goes the next time."""
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
    """Whether a collection would free several snapshots at once. Costs one look at a folder and one manifest."""
    numbers = sorted(filter(None, map(generation_number, fs.list_folder(GENERATIONS))))
    if len(numbers) <= 2 * RETAIN_SNAPSHOTS_MIN:
        return False
    # The oldest that would go is out of date since the one after it was published.
    following = read_generation(fs, numbers[RETAIN_SNAPSHOTS_MIN])
    if following is None or following.completion is None:
        return True
    published = wall_seconds(following.completion.completed_at)
    return clock.wall_ns() / 1e9 - published > RETAIN_SNAPSHOTS_MIN_AGE_SECONDS


def foresee(fs: Fs, active: Manifest | None, clock: Clock) -> Collected:
    """What `collect` would take away of the snapshots, without the lease and without a change."""
    plan = make_plan(fs, active, clock)
    return plan.outcome(_size(fs, plan.paths))


def make_plan(fs: Fs, active: Manifest | None, clock: Clock) -> Plan:
    """Decide what goes; nothing when there is no snapshot that answers, and nothing while one that stays is damaged."""
    manifests: list[Manifest] = []
    fences: list[int] = []
    damaged: list[int] = []
    for number in sorted(n for name in fs.list_folder(GENERATIONS) if (n := generation_number(name)) is not None):
        try:
            manifest = read_generation(fs, number)
        except FileNotFoundError:
            # Another collector took it away: one that we have robbed and that woke up, or any while we only foresee.
            continue
        except StoreUnreadable:
            damaged.append(number)
            continue
        if manifest is None:
            fences.append(number)
        else:
            manifests.append(manifest)
    if active is None:
        return Plan(tuple(manifests))
    floor = floor_of(manifests, active, clock.wall_ns() // 1_000_000_000)
    if damaged and damaged[-1] >= floor:
        # It may name anything: what only it uses would be taken for nobody's.
        return Plan(tuple(manifests), note=_DAMAGED.format(number=damaged[-1]))
    retained = tuple(manifest for manifest in manifests if manifest.generation >= floor)
    doomed = tuple(manifest for manifest in manifests if manifest.generation < floor)
    accounts = accounts_of(retained)
    return Plan(
        retained=retained,
        doomed=doomed,
        numbers=tuple(sorted([*damaged, *(manifest.generation for manifest in doomed)])),
        fences=tuple(number for number in fences if number < floor),
        paths=tuple(unaccounted(fs, accounts, _runs_of(doomed, accounts))),
    )


def floor_of(manifests: Sequence[Manifest], active: Manifest, now: int) -> int:
    """The lowest number that is kept.

    A snapshot that another one has followed is kept for some minutes more. One that was followed in the future was, by
    a clock that has been set back since: it is kept too, until a later one has been out of date for that long.
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
    """How long a snapshot stays that is not the newest any more: no query that began with it goes on for longer."""
    return max(RETAIN_SNAPSHOTS_MIN_AGE_SECONDS, (QUERY_TIMEOUT_MS + GC_SAFETY_MARGIN_MS) / 1000)


def _runs_of(doomed: Iterable[Manifest], retained: Accounts) -> frozenset[str]:
    """The runs of which something may go: those of doomed snapshots, and those of which only a part is still in use."""
    return (accounts_of(doomed).runs | retained.runs) - retained.published


def _take_numbers(fs: Fs, plan: Plan) -> None:
    """The doomed are no snapshots any more, safely."""
    if not plan.numbers:
        return
    _forget_state(fs, plan)
    for number in plan.numbers:
        remove_file(fs, generation_path(number))
    fs.sync_folder(GENERATIONS)


def _forget_state(fs: Fs, plan: Plan) -> None:
    """A state that lags behind so far that its snapshot goes would be the state of none: it is made anew by a run."""
    try:
        state = decode_state(read_whole(fs, INDEX_STATE, MAX_STATE_BYTES, "index state"))
    except (FileNotFoundError, StoreUnreadable):
        return
    if all(manifest.snapshot_id != state.active_snapshot_id for manifest in plan.retained):
        remove_file(fs, INDEX_STATE)
        fs.sync_folder("")


# --- work that was staged and forgotten -------------------------------------------------------------------------------


def _expire(writer: Writer, clock: Clock) -> tuple[int, int]:
    """Drop batches of killed runs that nobody has come to finish for long; how many, and their bytes.

    No other run can have staged anything: we hold the lease, and `tidy` has moved all that was there to our own.
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
    # The seal first: a folder without one is nobody's.
    remove_file(writer.fs, paths[0])
    remove_tree(writer.fs, paths[1])
    return freed


def _newest_change(fs: Fs, folder: str) -> int:
    """When a file of a staged folder was last written; moves and seals do not count."""
    return max((found.mtime_ns for found in _files_below(fs, folder)), default=fs.stat(folder).mtime_ns)


def _size(fs: Fs, paths: Iterable[str]) -> int:
    """The bytes of these files and of all below these folders; what is gone holds nothing."""
    return sum(found.size for path in paths for found in _files_below(fs, path))


def _files_below(fs: Fs, path: str) -> Iterator[FileStat]:
    with contextlib.suppress(FileNotFoundError):
        found = fs.stat(path)
        if not found.is_folder:
            yield found
            return
        for name in fs.list_folder(path):
            yield from _files_below(fs, f"{path}/{name}")
