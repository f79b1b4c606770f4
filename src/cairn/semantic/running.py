"""Run the indexer of a context once, with limits of time, memory and disk, below a keeper that ends all of it.

The environment of the indexer is made from nothing, and its folder is removed when it has ended. The result is an index
that mentions some file, or an error that says why there is none.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import SemanticConfig
from cairn.core.limits import INDEXER_DISK_LOOK_SECONDS, INDEXER_SCRATCH_SECONDS, MAX_SCIP_BYTES, MIB
from cairn.errors import (
    Cancelled,
    IndexerEmpty,
    IndexerFailed,
    IndexerMemory,
    IndexerRefused,
    IndexerTimeout,
    SemanticUnreadable,
)
from cairn.semantic.importing import Indexed
from cairn.semantic.indexers import BY_FAMILY, OUTPUT, IndexerWork, RunPlan
from cairn.semantic.model import Context, RefreshScope
from cairn.semantic.process import ProcessResult, family_bytes, machine_bytes, run_to_end
from cairn.semantic.scip import ScipIndex
from cairn.semantic.tools import IndexerTool, find_tool
from cairn.source.root import printable
from cairn.store import Disk, remove_tree

SCRATCH = "cache/semantic"
_MEMORY_SHARE = 0.75
_HEAP_SHARE = 0.8
_SELDOM = 10


class Beat(NamedTuple):
    """The progress of a run: the seconds it has taken and the most memory it has held."""

    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the indexer of a context for a refresh. `files` returns all files of a context, by path key.

    `read` returns the bytes of a project file; `tell` is called with the progress of a run several times a second.
    """

    root: str
    home: str
    environ: Mapping[str, str]
    settings: SemanticConfig
    files: Callable[[Context], Iterable[str]]
    read: Callable[[str], bytes | None]
    tell: Callable[[Beat], None] = lambda _: None
    clock: Clock = SYSTEM_CLOCK

    def __call__(self, context: Context, scope: RefreshScope, cancelled: Callable[[], bool]) -> Indexed:
        """Return the index of the context for the scope or more; raises an error of the band 40-49, or `Cancelled`."""
        indexer = BY_FAMILY[context.family]
        tool = find_tool(indexer, root=self.root, home=self.home, environ=self.environ, settings=self.settings)
        if indexer.runs_builds and not self._is_trusted():
            raise IndexerRefused(indexer=indexer.name, path=printable(os.fsencode(self.root)))
        files = tuple(sorted(self.files(context)))
        wanted = tuple(path for path in files if scope.since is not None or scope.names(path))
        until = self.clock.monotonic() + self.settings.seconds
        at = 0
        while True:
            with scratch_folder(self.home, self.clock) as (disk, folder):
                place = os.path.join(disk.path, folder)
                work = IndexerWork(self.root, context, files, wanted or files, place, self.environ, self.read)
                plans = indexer.plans(work)
                run = _IndexerProcess(tool, work, plans[at], (disk, folder), self, until, cancelled)
                try:
                    return run.indexed()
                except IndexerFailed as problem:
                    at += 1
                    if type(problem) is not IndexerFailed or at == len(plans):
                        raise

    def _is_trusted(self) -> bool:
        home = self.environ.get("HOME") or os.path.expanduser("~")
        roots = (os.path.join(home, one[2:]) if one.startswith("~/") else one for one in self.settings.trusted_roots)
        return any(os.path.join(self.root, "").startswith(os.path.join(os.path.realpath(one), "")) for one in roots)


