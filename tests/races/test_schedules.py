"""A writer that is stopped, a thief that takes its lease, a reader, one who merges and one who collects: in every order
that a scheduler can think of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from cairn.store.format.layout import GENERATIONS, manifest_path
from cairn.store.format.manifest import Manifest
from cairn.store.fs import Fs
from cairn.store.publish import publish as publishing
from cairn.store.publish import writer as writing
from cairn.store.publish.generations import plant_fence, read_claims
from cairn.store.publish.tidy import tidy
from cairn.store.read import snapshot
from cairn.store.tend import collect as collecting
from tests.conformance import conforms
from tests.lengths import at_length
from tests.races.actors import (
    BASE,
    FIRST,
    PAST,
    SECOND,
    A,
    B,
    Body,
    G,
    M,
    Prepared,
    collector,
    compactor,
    fenced,
    first_writer,
    hurried,
    prepare,
    reader,
    whole_run,
    with_a_past,
)
from tests.races.judge import Judge, Scene, problems
from tests.races.scheduler import Schedule, Stop, World, drawn, systematic
from tests.store.disks import MemoryDisk
from tests.support.faults import Faults


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


@pytest.fixture(scope="module")
def past() -> MemoryDisk:
    return with_a_past()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave out what costs time and touches no disk."""
    yield from hurried(monkeypatch)


def robbery(prepared: Prepared, *, watched: bool, opens: int) -> Scene:
    """A is about to publish, B steals: because it believes A to be gone, or after it watched A for a whole term."""
    alive = frozenset({A, B} if watched else {B})
    actors = {"A": first_writer(prepared), "B": whole_run(SECOND, B, alive)}
    return Scene(prepared.disk, {**actors, "R": reader(opens)} if opens else actors, {1: BASE}, "A")


def two_runs(prepared: Prepared, *, watched: bool, opens: int) -> Scene:
    """Two runs from their very start; unless they watch each other, each believes the other to be gone."""
    alive = frozenset({A, B})
    actors = {
        "A": whole_run(FIRST, A, alive if watched else frozenset({A})),
        "B": whole_run(SECOND, B, alive if watched else frozenset({B})),
        "R": reader(opens),
    }
    return Scene(prepared.before, actors, {1: BASE})


def with_a_collector(past: MemoryDisk, monkeypatch: pytest.MonkeyPatch, *, watched: bool, merges: bool) -> Scene:
    """One or two writers, somebody who merges in place of the second, a collector and a reader on a store with a past.

    Unless they watch each other, each believes all others to be gone.
    """
    everyone = frozenset({A, B, M, G})
    alive = {each: everyone if watched else frozenset({each}) for each in everyone}
    actors: dict[str, Body] = {"A": whole_run(FIRST, A, alive[A])}
    if merges:
        actors["M"] = compactor(M, alive[M], monkeypatch)
    else:
        actors["B"] = whole_run(SECOND, B, alive[B])
    actors |= {"G": collector(G, alive[G]), "R": reader(2)}
    return Scene(past, actors, dict(enumerate(PAST, 1)))


# --- the schedules ----------------------------------------------------------------------------------------------------

Setup = tuple[Prepared, MemoryDisk, pytest.MonkeyPatch]

SCENES: dict[str, Callable[[Setup], Scene]] = {
    "robbed because it seems gone": lambda setup: robbery(setup[0], watched=False, opens=2),
    "robbed after a term": lambda setup: robbery(setup[0], watched=True, opens=2),
    "two that rob each other": lambda setup: two_runs(setup[0], watched=False, opens=1),
    "two that wait for each other": lambda setup: two_runs(setup[0], watched=True, opens=1),
    "two and a collector that rob each other": lambda setup: with_a_collector(*setup[1:], watched=False, merges=False),
    "two and a collector that wait": lambda setup: with_a_collector(*setup[1:], watched=True, merges=False),
    "one, a merger and a collector that rob": lambda setup: with_a_collector(*setup[1:], watched=False, merges=True),
    "one, a merger and a collector that wait": lambda setup: with_a_collector(*setup[1:], watched=True, merges=True),
}


@pytest.fixture
def setup(prepared: Prepared, past: MemoryDisk, monkeypatch: pytest.MonkeyPatch) -> Setup:
    return prepared, past, monkeypatch


def explore(setup: Setup, name: str, *, seed: int, count: int) -> None:
    scene = SCENES[name](setup)
    judge = Judge(scene)
    drawn(len(scene.actors), 3, seed, count, judge)
    print(f"{name}: {dict(judge.outcomes)}; collected {judge.collected}, merged {judge.merged} times")
    # Different ends of the race are among them, and nobody came for nothing.
    assert len(judge.outcomes) > 1
    assert (judge.collected > 0, judge.merged > 0) == ("G" in scene.actors, "M" in scene.actors)


@conforms("003.LS10", "003.LS12", "003.PUB2", "003.ISO2")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", SCENES)
def test_however_two_writers_and_a_reader_take_turns_nothing_goes_back_or_is_mixed(setup: Setup, name: str) -> None:
    # Few turns change how a race of three ends.
    explore(setup, name, seed=1, count=80 if "merger" in name else 30)


