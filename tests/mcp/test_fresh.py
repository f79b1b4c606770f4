"""Right after a change every question sees it, or says that it has not looked at everything.

The matrix: every tool that reads and every verb that asks, each kind of change, with the daemon and without it, watched
and not, with busy loops beside. A cell brings the tree back to where it was, makes one change, and asks at once, over
the pipe of a real `cairn mcp` or with a command. Tools and verbs are taken from the tables that the faces are made of:
a new one is in the matrix, or in the list of those that are not with its reason.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cairn.ask.questions import QUESTIONS
from cairn.cli.verbs import COMMANDS
from cairn.tools.table import TOOLS
from tests.lengths import at_length
from tests.support.repos import checkout, commit, head, make_repo, run_git
from tests.support.servers import HELLO, READY, Agent, Mcp, no_daemon_left
from tests.support.waiting import PATIENCE, until

FENCE = "class Fence:\n    def claim(self):\n        return seal()\n\n\ndef seal():\n    return 1\n"
LEASE = "class Lease:\n    def steal(self):\n        return take()\n\n\ndef take():\n    return 1\n"
SAME_SIZE = LEASE.replace("Lease", "Fence").replace("steal", "claim").replace("take", "seal")

# --- what changes -----------------------------------------------------------------------------------------------------


class Now(NamedTuple):
    """What is to be asked after a change: a class, a function that it calls, and their file; or that they have gone."""

    file: str
    name: str = "Fence"
    function: str = "seal"
    is_gone: bool = False


GONE = Now("lease.py", "Lease", "take", is_gone=True)
BACK = Now("lease.py", "Lease", "take")


def _nothing(_: Path) -> None:
    """A change for which nothing need be prepared."""


class Change(NamedTuple):
    """A change, and what must be so before it."""

    make: Callable[[Path], Now]
    prepare: Callable[[Path], None] = _nothing


def _new_file(tree: Path) -> Now:
    (tree / "fence.py").write_text(FENCE)
    return Now("fence.py")


def _edit(tree: Path) -> Now:
    (tree / "lease.py").write_text("\n\n" + FENCE)
    return Now("lease.py")


def _same_size_and_time(tree: Path) -> Now:
    before = (tree / "lease.py").stat()
    (tree / "lease.py").write_text(SAME_SIZE)
    os.utime(tree / "lease.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    return Now("lease.py")


def _from_the_past(tree: Path) -> Now:
    (tree / "lease.py").write_text(FENCE)
    os.utime(tree / "lease.py", (1_000_000_000, 1_000_000_000))
    return Now("lease.py")


def _atomic_replace(tree: Path) -> Now:
    (tree / "lease.py.tmp").write_text(FENCE)
    (tree / "lease.py.tmp").rename(tree / "lease.py")
    return Now("lease.py")


def _replace_of_the_same_size_and_time(tree: Path) -> Now:
    before = (tree / "lease.py").stat()
    (tree / "lease.py.tmp").write_text(SAME_SIZE)
    os.utime(tree / "lease.py.tmp", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree / "lease.py.tmp").rename(tree / "lease.py")
    return Now("lease.py")


def _second_name(tree: Path) -> None:
    elsewhere = tree.parent / "elsewhere.py"
    elsewhere.unlink(missing_ok=True)
    elsewhere.write_text(LEASE)
    os.link(elsewhere, tree / "new.tmp")
    (tree / "new.tmp").rename(tree / "lease.py")


def _through_a_hard_link(tree: Path) -> Now:
    (tree.parent / "elsewhere.py").write_text(FENCE)
    return Now("lease.py")


def _rename(tree: Path) -> Now:
    (tree / "lease.py").rename(tree / "fence.py")
    return _new_file(tree)


def _rename_of_case(tree: Path) -> Now:
    (tree / "lease.py").rename(tree / "Lease.py")
    return Now("Lease.py", "Lease", "take")


def _new_folder(tree: Path) -> Now:
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "fence.py").write_text(FENCE)
    return Now("deep/er/fence.py")


def _with_a_folder(tree: Path) -> None:
    (tree / "old").mkdir()
    (tree / "old" / "fence.py").write_text(FENCE)


def _moved_folder(tree: Path) -> Now:
    (tree / "old").rename(tree / "new")
    return Now("new/fence.py")


def _deleted_folder(tree: Path) -> Now:
    shutil.rmtree(tree / "old")
    return Now("old/fence.py", is_gone=True)


def _deleted(tree: Path) -> Now:
    (tree / "lease.py").unlink()
    return GONE


def _link_in_its_place(tree: Path) -> Now:
    (tree / "lease.py").unlink()
    (tree / "lease.py").symlink_to("hidden.py")
    return GONE


def _no_text(tree: Path) -> Now:
    (tree / "lease.py").write_bytes(b"\0" + LEASE.encode())
    return GONE


def _no_longer_ignored(tree: Path) -> Now:
    (tree / ".gitignore").write_text("")
    return Now("hidden.py")


def _now_ignored(tree: Path) -> Now:
    (tree / ".cairnignore").write_text("/lease.py\n")
    return GONE


def _branch(tree: Path) -> Now:
    checkout(tree, "other")
    return Now("fence.py")


def _one_file_of_a_branch(tree: Path) -> Now:
    run_git(tree, "checkout", "-q", "other", "--", "fence.py")
    return Now("fence.py")


def _dirty(tree: Path) -> None:
    (tree / "lease.py").write_text(FENCE)


def _stashed_before(tree: Path) -> None:
    _dirty(tree)
    run_git(tree, "stash", "push", "-q")


def _stash(tree: Path) -> Now:
    run_git(tree, "stash", "push", "-q")
    return BACK


def _unstash(tree: Path) -> Now:
    run_git(tree, "stash", "pop", "-q")
    return Now("lease.py")


def _one_commit_more(tree: Path) -> None:
    commit(tree, {"more.txt": "more\n"})


def _rebase(tree: Path) -> Now:
    run_git(tree, "rebase", "-q", "other")
    return Now("fence.py")


def _merge(tree: Path) -> Now:
    run_git(tree, "merge", "-q", "-m", "x", "other")
    return Now("fence.py")


def _commit_of_a_worktree(tree: Path) -> Now:
    side = tree.parent / "side"
    run_git(tree, "worktree", "add", "-q", "-B", "side", str(side))
    commit(side, {"fence.py": FENCE})
    run_git(tree, "worktree", "remove", "--force", str(side))
    run_git(tree, "reset", "-q", "--hard", "side")
    return Now("fence.py")


def _inner_repository(tree: Path) -> None:
    make_repo(tree / "lib")
    (tree / "lib" / "fence.py").write_text(FENCE)


def _no_repository_any_more(tree: Path) -> Now:
    shutil.rmtree(tree / "lib" / ".git")
    return Now("lib/fence.py")


def _inner_worktree(tree: Path) -> None:
    run_git(tree, "worktree", "add", "-q", "--detach", str(tree / "lib"), "other")


def _no_worktree_any_more(tree: Path) -> Now:
    (tree / "lib" / ".git").unlink()
    return Now("lib/fence.py")


def _repository_of_its_own(tree: Path) -> Now:
    make_repo(tree / "old")
    return Now("old/fence.py", is_gone=True)


CHANGES: dict[str, Change] = {
    "a new file": Change(_new_file),
    "an edit": Change(_edit),
    "an edit of the same size and time": Change(_same_size_and_time),
    "a time in the past": Change(_from_the_past),
    "an atomic replace": Change(_atomic_replace),
    "a replace of the same size and time": Change(_replace_of_the_same_size_and_time),
    "an edit through a hard link": Change(_through_a_hard_link, _second_name),
    "a rename": Change(_rename),
    "a rename of case": Change(_rename_of_case),
    "a new folder": Change(_new_folder),
    "a moved folder": Change(_moved_folder, _with_a_folder),
    "a deleted folder": Change(_deleted_folder, _with_a_folder),
    "a deleted file": Change(_deleted),
    "a link in its place": Change(_link_in_its_place),
    "no text any more": Change(_no_text),
    "no longer ignored": Change(_no_longer_ignored),
    "now ignored": Change(_now_ignored),
    "another branch": Change(_branch),
    "one file of a branch": Change(_one_file_of_a_branch),
    "a stash": Change(_stash, _dirty),
    "a stash that comes back": Change(_unstash, _stashed_before),
    "a rebase": Change(_rebase, _one_commit_more),
    "a merge": Change(_merge, _one_commit_more),
    "a commit of a worktree": Change(_commit_of_a_worktree),
    "a repository that becomes a folder": Change(_no_repository_any_more, _inner_repository),
    "a worktree that becomes a folder": Change(_no_worktree_any_more, _inner_worktree),
    "a folder that becomes a repository": Change(_repository_of_its_own, _with_a_folder),
}

# --- what is asked ----------------------------------------------------------------------------------------------------

Answer = dict[str, Any]
Shows = Callable[[Answer, Now], bool]


class Question(NamedTuple):
    """A question to a tool and as a command (empty: there is none), and whether an answer shows a change."""

    tool: str
    arguments: Callable[[Now], Mapping[str, Any]]
    typed: Callable[[Now], Sequence[str]]
    shows: Shows


def _named(answer: Answer, now: Now) -> bool:
    found = [(row["path"]) for row in answer.get("results", ()) if row.get("symbol") == now.name]
    return found == ([] if now.is_gone else [now.file])


def _used(answer: Answer, now: Now) -> bool:
    return (now.file in {row["path"] for row in answer.get("results", ())}) is not now.is_gone


def _of_file(answer: Answer, now: Now) -> bool:
    if now.is_gone:
        return bool(answer["status"] == "not_found")
    return any(row.get("symbol") == now.name for row in answer.get("results", ()))


def _text(answer: Answer, now: Now) -> bool:
    return bool(answer["status"] == "not_found") if now.is_gone else f"class {now.name}" in answer.get("text", "")


def _linked(answer: Answer, now: Now) -> bool:
    return len(answer.get("nodes", ())) == (0 if now.is_gone else 2)


def _explored(answer: Answer, now: Now) -> bool:
    if now.is_gone:
        return bool(answer["status"] == "not_found")
    found = answer["definition"]["symbol"], answer["body"]["path"]
    return found == (now.function, now.file) and f"def {now.function}" in answer["body"]["text"]


def _mapped(answer: Answer, now: Now) -> bool:
    return (f"class {now.name}" in answer["text"]) is not now.is_gone


def _matched(answer: Answer, now: Now) -> bool:
    return [row["path"] for row in answer.get("results", ())] == ([] if now.is_gone else [now.file])


def _ranked(answer: Answer, now: Now) -> bool:
    shown = any(f"class {now.name}" in row.get("text", "") for row in answer.get("results", ()))
    return shown is not now.is_gone


def _reached(answer: Answer, now: Now) -> bool:
    changed = [row["path"] for row in answer.get("changed", ())]
    callers = {row["path"] for row in answer.get("callers", ())}
    return (changed, callers) == (([], set()) if now.is_gone else ([now.file], {now.file}))


def _like(answer: Answer, now: Now) -> bool:
    return (answer["status"] == "ok") is not now.is_gone


def _never(_: Now) -> Sequence[str]:
    return ()


ASKED: dict[str, Question] = {
    "find_symbol": Question("find_symbol", lambda now: {"name": now.name}, lambda now: ("symbol", now.name), _named),
    "references": Question(
        "find_symbol",
        lambda now: {"name": now.function, "references": True},
        lambda now: ("refs", now.function),
        _used,
    ),
    "file_outline": Question(
        "file_outline", lambda now: {"file": now.file}, lambda now: ("outline", now.file), _of_file
    ),
    "read_file": Question("read_file", lambda now: {"file": now.file}, lambda now: ("read", now.file), _text),
    "call_graph": Question(
        "call_graph", lambda now: {"symbol": now.function}, lambda now: ("graph", now.function), _linked
    ),
    "explore": Question("explore", lambda now: {"about": now.function}, _never, _explored),
    "repo_map": Question("repo_map", lambda _: {}, lambda _: ("map",), _mapped),
    "regex": Question(
        "search_codebase",
        lambda now: {"query": f"class {now.name}", "mode": "regex"},
        lambda now: ("search", f"class {now.name}", "--mode", "regex"),
        _matched,
    ),
    "lines": Question("", lambda _: {}, lambda now: ("grep", f"class {now.name}"), _matched),
    "words": Question("search_codebase", lambda now: {"query": f"class {now.name} {now.function}"}, _never, _ranked),
    "names": Question("search_codebase", lambda now: {"query": now.name, "mode": "symbol"}, _never, _named),
    "paths": Question(
        "search_codebase",
        lambda now: {"query": now.file, "mode": "path"},
        lambda now: ("search", now.file, "--mode", "path"),
        _used,
    ),
    "impact": Question("", lambda _: {}, lambda now: ("impact", now.function), _reached),
    "similar": Question("", lambda _: {}, lambda now: ("similar", f"{now.file}:1"), _like),
}
# Tools and verbs that answer no question about the files as they are.
OTHER_TOOLS = {
    "manage_index": "starts runs, and tells of them",
    "index_status": "tells of the index as it is stored",
    "list_codebases": "tells of the indexes of all codebases",
}
OTHER_VERBS = {
    "index sync reindex clear repair upgrade-store compact engine gc": "write an index",
    "status snapshots list stores health": "tell of the index as it is stored",
    "files why audit": "look at the files themselves",
    "semantic eval": "run other programs, or many questions",
    "mcp watch daemon": "serve",
    "rename undo": "write into the files, and look at each of them right before",
    "doctor install uninstall completion": "tell of this machine",
}


def test_every_tool_and_verb_is_in_the_matrix_or_has_a_reason() -> None:
    assert {one.tool for one in ASKED.values() if one.tool} | set(OTHER_TOOLS) == {tool.name for tool in TOOLS}
    verbs = {one.typed(Now("a.py"))[0] for one in ASKED.values() if one.typed(Now("a.py"))}
    assert verbs == set(QUESTIONS)
    assert verbs | set(" ".join(OTHER_VERBS).split()) == set(COMMANDS)


@pytest.mark.long
def test_an_edit_through_an_open_mapping_is_seen_where_nobody_watches(agent: Agent) -> None:
    """A watcher hears of it at the next whole comparison only, which the manual says."""
    agent.settings(_UNWATCHED)
    agent.index()
    with (
        open(agent.tree / "lease.py", "r+b") as file,
        mmap.mmap(file.fileno(), 0) as mapped,
        Mcp(agent, "--offline") as server,
    ):
        server.said(HELLO)
        server.send(READY)
        assert server.ask("search_codebase", query="steal", mode="regex")["results"]
        at = mapped.find(b"steal")
        mapped[at : at + 5] = b"brawl"
        assert [row["symbol"] for row in server.ask("find_symbol", name="brawl")["results"]] == ["Lease.brawl"]
        assert server.ask("search_codebase", query="steal", mode="regex")["results"] == []


# --- the matrix -------------------------------------------------------------------------------------------------------


class Condition(NamedTuple):
    """How a question is asked: what is told to the server, by whose settings, beside how many busy loops."""

    options: tuple[str, ...] = ()
    settings: str = ""
    loops: int = 0
    typed: bool = True


_UNWATCHED = "[serve]\nauto_watch = false\n"
CONDITIONS = {
    "alone": Condition(("--offline",)),
    "alone, watcher off": Condition(("--offline",), _UNWATCHED, typed=False),
    "a daemon": Condition(),
    "a daemon, watcher off": Condition((), _UNWATCHED, typed=False),
    "a daemon beside busy loops": Condition((), "", 8, typed=False),
}


class Cell(NamedTuple):
    """A change and the question that is asked right after it, of the server or `typed` as a command."""

    change: str
    asked: str
    typed: bool = False


def cells(*, typed: bool) -> list[Cell]:
    """All that there are."""
    tools = [Cell(change, asked) for change in CHANGES for asked, one in ASKED.items() if one.tool]
    verbs = [
        Cell(change, asked, typed=True) for change in CHANGES for asked, one in ASKED.items() if one.typed(Now("a.py"))
    ]
    return [*tools, *(verbs if typed else ())]


def is_honest(answer: Answer) -> bool:
    """Whether an answer that does not show a change says that it has not looked at everything."""
    exhaustive = answer.get("coverage", {}).get("exhaustive", False)
    return bool(answer["warnings"]) and not exhaustive and answer["hints"].get("retryAfterMs", 0) > 0


class Tree:
    """A repository with two branches that is brought back to where it was before each change."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_repo(folder)
        (folder / "lease.py").write_text(LEASE)
        (folder / ".gitignore").write_text("hidden.py\n")
        self._main = commit(folder)
        checkout(folder, "other", new=True)
        (folder / "fence.py").write_text(FENCE)
        self._other = commit(folder)
        self.back()

    def back(self) -> None:
        """Undo whatever was done, branches too."""
        run_git(self.folder, "checkout", "-q", "-f", "-B", "main", self._main)
        run_git(self.folder, "clean", "-q", "-f", "-f", "-d", "-x")
        run_git(self.folder, "worktree", "prune")
        run_git(self.folder, "branch", "-q", "-f", "other", self._other)
        run_git(self.folder, "stash", "clear")
        (self.folder / "hidden.py").write_text(FENCE)
        assert head(self.folder) == self._main


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


