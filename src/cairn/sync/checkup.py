"""Check the machine and the user's folder for everything that Cairn needs or can use, without changing anything."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator, Mapping

from cairn.core.config import cairn_home
from cairn.core.limits import MIB
from cairn.errors import CairnError, StoreError, StoreUnreadable
from cairn.source.git import git_version
from cairn.source.root import printable
from cairn.store import Disk, Home, Store
from cairn.sync.inventory import at_home
from cairn.sync.report import Check, Severity

_INOTIFY = "/proc/sys/fs/inotify"
_FEW_WATCHES = 65_536
_FEW_INSTANCES = 64
_LITTLE_SPACE = 1024 * MIB
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_up(environ: Mapping[str, str], root: str) -> Iterator[Check]:
    """Yield one check for each thing that was looked at. No program in the root is run."""
    yield Check("python", None, f"Python {platform.python_version()}")
    yield Check("sqlite", None, f"SQLite {Home.database_version()}")
    yield _git(environ, root)
    yield from _watches()
    yield from _home(cairn_home(environ))


def _git(environ: Mapping[str, str], root: str) -> Check:
    version = git_version(environ, root)
    if version is not None:
        return Check("git", None, version)
    advice = "Install git: without it changes are found by comparing files, and no commit is known."
    return Check("git", Severity.WARNING, "There is no git on PATH, outside of this codebase, that answers.", advice)


# --- the system -------------------------------------------------------------------------------------------------------


def _watches() -> Iterator[Check]:
    """Check how many folders and programs the system lets watch for changes."""
    for name, what, few in (
        ("max_user_watches", "folders that can be watched", _FEW_WATCHES),
        ("max_user_instances", "programs that can watch", _FEW_INSTANCES),
    ):
        found = _number(f"{_INOTIFY}/{name}")
        if found is None:
            yield Check(name, Severity.NOTE, f"How many {what} is not known here.")
        elif found < few:
            advice = f"Changes are found later without it; `sysctl fs.inotify.{name}={few}` raises it."
            yield Check(name, Severity.WARNING, f"{found:,} {what}, which is few.", advice)
        else:
            yield Check(name, None, f"{found:,} {what}")


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return None


# --- the user's folder ------------------------------------------------------------------------------------------------


def _home(home: str) -> Iterator[Check]:
    shown = printable(os.fsencode(home))
    try:
        with at_home(home, "") as disk:
            yield _mine(disk, shown)
            yield _space(disk, shown)
            yield _registry(home)
    except FileNotFoundError:
        yield Check("home", Severity.NOTE, f"{shown} is not there yet: nothing was ever indexed.")
    except OSError as problem:
        yield _unusable(Store.trouble(home, problem))
    except StoreError as problem:
        yield _unusable(problem)


def _unusable(problem: CairnError) -> Check:
    return Check("home", Severity.ERROR, problem.sentence, problem.advice)


def _mine(disk: Disk, shown: str) -> Check:
    found = disk.stat("")
    if found.uid != os.geteuid():
        advice = "Set CAIRN_HOME to a folder of yours."
        return Check("home", Severity.ERROR, f"{shown} belongs to another user.", advice)
    if not found.mode & stat.S_IWUSR:
        advice = f"`chmod u+w {shown}` lets indexes be brought up to date."
        return Check("home", Severity.WARNING, f"You may not write in {shown}.", advice)
    if found.mode & _OTHERS and not disk.modes.shared:
        advice = f"`chmod go= {shown}` closes it: indexes hold the text of your files."
        return Check("home", Severity.WARNING, f"Others can look into {shown}.", advice)
    return Check("home", None, f"{shown}, yours alone" if not disk.modes.shared else f"{shown}, of your group")


def _space(disk: Disk, shown: str) -> Check:
    free = disk.usage.free_bytes()
    left = f"{free // MIB:,} MiB left on the disk of {shown}"
    if free >= _LITTLE_SPACE:
        return Check("disk", None, left)
    return Check("disk", Severity.WARNING, f"{left}, which is little.", "`cairn gc` and `cairn gc --stores` free some.")


def _registry(home: str) -> Check:
    try:
        known = len(Home(home).tracked())
    except (StoreError, StoreUnreadable) as problem:
        advice = "The next run makes it anew from the indexes; how earlier runs ended is lost."
        return Check("registry", Severity.WARNING, problem.sentence, advice)
    return Check("registry", None, f"{known:,} {'codebase' if known == 1 else 'codebases'} known")
