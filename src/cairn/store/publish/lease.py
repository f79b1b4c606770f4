"""The writer's lease: who may publish, until when, and how it passes on when its holder dies.

`locks/writer_lease.json` names the one run that writes. A lease that was released is free. One whose process has
provably ended is taken at once; any other only after the file has been seen to stand still for the whole term on one
monotonic clock, so no jump of a wall clock and no sleep of a machine takes a lease from a living run. For a holder out
of sight the time runs from the first look that anybody on that clock has noted (see `silence.py`); for one that can be
seen to run, from the first look of the caller.
Each grant has a higher epoch than all before it. A lease is not a lock: a holder that was stopped may wake after it was
taken over, and is then refused by `check`, and after that by the generation it tries to claim.

Every read-verify-write happens under a guard: the kernel's lock on `lease.flock`, which goes with its process, and then
`lease_guard.lock`, made by exclusive create.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from cairn.core.clock import Clock, Processes, ProcessId, rfc3339
from cairn.core.limits import LEASE_TTL_MS, MAX_STATE_BYTES
from cairn.core.text import lasting
from cairn.errors import LeaseLapsed, LeaseLost, LeaseStuck, StoreBusy, StoreCorrupt, StoreUnreadable
from cairn.store.format.document import WRITER_LEASE, is_time, seal, unseal
from cairn.store.format.layout import LEASE_LOCK, LOCKS, is_snapshot_id
from cairn.store.fs import Fs, remove_file
from cairn.store.publish.silence import silent_seconds

LEASE, GUARD = "locks/writer_lease.json", "locks/lease_guard.lock"

_TEMP = f"{LEASE}.tmp"
_DIGEST = "lease_sha256"
_GUARD_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
MOST_TTL_MS = 24 * 60 * 60 * 1000
# A holder shows a heartbeat in every third of its term: one that does not has missed it.
MISSED = 3
_MOST_PID = (1 << 31) - 1
_OWNER = re.compile("[0-9A-Za-z_-]{1,64}")
_BOOT_ID = re.compile("[0-9a-f-]{0,64}")
_MOST_HOSTNAME = 256

# The owner ids of the leases that this process holds. A record that names this process but is not one of them was left
# by a grant or a release that failed half-way: without this a daemon would wait for itself.
_HELD: set[str] = set()


class RunKind(StrEnum):
    """What the holder of a lease is doing."""

    CREATE = "create"
    REINDEX = "reindex"
    SYNC = "sync"
    CATCHUP = "catchup"
    CLEAR = "clear"
    COMPACT = "compact"
    GC = "gc"
    REPAIR = "repair"
    UPGRADE = "upgrade"


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What the lease file says. The times are for people; who may steal is decided by process and heartbeat alone."""

    owner_id: str
    process: ProcessId
    started_at: str
    last_heartbeat_at: str
    heartbeat: int
    boottime_ms: int
    lease_epoch: int
    lease_ttl_ms: int
    staging_txn_id: str
    run_kind: RunKind
    released: bool


def encode_lease(record: LeaseRecord) -> bytes:
    """The bytes of writer_lease.json. Refuses, as a mistake of the writer, what could not be read."""
    fields = {
        "owner_id": record.owner_id,
        "pid": record.process.pid,
        "hostname": record.process.hostname,
        "started_at": record.started_at,
        "last_heartbeat_at": record.last_heartbeat_at,
        "lease_epoch": record.lease_epoch,
        "lease_ttl_ms": record.lease_ttl_ms,
        "staging_txn_id": record.staging_txn_id,
        "boot_id": record.process.boot_id,
        "boottime_ms": record.boottime_ms,
        "heartbeat": record.heartbeat,
        "pid_started": record.process.started,
        "pid_namespace": record.process.namespace,
        "run_kind": record.run_kind.value,
        "released": record.released,
    }
    data = seal(WRITER_LEASE, _DIGEST, fields)
    try:
        decode_lease(data)
    except StoreUnreadable as error:
        raise ValueError(error.sentence) from error
    return data


