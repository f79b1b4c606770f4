"""Real processes race for one lease on a real disk, and some of them are killed while they hold it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import cairn
from cairn.core.clock import SYSTEM_PROCESSES
from cairn.core.limits import LEASE_TTL_MS
from cairn.store.disk import Disk
from cairn.store.publish.lease import is_alive, read_lease
from tests.conformance import conforms
from tests.conformance_report import PROJECT
from tests.races.contender import RACERS


class Grant(NamedTuple):
    """One line of the log, in the order in which the leases were held."""

    pid: int
    epoch: int
    robbed: int
    at: float
    said: str


class Ended(NamedTuple):
    """A race that is over: every grant in its order, and when each of the killed was killed."""

    grants: list[Grant]
    killed: dict[int, float]


def race(folder: Path, grants: int, robberies: int, hold: float) -> Ended:
    argv = [sys.executable, "-m", "tests.races.contender", *map(str, (folder, grants, robberies, hold))]
    # The package that is tested, which may be a changed copy.
    paths = os.pathsep.join([str(Path(cairn.__file__).parent.parent), str(PROJECT)])
    subprocess.run(argv, cwd=PROJECT, env={**os.environ, "PYTHONPATH": paths}, check=True)
    rows = [line.split(" ", 4) for line in (folder / "log").read_text("ascii").splitlines()]
    found = [Grant(int(pid), int(epoch), int(robbed), float(at), said) for pid, epoch, robbed, at, said in rows]
    killed = json.loads((folder / "killed").read_text())
    return Ended(found, {int(pid): at for pid, at in killed.items()})


def check(grants: list[Grant]) -> None:
    """Never two holders at once, and each grant above all before it."""
    assert {grant.said for grant in grants} == {"ok"}
    epochs = [grant.epoch for grant in grants]
    assert epochs == sorted(set(epochs))
    assert len({grant.pid for grant in grants}) > 1


def run_to_the_end(folder: Path, grants: int) -> None:
    found = race(folder, grants, 0, hold=0.004).grants
    check(found)
    assert len(found) >= grants > RACERS
    # Nobody died, so every epoch was held, and nobody was robbed.
    assert [grant.epoch for grant in found] == list(range(1, len(found) + 1))
    assert not any(grant.robbed for grant in found)
    assert not (folder / "canary").exists()


def run_with_kills(folder: Path, robberies: int) -> None:
    grants, killed = race(folder, 2 * robberies, robberies, hold=0.04)
    check(grants)
    # Every lease that was taken by force was that of a process we had killed.
    robbed = {grant.robbed for grant in grants} - {0}
    assert len(robbed) >= robberies
    assert robbed <= killed.keys()
    takeovers = sorted(grant.at - killed[grant.robbed] for grant in grants if grant.robbed)
    print(f"{len(grants)} grants, {len(killed)} killed, takeovers {[f'{t:.3f}' for t in takeovers]}")
    # Because the holder is dead, long before its time would be over.
    assert all(takeover < LEASE_TTL_MS / 1000 / 2 for takeover in takeovers)
    with Disk.at(str(folder / "home"), "data/store") as disk:
        record = read_lease(disk)
        assert record is not None
        assert not is_alive(record, SYSTEM_PROCESSES)


@conforms("003.LS5", "003.LS6", "003.LS8")
def test_eight_processes_never_hold_one_lease_together(tmp_path: Path) -> None:
    run_to_the_end(tmp_path, 100)


@conforms("003.LS1", "003.LS5")
def test_killed_holders_are_followed_at_once_and_never_doubled(tmp_path: Path) -> None:
    run_with_kills(tmp_path, 10)


@pytest.mark.long
def test_eight_processes_never_hold_one_lease_together_for_long(tmp_path: Path) -> None:
    run_to_the_end(tmp_path, 2_000)


@pytest.mark.long
def test_many_killed_holders_are_followed_at_once_and_never_doubled(tmp_path: Path) -> None:
    run_with_kills(tmp_path, 150)
