"""What no event tells of in a watched tree is noticed all the same, by the very next question.

Each asks a `cairn mcp` that watches its root, and has said so. What is mounted is mounted where the server alone sees
it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.repos import run_git
from tests.support.servers import HELLO, READY, Agent, Mcp
from tests.support.trees import write_tree
from tests.support.waiting import until

pytestmark = pytest.mark.long


@contextmanager
def watched(agent: Agent, *before: str) -> Iterator[Mcp]:
    with Mcp(agent, "--offline", before=before) as server:
        server.said(HELLO)
        server.send(READY)
        is_watched(server)
        yield server


def is_watched(server: Mcp) -> None:
    until(lambda: asked(server, "nowhere")["freshness"]["mode"] == "skipped_recent")


def asked(server: Mcp, query: str) -> dict[str, Any]:
    return server.ask("search_codebase", query=query, mode="regex")


def files(server: Mcp, query: str) -> list[str]:
    """Where all that there is was found, in both kinds of readers."""
    answer, named = asked(server, query), server.ask("find_symbol", name=query)
    assert answer["coverage"]["exhaustive"], answer
    found = [hit["path"] for hit in answer["results"]]
    assert [one["path"] for one in named.get("results", [])] == found, (answer, named)
    return found


REPOSITORIES: dict[str, Callable[[Path], object]] = {
    "a repository": lambda inner: run_git(inner, "init", "-q"),
    "a worktree": lambda inner: (inner / ".git").write_text("gitdir: /elsewhere\n"),
}


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_code_that_is_no_repository_of_its_own_any_more_is_found_at_once(indexed: Agent, kind: str) -> None:
    inner = indexed.tree / "vendor" / "lib"
    write_tree(indexed.tree, {"vendor/lib/inner.py": "def vendored(): ...\n"})
    REPOSITORIES[kind](inner)
    with watched(indexed) as server:
        assert files(server, "vendored") == []
        git = inner / ".git"
        shutil.rmtree(git) if git.is_dir() else git.unlink()
        assert files(server, "vendored") == ["vendor/lib/inner.py"]
        is_watched(server)
        (inner / "more.py").write_text("def later(): ...\n")
        assert files(server, "later") == ["vendor/lib/more.py"]


def test_what_the_user_allows_and_no_longer_allows_holds_for_the_next_question(indexed: Agent) -> None:
    (indexed.tree / "credentials").write_text("def password(): ...\n")
    with watched(indexed) as server:
        for allowed in (False, True, False):
            indexed.settings('[index]\nallow_sensitive = ["credentials"]\n' if allowed else "")
            answer = asked(server, "password")
            assert answer["coverage"]["exhaustive"], answer
            assert [hit["path"] for hit in answer["results"]] == ["credentials"] * allowed
            read = server.ask("read_file", file="credentials")
            assert ("password" in str(read)) is allowed
            is_watched(server)


@pytest.fixture
def mount() -> None:
    made = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False) if os.geteuid() == 0 else None
    if made is None or made.returncode:
        pytest.skip("nothing can be mounted here")


@pytest.mark.usefixtures("mount")
def test_what_is_mounted_over_a_folder_or_a_file_is_seen_and_heard_from_then_on(indexed: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_tree(other, {"a.py": "def mounted(): ...\n"})
    write_tree(indexed.tree, {"lib/a.py": "def real(): ...\n"})

    def there(server: Mcp, *command: str) -> None:
        subprocess.run(["nsenter", "-m", "-t", str(server.pid), *command], check=True)

    with watched(indexed, "unshare", "-m") as server:
        for over in ("lib", "lib/a.py"):
            source, place = other / over.removeprefix("lib").lstrip("/"), indexed.tree / over
            assert (files(server, "real"), files(server, "mounted")) == (["lib/a.py"], [])
            there(server, "mount", "--bind", str(source), str(place))
            assert (files(server, "mounted"), files(server, "real")) == (["lib/a.py"], [])
            is_watched(server)
            there(server, "sh", "-c", f"echo 'def mounted(): return edited()' > {indexed.tree}/lib/a.py")
            assert "edited" in str(asked(server, "mounted"))
            there(server, "umount", str(place))
            assert (files(server, "real"), files(server, "mounted")) == (["lib/a.py"], [])
            is_watched(server)
