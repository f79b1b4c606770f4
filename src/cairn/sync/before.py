"""The step before a search: the first time the folder is indexed, later the index catches up with the files.

It may fail without failing the search: then what is there answers, and the answer says so. Some folders are never
indexed by the way, because nobody would want that: the root of the disk, a home, what belongs to the system.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.limits import AUTO_INDEX_FILES, SYNC_BEFORE_SEARCH_SECONDS
from cairn.core.types import Root
from cairn.errors import CairnError, NotIndexed, SourceError, StoreBusy
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.store.standing import Freshness, State
from cairn.sync import run
from cairn.sync.codebase import Codebase
from cairn.sync.reading import Standing
from cairn.sync.report import Phase, Progress, Tell

# Of these and what is below them nothing is indexed by the way, unless somebody keeps a repository there.
_OF_THE_SYSTEM = frozenset({
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/run",
    "/sbin", "/snap", "/sys", "/usr", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/Applications", "/Library",
    "/System", "/private/etc",
})  # fmt: skip
# These hold folders of people and of projects; they are none themselves.
_SHARED = frozenset({
    "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/tmp", "/var/www",  # noqa: S108 - names, not used
    "/Users", "/Volumes", "/private", "/private/tmp",
})  # fmt: skip

# What is published is not taken back, so a run that has come this far may end.
_TO_THE_END = frozenset({Phase.PUBLISHING, Phase.COMPACTING, Phase.COLLECTING})

Consent = Callable[[int], bool]
"""Asked with the number of files whether a large folder may be indexed."""


class _TooLong(Exception):
    """The files have been compared for long enough."""


def create(
    codebase: Codebase,
    options: run.RunOptions,
    tell: Tell,
    *,
    consent: Consent,
    environ: Mapping[str, str],
    clock: Clock = SYSTEM_CLOCK,
) -> Freshness:
    """Index a folder that was never indexed. `NotIndexed` says why it is not done by the way."""
    shown = printable(os.fsencode(codebase.root.path))
    why = unwanted(codebase.root, environ, options.home)
    if why is not None:
        raise NotIndexed(path=shown, why=f"{why} is not indexed unless you ask for it")
    if not codebase.config.search.auto_index:
        raise NotIndexed(path=shown, why="your settings leave it to you to index a folder")
    files = _count(codebase, tell)
    if files > AUTO_INDEX_FILES and not consent(files):
        raise NotIndexed(path=shown, why=f"it holds {files:,} files, which takes a while")
    checked = rfc3339(clock.wall_ns())
    report = run.index(codebase, options, tell, clock=clock)
    return Freshness("synced", report.changes.total, checked, snapshot=report.snapshot_id)


def catch_up(
    codebase: Codebase,
    standing: Standing,
    options: run.RunOptions,
    tell: Tell,
    *,
    seconds: float = SYNC_BEFORE_SEARCH_SECONDS,
    clock: Clock = SYSTEM_CLOCK,
) -> Freshness:
    """Bring an index that can answer up to date, within these seconds. Whatever goes wrong, it can still answer."""
    assert standing.state is State.INDEXED
    if standing.writer is not None:
        return Freshness("skipped_indexing")
    until = clock.monotonic() + seconds

    def tell_in_time(at: Progress) -> None:
        if at.phase not in _TO_THE_END and clock.monotonic() > until:
            raise _TooLong
        tell(at)

    checked = rfc3339(clock.wall_ns())
    try:
        report = run.sync(codebase, replace(options, upkeep=False), tell_in_time, clock=clock)
    except StoreBusy:
        return Freshness("skipped_busy")
    except _TooLong:
        return Freshness("sync_failed", trouble="timeout")
    except CairnError as problem:
        return Freshness("sync_failed", trouble=problem.code)
    except OSError:
        return Freshness("sync_failed", trouble=SourceError.code)
    return Freshness("synced", report.changes.total, checked, snapshot=report.snapshot_id)


def unwanted(root: Root, environ: Mapping[str, str], home: str) -> str | None:
    """What a folder is that is never indexed by the way; None for every other one."""
    path = root.path
    if path == "/":
        return "the root of the disk"
    homes = {os.path.realpath(known) for known in (environ.get("HOME"), os.path.expanduser("~")) if known}
    if any(known == path or known.startswith(f"{path}/") for known in homes if known != "/"):
        return "a home folder"
    if path in _SHARED or path in _OF_THE_SYSTEM:
        return "a folder of the system"
    if not root.is_git and any(path.startswith(f"{known}/") for known in _OF_THE_SYSTEM):
        return "a folder of the system"
    own = os.path.realpath(home)
    if path == own or path.startswith(f"{own}/"):
        return "the folder of Cairn's own data"
    return None


def _count(codebase: Codebase, tell: Tell) -> int:
    with Tree(codebase.root) as tree:
        walked = walk(
            tree,
            codebase.config,
            tracked=codebase.tracked,
            progress=lambda names: tell(Progress(Phase.WALKING, names)),
        )
    return len(walked.candidates)
