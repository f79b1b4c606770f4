"""List the verbs of the `cairn` command and where the code of each is; nothing is loaded before it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A verb: one line about it, examples for `--help`, and where its code is.

    `place` is "MODULE:NAME": `configure_NAME` of that module declares the options and `run_NAME` does the work. Verbs
    that share their code are told apart by `options.command`. A verb with `folder` takes the folder that it is about
    as its one argument too, in the place of `--root`. `words` is the argument that stands before the paths, where any
    number of these follow. A verb that is `like_grep` has `-v` for what does not match, and prints nothing with `-q`.
    """

    summary: str
    examples: tuple[str, ...]
    place: str
    several_roots: bool = False
    folder: bool = False
    words: str = ""
    like_grep: bool = False


COMMANDS: dict[str, Command] = {
    "search": Command(
        "find code by meaning, words, names, patterns or paths",
        (
            'cairn "how are snapshots published"',
            "cairn search open_view --mode symbol",
            "cairn search 'TODO|FIXME' src --mode regex -k 50",
            'cairn search "retry with backoff" --lang python --scope runtime --json',
        ),
        "cairn.cli.search:search",
        words="query",
    ),
    "grep": Command(
        "print every line that a pattern matches, as ripgrep does",
        (
            "cairn grep 'TODO|FIXME'",
            "cairn grep -w -t python lease src",
            "cairn grep -l -F 'f(x)' -g '!tests' | xargs wc -l",
            "cairn grep -U 'def steal.*\\n.*return' -A 2",
            "cairn grep publish --format vimgrep",
        ),
        "cairn.cli.grep:grep",
        words="pattern",
        like_grep=True,
    ),
    "outline": Command(
        "show the definitions of a file",
        (
            "cairn outline src/lease.py",
            "cairn outline src/lease.py --symbol Lease",
            "cairn outline README.md:1-80 --json",
        ),
        "cairn.cli.structure:structure",
    ),
    "read": Command(
        "show a file, or some lines of it, as it was indexed",
        ("cairn read src/lease.py", "cairn read src/lease.py:10-40 --annotate", "cairn read src/lease.py:10- --json"),
        "cairn.cli.structure:structure",
    ),
    "symbol": Command(
        "find definitions by their name",
        (
            "cairn symbol LeaseSteal",
            "cairn symbol lseStl -k 20",
            "cairn symbol Lease.steal --exact --json",
            "cairn symbol publish --kind function --lang python",
        ),
        "cairn.cli.structure:structure",
    ),
    "refs": Command(
        "show where a definition is imported and used, and how sure that is",
        (
            "cairn refs publish",
            "cairn refs Lease.steal --json",
            "cairn refs src/lease.py:42 --min-tier likely",
            "cairn refs Lease.steal --local",
        ),
        "cairn.cli.relations:relations",
    ),
    "graph": Command(
        "show who calls a definition and what it calls, and how sure that is",
        (
            "cairn graph Lease.steal",
            "cairn graph publish --callers --depth 2",
            "cairn graph src/lease.py:42 --callees --json",
            "cairn graph publish --format dot | dot -Tsvg > calls.svg",
        ),
        "cairn.cli.relations:relations",
    ),
    "impact": Command(
        "show what a change reaches: callers, heirs, importers, and the tests to run",
        (
            "cairn impact Lease.steal",
            "cairn impact src/lease.py --depth 3",
            "cairn impact --diff",
            "cairn impact --diff main -k 50 --json",
        ),
        "cairn.cli.impact:impact",
    ),
    "similar": Command(
        "find code that is like the code on a line",
        ("cairn similar src/lease.py:42", "cairn similar src/lease.py:42 --same-file -k 20 --json"),
        "cairn.cli.structure:structure",
    ),
    "map": Command(
        "show the codebase in so many tokens: folders, entry points, what others lean on",
        (
            "cairn map",
            "cairn map --max-tokens 4000",
            'cairn map "how are snapshots published"',
            "cairn map src",
            "cairn map --focus src/lease.py --include src --json",
            "cairn map --cycles --include src",
        ),
        "cairn.cli.relations:repo_map",
    ),
    "semantic": Command(
        "let compilers' indexers read the code: sure references, and what may be edited",
        (
            "cairn semantic refresh",
            "cairn semantic refresh --scope src/lease.py",
            "cairn semantic jobs --json",
            "cairn semantic gate src/lease.py src/app.py",
            "cairn semantic plan-rename Lease.steal take | git apply",
        ),
        "cairn.cli.semantic:semantic",
    ),
    "rename": Command(
        "rename a definition and all that names it, or show what that would change",
        (
            "cairn rename Lease.steal take",
            "cairn rename src/lease.py:42 take --apply",
            "cairn rename Lease.steal take | git apply",
            "cairn rename Lease.steal take --apply --json",
        ),
        "cairn.cli.rename:rename",
    ),
    "undo": Command(
        "take back what the last `cairn rename --apply` has written",
        ("cairn undo", "cairn undo --json", "cairn undo --forget"),
        "cairn.cli.rename:undo",
    ),
    "index": Command(
        "index a folder for the first time",
        ("cairn index", "cairn index ~/src/project", "cairn index --allow-degraded --json"),
        "cairn.cli.index:index",
        folder=True,
    ),
    "sync": Command(
        "bring the index up to date with the files",
        ("cairn sync", "cairn sync ~/src/project", "cairn sync -q", "cairn sync --json"),
        "cairn.cli.index:index",
        folder=True,
    ),
    "reindex": Command(
        "build the index again from nothing, beside the old one",
        ("cairn reindex", "cairn reindex --root ~/src/project"),
        "cairn.cli.index:index",
        folder=True,
    ),
    "clear": Command(
        "empty the index; it stays empty until you index again",
        ("cairn clear", "cairn clear --json"),
        "cairn.cli.index:index",
    ),
    "status": Command(
        "say where the index stands",
        ("cairn status", "cairn status ~/src/project", "cairn status --json", "cairn status -q || cairn index"),
        "cairn.cli.store:status",
        folder=True,
    ),
    "snapshots": Command(
        "list the snapshots that are kept",
        ("cairn snapshots", "cairn snapshots --json"),
        "cairn.cli.store:snapshots",
        folder=True,
    ),
    "list": Command(
        "list every codebase that you have indexed, and where it stands",
        ("cairn list", "cairn list --json"),
        "cairn.cli.store:codebases",
    ),
    "stores": Command(
        "list every index that you have, or remove them all",
        ("cairn stores", "cairn stores --json", "cairn stores --purge --dry-run", "cairn stores --purge --yes"),
        "cairn.cli.store:stores",
    ),
    "health": Command(
        "read the whole index again and say what is wrong with it",
        ("cairn health", "cairn health --json"),
        "cairn.cli.upkeep:health",
        folder=True,
    ),
    "doctor": Command(
        "say what this machine has of what Cairn needs and can use",
        ("cairn doctor", "cairn doctor --json"),
        "cairn.cli.doctor:doctor",
    ),
    "audit": Command(
        "compare the index with the files it was made from",
        ("cairn audit", "cairn audit --full", "cairn audit --sample 1000 --json"),
        "cairn.cli.upkeep:audit",
        folder=True,
    ),
    "repair": Command(
        "mend a damaged index, reading again no more than it takes",
        ("cairn repair --dry-run", "cairn repair", "cairn repair --json"),
        "cairn.cli.upkeep:repair",
        folder=True,
    ),
    "upgrade-store": Command(
        "bring an index that an older version wrote to the format of this one",
        ("cairn upgrade-store", "cairn upgrade-store --root ~/src/project --json"),
        "cairn.cli.upkeep:upgrade",
        folder=True,
    ),
    "compact": Command(
        "write the index anew in few pieces, without what is dead in it",
        ("cairn compact", "cairn compact --json"),
        "cairn.cli.upkeep:compact",
        folder=True,
    ),
    "engine": Command(
        "send the index to a search server, bring it back, or say how that stands",
        (
            "cairn engine status",
            "cairn engine push",
            "cairn engine pull --root ~/src/project",
            "cairn engine status --json",
        ),
        "cairn.cli.engine:engine",
    ),
    "gc": Command(
        "remove old snapshots and what only they used, or indexes that nobody uses",
        ("cairn gc --dry-run", "cairn gc", "cairn gc --stores --unused-days 90 --dry-run", "cairn gc --stores --json"),
        "cairn.cli.upkeep:gc",
    ),
    "files": Command(
        "list the files that belong in the index, or what is left out and why",
        ("cairn files", "cairn files --skipped", "cairn files ~/src/project --json"),
        "cairn.cli.index:files",
        folder=True,
    ),
    "why": Command(
        "say which rule took a path in or out",
        ("cairn why build/output.js", "cairn why .env", "cairn why src/main.py --json"),
        "cairn.cli.index:why",
    ),
    "eval": Command(
        "measure how good the answers are",
        (
            "cairn eval --from-git",
            "cairn eval benchmark/data --repos benchmark/repos --half dev",
            "cairn eval --from-git --no-signal filename --json",
        ),
        "cairn.cli.eval:eval",
    ),
    "mcp": Command(
        "serve coding agents: the tools of this index over MCP",
        (
            "cairn mcp",
            "cairn mcp --root ~/src/project --root ~/src/library",
            "cairn mcp --http --port 8717",
            "cairn mcp --format json",
        ),
        "cairn.cli.serving:mcp",
        several_roots=True,
    ),
    "watch": Command(
        "keep the index of a folder up with its files until you stop it",
        ("cairn watch", "cairn watch ~/src/project", "cairn watch --json"),
        "cairn.cli.serving:watch",
        folder=True,
    ),
    "daemon": Command(
        "keep codebases open in the background, so that answers come at once",
        (
            "cairn daemon start",
            "cairn daemon start --root ~/src/project",
            "cairn daemon status --json",
            "cairn daemon stop",
        ),
        "cairn.cli.serving:daemon",
        several_roots=True,
    ),
    "install": Command(
        "register Cairn with the coding agents on this machine",
        (
            "cairn install --dry-run",
            "cairn install",
            "cairn install claude codex --yes --instructions",
            "cairn install cursor --project --yes",
            "cairn install other",
        ),
        "cairn.cli.install:install",
    ),
    "uninstall": Command(
        "take back what `cairn install` has written",
        ("cairn uninstall --dry-run", "cairn uninstall", "cairn uninstall codex --yes --json"),
        "cairn.cli.install:install",
    ),
    "completion": Command(
        "print a completion script for your shell",
        ('eval "$(cairn completion bash)"', "cairn completion fish > ~/.config/fish/completions/cairn.fish"),
        "cairn.cli.completion:completion",
    ),
}


GROUPS: dict[str, tuple[str, ...]] = {
    "find": ("search", "grep", "symbol", "refs", "similar", "read", "files", "why"),
    "structure": ("outline", "map", "graph", "impact"),
    "change": ("rename", "undo", "semantic"),
    "index": ("index", "sync", "reindex", "clear", "status", "list", "watch"),
    "upkeep": (
        "doctor", "health", "audit", "repair", "snapshots", "stores", "gc", "compact", "upgrade-store", "engine",
        "eval",
    ),
    "agents and editors": ("mcp", "daemon", "install", "uninstall", "completion"),
}  # fmt: skip
"""The verbs by what they are for, as `cairn --help` lists them."""


COMMANDS_OF_SERVERS = frozenset({"mcp", "daemon", "watch", "completion"})
"""Commands that serve others or print a script: they write to no tree, not even to finish an edit that was cut off."""


def code_of(place: str, what: str) -> Callable[..., Any]:
    """Return the function that declares a verb's options (`configure`) or does its work (`run`); loads its module."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), f"{what}_{name}")
    return found
