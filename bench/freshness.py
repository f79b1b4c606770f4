"""What does it cost to know, before a question, that the index is as the files are?

    python -m bench.freshness [--files 1000,10000,60000] [--rounds 40] [--out docs/benchmarks]
    python -m bench.freshness --files "" [--out docs/benchmarks]

For made trees of so many files: what precedes a read of an agent's tool, p50 and p95, watched and not, beside a bare
walk of the same tree that lists every folder and asks for the stat of every name. All take turns in one run. CPU of the
thread that asks and of the programs that it starts, because machines are shared; a watched root is also held against a
look at the store alone, which is what a question costs without any promise. Writes freshness.md, with the lives that
`bench.oracle --record` has noted.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.search import machine
from bench.source import bare_walk, made_tree
from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.core.types import Root
from cairn.sync.codebase import open_codebase
from cairn.sync.report import RunOptions
from cairn.sync.run import index
from cairn.watch.watcher import WatchedWorkspace

SIZES, ROUNDS = (1_000, 10_000, 60_000), 40
MOST_ADDED_MS = 1.0
_PATIENCE = 600.0


class Costs(NamedTuple):
    """CPU milliseconds before a question in a tree of so many files: p50 and p95 of each way."""

    files: int
    rounds: int
    bare: tuple[float, float]
    unwatched: tuple[float, float]
    one_changed: tuple[float, float]
    store_alone: tuple[float, float]
    watched: tuple[float, float]

    @property
    def added(self) -> float:
        """What a watched root adds to a look at the store, in the median."""
        return self.watched[0] - self.store_alone[0]


def measure(files: int, rounds: int) -> Costs:
    """Make a tree of so many files, index it, and ask in turns."""
    with made_tree(files) as root, tempfile.TemporaryDirectory(prefix="bench-freshness-") as home:
        environ = {**os.environ, "CAIRN_HOME": home}
        index(open_codebase(root.path, environ), RunOptions(home), lambda _: None)
        return _measured(root, environ, files, rounds)


def _measured(root: Root, environ: dict[str, str], files: int, rounds: int) -> Costs:
    plain = Workspace(environ, Allowed(environ, [root.path]))
    watched = WatchedWorkspace(environ, Allowed(environ, [root.path]), roots=[root.path])
    try:
        assert watched.watching.caught_up(root.path, _PATIENCE)
        assert watched.watching.state()[root.path]["mode"] == "watching", watched.watching.state()
        # A first sync remembers the tree, two seconds after the last change to it.
        time.sleep(2.5)
        watched.freshener.ensure(open_codebase(root.path, environ), seconds=_PATIENCE)

        def stored() -> str:
            with watched.pool.session(watched.pool.allowed.resolve(root.path)) as session:
                return session.gate.facts.state.value

        ways: list[Callable[[], object]] = [
            lambda: bare_walk(root.path),
            lambda: _asked(plain, root),
            stored,
            lambda: _asked(watched, root),
        ]
        assert _asked(watched, root) == "skipped_recent"
        assert _asked(plain, root) == "synced"
        bare, unwatched, store_alone, heard = _in_turns(ways, rounds)
    finally:
        watched.close()
    try:
        # Nobody publishes it: it is laid over the snapshot.
        Path(root.path, "added.py").write_text("def added():\n    return 1\n")
        assert _asked(plain, root) == "overlay"
        (changed,) = _in_turns([lambda: _asked(plain, root)], rounds)
    finally:
        plain.close()
    return Costs(files, rounds, bare, unwatched, changed, store_alone, heard)


def _asked(workspace: Workspace, root: Root) -> str:
    """Do what precedes a read; how the files then stand."""
    with workspace.pool.current(workspace.pool.allowed.resolve(root.path), _PATIENCE) as session:
        opened = session.opened()
    assert opened is not None
    return opened[1].freshness.mode


def _in_turns(ways: Sequence[Callable[[], object]], rounds: int) -> list[tuple[float, float]]:
    """The p50 and p95 of each way, in CPU milliseconds of this thread."""
    found: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, times in zip(ways, found, strict=True):
            # What the others have pushed out of the caches of the processor is nobody's cost.
            way()
            began = _cpu()
            way()
            times.append((_cpu() - began) * 1_000)
    return [(statistics.median(times), sorted(times)[min(rounds - 1, rounds * 95 // 100)]) for times in found]


def _cpu() -> float:
    """CPU seconds of this thread, and of the programs that were started and have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + ended.ru_utime + ended.ru_stime


