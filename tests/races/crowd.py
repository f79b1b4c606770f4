"""Many processes at one index: `python -m tests.races.crowd FOLDER SECONDS READERS`.

Two of them change a tree and sync it, one merges segments all the time, one collects what is no longer needed, and all
others read. The tree is always in one of a known series of states, and the number of the state stands in one of its
files: so whatever snapshot a reader gets, it can tell what must be in it. They work for SECONDS, and on until each has
done what WANTED says; each leaves what it did and what was wrong in FOLDER/said.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cairn.core.clock import SYSTEM_CLOCK, wall_seconds
from cairn.errors import CairnError, StoreBusy
from cairn.store.disk import Disk
from cairn.store.format.layout import GENERATIONS, generation_number, segment_folder
from cairn.store.format.manifest import Manifest
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.tend import collect as collecting
from cairn.store.tend.collect import collect
from cairn.sync import run
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.report import RunOptions
from cairn.sync.upkeep import compact_store
from tests.support.fake_embedder import FakeEmbedder
from tests.support.waiting import PATIENCE

FILES = 10
# A collector of this crowd keeps so many snapshots, and all that were in use within this time.
RETAINED, KEPT_SECONDS = 3, 1.0
# Views that a reader holds on to, and asks again while all that they were opened from may be gone.
PINNED = 3
# How much of what each of them is to have done, for the whole to prove anything.
WANTED = {
    "writer": ("published", 1),
    "compactor": ("published", 1),
    "collector": ("segments", 1),
    "reader": ("snapshots", 2),
}

Said = Counter[str]


def state(number: int) -> dict[str, bytes]:
    """What the tree holds in this state: each file changes in one of four steps, some come and go."""
    files = {"state.py": f"STATE = {number}\n"}
    for each in range(FILES):
        since = number - (number + each) % 4
        files[f"part{each}.py"] = f"def part_{each}_{since}():\n    return {since}\n" + f"# {since}\n" * each
    files[f"only{number % 3}.py"] = f"def only_{number}(): ...\n"
    return {name: text.encode() for name, text in files.items()}


def number_of(files: dict[str, bytes]) -> int:
    return int(files["state.py"].split()[-1])


def contents(view: SnapshotView) -> dict[str, bytes]:
    """Every file of a view, with its bytes."""
    return {key: bytes(view.text(key) or b"") for key in view.records()}


class Member:
    """One process of the crowd: where it works, and how long at least; it stays until all have done their part."""

    def __init__(self, folder: Path, seconds: float, readers: int = 0, name: str = "") -> None:
        # So many of them leave the others some room.
        self.reading_pause = 0.04 * readers
        self.folder, self.tree, self.home = folder, folder / "tree", folder / "home"
        self.until = time.monotonic() + seconds
        self.name, self.others = name, readers + 4
        self.said: Said = Counter()
        self.wrong: list[str] = []
        self.embedder = FakeEmbedder(8, cheap=True)
        self.codebase = open_codebase(str(self.tree), {"CAIRN_HOME": str(self.home)})
        self.place = place_of(self.codebase, str(self.home), self.embedder.identity)

    def turns(self, longest_pause: float) -> Iterator[None]:
        """One after another until the time is over, and on until everybody has done their part."""
        done, part = self.folder / "done", WANTED[self.name.rstrip("0123456789")]
        while time.monotonic() < self.until or len(os.listdir(done)) < self.others:
            if time.monotonic() > self.until + PATIENCE:
                break
            yield
            if self.said[part[0]] >= part[1]:
                (done / self.name).touch()
            time.sleep(random.random() * longest_pause)

    def disk(self) -> Disk:
        return self.place.make_disk()

    # --- those who write ----------------------------------------------------------------------------------------------

    def sync(self) -> None:
        options = RunOptions(str(self.home), wait_seconds=0.5, embedder=self.embedder, upkeep=False)
        with self._tree_locked(fcntl.LOCK_SH):
            report = run.sync(self.codebase, options, lambda _: None)
        self.said["published"] += report.published

    def step(self) -> None:
        """Bring the tree to its next state; nobody looks at it meanwhile."""
        with self._tree_locked(fcntl.LOCK_EX):
            before = {path.name: path.read_bytes() for path in self.tree.iterdir()}
            after = state(number_of(before) + 1 if before else 0)
            for name, data in after.items():
                if before.get(name) != data:
                    (self.tree / name).write_bytes(data)
            for name in before.keys() - after.keys():
                (self.tree / name).unlink()

    def write(self) -> None:
        for _ in self.turns(0.05):
            self.step()
            with self._busy():
                self.sync()

    def compact(self) -> None:
        with self.disk() as disk:
            for _ in self.turns(0.2):
                with self._busy():
                    done = compact_store(disk, "here", lambda _: None, everything=True, wait_seconds=1.0)
                    self.said["published"] += done.published
                    self.said[done.note or "no note"] += 1

    def collect(self) -> None:
        collecting.RETAIN_SNAPSHOTS_MIN = RETAINED  # type: ignore[attr-defined]
        collecting._kept_seconds = lambda: KEPT_SECONDS
        with self.disk() as disk:
            for _ in self.turns(0.3):
                with self._busy(), open_writer(disk, "here", RunKind.GC, wait_seconds=1.0) as writer:
                    before = snapshots(disk)
                    done = collect(writer, SYSTEM_CLOCK)
                    self.wrong += ledger(disk, before, snapshots(disk), done.snapshots)
                    self.said["collected"] += len(done.snapshots)
                    self.said["segments"] += done.segments
                    self.said[done.note or "no note"] += 1

    @contextmanager
    def _busy(self) -> Iterator[None]:
        try:
            yield
        except StoreBusy:
            self.said["busy"] += 1

    @contextmanager
    def _tree_locked(self, how: int) -> Iterator[None]:
        with (self.folder / "tree.lock").open("w") as file:
            fcntl.flock(file, how)
            yield

    # --- those who read -----------------------------------------------------------------------------------------------

    def read(self) -> None:
        newest = 0
        pinned: deque[tuple[SnapshotView, dict[str, bytes]]] = deque()
        with self.disk() as disk:
            for _ in self.turns(self.reading_pause):
                try:
                    view = open_view(disk, "here")
                except (CairnError, OSError) as error:
                    self.wrong.append(f"{error!r}: {error}")
                    continue
                assert view is not None
                self.said["answers"] += 1
                if view.damage:
                    self.wrong.append(f"passed over: {view.damage}")
                if view.manifest.generation < newest:
                    self.wrong.append(f"sent back from {newest} to {view.manifest.generation}")
                self.said["snapshots"] += view.manifest.generation > newest
                newest = view.manifest.generation
                pinned.append((view, self._judge(view)))
                for older, expected in pinned:
                    if contents(older) != expected:
                        self.wrong.append(f"generation {older.manifest.generation} is not what it was")
                if len(pinned) > PINNED:
                    pinned.popleft()[0].close()
        for view, _ in pinned:
            view.close()

    def _judge(self, view: SnapshotView) -> dict[str, bytes]:
        """What the view holds, which must be one of the states, all of it."""
        found = contents(view)
        number = number_of(found)
        if found != state(number):
            self.wrong.append(f"generation {view.manifest.generation} mixes {found}")
        if [key for key, _ in view.symbols_named(f"only_{number}")] != [f"only{number % 3}.py"]:
            self.wrong.append(f"generation {view.manifest.generation} does not know only_{number}")
        if any(list(view.symbols_named(f"only_{number - each}")) for each in range(1, 4)):
            self.wrong.append(f"generation {view.manifest.generation} knows what is gone")
        return found


# --- the ledger -------------------------------------------------------------------------------------------------------


def snapshots(disk: Disk) -> dict[int, Manifest]:
    """Every snapshot that is there, by its number."""
    numbers = sorted(number for name in disk.list_folder(GENERATIONS) if (number := generation_number(name)))
    found = ((number, read_generation(disk, number)) for number in numbers)
    return {number: manifest for number, manifest in found if manifest is not None}


def ledger(
    disk: Disk, before: dict[int, Manifest], after: dict[int, Manifest], removed: tuple[str, ...]
) -> Iterator[str]:
    """What a collection took away and had to leave; the lease is held all the time."""
    gone = sorted(before.keys() - after.keys())
    if [before[number].snapshot_id for number in gone] != list(removed):
        yield f"it says that {removed} went, and {gone} did"
    if not after.keys() >= set(sorted(before)[-RETAINED:]):
        yield f"of {sorted(before)} only {sorted(after)} were left"
    now = SYSTEM_CLOCK.wall_ns() / 1e9
    for number in gone:
        follower = before[min(each for each in before if each > number)]
        assert follower.completion is not None
        if now - wall_seconds(follower.completion.completed_at) < KEPT_SECONDS:
            yield f"{number} went too early"
    for number, manifest in after.items():
        paths = [segment_folder(ref.name) for ref in manifest.segments] + [ref.path for ref in manifest.tombstones]
        for path in paths:
            try:
                disk.stat(path)
            except FileNotFoundError:
                yield f"{path} is gone, and {number} still needs it"


# --- all of them ------------------------------------------------------------------------------------------------------


def start(name: str, folder: Path, seconds: float, readers: int, act: Callable[[Member], None]) -> int:
    """A process of its own that does this; its pid."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        random.seed(f"{name} {os.getpid()}")
        member = Member(folder, seconds, readers, name)
        try:
            act(member)
        except BaseException:
            member.wrong.append(traceback.format_exc())
        said = json.dumps({"name": name, "wrong": member.wrong, **member.said})
        (folder / "said" / name).write_text(said)
        status = 0
    finally:
        os._exit(status)


def gather(folder: Path, seconds: float, readers: int) -> int:
    """Let all of them work at the same time; how many have failed to say what they did."""
    acts = {"writer0": Member.write, "writer1": Member.write, "compactor": Member.compact, "collector": Member.collect}
    acts |= {f"reader{number}": Member.read for number in range(readers)}
    pids = [start(name, folder, seconds, readers, act) for name, act in acts.items()]
    return sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)


def prepare(folder: Path) -> None:
    """A tree in its first state, and an index of it."""
    for name in ("tree", "said", "done"):
        (folder / name).mkdir()
    member = Member(folder, 0)
    member.step()
    member.sync()


if __name__ == "__main__":
    with suppress(FileExistsError):
        prepare(Path(sys.argv[1]))
    sys.exit(gather(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