class _IndexerProcess:
    """One process of an indexer, from its start to its end."""

    def __init__(
        self,
        tool: IndexerTool,
        work: IndexerWork,
        plan: RunPlan,
        place: tuple[Disk, str],
        runner: Runner,
        until: float,
        cancelled: Callable[[], bool],
    ) -> None:
        self._tool, self._work, self._plan = tool, work, plan
        self._runner, self._until, self._cancelled = runner, until, cancelled
        self._memory = min(runner.settings.memory_mib * MIB, int(machine_bytes() * _MEMORY_SHARE))
        self._began = runner.clock.monotonic()
        self._peak = 0
        self._disk, self._folder = place
        self._measured = self._began

    def indexed(self) -> Indexed:
        disk, folder = self._disk, self._folder
        for name, data in self._plan.given:
            disk.create_bytes(f"{folder}/{name}", data)
        ended = self._ended()
        if ended.status:
            out_of_heap = b"JavaScript heap out of memory" in ended.said
            raise self._failed(IndexerMemory if out_of_heap else IndexerFailed, ended.reason)
        source = f"of {self._tool.indexer.name}"
        try:
            data = disk.read(f"{folder}/{OUTPUT}", MAX_SCIP_BYTES)
        except OSError as problem:
            if problem.errno == errno.EFBIG:
                raise SemanticUnreadable(path=source, why=f"it has more than {MAX_SCIP_BYTES} bytes") from None
            raise self._failed(IndexerEmpty, ended.reason) from None
        index = ScipIndex(data, source)
        # One indexer ends with status 0 and an empty index when it has not found the project.
        if next(index.documents(), None) is None:
            raise self._failed(IndexerEmpty, ended.reason)
        return Indexed(data, source, index.metadata.tool_version)

    def _ended(self) -> ProcessResult:
        inside = self._tool.indexer.runs_builds
        try:
            return run_to_end(
                [*self._tool.command, *self._plan.arguments],
                cwd=self._work.folder if inside else self._work.scratch,
                environ=self._environment(),
                look=self._look,
                clock=self._runner.clock,
            )
        except OSError as problem:
            # The folder is gone, or there are no processes left.
            raise self._failed(IndexerFailed, f"it could not be started: {problem.strerror}") from None

    def _look(self, keeper: int) -> None:
        now, used = self._runner.clock.monotonic(), family_bytes(keeper)
        self._peak = max(self._peak, used)
        if used > self._memory:
            raise self._failed(IndexerMemory, f"it took more than {self._memory // MIB:,} MiB of memory")
        if now >= self._measured:
            self._measure(now)
        if now > self._until:
            raise self._failed(IndexerTimeout, f"it took longer than {self._runner.settings.seconds:,} seconds")
        if self._cancelled():
            raise Cancelled
        self._runner.tell(Beat(now - self._began, self._peak))

    def _measure(self, now: float) -> None:
        """Raise `IndexerFailed` when the folder of the run has grown too large."""
        most = self._runner.settings.disk_mib * MIB
        if _taken(self._disk, self._folder, most) > most:
            why = f"it wrote more than {self._runner.settings.disk_mib:,} MiB (`disk_mib` under `[semantic]`)"
            raise self._failed(IndexerFailed, why)
        # A folder of very many files is not looked at all the time.
        took = self._runner.clock.monotonic() - now
        self._measured = now + took + max(INDEXER_DISK_LOOK_SECONDS, took * _SELDOM)

    def _environment(self) -> dict[str, str]:
        given = dict(self._plan.environ)
        if self._tool.indexer.runtime == "node":
            heap = f"--max-old-space-size={int(self._memory * _HEAP_SHARE) // MIB}"
            given["NODE_OPTIONS"] = f"{heap} {given.get('NODE_OPTIONS', '')}".strip()
        return {**self._tool.environ, "TMPDIR": self._work.scratch, **given}

    def _failed(self, kind: type[IndexerFailed], why: str) -> IndexerFailed:
        return kind(indexer=self._tool.indexer.name, context=printable(self._work.context.id.encode()), why=why)


@contextlib.contextmanager
def scratch_folder(home: str, clock: Clock) -> Iterator[tuple[Disk, str]]:
    """A folder in the home for one run, removed at its end. Old folders of runs that were killed are removed too."""
    with Disk.at(home, SCRATCH, create=True) as disk:
        long_ago = clock.wall_ns() - int(INDEXER_SCRATCH_SECONDS * 1e9)
        for name, found in disk.usage.stats(""):
            if name.startswith("run_") and found.mtime_ns < long_ago:
                _removed(disk, name)
        folder = f"run_{secrets.token_hex(8)}"
        disk.make_folder(folder)
        try:
            yield disk, folder
        finally:
            _removed(disk, folder)


def _taken(disk: Disk, folder: str, most: int) -> int:
    """Return the bytes of all files in a folder and below; where that is more than `most`, of as many as show it."""
    total, pending = 0, [folder]
    while pending and total <= most:
        # The indexer is at work there: what goes meanwhile, or may not be opened, takes nothing.
        with contextlib.suppress(OSError):
            at = pending.pop()
            for name, found in disk.usage.stats(at):
                if found.is_folder:
                    pending.append(f"{at}/{name}")
                else:
                    total += found.size
    return total


def _removed(disk: Disk, folder: str) -> None:
    # The name is not ours, or somebody still writes into the folder: the next run tries again.
    with contextlib.suppress(OSError):
        remove_tree(disk, folder)
