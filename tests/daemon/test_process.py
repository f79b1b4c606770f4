"""The daemon as its clients meet it: what is asked well is answered, and what is asked badly disturbs nobody else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.core.config import ServeConfig
from cairn.core.limits import DAEMON_CALLS_PER_CLIENT, DAEMON_QUEUE_PER_CLIENT, MAX_FRAME_REQUEST_BYTES
from cairn.daemon import address
from cairn.daemon.client import Abandoned, Connection, connect
from cairn.daemon.frames import encode, hello
from cairn.daemon.process import Daemon
from cairn.store.format.document import MANIFEST
from tests.cli.test_bad_stores import rewrite
from tests.conformance import conforms
from tests.schemas import validator
from tests.support.servers import VERSION, Agent, Raw, connected, met, threaded
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("parsed_here")

SEARCH = {"name": "search_codebase", "arguments": {"query": "lease"}}


@pytest.fixture
def served(indexed: Agent) -> Iterator[tuple[Agent, Daemon]]:
    with threaded(indexed.environ) as daemon:
        yield indexed, daemon


def ask(connection: Connection, agent: Agent, tool: str = "search_codebase", **arguments: Any) -> dict[str, Any]:
    """The envelope of a tool's answer, which has the shape that is promised."""
    if tool == "search_codebase" and not arguments:
        arguments = {"query": "lease"}
    body = {"name": tool, "arguments": arguments, "served": [str(agent.tree)]}
    envelope: dict[str, Any] = connection.request("tool", body)["envelope"]
    validator(envelope["schema"]).validate(envelope)
    return envelope


def is_served(agent: Agent) -> bool:
    """Whether somebody else is answered."""
    with connected(agent.environ) as other:
        return ask(other, agent)["status"] == "ok"


def log_lines(agent: Agent) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (agent.home / "logs" / "daemon.log").read_text().splitlines()]


# --- what is asked well -----------------------------------------------------------------------------------------------


