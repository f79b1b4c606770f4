"""Does every answer tell what the files hold now, or say that it may not?

    python -m bench.oracle [--steps N] [--seed S] [--daemon] [--watch] [--linked] [--lie edit|gone|index]
                           [--stop N] [--minutes M] [--record docs/benchmarks]

In a small repository everything happens that people, editors and git do (`bench/oracle_tree.py`). After each step every
tool that reads is asked at once through the real `cairn mcp` and the official client, now and then the commands of the
terminal too, and each answer is held against the files, which are read anew for that. Every so many steps the index is
synced and held against one that was made of the same files a moment ago: rows, counts and answers.

`--daemon`: the answers come from a daemon. `--watch`: whoever answers also watches the tree. `--linked`: the tree is a
linked worktree of git. `--lie`: a lie of which the truth knows and the product cannot, so that something must be
reported; the exit status is 1 when something was. Works in a temporary folder (TMPDIR chooses which: /dev/shm spares
about a quarter of the time, which is spent waiting for the disk).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bench import freshness
from bench.long_life import answers, questions
from bench.oracle_questions import FAULTS, KINDS, Answer, Question, Verdict, judged, question
from bench.oracle_tree import Tree, Truth
from cairn.embedding.static import StaticEmbedder
from cairn.search.searcher import Searcher
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.report import RunOptions
from cairn.sync.run import index, sync
from mcp import Client, StdioServerParameters

LIES = ("edit", "gone", "index")
_EVERY, _TYPED_EVERY, _TELL_EVERY = 100, 40, 250
_ASKED = 4
_PATIENCE = 180.0
# These are not told of the same files when they are indexed anew: where they lie, and when they were looked at.
_STAT = 1


@dataclass(slots=True)
class Oracle:
    """What was asked, and what came of it."""

    seed: int
    steps: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    indexes: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def differences(self) -> int:
        """How many faults there are, of answers and of the index."""
        return len(self.faults)

    def count(self, asked: Question, said: Answer, verdict: Verdict, where: str) -> None:
        """Note an answer; a fault with what was asked and said."""
        self.questions[asked.kind] += 1
        self.verdicts[verdict.name] += 1
        mode = said.get("freshness", {}).get("mode", said["status"])
        self.modes[mode] += 1
        if verdict.name in FAULTS:
            told = {name: said.get(name) for name in ("status", "freshness", "coverage", "warnings", "snapshot")}
            self.fault(f"{where}: {verdict.name}: {asked.kind} {asked.arguments}: {verdict.why}: {json.dumps(told)}")

    def fault(self, text: str) -> None:
        """Note a fault, and tell it at once."""
        self.faults.append(text)
        print(f"  {text}", file=sys.stderr, flush=True)

    def told(self) -> str:
        """All counts, in a few lines."""
        asked = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.questions.items()))
        modes = ", ".join(f"{count:,} {mode}" for mode, count in self.modes.most_common())
        said = ", ".join(f"{self.verdicts[name]:,} {name}" for name in ("right", "warned", "refused", *FAULTS))
        of_index = sum(": index: " in fault for fault in self.faults)
        return (
            f"{self.steps:,} steps, {self.questions.total():,} questions ({asked})\n"
            f"  answers: {said}\n  freshness: {modes}\n"
            f"  {self.indexes:,} fresh indexes beside, {of_index:,} differences\n"
            f"  {self.differences:,} faults"
        )


# --- the index against a fresh one ------------------------------------------------------------------------------------


@contextmanager
def _view(codebase: Codebase, home: str, model: StaticEmbedder) -> Iterator[SnapshotView]:
    with place_of(codebase, home, model.identity).make_disk() as disk:
        view = open_view(disk, "here")
        assert view is not None, "nothing was published"
        with view:
            yield view


def index_differences(tree: Path, home: str, other: str, seed: int, *, between: Path | None = None) -> list[str]:
    """Sync the index of one home, make a fresh one in the other, and tell what differs.

    `between` is a file that is changed after the sync: a lie that must be found.
    """
    model = StaticEmbedder()

    def at(home: str) -> tuple[Codebase, RunOptions]:
        codebase = open_codebase(str(tree), {"CAIRN_HOME": home, "HOME": home})
        return codebase, RunOptions(home, wait_seconds=_PATIENCE, embedder=model)

    sync(*at(home), lambda _: None)
    if between is not None:
        with between.open("a") as file:
            file.write("\ndef planted():\n    return 1\n")
    index(*at(other), lambda _: None)
    found: list[str] = []
    with _view(at(home)[0], home, model) as lived, _view(at(other)[0], other, model) as fresh:
        ours, theirs = lived.records(), fresh.records()
        for path in sorted(ours.keys() | theirs.keys()):
            our, their = _of(lived, path), _of(fresh, path)
            if our != their:
                found.append(f"{path}: {_first_difference(our, their)}")
        for name in ("skipped", "ignore_fingerprint", "config_fingerprint"):
            pair = [repr(getattr(view.manifest, name)) for view in (lived, fresh)]
            if pair[0] != pair[1]:
                found.append(f"{name}: {pair[0]} instead of {pair[1]}")
        if not found and theirs:
            asked = questions(fresh, 4, seed)
            said = [answers(Searcher(view, model), asked) for view in (lived, fresh)]
            found += [
                f"answer to {one.mode.value} {one.query!r}"
                for one, told, right in zip(asked, *said, strict=True)
                if told != right
            ]
    return found


def _of(view: SnapshotView, path: str) -> dict[str, Any]:
    """All that an index holds of a file, without the time of it."""
    record = view.file(path)
    if record is None:
        return {"record": None}
    if record.skip is not None:
        # Of a file that is left out only the reason counts: how large it is by now is asked of the disk.
        return {"record": (record.skip, record.detail)}
    return {
        "record": tuple(value for place, value in enumerate(record) if place != _STAT),
        "text": bytes(view.text(path) or b""),
        "symbols": repr(view.symbols(path)),
        "references": repr(view.references(path)),
        "imports": repr(view.imports(path)),
    }


def _first_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return f"{names[0]}: {ours.get(names[0])!r} instead of {theirs.get(names[0])!r}"[:600]


# --- the run ----------------------------------------------------------------------------------------------------------


class Lie:
    """A change of which only the truth knows: of the files as they are held against answers, one is another."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def told(self, truth: Truth) -> Truth:
        """The truth, with the lie in it."""
        codes = sorted(path for path in truth.files if path.endswith(".py"))
        if self._kind not in ("edit", "gone") or not codes:
            return truth
        files = dict(truth.files)
        text = files.pop(codes[0])
        if self._kind == "edit":
            files[codes[0]] = f"# one line more\n{text}"
        return Truth(files, truth.everything)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the oracle asks."""

    folder: Path
    seed: int = 1
    daemon: bool = False
    watch: bool = False
    linked: bool = False
    lie: str = ""
    every: int = _EVERY
    typed_every: int = _TYPED_EVERY

    @property
    def home(self) -> str:
        return str(self.folder / "home")

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every process that is started."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return {**kept, "LC_ALL": "C.UTF-8", "CAIRN_HOME": self.home, "HOME": str(self.folder)}

    def cairn(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command, as typed in the tree."""
        return subprocess.run(
            [sys.executable, "-m", "cairn", *arguments],
            cwd=self.folder / "tree",
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def _tree(chosen: Settings, chance: random.Random) -> Tree:
    return Tree(chosen.folder, chance, linked=chosen.linked, watched=chosen.watch)


async def _live(chosen: Settings, steps: int, most_faults: int, seconds: float) -> Oracle:
    until = time.monotonic() + seconds
    chance = random.Random(chosen.seed)
    oracle, tree, lie = Oracle(chosen.seed), _tree(chosen, chance), Lie(chosen.lie)
    Path(chosen.home).mkdir(mode=0o700)
    Path(chosen.home, "config.toml").write_text(f"[serve]\nauto_watch = {str(chosen.watch).lower()}\n")
    alone = [] if chosen.daemon else ["--offline"]
    made = chosen.cairn("index", *alone)
    assert made.returncode == 0, made.stderr
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cairn", "mcp", "--format", "json", *alone, "--root", str(tree.folder)],
        env=chosen.environ,
        cwd=tree.folder,
    )
    async with Client(server) as client:
        while oracle.steps < steps and oracle.differences < most_faults and time.monotonic() < until:
            oracle.steps += 1
            tree.step()
            where = f"seed {chosen.seed}, step {oracle.steps} ({'; '.join(tree.done)})"
            truth = lie.told(tree.truth())
            for kind in chance.sample(list(KINDS), _ASKED):
                asked = question(kind, truth, chance)
                result = await client.call_tool(asked.tool, asked.arguments)
                said: Answer = json.loads(getattr(result.content[0], "text", ""))
                oracle.count(asked, said, judged(said, asked, truth), where)
            if oracle.steps % chosen.typed_every == 0:
                await anyio.to_thread.run_sync(_type, chosen, oracle, truth, chance, where)
            if oracle.steps % chosen.every == 0:
                await anyio.to_thread.run_sync(_hold_against_a_fresh_index, chosen, oracle, truth, where)
            if oracle.steps % _TELL_EVERY == 0:
                print(f"{oracle.steps:,} steps, {oracle.differences} faults", file=sys.stderr, flush=True)
    return oracle


