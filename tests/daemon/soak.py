"""A long life of one daemon: clients come, ask and are killed while files change, and its memory is looked at.

    python -m tests.daemon.soak --requests 20000 --edits 2000 --restarts 50

runs all of it, prints what came of it, and ends with 1 when the memory was not flat; the test runs as much of it as its
time allows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cairn.core.config import cairn_home
from cairn.daemon.client import Connection, connect
from tests.support.servers import connected, process

FILES = 80
CLIENTS = 2
# The part of the rounds after which everything that is kept has been made once.
WARM = 0.3
# The most that its memory may be at the end, beside what it was when it was warm.
FLAT = 1.05
WORDS = ["lease", "fence", "ledger", "commit", "batch", "cursor", "channel", "event"]


class Plan(NamedTuple):
    """How much is done; with `seconds` the rounds end after that time, but not before there are `least` of them."""

    requests: int = 20_000
    edits: int = 2_000
    restarts: int = 50
    seconds: float | None = None
    least: int = 8


class Outcome(NamedTuple):
    """What came of it. `memory` is RssAnon after each round, in KiB; `answers` counts them by what they were."""

    requests: int
    edits: int
    restarts: int
    answers: dict[str, int]
    memory: list[int]
    handles: list[int]
    last_edit_found: bool
    same_daemon: bool

    @property
    def growth(self) -> float:
        """The memory of the last third of the rounds, beside that of the first third after the daemon was warm."""
        warm = self.memory[int(WARM * len(self.memory)) :]
        third = max(1, len(warm) // 3)
        return statistics.median(warm[-third:]) / statistics.median(warm[:third])


def soak(folder: Path, plan: Plan) -> Outcome:
    """Live it."""
    environ = {"CAIRN_HOME": str(folder / "home"), "HOME": str(folder / "me")}
    tree = folder / "tree"
    made = _Tree(tree)
    full = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **environ}
    subprocess.run([sys.executable, "-m", "cairn", "index", "-q"], cwd=tree, env=full, check=True, capture_output=True)
    answers: Counter[str] = Counter()
    memory: list[int] = []
    handles: list[int] = []
    with process(environ) as daemon:
        until = None if plan.seconds is None else time.monotonic() + plan.seconds
        for number in range(plan.restarts):
            if until is not None and number >= plan.least and time.monotonic() > until:
                break
            answers += _round(environ, tree, made, plan, number)
            memory.append(_rss_anon(daemon.pid))
            handles.append(len(os.listdir(f"/proc/{daemon.pid}/fd")))
        found = _last_is_found(environ, tree, made.last)
        with connected(environ) as connection:
            same = connection.pid == daemon.pid
    restarts = CLIENTS * len(memory)
    return Outcome(sum(answers.values()), made.edits, restarts, dict(answers), memory, handles, found, same)


def _round(environ: Mapping[str, str], tree: Path, made: _Tree, plan: Plan, number: int) -> Counter[str]:
    """Clients ask their share while files are saved; then one of them ends, and the others are killed at their work."""
    asked = plan.requests // plan.restarts // CLIENTS
    clients = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.daemon.soak", "client", str(tree), str(asked), str(number * CLIENTS + which)],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONPATH": _paths(), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for which in range(CLIENTS)
    ]
    for _ in range(plan.edits // plan.restarts):
        made.edit()
        time.sleep(0.002)
    answers: Counter[str] = Counter()
    for which, client in enumerate(clients):
        assert client.stdout is not None
        answers += Counter(json.loads(client.stdout.readline()))
        if which:
            # It goes on asking until it is killed.
            client.kill()
        client.communicate()
    return answers


class _Tree:
    """A tree whose files change all the time."""

    def __init__(self, top: Path) -> None:
        self.top, self.edits, self.last = top, 0, ""
        self._chance = random.Random(7)
        top.mkdir(parents=True)
        for number in range(FILES):
            self._write(number)
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)

    def edit(self) -> None:
        """Save one file; now and then one goes, and comes again later."""
        self.edits += 1
        number = self._chance.randrange(FILES)
        if self.edits % 17 == 0:
            (self.top / f"part{number % 8}" / f"m{number}.py").unlink(missing_ok=True)
        else:
            self._write(number)

    def _write(self, number: int) -> None:
        folder = self.top / f"part{number % 8}"
        folder.mkdir(exist_ok=True)
        one, two = self._chance.sample(WORDS, 2)
        self.last = f"{one}_{two}_{self.edits}_{number}"
        text = f'"""The {one}."""\n\n\nclass {one.title()}{number}:\n    def {two}(self):\n        return 1\n\n\n'
        (folder / f"m{number}.py").write_text(f"{text}def {self.last}():\n    return {one.title()}{number}().{two}()\n")


def _last_is_found(environ: Mapping[str, str], tree: Path, name: str) -> bool:
    with connected(environ) as connection:
        reply = _asked(connection, tree, "search_codebase", {"query": name, "mode": "symbol"})
    return name in json.dumps(reply.get("envelope", {}).get("results", []))


def _rss_anon(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def _paths() -> str:
    top = Path(__file__).resolve().parent.parent.parent
    return os.pathsep.join([str(top), str(top / "src")])


# --- a client ---------------------------------------------------------------------------------------------------------


def client(tree: Path, requests: int, seed: int) -> None:
    """Ask so often, say what came of it, and go on asking until somebody ends it or its input does."""
    connection = connect(cairn_home(os.environ), os.environ, "mcp")
    assert connection is not None, "the daemon does not answer"
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(requests):
        counts[_ask(connection, tree, chance)] += 1
    print(json.dumps(counts), flush=True)
    if seed % CLIENTS:
        while True:
            _ask(connection, tree, chance)
    connection.close()


def _ask(connection: Connection, tree: Path, chance: random.Random) -> str:
    """One request of some kind; the word for what came of it."""
    name, arguments = chance.choice(list(_questions(chance)))
    if name == "command":
        line = {"argv": arguments["argv"], "cwd": str(tree), "environ": {}, "terminal": {}}
        reply = connection.request("command", line)
        return "ok" if "exit" in reply or "direct" in reply else _why(reply)
    return _why(_asked(connection, tree, name, arguments))


def _questions(chance: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    word, number = chance.choice(WORDS), chance.randrange(FILES)
    file = f"part{number % 8}/m{number}.py"
    yield "search_codebase", {"query": f"{word} of a {chance.choice(WORDS)}"}
    yield "search_codebase", {"query": word, "mode": "regex", "limit": 5}
    yield "file_outline", {"file": file}
    yield "read_file", {"file": file, "startLine": 1, "endLine": 5}
    yield "find_symbol", {"name": word}
    yield "call_graph", {"symbol": f"{word.title()}{number}"}
    yield "repo_map", {"maxTokens": 500}
    yield "index_status", {}
    yield "command", {"argv": ["search", word, "-k", "3"]}
    yield "command", {"argv": ["outline", file]}


def _asked(connection: Connection, tree: Path, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    body = {"name": name, "arguments": dict(arguments), "served": [str(tree)], "structured": False}
    return connection.request("tool", body)


def _why(reply: Mapping[str, Any]) -> str:
    envelope = reply.get("envelope")
    if not isinstance(envelope, dict):
        return f"error {reply.get('error', {}).get('code')}"
    # A file that has just gone, or a name that is defined nowhere just now, is no trouble.
    return "error" if envelope["status"] == "error" else "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("requests", "edits", "restarts"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan(), name))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        found = soak(Path(folder).resolve(), Plan(options.requests, options.edits, options.restarts))
    print(json.dumps({**found._asdict(), "growth": round(found.growth, 4)}))
    return 0 if found.growth <= FLAT else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
