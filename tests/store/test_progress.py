"""Where a run stands, for others to see: read back as it was told, and nothing at all when it cannot be believed."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from cairn.store.format.layout import PROGRESS, create_store
from cairn.store.format.side_files import RunProgress, forget_progress, load_progress, save_progress
from tests.store.disks import FailingDisk, Fault, MemoryDisk
from tests.store.little import rewrite

TOLD = RunProgress("01KA3M7Q2W0000000000000000", "indexing", 12, 40, "src/a.py", "2026-11-15T12:05:00Z")


@pytest.fixture
def fs() -> MemoryDisk:
    fs = MemoryDisk()
    create_store(fs)
    return fs


@pytest.mark.parametrize("told", [TOLD, replace(TOLD, current_file=None, total=0)])
def test_what_a_run_tells_is_what_others_see(fs: MemoryDisk, told: RunProgress) -> None:
    save_progress(fs, told)
    save_progress(fs, told)
    assert load_progress(fs) == told
    forget_progress(fs)
    assert load_progress(fs) is None


def test_the_fraction_is_none_of_nothing_and_never_more_than_all() -> None:
    assert (TOLD.fraction, replace(TOLD, total=0).fraction, replace(TOLD, done=99).fraction) == (0.3, 0.0, 1.0)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 70_000])
def test_a_damaged_file_says_nothing(fs: MemoryDisk, data: bytes) -> None:
    save_progress(fs, TOLD)
    rewrite(fs, PROGRESS, data)
    assert load_progress(fs) is None


def test_a_disk_that_takes_no_progress_stops_nobody(fs: MemoryDisk) -> None:
    save_progress(FailingDisk(fs, Fault(2, errno.ENOSPC)), TOLD)
    assert load_progress(fs) is None
    save_progress(fs, TOLD)
    forget_progress(FailingDisk(fs, Fault(1, errno.EIO)))
    assert load_progress(fs) == TOLD
