"""MCP servers as thin clients: the daemon answers for all of them, and each by itself when it does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.workspace import Workspace
from cairn.core.progress import Phase, Progress
from cairn.daemon import client
from cairn.daemon.client import ensure_daemon
from cairn.mcp.calls import InThisProcess, ThroughDaemon
from tests.mcp.test_server import many_files
from tests.schemas import check
from tests.support.servers import HELLO, READY, Agent, Mcp, connected, daemons_started, no_daemon_left, threaded
from tests.support.waiting import PATIENCE, end, is_alive, until


@pytest.fixture
def agent_with_daemon(indexed: Agent) -> Iterator[Agent]:
    indexed.environ["PATH"] = os.environ["PATH"]
    with no_daemon_left(indexed.environ):
        yield indexed


def never() -> Workspace:
    raise AssertionError("the daemon was to answer")


def through(agent: Agent, own: Callable[[], Workspace] = never) -> ThroughDaemon:
    return ThroughDaemon(str(agent.home), agent.environ, [str(agent.tree)], InThisProcess(own))


def start_daemon(agent: Agent) -> int:
    """The pid of a daemon that runs, however long it took to start."""
    found = ensure_daemon(str(agent.home), agent.environ, "mcp", seconds=PATIENCE)
    assert found is not None
    found.close()
    return int(found.pid)


def asked(calls: ThroughDaemon, tool: str, tell: Callable[[Progress], None] = lambda _: None, **arguments: Any) -> Any:
    text, failed = calls.call(tool, arguments, tell, lambda: False)
    envelope = json.loads(text)
    check(envelope, envelope["schema"])
    assert failed == (envelope["status"] == "error")
    return envelope


def test_the_daemon_answers_to_the_byte_as_this_process_would(indexed: Agent) -> None:
    with threaded(indexed.environ):
        calls = through(indexed)
        try:
            for tool, arguments in (("find_symbol", {"name": "Lease"}), ("read_file", {"file": "lease.py"})):

                def answer(
                    of: ThroughDaemon | InThisProcess, tool: str = tool, arguments: dict[str, str] = arguments
                ) -> dict[str, Any]:
                    text, failed = of.call(tool, dict(arguments), lambda _: None, lambda: False)
                    # Who watches the files need not compare them, and says so.
                    return {**json.loads(text), "freshness": None, "failed": failed}

                # Until it has caught up with the tree, the daemon says that it does.
                until(lambda: answer(calls) == answer(InThisProcess(lambda: indexed.desk)))
            assert calls.roots() == [str(indexed.tree)]
            assert calls.tools() == InThisProcess(never).tools()
        finally:
            calls.close()


def test_how_far_a_run_is_comes_through_and_so_does_that_nobody_waits_for_it(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    many_files(agent.tree)
    with threaded(agent.environ) as daemon:
        calls = through(agent)
        told: list[Progress] = []
        text, failed = calls.call("manage_index", {"action": "create"}, told.append, lambda: bool(told))
        assert told[0].phase in set(Phase)
        assert (failed, json.loads(text)["error"]["code"]) == (True, "cancelled")
        until(lambda: daemon.report().running == 0)
        assert asked(calls, "index_status")["status"] != "ok"
        calls.close()
    agent.close()


_LIGHT = """
import sys, json
from cairn.mcp.calls import InThisProcess, ThroughDaemon
import cairn.mcp.server
home, tree = sys.argv[1:]
import os
def never():
    raise AssertionError
