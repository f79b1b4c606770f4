"""Does everybody get an answer while many ask and files are saved, and does everything come back to rest?

    python -m bench.load [--servers 10] [--threads 200] [--minutes 10] [--every 0.5] [--warm 30] [--quiet 60] [--alone]
                         [--record docs/benchmarks]

So many `cairn mcp` serve one codebase, through the daemon (`--alone`: each by itself). Threads, spread over the
servers, ask one question after the other over the pipes of their server; every so many seconds a file is saved. Before
that, when they are warm, and after it the memory and the handles of all servers and of the daemon are counted, each
time after a time of quiet.

What must hold: no question without an answer and no answer that is an error, memory and handles within 5 % of those
before, and of a hundred questions 99 answered within ten times the median. The exit status is 1 when it does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bench.held import record

FILES = 200
WORDS = ["lease", "fence", "ledger", "commit", "batch", "cursor", "channel", "event"]
MOST_GROWTH, MOST_SPREAD = 0.05, 10.0
_PATIENCE = 120.0
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench.load", "version": "1"},
}


class Held(NamedTuple):
    """What processes hold: their own memory in KiB, and open descriptors."""

    memory: int
    handles: int


_NONE = Held(0, 0)


@dataclass(slots=True)
class Outcome:
    """What came of it. `waits` are the seconds of each answer by the kind of its question."""

    waits: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    saves: int = 0
    before: Held = _NONE
    peak: Held = _NONE
    after: Held = _NONE

    @property
    def _all(self) -> list[float]:
        return sorted(wait for some in self.waits.values() for wait in some)

    @property
    def faults(self) -> list[str]:
        """What does not hold."""
        found = [f"{count} errors: {what}" for what, count in self.errors.items()]
        for name, before, after in zip(Held._fields, self.before, self.after, strict=True):
            if abs(after - before) > MOST_GROWTH * before:
                found.append(f"{name} {after / before - 1:+.1%} after quiet")
        waits = self._all
        if waits and _part(waits, 0.99) > MOST_SPREAD * _part(waits, 0.5):
            found.append(f"p99 is {_part(waits, 0.99) / _part(waits, 0.5):.1f} times p50")
        return found

    def told(self) -> str:
        """All of it, in a few lines."""
        waits = self._all
        lines = [f"{len(waits):,} questions answered, {self.errors.total():,} errors, {self.saves:,} saves"]
        for kind, some in [("all", waits), *sorted(self.waits.items())]:
            p50, p99 = (1_000 * _part(sorted(some), part) for part in (0.5, 0.99))
            lines.append(f"  {kind}: {len(some):,}, p50 {p50:,.0f} ms, p99 {p99:,.0f} ms, {p99 / p50:.1f}x")
        for name, held in (("before", self.before), ("at most", self.peak), ("after quiet", self.after)):
            lines.append(f"  {name}: {held.memory / 1024:,.1f} MiB, {held.handles} handles")
        return "\n".join([*lines, *(f"  not held: {fault}" for fault in self.faults or ["nothing"])])


def _part(waits: Sequence[float], part: float) -> float:
    return waits[min(len(waits) - 1, int(part * len(waits)))]


class Server:
    """One `cairn mcp`; many threads may ask it at once."""

    def __init__(self, tree: Path, environ: dict[str, str], *, alone: bool) -> None:
        command = [sys.executable, "-m", "cairn", "mcp", "--root", str(tree), *(["--offline"] if alone else [])]
        self.process = subprocess.Popen(
            command, cwd=tree, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._writing, self._waiting = threading.Lock(), dict[int, tuple[threading.Event, list[Any]]]()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ask("initialize", _HELLO)
        with self._writing:
            self._write({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The response; an error of ours when none comes in time."""
        came, said = threading.Event(), list[Any]()
        with self._writing:
            self._number += 1
            number = self._number
            self._waiting[number] = came, said
            self._write({"id": number, "method": method, "params": params})
        if not came.wait(_PATIENCE):
            return {"error": {"message": "no answer"}}
        found: dict[str, Any] = said[0]
        return found

    def end(self) -> None:
        """Close its input, as clients do, and wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(_PATIENCE)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if (waiting := self._waiting.pop(said.get("id"), None)) is not None:
                waiting[1].append(said)
                waiting[0].set()


def save(tree: Path, chance: random.Random, number: int) -> None:
    """Write one file anew."""
    one, two = chance.sample(WORDS, 2)
    text = f"class {one.title()}{number}:\n    def {two}(self):\n        return {one}_{chance.randrange(10**6)}(1)\n"
    folder = tree / f"part{number % 8}"
    folder.mkdir(exist_ok=True)
    (folder / f"m{number}.py").write_text(f'"""The {one}."""\n\n\n{text}\n\ndef {two}_{number}():\n    return 1\n')


def questions(tree: Path, chance: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """One of each kind."""
    word, number = chance.choice(WORDS), chance.randrange(FILES)
    file = f"part{number % 8}/m{number}.py"
    return [
        ("search_codebase", {"path": str(tree), "query": f"{word} of a {chance.choice(WORDS)}"}),
        ("search_codebase", {"path": str(tree), "query": f"{word}_[0-9]+", "mode": "regex", "limit": 5}),
        ("file_outline", {"file": file}),
        ("read_file", {"file": file, "startLine": 1, "endLine": 5}),
        ("find_symbol", {"name": word}),
        ("call_graph", {"symbol": f"{word}_{number}"}),
        ("repo_map", {"maxTokens": 500}),
        ("index_status", {"path": str(tree)}),
    ]


def _ask(server: Server, asked: tuple[str, dict[str, Any]], outcome: Outcome, noting: threading.Lock) -> None:
    name, arguments = asked
    began = time.monotonic()
    said = server.ask("tools/call", {"name": name, "arguments": arguments})
    wait = time.monotonic() - began
    wrong = ""
    if "error" in said:
        wrong = said["error"]["message"]
    else:
        envelope = json.loads(said["result"]["content"][0]["text"])
        if envelope["status"] == "error":
            wrong = envelope["error"]["code"]
        elif envelope["status"] in ("not_ready", "not_indexed", "requires_reindex"):
            wrong = envelope["status"]
    with noting:
        if wrong:
            outcome.errors[f"{name}: {wrong}"] += 1
        outcome.waits.setdefault(name, []).append(wait)


def held(processes: Sequence[int]) -> Held:
    """What these hold together."""
    memory = handles = 0
    for pid in processes:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        memory += next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
        handles += len(os.listdir(f"/proc/{pid}/fd"))
    return Held(memory, handles)


@contextmanager
def _serving(folder: Path, servers: int, *, alone: bool) -> Iterator[tuple[Path, list[Server], list[int]]]:
    """The tree, its servers, and the processes to look at."""
    tree = folder / "tree"
    tree.mkdir()
    chance = random.Random(1)
    for number in range(FILES):
        save(tree, chance, number)
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environ = {**kept, "LC_ALL": "C.UTF-8", "CAIRN_HOME": str(folder / "home"), "HOME": str(folder)}

    def cairn(*arguments: str) -> str:
        command = [sys.executable, "-m", "cairn", *arguments]
        return subprocess.run(command, cwd=tree, env=environ, check=True, capture_output=True, text=True).stdout

    cairn("index", "--offline")
    with ExitStack() as stack:
        pids = []
        if not alone:
            cairn("daemon", "start")
            stack.callback(cairn, "daemon", "stop")
            pids.append(int(json.loads(cairn("daemon", "status", "--json"))["daemon"]["pid"]))
        started = [Server(tree, environ, alone=alone) for _ in range(servers)]
        for server in started:
            stack.callback(server.end)
        yield tree, started, [*pids, *(server.process.pid for server in started)]


def run(
    folder: Path,
    servers: int,
    threads: int,
    seconds: float,
    *,
    every: float = 0.5,
    warm: float = 30.0,
    quiet: float = 60.0,
    alone: bool = False,
) -> Outcome:
    """Load them until they are warm, and then for so many seconds."""
    outcome, noting, end = Outcome(), threading.Lock(), threading.Event()
    with _serving(folder, servers, alone=alone) as (tree, started, pids):

        def client(seed: int, into: Outcome) -> None:
            chance = random.Random(seed)
            while not end.is_set():
                _ask(started[seed % servers], chance.choice(questions(tree, chance)), into, noting)

        def editor(into: Outcome) -> None:
            chance = random.Random(0)
            while not end.wait(every):
                save(tree, chance, chance.randrange(FILES))
                into.saves += 1

        def load(into: Outcome, seconds: float) -> None:
            end.clear()
            crowd = [threading.Thread(target=client, args=(seed, into)) for seed in range(threads)]
            crowd.append(threading.Thread(target=editor, args=(into,)))
            for one in crowd:
                one.start()
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(min(5.0, seconds))
                into.peak = Held(*map(max, into.peak, held(pids)))
            end.set()
            for one in crowd:
                one.join()
            time.sleep(quiet)

        # What is kept for good has been made once by everybody.
        load(Outcome(), warm)
        outcome.before = held(pids)
        load(outcome, seconds)
        outcome.after = held(pids)
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=10)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two saves")
    parser.add_argument("--warm", type=float, default=30.0, help="seconds of the same load before anything is counted")
    parser.add_argument("--quiet", type=float, default=60.0, help="seconds of quiet before memory is looked at")
    parser.add_argument("--alone", action="store_true", help="without a daemon")
    parser.add_argument("--record", type=Path, help="note the result in this folder (docs/benchmarks)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        outcome = run(
            Path(folder).resolve(),
            options.servers,
            options.threads,
            options.minutes * 60,
            every=options.every,
            warm=options.warm,
            quiet=options.quiet,
            alone=options.alone,
        )
    print(outcome.told())
    if options.record is not None:
        typed = " ".join(sys.argv[1:] if arguments is None else arguments)
        command = f"python -m bench.load {typed}".replace(f"--record {options.record}", "").strip()
        record(options.record, command, outcome.told())
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
