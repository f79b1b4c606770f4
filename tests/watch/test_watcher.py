"""Who serves codebases hears what changes, and the index follows: each save, each start, nothing that was cleared."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.ask import runs as runs_module
from cairn.ask.runs import Action, Run
from cairn.core.clock import SystemClock
from cairn.core.limits import AGENT_RECENT_SECONDS, MAX_HINTED_FILES, RACY_WINDOW_NS, WATCH_RECONCILE_SECONDS
from cairn.errors import CairnError, Cancelled, WatchFailed
from cairn.source.watch import watch_tree
from cairn.store.publish.lease import RunKind
from cairn.store.read.snapshot import open_view
from cairn.sync import catchup
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.report import Gap, RunReport
from cairn.watch import watcher as module
from cairn.watch.watcher import Watching
from tests.conformance import conforms
from tests.support.repos import run_git
from tests.support.servers import PATIENT, Agent
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("parsed_here")


class Shifted(SystemClock):
    """A clock that can be put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Server:
    """A desk with somebody who watches, and what that one has told."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.tree, self.root = agent, agent.tree, str(agent.tree)
        self.clock = Shifted()
        self.ended: list[Run] = []
        self.gaps: list[Gap] = []
        self.watching = Watching(
            agent.desk, self.clock, told=self.ended.append, found=lambda _, gap: self.gaps.append(gap)
        )

    def start(self, *, create: bool = False) -> None:
        self.watching.add(self.root, create=create)
        assert self.watching.caught_up(self.root, PATIENCE)

    def until(self, holds: Callable[[], bool]) -> None:
        until(holds, lambda: [(run.report, run.error) for run in self.ended])

    def texts(self) -> dict[str, bytes]:
        """What the newest snapshot holds."""
        place = place_of(open_codebase(self.root, self.agent.environ), str(self.agent.home))
        with place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            return {key: bytes(view.text(key) or b"") for key in view.records()}

    def close(self) -> None:
        self.watching.close()


@pytest.fixture
def server(indexed: Agent) -> Iterator[Server]:
    found = Server(indexed)
    yield found
    found.close()


def paused(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Semaphore, threading.Semaphore]:
    """Syncs that stand still when they have begun: (one began, let one go)."""
    began, go = threading.Semaphore(0), threading.Semaphore(0)
    real = runs_module._ENGINES[Action.SYNC]

    def sync(*given: object, **options: object) -> object:
        began.release()
        assert go.acquire(timeout=PATIENCE)
        return real(*given, **options)

    monkeypatch.setattr(runs_module, "_ENGINES", {**runs_module._ENGINES, Action.SYNC: sync})
    return began, go


# --- saves ------------------------------------------------------------------------------------------------------------


def test_a_save_is_in_the_index_without_anybody_asking(server: Server) -> None:
    server.start()
    (server.tree / "b.py").write_text("def saved(): ...\n")
    server.until(lambda: "b.py" in server.texts())
    (server.tree / "b.py").unlink()
    server.until(lambda: "b.py" not in server.texts())


def test_after_the_first_comparison_a_save_costs_a_look_at_one_file(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start()
    (server.tree / "b.py").write_text("def first(): ...\n")
    server.until(lambda: "b.py" in server.texts())

    def everything(*_: object, **__: object) -> object:
        raise AssertionError("the whole tree was walked")

    monkeypatch.setattr("cairn.sync.catchup.walk", everything)
    (server.tree / "c.py").write_text("def second(): ...\n")
    server.until(lambda: "c.py" in server.texts())


@conforms("000.FR1")
def test_a_search_between_a_save_and_its_sync_sees_the_save(server: Server) -> None:
    server.start()
    codebase = open_codebase(server.root, server.agent.environ)
    freshener = server.agent.desk.freshener
    for number in range(5):
        (server.tree / f"n{number}.py").write_text(f"def saved_{number}(): ...\n")
        found = freshener.ensure(codebase, seconds=PATIENCE)
        assert found.mode in ("synced", "coalesced", "skipped_recent")
        assert f"n{number}.py" in server.texts()
    assert freshener.ensure(codebase, seconds=PATIENCE).mode == "skipped_recent"


# --- files with several names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the start", "while it is watched"])
def test_an_edit_through_another_name_is_seen_by_the_next_question(server: Server, when: str) -> None:
    """No event tells of it where that name lies outside of the tree."""
    elsewhere = server.tree.parent / "elsewhere.py"
    if when == "before the start":
        os.link(server.tree / "lease.py", elsewhere)
        server.start()
    else:
        server.start()
        os.link(server.tree / "lease.py", elsewhere)
        # Of the new name no event tells, so the file must be looked at once more.
        (server.tree / "lease.py").write_text("def linked(): ...\n")
    codebase = open_codebase(server.root, server.agent.environ)
    for number in range(3):
        elsewhere.write_text(f"def through_{number}(): ...\n")
        assert server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE).is_current
        assert server.texts()["lease.py"] == f"def through_{number}(): ...\n".encode()


def test_an_edit_of_one_name_is_seen_in_the_other(server: Server) -> None:
    server.start()
    codebase = open_codebase(server.root, server.agent.environ)
    os.link(server.tree / "lease.py", server.tree / "twin.py")
    assert server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE).is_current
    for name in ("twin.py", "lease.py"):
        (server.tree / name).write_text(f"def by_{name[:-3]}(): ...\n")
        assert server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE).is_current
        assert set(server.texts().values()) == {f"def by_{name[:-3]}(): ...\n".encode()}


def test_a_new_folder_is_watched_and_a_rule_is_obeyed(server: Server) -> None:
    server.start()
    (server.tree / "pkg/deep").mkdir(parents=True)
    (server.tree / "pkg/deep/one.py").write_text("x = 1\n")
    server.until(lambda: "pkg/deep/one.py" in server.texts())
    (server.tree / "pkg/deep/two.py").write_text("y = 1\n")
    server.until(lambda: "pkg/deep/two.py" in server.texts())
    (server.tree / ".gitignore").write_text("deep/\n")
    server.until(lambda: not any("deep" in key for key in server.texts()))
    (server.tree / ".gitignore").write_text("")
    server.until(lambda: "pkg/deep/two.py" in server.texts())
    (server.tree / "pkg/deep/two.py").write_text("z = 1\n")
    server.until(lambda: server.texts().get("pkg/deep/two.py") == b"z = 1\n")


# --- the start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twins", [False, True])
def test_a_folder_that_a_rule_lets_in_again_is_watched(server: Server, *, twins: bool) -> None:
    (server.tree / "deep").mkdir()
    (server.tree / "deep" / "b.py").write_text("b = 1\n")
    (server.tree / ".cairnignore").write_text("deep/\n")
    if twins:
        # Names that differ in case only: then no name is judged by itself, and everything is compared each time.
        (server.tree / "twin.py").write_text("x = 1\n")
        (server.tree / "Twin.py").write_text("x = 2\n")
    server.start()
    assert "deep/b.py" not in server.texts()
    (server.tree / ".cairnignore").write_text("\n")
    server.until(lambda: "deep/b.py" in server.texts())
    server.until(lambda: server.watching.state()[server.root]["pending"] == 0)
    (server.tree / "deep" / "b.py").write_text("b = 2\n")
    answer = server.agent.ask("search_codebase", query="b = 2", mode="regex")
    assert [row["path"] for row in answer["results"]] == ["deep/b.py"]
    server.until(lambda: server.texts()["deep/b.py"] == b"b = 2\n")


@pytest.mark.parametrize("tool", ["search_codebase", "find_symbol"])
def test_what_git_takes_in_without_an_event_is_seen_where_only_that_is_wanted(server: Server, tool: str) -> None:
    run_git(server.tree, "init", "-q")
    (server.tree / ".cairn.toml").write_text("[index]\nuntracked = false\n")
    run_git(server.tree, "add", ".")
    server.agent.ask("manage_index", action="reindex", patience=PATIENT)
    (server.tree / "new.py").write_text("def brand_new():\n    return 1\n")
    server.start()
    named = {"query": "brand_new", "mode": "symbol"} if tool == "search_codebase" else {"name": "brand_new"}
    assert server.agent.ask(tool, **named)["results"] == []
    # No event tells of this: what git lists lies in its own folder.
    run_git(server.tree, "add", "new.py")
    answer = server.agent.ask(tool, patience=PATIENT, **named)
    assert [row["path"] for row in answer["results"]] == ["new.py"]
    assert answer["coverage"]["exhaustive"]


@conforms("004.CU1", "004.CU2", "004.CU6", "004.CU9")
def test_a_start_finds_what_is_missing_modified_and_stale(server: Server) -> None:
    (server.tree / "gone.py").write_text("x = 1\n")
    server.agent.ask("manage_index", action="sync", path=server.root)
    (server.tree / "gone.py").unlink()
    (server.tree / "lease.py").write_text("def other(): ...\n")
    for name in ("b.py", "c.py"):
        (server.tree / name).write_text(f"name = {name!r}\n")
    server.start()
    assert server.gaps == [Gap(missing=2, modified=1, stale=1)]
    assert server.gaps[0].sentence == "Catch-up indexing: 2 missing, 1 modified, 1 stale"
    assert sorted(server.texts()) == ["b.py", "c.py", "lease.py"]
    assert server.texts()["lease.py"] == b"def other(): ...\n"


@conforms("004.CU5")
def test_a_start_with_nothing_to_do_takes_no_lease_and_says_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Younger files than this are read again, because their time stamps prove nothing.
    SystemClock().sleep(RACY_WINDOW_NS / 1e9 + 0.1)
    server.agent.ask("manage_index", action="sync", path=server.root)

    def writer(*_: object, **__: object) -> object:
        raise AssertionError("the lease was taken")

    monkeypatch.setattr("cairn.store.publish.writer.open_writer", writer)
    server.start()
    assert server.gaps == []
    (run,) = server.ended
    assert isinstance(run.report, RunReport)
    assert not run.report.published


@conforms("004.CU2", "004.CU3", "004.CU22")
def test_an_empty_index_is_filled_the_same_way_and_nothing_is_cleared(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def destructive(*_: object, **__: object) -> object:
        raise AssertionError("an index was built anew or emptied")

    for action in (Action.REINDEX, Action.CLEAR):
        monkeypatch.setitem(runs_module._ENGINES, action, destructive)  # type: ignore[arg-type]
    server = Server(agent)
    try:
        server.start(create=True)
        assert server.gaps == [Gap(missing=1, modified=0, stale=0)]
        assert list(server.texts()) == ["lease.py"]
    finally:
        server.close()


@conforms("004.CU20")
def test_an_emptied_folder_empties_the_index_and_is_watched_on(server: Server) -> None:
    (server.tree / "lease.py").unlink()
    server.start()
    assert server.texts() == {}
    (server.tree / "new.py").write_text("x = 1\n")
    server.until(lambda: "new.py" in server.texts())


@conforms("004.CU18", "004.CU21")
@pytest.mark.parametrize(("name", "text"), [(".gitignore", "*.py\n"), (".cairn.toml", '[index]\nexclude = ["*.py"]\n')])
def test_rules_that_came_while_nobody_watched_are_obeyed(server: Server, name: str, text: str) -> None:
    (server.tree / name).write_text(text)
    server.start()
    assert "lease.py" not in server.texts()
    (server.tree / name).unlink()
    server.until(lambda: "lease.py" in server.texts())


@conforms("004.CU11")
@pytest.mark.parametrize("outcome", ["nothing", "work", "failure"])
def test_edits_during_the_first_comparison_are_not_lost_however_it_ends(
    server: Server, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    real = runs_module._ENGINES[Action.SYNC]
    began, go, count = threading.Event(), threading.Event(), [0]

    def sync(*given: object, **options: object) -> object:
        count[0] += 1
        if count[0] > 1:
            return real(*given, **options)
        report = real(*given, **options)
        # The files have been looked at; what is saved now only an event can tell of.
        began.set()
        assert go.wait(PATIENCE)
        if outcome == "failure":
            raise CairnError
        return report

    monkeypatch.setattr(runs_module, "_ENGINES", {**runs_module._ENGINES, Action.SYNC: sync})
    if outcome != "nothing":
        (server.tree / "before.py").write_text("x = 1\n")
    server.watching.add(server.root)
    assert began.wait(PATIENCE)
    (server.tree / "during.py").write_text("y = 1\n")
    assert "during.py" not in server.texts()
    go.set()
    server.until(lambda: "during.py" in server.texts())
    assert server.watching.state()[server.root]["mode"] == "watching"


@conforms("004.CU19")
def test_one_run_at_a_time_works_on_a_root(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.start()
    began, go = paused(monkeypatch)
    (server.tree / "b.py").write_text("x = 1\n")
    assert began.acquire(timeout=PATIENCE)
    (server.tree / "c.py").write_text("y = 1\n")
    # The second waits for the end of the first, whoever asks for it.
    assert not began.acquire(timeout=0.3)
    codebase = open_codebase(server.root, server.agent.environ)
    assert server.agent.desk.freshener.ensure(codebase, seconds=0.05).mode == "skipped_indexing"
    for _ in range(4):
        go.release()
    server.until(lambda: {"b.py", "c.py"} <= server.texts().keys())


@conforms("004.CU7")
@pytest.mark.parametrize("problem", [None, CairnError(), Cancelled(), OSError("disk"), ValueError("a bug")])
def test_however_a_run_ends_nothing_is_at_work_afterwards(
    server: Server, monkeypatch: pytest.MonkeyPatch, problem: Exception | None
) -> None:
    real = runs_module._ENGINES[Action.SYNC]
    seen: list[bool] = []

    def sync(*given: object, **options: object) -> object:
        seen.append(server.agent.desk.runs.active(server.root) is not None)
        if problem is not None and len(seen) == 1:
            raise problem
        return real(*given, **options)

    monkeypatch.setattr(runs_module, "_ENGINES", {**runs_module._ENGINES, Action.SYNC: sync})
    server.start()
    assert seen[0]
    until(lambda: server.agent.desk.runs.active(server.root) is None)
    assert server.agent.ask("index_status", path=server.root)["is_indexing"] is False


@conforms("004.CU8")
def test_status_tells_a_catch_up_from_a_full_run_and_how_many_files_it_has(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go, real = threading.Event(), threading.Event(), catchup.extract_all

    def extract_all(*given: Any, **options: Any) -> Iterator[Any]:
        began.set()
        assert go.wait(PATIENCE)
        yield from real(*given, **options)

    monkeypatch.setattr(catchup, "extract_all", extract_all)
    monkeypatch.setattr(catchup, "PROGRESS_SECONDS", 0.0)
    for name in ("b.py", "c.py"):
        (server.tree / name).write_text(f"name = {name!r}\n")
    (server.tree / "lease.py").write_text("def other(): ...\n")

    def status() -> tuple[object, ...]:
        told = server.agent.ask("index_status", path=server.root)
        return told["is_indexing"], told["indexing_type"], told["files_to_process"]

    assert status() == (False, None, None)
    server.watching.add(server.root)
    assert began.wait(PATIENCE)
    assert status() == (True, "catchup", 3)
    go.set()
    assert server.watching.caught_up(server.root, PATIENCE)
    # What was written a moment before may be looked at once more; a run of the watcher would be in the way of ours.
    server.watching.remove(server.root)
    until(lambda: status() == (False, None, None))
    began.clear()
    go.clear()
    reindexed = server.agent.desk.runs.start(Action.REINDEX, open_codebase(server.root, server.agent.environ))
    assert began.wait(PATIENCE)
    assert status() == (True, "full", 3)
    go.set()
    assert reindexed.wait(PATIENCE)
    assert status() == (False, None, None)


# --- what is not watched ----------------------------------------------------------------------------------------------


def test_what_was_cleared_is_neither_watched_nor_filled(server: Server) -> None:
    server.agent.ask("manage_index", action="clear", force=True, path=server.root)
    server.watching.add(server.root)
    assert server.watching.caught_up(server.root, PATIENCE)
    assert server.watching.state() == {}
    assert server.ended == []


def test_what_is_cleared_while_it_is_watched_is_let_go(server: Server) -> None:
    server.start()
    server.agent.ask("manage_index", action="clear", force=True, path=server.root)
    (server.tree / "b.py").write_text("x = 1\n")
    server.until(lambda: server.watching.state() == {})
    assert server.texts() == {}


def test_a_folder_that_was_never_indexed_is_let_alone_unless_it_is_asked_for(agent: Agent) -> None:
    server = Server(agent)
    try:
        server.start()
        assert server.watching.state() == {}
        server.start(create=True)
        assert server.watching.state()[server.root]["mode"] == "watching"
    finally:
        server.close()


def test_a_root_that_cannot_be_heard_is_compared_once_in_a_while_and_says_so(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object, **__: object) -> object:
        raise WatchFailed(path=server.root, why="the system has no watch left to give")

    monkeypatch.setattr(module, "watch_tree", none_left)
    server.start()
    state = server.watching.state()[server.root]
    assert (state["mode"], state["why"]) == ("polling", "the system has no watch left to give")
    (server.tree / "b.py").write_text("x = 1\n")
    # A search compares by itself there.
    SystemClock().sleep(AGENT_RECENT_SECONDS)
    codebase = open_codebase(server.root, server.agent.environ)
    assert server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE).changed == 1
    (server.tree / "c.py").write_text("x = 1\n")
    server.clock.ahead += WATCH_RECONCILE_SECONDS
    server.watching._loop.wake()
    server.until(lambda: "c.py" in server.texts())
    assert server.watching.state()[server.root]["mode"] == "polling"
    # Each time it is tried again to hear it.
    monkeypatch.setattr(module, "watch_tree", watch_tree)
    server.clock.ahead += WATCH_RECONCILE_SECONDS
    server.watching._loop.wake()
    server.until(lambda: server.watching.state()[server.root]["mode"] == "watching")
    assert server.watching.state()[server.root]["why"] is None
    (server.tree / "d.py").write_text("x = 1\n")
    server.until(lambda: "d.py" in server.texts())


def test_of_too_many_roots_the_one_that_was_asked_about_first_is_let_go(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WATCHED_ROOTS", 2)
    others = [str(tmp_path / "other"), str(tmp_path / "third")]
    for other in others:
        Path(other).mkdir()
    server.start()
    server.watching.add(others[0], create=True)
    assert server.watching.caught_up(others[0], PATIENCE)
    server.start()
    server.watching.add(others[1], create=True)
    assert server.watching.caught_up(others[1], PATIENCE)
    assert list(server.watching.state()) == [server.root, others[1]]
    (server.tree / "b.py").write_text("def saved(): ...\n")
    server.until(lambda: "b.py" in server.texts())


def test_trouble_with_one_root_ends_nobodys_watch(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.start()
    broken, watched = threading.Event(), server.watching._roots[server.root]

    def trouble() -> None:
        broken.set()
        raise RuntimeError

    with monkeypatch.context() as patching:
        patching.setattr(watched, "hear", trouble)
        (server.tree / "b.py").write_text("x = 1\n")
        assert broken.wait(PATIENCE)
    server.until(lambda: "b.py" in server.texts())


def test_a_root_that_goes_is_let_go_and_watched_again_when_it_is_back(server: Server) -> None:
    server.start()
    shutil.rmtree(server.tree)
    server.until(lambda: server.watching.state() == {})
    server.tree.mkdir()
    (server.tree / "back.py").write_text("x = 1\n")
    server.start()
    assert list(server.texts()) == ["back.py"]


def test_a_root_that_another_folder_has_replaced_is_compared_as_a_whole_and_watched_again(server: Server) -> None:
    other = server.tree.with_name("other")
    other.mkdir()
    (other / "only.py").write_text("x = 1\n")
    server.start()
    codebase = open_codebase(server.root, server.agent.environ)
    # Above all no name of the old folder is taken for all that has changed.
    next(server.tree.glob("*.py")).unlink()
    server.tree.rename(server.tree.with_name("old"))
    other.rename(server.tree)
    assert server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE).mode in ("synced", "coalesced")
    assert list(server.texts()) == ["only.py"]
    server.until(lambda: server.watching.state()[server.root]["mode"] == "watching")
    (server.tree / "later.py").write_text("x = 1\n")
    server.until(lambda: "later.py" in server.texts())


def test_a_root_that_was_replaced_without_an_event_is_noticed_by_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PLACE_SECONDS", 0.1)
    server.start()
    (server.tree / "lease.py").unlink()
    server.until(lambda: server.texts() == {})
    server.tree.rmdir()
    server.tree.mkdir()
    (server.tree / "new.py").write_text("x = 1\n")
    server.until(lambda: list(server.texts()) == ["new.py"])


def test_a_root_that_was_deleted_and_made_anew_at_once_is_not_taken_for_the_old_one(server: Server) -> None:
    server.start()
    codebase = open_codebase(server.root, server.agent.environ)
    shutil.rmtree(server.tree)
    server.tree.mkdir()
    for name in ("new.py", "newer.py"):
        (server.tree / name).write_text("x = 1\n")
        server.agent.desk.freshener.ensure(codebase, seconds=PATIENCE, rests=False)
        assert name in server.texts()
    assert sorted(server.texts()) == ["new.py", "newer.py"]


def test_while_another_process_writes_a_save_waits_and_is_not_lost(server: Server) -> None:
    server.start()
    with server.agent.writing(RunKind.SYNC):
        (server.tree / "b.py").write_text("x = 1\n")
        server.until(lambda: len(server.ended) > 1)
    server.until(lambda: "b.py" in server.texts())


def test_who_closes_it_leaves_no_thread_and_no_descriptor_behind(server: Server) -> None:
    before = len(os.listdir("/proc/self/fd"))
    other = Server(server.agent)
    other.start()
    other.close()
    other.close()
    assert not other.watching._thread.is_alive()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_many_events_end_in_one_comparison_of_everything(server: Server) -> None:
    server.start()
    for number in range(MAX_HINTED_FILES + 100):
        (server.tree / f"f{number}.py").write_text("x = 1\n")
    server.until(lambda: len(server.texts()) == MAX_HINTED_FILES + 101)
    # The last events may come when a comparison has already seen what they tell of.
    server.until(lambda: server.watching.state()[server.root]["pending"] == 0)


@pytest.mark.long
def test_a_million_events_cost_no_memory_and_the_index_follows(server: Server) -> None:
    server.start()
    churn, status = server.tree / "churn.py", Path("/proc/self/status")

    def anonymous() -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("RssAnon"))

    def flood(events: int) -> None:
        with open(churn, "wb", buffering=0) as file:
            for number in range(events):
                file.write(b"x")
                if number % 64 == 0:
                    os.truncate(churn, 0)

    flood(100_000)
    server.until(lambda: not server.watching.state()[server.root]["pending"])
    before = anonymous()
    flood(900_000)
    (server.tree / "last.py").write_text("last = 1\n")
    churn.write_text("still = 1\n")
    server.until(lambda: server.texts().get("churn.py") == b"still = 1\n" and "last.py" in server.texts())
    assert anonymous() - before < 32 * 1024
