"""Real processes at one store at the same time: writers take turns, readers see one version and never a mix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES
from cairn.store.disk import Disk
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.faults.people import Owner
from tests.store.little import contents, load, save, write_batch

READERS = 8
STORE = "data/little"


def version(number: int) -> dict[str, bytes]:
    return {f"file{name}": f"# version {number}\n".encode() + b"x\n" * name for name in range(12)}


def publish(disk: Disk, number: int) -> None:
    save(disk, version(number), clock=SYSTEM_CLOCK, processes=SYSTEM_PROCESSES, full=True)


def read_meanwhile(
    home: Path, below: str, seconds: float, versions: int, write: Callable[[], object]
) -> list[dict[str, Any]]:
    """What the readers found while something was written again and again."""
    command = [sys.executable, "-m", "tests.faults.reader", str(home), below, str(seconds), str(versions)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(READERS)]
    try:
        while any(reader.poll() is None for reader in readers):
            write()
    finally:
        said = [reader.communicate()[0] for reader in readers]
    return [json.loads(line) for line in said]


@conforms("003.ISO1", "003.ISO2", "003.PUB2")
def test_readers_see_one_version_and_never_a_mix_while_others_are_published(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with Disk.at(str(home), STORE, create=True) as disk:
        publish(disk, 0)
        published = [0]

        def write() -> None:
            published.append(published[-1] + 1)
            publish(disk, published[-1])
            time.sleep(0.02)

        found = read_meanwhile(home, STORE, 0.5, 4, write)
        assert check(disk) == []
    assert len(published) > 3
    assert [reader["wrong"] for reader in found] == [[]] * READERS
    assert all(reader["answers"] > 1 for reader in found)
    # All of them saw the change: else nothing was tried.
    assert min(len(reader["seen"]) for reader in found) > 3


@pytest.mark.long
def test_readers_see_one_version_while_real_syncs_publish(tmp_path: Path) -> None:
    owner = Owner(tmp_path, files=50)
    owner.write(0)
    assert owner.run("index")[0] == 0
    numbers = iter(range(1, 10_000))

    def write() -> None:
        number = next(numbers)
        # Each sync leaves a dozen segments more behind, and there may be 64 in all.
        owner.write(number)
        assert owner.run("reindex" if number % 4 == 0 else "sync")[0] == 0

    with owner.disk() as disk:
        below = os.path.relpath(disk.path, owner.home)
    found = read_meanwhile(owner.home, below, 30, 4, write)
    assert [reader["wrong"] for reader in found] == [[]] * READERS
    assert min(len(reader["seen"]) for reader in found) > 3
    assert owner.problems() == []


@conforms("003.PUB2", "003.ISO1")
def test_a_view_stays_as_it_is_and_a_writer_at_work_blocks_no_reader(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with Disk.at(str(home), STORE, create=True) as disk, Disk.at(str(home), STORE) as other:
        publish(disk, 1)
        view = open_view(other, "store")
        assert view is not None
        with view:
            with open_writer(disk, "store", RunKind.SYNC, clock=SYSTEM_CLOCK, processes=SYSTEM_PROCESSES) as writer:
                write_batch(writer, version(2))
                assert load(other) == version(1)
            publish(disk, 3)
            assert load(other) == version(3)
            assert contents(view) == version(1)


def test_two_syncs_at_once_take_turns(tmp_path: Path) -> None:
    owner = Owner(tmp_path, files=20)
    tree = owner.write(1)
    commands = [owner.start("sync"), owner.start("sync")]
    ended = []
    for command in commands:
        with command:
            out, err = command.communicate()
            ended.append((command.returncode, out, err))
    assert {status for status, _, _ in ended} <= {0, 13}, ended
    assert min(status for status, _, _ in ended) == 0
    assert not any("Traceback" in err for _, _, err in ended)
    assert owner.look() == tree
    assert owner.problems() == []
