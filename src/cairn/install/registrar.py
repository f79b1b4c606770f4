"""Who is registered where: plans for the agents of this machine, carried out one file at a time, with a record.

The record is written before a file is changed, and after one is restored: a kill in between loses no way back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cairn.core.config import INSTALLED_NAME, cairn_home
from cairn.errors import SettingsRefused
from cairn.install import files
from cairn.install.edits import NAME, EntryFormat, ServerEntry, Unfit
from cairn.install.known import Agent, SettingsScope, agents
from cairn.install.plans import (
    INSTRUCTIONS,
    PAGE,
    SERVER,
    Change,
    FileOutcome,
    plan_install,
    plan_removal,
    plan_uninstall,
    targets,
)
from cairn.install.record import KINDS, WrittenChange, decode, encode
from cairn.install.texts import Block, JsonEntry, TomlEntry
from cairn.source.root import printable

_NOTHING = ServerEntry("", ())


class Registrar:
    """The agents that this user has, and what Cairn has written for them. `root` is the project that is meant."""

    def __init__(self, environ: Mapping[str, str], root: str | None = None) -> None:
        self.agents = agents(environ)
        self._environ, self._root = environ, root
        path = os.path.join(cairn_home(environ), INSTALLED_NAME)
        try:
            self._file = files.look(path)
            self._record = decode(self._file.data)
        except Unfit as problem:
            raise SettingsRefused(path=printable(os.fsencode(path)), why=problem) from None

    @property
    def scope(self) -> SettingsScope:
        return SettingsScope.USER if self._root is None else SettingsScope.PROJECT

    def found(self) -> list[Agent]:
        """The agents that are on this machine, and in use in the project when one is meant."""
        return [agent for agent in self.agents.values() if agent.is_found(self._environ, self._root)]

    def install(self, chosen: Sequence[Agent], kind: str = SERVER) -> list[Change]:
        """What is to be written so that these agents know Cairn."""
        server = running_server(self._environ, self._root)
        return [
            plan_install(target, self.scope, self._root, self._record)
            for target in targets(chosen, self.scope, self._root, kind, server)
        ]

    def uninstall(self, chosen: Sequence[Agent]) -> list[Change]:
        """What is to be written to take back all that was written for these agents; for none named, for all.

        With a project, only what is in there. For an agent that is named, also what no record knows of.
        """
        names = {agent.name for agent in chosen} or {name for one in self._record.values() for name in one.agents}
        known = [one for one in self._record.values() if self._root in (None, one.project) and names & set(one.agents)]
        changes = [plan_uninstall(one, names, _format(one)) for one in known]
        for kind in KINDS:
            for target in targets(chosen, self.scope, self._root, kind, _NOTHING):
                change = plan_removal(target, self.scope, self._root)
                if change.key not in self._record and change.outcome is not FileOutcome.ABSENT:
                    changes.append(change)
        return changes

    def write(self, change: Change) -> Change:
        """Carry out one change. When the file cannot be changed it says why, and both it and the record stay."""
        before = self._record.get(change.key)
        removes = change.outcome in (FileOutcome.REMOVED, FileOutcome.ABSENT)
        try:
            if not removes:
                self._note(change, change.written or before)
            if change.writes:
                try:
                    files.replace(change.found, change.after, private=change.scope is SettingsScope.USER)
                except Unfit:
                    if not removes:
                        self._note(change, before)
                    raise
            if removes:
                files.remove_folders(change.folders)
                self._note(change, None)
        except Unfit as problem:
            return change.refused(str(problem))
        return replace(change, found=files.FoundFile(change.found.path, change.after if change.writes else None))

    def _note(self, change: Change, written: WrittenChange | None) -> None:
        record = {key: one for key, one in self._record.items() if key != change.key}
        if written is not None:
            record[written.key] = written
        if record == self._record:
            return
        data = encode(record) if record else None
        try:
            files.replace(self._file, data, private=True)
        except Unfit as problem:
            raise Unfit(f"the record {printable(os.fsencode(self._file.path))} cannot be kept ({problem})") from None
        self._file, self._record = files.FoundFile(self._file.path, data), record


def running_server(environ: Mapping[str, str], root: str | None) -> ServerEntry:
    """The call of `cairn mcp` by the program that runs now, wherever the agent starts it."""
    script, beside = os.path.abspath(sys.argv[0]), os.path.join(os.path.dirname(sys.executable), NAME)
    found = next((one for one in (script, beside) if os.path.basename(one) == NAME and os.access(one, os.X_OK)), None)
    # -P: a folder called `cairn` where the agent works is not the program.
    command = [found] if found else [sys.executable, "-P", "-m", NAME]
    home = environ.get("CAIRN_HOME")
    where = ["--root", root] if root is not None else []
    return ServerEntry(command[0], (*command[1:], "mcp", *where), (("CAIRN_HOME", home),) if home else ())


def _format(written: WrittenChange) -> EntryFormat:
    if written.kind == PAGE:
        return Block(INSTRUCTIONS)
    entry = TomlEntry if written.file.endswith(".toml") else JsonEntry
    return entry(written.table, _NOTHING)
