"""What a setting leaves out, or nobody may read, is never silently missing: no answer about it is exhaustive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import commands
from tests.support.commands import Typed
from tests.support.repos import commit, make_repo
from tests.support.servers import HELLO, READY, Agent, Mcp
from tests.support.trees import write_tree

CODE = {
    "src/lease.py": "def steal():\n    return take()\n",
    "tests/test_lease.py": "def test_it():\n    assert 1\n",
    "src/long.py": "".join(f"def part_{number}():\n    return {number}\n\n\n" for number in range(400)),
}
# For each way to leave code out: the settings of the repository, and a word of the sentence that must tell of it.
NARROWED = {
    "scope": ('[query]\nscope = "tests"\n', "[query] scope"),
    "exclude": ('[index]\nexclude = ["src/"]\n', "[index] include, exclude"),
    "include": ('[index]\ninclude = ["tests/"]\n', "[index] include, exclude"),
    "untracked": ("[index]\nuntracked = false\n", "[index] untracked"),
    "a lower size": ("[limits]\nmax_file_bytes = 4000\n", "[limits] max_file_bytes"),
    "fewer chunks": ("[limits]\nmax_chunks_per_file = 1\n", "[limits] max_chunks_per_file"),
    "no right": ("", "could not be read"),
    "an ignore file of ours": ("", ".cairnignore leaves out"),
    "a text of another encoding": ("", "not UTF-8 in text or name"),
    "a NUL byte in code": ("", "not UTF-8 in text or name"),
    "a name of another encoding": ("", "not UTF-8 in text or name"),
    "too large for anybody": ("", "being too large"),
}
# Bytes that leave a file out which has the name of code, or none: to whoever searches a text, they are one.
HIDDEN = {
    "an ignore file of ours": (b".cairnignore", b"src/\n"),
    "a text of another encoding": (b"src/latin", b"caf\xe9 = steal()\n"),
    "a NUL byte in code": (b"src/wide.cs", "int steal;".encode("utf-16")),
    "a name of another encoding": (b"src/caf\xe9.py", b"def steal(): pass\n"),
    "too large for anybody": (b"src/amalgam.c", b"int x;\n" * 1_600_000),
}


def alone() -> list[str]:
    """What begins a command of somebody for whom the rights of files count, as they do not for the superuser."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("only the superuser is here, who may read everything")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    found = Agent(tmp_path)
    (found.tree / "lease.py").unlink()
    yield found
    found.close()
    for path in found.tree.rglob("*.py"):
        path.chmod(0o600)


def narrowed(agent: Agent, how: str) -> str:
    """Leave code out in this way, and return what every answer has to say of it."""
    make_repo(agent.tree)
    write_tree(agent.tree, CODE)
    settings, sentence = NARROWED[how]
    if settings:
        (agent.tree / ".cairn.toml").write_text(settings)
    if how in HIDDEN:
        name, data = HIDDEN[how]
        Path(os.fsdecode(os.fsencode(agent.tree) + b"/" + name)).write_bytes(data)
    commit(agent.tree)
    if how == "untracked":
        (agent.tree / "src" / "new.py").write_text("x = 1\n")
    if how == "no right":
        (agent.tree / "src" / "lease.py").chmod(0)
    return sentence


def typed(agent: Agent, *arguments: str, limited: bool = False) -> Typed:
    if limited:
        command = [*alone(), sys.executable, "-m", "cairn", *arguments]
        done = subprocess.run(
            command, cwd=agent.tree, env=agent.variables(), capture_output=True, text=True, check=False
        )
        found = Typed(done.returncode, done.stdout, done.stderr)
    else:
        found = commands.typed(arguments, agent.tree, agent.variables())
    assert (found.status, "Traceback" in found.stderr) == (0, False), found
    return found


def told(agent: Agent, *arguments: str, limited: bool = False) -> dict[str, Any]:
    return dict(json.loads(typed(agent, *arguments, "--json", limited=limited).stdout))


QUICK = ("scope", "an ignore file of ours")
WAYS = [pytest.param(how, marks=() if how in QUICK else pytest.mark.long) for how in NARROWED]


@pytest.mark.parametrize("how", WAYS)
def test_what_nobody_asked_to_leave_out_is_told_at_a_terminal(agent: Agent, how: str) -> None:
    sentence = narrowed(agent, how)
    questions = [("search", "nowhere_to_be_found", "--mode", mode) for mode in ("regex", "symbol", "path")]
    if how != "scope":
        # The scope is one of searches.
        questions.append(("symbol", "nowhere_to_be_found"))
    for question in questions:
        answer = told(agent, *question, limited=how == "no right")
        assert answer["coverage"]["exhaustive"] is False, (question, answer)
        assert [one for one in answer["warnings"] if sentence in one], (question, answer["warnings"])
        printed = typed(agent, *question, limited=how == "no right")
        assert "all of them were" not in printed.stdout, printed
        assert sentence in printed.stderr, printed


@pytest.mark.parametrize("how", WAYS)
def test_what_nobody_asked_to_leave_out_is_told_to_an_agent(agent: Agent, how: str) -> None:
    sentence = narrowed(agent, how)
    with Mcp(agent, "--offline", before=alone()) as server:
        server.said(HELLO)
        server.send(READY)
        server.ask("manage_index", action="create")
        questions = [("search_codebase", {"query": "nowhere", "mode": mode}) for mode in ("regex", "symbol", "path")]
        if how != "scope":
            questions.append(("find_symbol", {"name": "nowhere_to_be_found"}))
        for tool, arguments in questions:
            answer = server.ask(tool, **arguments)
            assert answer["coverage"]["exhaustive"] is False, (tool, answer)
            told = [one for one in answer["warnings"] if sentence in one]
            assert told, (tool, answer["warnings"])
            # What is left out no call lists: the command that does is named.
            assert "mode path" not in told[0]


