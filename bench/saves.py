"""How long after a save a search finds it, through a watcher, over many saves; and what an idle watcher costs.

    python -m bench.saves [--files 10000] [--saves 200] [--roots 10] [--idle 60]

A repository is made, indexed and watched. Each save adds a definition to one file; the time runs from the end of the
write to the moment at which a reader of the store finds it, merges of segments included. Wall times of a machine that
does something else are worth little: the CPU of one save is printed beside them.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from cairn.ask.allowed import Allowed
from cairn.ask.session import whole
from cairn.watch.watcher import WatchedWorkspace

_WORDS = [
    f"{verb}_{noun}" for verb in ("load", "save", "find", "merge", "split") for noun in ("row", "page", "key", "tree")
]
_PER_FOLDER = 25
_MOST_SECONDS = 30.0


class Saves(NamedTuple):
    """Seconds from a save to its being searchable, and CPU seconds of one save, children included."""

    p50: float
    p95: float
    worst: float
    cpu: float
    saves: int
    files: int


class Idle(NamedTuple):
    """The share of one core that a watcher takes while nothing happens."""

    roots: int
    seconds: float
    share: float


def made_repository(folder: Path, files: int, seed: int = 7) -> list[Path]:
    """A repository with a commit, and its files."""
    chance = random.Random(seed)
    made = []
    for number in range(files):
        path = (
            folder / f"pkg{number // _PER_FOLDER // 10:03}" / f"mod{number // _PER_FOLDER % 10}" / f"file{number:05}.py"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f'"""Module {number}."""\n']
        parts += [
            f"\n\ndef {chance.choice(_WORDS)}_{number}_{part}(path, limit):\n    return {chance.choice(_WORDS)}(path)\n"
            for part in range(8)
        ]
        path.write_text("".join(parts))
        made.append(path)
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"],
    ):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return made


def save_to_searchable(files: int = 10_000, saves: int = 200) -> Saves:
    """Save one file after the other, each as soon as the one before is found."""
    with tempfile.TemporaryDirectory(prefix="cairn-saves-") as name:
        folder = Path(name).resolve()
        paths = made_repository(folder / "tree", files)
        root = str(folder / "tree")
        environ = {"CAIRN_HOME": str(folder / "home"), "HOME": str(folder)}
        desk = WatchedWorkspace(environ, Allowed(environ, [root]), roots=[root], create=True)
        try:
            assert desk.watching.caught_up(root, 600.0)
            chance = random.Random(3)
            _until_found(desk, root, paths[0], "warm_up")
            cpu = _cpu()
            times = [
                _until_found(desk, root, chance.choice(paths), f"saved_as_number_{number}") for number in range(saves)
            ]
            spent = (_cpu() - cpu) / saves
        finally:
            desk.close()
    times.sort()
    return Saves(statistics.median(times), times[int(0.95 * (saves - 1))], times[-1], spent, saves, files)


def _until_found(desk: WatchedWorkspace, root: str, path: Path, name: str) -> float:
    target = whole(root, desk.pool.environ)
    with path.open("a") as file:
        file.write(f"\n\ndef {name}():\n    return 1\n")
    began = time.perf_counter()
    seen = None
    while time.perf_counter() - began < _MOST_SECONDS:
        # Only looks: what brings the save into the index is the watcher.
        run = desk.runs.last(root)
        if run is not seen:
            seen = run
            with desk.pool.session(target) as session:
                opened = session.opened()
                if opened is not None and any(opened[0].view.symbols_named(name)):
                    return time.perf_counter() - began
        time.sleep(0.002)
    raise TimeoutError(f"{name} was not found in {_MOST_SECONDS:g} s")


def idle(roots: int = 10, seconds: float = 60.0, files: int = 1_000) -> Idle:
    """Watch so many codebases in which nothing happens."""
    with tempfile.TemporaryDirectory(prefix="cairn-idle-") as name:
        folder = Path(name).resolve()
        trees = [folder / f"tree{number}" for number in range(roots)]
        for number, tree in enumerate(trees):
            made_repository(tree, files, seed=number)
        environ = {"CAIRN_HOME": str(folder / "home"), "HOME": str(folder)}
        names = [str(tree) for tree in trees]
        desk = WatchedWorkspace(environ, Allowed(environ, names), roots=names, create=True)
        try:
            for root in names:
                assert desk.watching.caught_up(root, 600.0)
            time.sleep(2.0)
            cpu, began = _cpu(), time.perf_counter()
            time.sleep(seconds)
            return Idle(roots, seconds, (_cpu() - cpu) / (time.perf_counter() - began))
        finally:
            desk.close()


def _cpu() -> float:
    """CPU seconds of this process and of the children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> int:
    """Measure and tell; the status is 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--roots", type=int, default=10)
    parser.add_argument("--idle", type=float, default=60.0)
    options = parser.parse_args()
    found = save_to_searchable(options.files, options.saves)
    print(f"{found.saves} saves in {found.files:,} files: p50 {1000 * found.p50:.0f} ms (aim 120),", end=" ")
    print(f"p95 {1000 * found.p95:.0f} ms (aim 400), worst {1000 * found.worst:.0f} ms;", end=" ")
    print(f"{1000 * found.cpu:.0f} ms of CPU for each. Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    resting = idle(options.roots, options.idle) if options.idle else Idle(0, 0.0, 0.0)
    print(
        f"Idle with {resting.roots} roots for {resting.seconds:.0f} s: {100 * resting.share:.3f} % of a core (aim 0.3)."
    )
    return 0 if found.p50 <= 0.120 and found.p95 <= 0.400 and resting.share <= 0.003 else 1


if __name__ == "__main__":
    sys.exit(main())
