from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import pytest

from cairn.store.format.layout import READERS_LOCK, create_store
from cairn.store.read.snapshot import IN_USE, NO_LOCKS, collecting, has_locks, reading
from tests.conformance import conforms
from tests.store.disks import MemoryDisk


class Lockless(MemoryDisk):
    """A disk on which a lock fails in this way."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        create_store(self)

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        raise OSError(self._number, "no lock", path)
        yield


def made() -> MemoryDisk:
    create_store(fs := MemoryDisk())
    return fs


@conforms("003.RDR6")
def test_idx_must_005_readers_share_the_lock_and_the_collector_has_it_alone() -> None:
    fs = made()
    with reading(fs), reading(fs), collecting(fs) as refused:
        assert refused == IN_USE
    with collecting(fs) as refused:
        assert refused is None
        with pytest.raises(TimeoutError), fs.lock(READERS_LOCK, exclusive=False, timeout=0):
            pass
    with fs.lock(READERS_LOCK, exclusive=True, timeout=0):
        pass


@conforms("003.RDR7")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_there_are_no_locks_readers_go_on_and_the_collector_does_not(number: int) -> None:
    fs = Lockless(number)
    assert not has_locks(fs)
    with reading(fs):
        pass
    with collecting(fs) as refused:
        assert refused == NO_LOCKS


def test_trouble_with_a_lock_is_not_taken_for_a_disk_without_locks() -> None:
    fs = Lockless(errno.EIO)
    for held in (reading(fs), collecting(fs)):
        with pytest.raises(OSError, match="no lock"), held:
            pass
    assert has_locks(fs)


def test_a_lock_that_is_held_or_was_removed_is_a_lock() -> None:
    fs = made()
    assert has_locks(fs)
    with fs.lock(READERS_LOCK, exclusive=True, timeout=0):
        assert has_locks(fs)
        with reading(fs):
            pass
    fs.remove(READERS_LOCK)
    assert has_locks(fs)
    with reading(fs):
        pass
    with pytest.raises(FileNotFoundError), collecting(fs):
        pass
