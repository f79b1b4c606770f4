"""Does a store stay small, quick and right in a long life?

    python -m bench.long_life REPOSITORY [--steps N] [--minutes M]

Replays the repository's own history into a folder and syncs after each commit, as users do, with merging and
collecting as they come, on a clock that goes ahead a minute each time. When the history is over, its last commits are
undone and done again between edits made up from a fixed seed. In the end the store is held against a fresh index of
the same tree: sizes, answers in every mode, speed (interleaved). Works in a temporary folder (TMPDIR chooses which).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.replay import Blobs, Life, history
from cairn.core.clock import SystemClock
from cairn.core.types import Root
from cairn.embedding.static import StaticEmbedder
from cairn.search.searcher import Searcher
from cairn.search.types import Mode, SearchRequest
from cairn.store.publish.generations import published, read_claims
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.repair.verify import Finding, check
from cairn.sync.codebase import Codebase, StorePlace, codebase_at, place_of
from cairn.sync.report import RunOptions
from cairn.sync.run import index, sync
from cairn.sync.upkeep import gc

STEPS, QUESTIONS, ROUNDS = 10_000, 60, 7
MINUTE, HOUR = 60.0, 3600.0
TARGETS = {"live segments": 2.0, "whole store": 3.0, "query p50": 1.2}
# To weigh the store costs as much as a sync does, so it is done after each so many.
_WEIGH_EVERY = 25
_TELL_EVERY = 500
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,30}")
_NAME = re.compile(r"(?:\bdef|\bclass|\bfunc|\bstruct|\bstatic \w+)\s+(\w{3,40})")


class FastTime(SystemClock):
    """A clock that is ahead of the machine's by as much as was let pass, and never waits."""

    def __init__(self) -> None:
        self.ahead = MINUTE

    def wall_ns(self) -> int:
        return super().wall_ns() + int(self.ahead * 1e9)

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


class Sizes(NamedTuple):
    """Bytes: the indexed text, the segments that the newest snapshot names, everything in the store."""

    source: int
    segments: int
    store: int

    @property
    def shares(self) -> tuple[float, float]:
        return self.segments / self.source, self.store / self.source


@dataclass(slots=True)
class Diary:
    """What was seen on the way."""

    cpu: list[float] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    weighed: list[Sizes] = field(default_factory=list)
    published: int = 0
    changed_bytes: int = 0
    written_bytes: int = 0
    upkeep: dict[str, int] = field(default_factory=dict)


class Store:
    """The index of a folder in a home of its own, looked after by every sync."""

    def __init__(self, folder: Path, home: Path, model: StaticEmbedder, clock: FastTime) -> None:
        self.folder, self.home, self.model, self.clock = folder, str(home), model, clock
        self._phases: set[str] = set()

    @property
    def codebase(self) -> Codebase:
        # Whatever repository the temporary folder may lie in: the folder is the root.
        return codebase_at(Root(os.path.realpath(self.folder), is_git=False), {"CAIRN_HOME": self.home})

    @property
    def place(self) -> StorePlace:
        return place_of(self.codebase, self.home, self.model.identity)

    @property
    def _options(self) -> RunOptions:
        return RunOptions(self.home, embedder=self.model)

    def index(self) -> None:
        index(self.codebase, self._options, lambda _: None, clock=self.clock)

    def collect(self) -> None:
        note = gc(self.codebase, self._options, lambda _: None, clock=self.clock).note
        assert note is None, note

    def sync(self, diary: Diary) -> None:
        """Sync a minute later, and write down what it took."""
        self.clock.ahead += MINUTE
        self._phases.clear()
        written, cpu = _written(), _cpu()
        report = sync(self.codebase, self._options, lambda told: self._phases.add(told.phase.value), clock=self.clock)
        diary.cpu.append(_cpu() - cpu)
        diary.written_bytes += _written() - written
        diary.published += report.published
        for phase in self._phases:
            diary.upkeep[phase] = diary.upkeep.get(phase, 0) + 1

    def live_segments(self) -> int:
        with self.place.make_disk() as disk:
            newest = next(published(disk, read_claims(disk), []), None)
            return len(newest.segments) if newest else 0

    def weigh(self) -> Sizes:
        with self.view() as view:
            source = sum(record.size for record in view.records().values() if record.skip is None)
            segments = sum(ref.size_bytes for ref in view.manifest.segments)
        found = (path.lstat() for path in Path(self.place.path).rglob("*") if path.is_file())
        return Sizes(source, segments, sum(stat.st_size for stat in found))

    def check(self) -> list[Finding]:
        with self.place.make_disk() as disk:
            return check(disk)

    @contextmanager
    def view(self) -> Iterator[SnapshotView]:
        with self.place.make_disk() as disk:
            view = open_view(disk, self.place.path)
            assert view is not None, "nothing was published"
            with view:
                yield view


