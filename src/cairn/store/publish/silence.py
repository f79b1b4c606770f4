"""How long a lease has shown no heartbeat: the first look at it, remembered for whoever comes later.

A holder on another machine or in another container cannot be seen to have died. It has shown no heartbeat for as long
as the bytes of its lease have stood still, and a command that gives up after seconds never sees that for a whole term.
So the first look is noted in `locks/lease_seen.CLOCK.json`, a side file for each monotonic clock, which stands still
while the machine sleeps: boots, machines and time namespaces never read each other's note. A note that is missing,
damaged, of another clock, of other bytes or of the future counts as none, and the time begins anew. A process also
remembers its own first look, for a store that it cannot write.
"""

from __future__ import annotations

import contextlib
from hashlib import sha256
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cairn.core.clock import Clock
from cairn.errors import StoreUnreadable
from cairn.store.format.document import LEASE_SIGHTING, is_sha256, seal, unseal
from cairn.store.format.layout import LOCKS, is_sighting, sighting_name
from cairn.store.fs import Fs, remove_file, replace_file

_DIGEST = "sighting_sha256"
_MOST_BYTES = 4_096
_NS = 1_000_000_000

# For each clock of this process and each store, by the file number of its folder: the first look at its lease.
_FIRST_LOOKS: WeakKeyDictionary[Clock, dict[tuple[int, int], _Sighting]] = WeakKeyDictionary()


class _Sighting(NamedTuple):
    """The first look at a lease: the digest of its bytes, which grant and heartbeat that was, and when it was seen.

    What the time means, only the clock knows that the note names.
    """

    lease: str
    epoch: int
    heartbeat: int
    since_ns: int

    def is_before(self, look: _Sighting) -> bool:
        """Whether this was a look at the same bytes, and not in the future of that one."""
        return self.lease == look.lease and self.since_ns <= look.since_ns


def silent_seconds(fs: Fs, lease: bytes, epoch: int, heartbeat: int, clock: Clock) -> float:
    """Return how long these bytes of a lease, read just now, are known to have stood still; note the first look.

    Nothing is raised when the note cannot be written.
    """
    now = int(clock.monotonic() * _NS)
    fresh = _Sighting(sha256(lease).hexdigest(), epoch, heartbeat, now)
    folder = fs.stat(LOCKS)[:2]
    known = _FIRST_LOOKS.setdefault(clock, {})
    path = _path_of(clock)
    noted = None if path is None else _read(fs, path)
    first = min((one for one in (noted, known.get(folder)) if one and one.is_before(fresh)), default=fresh, key=_since)
    known[folder] = first
    if path is not None and noted != first:
        _write(fs, path, first, clock)
    return (now - first.since_ns) / _NS


def _since(sighting: _Sighting) -> int:
    return sighting.since_ns


def _path_of(clock: Clock) -> str | None:
    """Where looks on this clock are noted; None for a clock that cannot be told apart from others."""
    return f"{LOCKS}/{sighting_name(_digest_of(clock))}" if clock.origin() else None


def _digest_of(clock: Clock) -> str:
    return sha256(clock.origin().encode()).hexdigest()


def _read(fs: Fs, path: str) -> _Sighting | None:
    with contextlib.suppress(OSError, StoreUnreadable):
        fields = unseal(LEASE_SIGHTING, _DIGEST, fs.read(path, _MOST_BYTES), _MOST_BYTES)
        # A folder that was copied or restored may hold the note of one clock under the name of another.
        fields.text("clock", lambda clock: is_sha256(clock) and f"{LOCKS}/{sighting_name(clock)}" == path)
        return _Sighting(
            lease=fields.text("lease", is_sha256),
            epoch=fields.number("lease_epoch"),
            heartbeat=fields.number("heartbeat"),
            since_ns=fields.number("since_ns"),
        )
    return None


def _write(fs: Fs, path: str, seen: _Sighting, clock: Clock) -> None:
    """Note a first look, and remove the notes of other clocks about a heartbeat that a later one has followed."""
    fields = {
        "clock": _digest_of(clock),
        "lease": seen.lease,
        "lease_epoch": seen.epoch,
        "heartbeat": seen.heartbeat,
        "since_ns": seen.since_ns,
    }
    with contextlib.suppress(OSError):
        replace_file(fs, path, f"{path}.tmp", seal(LEASE_SIGHTING, _DIGEST, fields), safe=False)
        for name in filter(is_sighting, fs.list_folder(LOCKS)):
            other = _read(fs, f"{LOCKS}/{name}")
            if other is not None and other[1:3] < seen[1:3]:
                remove_file(fs, f"{LOCKS}/{name}")
