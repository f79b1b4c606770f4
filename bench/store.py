"""What does it cost to publish, to open, to find nothing changed, and to index a large tree?

    python -m bench.store --tree PATH [--only publish,nochange,open,readers,merging,scale] [--home PATH]

PATH is a large tree of fetched code (50,000 files for the full picture). Prints ratios, each measured side by side in
one run: machines are shared and noisy, so a figure alone says little. Memory is the proportional set size (PSS) summed
over the process and its workers. Scratch data goes to a temporary folder, or below --home.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.little_store import CountingDisk, Published, make_stores, one_file_publish
from bench.source import bare_walk
from cairn.source.root import find_root

PARTS = ("publish", "nochange", "open", "readers", "merging", "scale")
SMALL_TREE, LARGE_TREE = 1_000, 50_000
MIB = 1024 * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", required=True, help="a large tree of code")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--home", help="a folder for scratch data (default: a temporary one)")
    parser.add_argument("--files", type=int, default=LARGE_TREE, help="size of the large tree that is indexed")
    parser.add_argument("--chunks", type=int, default=100_000, help="size of the snapshots that are opened")
    options = parser.parse_args()
    wanted = options.only.split(",")
    with tempfile.TemporaryDirectory(dir=options.home) as scratch:
        if "publish" in wanted:
            bench_publish(scratch)
        if "nochange" in wanted:
            bench_nochange(options.tree, scratch)
        if not {"open", "readers", "merging"}.isdisjoint(wanted):
            stores = make_stores(find_root(options.tree), Path(scratch, "made"), options.chunks)
            if "open" in wanted:
                bench_open(stores)
            if "readers" in wanted:
                bench_readers(stores[0], "publishing", lambda stop: _publish_until(stores[0], stop))
            if "merging" in wanted:
                bench_readers(stores[1], "merging", lambda stop: _merge_until(stores[1], stop))
        if "scale" in wanted:
            bench_scale(options.tree, scratch, options.files)
    return 0


# --- one file, from seal to published -----------------------------------------------------------------------------


def bench_publish(scratch: str, rounds: int = 15) -> None:
    ours: list[float] = []
    bare: list[float] = []
    syncs = 0
    with CountingDisk.at(scratch, "data/publish", create=True) as disk:
        one_file_publish(disk, 0)
        for number in range(1, rounds + 1):
            disk.syncs = 0
            took, written = one_file_publish(disk, number)
            ours.append(took)
            syncs = max(syncs, disk.syncs)
            bare.append(_write_synced(Path(scratch, f"bare-{number}"), written))
    print(f"publish: one changed file, {rounds} rounds; {syncs} fsyncs (at most 16, those of the lease included)")
    report("seal to published : the same files written, each synced with its folder (wall)", ours, bare, 4.0)


def _write_synced(folder: Path, files: Sequence[tuple[str, bytes]]) -> float:
    folder.mkdir()
    started = time.perf_counter()
    for name, data in files:
        with open(folder / name, "wb") as out:
            out.write(data)
            os.fsync(out.fileno())
        at = os.open(folder, os.O_RDONLY)
        os.fsync(at)
        os.close(at)
    return time.perf_counter() - started


# --- nothing has changed ------------------------------------------------------------------------------------------


def bench_nochange(tree: str, scratch: str, rounds: int = 7) -> None:
    home = str(Path(scratch, "nochange"))
    run_cairn(home, "index", tree)
    # Files made a moment ago prove nothing: let the racy window pass, and let one sync write the tree down.
    time.sleep(2.5)
    run_cairn(home, "sync", tree)
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        bare.append(_cpu(lambda: bare_walk(tree)))
        ours.append(run_cairn(home, "sync", tree)[1])
    names = bare_walk(tree)
    print(f"nochange: a tree of {names:,} names")
    report("the whole command `cairn sync` : bare scandir + stat walk (CPU)", ours, bare, 2.0)


def _cpu(job: Callable[[], object]) -> float:
    started = time.process_time()
    job()
    return time.process_time() - started


# --- opening ------------------------------------------------------------------------------------------------------

_OPEN = """
import sys, time
from cairn.store.disk import Disk
from cairn.store.read.snapshot import open_view
with Disk.at(sys.argv[1], sys.argv[2]) as disk:
    started = time.perf_counter()
    view = open_view(disk, "bench")
    print(time.perf_counter() - started, view.manifest.counts.chunks_live)
    view.close()
"""


def bench_open(stores: Sequence[Published], rounds: int = 9) -> None:
    for store, target in zip(stores, (50, 80), strict=True):
        times, chunks = [], ""
        for _ in range(rounds):
            command = [sys.executable, "-c", _OPEN, store.home, store.below]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            times.append(float(said[0]) * 1000)
            chunks = said[1]
        reached = "reached" if min(times) <= target else "NOT reached"
        print(
            f"open: {int(chunks):,} chunks in {store.segments} segments, digests remembered, new process: "
            f"best {min(times):.0f} ms, median {statistics.median(times):.0f} ms (at most {target} ms: {reached})"
        )


# --- readers beside a writer --------------------------------------------------------------------------------------

_READ = """
import sys, time
from cairn.store.disk import Disk
from cairn.store.read.snapshot import open_view
until = time.monotonic() + float(sys.argv[3])
with Disk.at(sys.argv[1], sys.argv[2]) as disk, open_view(disk, "bench") as view:
    keys = sorted(view.records())[::997]
    while time.monotonic() < until:
        for key in keys:
            started = time.perf_counter()
            view.chunks(key); bytes(view.text(key)[:4096]); view.symbols(key)
            print(time.perf_counter() - started)
