"""The codebases that are kept open: one caller at a time for each, no more of them than there is room for."""

from __future__ import annotations

import errno
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.allowed import Allowed
from cairn.ask.runs import Action, Patience
from cairn.ask.session import Session
from cairn.ask.workspace import Workspace
from cairn.errors import Cancelled
from cairn.search.types import Mode, SearchRequest
from cairn.store.disk import Disk
from cairn.tools.table import call
from tests.conformance import conforms
from tests.support.servers import LEASE, Agent
from tests.support.waiting import PATIENCE

READS: list[tuple[str, dict[str, Any]]] = [
    ("file_outline", {"file": "lease.py"}),
    ("read_file", {"file": "lease.py"}),
    ("find_symbol", {"name": "Lease"}),
    ("find_symbol", {"name": "Lease", "references": True}),
    ("call_graph", {"symbol": "take"}),
    ("repo_map", {}),
]


def roots(tmp_path: Path, agent: Agent, count: int) -> list[str]:
    found = []
    for number in range(count):
        tree = (tmp_path / f"root{number}").resolve()
        tree.mkdir()
        (tree / "lease.py").write_text(LEASE)
        found.append(str(tree))
    return found


def open_sessions(desk: Workspace) -> list[str]:
    return [root for root, seat in desk.pool._slots.items() if seat.session is not None]


def test_what_was_asked_longest_ago_is_closed_for_another(tmp_path: Path, agent: Agent) -> None:
    folders = roots(tmp_path, agent, 4)
    desk = Workspace(agent.environ, Allowed(agent.environ, folders), most=2)
    targets = [desk.pool.allowed.resolve(folder) for folder in folders]
    for target in (*targets[:3], targets[1], targets[3]):
        with desk.pool.session(target):
            pass
    assert open_sessions(desk) == [folders[1], folders[3]]
    desk.close()
    assert open_sessions(desk) == []


@conforms("001.ST3", "001.RD4", "001.AC7")
def test_a_store_that_cannot_be_read_just_now_stands_as_it_did_with_a_note(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Disk, path: str, *__: object) -> object:
        raise OSError(errno.EIO, "injected", path)

    calls: list[tuple[str, dict[str, Any]]] = [("index_status", {}), ("manage_index", {"action": "status"}), *READS]
    before = [indexed.ask(tool, **arguments) for tool, arguments in calls]
    with monkeypatch.context() as patch:
        patch.setattr(Disk, "read", refuse)
        patch.setattr(Disk, "open_map", refuse)
        for (tool, arguments), whole in zip(calls, before, strict=True):
            answer = indexed.ask(tool, **arguments)
            assert answer["status"] == "ok"
            assert answer["hints"]["debugProofCheck"] == {"ok": False, "reason": "probe_failed"}
            differs = {name for name in answer if answer[name] != whole[name]}
            # Only that it could not be read is told besides.
            assert differs <= {"hints", "warnings", "freshness", "disk"}
        # Who has never seen it says that it cannot be read, not that it is not there.
        other = Workspace(indexed.environ, indexed.desk.pool.allowed)
        refused = json.loads(call(other, "index_status", {}).to_json())
        assert (refused["status"], "reason" in refused) == ("error", False)
        other.close()
    assert "debugProofCheck" not in indexed.ask("index_status")["hints"]


