"""Attack the lease: schedules of a model, and real writers that die or sleep out of sight.

`python -m bench.leases [--schedules N] [--seed S] [--kills N] [--asleep N] [--record docs/benchmarks]`. The model
(`tests/races/far_model.py`) draws schedules of two machines with two process namespaces each. The real part needs
root: each writer is a process in a process namespace of its own, every second one under another host name and another
boot id as well, as on another machine that shares the disk. It takes the lease of a store by `open_writer` and is
killed, or stopped and continued when somebody else has taken over, and then tries to publish. Others, half of them a
new process for every look, ask for the lease from the first second on.

What must hold: nobody is blocked for longer than the term and ten seconds after the first look, nobody alive is robbed
(a writer that still beats), and no number is published by two.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.races.far_model import run_schedules

from bench.held import record
from cairn.core.limits import LEASE_TTL_MS
from cairn.errors import LeaseLost, LeaseStuck, StoreBusy
from cairn.store.disk import Disk
from cairn.store.format.layout import create_store, generation_path
from cairn.store.publish.generations import read_claims
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer

TERM = LEASE_TTL_MS / 1_000
LONGEST = TERM + 10.0
# As many at once: their terms run beside each other.
AT_ONCE = 50
_LOOK_SECONDS = 2.0
_LATE_SECONDS = 600.0


class Outcome(NamedTuple):
    """One writer out of sight: where it was, whether it was killed, and how it ended."""

    far: bool
    killed: bool
    blocked_seconds: float
    published_twice: bool


def write(folder: str) -> None:
    """Hold the lease of a store until the end; after a sleep try to publish, as if nothing had happened."""
    with Disk.at(folder, "data/store") as disk, open_writer(disk, "there", RunKind.SYNC) as writer:
        number = read_claims(disk).newest + 1
        Path(folder, "held").write_text(str(os.getpid()))
        while not Path(folder, "taken").exists():
            writer.lease.beat()
            time.sleep(0.2)
        said = "refused"
        try:
            writer.lease.check()
            disk.create_bytes(generation_path(number), b"")
            said = "published"
        except LeaseLost:
            pass
        finally:
            Path(folder, "woke").write_text(said)


def ask(folder: str, *, publish: bool) -> bool:
    """Whether the lease of a store can be had now; then a number is published with it."""
    with Disk.at(folder, "data/store") as disk:
        try:
            with open_writer(disk, "here", RunKind.SYNC, wait_seconds=0.0):
                if publish:
                    disk.create_bytes(generation_path(read_claims(disk).newest + 1), b"")
                    Path(folder, "taken").touch()
                return True
        except (StoreBusy, LeaseStuck):
            return False


def _in_another_process(folder: str) -> bool:
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            status = 0 if ask(folder, publish=True) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Victim:
    """A writer in a process namespace of its own, which is killed or stopped as soon as it holds the lease."""

    def __init__(self, folder: Path, *, far: bool, killed: bool) -> None:
        self.folder, self.far, self.killed = str(folder), far, killed
        with Disk.at(self.folder, "data/store", create=True) as disk:
            create_store(disk)
        boot = folder / "boot_id"
        boot.write_text(f"{os.urandom(4).hex()}-1111-4222-8333-{os.urandom(6).hex()}\n")
        elsewhere = f"mount --bind {boot} /proc/sys/kernel/random/boot_id && hostname far{os.urandom(3).hex()} && "
        run = f"{elsewhere if far else ''}exec {sys.executable} -m bench.leases --write {folder}"
        kind = ["--uts", "--mount"] if far else []
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *kind, "sh", "-c", run]
        with open(folder / "said", "wb") as said:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said, start_new_session=True)
        self.first_look = self.last_refused = 0.0
        self.taken = False

    def strike(self) -> None:
        """Kill it, or stop it."""
        end = time.monotonic() + _LATE_SECONDS
        while not Path(self.folder, "held").exists():
            if time.monotonic() > end or self._process.poll() is not None:
                raise SystemExit(f"a writer did not come to its lease: {self.folder}")
            time.sleep(0.02)
        inside = self._inside()
        os.kill(inside, signal.SIGKILL if self.killed else signal.SIGSTOP)
        if self.killed:
            self._process.wait()

    def _inside(self) -> int:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(children[0])

    def look(self, *, forked: bool) -> bool:
        """Whether somebody has the lease now. Who is refused was blocked from the first look until this one began."""
        if self.taken:
            return True
        began = time.monotonic()
        self.taken = _in_another_process(self.folder) if forked else ask(self.folder, publish=True)
        if not self.taken:
            self.first_look = self.first_look or time.monotonic()
            self.last_refused = began
        return self.taken

    def end(self) -> Outcome:
        """Wake a sleeper, and say how it ended."""
        said = "killed"
        if not self.killed:
            os.kill(self._inside(), signal.SIGCONT)
            self._process.wait(_LATE_SECONDS)
            said = Path(self.folder, "woke").read_text()
        blocked = self.last_refused - self.first_look if self.taken else _LATE_SECONDS
        return Outcome(self.far, self.killed, blocked, said == "published")


def attack(count: int, asleep: int, folder: Path) -> list[Outcome]:
    """Kill so many writers, and let so many more sleep through the loss of their lease."""
    kinds = [True] * count + [False] * asleep
    outcomes: list[Outcome] = []
    for begin in range(0, len(kinds), AT_ONCE):
        victims = [
            Victim(_made(folder / f"{number}"), far=number % 2 == 1, killed=kinds[number])
            for number in range(begin, min(begin + AT_ONCE, len(kinds)))
        ]
        for victim in victims:
            victim.strike()
        end = time.monotonic() + LONGEST + _LATE_SECONDS
        while time.monotonic() < end:
            looks = [victim.look(forked=place // 2 % 2 == 0) for place, victim in enumerate(victims)]
            if all(looks):
                break
            time.sleep(_LOOK_SECONDS)
        outcomes += [victim.end() for victim in victims]
        print(f"{len(outcomes)} of {len(kinds)} writers", file=sys.stderr, flush=True)
    return outcomes


def watched(folder: Path, seconds: float) -> bool:
    """Whether a writer that is alive and beats out of sight keeps its lease for this long."""
    victim = Victim(_made(folder / "alive"), far=True, killed=True)
    while not Path(victim.folder, "held").exists():
        time.sleep(0.02)
    end, kept = time.monotonic() + seconds, True
    while kept and time.monotonic() < end:
        kept = not ask(victim.folder, publish=False)
        time.sleep(_LOOK_SECONDS)
    os.kill(victim._inside(), signal.SIGKILL)
    victim._process.wait()
    return kept


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.leases", description=__doc__)
    options.add_argument("--schedules", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1_000_001)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--asleep", type=int, default=40)
    options.add_argument("--record", type=Path, help="note the result in this folder (docs/benchmarks)")
    options.add_argument("--write", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.write:
        write(given.write)
        return
    found: dict[str, object] = {"termSeconds": TERM}
    if given.kills or given.asleep:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cairn-leases-")))
            began = time.monotonic()
            outcomes = attack(given.kills, given.asleep, folder)
            blocked = [one.blocked_seconds for one in outcomes]
            found["writers"] = {
                "killed": sum(one.killed for one in outcomes),
                "asleep": sum(not one.killed for one in outcomes),
                "underAnotherHostName": sum(one.far for one in outcomes),
                "blockedSecondsLeast": round(min(blocked), 1),
                "blockedSecondsMost": round(max(blocked), 1),
                "blockedTooLong": sum(one > LONGEST for one in blocked),
                "publishedTwice": sum(one.published_twice for one in outcomes),
                "livingWriterKeptItsLease": watched(folder, TERM + 2 * 10.0),
                "seconds": round(time.monotonic() - began),
            }
            print(json.dumps(found["writers"], indent=2), flush=True)
    if given.schedules:
        began = time.process_time()
        happened = run_schedules(given.schedules, given.seed)
        found["model"] = {
            "schedules": given.schedules,
            "seed": given.seed,
            "broken": 0,
            "cpuSeconds": round(time.process_time() - began),
            "happened": dict(sorted(happened.items())),
        }
        print(json.dumps(found["model"], indent=2), flush=True)
    if given.record:
        typed = " ".join(sys.argv[1:]).replace(f"--record {given.record}", "").strip()
        record(given.record, f"python -m bench.leases {typed}".strip(), json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