# --- what is asked ----------------------------------------------------------------------------------------------------


def questions(view: SnapshotView, count: int, seed: int = 0) -> list[SearchRequest]:
    """So many questions made of the tree's own words, names and paths, each in every mode."""
    chance = random.Random(seed)
    texts = {
        path: str(view.text(path) or b"", "utf-8") for path, record in sorted(view.records().items()) if not record.skip
    }
    words = sorted({word for text in texts.values() for word in _WORD.findall(text)})
    names = sorted({name for text in texts.values() for name in _NAME.findall(text)}) or words
    kinds = (
        lambda: " ".join(chance.choices(words, k=chance.randrange(1, 5))),
        lambda: chance.choice(names),
        lambda: chance.choice(names)[:5],
        lambda: f"how does {chance.choice(names)} use {chance.choice(words)}",
        lambda: os.path.basename(chance.choice(list(texts))),
    )
    asked = [kinds[number % len(kinds)]() for number in range(count)]
    return [
        SearchRequest(re.escape(one.split()[0]) if mode is Mode.REGEX else one, mode) for one in asked for mode in Mode
    ]


def answers(searcher: Searcher, asked: Sequence[SearchRequest]) -> list[bytes]:
    """Every answer as bytes; nothing in them names a snapshot."""
    return [json.dumps(asdict(searcher.search(one)), sort_keys=True).encode() for one in asked]


def query_times(sides: Sequence[Searcher], asked: Sequence[SearchRequest]) -> list[float]:
    """The CPU milliseconds of the median question for each side; they take turns, the best of some rounds counts."""
    best = [[float("inf")] * len(asked) for _ in sides]
    for _ in range(ROUNDS):
        for number, one in enumerate(asked):
            for side, took in zip(sides, best, strict=True):
                began = time.process_time()
                side.search(one)
                took[number] = min(took[number], (time.process_time() - began) * 1000)
    return [statistics.median(took) for took in best]


# --- the life ---------------------------------------------------------------------------------------------------------


def live(store: Store, life: Life, steps: int, seconds: float) -> Diary:
    """Take the steps, each followed by a sync, or as many as there is time for."""
    diary = Diary()
    until = time.monotonic() + seconds
    for number, changed in enumerate(life.steps(steps), 1):
        store.sync(diary)
        diary.changed_bytes += changed
        diary.segments.append(store.live_segments())
        if number % _WEIGH_EVERY == 0:
            diary.weighed.append(store.weigh())
        if number % _TELL_EVERY == 0:
            live, whole = store.weigh().shares
            told = f"{number} syncs, {diary.segments[-1]} segments, {live:.2f}x, whole store {whole:.2f}x"
            print(f"  {told}", file=sys.stderr, flush=True)
        if time.monotonic() > until:
            break
    return diary


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, help="a bare git repository or a checkout")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop living after so many")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-long-life-") as scratch, Blobs(options.repository) as blobs:
        clock, model = FastTime(), StaticEmbedder()
        folder = Path(scratch, "tree")
        folder.mkdir()
        commits = history(options.repository, options.steps)
        store = Store(folder, Path(scratch, "home"), model, clock)
        diary = live(store, Life(folder, commits, blobs), options.steps, options.minutes * 60)
        print(f"{len(diary.cpu)} syncs over {len(commits)} commits, {diary.published} of them published")
        fresh = Store(folder, Path(scratch, "fresh"), model, clock)
        fresh.index()
        reached = [_tell_sizes(store, fresh, diary), _tell_answers(store, fresh), _tell_costs(diary)]
    return 0 if all(reached) else 1


