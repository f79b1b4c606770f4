"""How close is the source and syntax layer to its physical limit?

    python -m bench.source [--tree PATH] [--code PATH]

Prints ratios, each measured side by side in one run: the walk against a bare `os.scandir` + `stat` walk of the same
tree, the whole read-hash-parse-extract-chunk pipeline against bare tree-sitter parsing of the same files, and two
workers against one. Without arguments it makes a tree of 60,000 files and uses the running Python's own library as
code. Machines are shared and noisy: CPU time is compared where it means something, and rounds are interleaved.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cairn.core.config import Config, IndexConfig, LimitConfig
from cairn.core.filetypes import language_of
from cairn.core.types import Candidate, Root
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk
from cairn.sync.pool import extract, extract_all
from cairn.syntax.languages import load

ROUNDS = 5
TARGETS = {"walk": 2.0, "pipeline": 2.5, "workers": 1.6}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", help="walk this tree instead of a made one of 60,000 files")
    parser.add_argument("--code", help="parse the files of this tree (default: the Python standard library)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with made_tree() if options.tree is None else given_tree(options.tree) as tree:
        bench_walk(tree, options.rounds)
    # The library itself is the root, whatever repository Python may have been installed into.
    code = find_root(options.code) if options.code else Root(os.path.realpath(sysconfig.get_paths()["stdlib"]), False)
    bench_pipeline(code, options.rounds)
    bench_workers(code, min(3, options.rounds))
    return 0


# --- the walk -----------------------------------------------------------------------------------------------------


def bench_walk(root: Root, rounds: int) -> None:
    config = Config()

    def ours() -> int:
        with Tree(root) as tree:
            result = walk(tree, config)
        return len(result.candidates) + len(result.skips)

    bare_names = bare_walk(root.path)
    print(f"walk: {bare_names:,} names under the tree, {ours():,} of them judged one by one")
    bare_cpu, our_cpu = interleaved(lambda: bare_walk(root.path), ours, rounds)
    report("walk + ignore : bare scandir + stat (CPU)", our_cpu, bare_cpu, TARGETS["walk"])
    if root.is_git:
        started = time.perf_counter()
        subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=root.path, capture_output=True, check=False)
        print(f"  git status -uall beside it: {time.perf_counter() - started:.2f} s wall")


def bare_walk(top: str) -> int:
    """What any walk must pay: list every folder, stat every name. It skips `.git`, as we do."""
    names = 0
    pending = [top]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                names += 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        pending.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
    return names


@contextmanager
def given_tree(path: str) -> Iterator[Root]:
    yield find_root(path)


@contextmanager
def made_tree(files: int = 60_000, per_folder: int = 12) -> Iterator[Root]:
    """A believable tree: nested packages, an ignore file at the top and in some folders, build output, data."""
    rng = random.Random(7)
    suffixes = [".py", ".ts", ".go", ".md", ".json", ".css", ".txt", ".pyc", ".log", ".png"]
    with tempfile.TemporaryDirectory() as top:
        Path(top, ".gitignore").write_text(
            "*.pyc\n__pycache__/\nnode_modules/\n/build/\ndist/\n*.log\n.cache\n/docs/_build\n*.tmp\n!keep.log\n"
            "*.egg-info\n.idea/\n.vscode/*\n!.vscode/settings.json\ncoverage*\n**/generated/*.ts\n"
        )
        folders = [Path(top)]
        for number in range(files):
            if number % per_folder == 0:
                parent = rng.choice(folders[-200:])
                folder = parent / f"part_{number // per_folder}"
                if len(folder.parts) - len(Path(top).parts) > 8:
                    folder = Path(top) / f"part_{number // per_folder}"
                folder.mkdir()
                folders.append(folder)
                if number % (per_folder * 40) == 0:
                    (folder / ".gitignore").write_text("local_*\n*.bak\n/only_here.txt\n")
            (folders[-1] / f"file_{number}{rng.choice(suffixes)}").write_text("x\n")
        subprocess.run(["git", "init", "-q", top], check=True)
        yield find_root(top)


# --- the pipeline -------------------------------------------------------------------------------------------------


def candidates_with_grammar(root: Root) -> list[Candidate]:
    # What has been installed into the default tree differs from machine to machine.
    config = Config(index=IndexConfig(exclude=("site-packages",)))
    with Tree(root) as tree:
        found = walk(tree, config).candidates
    return [c for c in found if load(language_of(c.raw.rpartition(b"/")[2])) is not None]


def bench_pipeline(root: Root, rounds: int) -> None:
    candidates = candidates_with_grammar(root)
    limits = LimitConfig()
    contents: list[tuple[bytes, str]] = []
    for candidate in candidates:
        with suppress(OSError):
            data = Path(root.path, os.fsdecode(candidate.raw)).read_bytes()
            if len(data) <= 2 * 1024 * 1024 and b"\0" not in data[:8192]:
                contents.append((data, language_of(candidate.raw.rpartition(b"/")[2])))

    def bare() -> int:
        for data, language in contents:
            grammar = load(language)
            assert grammar is not None
            grammar.parser.parse(data)
        return len(contents)

    def ours() -> int:
        with Tree(root) as tree:
            for candidate in candidates:
                extract(tree, candidate, limits)
        return len(candidates)

    size = sum(len(data) for data, _ in contents) / 1e6
    print(f"pipeline: {len(contents):,} files with a grammar, {size:.1f} MB")
    bare_cpu, our_cpu = interleaved(bare, ours, rounds)
    report("read + hash + parse + extract + chunk : bare parse (CPU)", our_cpu, bare_cpu, TARGETS["pipeline"])


def bench_workers(root: Root, rounds: int) -> None:
    candidates = candidates_with_grammar(root)
    limits = LimitConfig()

    def alone() -> int:
        with Tree(root) as tree:
            return sum(1 for candidate in candidates if extract(tree, candidate, limits))

    def together() -> int:
        return sum(1 for _ in extract_all(root, candidates, limits, workers=2))

    one, two = interleaved(alone, together, rounds, clock=time.perf_counter)
    print(f"workers: {len(candidates):,} files, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    report("one process : two workers (wall)", one, two, TARGETS["workers"], at_least=True)


# --- measuring ----------------------------------------------------------------------------------------------------


def interleaved(
    first: Callable[[], int], second: Callable[[], int], rounds: int, clock: Callable[[], float] = time.process_time
) -> tuple[list[float], list[float]]:
    """Times of both, taken in turns, so that a noisy neighbour disturbs both alike. One warm-up each."""
    first()
    second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for place, job in enumerate((first, second)):
            started = clock()
            job()
            times[place].append(clock() - started)
    return times


def report(what: str, ours: Sequence[float], bare: Sequence[float], target: float, *, at_least: bool = False) -> None:
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    ratio = statistics.median(ratios)
    good = ratio >= target if at_least else ratio <= target
    bound = "at least" if at_least else "at most"
    print(
        f"  {what}: {ratio:.2f} (rounds {', '.join(f'{r:.2f}' for r in ratios)}; {bound} {target}: "
        f"{'reached' if good else 'NOT reached'}; best {min(ours):.2f} s : {min(bare):.2f} s)"
    )


if __name__ == "__main__":
    sys.exit(main())
