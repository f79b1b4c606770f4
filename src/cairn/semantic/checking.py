"""Let a compiler judge a plan: its errors in a copy of the files before the edits, and in the same copy after them.

The copy holds what the index holds, in a folder of the home that goes away again; nothing of the codebase is run, and
no network is used. Only pyright, a tsc that lies outside of the codebase and `go vet` are asked: all others run what a
project names. Errors that are there before say nothing against a plan, and neither does what the copy does not hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import SemanticConfig
from cairn.core.limits import (
    CHECK_EXPECTED_SECONDS,
    CHECK_PYRIGHT_BYTES_PER_SECOND,
    CHECK_SAID_BYTES,
    CHECK_START_SECONDS,
    CHECK_TSC_BYTES_PER_SECOND,
    CHECK_VET_BYTES_PER_SECOND,
    MIB,
)
from cairn.errors import Cancelled, IndexerMissing
from cairn.semantic.indexers import Indexer, IndexerWork, RunPlan, go_environ
from cairn.semantic.model import Family, family_of
from cairn.semantic.plan import CompilerError, PlanCheck
from cairn.semantic.process import family_bytes, machine_bytes, run_to_end
from cairn.semantic.running import scratch_folder
from cairn.semantic.tools import IndexerTool, find_tool
from cairn.store import Disk

_PLAIN = re.compile(r"(?!-|\.{1,2}$)[A-Za-z0-9._-]{1,200}")
# With what Go reads in the name of a file: `_test`, `_linux_arm64`.
_ENDING = re.compile(r"(?:_[a-z0-9]{1,10}){0,3}(?:\.[A-Za-z0-9]{1,10}){1,2}$")
_TSC = re.compile(r"^(?P<path>[^\n]+?)\((?P<line>\d+),\d+\): error (?P<said>TS\d+: .*)$", re.MULTILINE)
_VET = re.compile(r"^(?:vet: )?(?:\./)?(?P<path>[^:\n#]+\.go):(?P<line>\d+)(?::\d+)?: (?P<said>.*)$", re.MULTILINE)
# What go says of a package that it does not look at, because what it imports is not there.
_UNLOADED = re.compile(r"no required module provides|cannot find module|missing go.sum entry|no matching files found")
_TREE = "tree"
_MEMORY_SHARE = 0.75
_OTHERS = "the compilers of this language run what a project names, so none is asked"
_SETTINGS = {Family.PYTHON: "pyrightconfig.json", Family.TYPESCRIPT: "cairn.tsconfig.json"}


class _GaveUpError(Exception):
    """The compiler has not judged the plan; the text says why."""


class CheckWork(NamedTuple):
    """What is to be checked: the texts of all files that belong together, and those that a plan changes."""

    files: Mapping[str, bytes]
    changed: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """Where a compiler is looked for and run."""

    root: str
    home: str
    environ: Mapping[str, str]
    settings: SemanticConfig
    clock: Clock = SYSTEM_CLOCK


def _no_plans(_: IndexerWork) -> tuple[RunPlan, ...]:
    return ()


CHECKERS = {
    Family.PYTHON: Indexer(
        "pyright", Family.PYTHON, "npm install --prefix {tools} pyright@1.1.400", _no_plans, runtime="node"
    ),
    Family.TYPESCRIPT: Indexer(
        "tsc", Family.TYPESCRIPT, "npm install --prefix {tools} typescript@5.8.3", _no_plans, runtime="node"
    ),
    Family.GO: Indexer("go", Family.GO, "install Go as its own page says", _no_plans),
}


_BYTES_PER_SECOND = {
    Family.PYTHON: CHECK_PYRIGHT_BYTES_PER_SECOND,
    Family.TYPESCRIPT: CHECK_TSC_BYTES_PER_SECOND,
    Family.GO: CHECK_VET_BYTES_PER_SECOND,
}


def expected_seconds(family: Family, files: Mapping[str, int]) -> float:
    """Return about how long two runs of a compiler over files of these sizes take."""
    return 2 * (CHECK_START_SECONDS + sum(files.values()) / _BYTES_PER_SECOND[family])


def is_too_much(family: Family | None, files: Mapping[str, int]) -> str:
    """Return why a check that nobody has asked for is left out; empty when it is not."""
    if family is None or family not in CHECKERS:
        return ""
    seconds = expected_seconds(family, files)
    if seconds <= CHECK_EXPECTED_SECONDS:
        return ""
    return f"it would take about {seconds:,.0f} seconds (`--check` does it)"


def wanted_by(family: Family | None, path: str) -> bool:
    """Whether the compiler of a family reads a file: its sources, and the settings that it goes by."""
    name = posixpath.basename(path)
    return (
        family_of(path) is family
        or name in ("go.mod", "go.sum", "go.work", "package.json")
        or (name.startswith("tsconfig") and name.endswith(".json"))
    )


def _in_copy(path: str) -> str:
    """Return the name of a file in the copy: its own, and for what the home does not take in names a stand-in.

    A folder has one stand-in wherever it is met, so files below it still find each other. The ending stays, and with it
    what a compiler takes a file for.
    """
    return "/".join(part if _PLAIN.fullmatch(part) else _stand_in(part) for part in path.split("/"))


def _stand_in(part: str) -> str:
    ending = _ENDING.search(part)
    digest = hashlib.sha256(part.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"other{digest}{ending[0] if ending else ''}"


def check(
    family: Family | None,
    work: CheckWork,
    place: CheckPlace,
    old: str,
    new: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> PlanCheck:
    """Return what the compiler says of a plan to rename `old` to `new`; `why_not` when it was not asked or gave up."""
    checker = CHECKERS.get(family) if family is not None else None
    if checker is None or family is None:
        return PlanCheck(why_not=_OTHERS)
    try:
        tool = find_tool(checker, root=place.root, home=place.home, environ=place.environ, settings=place.settings)
    except IndexerMissing as problem:
        return PlanCheck(why_not=f"{problem.fields['why']} (`cairn doctor` says how to get it)")
    try:
        with scratch_folder(place.home, place.clock) as (disk, folder):
            one = _Check(family, tool, place, disk, folder, cancelled)
            before, after = one.errors_of(work)
    except _GaveUpError as problem:
        return PlanCheck(why_not=str(problem))
    known = Counter((each.path, each.message) for each in before)
    back = re.compile(rf"\b{re.escape(new)}\b")
    fresh = []
    for each in after:
        key = each.path, back.sub(old, each.message)
        if known[key]:
            known[key] -= 1
        else:
            fresh.append(each)
    said = "go vet" if family is Family.GO else checker.name
    return PlanCheck(by=(said,), errors=tuple(fresh))


class _Check:
    """Two runs of a compiler in one copy."""

    def __init__(
        self,
        family: Family,
        tool: IndexerTool,
        place: CheckPlace,
        disk: Disk,
        folder: str,
        cancelled: Callable[[], bool],
    ) -> None:
        self._family, self._tool, self._place = family, tool, place
        self._disk, self._folder = disk, folder
        self._cancelled = cancelled
        self._paths: dict[str, str] = {}
        self._until = place.clock.monotonic() + place.settings.seconds
        self._memory = min(place.settings.memory_mib * MIB, int(machine_bytes() * _MEMORY_SHARE))

    def errors_of(self, work: CheckWork) -> tuple[list[CompilerError], list[CompilerError]]:
        """Return the errors before the edits and after them."""
        made: set[str] = set()
        self._has_workspace = "go.work" in work.files
        self._folders(_TREE, made)
        for path, text in work.files.items():
            name = _in_copy(path)
            self._paths[name] = path
            self._folders(posixpath.dirname(f"{_TREE}/{name}"), made)
            self._disk.create_bytes(f"{self._folder}/{_TREE}/{name}", text)
        self._give_settings(work)
        before = self._run()
        if any(_UNLOADED.search(one.message) for one in before):
            raise _GaveUpError("what the code depends on is not there")
        for path, text in work.changed.items():
            name = f"{self._folder}/{_TREE}/{_in_copy(path)}"
            self._disk.remove(name)
            self._disk.create_bytes(name, text)
        return before, self._run()

    def _folders(self, path: str, made: set[str]) -> None:
        if path and path not in made:
            self._folders(posixpath.dirname(path), made)
            self._disk.make_folder(f"{self._folder}/{path}")
            made.add(path)

    def _give_settings(self, work: CheckWork) -> None:
        """Write settings of ours over those that name more than files: the name must be free."""
        name = _SETTINGS.get(self._family)
        if name is None:
            return
        path = f"{self._folder}/{_TREE}/{name}"
        if name in work.files:
            self._disk.remove(path)
        if self._family is Family.PYTHON:
            settings: dict[str, object] = {"include": ["."], "typeCheckingMode": "standard", "extraPaths": [".", "src"]}
        else:
            options = dict.fromkeys(("composite", "incremental"), False) | dict.fromkeys(
                ("noEmit", "skipLibCheck"), True
            )
            real = next((one for one in ("tsconfig.json", "jsconfig.json") if one in work.files), None)
            # Folders that a project names to be read may have another name in the copy.
            everything = {"include": ["**/*"]} if any(name != path for name, path in self._paths.items()) else {}
            settings = {
                **everything,
                **({"extends": f"./{real}"} if real else {}),
                "compilerOptions": options,
                "references": [],
            }
        self._disk.create_bytes(path, json.dumps(settings).encode())

    def _run(self) -> list[CompilerError]:
        tree = os.path.join(self._disk.path, self._folder, _TREE)
        arguments: Sequence[str]
        environ: dict[str, str] = {}
        if self._family is Family.PYTHON:
            arguments = ("--outputjson", "-p", tree)
        elif self._family is Family.TYPESCRIPT:
            arguments = ("-p", os.path.join(tree, _SETTINGS[self._family]), "--pretty", "false")
        else:
            arguments = ("vet", "./...")
            environ = go_environ(self._place.environ, os.path.join(self._disk.path, self._folder))
            environ["GOWORK"] = os.path.join(tree, "go.work") if self._has_workspace else "off"
        ended = run_to_end(
            [*self._tool.command, *arguments],
            cwd=tree,
            environ={**self._tool.environ, "TMPDIR": os.path.join(self._disk.path, self._folder), **environ},
            look=self._look,
            clock=self._place.clock,
            most_said=CHECK_SAID_BYTES,
        )
        if ended.status > 128 or len(ended.said) >= CHECK_SAID_BYTES:
            raise _GaveUpError(ended.reason if ended.status > 128 else "it said too much")
        found = [one._replace(path=self._paths.get(one.path, one.path)) for one in self._read(ended.said, tree)]
        if ended.status and not found:
            raise _GaveUpError(ended.reason)
        return found

    def _read(self, said: bytes, tree: str) -> Iterator[CompilerError]:
        text = said.decode("utf-8", "replace")
        if self._family is Family.PYTHON:
            yield from self._of_pyright(text, tree)
            return
        for found in (_TSC if self._family is Family.TYPESCRIPT else _VET).finditer(text):
            yield CompilerError(posixpath.normpath(found["path"]), int(found["line"]), found["said"])

    def _of_pyright(self, text: str, tree: str) -> Iterable[CompilerError]:
        try:
            told = json.loads(text[text.index("{") :])["generalDiagnostics"]
            every = [one for one in told if one["severity"] == "error"]
            return [
                CompilerError(
                    os.path.relpath(one["file"], os.path.realpath(tree)),
                    int(one["range"]["start"]["line"]) + 1,
                    " ".join(one["message"].split()),
                )
                for one in every
            ]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _GaveUpError("what it said is no answer of pyright") from None

    def _look(self, keeper: int) -> None:
        if family_bytes(keeper) > self._memory:
            raise _GaveUpError(f"it took more than {self._memory // MIB:,} MiB of memory")
        if self._place.clock.monotonic() > self._until:
            raise _GaveUpError(f"it took longer than {self._place.settings.seconds:,} seconds")
        if self._cancelled():
            raise Cancelled