def decode_lease(data: bytes) -> LeaseRecord:
    """The lease in these bytes. Refuses damage and versions we cannot read; further fields are passed over."""
    fields = unseal(WRITER_LEASE, _DIGEST, data, MAX_STATE_BYTES)
    return LeaseRecord(
        owner_id=fields.text("owner_id", _is_owner),
        process=ProcessId(
            pid=fields.number("pid", least=1, most=_MOST_PID),
            started=fields.number("pid_started"),
            boot_id=fields.text("boot_id", _is_boot_id),
            namespace=fields.number("pid_namespace"),
            hostname=fields.text("hostname", _is_hostname),
        ),
        started_at=fields.text("started_at", is_time),
        last_heartbeat_at=fields.text("last_heartbeat_at", is_time),
        heartbeat=fields.number("heartbeat"),
        boottime_ms=fields.number("boottime_ms"),
        lease_epoch=fields.number("lease_epoch", least=1),
        lease_ttl_ms=fields.number("lease_ttl_ms", least=1, most=MOST_TTL_MS),
        staging_txn_id=fields.text("staging_txn_id", is_snapshot_id),
        run_kind=RunKind(fields.text("run_kind", tuple(RunKind).__contains__)),
        released=fields.flag("released"),
    )


def read_lease(fs: Fs) -> LeaseRecord | None:
    """The lease of a store, None when there is none yet; a damaged one is a `StoreCorrupt`."""
    data = _read(fs)
    return None if data is None else decode_lease(data)


def is_alive(record: LeaseRecord, processes: Processes) -> bool:
    """Whether the run may still be going on: it was not released, and its process has not provably ended."""
    if record.released or processes.is_gone(record.process):
        return False
    orphaned = record.process.is_known and record.process == processes.me() and record.owner_id not in _HELD
    return not orphaned


class LeaseSeen(NamedTuple):
    """One look at the lease file: its bytes, None when there is no file, and the record unless it is damaged."""

    data: bytes | None
    record: LeaseRecord | None

    def term_ms(self, otherwise: int = LEASE_TTL_MS) -> int:
        """Return the term of the lease; that of a damaged one is not known."""
        return self.record.lease_ttl_ms if self.record else otherwise


def find_lease(fs: Fs) -> LeaseSeen:
    """Look at the lease of a store; one of a version that cannot be read is refused."""
    data = None
    try:
        data = _read(fs)
        return LeaseSeen(data, None if data is None else decode_lease(data))
    except StoreCorrupt:
        # Too large to read: no living writer makes it so, and a heartbeat would replace it.
        return LeaseSeen(data or b"", None)


def silence_of(fs: Fs, found: LeaseSeen, clock: Clock, processes: Processes) -> float:
    """Return for how many seconds the holder of a lease, looked at just now, is known to have shown no heartbeat.

    It is 0 for a lease that is free, and for a holder that provably runs or has ended: nobody has to count for those.
    For every other one the first look is remembered.
    """
    record = found.record
    if found.data is None:
        return 0.0
    if record is None:
        return silent_seconds(fs, found.data, 0, 0, clock)
    if not is_alive(record, processes) or processes.is_running(record.process):
        return 0.0
    return silent_seconds(fs, found.data, record.lease_epoch, record.heartbeat, clock)


