"""Plays schedules of actors on one store, and judges each by what they did, what they saw and what they left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cairn.errors import LeaseError, StoreBusy
from cairn.store.format.layout import DIGESTS, GENERATIONS, LOCKS, POINTER, generation_path
from cairn.store.format.manifest import Manifest
from cairn.store.publish.lease import LEASE
from cairn.store.repair.verify import FindingLevel, check
from cairn.store.tend.collect import Collected
from cairn.sync.upkeep import CompactReport
from tests.races.actors import FIRST, RETAINED, SECOND, THIRD, Body, C, whole_run
from tests.races.scheduler import Schedule, World
from tests.store import little
from tests.store.disks import MemoryDisk

Files = Mapping[str, bytes]

READER = "R"
# What each writer would publish. One who merges publishes what is there.
_WRITES: Mapping[str, Files] = {"A": FIRST, "B": SECOND}


class Scene(NamedTuple):
    """Who acts on which disk, what had been published there by number, and who holds the lease from the start."""

    disk: MemoryDisk
    actors: Mapping[str, Body]
    past: Mapping[int, Files]
    holder: str = ""

    def play(self, schedule: Schedule) -> World:
        world = World(self.disk.crash("kill"), schedule)
        for name, body in self.actors.items():
            world.add(name, body)
        world.run()
        return world

    def known(self, world: World) -> dict[int, Files]:
        """What was published under every number."""
        known = dict(self.past)
        for actor, call in world.events:
            if call.what == "claim":
                known[_number(call.other)] = _WRITES.get(actor) or known[max(known)]
        return known


def _number(generation: str) -> int:
    return int(generation.removeprefix(f"{GENERATIONS}/"))


# --- what must hold ---------------------------------------------------------------------------------------------------


def problems(scene: Scene, world: World) -> Iterator[str]:
    """What is wrong with how a run went, judged by what each actor did and saw."""
    yield from _done(scene, world)
    claims = {actor: call.other for actor, call in world.events if call.what == "claim"}
    for actor, result in world.results.items():
        if isinstance(result, Manifest):
            if claims.get(actor) != generation_path(result.generation):
                yield f"{actor} says it has published, and has not won its number"
        elif isinstance(result, CompactReport):
            if result.published != (actor in claims):
                yield f"{actor} says of what it has merged the contrary of what is true"
        elif actor in claims:
            yield f"{actor} says it has not published, and has: {result!r}"
        elif actor != READER and not isinstance(result, LeaseError | StoreBusy | Collected):
            yield f"{actor} ended with {result!r}"
    yield from _seen(world.results.get(READER, []), scene.known(world))


def _done(scene: Scene, world: World) -> Iterator[str]:
    """What somebody did who must not have done it any more, or not yet."""
    numbers = [*scene.past]
    claimed: set[str] = set()
    holder = scene.holder
    # Those who took the lease may end another's swap, too. Those who had it when somebody put a fence in their way must
    # not publish any more.
    takers: set[str] = set()
    fenced_by: dict[str, str] = {}
    for actor, call in world.events:
        if call.what == "swap" and call.other == LEASE:
            holder = actor
            takers.add(actor)
        elif call.what == "fenced" and actor == holder:
            # One that was itself robbed before it came to this keeps nobody out who came later.
            fenced_by |= dict.fromkeys((takers | {scene.holder}) - {actor}, actor)
        elif call.what == "claim":
            if _number(call.other) in numbers:
                yield f"{call.other} was won twice"
            if actor in fenced_by:
                yield f"{actor} published late: after the fence of {fenced_by[actor]}"
            numbers.append(_number(call.other))
            claimed.add(actor)
        elif call.what == "swap" and call.other == POINTER and actor not in claimed | takers:
            yield f"{actor} moved the pointer and had won nothing"
        elif call.what == "remove" and _is_kept(call.path, numbers, max(scene.past)):
            yield f"{actor} took {call.path} away, which had to be kept"


def _is_kept(path: str, numbers: Sequence[int], newest: int) -> bool:
    """Whether this is the number of a snapshot of which a collector must leave its hands.

    It was the newest when all of this began, it came later, or there are not enough that came after it.
    """
    if not path.startswith(f"{GENERATIONS}/"):
        return False
    number = _number(path)
    return number in numbers and (number >= newest or number in sorted(numbers)[-RETAINED:])


def _seen(seen: object, known: Mapping[int, Files]) -> Iterator[str]:
    if not isinstance(seen, list):
        yield f"R ended with {seen!r}"
        return
    for generation, files in seen:
        if files != known.get(generation):
            yield f"R saw in generation {generation} what nobody had published: {files}"
    if any(later < before for (before, _), (later, _) in pairwise(seen)):
        yield f"R was sent back: {[generation for generation, _ in seen]}"


class Judge:
    """Plays schedules of one scene and stops at the first that breaks a promise."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.outcomes: Counter[str] = Counter()
        # Ends of a collector and of one who merges that were worth the while.
        self.collected = self.merged = 0
        self._sound: set[object] = set()

    def __call__(self, schedule: Schedule) -> World:
        world = self.scene.play(schedule)
        found = [*problems(self.scene, world), *self.left_behind(world)]
        assert not found, f"{found}; to see it again: {schedule}"
        results = {name: result for name, result in sorted(world.results.items()) if name != READER}
        self.outcomes[", ".join(f"{name}: {type(result).__name__}" for name, result in results.items())] += 1
        self.collected += any(isinstance(each, Collected) and each.segments > 0 for each in results.values())
        self.merged += any(isinstance(each, CompactReport) and each.published for each in results.values())
        return world

    def left_behind(self, world: World) -> Iterator[str]:
        """What is wrong with the disk. Many schedules end with the same one, which is looked at once."""
        known = self.scene.known(world)
        expected = known[max(known)]
        key = picture(world.disk), tuple(expected.items())
        if key in self._sound:
            return
        if (found := little.load(world.disk)) != expected:
            yield f"in the end there is {found}"
        yield from (str(finding) for finding in check(world.disk) if finding.severity is FindingLevel.ERROR)
        # Whoever comes next can go on, and leaves a store in which nothing is wrong or left over.
        after = World(world.disk.crash("kill"), Schedule((0,)))
        after.add("C", whole_run(THIRD, C, frozenset({C})))
        after.run()
        if not isinstance(after.results["C"], Manifest):
            yield f"the next run ended with {after.results['C']!r}"
        yield from (str(finding) for finding in check(after.disk))
        self._sound.add(key)


def picture(disk: MemoryDisk) -> object:
    """All that is on a disk but for the lease and the digests, which hold times and inode numbers."""

    def folder(inode: int) -> object:
        return frozenset(
            (name, folder(found) if found in disk._folders else disk._files[found].data)
            for name, found in disk._folders[inode].names.items()
            if name not in (LOCKS, DIGESTS)
        )

    return folder(1)
