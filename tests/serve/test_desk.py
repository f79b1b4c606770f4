"""The codebases that are kept open: one caller at a time for each, no more of them than there is room for."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cairn.errors import Cancelled
from cairn.search.types import Mode, SearchRequest
from cairn.serve.desk import Desk, Patience
from cairn.serve.guard import Allowed
from cairn.serve.runs import Action
from cairn.session import Session
from tests.serve.conftest import LEASE, Agent

LONG = 30.0


def roots(tmp_path: Path, agent: Agent, count: int) -> list[str]:
    found = []
    for number in range(count):
        tree = (tmp_path / f"root{number}").resolve()
        tree.mkdir()
        (tree / "lease.py").write_text(LEASE)
        found.append(str(tree))
    return found


def open_sessions(desk: Desk) -> list[str]:
    return [root for root, seat in desk._seats.items() if seat.session is not None]


def test_what_was_asked_longest_ago_is_closed_for_another(tmp_path: Path, agent: Agent) -> None:
    folders = roots(tmp_path, agent, 4)
    desk = Desk(agent.environ, Allowed(agent.environ, folders), most=2)
    targets = [desk.allowed.resolve(folder) for folder in folders]
    for target in (*targets[:3], targets[1], targets[3]):
        with desk.session(target):
            pass
    assert open_sessions(desk) == [folders[1], folders[3]]
    desk.close()
    assert open_sessions(desk) == []


def test_a_session_that_is_in_use_is_never_closed_under_its_user(tmp_path: Path, agent: Agent) -> None:
    agent.index()
    folders = roots(tmp_path, agent, 3)
    desk = Desk(agent.environ, Allowed(agent.environ, [str(agent.tree), *folders]), most=1)
    with desk.session(desk.allowed.resolve(None)) as session:
        for folder in folders:
            with desk.session(desk.allowed.resolve(folder)):
                pass
        answer = session.ask(SearchRequest("Lease", Mode.SYMBOL))
        assert answer.found is not None
        assert answer.found.total == 1
    assert len(open_sessions(desk)) <= 1
    desk.close()


def test_one_codebase_is_asked_by_one_caller_at_a_time_and_others_go_on(indexed: Agent, tmp_path: Path) -> None:
    (other,) = roots(tmp_path, indexed, 1)
    desk = Desk(indexed.environ, Allowed(indexed.environ, [str(indexed.tree), other]))
    inside: list[Session] = []
    done = threading.Event()

    def ask() -> None:
        with desk.session(desk.allowed.resolve(None)) as session:
            inside.append(session)
            done.set()

    thread = threading.Thread(target=ask)
    with desk.session(desk.allowed.resolve(None)) as first:
        thread.start()
        with desk.session(desk.allowed.resolve(other)):
            pass
        assert not done.wait(0.05)
    thread.join(LONG)
    assert inside == [first]
    desk.close()


def test_many_threads_ask_many_codebases_and_each_gets_its_own_answer(tmp_path: Path, agent: Agent) -> None:
    folders = roots(tmp_path, agent, 3)
    for number, folder in enumerate(folders):
        (Path(folder) / f"only{number}.py").write_text(f"def only{number}(): ...\n")
    desk = Desk(agent.environ, Allowed(agent.environ, folders), most=2)
    for folder in folders:
        run = desk.runs.start(Action.CREATE, desk.allowed.resolve(folder).codebase)
        assert run.wait(LONG)
    wrong: list[object] = []

    def ask(seed: int) -> None:
        for turn in range(10):
            number = (seed + turn) % len(folders)
            with desk.session(desk.allowed.resolve(folders[number])) as session:
                found = session.ask(SearchRequest(f"only{number}", Mode.SYMBOL)).found
                if found is None or [hit.path for hit in found.hits] != [f"only{number}.py"]:
                    wrong.append((number, found))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert wrong == []
    assert len(open_sessions(desk)) <= 2
    desk.close()


def test_settings_that_change_are_in_force_at_the_next_question(indexed: Agent) -> None:
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"
    (indexed.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 1000\n")
    # Another limit is another index, and there is none of that kind yet.
    assert indexed.ask("find_symbol", name="Lease")["status"] == "requires_reindex"
    (indexed.tree / ".cairn.toml").unlink()
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"


def test_who_waits_is_told_how_far_the_run_is_and_may_stop_waiting(agent: Agent) -> None:
    run = agent.desk.runs.start(Action.CREATE, agent.desk.allowed.resolve(None).codebase)
    told: list[object] = []
    assert Patience(progress=told.append).wait(run)

    class Endless:
        progress = None

        def wait(self, _: float) -> bool:
            return False

    with pytest.raises(Cancelled):
        Patience(cancelled=lambda: True).wait(Endless())  # type: ignore[arg-type]
    assert not Patience(seconds=0.0).wait(Endless())  # type: ignore[arg-type]
