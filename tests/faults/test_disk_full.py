"""A disk that is really full: reading goes on, a sync is refused with advice, and works once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.people import Owner
from tests.support.faults import small_files

PAGE = 4096
# How many sizes of a disk the long run tries, each with a little more room than the last.
SIZES = int(os.environ.get("CAIRN_DISK_SIZES", "5"))
FULL = "cairn: There is no room left on the disk that holds "
UNWRITABLE = "cairn: You may not use "
ADVICE = (
    "(No space left on device).\n  The last good snapshot still answers. Free some space, then run the command again.\n"
)


def on_a_small_disk(scenario: str, folder: Path, free: int, step: int, most: int) -> dict[str, Any]:
    """What came of it. Skips where no disk can be mounted."""
    # Only this process and what it starts see the disk, and it goes with them.
    apart = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    try:
        probe = subprocess.run(
            [*apart, "mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError as missing:
        pytest.skip(f"no disk can be mounted here: {missing}")
    if probe.returncode:
        pytest.skip(f"no disk can be mounted here: {probe.stderr.strip()}")
    numbers = [str(free), str(step), str(most)]
    command = [*apart, sys.executable, "-m", "tests.faults.full_disk", scenario, str(folder), *numbers]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["problems"] == []
    return found


def grow(folder: Path, free: int, step: int, most: int) -> list[tuple[int, str]]:
    """How the syncs ended on a disk that grows."""
    return [(status, said) for status, said in on_a_small_disk("grow", folder, free, step, most)["ended"]]


def judge(ended: list[tuple[int, str]], *, at_least: int) -> None:
    *refused, last = ended
    assert len(refused) >= at_least
    assert last[0] == 0
    for status, said in refused:
        assert (status, said.startswith(FULL), said.endswith(ADVICE)) == (81, True, True), said


def test_a_full_disk_refuses_the_sync_and_answers_until_there_is_room(tmp_path: Path) -> None:
    judge(grow(tmp_path, 0, 300_000, 4), at_least=2)


def relieve(folder: Path, free: int) -> tuple[int, int]:
    """How many pages more a collection wanted than were free, and how many bytes it freed."""
    found = on_a_small_disk("relieve", folder, free, PAGE, 40)
    sync, _, gc, *later = found["ended"]
    for status, said in [*found["ended"], *found["refused"]]:
        assert status == 0 or (status, said.startswith(FULL), said.endswith(ADVICE)) == (81, True, True), said
    # There is room for next to nothing at first, and for everything when the collection is over.
    assert (sync[0], gc[0], [status for status, _ in later]) == (81, 0, [0, 0])
    return len(found["refused"]), found["freed"]


@pytest.mark.long
@pytest.mark.parametrize("without_reserve", [False, True])
def test_what_frees_space_frees_it_where_no_byte_is_left(tmp_path: Path, without_reserve: bool) -> None:
    """Also where the reserve is gone, as in the folder of an older version: the listing of the tree makes room."""
    found = on_a_small_disk("free", tmp_path, int(without_reserve), 0, 0)
    assert [(command, status) for command, status, _, _ in found["ended"]] == [
        ("gc", 0),
        ("clear", 0),
        ("gc --stores --unused-days 0 --force", 0),
        ("stores --purge --yes", 0),
    ], found["ended"]
    freed = {command: size for command, _, _, size in found["ended"]}
    assert freed.pop("clear") > -PAGE, "what a clear publishes has the room that was kept for it"
    assert all(size > 100 * PAGE for size in freed.values()), freed


def test_a_first_index_that_fills_its_disk_gives_the_space_back_and_promises_no_answer(tmp_path: Path) -> None:
    found = on_a_small_disk("first", tmp_path, 700_000, 0, 0)
    index, status, clear = found["ended"]
    assert index[0] == 81
    assert "There is no index that answers meanwhile. Free some space" in index[1]
    assert "snapshot still answers" not in index[1]
    assert "The last create failed" in status[1]
    assert "store_full" in status[1]
    assert clear[0] == 0, clear
    before, after = found["held"]
    assert after - before < 60 * PAGE, "no part of half an index stays"


@pytest.mark.long
@pytest.mark.parametrize("number", range(SIZES))
def test_a_collection_makes_room_however_little_is_left(tmp_path: Path, number: int) -> None:
    free = number * number * PAGE
    wanted, freed = relieve(tmp_path, free)
    assert freed > 100 * PAGE
    # It needs some pages for the lease and its guard; they were kept for it.
    assert wanted == 0


@pytest.mark.long
@pytest.mark.parametrize("free", range(0, 4096 * 8, 4096))
def test_a_disk_that_grows_page_by_page_is_full_until_it_is_not(tmp_path: Path, free: int) -> None:
    judge(grow(tmp_path, free, 8 * 4096, 60), at_least=5)


def test_a_limit_on_the_size_of_files_is_named_and_costs_no_snapshot(tmp_path: Path) -> None:
    owner = Owner(tmp_path, files=20, lines=20)
    before = owner.write(1)
    assert owner.run("index")[0] == 0
    after = owner.write(2)
    with small_files(4096) as environ:
        owner.environment |= environ
        command = owner.start("sync")
    with command:
        out, err = command.communicate()
    assert (command.returncode, out) == (82, "")
    assert err.startswith("cairn: The disk failed under ")
    assert ": File too large.\n" in err
    assert owner.look() == before
    assert owner.errors() == []
    assert owner.run("sync")[0] == 0
    assert owner.look() == after
    assert owner.problems() == []


@pytest.mark.long
@pytest.mark.parametrize("kind", range(4))
def test_every_command_says_what_is_true_of_a_disk_that_takes_no_more(tmp_path: Path, kind: int) -> None:
    """Full or not writable, with an index or without one."""
    refusal, number = (FULL, 81) if kind < 2 else (UNWRITABLE, 83)
    refused = set()
    for line, status, said in on_a_small_disk("every", tmp_path, kind, 0, 0)["ended"]:
        assert "bug in Cairn" not in said, (line, said)
        assert "Traceback" not in said, (line, said)
        assert (refusal in said) == (status == number), (line, status, said)
        assert ("last good snapshot still answers" in said) <= (kind in (0, 2)), (line, said)
        assert "cannot be used: database" not in said, (line, said)
        if status == number:
            refused.add(line)
    assert {"sync", "reindex", "semantic refresh"} <= refused
    assert refused.isdisjoint({"status", "list", "stores", "health", "files", "doctor"})
