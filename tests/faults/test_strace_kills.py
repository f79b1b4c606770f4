"""A real process is killed, or fails, at each call by which it changes a real disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.store.disk import Disk
from cairn.store.format.layout import is_created
from cairn.store.repair.verify import FindingLevel, check
from tests.conformance import conforms
from tests.faults.one_publish import AFTER, BEFORE, STORE, save
from tests.faults.traced import Point, Stage, Traced, require_strace
from tests.store.little import load

CONVERGED = {"after": b"the next run\n"}
Scene = Callable[[Stage, Path], dict[str, bytes] | None]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    require_strace()
    with Stage() as stage:
        yield stage


# --- what there is before the run: the contents a reader finds --------------------------------------------------------


def nothing(_stage: Stage, _home: Path) -> None:
    """The run makes the store itself."""


def a_snapshot(_stage: Stage, home: Path) -> dict[str, bytes]:
    with Disk.at(str(home), STORE, create=True) as disk:
        save(disk, BEFORE)
    return BEFORE


def a_killed_run(stage: Stage, home: Path) -> dict[str, bytes]:
    """Killed as it came to the claim: the run that is hit must fence it off, withdraw it and take its batch over."""
    a_snapshot(stage, home)
    assert stage.run(home, "link,linkat:signal=KILL:when=1").status == -9
    return BEFORE


def a_swap_that_is_due(stage: Stage, home: Path) -> dict[str, bytes]:
    """Killed between the claim and the swap of the pointer: published, and the run that is hit must finish it."""
    a_snapshot(stage, home)
    whole = stage.run(home)
    [swap] = [point for point in whole.points if point.about.endswith('"ACTIVE_SNAPSHOT") = 0')]
    again = home.with_name(home.name + ".again")
    home.rename(again)
    a_snapshot(stage, home)
    assert stage.run(home, f"{swap.call}:signal=KILL:when={swap.number}").status == -9
    return AFTER


SCENES: tuple[Scene, ...] = (nothing, a_snapshot, a_killed_run, a_swap_that_is_due)


# --- one point --------------------------------------------------------------------------------------------------------


def judge(home: Path, before: dict[str, bytes] | None, run: Traced) -> None:
    """A reader finds the old or the new, whole; the checker finds no broken promise; the next run leaves it tidy."""
    assert look(home) == (AFTER if run.claimed else before)
    with Disk.at(str(home), STORE, create=True) as disk:
        if is_created(disk):
            assert [finding for finding in check(disk) if finding.severity is FindingLevel.ERROR] == []
        save(disk, CONVERGED)
        assert check(disk) == []
        assert load(disk) == CONVERGED


def look(home: Path) -> dict[str, bytes] | None:
    try:
        with Disk.at(str(home), STORE) as disk:
            return load(disk)
    except FileNotFoundError:
        return None


def points_of(stage: Stage, scene: Scene, tmp_path: Path) -> list[Point]:
    """Every call of a run that nobody disturbs."""
    home = new_home(tmp_path)
    scene(stage, home)
    whole = stage.run(home)
    assert whole.status == 0
    assert whole.claimed
    judge(home, None, whole)
    return whole.points


def new_home(tmp_path: Path) -> Path:
    home = tmp_path / f"home{sum(1 for _ in tmp_path.iterdir())}"
    home.mkdir(mode=0o700)
    return home


def kill_at(stage: Stage, scene: Scene, tmp_path: Path, point: Point) -> None:
    home = new_home(tmp_path)
    before = scene(stage, home)
    run = stage.run(home, f"{point.call}:signal=KILL:when={point.number}")
    assert run.status == -9, point
    judge(home, before, run)


# --- kills ------------------------------------------------------------------------------------------------------------


@conforms("003.PUB1", "003.ISO2")
def test_a_kill_around_the_claim_leaves_the_old_snapshot_or_the_new(stage: Stage, tmp_path: Path) -> None:
    points = points_of(stage, a_snapshot, tmp_path)
    [claim] = [at for at, point in enumerate(points) if point.call in ("link", "linkat")]
    for point in points[claim - 2 : claim + 5]:
        kill_at(stage, a_snapshot, tmp_path, point)


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_a_kill_at_any_call_leaves_the_old_snapshot_or_the_new(stage: Stage, scene: Scene, tmp_path: Path) -> None:
    points = points_of(stage, scene, tmp_path)
    assert len(points) >= 40
    assert {"write", "fsync"} <= {point.call for point in points}
    for point in points:
        kill_at(stage, scene, tmp_path, point)


# --- errors -----------------------------------------------------------------------------------------------------------


def fail_at(stage: Stage, tmp_path: Path, point: Point, error: str, status: int) -> None:
    """A typed error, or none at all where the new snapshot is out and only side files were left to do."""
    home = new_home(tmp_path)
    before = a_snapshot(stage, home)
    run = stage.run(home, f"{point.call}:error={error}:when={point.number}")
    assert run.status == status or (run.status == 0 and run.claimed), (point, error)
    judge(home, before, run)


@pytest.mark.parametrize(("error", "status"), [("ENOSPC", 81), ("EIO", 82)])
def test_a_disk_that_fails_before_the_claim_is_named_as_the_reason(
    stage: Stage, tmp_path: Path, error: str, status: int
) -> None:
    points = points_of(stage, a_snapshot, tmp_path)
    [claim] = [at for at, point in enumerate(points) if point.call in ("link", "linkat")]
    syncs = [point for point in points[:claim] if point.call == "fsync"]
    writes = [point for point in points[:claim] if point.call == "write"]
    for point in (syncs[0], syncs[-1], writes[2], writes[-1]):
        home = new_home(tmp_path)
        before = a_snapshot(stage, home)
        run = stage.run(home, f"{point.call}:error={error}:when={point.number}")
        assert (run.status, run.claimed) == (status, False)
        judge(home, before, run)


@pytest.mark.long
@pytest.mark.parametrize(("error", "status"), [("ENOSPC", 81), ("EIO", 82)])
def test_a_disk_that_fails_at_any_call_costs_no_snapshot(stage: Stage, tmp_path: Path, error: str, status: int) -> None:
    for point in points_of(stage, a_snapshot, tmp_path):
        fail_at(stage, tmp_path, point, error, status)


# --- file systems that lack something ---------------------------------------------------------------------------------

LACKING = {
    "link,linkat": ("EPERM", "give a file a second name"),
    "flock": ("EOPNOTSUPP", "lock a file"),
    "rename,renameat,renameat2": ("EINVAL", "rename a file over another"),
}


@pytest.mark.parametrize(
    "calls", ["flock", *(pytest.param(one, marks=pytest.mark.long) for one in sorted(LACKING.keys() - {"flock"}))]
)
def test_the_first_index_on_a_disk_that_lacks_something_ends_with_one_sentence(calls: str, tmp_path: Path) -> None:
    require_strace()
    number, what = LACKING[calls]
    tree, home = tmp_path / "tree", tmp_path / "home"
    tree.mkdir()
    (tree / "a.py").write_text("a = 1\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CAIRN_HOME": str(home)}
    command = [sys.executable, "-m", "cairn", "index", "--offline"]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:error={number}"]
    for _ in range(2):
        done = subprocess.run([*strace, *command], cwd=tree, env=environ, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (98, ""), done
        assert f"cannot hold an index: its file system cannot {what}." in done.stderr
        assert "CAIRN_HOME" in done.stderr
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "what was tried is in nobody's way"
