"""Taking a whole store away: it gets another name in one step, so a store is there or it is not; then its files go.

What is left when that is cut short bears a name that nobody opens, and goes at the next chance. A single artifact of a
store is never removed here: that is for the collector of snapshots.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from cairn.core.clock import Clock, Processes
from cairn.errors import LeaseStuck, StoreBusy, StoreUnreadable
from cairn.store.format.document import is_store_id, reading_newer
from cairn.store.format.layout import COMPACT_LOCK, LEASE_LOCK, READERS_LOCK
from cairn.store.fs import Fs, remove_tree
from cairn.store.publish.lease import LEASE, MOST_TTL_MS, is_alive, read_lease

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
