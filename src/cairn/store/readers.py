"""The lock between those who open a snapshot and the one who takes old snapshots away.

A reader shares it only while it opens its files: unlinked files stay readable to whoever has opened them. The collector
holds it alone for moments. On a disk without locks readers go on without it, and nothing is ever collected.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from cairn.store.fs import Fs
from cairn.store.layout import READERS_LOCK

NO_LOCKS = "The disk of this index has no locks, so readers are not protected and nothing can be collected."
IN_USE = "Somebody is opening the index at this moment, so nothing was collected; try again."

_READER_SECONDS = 5.0
_COLLECTOR_SECONDS = 1.0
_UNAVAILABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextlib.contextmanager
def reading(fs: Fs) -> Iterator[None]:
    """No collector begins meanwhile."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fs.lock(READERS_LOCK, exclusive=False, timeout=_READER_SECONDS))
        except (FileNotFoundError, TimeoutError):
            # Missing: the store was never begun, or it was removed, and no collector goes on without it either. Held
            # for so long: a collector was stopped with the lock in its hand, and what is newest is not what it takes.
            pass
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
        yield


@contextlib.contextmanager
def collecting(fs: Fs) -> Iterator[str | None]:
    """No reader opens anything meanwhile; or a sentence that says why that cannot be had."""
    with contextlib.ExitStack() as stack:
        refused = None
        try:
            stack.enter_context(fs.lock(READERS_LOCK, exclusive=True, timeout=_COLLECTOR_SECONDS))
        except TimeoutError:
            refused = IN_USE
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
            refused = NO_LOCKS
        yield refused


def has_locks(fs: Fs) -> bool:
    """Whether the disk of a store knows locks at all."""
    try:
        with fs.lock(READERS_LOCK, exclusive=False, timeout=0):
            return True
    except OSError as error:
        # Any other trouble with it, or with the store, says nothing about that.
        return error.errno not in _UNAVAILABLE
