"""Many processes that want the same lease: `python -m tests.races.contender FOLDER GRANTS ROBBERIES HOLD`.

Each holds the lease for at most HOLD seconds at a time. Meanwhile it holds a canary too: a second name of its own file,
made by link(2), which exactly one process can have. Each grant is one line in FOLDER/log, written while the lease is
held: pid, epoch, the pid of a holder it was taken from (or 0), the time, and `ok` or what was wrong. The race is over
after so many GRANTS. With ROBBERIES, holders are killed until that many leases were taken from the dead; FOLDER/killed
says who was killed, and when.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES
from cairn.errors import LeaseStuck, StoreBusy
from cairn.store.disk import Disk
from cairn.store.format.layout import create_store, snapshot_id
from cairn.store.publish.lease import Lease, RunKind, acquire, read_lease

RACERS = 8
# A race that takes as long as this hangs.
LONGEST_SECONDS = 900.0


def take_canary(own: str, canary: str, robbed: int) -> str:
    """What was wrong. The canary of a holder that was killed is still there, and is removed only for the dead."""
    try:
        os.link(own, canary)
    except FileExistsError:
        with open(canary, encoding="ascii") as file:
            holder = int(file.read())
        # It need not be the one that was robbed: a first thief may have been killed before it came to this.
        if not robbed or is_running(holder):
            return f"process {holder} holds it too"
        os.unlink(canary)
        os.link(own, canary)
    return "ok"


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def hold(lease: Lease, own: str, canary: str, log: int, longest: float) -> None:
    robbed = lease.previous.process.pid if lease.stolen and lease.previous else 0
    said = take_canary(own, canary, robbed)
    os.write(log, f"{os.getpid()} {lease.epoch} {robbed} {time.monotonic()} {said}\n".encode())
    lease.fence_owed = False
    time.sleep(random.random() * longest)
    lease.check()
    if said == "ok":
        os.unlink(canary)


class Race:
    """Contenders for one lease, each a fork of this process, started anew when they were killed."""

    def __init__(self, folder: Path, hold: float) -> None:
        self.home, self.log, self.canary = folder / "home", folder / "log", folder / "canary"
        self.over, self.killed_file = folder / "over", folder / "killed"
        self.hold = hold
        self.log.touch()
        self.killed: dict[int, float] = {}
        with Disk.at(str(self.home), "data/store", create=True) as disk:
            create_store(disk)
        self.running = [self.start() for _ in range(RACERS)]

    def start(self) -> int:
        """The pid of another contender."""
        if pid := os.fork():
            return pid
        status = 1
        try:
            random.seed(os.getpid())
            self.contend()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def contend(self) -> None:
        """Take the lease, hold it for a moment and release it, over and over until the race is over."""
        own = f"{self.canary}.{os.getpid()}"
        with open(own, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND)
        with Disk.at(str(self.home), "data/store") as disk:
            while not self.over.exists():
                run = snapshot_id(time.time_ns(), os.urandom(10))
                with contextlib.suppress(StoreBusy, LeaseStuck):
                    lease = acquire(
                        disk,
                        run_id=run,
                        kind=RunKind.SYNC,
                        floor_epoch=0,
                        clock=SYSTEM_CLOCK,
                        processes=SYSTEM_PROCESSES,
                        wait_seconds=0.05,
                    )
                    try:
                        hold(lease, own, str(self.canary), log, self.hold)
                    finally:
                        lease.release()
        os.close(log)

    def kill_the_holder(self, disk: Disk) -> None:
        """Kill whom the lease names; he may have released it in the moment between, and dies all the same."""
        record = read_lease(disk)
        if record is None or record.released or record.process.pid not in self.running:
            return
        victim = record.process.pid
        self.killed[victim] = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        # It stays a zombie for a while: nobody has asked for its end yet.
        self.running[self.running.index(victim)] = self.start()
        time.sleep(0.01)
        os.waitpid(victim, 0)

    def run(self, grants: int, robberies: int) -> None:
        """Go on until there were so many leases, of several holders, and so many taken from who had been killed."""
        end = time.monotonic() + LONGEST_SECONDS
        with Disk.at(str(self.home), "data/store") as disk:
            while not self._have_been(grants, robberies):
                assert time.monotonic() < end, self.log.read_text("ascii")
                time.sleep(0.001 if len(self.killed) < 2 * robberies else 0.1)
                if robberies:
                    self.kill_the_holder(disk)
        self.over.touch()
        assert [os.waitpid(pid, 0)[1] for pid in self.running] == [0] * RACERS
        self.killed_file.write_text(json.dumps(self.killed))

    def _have_been(self, grants: int, robberies: int) -> bool:
        rows = [line.split(" ", 3) for line in self.log.read_text("ascii").splitlines(keepends=True)]
        done = [row for row in rows if len(row) == 4 and row[3].endswith("\n")]
        robbed = {row[2] for row in done} - {"0"}
        return len(done) >= grants and len({row[0] for row in done}) > 1 and len(robbed) >= robberies


if __name__ == "__main__":
    Race(Path(sys.argv[1]), float(sys.argv[4])).run(int(sys.argv[2]), int(sys.argv[3]))