@pytest.mark.long
def test_a_file_that_nobody_may_read_any_more_is_told_in_the_next_answer(agent: Agent) -> None:
    """Also where the index is not brought up to date in time, and the tree is compared for the answer alone."""
    make_repo(agent.tree)
    write_tree(agent.tree, CODE)
    commit(agent.tree)
    with Mcp(agent, "--offline", before=alone()) as server:
        server.said(HELLO)
        server.send(READY)
        server.ask("manage_index", action="create")
        assert server.ask("search_codebase", query="steal", mode="regex")["coverage"]["exhaustive"]
        (agent.tree / "src" / "lease.py").chmod(0)
        for _ in range(2):
            answer = server.ask("search_codebase", query="steal", mode="regex")
            assert answer["coverage"]["exhaustive"] is False
            assert answer["coverage"]["skipped"]["unreadable"] == 1, answer
            assert answer["results"] == []
        (agent.tree / "src" / "lease.py").chmod(0o600)
        answer = server.ask("search_codebase", query="steal", mode="regex")
        assert answer["coverage"]["exhaustive"]
        assert [hit["path"] for hit in answer["results"]] == ["src/lease.py"]


def test_hits_beside_a_text_that_nobody_read_are_not_said_to_be_all(agent: Agent) -> None:
    """What is listed above, with hits; and what is no code at all makes no answer less than whole."""
    write_tree(agent.tree, {"src/lease.py": "def steal(): pass\n", "data/rows.csv": "steal\n", "build/x.py": "steal\n"})
    write_tree(agent.tree, {".gitignore": "build/\n", ".cairnignore": "build/\n*.csv\n"})
    (agent.tree / "logo.png").write_bytes(b"\x89PNG\0\0")
    (agent.tree / "film").write_bytes(bytes(11 << 20))
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        server.ask("manage_index", action="create")
        answer = server.ask("search_codebase", query="steal", mode="regex")
        assert (answer["coverage"]["exhaustive"], answer["warnings"]) == (True, []), answer
        assert answer["coverage"]["skipped"] == {"binary": 2, "ignored": 2}
        (agent.tree / "src" / "latin.py").write_bytes(b"caf\xe9 = steal()\n")
        answer = server.ask("search_codebase", query="steal", mode="regex")
        assert [hit["path"] for hit in answer["results"]] == ["src/lease.py"]
        assert answer["coverage"]["exhaustive"] is False
        assert [one for one in answer["warnings"] if "not UTF-8" in one], answer
        (agent.tree / "src" / "latin.py").unlink()
        assert server.ask("search_codebase", query="steal", mode="regex")["coverage"]["exhaustive"]


def test_what_was_named_and_is_not_searched_is_said(agent: Agent) -> None:
    """A folder or a file that is left out, one without any file, and a slip in a glob: nothing was looked at."""
    make_repo(agent.tree)
    write_tree(agent.tree, CODE | {".gitignore": "build/\n", "build/made.py": "def steal(): pass\n"})
    (agent.tree / "logo").write_bytes(b"\0steal")
    (agent.tree / "empty").mkdir()
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        server.ask("manage_index", action="create")
        for name, why in {
            "build": "build is left out of the index (ignored)",
            "build/made.py": "build/made.py is left out of the index (ignored)",
            "logo": "logo is left out of the index (binary)",
            "empty": "empty holds no indexed file",
        }.items():
            answer = server.ask("search_codebase", path=str(agent.tree / name), query="steal", mode="regex")
            assert answer["coverage"]["exhaustive"] is False, answer
            assert [one for one in answer["warnings"] if one.startswith(why)], answer
        answer = server.ask("search_codebase", query="steal", mode="regex", include=["sr/**"])
        assert answer["coverage"]["exhaustive"] is False
        assert [one for one in answer["warnings"] if "so nothing was searched" in one], answer
        whole = server.ask("search_codebase", path=str(agent.tree / "src"), query="steal", mode="regex")
        assert (whole["coverage"]["exhaustive"], whole["warnings"]) == (True, [])
    printed = typed(agent, "search", "steal", "src", "build", "--mode", "regex")
    assert "src/lease.py:1" in printed.stdout
    assert "build is left out of the index (ignored)" in printed.stderr


def test_a_root_that_is_gone_is_told_as_that_and_nothing_below_it_as_a_slip(agent: Agent) -> None:
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        server.ask("manage_index", action="create")
        slip = server.ask("search_codebase", path=str(agent.tree / "sr"), query="steal", mode="regex")
        assert slip["error"]["message"] == f"There is nothing at sr under {agent.tree}."
        agent.tree.rename(agent.tree.parent / "moved")
        gone = server.ask("search_codebase", path=str(agent.tree), query="steal", mode="regex")
        assert gone["error"]["code"] == "root_not_found", gone


def test_a_scope_that_is_asked_for_narrows_nothing_unasked(agent: Agent) -> None:
    narrowed(agent, "scope")
    for asked in (("--scope", "tests"), ("--scope", "all")):
        answer = told(agent, "search", "nowhere_to_be_found", "--mode", "regex", *asked)
        assert (answer["coverage"]["exhaustive"], answer["warnings"]) == (True, []), asked
    assert told(agent, "search", "scope:tests nowhere_to_be_found", "--mode", "symbol")["coverage"]["exhaustive"]
    found = told(agent, "search", "def steal", "--mode", "regex", "--scope", "all")
    assert [hit["path"] for hit in found["results"]] == ["src/lease.py"]
