"""Which verbs of the command line a daemon runs for those who typed them, and which it leaves to them."""

from __future__ import annotations

RENDERED = frozenset({"search", "outline", "read", "symbol", "refs", "graph", "similar", "map", "status", "list"})
# Nobody stands in for these: they write, they serve, they ask the person, or they speak to the daemon themselves.
OWN = frozenset({
    "index", "sync", "reindex", "clear", "snapshots", "stores", "health", "audit", "repair", "upgrade-store", "compact",
    "gc", "files", "why", "eval", "mcp", "install", "uninstall", "completion", "daemon", "watch", "doctor", "semantic",
    "engine", "help",
})  # fmt: skip


def named(typed: object) -> str:
    """The verb that a command line begins with; a first word that is none is what to look for."""
    return typed if isinstance(typed, str) and (typed in RENDERED or typed in OWN) else "search"