class Lease(AbstractContextManager["Lease"]):
    """The right to publish, as granted. A context manager that releases it.

    `previous` is what the file said before, and `stolen` whether its writer may still believe in it. Then a fence is
    owed: until the caller has planted it and set `fence_owed` to False, the lease is never released, so that whoever
    comes next steals again and owes it too.
    """

    __slots__ = ("_clock", "_fs", "_record", "fence_owed", "previous", "stolen")

    def __init__(self, fs: Fs, clock: Clock, record: LeaseRecord, found: LeaseSeen) -> None:
        self._fs = fs
        self._clock = clock
        self._record = record
        self.previous = found.record
        self.stolen = found.data is not None and not (found.record and found.record.released)
        self.fence_owed = self.stolen

    def __exit__(self, *_: object) -> None:
        # What was published stays published when the farewell fails; the next writer sees that we are gone.
        with contextlib.suppress(OSError, LeaseStuck):
            self.release()

    @property
    def epoch(self) -> int:
        return self._record.lease_epoch

    @property
    def owner_id(self) -> str:
        return self._record.owner_id

    @property
    def run_id(self) -> str:
        return self._record.staging_txn_id

    @property
    def kind(self) -> RunKind:
        return self._record.run_kind

    def beat(self) -> None:
        """Show that we live. Costs nothing until a beat is due, so call it often; `LeaseLost` when it is not ours."""
        # A quarter of the term: calls that come a little late still make a beat in each third of it.
        if self._silent_ms() < self._record.lease_ttl_ms / 4:
            return
        with _guard(self._fs, self._record.process.pid):
            self.require_ours()
            beaten = _stamped(self._record, self._clock)
            _write(self._fs, beaten)
        self._record = beaten

    def check(self) -> None:
        """Nothing, when the lease is ours and will be for at least two thirds of its term; else `LeaseLost`.

        To be called before anything dear and right before anything is published.
        """
        self.beat()
        self.require_ours()
        # Last of all: the machine may have slept, or the disk hung, in the lines above.
        if self._silent_ms() >= self._record.lease_ttl_ms / 3:
            raise LeaseLapsed(ours=self.epoch)

    def release(self) -> None:
        """Let the next writer in. A lease that was lost is left alone, and so is one that still owes its fence."""
        try:
            if not self.fence_owed:
                with _guard(self._fs, self._record.process.pid), contextlib.suppress(LeaseLost):
                    self.require_ours()
                    _write(self._fs, replace(self._record, released=True))
        finally:
            _HELD.discard(self.owner_id)

    def _silent_ms(self) -> float:
        return self._clock.boottime() * 1000 - self._record.boottime_ms

    def require_ours(self) -> None:
        """`LeaseLost` when another writer has taken it. That none has does not mean that it is safe to publish."""
        try:
            found = read_lease(self._fs)
        except StoreUnreadable:
            raise LeaseLost(ours=self.epoch, theirs="unreadable") from None
        if found is None:
            raise LeaseLost(ours=self.epoch, theirs="gone")
        if (found.owner_id, found.lease_epoch, found.released) != (self.owner_id, self.epoch, False):
            raise LeaseLost(ours=self.epoch, theirs=found.lease_epoch)


def acquire(
    fs: Fs,
    *,
    run_id: str,
    kind: RunKind,
    floor_epoch: int,
    clock: Clock,
    processes: Processes,
    owner_id: str | None = None,
    ttl_ms: int = LEASE_TTL_MS,
    wait_seconds: float = 0.0,
) -> Lease:
    """The lease, with an epoch above the floor and above the last one; `StoreBusy` when another run holds it.

    It waits, and watches, for as long as it is told to and no longer. A holder that cannot be proven dead is taken over
    when it has shown no heartbeat for longer than its term; of one that is out of sight the looks of earlier callers
    count. A damaged file counts as held by somebody unknown.
    """
    asked_at = rfc3339(clock.wall_ns())
    wanted = LeaseRecord(
        owner_id=os.urandom(16).hex() if owner_id is None else owner_id,
        process=processes.me(),
        started_at=asked_at,
        last_heartbeat_at=asked_at,
        heartbeat=0,
        boottime_ms=0,
        lease_epoch=floor_epoch + 1,
        lease_ttl_ms=ttl_ms,
        staging_txn_id=run_id,
        run_kind=kind,
        released=False,
    )
    until = clock.monotonic() + wait_seconds
    pause = _FIRST_PAUSE
    # Counted from after the first look to before the last one, which is made under the guard.
    found = find_lease(fs)
    since = _seen_since(fs, found, clock, processes)
    while True:
        watched = clock.monotonic() - since
        if _may_take(found, watched, ttl_ms, processes):
            if lease := _take(fs, clock, processes, wanted, found, watched):
                return lease
        elif (left := until - clock.monotonic()) > 0:
            clock.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            raise busy(found, silence_of(fs, found, clock, processes))
        before, found = found, find_lease(fs)
        if found.data != before.data:
            since = _seen_since(fs, found, clock, processes)


def _seen_since(fs: Fs, found: LeaseSeen, clock: Clock, processes: Processes) -> float:
    """Return since when, on the monotonic clock, a lease that was looked at just now is known to stand as it does."""
    return clock.monotonic() - silence_of(fs, found, clock, processes)


