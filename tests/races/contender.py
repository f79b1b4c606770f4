"""One of many processes that want the same lease: `python -m tests.races.contender HOME LOG CANARY SECONDS HOLD`.

It holds the lease for at most HOLD seconds at a time. Meanwhile it holds a canary too: a second name of its own file,
made by link(2), which exactly one process can have. Each grant is one line in the log, written while the lease is held:
pid, epoch, the pid of a holder it was taken from (or 0), the time, and `ok` or what was wrong.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES
from cairn.errors import LeaseStuck, StoreBusy
from cairn.store.disk import Disk
from cairn.store.ids import snapshot_id
from cairn.store.lease import Lease, RunKind, acquire


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


def contend(home: str, log_path: str, canary: str, seconds: float, longest: float) -> None:
    own = f"{canary}.{os.getpid()}"
    with open(own, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND)
    until = time.monotonic() + seconds
    with Disk.at(home, "data/store") as disk:
        while time.monotonic() < until:
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
                    hold(lease, own, canary, log, longest)
                finally:
                    lease.release()
    os.close(log)


if __name__ == "__main__":
    contend(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5]))