# --- what is told -----------------------------------------------------------------------------------------------------


def _tell_sizes(store: Store, fresh: Store, diary: Diary) -> bool:
    last = store.weigh()
    findings = store.check()
    store.collect()
    after = store.weigh()
    store.clock.ahead += HOUR
    store.collect()
    rested = store.weigh()
    findings += store.check()
    print(f"  source {last.source / 1e6:.2f} MB; a fresh index takes {fresh.weigh().shares[0]:.2f}x of it")
    segments, whole = TARGETS["live segments"], TARGETS["whole store"]
    reached = [
        _ratio("live segments : source", last.shares[0], segments, _over_time(diary, 0, segments)),
        _ratio("whole store : source", last.shares[1], whole, _over_time(diary, 1, whole)),
        _ratio("whole store : source, after gc", after.shares[1], whole),
        _ratio("whole store : source, gc an hour later", rested.shares[1], whole),
    ]
    counts = diary.segments
    print(f"  live segments after a sync: mean {statistics.mean(counts):.1f}, at most {max(counts)}, last {counts[-1]}")
    print(f"  checker: {'clean' if not findings else findings[:5]}")
    return all(reached) and not findings


def _tell_answers(store: Store, fresh: Store) -> bool:
    with store.view() as lived, fresh.view() as new:
        sides = Searcher(lived, store.model), Searcher(new, store.model)
        asked = questions(new, QUESTIONS)
        differing = [
            one
            for one, ours, theirs in zip(asked, *(answers(side, asked) for side in sides), strict=True)
            if ours != theirs
        ]
        print(f"  answers: {len(asked)} in {len(Mode)} modes, {len(differing)} differ from a fresh index")
        for one in differing[:5]:
            print(f"    {one.mode.value}: {one.query}")
        reached = []
        for mode in Mode:
            ours, theirs = query_times(sides, [one for one in asked if one.mode is mode])
            target = TARGETS["query p50"] if mode is Mode.HYBRID else None
            times = f"{ours:.2f} ms : {theirs:.2f} ms"
            reached.append(_ratio(f"query p50, {mode.value}, against a fresh index", ours / theirs, target, times))
    return all(reached) and not differing


def _tell_costs(diary: Diary) -> bool:
    cpu = sorted(diary.cpu)
    p99 = cpu[min(len(cpu) - 1, len(cpu) * 99 // 100)]
    print(f"  CPU of a sync: p50 {statistics.median(cpu) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, sum {sum(cpu):.0f} s")
    merged, collected = (diary.upkeep.get(phase, 0) for phase in ("compacting", "collecting"))
    print(f"  of {len(cpu)} syncs {merged} merged segments and {collected} collected")
    changed, written = diary.changed_bytes, diary.written_bytes
    print(f"  bytes written per byte of the saved files: {written / max(1, changed):.2f} ({written / 1e6:.0f} MB)")
    return True


def _over_time(diary: Diary, which: int, target: float) -> str:
    seen = [weighed.shares[which] for weighed in diary.weighed]
    if not seen:
        return ""
    within = sum(share <= target for share in seen) / len(seen)
    return f"on the way: mean {statistics.mean(seen):.2f}x, at most {max(seen):.2f}x, within the target {within:.0%}"


def _ratio(name: str, ratio: float, target: float | None = None, note: str = "") -> bool:
    reached = target is None or ratio <= target
    verdict = "" if target is None else f", at most {target:.1f}x: {'reached' if reached else 'MISSED'}"
    print(f"  {name}: {ratio:.2f}x{verdict}{f' ({note})' if note else ''}")
    return reached


def _cpu() -> float:
    return sum(
        spent.ru_utime + spent.ru_stime
        for spent in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _written() -> int:
    """What this process has written so far: during a sync that is what goes into the store."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["wchar"])


if __name__ == "__main__":
    sys.exit(main())