def busy(found: LeaseSeen, silent: float) -> StoreBusy:
    """Return the error for a lease that is held; one that shows no heartbeat is told so."""
    kind, pid = (found.record.run_kind.value, found.record.process.pid) if found.record else ("unknown", "unknown")
    if silent * 1000 > found.term_ms() / MISSED:
        return StoreBusy(kind=kind, pid=f"{pid}, no heartbeat for {lasting(silent)}")
    return StoreBusy(kind=kind, pid=pid)


def _may_take(found: LeaseSeen, watched: float, ttl_ms: int, processes: Processes) -> bool:
    """Whether the lease is free, or its holder gone, or it stood still for more than a whole term."""
    if found.data is None or (found.record and not is_alive(found.record, processes)):
        return True
    return watched * 1000 > found.term_ms(ttl_ms)


def _take(
    fs: Fs, clock: Clock, processes: Processes, wanted: LeaseRecord, seen: LeaseSeen, watched: float
) -> Lease | None:
    """The lease, or None when somebody else was faster."""
    # Before it is written: another thread of ours that reads it must not think it forgotten.
    _HELD.add(wanted.owner_id)
    lease = None
    try:
        with _guard(fs, wanted.process.pid):
            found = find_lease(fs)
            still = watched if found.data == seen.data else 0.0
            if not _may_take(found, still, wanted.lease_ttl_ms, processes):
                return None
            previous = found.record.lease_epoch if found.record else 0
            record = replace(_stamped(wanted, clock), lease_epoch=max(previous + 1, wanted.lease_epoch))
            _write(fs, record)
        # An epoch that a power cut can take back is not granted. Nobody else has to wait for this.
        fs.sync_folder(LOCKS)
        lease = Lease(fs, clock, record, found)
        return lease
    finally:
        if lease is None:
            _HELD.discard(wanted.owner_id)


@contextlib.contextmanager
def _guard(fs: Fs, pid: int) -> Iterator[None]:
    """Nobody else reads, verifies and writes the lease meanwhile; `LeaseStuck` when somebody does and does not end."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fs.lock(LEASE_LOCK, exclusive=True, timeout=_GUARD_SECONDS))
        except TimeoutError:
            raise LeaseStuck(why=_guarded_by(fs)) from None
        # Whoever made a guard that is there now is dead, or we would not have the lock.
        remove_file(fs, GUARD)
        _create(fs, GUARD, b"%d\n" % pid)
        try:
            yield
        finally:
            # What is left here is removed by the next who comes.
            with contextlib.suppress(OSError):
                fs.remove(GUARD)


def _guarded_by(fs: Fs) -> str:
    with contextlib.suppress(OSError):
        if (pid := fs.read(GUARD, 32).strip()).isdigit():
            return f"process {pid.decode()}"
    return "which one is not known"


def _stamped(record: LeaseRecord, clock: Clock) -> LeaseRecord:
    """The record with one more heartbeat, to be written after this: so a thief counts from later than we do."""
    return replace(
        record,
        last_heartbeat_at=rfc3339(clock.wall_ns()),
        heartbeat=record.heartbeat + 1,
        boottime_ms=int(clock.boottime() * 1000),
    )


def _create(fs: Fs, path: str, data: bytes) -> None:
    """Create a file, all of it or nothing: a full disk often has room for the name, and for not a byte."""
    try:
        fs.create_bytes(path, data)
    except FileExistsError:
        raise
    except OSError:
        with contextlib.suppress(OSError):
            fs.remove(path)
        raise


def _write(fs: Fs, record: LeaseRecord) -> None:
    remove_file(fs, _TEMP)
    _create(fs, _TEMP, encode_lease(record))
    # Else a power cut could leave an empty file behind, and the next writer would wait for nobody.
    fs.sync_file(_TEMP)
    fs.swap(_TEMP, LEASE)


def _read(fs: Fs) -> bytes | None:
    try:
        return fs.read(LEASE, MAX_STATE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise StoreCorrupt(artifact=WRITER_LEASE.name, why=f"it is larger than {MAX_STATE_BYTES} bytes") from None


# --- what the texts in a lease look like ------------------------------------------------------------------------------


def _is_owner(text: str) -> bool:
    return _OWNER.fullmatch(text) is not None


def _is_boot_id(text: str) -> bool:
    return _BOOT_ID.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    return len(text) <= _MOST_HOSTNAME and text.isascii() and text.isprintable()