@conforms("003.LS10", "003.LS12")
@pytest.mark.usefixtures("quick")
def test_wherever_a_writer_is_stopped_once_and_robbed_it_publishes_nothing_more(prepared: Prepared) -> None:
    judge = Judge(robbery(prepared, watched=False, opens=0))
    assert systematic(2, 1, judge) > 200
    assert judge.outcomes.keys() == {"A: Manifest, B: Manifest", "A: LeaseLost, B: Manifest"}


# Together more than 50,000 schedules.


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_wherever_two_writers_are_stopped_twice_nothing_goes_back_or_is_mixed(prepared: Prepared) -> None:
    assert systematic(2, 2, Judge(robbery(prepared, watched=False, opens=0))) > 10_000


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", SCENES)
def test_in_many_thousand_turns_of_all_of_them_nothing_goes_back_or_is_mixed(setup: Setup, name: str) -> None:
    explore(setup, name, seed=2, count=at_length(2_000 if "collector" in name else 8_000))


# --- could it fail? ---------------------------------------------------------------------------------------------------


class Found(Exception):
    """The schedule in which it goes wrong."""


def find(scene: Scene, problem: str, seed: int) -> Schedule:
    """The first schedule in which this goes wrong."""

    def look(schedule: Schedule) -> World:
        world = scene.play(schedule)
        if any(problem in found for found in problems(scene, world)):
            raise Found(schedule)
        return world

    with pytest.raises(Found) as found:
        drawn(len(scene.actors), 3, seed, 10_000, look)
    schedule: Schedule = found.value.args[0]
    return schedule


@pytest.mark.usefixtures("quick")
def test_without_the_fence_a_late_publish_is_found(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "plant_fence", partial(fenced, lambda _, after: after + 1))
    scene = robbery(prepared, watched=False, opens=0)
    schedule = find(scene, "published late", seed=3)
    # The same again, from what was printed; and with the fence it goes well.
    assert any("published late" in found for found in problems(scene, scene.play(schedule)))
    monkeypatch.setattr(writing, "plant_fence", partial(fenced, plant_fence))
    assert not list(problems(scene, scene.play(schedule)))


@pytest.mark.usefixtures("quick")
def test_without_claims_a_reader_that_is_sent_back_is_found(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap_only(fs: Fs, manifest: Manifest) -> None:
        with suppress(FileExistsError):
            fs.claim(manifest_path(manifest.snapshot_id), f"{GENERATIONS}/{manifest.generation}")

    monkeypatch.setattr(publishing, "claim", swap_only)
    monkeypatch.setattr(snapshot, "read_claims", lambda fs: read_claims(fs)._replace(later=()))
    scene = robbery(prepared, watched=False, opens=2)
    schedule = find(scene, "sent back", seed=4)
    assert any("sent back" in found for found in problems(scene, scene.play(schedule)))


@pytest.mark.usefixtures("quick")
def test_a_robbed_thief_that_tidies_up_without_a_look_at_its_lease_is_found(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind: Any = SimpleNamespace(require_ours=lambda: None, beat=lambda: None)
    monkeypatch.setattr(writing, "tidy", lambda fs, staging, _: tidy(fs, staging, blind))
    scene = two_runs(prepared, watched=False, opens=1)
    schedule = find(scene, "ended with", seed=5)
    monkeypatch.setattr(writing, "tidy", tidy)
    assert not list(problems(scene, scene.play(schedule)))


@pytest.mark.usefixtures("quick")
def test_a_collector_that_keeps_too_little_is_found(past: MemoryDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "_kept_seconds", lambda: -1.0)
    scene = with_a_collector(past, monkeypatch, watched=True, merges=False)
    find(scene, "which had to be kept", seed=6)


@pytest.mark.usefixtures("quick")
def test_a_collector_that_does_not_wait_for_readers_is_found(
    past: MemoryDisk, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    """A reader has found its number and is stopped; all segments are merged, and what they were goes at once."""
    monkeypatch.setattr(collecting, "_kept_seconds", lambda: -1.0)
    faults.limit(collecting, RETAIN_SNAPSHOTS_MIN=1)
    everyone = frozenset({M, G})
    actors: dict[str, Body] = {"M": compactor(M, everyone, monkeypatch), "G": collector(G, everyone), "R": reader(1)}
    scene = Scene(past, actors, dict(enumerate(PAST, 1)))
    schedules = [Schedule((0, 1, 2), (Stop(1, 1), Stop(step, 0))) for step in range(2, 60)]

    def found() -> list[str]:
        return [problem for each in schedules for problem in _seen_in(scene, each)]

    assert found() == []
    monkeypatch.setattr(collecting, "collecting", lambda _: nullcontext(None))
    assert any("NoValidSnapshot" in problem for problem in found())


def _seen_in(scene: Scene, schedule: Schedule) -> list[str]:
    return [problem for problem in problems(scene, scene.play(schedule)) if problem.startswith("R ")]