def test_what_was_seen_of_codebases_is_not_kept_without_end(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.ask.workspace._MOST_SEEN", 2)
    folders = roots(tmp_path, agent, 3)
    desk = Workspace(agent.environ, Allowed(agent.environ, folders))
    for folder in (*folders, folders[1]):
        desk.pool.status(desk.pool.allowed.resolve(folder))
    assert list(desk.pool._seen) == [folders[2], folders[1]]
    desk.close()


def test_a_session_that_is_in_use_is_never_closed_under_its_user(tmp_path: Path, agent: Agent) -> None:
    agent.index()
    folders = roots(tmp_path, agent, 3)
    desk = Workspace(agent.environ, Allowed(agent.environ, [str(agent.tree), *folders]), most=1)
    with desk.pool.session(desk.pool.allowed.resolve(None)) as session:
        for folder in folders:
            with desk.pool.session(desk.pool.allowed.resolve(folder)):
                pass
        answer = session.ask(SearchRequest("Lease", Mode.SYMBOL))
        assert answer.found is not None
        assert answer.found.total == 1
    assert len(open_sessions(desk)) <= 1
    desk.close()


def test_one_codebase_is_asked_by_one_caller_at_a_time_and_others_go_on(indexed: Agent, tmp_path: Path) -> None:
    (other,) = roots(tmp_path, indexed, 1)
    desk = Workspace(indexed.environ, Allowed(indexed.environ, [str(indexed.tree), other]))
    inside: list[Session] = []
    done = threading.Event()

    def ask() -> None:
        with desk.pool.session(desk.pool.allowed.resolve(None)) as session:
            inside.append(session)
            done.set()

    thread = threading.Thread(target=ask)
    with desk.pool.session(desk.pool.allowed.resolve(None)) as first:
        thread.start()
        with desk.pool.session(desk.pool.allowed.resolve(other)):
            pass
        assert not done.wait(0.05)
    thread.join(PATIENCE)
    assert inside == [first]
    desk.close()


def test_many_threads_ask_many_codebases_and_each_gets_its_own_answer(tmp_path: Path, agent: Agent) -> None:
    folders = roots(tmp_path, agent, 3)
    for number, folder in enumerate(folders):
        (Path(folder) / f"only{number}.py").write_text(f"def only{number}(): ...\n")
    desk = Workspace(agent.environ, Allowed(agent.environ, folders), most=2)
    for folder in folders:
        run = desk.runs.start(Action.CREATE, desk.pool.allowed.resolve(folder).codebase)
        assert run.wait(PATIENCE)
    wrong: list[object] = []

    def ask(seed: int) -> None:
        for turn in range(10):
            number = (seed + turn) % len(folders)
            with desk.pool.session(desk.pool.allowed.resolve(folders[number])) as session:
                found = session.ask(SearchRequest(f"only{number}", Mode.SYMBOL)).found
                if found is None or [hit.path for hit in found.hits] != [f"only{number}.py"]:
                    wrong.append((number, found))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
    assert len(open_sessions(desk)) <= 2
    desk.close()


def test_settings_that_change_are_in_force_at_the_next_question(indexed: Agent) -> None:
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"
    indexed.settings("[limits]\nmax_file_bytes = 1000\n")
    # Another limit is another index, and there is none of that kind yet.
    assert indexed.ask("find_symbol", name="Lease")["status"] == "requires_reindex"
    indexed.settings("")
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"


def test_who_waits_is_told_how_far_the_run_is_and_may_stop_waiting(agent: Agent) -> None:
    run = agent.desk.runs.start(Action.CREATE, agent.desk.pool.allowed.resolve(None).codebase)
    told: list[object] = []
    assert Patience(progress=told.append).wait(run)

    class Endless:
        progress = None

        def wait(self, _: float) -> bool:
            return False

    with pytest.raises(Cancelled):
        Patience(cancelled=lambda: True).wait(Endless())  # type: ignore[arg-type]
    assert not Patience(seconds=0.0).wait(Endless())  # type: ignore[arg-type]


def test_another_view_serves_other_folders_from_the_same_open_codebases(indexed: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    view = indexed.desk.serving([str(other)])
    assert view.pool.allowed.resolve(None).codebase.root.path == str(other.resolve())
    assert indexed.desk.pool.allowed.resolve(None).codebase.root.path == str(indexed.tree)
    target = indexed.desk.pool.allowed.resolve(None)
    with indexed.desk.pool.session(target) as first:
        pass
    with view.pool.session(target) as second:
        assert second is first


def test_what_is_shed_is_closed_unless_somebody_asks_it_and_made_again(indexed: Agent) -> None:
    target = indexed.desk.pool.allowed.resolve(None)
    with indexed.desk.pool.session(target) as held:
        indexed.desk.pool.shed()
        assert held.gate.is_open
    with indexed.desk.pool.session(target) as same:
        assert same is held
    indexed.desk.pool.shed()
    with indexed.desk.pool.session(target) as anew:
        assert anew is not held
    assert indexed.ask("search_codebase", query="lease")["results"]


def test_who_watches_is_told_which_codebases_are_asked_while_they_can_answer(agent: Agent) -> None:
    told: list[str] = []
    agent.desk.pool.used = told.append
    agent.ask("find_symbol", name="Lease")
    assert told == []
    agent.index()
    agent.ask("find_symbol", name="Lease")
    assert set(told) == {str(agent.tree)}
