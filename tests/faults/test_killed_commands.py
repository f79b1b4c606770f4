"""Every command that changes an index is killed, for real, at the calls by which it changes the disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.one_command import Order
from tests.faults.people import Owner
from tests.faults.traced import Point, Stage, Traced, require_strace
from tests.store.raising import SNAPSHOT, raised

AN_HOUR = 3_600
# About a thousand calls in all, at two thirds of a second of CPU time each: the long run has a third of them.
EVERY = int(os.environ.get("CAIRN_KILL_EVERY", "3"))


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    require_strace()
    with Stage("tests.faults.one_command") as stage:
        yield stage


class Scene:
    """One tree, a home in which a command is about to run, and copies of that home, one for each kill."""

    def __init__(self, stage: Stage, tmp_path: Path) -> None:
        self.owner, self._stage, self._tmp_path = Owner(tmp_path, files=4), stage, tmp_path
        self._prepared, self._copies = tmp_path / "prepared", 0
        self.owner.home = self._prepared

    def copy(self) -> None:
        """Go on in a fresh copy of the home as it was prepared."""
        shutil.rmtree(self.owner.home, ignore_errors=True) if self._copies else None
        self._copies += 1
        self.owner.home = self._tmp_path / f"home{self._copies}"
        if self._prepared.exists():
            # Manifests have two names, and only they may show it.
            subprocess.run(["cp", "-a", str(self._prepared), str(self.owner.home)], check=True)

    def _order(self, arguments: tuple[str, ...], *, ahead: int, later: bool, traced: bool) -> str:
        return json.dumps(Order(str(self.owner.tree), str(self.owner.home), arguments, ahead, later, traced))

    def do(self, *arguments: str, ahead: int = 0, later: bool = False) -> int:
        """A run that nobody disturbs."""
        return self._stage.do(self._order(arguments, ahead=ahead, later=later, traced=False))

    def trace(self, verb: Verb, *injections: str) -> Traced:
        """A run that somebody watches, and may kill. Only the process itself: what it starts writes to no index."""
        order = self._order((verb.name,), ahead=verb.ahead, later=verb.later, traced=True)
        log = self._tmp_path / "strace"
        return self._stage.trace(order, log, *injections, options=("-y",))


class Verb(NamedTuple):
    """A command, what there is before it, how it is run, and what a person runs when it was killed."""

    name: str
    prepare: Callable[[Scene], object]
    then: tuple[str, ...] = ("sync",)
    ahead: int = 0
    later: bool = False

    def world(self) -> AbstractContextManager[object]:
        return raised(*SNAPSHOT) if self.later else nullcontext()


def indexed(scene: Scene, versions: int = 1) -> None:
    for version in range(1, versions + 1):
        scene.owner.write(version, every=1 if version == 1 else 4)
        assert scene.do("index" if version == 1 else "sync", ahead=version - AN_HOUR * 9) == 0


def nothing(scene: Scene) -> None:
    scene.owner.write(1)


def changed(scene: Scene) -> None:
    indexed(scene)
    scene.owner.write(2)


def in_pieces(scene: Scene) -> None:
    indexed(scene, 4)


def with_history(scene: Scene) -> None:
    indexed(scene, 8)


def damaged(scene: Scene) -> None:
    """Two snapshots, the newest of them damaged, and no pointer."""
    indexed(scene, 2)
    (store,) = (scene.owner.home / "data").iterdir()
    newest = max((store / "segments").iterdir()) / "data.bin"
    newest.chmod(0o600)
    newest.write_bytes(b"rot")
    (store / "ACTIVE_SNAPSHOT").unlink()


VERBS = (
    Verb("index", nothing),
    Verb("sync", changed),
    Verb("compact", in_pieces),
    Verb("gc", with_history, ahead=AN_HOUR),
    Verb("repair", damaged, ("repair", "sync")),
    Verb("upgrade-store", in_pieces, ("upgrade-store", "sync"), later=True),
    Verb("clear", changed, ("clear", "index")),
)


class Outcome(NamedTuple):
    """What a reader may find, from before the command and from after it."""

    before: dict[str, bytes] | None
    after: dict[str, bytes] | None


def points_of(scene: Scene, verb: Verb) -> tuple[list[Point], Outcome]:
    """Every call of an undisturbed run that can change the index, and what there is before and after."""
    verb.prepare(scene)
    scene.copy()
    before = scene.owner.look()
    whole = scene.trace(verb)
    assert whole.status == 0
    with verb.world():
        after = scene.owner.look()
    return [point for point in whole.points if str(scene.owner.home) in point.about], Outcome(before, after)


def kill_at(scene: Scene, verb: Verb, point: Point, outcome: Outcome) -> bool:
    """Kill it there and judge what is left; False when it had ended before it made so many calls."""
    scene.copy()
    killed = scene.trace(verb, f"{point.call}:signal=KILL:when={point.number}").status == -9
    with verb.world():
        found = scene.owner.look()
        assert found in ((outcome.before, outcome.after) if killed else (outcome.after,)), point
        if verb.name != "repair" and found is not None:
            assert scene.owner.errors() == [], point
        converge(scene, verb)
    return killed


def converge(scene: Scene, verb: Verb) -> None:
    """What a person runs then, and a collection: all is there, nothing is left over.

    A sync that finds nothing to do changes nothing, so it may leave to the collector what the killed run left.
    """
    for name in verb.then:
        assert scene.do(name, later=verb.later, ahead=1) == 0
    assert scene.do("gc", later=verb.later, ahead=AN_HOUR) == 0
    assert scene.owner.look() == scene.owner.contents()
    assert scene.owner.problems() == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.name in {"index", "sync"}], ids=lambda verb: verb.name)
def test_a_command_that_is_killed_costs_nothing(verb: Verb, stage: Stage, tmp_path: Path) -> None:
    """At two calls of the commands that everybody uses; the long run has all commands, and many more calls."""
    scene = Scene(stage, tmp_path)
    points, outcome = points_of(scene, verb)
    turn = VERBS.index(verb)
    killed = [kill_at(scene, verb, point, outcome) for point in points[5 + turn :: 1 + len(points) // 2]]
    assert any(killed)


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_command_may_be_killed_at_any_call(verb: Verb, stage: Stage, tmp_path: Path) -> None:
    scene = Scene(stage, tmp_path)
    points, outcome = points_of(scene, verb)
    assert len(points) >= 40
    points = points[VERBS.index(verb) % EVERY :: EVERY]
    killed = [kill_at(scene, verb, point, outcome) for point in points]
    # How much goes through pipes differs a little from run to run, and moves the count.
    assert sum(killed) >= 0.9 * len(points)
