"""Writers out of sight, as a model: `python -m tests.races.far_model SCHEDULES SEED`.

Two machines with two process namespaces each share one store, a disk in memory. Processes of all four look at the
lease, wait for it, take it, beat, publish, are killed, stopped and continued; machines sleep, reboot under the same
or another name, and have their wall clocks set; notes and leases are damaged. The lease, its notes, the fence and the
claim of a number are the real code. One schedule is a run of such events drawn from its seed. What must hold is
checked with every event, and `Broken` says with its seed what did not.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random

from cairn.core.clock import ProcessId
from cairn.core.limits import LEASE_TTL_MS, MAX_STATE_BYTES
from cairn.errors import LeaseLost, StoreBusy
from cairn.store.format.layout import create_store, generation_path, is_sighting, sighting_name
from cairn.store.publish.generations import plant_fence, read_claims
from cairn.store.publish.lease import LEASE, Lease, RunKind, acquire, find_lease, is_alive, silence_of
from tests.store.disks import Call, MemoryDisk, TracingDisk

TERM = LEASE_TTL_MS / 1000
# So long a command waits, and so much longer than the term a dead writer may block.
WAIT = 10.0
RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"
EVENTS = 24


class Broken(AssertionError):
    """What must hold did not."""


@dataclass
class Host:
    """A machine: its name and boot, and the hands of its clocks. Nothing runs on one that is asleep."""

    name: str
    boot: str
    monotonic: float
    boottime: float
    wall: float
    awake: bool = True


class HostClock:
    """The clocks of a machine, as one process has them in its hands."""

    def __init__(self, world: FarWorld, host: Host) -> None:
        self._world, self._host = world, host

    def wall_ns(self) -> int:
        return int(self._host.wall * 1e9)

    def monotonic(self) -> float:
        return self._host.monotonic

    def boottime(self) -> float:
        return self._host.boottime

    def cpu(self) -> float:
        return 0.0

    def origin(self) -> str:
        return self._host.boot

    def sleep(self, seconds: float) -> None:
        # A real clock moves in every sleep. Less than this is nothing beside a day: it would never be over.
        self._world.pass_time(max(seconds, 1e-6))


@dataclass
class Process:
    """One process, and what it holds. `checked`: it was told that it may publish, and has not done so yet."""

    host: Host
    id: ProcessId
    clock: HostClock
    lease: Lease | None = None
    grant: int = 0
    number: int = 0
    beaten_at: float = 0.0
    dead: bool = False
    stopped: bool = False
    checked: bool = False

    @property
    def runs(self) -> bool:
        return not (self.dead or self.stopped) and self.host.awake


class Sight:
    """What a process can know of others, by the rules of `SystemProcesses`."""

    def __init__(self, world: FarWorld, me: Process) -> None:
        self._world, self._me = world, me

    def me(self) -> ProcessId:
        return self._me.id

    def is_gone(self, process: ProcessId) -> bool:
        return self._ended(process) is True

    def is_running(self, process: ProcessId) -> bool:
        return self._ended(process) is False

    def _ended(self, process: ProcessId) -> bool | None:
        if process.boot_id != self._me.id.boot_id:
            return True if process.hostname == self._me.id.hostname else None
        if process.namespace != self._me.id.namespace:
            return None
        return self._world.processes[process.pid].dead


@dataclass
class FarWorld:
    """Everything that is there in one schedule; `seen` counts what has happened in it."""

    seed: int
    random: Random = field(init=False)
    now: float = 0.0
    processes: dict[int, Process] = field(default_factory=dict)
    grants: int = 0
    published: list[tuple[int, int]] = field(default_factory=list)
    first_looks: dict[tuple[str, str], float] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.disk = MemoryDisk()
        create_store(self.disk)
        self.hosts = [
            Host(name, f"b{number}-{self.seed}", self.random.uniform(1, 1e6), self.random.uniform(1, 1e7), 1.79e9)
            for number, name in enumerate(("one", "two"))
        ]
        self._boots = len(self.hosts)
        self.daemons = [self.process(host, namespace) for host in self.hosts for namespace in (1, 2)]

    # --- who is there -------------------------------------------------------------------------------------------------

    def process(self, host: Host, namespace: int) -> Process:
        """Return a new process there, which remembers nothing."""
        pid = len(self.processes) + 1
        made = Process(host, ProcessId(pid, pid, host.boot, namespace, host.name), HostClock(self, host))
        self.processes[pid] = made
        return made

    def command(self) -> Process | None:
        """Return somebody who asks: a new process, or a daemon that has looked before; None while all are asleep."""
        awake = [host for host in self.hosts if host.awake]
        if not awake:
            return None
        host = self.random.choice(awake)
        daemons = [one for one in self.daemons if one.host is host and one.runs and one.lease is None]
        if daemons and self.random.random() < 0.3:
            return self.random.choice(daemons)
        return self.process(host, self.random.choice((1, 2)))

    def writers(self, *, running: bool | None = None) -> list[Process]:
        """Return those who believe to hold the lease."""
        found = [one for one in self.processes.values() if one.lease is not None and not one.dead]
        return [one for one in found if running is None or one.runs is running]

    # --- time ---------------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let time pass. Whoever writes and can run beats in every quarter of the term."""
        end = self.now + seconds
        while True:
            due = min((one.beaten_at + TERM / 4 for one in self.writers(running=True)), default=end)
            step = max(0.0, min(due, end) - self.now)
            self.now += step
            for host in self.hosts:
                host.monotonic += step if host.awake else 0.0
                host.boottime += step
                host.wall += step
            for one in self.writers(running=True):
                if self.now >= one.beaten_at + TERM / 4:
                    self.beat(one)
            if self.now >= end:
                return

    def beat(self, one: Process) -> None:
        assert one.lease is not None
        before = one.lease._record.heartbeat
        try:
            one.lease.beat()
        except LeaseLost:
            self.seen["told that it was robbed"] += 1
            self.end(one)
            return
        if one.lease._record.heartbeat != before:
            one.beaten_at = self.now
        elif self.now >= one.beaten_at + TERM / 4:
            # Its boot time has not moved as far in whole milliseconds: it beats a moment later.
            one.beaten_at += 0.01

    def end(self, one: Process) -> None:
        one.lease, one.checked, one.stopped = None, False, False
        if one not in self.daemons:
            one.dead = True

    # --- what happens -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Somebody looks at the lease, as `cairn status` does."""
        who = self.command()
        if who is None:
            return
        self.note(who)
        silence_of(self.disk, find_lease(self.disk), who.clock, Sight(self, who))

    def take(self) -> None:
        """Somebody wants the lease, waits for it or does not, and then works, publishes, or is killed."""
        who = self.command()
        if who is None:
            return
        seen = self.note(who)
        disk = TracingDisk(self.disk, self.meanwhile)
        try:
            lease = acquire(
                disk,
                run_id=RUN,
                kind=RunKind.SYNC,
                floor_epoch=max((epoch for _, epoch in self.published), default=0),
                clock=who.clock,
                processes=Sight(self, who),
                wait_seconds=self.random.choice((0.0, 0.0, WAIT)),
            )
        except StoreBusy:
            self.seen["busy"] += 1
            self.not_for_long(who, seen)
            return
        lease._fs = self.disk
        self.grant(who, lease)
        fate = self.random.random()
        if fate < 0.3:
            who.dead = True
            self.seen["killed"] += 1
        elif fate < 0.5:
            self.check(who)
            # The worst moment to be stopped at.
            who.stopped = fate < 0.4
            if not who.stopped:
                self.claim(who)

    def meanwhile(self, call: Call) -> None:
        """At the guard of a thief: whoever is alive may be just about to beat."""
        if call.what == "lock" and self.random.random() < 0.3:
            for one in self.writers(running=True):
                self.beat(one)

    def grant(self, who: Process, lease: Lease) -> None:
        """Who has the lease now; nobody alive was robbed of it."""
        if lease.stolen and lease.previous is not None:
            victim = self.processes[lease.previous.process.pid]
            self.seen["taken from the dead" if victim.dead else "taken from a sleeper"] += 1
            if not victim.dead and self.now - victim.beaten_at <= TERM:
                raise Broken(f"robbed {self.now - victim.beaten_at:.3f} s after its heartbeat")
        self.grants += 1
        if lease.fence_owed:
            plant_fence(self.disk, read_claims(self.disk).newest)
            lease.fence_owed = False
        who.lease, who.beaten_at, who.grant = lease, self.now, self.grants
        who.number = read_claims(self.disk).newest + 1

    def note(self, who: Process) -> str | None:
        """Remember what this one sees first: the digest of a lease whose holder it cannot see."""
        found = find_lease(self.disk)
        sight = Sight(self, who)
        if found.data is None:
            return None
        if found.record and (not is_alive(found.record, sight) or sight.is_running(found.record.process)):
            return None
        digest = sha256(found.data).hexdigest()
        self.first_looks.setdefault((who.host.boot, digest), who.host.monotonic)
        return digest

    def not_for_long(self, who: Process, seen: str | None) -> None:
        """Whoever is refused was not refused by a dead writer that was seen long enough ago."""
        found = find_lease(self.disk)
        data = found.data or b""
        if seen is None or sha256(data).hexdigest() != seen:
            return
        waited = who.host.monotonic - self.first_looks[who.host.boot, seen]
        self.seen["waited in vain"] += 1
        if waited > TERM + WAIT:
            raise Broken(f"blocked for {waited:.3f} s after the first look")

    def check(self, who: Process) -> None:
        """The last look of a writer before it publishes."""
        assert who.lease is not None
        try:
            who.lease.check()
        except LeaseLost:
            self.end(who)
            return
        who.beaten_at = max(who.beaten_at, self.now if who.lease._silent_ms() < 1 else who.beaten_at)
        who.checked = True

    def claim(self, who: Process) -> None:
        """Publish, if the number is still free, and let go."""
        if who.lease is None or not who.checked:
            return
        lease = who.lease
        try:
            self.disk.create_bytes(generation_path(who.number), b"%d" % lease.epoch)
        except FileExistsError:
            self.seen["claim lost"] += 1
        else:
            self.seen["published"] += 1
            self.published.append((who.number, lease.epoch))
            if who.grant != self.grants:
                raise Broken(f"grant {who.grant} has published after {self.grants} was given")
        with suppress(LeaseLost):
            lease.release()
        self.end(who)

    def go_on(self) -> None:
        """A writer that runs comes to its last look, or to its publish."""
        if found := self.writers(running=True):
            who = self.random.choice(found)
            (self.claim if who.checked else self.check)(who)

    def kill(self) -> None:
        if found := self.writers():
            self.seen["killed"] += 1
            self.random.choice(found).dead = True

    def stop(self) -> None:
        if found := [one for one in self.writers() if not one.stopped]:
            self.seen["stopped"] += 1
            self.random.choice(found).stopped = True

    def resume(self) -> None:
        """A writer that was stopped goes on where it was: with a beat, or with its publish."""
        if found := [one for one in self.writers() if one.stopped]:
            who = self.random.choice(found)
            who.stopped = False
            self.seen["continued"] += 1
            if who.runs:
                self.claim(who) if who.checked else self.beat(who)

    def sleep(self) -> None:
        host = self.random.choice(self.hosts)
        host.awake = not host.awake
        self.seen["slept" if not host.awake else "woke"] += 1
        if host.awake:
            for one in self.writers(running=True):
                self.beat(one)

    def reboot(self) -> None:
        """All processes of a machine end; it comes back under its own name or another, its clock at any time."""
        place = self.random.randrange(len(self.hosts))
        before = self.hosts[place]
        for one in self.processes.values():
            if one.host is before:
                one.dead = True
        self._boots += 1
        host = self.hosts[place] = replace(
            before,
            boot=f"b{self._boots}-{self.seed}",
            name=before.name if self.random.random() < 0.3 else f"{before.name}-{self._boots}",
            monotonic=self.random.choice((3.0, before.monotonic, before.monotonic + TERM + WAIT, 1e6)),
            awake=True,
        )
        self.daemons = [one for one in self.daemons if not one.dead] + [self.process(host, n) for n in (1, 2)]
        self.seen["rebooted"] += 1

    def set_clock(self) -> None:
        self.random.choice(self.hosts).wall += self.random.choice((-1, 1)) * self.random.choice((1.0, 3_600.0, 1e8))

    def hurt_note(self) -> None:
        """Somebody removes, tears or forges a note: whoever waits by it begins anew, and never earlier."""
        names = [name for name in self.disk.list_folder("locks") if is_sighting(name)]
        if not names:
            return
        name = self.random.choice(names)
        path = f"locks/{name}"
        data = self.disk.read(path, MAX_STATE_BYTES)
        self.disk.remove(path)
        how = self.random.randrange(4)
        if how == 1:
            self.disk.create_bytes(path, data[: self.random.randrange(max(1, len(data)))])
        elif how == 2:
            self.disk.create_bytes(path, data.replace(b'"since_ns":', b'"since_ns":-'))
        elif how == 3:
            other = f"locks/{self.random.choice(names)}"
            with suppress(FileNotFoundError, FileExistsError):
                # The note of another clock under this name.
                self.disk.create_bytes(path, self.disk.read(other, MAX_STATE_BYTES))
        of = {boot for boot, _ in self.first_looks if sighting_name(sha256(boot.encode()).hexdigest()) == name}
        self.first_looks = {seen: when for seen, when in self.first_looks.items() if seen[0] not in of}
        self.seen["note hurt"] += 1

    def hurt_lease(self) -> None:
        if LEASE.rpartition("/")[2] in self.disk.list_folder("locks"):
            data = self.disk.read(LEASE, MAX_STATE_BYTES)
            self.disk.remove(LEASE)
            self.disk.create_bytes(LEASE, data[:-7] + b"%07d" % self.random.randrange(10**7))
            self.seen["lease hurt"] += 1

    def idle(self) -> None:
        self.pass_time(self.random.choice((0.5, 5.0, 29.0, 41.0, 60.0, 119.0, 121.0, 131.0, 400.0)))

    def run(self) -> None:
        """Let everything happen; `Broken` names the seed."""
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.look, 5), (self.take, 8), (self.idle, 7), (self.go_on, 2), (self.kill, 2), (self.stop, 2),
            (self.resume, 2), (self.sleep, 2), (self.reboot, 1), (self.set_clock, 1), (self.hurt_note, 1),
            (self.hurt_lease, 1),
        ]  # fmt: skip
        events = self.random.choices([kind for kind, _ in kinds], [weight for _, weight in kinds], k=EVENTS)
        try:
            for event in events:
                event()
            epochs = [epoch for _, epoch in sorted(self.published)]
            if epochs != sorted(set(epochs)):
                raise Broken(f"published in this order: {epochs}")
        except Broken as problem:
            raise Broken(f"seed {self.seed}: {problem}") from None
        finally:
            for one in self.processes.values():
                if one.lease is not None:
                    one.lease.fence_owed = True
                    one.lease.release()


def run_schedules(count: int, seed: int) -> Counter[str]:
    """Run so many schedules from this seed on; return how often everything happened."""
    seen: Counter[str] = Counter()
    for number in range(seed, seed + count):
        world = FarWorld(number)
        world.run()
        seen += world.seen
    return seen


if __name__ == "__main__":
    schedules, first = int(sys.argv[1]), int(sys.argv[2])
    happened = run_schedules(schedules, first)
    print(f"{schedules} schedules from seed {first}, 0 broken, {time.process_time():.0f} s CPU")
    for name, times in sorted(happened.items()):
        print(f"{name}: {times}")
