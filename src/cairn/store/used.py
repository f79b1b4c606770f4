"""`last_used`: when a store last gave an answer or took a snapshot, so that one that nobody needs can be found.

Readers write it at most once in an hour, and never fail because of it: it is a side file like every other one.
"""

from __future__ import annotations

import contextlib
import secrets
from datetime import datetime

from cairn.core.clock import Clock, rfc3339
from cairn.core.limits import LAST_USED_SECONDS
from cairn.store.document import is_time
from cairn.store.files import replace_file
from cairn.store.fs import Fs
from cairn.store.ids import RANDOM_BYTES, snapshot_id
from cairn.store.layout import LAST_USED, temp_path

_MOST_BYTES = 64


def last_used(fs: Fs) -> int | None:
    """When the store was last used, in nanoseconds; None when nobody wrote it down.

    Of a file that says nothing sensible, the time of its last change counts.
    """
    try:
        found = fs.stat(LAST_USED)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = fs.read(LAST_USED, _MOST_BYTES).decode("ascii").removesuffix("\n")
        if is_time(text):
            return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000
    return found.mtime_ns


def touch_used(fs: Fs, clock: Clock) -> None:
    """Write down that the store is in use, unless that was done within the hour. Whatever goes wrong is not told."""
    # A clock that is far out of range cannot be written down as a time.
    with contextlib.suppress(OSError, ValueError, OverflowError):
        now = clock.wall_ns()
        before = last_used(fs)
        # A time to come was written before the clock was set back: it would look used for as long.
        if before is not None and 0 <= now - before < LAST_USED_SECONDS * 1_000_000_000:
            return
        # The name of a run that never was: the next writer clears it away if we are killed here.
        temp = temp_path(LAST_USED, snapshot_id(now, secrets.token_bytes(RANDOM_BYTES)))
        replace_file(fs, LAST_USED, temp, f"{rfc3339(now)}\n".encode(), safe=False)