def _type(chosen: Settings, oracle: Oracle, truth: Truth, chance: random.Random, where: str) -> None:
    asked = question(chance.choice(list(KINDS)), truth, chance)
    done = chosen.cairn(*asked.typed, "--json", *([] if chosen.daemon else ["--offline"]))
    if not done.stdout:
        oracle.fault(f"{where}: typed {asked.typed}: {done.returncode}: {done.stderr}")
        return
    said: Answer = json.loads(done.stdout)
    oracle.count(asked._replace(kind=f"typed {asked.typed[0]}"), said, judged(said, asked, truth), where)


def _hold_against_a_fresh_index(chosen: Settings, oracle: Oracle, truth: Truth, where: str) -> None:
    oracle.indexes += 1
    between = None
    if chosen.lie == "index" and (codes := sorted(path for path in truth.files if path.endswith(".py"))):
        between = chosen.folder / "tree" / codes[0]
    with tempfile.TemporaryDirectory(dir=chosen.folder) as other:
        tree = chosen.folder / "tree"
        for found in index_differences(tree, chosen.home, other, oracle.steps, between=between):
            oracle.fault(f"{where}: index: {found}")


def run(chosen: Settings, steps: int, most_faults: int = 1_000, seconds: float = float("inf")) -> Oracle:
    """Let the tree live for so many steps, or as many as there is time for; what was started has ended afterwards."""
    try:
        return anyio.run(partial(_live, chosen, steps, most_faults, seconds))
    finally:
        chosen.cairn("daemon", "stop")


