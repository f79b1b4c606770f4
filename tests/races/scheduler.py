"""A virtual scheduler: several actors run real code on one disk in memory, and one number list says who runs when.

Each actor is a greenlet. Before every call to the disk, before a lock is let go and while it sleeps, it may be stopped
and another one goes on; nothing else ever switches. So a schedule is a value: the order in which actors are taken when
the choice is free, and the few steps at which one was stopped against its will. Running it again gives the same run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import permutations
from random import Random
from typing import NamedTuple, TypeVar

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from cairn.store.format.layout import GENERATIONS, POINTER, READERS_LOCK
from cairn.store.publish.lease import LEASE
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.support.clock import ManualClock

T = TypeVar("T")

_COMMON = (POINTER, GENERATIONS, LEASE)
_CHANGES = ("claim", "swap", "remove")


class Stop(NamedTuple):
    """At this step of the whole run the actor is stopped, and of the others the one of this rank goes on.

    An actor that waits for a lock at this step gives up instead: time has passed, its holder was stopped for long.
    """

    step: int
    rank: int


class Schedule(NamedTuple):
    """Who runs when. `order` is that of the actors' numbers; print it to keep it, run it to see it again."""

    order: tuple[int, ...]
    stops: tuple[Stop, ...] = ()

    @property
    def last(self) -> int:
        """The step of the last stop; 0 when there is none."""
        return self.stops[-1].step if self.stops else 0

    def then(self, step: int, rank: int) -> Schedule:
        """The same with one more stop."""
        return Schedule(self.order, (*self.stops, Stop(step, rank)))


class Event(NamedTuple):
    """A change of the disk that an actor has made, in the order in which they were made."""

    actor: str
    call: Call


class Actor(greenlet):  # type: ignore[misc]
    """One who runs; `name` is how it is called in events and results."""

    name = ""


class World:
    """One disk, one clock, and some actors. `results` holds what each returned, or the error that ended it."""

    def __init__(self, disk: MemoryDisk, schedule: Schedule) -> None:
        self.disk = disk
        # It moves when somebody sleeps or waits in vain, and everybody else may run meanwhile.
        self.clock = ManualClock(on_sleep=self.point)
        self.events: list[Event] = []
        self.results: dict[str, object] = {}
        # For each step, how many others could have gone on.
        self.widths: list[int] = []
        # The steps at which somebody read or wrote what all have in common.
        self.meetings: list[int] = []
        self._order = schedule.order
        self._stops = iter(schedule.stops)
        self._stop: Stop | None = next(self._stops, None)
        self._actors: list[Actor] = []
        self._left: list[Actor] = []
        self._waiting: set[greenlet] = set()
        self._chosen: Actor | None = None
        self._hub = getcurrent()

    def add(self, name: str, body: Callable[[ActorDisk], object]) -> None:
        """One more actor; its number is how many were added before."""

        def run() -> None:
            # Whatever ends an actor is judged by the invariants.
            try:
                self.results[name] = body(ActorDisk(self, name))
            except Exception as error:
                self.results[name] = error

        actor = Actor(run, self._hub)
        actor.name = name
        self._actors.append(actor)

    def run(self) -> None:
        """Let all of them run to their end."""
        self._left = [self._actors[number] for number in self._order]
        while self._left:
            free = (actor for actor in self._left if actor not in self._waiting)
            # A greenlet that was not started yet counts as false.
            actor = next(free, self._left[0]) if self._chosen is None else self._chosen
            self._chosen = None
            if actor.switch() != "waiting":
                self._waiting.clear()
            if actor.dead:
                self._left.remove(actor)

    def point(self) -> None:
        """Here the actor that runs may be stopped."""
        self.widths.append(len(self._left) - 1)
        if self._stop is not None and len(self.widths) == self._stop.step:
            rank = self._stop.rank
            self._stop = next(self._stops, None)
            others = [actor for actor in self._left if actor is not getcurrent()]
            if others:
                self._chosen = others[rank % len(others)]
                self._hub.switch()

    def wait(self) -> bool:
        """Let somebody else go on until the lock may be free; False when we are to wait no longer."""
        self.widths.append(1)
        me = getcurrent()
        self._waiting.add(me)
        gives_up = self._stop is not None and len(self.widths) == self._stop.step
        if gives_up:
            self._stop = next(self._stops, None)
        if gives_up or len(self._waiting) == len(self._left):
            self._waiting.discard(me)
            return False
        self._hub.switch("waiting")
        self._waiting.discard(me)
        return True


class ActorDisk(TracingDisk):
    """The disk of a world as one actor uses it."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world.disk)
        self.world = world
        self.name = name

    def around(self, call: Call, do: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        world = self.world
        world.point()
        if (call.other or call.path).startswith(_COMMON):
            world.meetings.append(len(world.widths))
        done = do()
        if call.what in _CHANGES:
            world.events.append(Event(self.name, call))
        return done

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        world, clock = self.world, self.world.clock
        until = clock.monotonic() + timeout
        with contextlib.ExitStack() as stack:
            while True:
                world.point()
                if path == READERS_LOCK and exclusive:
                    world.meetings.append(len(world.widths))
                try:
                    stack.enter_context(self.inner.lock(path, exclusive=exclusive, timeout=0))
                    break
                except TimeoutError:
                    # Who only tries does not wait for anybody.
                    if timeout <= 0 or not world.wait():
                        clock.advance(max(0.0, until - clock.monotonic()))
                        raise
            yield
            world.point()


# --- which schedules --------------------------------------------------------------------------------------------------


def systematic(actors: int, stops: int, run: Callable[[Schedule], World]) -> int:
    """Run every schedule with at most so many stops, each once; how many there were."""
    done = 0
    todo = [Schedule(order) for order in permutations(range(actors))]
    while todo:
        schedule = todo.pop()
        widths = run(schedule).widths
        done += 1
        if len(schedule.stops) < stops:
            steps = range(schedule.last + 1, len(widths) + 1)
            todo += (schedule.then(step, rank) for step in steps for rank in range(widths[step - 1]))
    return done


def drawn(actors: int, stops: int, seed: int, count: int, run: Callable[[Schedule], World]) -> None:
    """Run so many schedules, drawn by the seed, each the one before with one more stop until there are enough.

    Most stops come right before a step at which the actors meet: those are few, and what goes wrong goes wrong there.
    """
    draw = Random(seed)
    without: dict[tuple[int, ...], World] = {}
    while count > 0:
        order = tuple(draw.sample(range(actors), actors))
        if order not in without:
            without[order] = run(Schedule(order))
            count -= 1
        schedule, world = Schedule(order), without[order]
        while len(schedule.stops) < stops and count > 0 and schedule.last < len(world.widths):
            meetings = [step for step in world.meetings if step > schedule.last]
            anywhere = draw.randint(schedule.last + 1, len(world.widths))
            step = draw.choice(meetings) if meetings and draw.random() < 0.7 else anywhere
            schedule = schedule.then(step, draw.randrange(actors - 1))
            world = run(schedule)
            count -= 1