calls = ThroughDaemon(home, os.environ, [tree], InThisProcess(never))
assert json.loads(calls.call("search_codebase", {"query": "lease"}, lambda _: None, lambda: False).text)["results"]
assert len(calls.tools()) >= 9
print(sorted({"numpy", "tree_sitter", "sqlite3", "cairn.ask.session", "cairn.ask.workspace"} & set(sys.modules)))
calls.close()
"""


def test_a_process_that_asks_the_daemon_loads_nothing_heavy(indexed: Agent) -> None:
    with threaded(indexed.environ):
        done = subprocess.run(
            [sys.executable, "-c", _LIGHT, str(indexed.home), str(indexed.tree)],
            env=indexed.variables(), capture_output=True, text=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
    assert done.stdout == "['sqlite3']\n"


@pytest.mark.long
def test_when_the_daemon_is_killed_a_call_is_made_once_more_by_another(agent_with_daemon: Agent) -> None:
    agent = agent_with_daemon
    first = start_daemon(agent)
    calls = through(agent, lambda: agent.desk)
    assert asked(calls, "find_symbol", name="Lease")["status"] == "ok"
    end(first)
    assert asked(calls, "find_symbol", name="Lease")["status"] == "ok"
    calls.close()
    assert not is_alive(first)


def test_while_the_daemon_is_stopped_calls_are_answered_here(
    agent_with_daemon: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped daemon: what was asked before and what is asked then is answered in bounded time, and it comes back."""
    agent = agent_with_daemon
    pid = start_daemon(agent)
    calls = through(agent, lambda: agent.desk)
    assert asked(calls, "find_symbol", name="Lease")["status"] == "ok"
    with monkeypatch.context() as hasty:
        hasty.setattr(client, "_QUIET_SECONDS", 0.3)
        os.kill(pid, signal.SIGSTOP)
        for _ in range(2):
            assert asked(calls, "find_symbol", name="Lease")["status"] == "ok"
        os.kill(pid, signal.SIGCONT)
    calls.close()
    back = through(agent)
    assert asked(back, "find_symbol", name="Lease")["status"] == "ok"
    back.close()
    assert daemons_started(agent.environ) == [pid]


# --- many agents ------------------------------------------------------------------------------------------------------


class Host(Mcp):
    """A host that has started `cairn mcp`, whose pipes we hold."""

    def search(self, name: str) -> list[dict[str, Any]]:
        """The definitions of this name. On a busy machine a comparing may take longer than a call waits for it."""
        return list(self.ask("search_codebase", query=name, mode="symbol")["results"])

    def work(self, rounds: int) -> None:
        self.said(HELLO)
        self.send(READY)
        for number in range(rounds):
            self.ask("search_codebase", query=f"lease {number}")
            self.ask("find_symbol", name="Lease")
            self.ask("index_status")

    def inotify(self) -> int:
        """How many watches of its own the process has."""
        folder = f"/proc/{self.pid}/fd"
        return sum("inotify" in os.readlink(f"{folder}/{name}") for name in os.listdir(folder))

    def maps(self, name: str) -> bool:
        return name in Path(f"/proc/{self.pid}/maps").read_text()


def check_many(agent: Agent, count: int, rounds: int) -> None:
    # It runs before they come: that they could start one is shown elsewhere, and takes its time on a busy machine.
    start_daemon(agent)
    over = threading.Event()

    def edit() -> None:
        for number in range(100_000):
            (agent.tree / f"edited_{number % 7}.py").write_text(f"def edited_{number}():\n    return {number}\n")
            if over.wait(0.03):
                return

    with ExitStack() as stack:
        found = [stack.enter_context(Host(agent, hosted=True)) for _ in range(count)]
        editing = threading.Thread(target=edit)
        editing.start()
        threads = [threading.Thread(target=host.work, args=(rounds,)) for host in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        over.set()
        editing.join()
        assert {code for host in found for code in host.codes} <= {"busy"}
        assert all(host.number == 1 + 3 * rounds for host in found)
        # What is saved last is seen by every one of them.
        (agent.tree / "last.py").write_text("def the_last_of_all():\n    return 1\n")
        for host in found:
            until(lambda: [one["path"] for one in host.search("the_last_of_all")] == ["last.py"])  # noqa: B023
        with connected(agent.environ) as connection:
            status = connection.request("status", {})["status"]
        # One daemon, which alone watches and writes; the others have not even loaded what that takes.
        assert daemons_started(agent.environ) == [status["daemon"]["pid"]]
        assert [row["root"] for row in status["roots"]] == [str(agent.tree)]
        assert status["daemon"]["clients"] == count + 1
        assert [(host.inotify(), host.maps("numpy")) for host in found] == [(0, False)] * count
        for host in found:
            host.process.kill()
        until(lambda: not any(is_alive(host.pid) for host in found))
    with connected(agent.environ) as connection:
        until(lambda: connection.request("status", {})["status"]["daemon"]["clients"] == 1)
        connection.request("leave", {})
    until(lambda: not is_alive(status["daemon"]["pid"]))


def test_two_agents_share_one_repository_while_its_files_change(agent_with_daemon: Agent) -> None:
    check_many(agent_with_daemon, 2, 1)


@pytest.mark.long
def test_ten_agents_share_one_repository_while_its_files_change(agent_with_daemon: Agent) -> None:
    check_many(agent_with_daemon, 10, 20)