def record(folder: Path, command: str, told: str) -> None:
    """Note what came of a command, in the place of what it told before."""
    kept = freshness.load(folder)
    others = [one for one in kept["lives"] if one["command"] != command]
    freshness.keep(folder, {**kept, "lives": [*others, {**freshness.when(), "command": command, "told": told}]})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--linked", action="store_true")
    parser.add_argument("--lie", choices=LIES, default="")
    parser.add_argument("--stop", type=int, default=1_000, help="end after so many faults")
    parser.add_argument("--record", type=Path, help="note the result in this folder (docs/benchmarks)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so many minutes")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-oracle-") as folder:
        chosen = Settings(
            Path(folder).resolve(), options.seed, options.daemon, options.watch, options.linked, options.lie
        )
        oracle = run(chosen, options.steps, options.stop, options.minutes * 60)
    print(f"seed {options.seed}{', daemon' if options.daemon else ''}{', watched' if options.watch else ''}: ", end="")
    told = f"{oracle.told()}\n  {oracle.steps / (time.monotonic() - began):.1f} steps a second"
    print(told)
    if options.record is not None:
        typed = " ".join(sys.argv[1:] if arguments is None else arguments)
        record(options.record, f"python -m bench.oracle {typed}".replace(f" --record {options.record}", ""), told)
    return 1 if oracle.differences else 0


if __name__ == "__main__":
    sys.exit(main())
