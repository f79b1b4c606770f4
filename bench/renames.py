"""Do renames that are offered as automatic break the code? Plans, applied in a copy and judged by a compiler.

    python -m bench.renames LANGUAGE ROOT... [--plans N] [--seed N] [--tools FOLDER] [--home PATH] [--show N]

`LANGUAGE` is python (judged by pyright), typescript (by tsc) or go (by `go vet`); `--tools` is a folder with
`node_modules/pyright` and `node_modules/typescript`. The indexer of the language must be on PATH; a codebase that it
has read already below `--home` is not read again. So many definitions are drawn from all functions, methods, types,
fields and constants that have a use (but not `__names__`), each alike, and each is planned under a name that is
nowhere. All automatic plans are applied together in a copy of the repository, as far as they touch no byte twice, and
its errors are compared with those of before; if there are more, half of the plans are tried, and so on, until each plan
that breaks something is found. Nothing that the repository holds or names is run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cairn.ask.edits import Renaming, rename
from cairn.ask.meaning import database_of, facts_of
from cairn.ask.prepare import Policy, prepare
from cairn.ask.refreshing import Watcher, Wish, refresh
from cairn.ask.session import Session, whole
from cairn.ask.structure import asked_of
from cairn.graph.facts import Place
from cairn.graph.informed import InformedGraph
from cairn.graph.references import Graph
from cairn.semantic.editing import Verdict
from cairn.semantic.model import Family, OccurrenceRole, family_of
from cairn.semantic.patch import Replacement, replaced
from cairn.semantic.plan import RenamePlan

LANGUAGES = {"python": Family.PYTHON, "typescript": Family.TYPESCRIPT, "go": Family.GO}
KINDS = {
    "function": "function",
    "method": "method",
    **dict.fromkeys(("class", "interface", "struct", "enum", "trait", "type", "union"), "type"),
    **dict.fromkeys(("field", "property"), "field"),
    **dict.fromkeys(("constant", "variable"), "constant"),
}
_TSC = re.compile(r"^(?P<path>[^(\n]+)\((?P<line>\d+),\d+\): error (?P<said>TS\d+: .*)$", re.M)
_VET = re.compile(r"^(?:vet: )?(?P<path>[^:\n]+\.go):(?P<line>\d+)(?::\d+)?: (?P<said>.*)$", re.M)
_SECONDS = 900


class Drawn(NamedTuple):
    """A definition that was drawn."""

    path: str
    line: int
    name: str
    kind: str


class Tried(NamedTuple):
    """A definition and the plan to rename it."""

    drawn: Drawn
    new: str
    plan: RenamePlan


Errors = Counter[tuple[str, str]]
"""Files and what is said of them, without lines."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("roots", type=Path, nargs="+", metavar="ROOT")
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--tools", type=Path, default=Path())
    parser.add_argument("--home", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print so many plans that were not automatic, and why")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.plans} plans of each repository")
    print("| repository | plans | automatic | share | wrong | not automatic because of |\n|---|---|---|---|---|---|")
    for root in options.roots:
        with tempfile.TemporaryDirectory(prefix="bench-renames-") as scratch:
            environ = {**os.environ, "CAIRN_HOME": str(options.home or scratch)}
            tried = planned(root.resolve(), environ, LANGUAGES[options.language], options.plans, options.seed)
            automatic = [one for one in tried if one.plan.verdict is Verdict.AUTOMATIC]
            judge = Judge(options.language, root.resolve(), Path(scratch, "copy"), options.tools.resolve())
            wrong = list(judge.wrong(automatic))
        _print(root.name, tried, automatic, wrong, options.show)
    return 0


def _print(
    name: str, tried: Sequence[Tried], automatic: Sequence[Tried], wrong: Sequence[tuple[Tried, Errors]], show: int
) -> None:
    why = Counter(reason for one in tried for reason in reasons(one.plan))
    share = len(automatic) / max(1, len(tried))
    told = ", ".join(f"{reason} {count}" for reason, count in why.most_common(8))
    print(f"| {name} | {len(tried)} | {len(automatic)} | {share:.2f} | {len(wrong)} | {told} |")
    for one, errors in wrong:
        print(f"  WRONG {one.drawn.path}:{one.drawn.line} {one.drawn.kind} {one.drawn.name} -> {one.new}")
        for (path, said), count in list(errors.items())[:5]:
            print(f"      {path}: {said} ({count})")
    for one in [each for each in tried if each.plan.verdict is not Verdict.AUTOMATIC][:show]:
        print(f"  {one.plan.verdict.value} {one.drawn.path}:{one.drawn.line} {one.drawn.kind} {one.drawn.name}")
        for place in one.plan.against[:4]:
            print(f"      {place.path}:{place.line} {place.reason[:200]}")
    sys.stdout.flush()


def reasons(plan: RenamePlan) -> set[str]:
    """What keeps a plan from being automatic, by kind."""
    if plan.verdict is Verdict.AUTOMATIC:
        return set()
    closed = [one for one in plan.gate.files if one.verdict is not Verdict.AUTOMATIC]
    found = {one.source.value for one in (*plan.open, *(each for file in closed for each in file.open))}
    found |= {one.state.freshness.value for one in closed if not one.open}
    return found | ({"outside"} if plan.outside else set())


