"""What folders take: every file once, no link followed, nothing believed of names that are not ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cairn.store.disk import Disk, DiskUsage
from cairn.store.fs import DiskStat
from cairn.store.sizes import is_ours, size_of
from cairn.sync.inventory import cache_size, free_space
from tests.support.faults import Faults


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "home" / "x"
    inner.mkdir(parents=True)
    for path in (inner.parent, inner):
        path.chmod(0o700)
    return inner


def test_all_files_below_are_counted_and_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"1" * 10_000)
    (folder / "a").write_bytes(b"12345")
    (folder / "b" / "c").mkdir(parents=True)
    (folder / "b" / "c" / "d").write_bytes(b"123")
    (folder / "out").symlink_to(tmp_path / "large")
    (folder / "b" / "up").symlink_to(folder)
    told: list[int] = []
    with Disk.at(str(folder.parent), "x") as disk:
        size = size_of(disk, "", told.append)
    links = (folder / "out").lstat().st_size + (folder / "b" / "up").lstat().st_size
    assert size == (5 + 3 + links, None)
    assert sum(told) == 6


def test_a_name_that_is_not_ours_is_named_and_what_is_below_it_is_left_alone(folder: Path) -> None:
    (folder / "my notes").mkdir()
    (folder / "my notes" / "x").write_bytes(b"123")
    (folder / os.fsdecode(b"\xff")).write_bytes(b"12345")
    with Disk.at(str(folder.parent), "x") as disk:
        size = size_of(disk, "")
    assert size.total == 5
    assert size.stranger in ("my notes", os.fsdecode(b"\xff"))
    assert is_ours("segments/seg_1")
    assert not any(map(is_ours, ["", "a b", "..", "a/../b", "/a", "a\n"]))


def test_a_folder_that_goes_while_it_is_measured_holds_nothing(folder: Path, faults: Faults) -> None:
    def with_a_name_that_goes(real: Any, usage: DiskUsage, path: str) -> list[tuple[str, DiskStat]]:
        found = real(usage, path)
        return [("gone", found[0][1]), *found] if not path else found

    faults.around(DiskUsage, "stats", with_a_name_that_goes)
    (folder / "a").mkdir()
    (folder / "b").write_bytes(b"12345")
    with Disk.at(str(folder.parent), "x") as disk:
        assert size_of(disk, "") == (5, None)


def test_the_cache_of_a_home_that_is_not_there_is_empty_and_its_disk_unknown(tmp_path: Path) -> None:
    assert cache_size(str(tmp_path / "home")) == 0
    assert free_space(str(tmp_path / "home")) is None


def test_a_cache_that_is_not_ours_to_look_into_is_unknown(folder: Path) -> None:
    (folder.parent / "cache").symlink_to(folder)
    assert cache_size(str(folder.parent)) is None
    assert (free_space(str(folder.parent)) or 0) > 0