"""


_MERGE = """
import sys
from cairn.store.tend.compact import build, workshop
from cairn.store.disk import Disk
from cairn.store.read.snapshot import open_view
from cairn.store.tend.compact import loads_of, plan
with Disk.at(sys.argv[1], sys.argv[2]) as disk:
    while True:
        with workshop(disk) as folder, open_view(disk, "bench") as view:
            build(disk, view, plan(loads_of(view), everything=True), folder)
        print("merged", flush=True)
"""


def bench_readers(
    store: Published, doing: str, beside: Callable[[threading.Event], None], seconds: float = 8.0
) -> None:
    idle = _read(store, seconds)
    stop = threading.Event()
    other = threading.Thread(target=beside, args=(stop,))
    other.start()
    try:
        busy = _read(store, seconds)
    finally:
        stop.set()
        other.join()
    again = _read(store, seconds)
    still = min(_p99(idle), _p99(again))
    print(f"readers: {len(idle):,} look-ups idle, {len(busy):,} while another process is {doing} without a pause")
    print(
        f"  p99 while {doing} : p99 idle: {_p99(busy) / still:.2f} "
        f"(at most 1.5; {_p99(busy) * 1e6:.0f} µs : {still * 1e6:.0f} µs)"
    )


def _read(store: Published, seconds: float) -> list[float]:
    command = [sys.executable, "-c", _READ, store.home, store.below, str(seconds)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in said.split()]


def _publish_until(store: Published, stop: threading.Event) -> None:
    number = 0
    with CountingDisk.at(store.home, "data/beside", create=True) as disk:
        while not stop.is_set() and number < 60:
            one_file_publish(disk, number)
            number += 1


def _merge_until(store: Published, stop: threading.Event) -> None:
    """All segments are merged again and again, in a process of its own as upkeep is; nothing of it is published."""
    command = [sys.executable, "-c", _MERGE, store.home, store.below]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as merging:
        stop.wait()
        merging.kill()


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


# --- a large tree -------------------------------------------------------------------------------------------------


def bench_scale(tree: str, scratch: str, most: int) -> None:
    costs = []
    for files in (SMALL_TREE, most):
        with subset(tree, files, scratch) as (folder, count, size):
            home = str(Path(scratch, f"scale-{files}"))
            began = time.perf_counter()
            peak, cpu, said = run_cairn(home, "index", folder)
            costs.append((cpu / count, cpu / size))
            print(
                f"scale: {count:,} files, {size / MIB:.0f} MiB: {time.perf_counter() - began:.0f} s, {cpu:.0f} s CPU, "
                f"peak PSS {peak / MIB:.0f} MiB"
            )
            print(f"  {said.strip()}")
            shutil.rmtree(home)
    (file_small, byte_small), (file_large, byte_large) = costs
    print(f"  CPU per file, large : small: {file_large / file_small:.2f} (at most 1.15)")
    print(f"  CPU per byte, large : small: {byte_large / byte_small:.2f}")
    print(f"  peak PSS of the large index: {peak / MIB:.0f} MiB (at most 700)")


@contextmanager
def subset(tree: str, files: int, scratch: str) -> Iterator[tuple[str, int, int]]:
    """A tree of about this many files, evenly taken from a larger one, so that both have the same mix."""
    found = [
        os.path.join(above, name)
        for above, folders, names in os.walk(tree)
        for name in names
        if folders is not None and "/.git/" not in above + "/"
    ]
    found.sort()
    chosen = [found[i * len(found) // files] for i in range(min(files, len(found)))]
    target = Path(scratch, f"tree-{files}")
    size = 0
    for path in dict.fromkeys(chosen):
        copy = target / os.path.relpath(path, tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy, follow_symlinks=False)
        size += copy.lstat().st_size
    try:
        yield str(target), len(chosen), size
    finally:
        shutil.rmtree(target)


# --- measuring ----------------------------------------------------------------------------------------------------


def run_cairn(home: str, command: str, tree: str) -> tuple[int, float, str]:
    """Peak PSS of the process and its workers, CPU seconds of all of them, and what it said."""
    environment = {**os.environ, "CAIRN_HOME": home}
    arguments = [sys.executable, "-m", "cairn", command, "--root", tree]
    before = os.times()
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        peak, watching = [0], threading.Event()
        watcher = threading.Thread(target=_watch, args=(child.pid, peak, watching))
        watcher.start()
        said = child.communicate()[0].decode()
        watching.set()
        watcher.join()
    after = os.times()
    if child.returncode:
        raise SystemExit(f"cairn {command} failed with {child.returncode}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return peak[0], cpu, said


def _watch(pid: int, peak: list[int], stop: threading.Event) -> None:
    # A tree of pages takes milliseconds to sum: seldom enough not to disturb what is measured.
    while not stop.wait(0.5):
        peak[0] = max(peak[0], _pss(pid))


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(_pss(int(child)) for child in children)


def report(what: str, ours: Sequence[float], bare: Sequence[float], target: float) -> None:
    ratio = statistics.median(ours) / statistics.median(bare)
    print(
        f"  {what}: {ratio:.2f} (at most {target}: {'reached' if ratio <= target else 'NOT reached'}; "
        f"median {statistics.median(ours) * 1000:.1f} ms : {statistics.median(bare) * 1000:.1f} ms)"
    )


if __name__ == "__main__":
    sys.exit(main())