def planned(root: Path, environ: dict[str, str], family: Family, count: int, seed: int) -> list[Tried]:
    """Draw definitions and plan to rename each of them; nothing of the repository is changed."""

    def opened() -> Session:
        session = Session(whole(str(root), environ), environ)
        prepare(session, Policy(consent=lambda _: True, seconds=3600))
        return session

    refresh(opened, Wish(), environ, Watcher())
    tried = []
    with opened() as session:
        for drawn in _drawn(session, family, random.Random(seed)):
            new = f"{drawn.name}Zq" if family is not Family.PYTHON else f"{drawn.name}_zq"
            plan = rename(session, Renaming(asked_of(f"{drawn.path}:{drawn.line}", session.root), new)).value
            if plan is not None and plan.old == drawn.name:
                tried.append(Tried(drawn, new, plan))
            if len(tried) == count:
                break
    return tried


def _drawn(session: Session, family: Family, chance: random.Random) -> Iterator[Drawn]:
    """Yield the definitions that have a use, in the order in which they are drawn; one that is written twice, once."""
    with database_of(session).reading() as db:
        assert db is not None, "an indexer has read the codebase"
        graph = InformedGraph(session.kept(Graph), facts_of(session, db))
        languages = graph.names.modules.files.languages
        every = [
            Place(path, number)
            for path in sorted(languages)
            if family_of(path) is family
            for number, symbol in enumerate(graph.names.facts(path).symbols)
            if symbol.kind in KINDS and symbol.name.isidentifier() and not symbol.name.startswith("__")
        ]
        chance.shuffle(every)
        seen: set[frozenset[int]] = set()
        for place in every:
            symbols = graph.symbols_of(place)
            if not symbols or symbols in seen:
                continue
            seen.add(symbols)
            if any(one.role is not OccurrenceRole.DEFINITION for one in graph.semantic.occurrences(symbols)):
                symbol = graph.names.facts(place.path).symbols[place.number]
                yield Drawn(place.path, symbol.start_line, symbol.name, KINDS[symbol.kind])


class Judge:
    """A copy of a repository, and the compiler that judges what is done to it."""

    def __init__(self, language: str, root: Path, copy: Path, tools: Path) -> None:
        self._language, self._root, self._copy, self._tools = language, root, copy, tools

    def wrong(self, plans: Sequence[Tried]) -> Iterator[tuple[Tried, Errors]]:
        """Yield the plans that break something, with the errors that are new."""
        if not plans:
            return
        shutil.copytree(self._root, self._copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        self._before = self._errors(())
        rest = list(plans)
        while rest:
            batch, rest = _apart(rest)
            yield from self._halved(batch)

    def _halved(self, plans: Sequence[Tried]) -> Iterator[tuple[Tried, Errors]]:
        new = self._errors(plans) - self._before
        if new and len(plans) == 1:
            yield plans[0], new
        elif new:
            half = len(plans) // 2
            yield from self._halved(plans[:half])
            yield from self._halved(plans[half:])

    def _errors(self, plans: Sequence[Tried]) -> Errors:
        """Return the errors with these plans applied; the copy is as before afterwards. New names are read as old."""
        changed: dict[str, list[Replacement]] = {}
        for one in plans:
            for edit in one.plan.edits:
                changed.setdefault(edit.path, []).extend(edit.replacements)
        for path, places in changed.items():
            (self._copy / path).write_bytes(replaced((self._root / path).read_bytes(), places))
        found = Counter((path, re.sub(r"(?:Zq|_zq)\b", "", said)) for path, said in self._said())
        for path in changed:
            shutil.copyfile(self._root / path, self._copy / path)
        return found

    def _said(self) -> Iterator[tuple[str, str]]:
        if self._language == "python":
            command = [str(self._tools / "node_modules/.bin/pyright"), "--outputjson", "."]
            for one in json.loads(self._run(command)).get("generalDiagnostics", ()):
                if one["severity"] == "error":
                    yield os.path.relpath(one["file"], self._copy), one["message"]
        elif self._language == "typescript":
            command = ["node", str(self._tools / "node_modules/typescript/bin/tsc"), "--noEmit", "-p", "."]
            for found in _TSC.finditer(self._run([*command, "--incremental", "false", "--pretty", "false"])):
                yield found["path"], found["said"]
        else:
            for found in _VET.finditer(self._run(["go", "vet", "./..."])):
                yield found["path"], found["said"]

    def _run(self, command: Sequence[str]) -> str:
        environ = {
            **os.environ,
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly -buildvcs=false",
            "GOWORK": "off",
        }
        done = subprocess.run(
            command, check=False, cwd=self._copy, env=environ, capture_output=True, text=True, timeout=_SECONDS
        )
        return done.stdout + done.stderr if self._language != "python" else done.stdout


def _apart(plans: Sequence[Tried]) -> tuple[list[Tried], list[Tried]]:
    """Return plans that touch no byte twice, and the rest."""
    taken: dict[tuple[str, int], list[tuple[int, int]]] = {}
    batch, rest = [], []
    for one in plans:
        spans = [
            ((edit.path, each.line), (each.start, each.end)) for edit in one.plan.edits for each in edit.replacements
        ]
        if any(start < span[1] and span[0] < end for key, span in spans for start, end in taken.get(key, ())):
            rest.append(one)
            continue
        batch.append(one)
        for key, span in spans:
            taken.setdefault(key, []).append(span)
    return batch, rest


if __name__ == "__main__":
    raise SystemExit(main())