def test_tools_are_answered_as_they_are_without_it(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with connected(agent.environ) as connection:
        questions: list[tuple[str, dict[str, Any]]] = [
            ("find_symbol", {"name": "Lease"}),
            ("file_outline", {"file": "lease.py"}),
            ("repo_map", {}),
        ]
        for tool, arguments in questions:
            told, own = ask(connection, agent, tool, **arguments), agent.ask(tool, **arguments)
            # The daemon may be catching up with what was saved before it came, and publish meanwhile.
            # Who watches the files need not compare them, and says so.
            for answer in (told, own):
                answer.pop("indexing", None)
                answer.pop("snapshot", None)
                answer.pop("freshness", None)
            assert told == own
        assert ask(connection, agent)["results"][0]["path"] == "lease.py"


def test_a_file_saved_before_the_question_is_in_the_answer(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with connected(agent.environ) as connection:
        assert ask(connection, agent)["status"] == "ok"
        (agent.tree / "other.py").write_text("def lease_of_nobody_else():\n    return 1\n")

        def found() -> list[str]:
            results = ask(connection, agent, query="lease_of_nobody_else", mode="symbol")["results"]
            return [one["path"] for one in results]

        # At once; but on a busy machine a comparing may take longer than a call waits for it.
        until(lambda: found() == ["other.py"])


def test_requests_of_one_connection_overlap_and_each_gets_its_own_answer(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    names = ["Lease", "take", "Lease.steal", "nothing"]
    with Raw(agent.environ) as raw:
        for number, name in enumerate(names):
            body = {"name": "find_symbol", "arguments": {"name": name}, "served": [str(agent.tree)]}
            raw.say({"id": number, "tool": body})
        answers = {reply["id"]: reply["envelope"] for reply in (raw.hear() for _ in names)}
    assert sorted(answers) == [0, 1, 2, 3]
    assert answers[3]["status"] == "ok"
    assert [bool(answers[number]["results"]) for number in range(4)] == [True, True, True, False]


def test_a_command_is_run_for_who_has_typed_it_or_given_back(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ) as raw:
        raw.say({"id": 1, "command": {"argv": ["symbol", "Lease"], "cwd": str(agent.tree)}})
        heard = [raw.hear()]
        while "exit" not in heard[-1]:
            heard.append(raw.hear())
        assert heard[-1] == {"id": 1, "exit": 0}
        assert "lease.py:1" in "".join(one.get("out", "") for one in heard)
        raw.say({"id": 2, "command": {"argv": ["reindex"], "cwd": str(agent.tree)}})
        assert "direct" in raw.hear()
    lines = [line for line in log_lines(agent) if line["event"] == "request"]
    assert [(one["action"], one["outcome"]) for one in lines] == [
        ("cairn symbol", "exit 0"),
        ("cairn reindex", "direct"),
    ]
    assert lines[0]["root"].endswith("/tree")


def test_what_tools_there_are_and_what_may_be_used_is_told(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with connected(agent.environ) as connection:
        table = connection.request("tools", {"served": []})["tools"]
        assert {"name", "title", "description", "schema", "read_only", "destructive", "idempotent"} == set(table[0])
        assert connection.request("roots", {"served": [str(agent.tree)]})["roots"] == [str(agent.tree)]


def test_status_tells_what_was_done_and_what_is_held(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with connected(agent.environ) as connection:
        for _ in range(3):
            ask(connection, agent)
        [few] = connection.request("status", {})["status"]["kinds"]
        assert (few["count"], few["p50Ms"], few["p95Ms"]) == (3, None, None), "of a handful no quantile is told"
        for _ in range(17):
            ask(connection, agent)
        status = connection.request("status", {})["status"]
    validator("cairn.daemon/1").validate(status)
    facts = status["daemon"]
    assert (facts["pid"], facts["requests"], facts["clients"]) == (os.getpid(), 20, 1)
    [kind] = status["kinds"]
    assert (kind["kind"], kind["count"], kind["failed"]) == ("search_codebase", 20, 0)
    assert 0 < kind["p50Ms"] <= kind["p95Ms"]
    assert facts["openHandles"] > 3
    # That of the whole test run here; a daemon of its own is measured in the soak.
    assert facts["memory"]["rssAnonBytes"] > 0
    assert facts["memory"]["ceilingBytes"] == 1 << 30


# --- what is asked badly: one clear answer each, and everybody else is served on --------------------------------------


MALFORMED = {
    b"\xff\xfe not JSON": "no JSON",
    b"[1,2]": "no object",
    b"[" * 50_000: "no JSON",
    b"": "no JSON",
}
NO_REQUESTS: list[dict[str, Any]] = [
    {},
    {"id": 1},
    {"id": "1", "status": {}},
    {"id": True, "status": {}},
    {"id": -1, "status": {}},
    {"id": 2**60, "status": {}},
    {"id": 1, "status": [], "x": 1},
    {"id": 1, "status": {}, "leave": {}},
    {"id": 1, "tool": {}},
    {"id": 1, "tool": {"name": 1, "arguments": {}}},
    {"id": 1, "tool": {"name": "x", "arguments": []}},
    {"id": 1, "tool": {"name": "x", "served": "/"}},
    {"id": 1, "tool": {"name": "x", "served": ["relative"]}},
    {"id": 1, "tool": {"name": "x", "served": ["/a\0b"]}},
    {"id": 1, "tool": {"name": "x", "served": ["/a"] * 100}},
    {"id": 1, "tool": SEARCH, "deadlineMs": 0},
    {"id": 1, "tool": SEARCH, "deadlineMs": "soon"},
]


def test_malformed_frames_are_refused_and_the_next_one_is_read(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ) as raw:
        for body, says in MALFORMED.items():
            raw.bytes(len(body).to_bytes(4, "big") + body)
            told = raw.hear()
            assert told["id"] is None
            assert told["error"]["code"] == "bad_frame"
            assert says in told["error"]["message"]
            raw.say({"id": 5, "status": {}})
            assert raw.hear()["id"] == 5
        assert is_served(agent)


def test_messages_that_are_no_requests_are_refused_in_one_sentence(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ) as raw:
        for message in NO_REQUESTS:
            raw.say(message)
            told = raw.hear()["error"]
            assert told["code"] == "bad_frame", message
            assert told["message"].endswith(".")
            raw.say({"ping": 7})
            assert raw.hear() == {"pong": 7}
        assert is_served(agent)


def test_a_frame_that_is_too_long_ends_its_own_connection_only(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ) as raw:
        raw.bytes((MAX_FRAME_REQUEST_BYTES + 1).to_bytes(4, "big"))
        assert str(MAX_FRAME_REQUEST_BYTES) in raw.hear()["error"]["message"]
        assert raw.has_ended()
    assert is_served(agent)


def test_a_frame_that_is_cut_off_ends_its_own_connection_only(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ) as raw:
        raw.bytes((100).to_bytes(4, "big") + b"{")
        raw.wire.shutdown(socket.SHUT_WR)
        assert "1 of 100" in raw.hear()["error"]["message"]
        assert raw.has_ended()
    assert is_served(agent)


def test_one_of_another_protocol_is_told_so_and_may_still_ask_it_to_leave(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ, greet=False) as raw:
        said = hello("9.9.9", 1, "cli", agent.environ)
        said["hello"]["protocols"] = [99]
        raw.say(said)
        told = raw.hear()["refused"]
        assert (told["code"], told["version"], told["pid"]) == ("version", VERSION, os.getpid())
        raw.say({"id": 1, "tool": SEARCH})
        assert raw.hear()["error"]["message"] == "Say hello first."
        assert is_served(agent)
        raw.say({"id": 2, "leave": {}})
        assert "leave" in raw.hear()


def test_one_with_other_settings_is_told_so(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    with Raw(agent.environ, greet=False) as raw:
        raw.say(hello(VERSION, 1, "cli", {**agent.environ, "CAIRN_DEBUG": "1"}))
        assert raw.hear()["refused"]["code"] == "settings"
    assert connect(str(agent.home), {**agent.environ, "CAIRN_DEBUG": "1"}, "cli") is None
    assert is_served(agent)


def test_a_path_outside_the_folders_of_the_asking_client_is_refused(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    other = agent.tree.parent / "elsewhere"
    other.mkdir(exist_ok=True)
    with connected(agent.environ) as connection:
        told = ask(connection, agent, "find_symbol", name="x", path=str(other))
        assert told["error"]["code"] == "root_not_allowed"
        # What is served to one client is not served to another.
        body = {"name": "index_status", "arguments": {"path": str(other)}, "served": [str(other)]}
        assert connection.request("tool", body)["envelope"]["status"] == "not_indexed"
        assert ask(connection, agent, "find_symbol", name="x", path=str(other))["status"] == "error"
        assert ask(connection, agent)["status"] == "ok"


def test_a_store_of_another_version_is_one_clear_answer(indexed: Agent, tmp_path: Path) -> None:
    second = (tmp_path / "second").resolve()
    second.mkdir()
    (second / "a.py").write_text("x = 1\n")
    before = set((indexed.home / "data").iterdir())
    body: dict[str, Any] = {"served": [str(second)], "name": "manage_index", "arguments": {"action": "create"}}
    with threaded(indexed.environ), connected(indexed.environ) as connection:
        assert connection.request("tool", body)["envelope"]["status"] == "ok"
    [store] = set((indexed.home / "data").iterdir()) - before
    for path in (*store.glob("snapshots/*/manifest.json"), *store.glob("generations/*")):
        rewrite(path, MANIFEST, "manifest_sha256", 999)
    body |= {"name": "find_symbol", "arguments": {"name": "x"}}
    with threaded(indexed.environ), connected(indexed.environ) as connection:
        told = connection.request("tool", body)["envelope"]
        assert (told["status"], told["error"]["code"]) == ("error", "incompatible"), told
        assert ask(connection, indexed)["status"] == "ok"


def test_another_user_is_not_answered(indexed: Agent) -> None:
    strangers = {"on": True}

    def user_of(wire: socket.socket) -> tuple[int, int]:
        return 4_242, os.geteuid() + strangers["on"]

    with threaded(indexed.environ, user_of=user_of):
        with Raw(indexed.environ, greet=False) as raw:
            raw.say(hello(VERSION, 1, "cli", indexed.environ))
            assert raw.has_ended()
        strangers["on"] = False
        assert is_served(indexed)
    assert [line["code"] for line in log_lines(indexed) if line["event"] == "client"] == ["other_user"]


_STRANGER = """
import socket, sys
wire = socket.socket(socket.AF_UNIX)
try:
    wire.connect(sys.argv[1])
    wire.sendall(bytes.fromhex(sys.argv[2]))
    print(wire.recv(100))
except OSError as problem:
    print(type(problem).__name__)
"""


def as_stranger(*command: str) -> str | None:
    """What the program says when another user runs it; None when they cannot."""
    try:
        return subprocess.run(
            command, user=54_321, group=54_321, extra_groups=[], capture_output=True, text=True, cwd="/", check=True
        ).stdout.strip()
    except (PermissionError, FileNotFoundError, subprocess.CalledProcessError):
        return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become somebody else")
def test_a_real_second_user_is_kept_out_and_not_answered_when_let_in() -> None:
    pythons = (os.path.realpath(sys.executable), "/usr/bin/python3")
    python = next((one for one in pythons if as_stranger(one, "-c", "") is not None), None)
    if python is None:
        pytest.skip("another user cannot run any Python of this machine")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = {"CAIRN_HOME": str(home), "HOME": folder}
        way = (Path(folder), home, home / "run", home / "run" / "daemon.sock")
        call = (python, "-I", "-S", "-c", _STRANGER, str(way[-1]), encode(hello(VERSION, 1, "cli", environ)).hex())
        with threaded(environ):
            assert as_stranger(*call) == "PermissionError"
            # As if somebody had opened every folder on the way, and the socket.
            for path in way:
                path.chmod(0o777)
            assert as_stranger(*call) in ("b''", "BrokenPipeError", "ConnectionResetError")
            with connected(environ):
                pass
            for path in way[:3]:
                path.chmod(0o700)
        assert '"code":"other_user"' in (home / "logs" / "daemon.log").read_text()


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_client_that_asks_too_much_is_told_when_to_come_again(
    served: tuple[Agent, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, daemon = served
    go = _held(monkeypatch)
    room = DAEMON_CALLS_PER_CLIENT + DAEMON_QUEUE_PER_CLIENT
    with Raw(agent.environ) as raw:
        for number in range(room):
            raw.say({"id": number, "tool": {**SEARCH, "served": [str(agent.tree)]}})
            until(lambda number=number: daemon.report().running == min(number + 1, DAEMON_CALLS_PER_CLIENT))  # type: ignore[misc]
        raw.say({"id": room, "tool": {**SEARCH, "served": [str(agent.tree)]}})
        told = raw.hear()
        assert told["id"] == room
        assert told["envelope"]["error"]["code"] == "daemon_busy"
        assert told["envelope"]["hints"]["retryAfterMs"] > 0
        validator("cairn.error/1").validate(told["envelope"])
        go.set()
        assert sorted(raw.hear()["id"] for _ in range(room)) == list(range(room))


def test_a_request_is_not_answered_after_its_time(
    served: tuple[Agent, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, _ = served
    go = _held(monkeypatch)
    with Raw(agent.environ) as raw:
        raw.say({"id": 1, "tool": {**SEARCH, "served": [str(agent.tree)]}, "deadlineMs": 50})
        told = raw.hear()["envelope"]
        assert told["error"]["code"] == "deadline_passed"
        assert told["error"]["retryable"]
        go.set()
        raw.say({"ping": 1})
        assert raw.hear() == {"pong": 1}, "a second answer would have come first"


def test_a_cancelled_request_is_not_answered_and_its_number_is_free_again(
    served: tuple[Agent, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, daemon = served
    go = _held(monkeypatch)
    request = {"id": 1, "tool": {**SEARCH, "served": [str(agent.tree)]}}
    with Raw(agent.environ) as raw:
        raw.say(request)
        raw.say(request)
        assert "not answered yet" in raw.hear()["error"]["message"]
        raw.say({"cancel": 1})
        raw.say({"cancel": "x"})
        go.set()
        raw.say({**request, "tool": {"name": "list_codebases", "arguments": {}}})
        assert raw.hear()["envelope"]["schema"] == "cairn.list/1"
        until(lambda: daemon.report().running == 0)


def test_what_a_client_asked_that_has_gone_is_given_up(
    served: tuple[Agent, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, daemon = served
    seen: list[Callable[[], bool]] = []
    go = _held(monkeypatch, seen)
    with Raw(agent.environ) as raw:
        raw.say({"id": 1, "tool": {**SEARCH, "served": [str(agent.tree)]}})
        until(lambda: seen)
        assert not seen[0]()
    until(seen[0])
    go.set()
    until(lambda: daemon.report().running == 0)
    assert daemon.report().clients == 0


def test_one_who_says_nothing_holds_up_nobody(served: tuple[Agent, Daemon]) -> None:
    agent, _ = served
    silent = [Raw(agent.environ, greet=False) for _ in range(20)]
    assert is_served(agent)
    for one in silent:
        one.wire.close()


@pytest.mark.long
def test_one_who_takes_no_answers_is_given_up_and_holds_up_nobody(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is stopped, or mean: what it does not take fills its buffer, then its connection ends."""
    monkeypatch.setattr(address, "_SEND_SECONDS", 1)
    with threaded(indexed.environ) as daemon, Raw(indexed.environ) as mean:
        status = encode({"id": 1, "status": {}})
        mean.wire.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 100_000_000:
                sent += mean.wire.send(status * 100)
        assert is_served(indexed)
        until(lambda: daemon.report().clients == 0)
        assert is_served(indexed)


def test_a_look_around_that_fails_is_made_again(indexed: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    with threaded(indexed.environ) as daemon, Raw(indexed.environ) as raw:
        with monkeypatch.context() as broken:
            broken.setattr(daemon._admission, "expire", lambda: 1 / 0)
            daemon._nudged.set()
            until(lambda: any(line["outcome"] == "failed" for line in log_lines(indexed)))
        go = _held(monkeypatch)
        raw.say({"id": 1, "tool": {**SEARCH, "served": [str(indexed.tree)]}, "deadlineMs": 50})
        assert raw.hear()["envelope"]["error"]["code"] == "deadline_passed"
        go.set()


def test_a_client_in_a_thread_learns_that_nobody_waits(
    served: tuple[Agent, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, _ = served
    go = _held(monkeypatch)
    with connected(agent.environ) as connection:
        stop = threading.Event()
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Abandoned):
            connection.request("tool", {**SEARCH, "served": [str(agent.tree)]}, cancelled=stop.is_set)
        go.set()
        assert ask(connection, agent)["status"] == "ok"


def _held(monkeypatch: pytest.MonkeyPatch, seen: list[Callable[[], bool]] | None = None) -> threading.Event:
    """Answers of tools wait until they are let go; `seen` gets how each learns that nobody waits."""
    from cairn.tools import table

    go, real = threading.Event(), table.call

    def call(*given: Any, **more: Any) -> Any:
        if seen is not None:
            seen.append(more["cancelled"])
        go.wait(PATIENCE)
        return real(*given, **more)

    monkeypatch.setattr(table, "call", call)
    return go


# --- coming and going -------------------------------------------------------------------------------------------------


def test_it_leaves_when_nobody_has_asked_for_long(indexed: Agent) -> None:
    with threaded(indexed.environ, ServeConfig(idle_seconds=1)):
        assert is_served(indexed)
        until(lambda: connect(str(indexed.home), indexed.environ, "cli") is None)
        until(lambda: log_lines(indexed)[-1]["action"] == "leave")
    assert log_lines(indexed)[-1]["code"] == "idle"


def test_what_is_being_answered_is_answered_when_it_is_to_leave(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with threaded(indexed.environ) as daemon, Raw(indexed.environ) as raw:
        go = _held(monkeypatch)
        raw.say({"id": 1, "tool": {**SEARCH, "served": [str(indexed.tree)]}})
        until(lambda: daemon.report().running == 1)
        raw.say({"id": 2, "leave": {}})
        assert "leave" in raw.hear()
        raw.say({"id": 3, "tool": {**SEARCH, "served": [str(indexed.tree)]}})
        assert raw.hear()["error"]["code"] == "leaving"
        go.set()
        assert raw.hear()["envelope"]["status"] == "ok"
        assert raw.has_ended()
    assert not (indexed.home / "run" / "daemon.sock").exists()


@pytest.mark.parametrize("instead", [None, "another socket"])
def test_one_that_nobody_can_find_any_more_leaves(indexed: Agent, instead: str | None) -> None:
    with threaded(indexed.environ) as daemon, socket.socket(socket.AF_UNIX) as other:
        until(lambda: met(indexed.environ))
        daemon._look_around()
        assert not daemon._is_leaving()
        # Somebody has removed the folder of Cairn by hand, and another daemon may be there by now.
        path = indexed.home / "run/daemon.sock"
        path.unlink()
        if instead:
            other.bind(str(path))
        daemon._look_around()
        assert daemon._is_leaving()
    assert log_lines(indexed)[-1]["code"] == "lost"
    assert path.exists() == bool(instead)


def test_above_its_memory_nothing_is_taken_in_and_then_it_leaves(indexed: Agent) -> None:
    held = {"bytes": 0}
    small = ServeConfig(memory_mib=1)
    with (
        threaded(indexed.environ, small, held=lambda: held["bytes"]) as daemon,
        connected(indexed.environ) as connection,
    ):
        assert ask(connection, indexed)["status"] == "ok"
        held["bytes"] = 900 * 1024
        daemon._look_at_memory()
        assert daemon.report().sheds >= 1
        assert ask(connection, indexed)["status"] == "ok", "what was shed is made again"
        held["bytes"] = 2 << 20
        daemon._look_at_memory()
        told = ask(connection, indexed)
        assert told["error"]["code"] == "daemon_busy"
        assert "memory_mib" in told["error"]["message"], "the user can do something about it"
        held["bytes"] = 0
        daemon._look_at_memory()
        assert ask(connection, indexed)["status"] == "ok"
        held["bytes"] = 2 << 20
        until(lambda: daemon._look_at_memory() or daemon._is_leaving())
        until(lambda: connection.is_gone)
    assert log_lines(indexed)[-1]["code"] == "memory"


# --- the log ----------------------------------------------------------------------------------------------------------

CANARY = "xyzzy_canary_do_not_log"


@conforms("000.OBS1", "000.OBS2", "003.LOG1")
def test_lines_say_what_was_done_where_and_what_came_of_it_and_nothing_that_was_asked(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "me")
    agent.environ["HOME"] = str(tmp_path / "me")
    (agent.tree / "secret.py").write_text(f"{CANARY} = '{CANARY}'\n")
    with threaded(agent.environ), connected(agent.environ) as connection:
        assert ask(connection, agent, "manage_index", action="create")["status"] == "ok"
        assert ask(connection, agent, query=CANARY)["status"] == "ok"
        assert ask(connection, agent, "find_symbol", name=CANARY)["results"]
        assert ask(connection, agent, "read_file", file="secret.py")["status"] == "ok"
        assert ask(connection, agent, CANARY)["status"] == "error"
        assert ask(connection, agent, "read_file", file=CANARY)["status"] != "ok"
    agent.close()
    text = (agent.home / "logs" / "daemon.log").read_text()
    assert CANARY not in text
    assert str(tmp_path) not in text, "nor where the user's home is"
    lines = log_lines(agent)
    golden = [
        ("daemon", "start", VERSION, None),
        ("run", "create", "begun", "~/tree"),
        ("run", "create", "done", "~/tree"),
        ("request", "manage_index", "ok", "~/tree"),
    ]
    said = [(one["event"], one["action"], one["outcome"], one.get("root")) for one in lines]
    assert said[:4] == golden
    assert ("request", "unknown_tool", "error", None) in said
    assert said[-1] == ("daemon", "leave", "drained", None)
    for line in lines:
        assert {"at", "pid", "event", "action", "outcome"} <= set(line)
        if line["event"] == "run":
            assert {"root", "store"} <= set(line)


@conforms("004.CU9")
def test_what_a_start_finds_to_do_is_a_line_of_the_log(indexed: Agent) -> None:
    (indexed.tree / "new.py").write_text("def brand_new():\n    return 1\n")
    with threaded(indexed.environ), connected(indexed.environ) as connection:
        # It looks at no file by itself: what is new, who begins to watch finds.
        assert ask(connection, indexed, "find_symbol", name="Lease")["results"]
        until(lambda: any(line["event"] == "catch_up" for line in log_lines(indexed)))
    [line] = [line for line in log_lines(indexed) if line["event"] == "catch_up"]
    assert line["outcome"] == "Catch-up indexing: 1 missing, 0 modified, 0 stale"
    assert line["root"].endswith("/tree")


@conforms("003.LOG3")
def test_a_log_that_cannot_be_written_stops_nobody(indexed: Agent) -> None:
    shutil.rmtree(indexed.home / "logs", ignore_errors=True)
    (indexed.home / "logs").write_text("in the way")
    with threaded(indexed.environ) as daemon, connected(indexed.environ) as connection:
        (indexed.tree / "new.py").write_text("def brand_new():\n    return 1\n")
        assert ask(connection, indexed, "manage_index", action="sync")["status"] == "ok"
        assert ask(connection, indexed, query="brand_new", mode="symbol")["results"]
        assert daemon.report().log_lines_lost > 2
    (indexed.home / "logs").unlink()
