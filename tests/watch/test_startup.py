"""Every server catches up when it starts, and makes a first index; on vectors of another model it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.ask import runs as runs_module
from cairn.ask.allowed import Allowed
from cairn.ask.refusing import refuse_other_model
from cairn.ask.runs import Action
from cairn.ask.session import whole
from cairn.core.clock import SYSTEM_CLOCK, rfc3339
from cairn.core.limits import DAEMON_RECENT_SECONDS
from cairn.errors import EmbeddingModelChangedError, StoreError
from cairn.store.registry import read_registry
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.inventory import at_home
from cairn.sync.report import RunOptions
from cairn.watch.watcher import WatchedWorkspace
from tests.conformance import conforms
from tests.support.servers import HELLO, Agent, Mcp, no_daemon_left
from tests.support.waiting import PATIENCE, until
from tests.sync.desk import Model, silent

pytestmark = pytest.mark.usefixtures("parsed_here")

OTHER = (
    '[embedding]\nprovider = "http"\nurl = "http://127.0.0.1:9/v1/embeddings"\nmodel = "other-model"\ndimension = 8\n'
)


def codebase_of(agent: Agent) -> Codebase:
    return open_codebase(str(agent.tree), agent.environ)


@conforms("004.MD2")
def test_the_same_model_may_start(indexed: Agent) -> None:
    refuse_other_model(codebase_of(indexed), str(indexed.home))


def test_without_any_index_any_model_may_start(agent: Agent) -> None:
    refuse_other_model(codebase_of(agent), str(agent.home))


@conforms("004.MD3", "004.MD4")
def test_another_model_is_refused_with_both_names_and_the_place(indexed: Agent) -> None:
    stored = indexed.ask("index_status", path=str(indexed.tree))["embedding_model"]
    place = place_of(codebase_of(indexed), str(indexed.home))
    indexed.settings(OTHER)
    with pytest.raises(EmbeddingModelChangedError) as caught:
        refuse_other_model(codebase_of(indexed), str(indexed.home))
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.exit_status == 1
    for part in (stored, "other-model", place.path):
        assert part in caught.value.sentence
    assert "cairn reindex" in caught.value.advice


def cairn(agent: Agent, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        env={**os.environ, **agent.environ},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@conforms("004.MD3")
@pytest.mark.parametrize("command", ["watch", "mcp", "mcp without --root", "daemon start"])
def test_a_server_of_one_codebase_ends_with_status_one(indexed: Agent, command: str) -> None:
    indexed.settings(OTHER)
    verb, _, bare = command.partition(" without ")
    root = [] if bare else ["--root", str(indexed.tree)]
    answer = cairn(indexed, *verb.split(), *root, cwd=indexed.tree)
    assert answer.returncode == 1
    assert "Embedding model changed from" in answer.stderr
    assert "other-model" in answer.stderr


def test_a_server_of_many_answers_for_that_one_that_it_must_be_built_anew(indexed: Agent) -> None:
    indexed.settings(OTHER)
    answer = indexed.ask("search_codebase", path=str(indexed.tree), query="lease")
    assert answer["status"] == "requires_reindex"


@conforms("004.MD1")
def test_the_model_is_written_down_before_any_work(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """As a kill ends a process: nothing is tidied up."""

    def killed(*_: object) -> object:
        raise Killed

    monkeypatch.setattr("cairn.sync.catchup.CatchUp.go", killed)
    monkeypatch.setattr("cairn.sync.tracking._ended", killed)
    options = RunOptions(str(agent.home), embedder=Model())
    with pytest.raises(Killed):
        run.sync(codebase_of(agent), options, silent)
    with at_home(str(agent.home), "") as disk:
        (entry,) = read_registry(disk)
    assert entry.embedding_model == Model().identity.model
    assert entry.last_run_outcome == "begun"


@conforms("004.MD5")
def test_the_model_is_remembered_when_the_index_is_cleared(indexed: Agent) -> None:
    def remembered() -> str | None:
        with at_home(str(indexed.home), "") as disk:
            (entry,) = read_registry(disk)
        return entry.embedding_model

    before = remembered()
    indexed.ask("manage_index", action="clear", force=True, path=str(indexed.tree))
    assert before is not None
    assert remembered() == before


@conforms("004.CU15")
def test_a_watched_desk_begins_with_what_it_serves(indexed: Agent) -> None:
    (indexed.tree / "missed.py").write_text("def missed(): ...\n")
    root = str(indexed.tree)
    desk = WatchedWorkspace(indexed.environ, Allowed(indexed.environ, [root]), roots=[root])
    try:
        assert desk.watching.caught_up(root, PATIENCE)
        assert desk.watching.state()[root]["mode"] == "watching"
        indexed.desk.close()
        indexed.desk = desk
        answer = indexed.ask("file_outline", path=root, file="missed.py")
        assert answer["status"] == "ok"
    finally:
        desk.close()


# --- every start catches up, whether or not anybody asks --------------------------------------------------------------


def published(agent: Agent, root: Path | None = None) -> set[str]:
    """The files of the newest snapshot, as it is: nobody looks at the tree for this."""
    with agent.desk.pool.session(whole(str(root or agent.tree), agent.environ)) as session:
        return set(session.kept(lambda view: set(view.records()))) if session.gate.is_open else set()


@pytest.fixture
def alone(indexed: Agent) -> Iterator[Agent]:
    """An agent with an index; a daemon that is started for it is ended with the test."""
    with no_daemon_left({**indexed.environ, "PATH": os.environ["PATH"]}):
        yield indexed


@conforms("004.CU1", "004.CU15")
@pytest.mark.parametrize(
    ("options", "rooted"),
    [
        pytest.param(["--offline"], True, marks=pytest.mark.long),
        (["--offline"], False),
        pytest.param([], True, marks=pytest.mark.long),
        ([], False),
    ],
)
def test_a_server_that_has_only_said_hello_is_up_to_date(alone: Agent, options: list[str], rooted: bool) -> None:
    (alone.tree / "missed.py").write_text("def missed(): ...\n")
    with Mcp(alone, *options, rooted=rooted) as server:
        assert server.said(HELLO)["result"]["serverInfo"]["name"] == "cairn"
        until(lambda: "missed.py" in published(alone))
        # It was not one look: from now on it watches.
        (alone.tree / "later.py").write_text("def later(): ...\n")
        until(lambda: "later.py" in published(alone))


@conforms("004.CU1", "004.CU15")
def test_a_daemon_that_was_only_started_is_up_to_date_with_what_was_used_lately(alone: Agent) -> None:
    (alone.tree / "missed.py").write_text("def missed(): ...\n")
    assert cairn(alone, "daemon", "start").returncode == 0
    until(lambda: "missed.py" in published(alone))


@pytest.mark.long
def test_a_daemon_makes_the_first_index_of_the_folder_that_it_is_started_for(alone: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "new.py").write_text("def new(): ...\n")
    assert cairn(alone, "daemon", "start", "--root", str(other)).returncode == 0
    until(lambda: published(alone, other) == {"new.py"})


def desk_of(agent: Agent, *roots: str, **options: bool) -> WatchedWorkspace:
    return WatchedWorkspace(agent.environ, Allowed(agent.environ, roots), roots=roots, **options)


def test_a_server_makes_the_first_index_of_its_root(agent: Agent) -> None:
    root = str(agent.tree)
    desk = desk_of(agent, root)
    try:
        assert desk.watching.caught_up(root, PATIENCE)
        assert published(agent) == {"lease.py"}
        assert desk.watching.state()[root]["mode"] == "watching"
        first = desk.runs.last(root)
        assert first is not None
        assert first.error is None
    finally:
        desk.close()


@pytest.mark.parametrize("why", ["auto_index", "too many", "cleared", "failed"])
def test_a_server_makes_no_index_that_is_for_somebody_to_ask_for(
    agent: Agent, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(agent.tree)
    if why == "auto_index":
        agent.settings("[search]\nauto_index = false\n")
    elif why == "too many":
        (agent.tree / "second.py").write_text("x = 1\n")
        agent.settings("[index]\nask_above = 1\n")
    elif why == "cleared":
        agent.index()
        agent.ask("manage_index", action="clear", force=True, path=root)
    else:
        with monkeypatch.context() as broken:
            broken.setattr("cairn.sync.catchup.CatchUp.go", _refused)
            with pytest.raises(StoreError):
                run.index(codebase_of(agent), RunOptions(str(agent.home)), silent)
    desk = desk_of(agent, root)
    try:
        assert desk.watching.caught_up(root, PATIENCE)
        assert desk.watching.state() == {}
        assert desk.runs.last(root) is None
    finally:
        desk.close()
    assert published(agent) == set()


def _refused(*_: object) -> object:
    raise OSError("refused")


@conforms("004.CU17")
def test_what_a_killed_process_has_begun_is_finished_by_the_next_server(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """As a kill ends a process: nothing is tidied up."""

    def killed(*_: object) -> object:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("cairn.sync.catchup.CatchUp.go", killed)
        dying.setattr("cairn.sync.tracking._ended", killed)
        with pytest.raises(Killed):
            run.index(codebase_of(agent), RunOptions(str(agent.home)), silent)
    root = str(agent.tree)
    desk = desk_of(agent, root)
    try:
        assert desk.watching.caught_up(root, PATIENCE)
        assert published(agent) == {"lease.py"}
    finally:
        desk.close()


def test_without_auto_watch_a_start_catches_up_once(indexed: Agent) -> None:
    (indexed.tree / "missed.py").write_text("def missed(): ...\n")
    root = str(indexed.tree)
    desk = desk_of(indexed, root, auto_watch=False)
    try:
        until(lambda: "missed.py" in published(indexed))
        until(lambda: desk.watching.state() == {})
        indexed.desk.close()
        indexed.desk = desk
        (indexed.tree / "later.py").write_text("def later(): ...\n")
        assert indexed.ask("file_outline", path=root, file="later.py")["freshness"]["mode"] == "overlay"
        assert desk.watching.state() == {}
    finally:
        desk.close()


def test_codebases_of_the_last_two_weeks_are_caught_up_with_one_by_one_the_newest_first_and_gently(
    indexed: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = [indexed.tree, *(tmp_path / name for name in ("second", "third", "old"))]
    for tree in trees[1:]:
        tree.mkdir()
        (tree / "one.py").write_text("def one(): ...\n")
        run.index(open_codebase(str(tree), indexed.environ), RunOptions(str(indexed.home)), silent)
    now = SYSTEM_CLOCK.wall_ns()
    for age, tree in enumerate(trees, 1):
        place = place_of(open_codebase(str(tree), indexed.environ), str(indexed.home))
        past = now - (age * 60 + (DAEMON_RECENT_SECONDS if tree.name == "old" else 0)) * 1_000_000_000
        (Path(place.path) / "last_used").write_text(f"{rfc3339(past)}\n")
    at_work: list[str] = []
    begun: list[tuple[str, list[str], int]] = []
    real = runs_module._ENGINES[Action.SYNC]

    def sync(codebase: Codebase, *given: object, **options: object) -> object:
        at_work.append(codebase.root.path)
        begun.append((codebase.root.path, list(at_work), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())))
        try:
            return real(codebase, *given, **options)
        finally:
            at_work.remove(codebase.root.path)

    monkeypatch.setattr(runs_module, "_ENGINES", {**runs_module._ENGINES, Action.SYNC: sync})
    desk = desk_of(indexed)
    try:
        desk.serve_recent(lambda: False)
        usual = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        assert begun == [(str(tree), [str(tree)], min(19, usual + 10)) for tree in trees[:3]]
    finally:
        desk.close()


def test_a_daemon_serves_the_others_beside_one_of_another_model(indexed: Agent) -> None:
    indexed.settings(OTHER)
    (indexed.tree / "missed.py").write_text("def missed(): ...\n")
    desk = desk_of(indexed)
    try:
        desk.serve_recent(lambda: False)
        assert desk.watching.state() == {}
        indexed.desk.close()
        indexed.desk = desk
        assert indexed.ask("find_symbol", path=str(indexed.tree), name="missed")["status"] == "requires_reindex"
    finally:
        desk.close()
