"""Right after a change every tool of the real `cairn mcp` sees it, or says that it has not looked at everything.

The matrix: every tool that reads, every kind of change, with the daemon and without it; the long run adds busy loops
beside. Each question is asked at once after the change, over the pipe of a real process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.repos import checkout, commit, make_repo
from tests.support.servers import HELLO, READY, Agent, Mcp, no_daemon_left

FENCE = "class Fence:\n    def claim(self):\n        return seal()\n\n\ndef seal():\n    return 1\n"
LEASE = "class Lease:\n    def steal(self):\n        return take()\n\n\ndef take():\n    return 1\n"
SAME_SIZE = LEASE.replace("Lease", "Fence").replace("steal", "claim").replace("take", "seal")


def _new_file(tree: Path) -> str:
    (tree / "fence.py").write_text(FENCE)
    return "fence.py"


def _edit(tree: Path) -> str:
    (tree / "lease.py").write_text("\n\n" + FENCE)
    return "lease.py"


def _edit_of_the_same_size_and_time(tree: Path) -> str:
    before = (tree / "lease.py").stat()
    (tree / "lease.py").write_text(SAME_SIZE)
    os.utime(tree / "lease.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    return "lease.py"


def _atomic_replace(tree: Path) -> str:
    (tree / "lease.py.tmp").write_text(FENCE)
    (tree / "lease.py.tmp").rename(tree / "lease.py")
    return "lease.py"


def _rename(tree: Path) -> str:
    (tree / "lease.py").rename(tree / "fence.py")
    return _new_file(tree)


def _rename_of_case(tree: Path) -> str:
    (tree / "lease.py").rename(tree / "Lease.py")
    (tree / "Lease.py").write_text(FENCE)
    return "Lease.py"


def _new_folder(tree: Path) -> str:
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "fence.py").write_text(FENCE)
    return "deep/er/fence.py"


def _branch(tree: Path) -> str:
    checkout(tree, "other")
    return "fence.py"


def _no_longer_ignored(tree: Path) -> str:
    (tree / ".gitignore").write_text("")
    return "hidden.py"


CHANGES: dict[str, Callable[[Path], str]] = {
    "a new file": _new_file,
    "an edit": _edit,
    "an edit of the same size and time": _edit_of_the_same_size_and_time,
    "an atomic replace": _atomic_replace,
    "a rename": _rename,
    "a rename of case": _rename_of_case,
    "a new folder": _new_folder,
    "another branch": _branch,
    "no longer ignored": _no_longer_ignored,
}


def _questions(file: str) -> dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]]:
    """For each tool its arguments, and whether an answer shows the change."""

    def has(answer: dict[str, Any]) -> bool:
        return any(row.get("symbol") == "Fence" for row in answer.get("results", ()))

    return {
        "find_symbol": ({"name": "Fence"}, has),
        "find_symbol references": (
            {"name": "seal", "references": True},
            lambda answer: any(row["path"] == file for row in answer.get("results", ())),
        ),
        "file_outline": ({"file": file}, has),
        "read_file": ({"file": file}, lambda answer: "class Fence" in answer.get("text", "")),
        "call_graph": ({"symbol": "seal"}, lambda answer: len(answer.get("nodes", ())) == 2),
        "repo_map": ({}, lambda answer: "class Fence" in answer.get("text", "")),
        "search_codebase": (
            {"query": "class Fence", "mode": "regex"},
            lambda answer: [row["path"] for row in answer.get("results", ())] == [file],
        ),
        "search_codebase names": ({"query": "Fence", "mode": "symbol"}, has),
        "search_codebase paths": (
            {"query": file, "mode": "path"},
            lambda answer: file in [row["path"] for row in answer.get("results", ())],
        ),
    }


def _is_honest(answer: dict[str, Any]) -> bool:
    """Whether an answer that does not show a change says that it has not looked at everything."""
    exhaustive = answer.get("coverage", {}).get("exhaustive", False)
    return bool(answer["warnings"]) and not exhaustive and answer["hints"].get("retryAfterMs", 0) > 0


@pytest.fixture
def tree(agent: Agent) -> Path:
    """A repository with two branches, indexed on the first."""
    made = make_repo(agent.tree)
    (made / "lease.py").write_text(LEASE)
    (made / ".gitignore").write_text("hidden.py\n")
    (made / "hidden.py").write_text(FENCE)
    commit(made)
    checkout(made, "other", new=True)
    (made / "fence.py").write_text(FENCE)
    commit(made)
    checkout(made, "main")
    agent.index()
    return made


@contextlib.contextmanager
def _busy(loops: int) -> Iterator[None]:
    """So many processes beside that do nothing but work."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def ask_everything(agent: Agent, tree: Path, change: Callable[[Path], str], *options: str) -> None:
    with no_daemon_left(agent.environ), Mcp(agent, *options) as server:
        server.said(HELLO)
        server.send(READY)
        assert server.ask("find_symbol", name="Lease")["status"] == "ok"
        file = change(tree)
        for number, (tool, (arguments, shows)) in enumerate(_questions(file).items()):
            answer = server.ask(tool.split()[0], **arguments)
            assert shows(answer) or _is_honest(answer), (tool, answer)
            if number == 0:
                assert shows(answer), "a small tree is always compared in time"


@pytest.mark.parametrize("change", ["an edit of the same size and time", "another branch"])
def test_a_server_by_itself_sees_a_change_at_once(agent: Agent, tree: Path, change: str) -> None:
    ask_everything(agent, tree, CHANGES[change], "--offline")


@pytest.mark.parametrize("change", ["a new file", "no longer ignored"])
def test_a_server_with_a_daemon_sees_a_change_at_once(agent: Agent, tree: Path, change: str) -> None:
    ask_everything(agent, tree, CHANGES[change])


@pytest.mark.long
@pytest.mark.parametrize("loops", [0, 8])
@pytest.mark.parametrize("options", [("--offline",), ()], ids=["alone", "with a daemon"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_tool_sees_every_change_at_once_or_says_so(
    agent: Agent, tree: Path, change: str, options: tuple[str, ...], loops: int
) -> None:
    with _busy(loops):
        ask_everything(agent, tree, CHANGES[change], *options)
