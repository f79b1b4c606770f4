"""Tools that read see the files as they are, or say what they have not looked at; nothing is written for that."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cairn.ask import overlay, session
from cairn.store import RunKind
from tests.support.faults import Faults
from tests.support.repos import run_git as git
from tests.support.servers import Agent

NEW = "class Fence:\n    def claim(self):\n        return take()\n"
Change = Callable[[Path], None]


def _created(tree: Path) -> None:
    (tree / "fence.py").write_text(NEW)


def _replaced(tree: Path) -> None:
    (tree / "lease.py").write_text("\n\n" + NEW)


def _renamed(tree: Path) -> None:
    (tree / "lease.py").rename(tree / "fence.py")
    (tree / "fence.py").write_text(NEW)


def _same_times(tree: Path) -> None:
    """An edit that puts the time of the file back."""
    before = (tree / "lease.py").stat()
    (tree / "lease.py").write_text(NEW)
    os.utime(tree / "lease.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def _through_a_hard_link(tree: Path) -> None:
    other = tree.parent / "linked.py"
    os.link(tree / "lease.py", other)
    other.write_text(NEW)


CHANGES: dict[str, Change] = {
    "a new file": _created,
    "other lines": _replaced,
    "a rename": _renamed,
    "times put back": _same_times,
    "through a hard link": _through_a_hard_link,
}


def _symbols(answer: dict[str, Any]) -> list[str]:
    return [row["symbol"] for row in answer.get("results", ())]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_was_changed_a_moment_ago_is_seen_by_every_tool_that_reads(indexed: Agent, change: Change) -> None:
    assert indexed.ask("find_symbol", name="Fence")["coverage"]["exhaustive"] is True
    before = indexed.stored()
    change(indexed.tree)
    [file] = [path for path in indexed.tree.glob("*.py") if "Fence" in path.read_text()]
    digest = sha256(file.read_bytes()).hexdigest()
    found = indexed.ask("find_symbol", name="Fence")
    assert (found["freshness"]["mode"], found["coverage"]["exhaustive"]) == ("overlay", True)
    [row] = [row for row in found["results"] if row["symbol"] == "Fence"]
    assert (row["path"], row["source"], row["sha256"]) == (file.name, "working_tree", digest)
    assert row["startLine"] == 1 + file.read_text().splitlines().index("class Fence:")
    assert "Fence.claim" in _symbols(indexed.ask("file_outline", file=file.name))
    assert "class Fence:" in indexed.ask("read_file", file=file.name)["text"]
    nodes = indexed.ask("call_graph", symbol="Fence.claim")["nodes"]
    assert nodes[0]["source"] == "working_tree"
    assert "Fence" in indexed.ask("repo_map")["text"]
    assert indexed.stored() == before, "a tool that reads writes nothing"


def test_a_file_that_is_gone_is_in_no_answer(indexed: Agent) -> None:
    (indexed.tree / "lease.py").unlink()
    found = indexed.ask("find_symbol", name="Lease")
    assert (found["results"], found["coverage"]["exhaustive"]) == ([], True)
    assert indexed.ask("read_file", file="lease.py")["status"] == "not_found"


def test_after_a_switch_of_branches_the_new_tree_answers(indexed: Agent) -> None:
    git(indexed.tree, "init", "-q")
    git(indexed.tree, "add", "-A")
    git(indexed.tree, "commit", "-qm", "one")
    indexed.index()
    git(indexed.tree, "checkout", "-qb", "other")
    _renamed(indexed.tree)
    git(indexed.tree, "add", "-A")
    git(indexed.tree, "commit", "-qm", "two")
    assert "Fence" in _symbols(indexed.ask("find_symbol", name="Fence"))
    git(indexed.tree, "checkout", "-q", "-")
    assert indexed.ask("find_symbol", name="Fence")["results"] == []
    assert "Lease" in _symbols(indexed.ask("find_symbol", name="Lease"))


def test_what_is_not_compared_in_time_is_said_and_nothing_is_called_exhaustive(indexed: Agent, faults: Faults) -> None:
    indexed.ask("find_symbol", name="Lease")
    _created(indexed.tree)
    faults.fail(session, "compare", session._CompareTimeout())
    found = indexed.ask("find_symbol", name="Fence")
    assert (found["freshness"]["mode"], found["coverage"]["exhaustive"]) == ("unfinished", False)
    assert "could not all be compared" in found["warnings"][0]
    assert found["hints"]["retryAfterMs"] > 0


def test_more_changed_files_than_are_read_are_counted(indexed: Agent, faults: Faults) -> None:
    faults.limit(overlay, MAX_OVERLAY_FILES=2)
    for number in range(5):
        (indexed.tree / f"fence{number}.py").write_text(f"class Fence{number}: ...\n")
    found = indexed.ask("find_symbol", name="Fence4")
    assert (found["freshness"]["mode"], found["coverage"]["exhaustive"]) == ("unfinished", False)
    assert found["warnings"][0].startswith("3 changed files were not read for this answer")


def test_a_search_whose_sync_takes_long_reads_the_changed_files_itself(indexed: Agent) -> None:
    _created(indexed.tree)
    with indexed.writing(RunKind.SYNC):
        found = indexed.ask("search_codebase", query="class Fence", mode="regex")
    assert [row["path"] for row in found["results"]] == ["fence.py"]
    assert (found["freshness"]["mode"], found["coverage"]["exhaustive"]) == ("overlay", True)


def test_pages_of_an_answer_with_changed_files_follow_one_another_or_are_refused(indexed: Agent) -> None:
    for number in range(4):
        (indexed.tree / f"fence{number}.py").write_text(f"class Fence{number}: ...\n")
    with indexed.writing(RunKind.SYNC):
        first = indexed.ask("search_codebase", query="class Fence", mode="regex", limit=2)
        call = first["hints"]["continuation"]["args"]
        second = indexed.ask("search_codebase", **call)
        assert [row["path"] for row in (*first["results"], *second["results"])] == [
            f"fence{number}.py" for number in range(4)
        ]
        (indexed.tree / "fence0.py").unlink()
        indexed.ask("find_symbol", name="Fence")
        refused = indexed.ask("search_codebase", **call)
        assert refused["error"]["code"] == "bad_continuation"