def _command(agent: Agent, *arguments: str) -> Answer:
    done = subprocess.run(
        [sys.executable, "-m", "cairn", *arguments, "--json"],
        cwd=agent.tree,
        env=agent.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout, done.stderr
    answer: Answer = json.loads(done.stdout)
    return answer


def meet(agent: Agent, condition: Condition, chosen: Sequence[Cell]) -> None:
    """Make each change, and ask right after it."""
    if condition.settings:
        agent.settings(condition.settings)
    tree = Tree(agent.tree)
    agent.index()
    with no_daemon_left(agent.environ), Mcp(agent, *condition.options) as server, _busy(condition.loops):
        server.said(HELLO)
        server.send(READY)
        for cell in chosen:
            tree.back()
            change, asked = CHANGES[cell.change], ASKED[cell.asked]
            change.prepare(agent.tree)
            until(lambda: server.ask("search_codebase", query="class", mode="regex")["coverage"]["exhaustive"])
            now = change.make(agent.tree)
            if cell.typed:
                answer = _command(agent, *asked.typed(now), *condition.options)
            else:
                answer = server.ask(asked.tool, **asked.arguments(now))
            assert asked.shows(answer, now) or is_honest(answer), (cell, now, answer)


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        (
            "alone, watcher off",
            [
                Cell("an edit of the same size and time", "find_symbol"),
                Cell("another branch", "regex"),
                Cell("a deleted file", "call_graph"),
                Cell("a stash", "read_file"),
            ],
        ),
        (
            "a daemon",
            [
                Cell("a new file", "file_outline"),
                Cell("no longer ignored", "repo_map"),
                Cell("an edit through a hard link", "references"),
                Cell("a moved folder", "names"),
                Cell("a rename of case", "find_symbol", typed=True),
            ],
        ),
    ],
)
def test_a_change_is_seen_at_once(agent: Agent, condition: str, chosen: Sequence[Cell]) -> None:
    meet(agent, CONDITIONS[condition], chosen)


@pytest.mark.long
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_tool_and_verb_sees_every_change_at_once_or_says_so(agent: Agent, condition: str) -> None:
    met = cells(typed=CONDITIONS[condition].typed)
    meet(agent, CONDITIONS[condition], random.Random(condition).sample(met, at_length(len(met))))
