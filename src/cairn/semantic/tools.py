"""Find the indexers on this machine: named by the user, on PATH, or in the tools folder of Cairn.

A program below the root is never run, nor one in its `node_modules/.bin` or its virtual environments.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import TOOLS_NAME, SemanticConfig, cairn_home
from cairn.core.limits import INDEXER_VERSION_SECONDS
from cairn.errors import (
    IndexerMissing,
)
from cairn.semantic.indexers import INDEXERS, Indexer
from cairn.semantic.model import Family
from cairn.semantic.process import run_to_end
from cairn.source.programs import ProgramPath, is_program, path_variable

# Where npm and Go put programs below a folder that they are given.
_BELOW = ("bin", "node_modules/.bin")
_SCRIPTS = (".js", ".cjs", ".mjs")
# A name below a device: nothing is found there, and nobody can create anything there.
NOWHERE = "/dev/null"
# Where builds find their own files. Nothing else of our environment is passed on to an indexer.
_FOR_BUILDS = ("HOME", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "GRADLE_USER_HOME", "DOTNET_ROOT", "GEM_HOME")


@dataclass(frozen=True, slots=True)
class IndexerTool:
    """An indexer that was found: the command that starts it, and its environment."""

    indexer: Indexer
    program: str
    command: tuple[str, ...]
    environ: Mapping[str, str]


def find_tool(
    indexer: Indexer, *, root: str, home: str, environ: Mapping[str, str], settings: SemanticConfig
) -> IndexerTool:
    """Return the indexer as it is to be started for this root; `IndexerMissing` says what is missing."""
    programs = ProgramPath(environ, root)
    program = _named(indexer, settings, environ)
    if program is None:
        program = programs.find(indexer.name, also_in=_own_folders(home))
        if program is None:
            raise _missing(indexer, home, f"there is no program {indexer.name} on PATH")
    elif not is_program(program):
        raise _missing(indexer, home, "what [semantic] in your config.toml names is not a program")
    runtime = programs.find(indexer.runtime) if indexer.runtime else None
    if indexer.runtime and runtime is None and not indexer.runs_builds:
        raise _missing(indexer, home, f"it needs {indexer.runtime}, which is not on PATH")
    command: tuple[str, ...] = (program,)
    seen: Iterable[str] = programs.folders
    if runtime is not None and not indexer.runs_builds:
        seen = (os.path.dirname(runtime),)
    if indexer.runtime == "node" and runtime is not None:
        real = os.path.realpath(program)
        # It sees no other program at all: neither a Python, whose packages it would take in, nor git. One that is
        # started by a script of a package manager has to find its own way.
        command, seen = ((runtime, real), (NOWHERE,)) if real.endswith(_SCRIPTS) else (command, programs.folders)
    ours = {name: environ[name] for name in _FOR_BUILDS if name in environ} if indexer.runs_builds else {}
    return IndexerTool(indexer, program, command, {"HOME": NOWHERE, "LANG": "C.UTF-8"} | ours | path_variable(seen))


def install_command(indexer: Indexer, home: str) -> str:
    """Return the command that installs an indexer."""
    return indexer.install.format(tools=shlex.quote(os.path.join(home, TOOLS_NAME)))


def _own_folders(home: str) -> list[str]:
    """Return the folders with programs for Cairn alone; none when other users could have written there."""
    tools = os.path.join(home, TOOLS_NAME)
    for folder in (home, tools):
        try:
            found = os.stat(folder)
        except OSError:
            return []
        if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return []
    return [os.path.join(tools, below) for below in _BELOW]


def _named(indexer: Indexer, settings: SemanticConfig, environ: Mapping[str, str]) -> str | None:
    path = dict(settings.tools).get(indexer.name)
    if path is not None and path.startswith("~/"):
        return os.path.join(environ.get("HOME") or os.path.expanduser("~"), path[2:])
    return path


def _missing(indexer: Indexer, home: str, why: str) -> IndexerMissing:
    return IndexerMissing(
        indexer=indexer.name, family=indexer.family.value, why=why, install=install_command(indexer, home)
    )


class _VersionTimeout(Exception):
    """The indexer did not print its version in time."""


def tool_version(tool: IndexerTool, clock: Clock = SYSTEM_CLOCK) -> tuple[str, str]:
    """Return the version that an indexer prints and an empty reason, or no version and the reason."""
    until = clock.monotonic() + INDEXER_VERSION_SECONDS

    def look(_: int) -> None:
        if clock.monotonic() > until:
            raise _VersionTimeout

    try:
        ended = run_to_end([*tool.command, "--version"], cwd="/", environ=tool.environ, look=look, clock=clock)
    except _VersionTimeout:
        return "", f"it did not say its version in {INDEXER_VERSION_SECONDS:g} seconds"
    found = re.search(rb"[0-9]+\.[0-9]+[0-9A-Za-z.+-]*", ended.said)
    return ("", ended.reason) if ended.status or found is None else (found[0].decode(), "")


# --- reports ----------------------------------------------------------------------------------------------------------


class IndexerReport(NamedTuple):
    """One indexer: its path (None: not found) and version, or what is wrong, and the command that installs it.

    `tested` is false for an indexer that our own tests never ran: it may work.
    """

    name: str
    family: Family
    program: str | None
    version: str | None
    trouble: str
    install: str
    tested: bool
    runs_builds: bool


def indexer_table(
    environ: Mapping[str, str], settings: SemanticConfig, *, root: str = "", clock: Clock = SYSTEM_CLOCK
) -> tuple[IndexerReport, ...]:
    """Return a report on every indexer of the table; only the version of each found indexer is asked for.

    What lies below `root` is neither looked at nor run.
    """
    home = cairn_home(environ)
    return tuple(_report(indexer, root, home, environ, settings, clock) for indexer in INDEXERS)


def _report(
    indexer: Indexer, root: str, home: str, environ: Mapping[str, str], settings: SemanticConfig, clock: Clock
) -> IndexerReport:
    program, version, trouble = None, "", ""
    try:
        tool = find_tool(indexer, root=root, home=home, environ=environ, settings=settings)
    except IndexerMissing as problem:
        trouble = str(problem.fields["why"])
    else:
        program = tool.program
        version, trouble = tool_version(tool, clock)
    return IndexerReport(
        name=indexer.name,
        family=indexer.family,
        program=program,
        version=version or None,
        trouble=trouble,
        install=install_command(indexer, home),
        tested=indexer.tested,
        runs_builds=indexer.runs_builds,
    )
