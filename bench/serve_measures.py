"""The measures of `bench.serve`: a daemon of its own in a folder of its own, asked, watched and left alone."""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bench.saves import save_to_searchable
from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.cli.commands import run_command
from cairn.daemon.client import Connection, connect
from cairn.tools.table import call
from cairn.watch.watcher import Watching

SCRIPT = Path(__file__).resolve().parent.parent / "src" / "scripts" / "cairn"
WORDS = "account balance batch buffer cache channel client commit config cursor event fence index lease ledger message"
QUESTIONS = ("how is a lease renewed", "commit the batch", "cache of events", "where is the ledger balanced", "fence")
ROUNDS = 40
ROOTS = 10
MIB = 1024 * 1024


class Row(NamedTuple):
    """What was measured, with what stands beside it; `most` is the most that the ratio, or the figure, may be."""

    what: str
    measured: float
    unit: str
    beside: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def is_reached(self) -> bool:
        if self.most is None:
            return True
        return (self.measured if self.beside is None else self.measured / self.beside) <= self.most


@dataclass(frozen=True)
class Place:
    """Where it is measured. Trees are made and indexed when they are first needed."""

    scratch: Path
    given: Path | None
    files: int
    saves: int
    seconds: float

    @property
    def environ(self) -> dict[str, str]:
        """The environment of all processes: no settings but these."""
        kept = {name: os.environ[name] for name in ("PATH", "LC_ALL", "LANG") if name in os.environ}
        own = {"CAIRN_HOME": str(self.scratch / "home"), "HOME": str(self.scratch / "me")}
        cached = {"PYTHONPYCACHEPREFIX": str(self.scratch / "bytecode")}
        return kept | own | cached | {"PYTHONPATH": str(SCRIPT.parent.parent)}

    @cached_property
    def tree(self) -> Path:
        tree = self.given or self.made("tree", self.files)
        self.cairn("index", "-q", cwd=tree)
        return tree

    @cached_property
    def roots(self) -> list[Path]:
        """Ten codebases of middling size."""
        found = [self.made(f"root{number}", max(10, self.files // 10)) for number in range(ROOTS)]
        for root in found:
            self.cairn("index", "-q", cwd=root)
        return found

    def made(self, name: str, files: int) -> Path:
        """A tree of so many small modules, forty to a folder."""
        tree = self.scratch / name
        chance = random.Random(name)
        words = WORDS.split()
        for number in range(files):
            folder = tree / f"part{number // 40:04}"
            if number % 40 == 0:
                folder.mkdir(parents=True)
            (folder / f"{chance.choice(words)}_{number}.py").write_text(module(number, chance, words))
        subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
        return tree

    def cairn(self, *arguments: str, cwd: Path) -> None:
        command = [sys.executable, str(SCRIPT), *arguments]
        subprocess.run(command, cwd=cwd, env=self.environ, check=True, capture_output=True)


def module(number: int, chance: random.Random, words: Sequence[str]) -> str:
    """A module of a made tree: a class and two functions with likely names."""
    one, two, three = chance.sample(words, 3)
    return (
        f'"""The {one} of a {two}."""\n\n\nclass {one.title()}{number}:\n    """Keeps the {three}."""\n\n'
        f"    def {two}(self, {three}):\n        return self.{one} + {three}\n\n\n"
        f"def {one}_{two}_{number}({three}):\n    return {three} * {number}\n"
    )


@contextmanager
def daemon(place: Place) -> Iterator[Connection]:
    """A connection to a daemon that runs for as long as this does; `.pid` is its process."""
    command = [sys.executable, str(SCRIPT), "daemon", "run"]
    process = subprocess.Popen(command, env=place.environ, cwd="/", stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while (found := connect(place.environ["CAIRN_HOME"], place.environ, "cli")) is None:
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.05)
        yield found
        found.close()
    finally:
        process.terminate()
        process.wait(30)


def said(connection: Connection, root: Path, *arguments: str) -> int:
    """Have the daemon run a command; how long its answer is."""
    size = 0

    def heard(message: Mapping[str, Any]) -> None:
        nonlocal size
        size += len(message.get("out", ""))

    reply = connection.request("command", typed(root, *arguments), progress=heard)
    if reply.get("exit") != 0:
        raise RuntimeError(f"the daemon says {reply}")
    return size


def typed(root: Path, *arguments: str) -> dict[str, Any]:
    """A command as the thin client sends it."""
    return {"argv": list(arguments), "cwd": str(root), "environ": {}, "terminal": {}}


# --- the parts --------------------------------------------------------------------------------------------------------


def command(place: Place) -> Iterator[Row]:
    """CPU of the whole client process, beside that of Python itself."""
    python = os.path.realpath(sys.executable)
    ask = [sys.executable, str(SCRIPT), "search", QUESTIONS[0]]
    tree = place.tree
    with daemon(place):
        ways = {
            "bare": lambda: cpu([python, "-I", "-S", "-c", "pass"], place, tree),
            "thin": lambda: cpu(ask, place, tree),
            "json": lambda: cpu([*ask, "--json"], place, tree),
            "module": lambda: cpu([sys.executable, "-m", "cairn", *ask[2:]], place, tree),
            "offline": lambda: cpu([*ask, "--offline", "--no-sync"], place, tree),
        }
        took = in_turn(ways, ROUNDS)
    bare, note = took["bare"], f"{place.files:,} files"
    yield Row("`cairn search`, text", took["thin"], "ms CPU", bare, 3.0, note)
    yield Row("`cairn search --json`", took["json"], "ms CPU", bare, 3.0, note)
    yield Row("`python -m cairn search`", took["module"], "ms CPU", bare, None, "`runpy` comes on top")
    yield Row("`cairn search --offline --no-sync`", took["offline"], "ms CPU", bare, None, "everything in one process")


def trip(place: Place) -> Iterator[Row]:
    """Wall time of one question through the socket, and of the same call in this process, both of them watched."""
    tree = place.tree
    arguments = {"query": QUESTIONS[0], "path": str(tree)}
    body = {"name": "search_codebase", "arguments": arguments, "served": [str(tree)], "structured": False}
    desk = Workspace(place.environ, Allowed(place.environ, [str(tree)]))
    watching = Watching(desk)
    desk.pool.used = watching.add
    line = typed(tree, "search", QUESTIONS[0])
    try:
        with daemon(place) as connection:
            ways = {
                "tool": lambda: wall(lambda: connection.request("tool", body)),
                "tool here": lambda: wall(lambda: call(desk, "search_codebase", arguments).to_json()),
                "command": lambda: wall(lambda: connection.request("command", line)),
                "command here": lambda: wall(lambda: run_command(desk, line, lambda *_: None)),
            }
            in_turn(ways, 5)
            took = in_turn(ways, 10 * ROUNDS)
    finally:
        watching.close()
        desk.close()
    note = f"{place.files:,} files; watched, as a daemon does"
    yield Row("a tool's search", took["tool"], "ms", took["tool here"], 1.5, note)
    yield Row("a command's search, printed", took["command"], "ms", took["command here"], 1.5, note)


def saves(place: Place) -> Iterator[Row]:
    """How long after a save an answer shows it."""
    found = save_to_searchable(place.files, place.saves)
    note = f"{found.saves} saves one after the other, {found.files:,} files, compactions included"
    yield Row("p50", 1000 * found.p50, "ms", None, 120.0, note)
    yield Row("p95", 1000 * found.p95, "ms", None, 400.0, note)
    yield Row("worst", 1000 * found.worst, "ms", None, None, note)
    yield Row("CPU of one save", 1000 * found.cpu, "ms CPU", None, None, note)
    load, cores = os.getloadavg()[0], os.cpu_count()
    yield Row("load of the machine then", load, "processes", None, None, f"on {cores} cores; waiting for a core counts")


def idle(place: Place) -> Iterator[Row]:
    """CPU of a daemon that watches ten codebases, while nothing happens."""
    roots = place.roots
    with daemon(place) as connection:
        for root in roots:
            said(connection, root, "search", QUESTIONS[0])
        # What the first look at a codebase leaves to be done is done by then.
        time.sleep(5)
        watched = sum(row["watch"] is not None for row in status(connection)["roots"])
        before, began = spent(connection), time.monotonic()
        time.sleep(place.seconds)
        share = (spent(connection) - before) / (time.monotonic() - began)
        note = f"{watched} of {len(roots)} roots watched, {place.files // 10:,} files each, {place.seconds:.0f} s"
        yield Row("CPU", 100 * share, "%", None, 0.3, note)
        yield Row("RssAnon", rss_anon(connection) / MIB, "MiB", None, None, note)


def memory(place: Place) -> Iterator[Row]:
    """What a daemon holds when it has answered."""
    tree = place.tree
    with daemon(place) as connection:
        yield Row("started", rss_anon(connection) / MIB, "MiB")
        for asked, answers in ((0, 100), (100, 1_000)):
            for number in range(asked, answers):
                said(connection, tree, "search", QUESTIONS[number % len(QUESTIONS)], "-k", str(1 + number % 20))
            yield Row(
                f"after {answers:,} searches", rss_anon(connection) / MIB, "MiB", None, None, f"{place.files:,} files"
            )
        for number in range(20):
            said(connection, tree, "map", "--max-tokens", str(500 + 100 * number))
            said(connection, tree, "symbol", WORDS.split()[number % 16])
        yield Row("after 20 maps and symbols more", rss_anon(connection) / MIB, "MiB", None, 1024.0, "the ceiling")


# --- how it is measured -----------------------------------------------------------------------------------------------


def in_turn(ways: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each, in milliseconds; they take turns, so that a busy moment meets all of them."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(way())
    return {name: 1000 * statistics.median(times) for name, times in took.items()}


def cpu(argv: Sequence[str], place: Place, cwd: Path) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=place.environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def status(connection: Connection) -> dict[str, Any]:
    """What the daemon says of itself."""
    found: dict[str, Any] = connection.request("status", {})["status"]
    return found


def spent(connection: Connection) -> float:
    """CPU seconds of the daemon so far."""
    fields = Path(f"/proc/{connection.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_anon(connection: Connection) -> int:
    """Bytes of memory that are the daemon's own."""
    lines = Path(f"/proc/{connection.pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
