"""Real processes race for one lease on a real disk, and some of them are killed while they hold it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import cairn
from cairn.core.clock import SYSTEM_PROCESSES
from cairn.store.disk import Disk
from cairn.store.layout import create_store
from cairn.store.lease import is_alive, read_lease
from tests.conformance import conforms
from tests.conformance_report import PROJECT

RACERS = 8


class Grant(NamedTuple):
    """One line of the log, in the order in which the leases were held."""

    pid: int
    epoch: int
    robbed: int
    at: float
    said: str


class Race:
    """Contenders, started anew when they were killed, and what they wrote down."""

    def __init__(self, folder: Path, seconds: float, hold: float) -> None:
        self.home, self.log, self.canary = folder / "home", folder / "log", folder / "canary"
        self.until = time.monotonic() + seconds
        self.hold = hold
        self.log.touch()
        self.killed: dict[int, float] = {}
        with Disk.at(str(self.home), "data/store", create=True) as disk:
            create_store(disk)
        self.running = [self.start() for _ in range(RACERS)]

    def start(self) -> subprocess.Popen[bytes]:
        left = max(self.until - time.monotonic(), 0.0)
        given = self.home, self.log, self.canary, left, self.hold
        argv = [sys.executable, "-m", "tests.races.contender", *map(str, given)]
        # The package that is tested, which may be a changed copy.
        paths = os.pathsep.join([str(Path(cairn.__file__).parent.parent), str(PROJECT)])
        return subprocess.Popen(argv, cwd=PROJECT, env={**os.environ, "PYTHONPATH": paths})

    def kill_the_holder(self, disk: Disk) -> None:
        """Kill whom the lease names; he may have released it in the moment between, and dies all the same."""
        record = read_lease(disk)
        places = {racer.pid: place for place, racer in enumerate(self.running)}
        if record is None or record.released or record.process.pid not in places:
            return
        place = places[record.process.pid]
        victim = self.running[place]
        self.killed[victim.pid] = time.monotonic()
        victim.send_signal(signal.SIGKILL)
        # It stays a zombie for a while: nobody has asked for its end yet.
        self.running[place] = self.start()
        time.sleep(0.01)
        victim.wait()

    def finish(self) -> list[Grant]:
        for racer in self.running:
            assert racer.wait(60) == 0
        rows = [line.split(" ", 4) for line in self.log.read_text("ascii").splitlines()]
        return [Grant(int(pid), int(epoch), int(robbed), float(at), said) for pid, epoch, robbed, at, said in rows]


def check(grants: list[Grant]) -> None:
    """Never two holders at once, and each grant above all before it."""
    assert {grant.said for grant in grants} == {"ok"}
    epochs = [grant.epoch for grant in grants]
    assert epochs == sorted(set(epochs))
    assert len({grant.pid for grant in grants}) > 1


def run_to_the_end(folder: Path, seconds: float) -> None:
    race = Race(folder, seconds, hold=0.004)
    grants = race.finish()
    check(grants)
    assert len(grants) > RACERS
    # Nobody died, so every epoch was held, and nobody was robbed.
    assert [grant.epoch for grant in grants] == list(range(1, len(grants) + 1))
    assert not any(grant.robbed for grant in grants)
    assert not race.canary.exists()


def run_with_kills(folder: Path, seconds: float) -> None:
    race = Race(folder, seconds, hold=0.04)
    with Disk.at(str(race.home), "data/store") as disk:
        while time.monotonic() < race.until - 0.3:
            time.sleep(0.001 if len(race.killed) < 5 * seconds else 0.1)
            race.kill_the_holder(disk)
    grants = race.finish()
    check(grants)
    # Every lease that was taken by force was that of a process we had killed.
    robbed = {grant.robbed for grant in grants} - {0}
    assert robbed
    assert robbed <= race.killed.keys()
    takeovers = sorted(grant.at - race.killed[grant.robbed] for grant in grants if grant.robbed)
    print(f"{len(grants)} grants, {len(race.killed)} killed, takeovers {[f'{t:.3f}' for t in takeovers]}")
    assert all(takeover < 5 for takeover in takeovers)
    with Disk.at(str(race.home), "data/store") as disk:
        record = read_lease(disk)
        assert record is not None
        assert not is_alive(record, SYSTEM_PROCESSES)


@conforms("003.LS5", "003.LS6", "003.LS8")
def test_eight_processes_never_hold_one_lease_together(tmp_path: Path) -> None:
    run_to_the_end(tmp_path, 2)


@conforms("003.LS1", "003.LS5")
def test_killed_holders_are_followed_at_once_and_never_doubled(tmp_path: Path) -> None:
    run_with_kills(tmp_path, 2)


@pytest.mark.long
def test_eight_processes_never_hold_one_lease_together_for_long(tmp_path: Path) -> None:
    run_to_the_end(tmp_path, 20)


@pytest.mark.long
def test_many_killed_holders_are_followed_at_once_and_never_doubled(tmp_path: Path) -> None:
    run_with_kills(tmp_path, 20)
