"""`cairn daemon`: started, seen and stopped as a person does it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.schemas import check
from tests.support.servers import daemon_home
from tests.support.waiting import PATIENCE, is_alive, until


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    with daemon_home(tmp_path) as found:
        yield found


def cairn(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def status(environ: dict[str, str]) -> dict[str, object]:
    said = cairn(environ, "daemon", "status", "--json")
    assert (said.returncode, said.stderr) == (0, "")
    envelope: dict[str, object] = json.loads(said.stdout)
    check(envelope, "cairn.daemon/1")
    return envelope


def test_it_is_started_once_seen_and_stopped(environ: dict[str, str]) -> None:
    assert status(environ)["running"] is False
    assert "no daemon" in cairn(environ, "daemon", "status").stdout
    first, again = cairn(environ, "daemon", "start"), cairn(environ, "daemon", "start", "--json")
    assert first.returncode == again.returncode == 0, first.stderr + again.stderr
    facts = json.loads(again.stdout)["daemon"]
    assert f"process {facts['pid']}" in first.stdout
    assert status(environ)["running"] is True
    assert "0 requests" in cairn(environ, "daemon", "status").stderr
    stopped = cairn(environ, "daemon", "stop")
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "")
    until(lambda: not is_alive(facts["pid"]))
    assert status(environ)["running"] is False
    nothing = cairn(environ, "daemon", "stop")
    assert (nothing.returncode, nothing.stderr) == (0, "There is no daemon.\n")


def test_one_with_other_settings_is_told_of_and_can_be_stopped(environ: dict[str, str]) -> None:
    pid = json.loads(cairn(environ, "daemon", "start", "--json").stdout)["daemon"]["pid"]
    other = {**environ, "CAIRN_DEBUG": "1"}
    words = f"The daemon (process {pid}) was started with other settings"
    assert cairn(other, "daemon", "status").stdout.startswith(words)
    assert status(other)["warnings"] == [cairn(other, "daemon", "status").stdout.rstrip()]
    refused = cairn(other, "daemon", "start")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"cairn: {words}")
    assert "`cairn daemon stop` ends it" in refused.stderr
    stopped = cairn(other, "daemon", "stop")
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "")
    until(lambda: not is_alive(pid))


@pytest.mark.long
def test_a_purge_ends_the_daemon_first(environ: dict[str, str]) -> None:
    pid = json.loads(cairn(environ, "daemon", "start", "--json").stdout)["daemon"]["pid"]
    assert cairn(environ, "stores", "--purge", "--yes").returncode == 0
    until(lambda: not is_alive(pid))
    assert not Path(environ["CAIRN_HOME"], "run").exists()


def test_what_is_in_its_place_is_told_in_one_sentence(environ: dict[str, str]) -> None:
    run = Path(environ["CAIRN_HOME"]) / "run"
    run.mkdir(parents=True)
    for folder in (run, run.parent):
        folder.chmod(0o700)
    (run / "daemon.sock").write_text("precious")
    said = cairn(environ, "daemon", "run")
    assert said.returncode == 1
    assert said.stderr.startswith("cairn: The daemon cannot listen at ")
    assert "Traceback" not in said.stderr
    assert (run / "daemon.sock").read_text() == "precious"
    # In the background nobody hears it.
    assert "`cairn daemon run` shows why" in cairn(environ, "daemon", "start").stderr
    # Whoever does not need it does not notice.
    assert cairn(environ, "list").returncode == 0


@pytest.mark.long
def test_one_that_does_not_answer_is_told_in_one_sentence(environ: dict[str, str]) -> None:
    run = Path(environ["CAIRN_HOME"]) / "run"
    run.mkdir(parents=True)
    for folder in (run, run.parent):
        folder.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(run / "daemon.sock"))
        mute.listen()
        for action in ("start", "stop"):
            said = cairn(environ, "daemon", action)
            assert said.returncode == 1
            assert said.stderr.startswith(f"cairn: The daemon (process {os.getpid()}) does not ")
        assert status(environ)["running"] is False