_ANSWERS = """# Freshness: is every answer right, and what does that cost?

## Answers held against the files

Made by `python -m bench.oracle`: random edits, git operations, rules and links in a small tree, questions of all tools
right after each step through the real `cairn mcp` and now and then as commands, each answer held against the files, and
the index against one that was made anew. A fault is an answer that is wrong and says that it has looked at everything
("wrong exhaustive"), one that is wrong without a word ("unsaid staleness"), an error, or a difference of the index."""
_COSTS = """
## What precedes a read

Made by `python -m bench.freshness`. CPU milliseconds of the thread that asks and of the git that it starts, p50 / p95;
the ways took turns in one run, on a machine that was busy with other work: the ratios tell more than the figures.

| files | bare walk | not watched | : walk | one file changed | : walk | store alone | watched | adds | |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"""

# --- the page ---------------------------------------------------------------------------------------------------------


def load(out: Path) -> dict[str, Any]:
    """What was measured before."""
    known = out / "freshness.json"
    return json.loads(known.read_text()) if known.exists() else {"costs": [], "lives": []}


def keep(out: Path, kept: dict[str, Any]) -> None:
    """Write what was measured, and the page that tells it."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "freshness.json").write_text(json.dumps(kept, indent=1) + "\n")
    (out / "freshness.md").write_text(page(kept))


def when() -> dict[str, str]:
    """The day, the machine and the commit of a measurement."""
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    dirty = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False)
    named = commit.stdout.strip() + (" with changes" if dirty.stdout.strip() else "")
    return {"date": datetime.date.today().isoformat(), "machine": machine(), "commit": named}


def page(kept: dict[str, Any]) -> str:
    """The page."""
    lines = _ANSWERS.split("\n")
    for life in kept["lives"]:
        lines += ["", f"`{life['command']}`, commit {life['commit']}, {life['date']}, {life['machine']}:", ""]
        lines += ["```text", *life["told"].split("\n"), "```"]
    lines += _COSTS.split("\n")
    for of in kept["costs"]:
        lines.append(f"| {' | '.join(_cells(Costs(*of['costs'])))} |")
    for of in kept["costs"]:
        lines += ["", f"{of['costs'][0]:,} files: {of['date']}, commit {of['commit']}, {of['machine']}."]
    return "\n".join(lines) + "\n"


def _cells(costs: Costs) -> Sequence[str]:
    def pair(figures: Sequence[float]) -> str:
        return f"{figures[0]:.1f} / {figures[1]:.1f}"

    reached = "yes" if costs.added <= MOST_ADDED_MS else "**no**"
    return (
        f"{costs.files:,}",
        pair(costs.bare),
        pair(costs.unwatched),
        f"{costs.unwatched[0] / costs.bare[0]:.2f}x",
        pair(costs.one_changed),
        f"{costs.one_changed[0] / costs.bare[0]:.2f}x",
        pair(costs.store_alone),
        pair(costs.watched),
        f"{costs.added:.2f} ms",
        f"<= {MOST_ADDED_MS:g} ms: {reached}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", default=",".join(map(str, SIZES)), help="sizes of the trees; empty: only write")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    options = parser.parse_args(arguments)
    for files in map(int, filter(None, options.files.split(","))):
        costs = measure(files, options.rounds)
        print(" | ".join(_cells(costs)), flush=True)
        kept = load(options.out)
        others = [one for one in kept["costs"] if one["costs"][0] != files]
        kept["costs"] = sorted([*others, {**when(), "costs": costs}], key=lambda one: one["costs"][0])
        keep(options.out, kept)
    keep(options.out, load(options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
