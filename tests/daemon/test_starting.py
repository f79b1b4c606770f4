"""A daemon on demand: one for all who come at once, apart from who started it, and another when it was killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.daemon.client import Connection, ensure_daemon, nobody_listens
from tests.support.commands import forked
from tests.support.servers import connected, daemon_home, daemons_started, met, process
from tests.support.waiting import PATIENCE, end, is_alive, until


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    with daemon_home(tmp_path) as found:
        yield found


def ensured(environ: dict[str, str]) -> Connection:
    found = ensure_daemon(environ["CAIRN_HOME"], environ, "mcp", seconds=PATIENCE)
    assert found is not None
    return found


def test_of_many_who_come_at_once_one_starts_it_for_all(environ: dict[str, str]) -> None:
    found: list[Connection] = []
    threads = [threading.Thread(target=lambda: found.append(ensured(environ))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [pid] = {one.pid for one in found}
    assert daemons_started(environ) == [pid]
    assert pid != os.getpid()
    assert os.getsid(pid) == pid, "what ends our terminal does not end it"
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)} == {"/dev/null"}
    for one in found:
        one.close()
    # Asked to leave it goes, and cleans up behind it.
    with connected(environ) as last:
        last.request("leave", {})
        until(lambda: last.is_gone)
    until(lambda: not is_alive(pid))
    assert not (Path(environ["CAIRN_HOME"]) / "run" / "daemon.sock").exists()


def test_when_it_was_killed_the_next_client_starts_another(environ: dict[str, str]) -> None:
    first = ensured(environ)
    end(first.pid)
    until(lambda: first.is_gone)
    assert (Path(environ["CAIRN_HOME"]) / "run" / "daemon.sock").exists()
    second = ensured(environ)
    assert second.pid != first.pid
    assert daemons_started(environ) == [first.pid, second.pid]
    second.close()


def test_one_that_is_stopped_is_neither_waited_for_nor_replaced(environ: dict[str, str]) -> None:
    first = ensured(environ)
    os.kill(first.pid, signal.SIGSTOP)
    assert ensure_daemon(environ["CAIRN_HOME"], environ, "mcp") is None
    assert not nobody_listens(environ["CAIRN_HOME"])
    os.kill(first.pid, signal.SIGCONT)
    until(lambda: met(environ))
    assert daemons_started(environ) == [first.pid]
    first.close()


def test_where_none_can_be_started_nobody_waits_long(environ: dict[str, str]) -> None:
    (Path(environ["CAIRN_HOME"]) / "run" / "daemon.sock").mkdir(parents=True)
    Path(environ["CAIRN_HOME"]).chmod(0o700)
    (Path(environ["CAIRN_HOME"]) / "run").chmod(0o700)
    assert ensure_daemon(environ["CAIRN_HOME"], environ, "mcp", seconds=1.0) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_signal_ends_it_as_a_request_to_leave_does(environ: dict[str, str], number: signal.Signals) -> None:
    with process(environ) as daemon:
        daemon.send_signal(number)
        assert daemon.wait(PATIENCE) == 0
        assert daemon.stdout is not None
        assert daemon.stdout.read() == b""


@pytest.mark.long
def test_a_second_one_says_in_one_sentence_that_there_is_one(environ: dict[str, str]) -> None:
    at_once = "from cairn.cli import main, serving; serving.DAEMON_DRAIN_SECONDS = serving._GRACE_SECONDS = 0; "
    with process(environ) as first:
        second = forked(["-c", at_once + "raise SystemExit(main.main(['daemon', 'run']))"], "/", environ)
        assert second.status == 1, second
        assert second.stderr.splitlines()[0] == "cairn: Another daemon of yours is running.", second
        assert met(environ)
        assert first.poll() is None
