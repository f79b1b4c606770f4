"""Processes that are stopped where they hold something: others go on, or are told whom they wait for."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.servers import Agent
from tests.support.waiting import until

_READER = """
import cairn, os, signal, sys
with cairn.open(sys.argv[1]) as code:
    assert list(code.search("lease"))
    os.kill(os.getpid(), signal.SIGSTOP)
"""
_WRITER = """
import os, signal, sys
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.codebase import open_codebase
from cairn.sync.codebase import place_of
place = place_of(open_codebase(sys.argv[1], os.environ), os.environ["CAIRN_HOME"])
with place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC):
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def stopped(agent: Agent, script: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has come to where it stops itself; killed at the end."""
    with subprocess.Popen([sys.executable, "-c", script, str(agent.tree)], env=agent.variables()) as process:
        try:
            until(lambda: _state(process.pid) == "T" or process.poll() is not None)
            assert process.poll() is None
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_a_stopped_reader_holds_up_neither_writers_nor_readers(indexed: Agent) -> None:
    with stopped(indexed, _READER):
        for number in range(3):
            (indexed.tree / f"new_{number}.py").write_text(f"def new_{number}():\n    return 1\n")
            assert indexed.ask("manage_index", action="sync")["status"] == "ok"
        assert indexed.ask("find_symbol", name="new_2")["results"]


def test_a_stopped_writer_is_named_and_readers_go_on(indexed: Agent) -> None:
    with stopped(indexed, _WRITER) as writer:
        assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"
        told = indexed.ask("manage_index", action="sync")
        assert (told["error"]["code"], told["error"]["details"]["pid"]) == ("busy", writer.pid)
        assert indexed.ask("index_status")["writer"]["pid"] == writer.pid
    # Once it is gone its lease holds up nobody.
    assert indexed.ask("manage_index", action="sync")["status"] == "ok"
