"""The agents that Cairn knows: how each is found, where its settings are, and what it reads before it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from cairn.install.edits import EntryFormat, ServerEntry
from cairn.install.texts import JsonEntry, TomlEntry
from cairn.source.programs import ProgramPath


class SettingsScope(StrEnum):
    """Whose settings: the user's own, which count everywhere, or those of one project."""

    USER = "user"
    PROJECT = "project"


class Agent(NamedTuple):
    """A coding agent. Paths of a project are relative to its root, and `home` and `page` are of the user.

    `home` are the folders and files that show that it is used on this machine; the first of `pages` is what it reads of
    the user's, empty when there is no such file, the second what it reads of a project.
    """

    name: str
    title: str
    commands: tuple[str, ...]
    home: tuple[str, ...]
    in_project: tuple[str, ...]
    files: tuple[str, str]
    pages: tuple[str, str]
    table: str

    def file(self, scope: SettingsScope, root: str | None) -> str:
        """Where its servers are listed."""
        return _place(self.files, scope, root)

    def page(self, scope: SettingsScope, root: str | None) -> str | None:
        """Where it reads instructions; None when that is no file."""
        return _place(self.pages, scope, root) or None

    def format(self, server: ServerEntry) -> EntryFormat:
        """How a server is written there."""
        if self.files[1].endswith(".toml"):
            return TomlEntry(self.table, server)
        return JsonEntry(self.table, server, kind="stdio" if self.name == "vscode" else None)

    def is_found(self, environ: Mapping[str, str], root: str | None) -> bool:
        """Whether it is on this machine, or, when a project is meant, in use there."""
        # A program that a repository brings shows nothing: nobody has installed it.
        programs = ProgramPath(environ, root or "")
        if any(programs.find(name) for name in self.commands):
            return True
        inside = [os.path.join(root, name) for name in self.in_project] if root else []
        return any(map(os.path.lexists, [*self.home, *inside]))


def _place(places: tuple[str, str], scope: SettingsScope, root: str | None) -> str:
    if scope is SettingsScope.USER:
        return places[0]
    assert root is not None
    return os.path.join(root, places[1])


def agents(environ: Mapping[str, str]) -> dict[str, Agent]:
    """All agents by their name, with the places that this user's environment gives them."""
    home = environ.get("HOME") or os.path.expanduser("~")
    claude = environ.get("CLAUDE_CONFIG_DIR")
    claude_folder = claude or os.path.join(home, ".claude")
    claude_file = os.path.join(claude or home, ".claude.json")
    codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    cursor = os.path.join(home, ".cursor")
    settings = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    code = os.path.join(settings, "Code", "User")
    found = (
        Agent(
            "claude",
            "Claude Code",
            ("claude",),
            (claude_folder, claude_file),
            (".mcp.json", ".claude", "CLAUDE.md"),
            (claude_file, ".mcp.json"),
            (os.path.join(claude_folder, "CLAUDE.md"), "CLAUDE.md"),
            "mcpServers",
        ),
        Agent(
            "codex",
            "Codex",
            ("codex",),
            (codex,),
            (".codex",),
            (os.path.join(codex, "config.toml"), ".codex/config.toml"),
            (os.path.join(codex, "AGENTS.md"), "AGENTS.md"),
            "mcp_servers",
        ),
        Agent(
            "cursor",
            "Cursor",
            ("cursor", "cursor-agent"),
            (cursor,),
            (".cursor", ".cursorrules"),
            (os.path.join(cursor, "mcp.json"), ".cursor/mcp.json"),
            ("", "AGENTS.md"),
            "mcpServers",
        ),
        Agent(
            "vscode",
            "VS Code",
            ("code",),
            (code, os.path.join(home, ".vscode")),
            (".vscode",),
            (os.path.join(code, "mcp.json"), ".vscode/mcp.json"),
            ("", "AGENTS.md"),
            "servers",
        ),
    )
    return {agent.name: agent for agent in found}
