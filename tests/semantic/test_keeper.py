"""What stands between us and an indexer: it ends as the indexer does, and ends the indexer when we are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cairn.semantic import keeper
from tests.semantic.test_running import is_alive, wait_for

KEEPER = [sys.executable, "-I", "-S", keeper.__file__]


@pytest.mark.parametrize(
    ("code", "status"),
    [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_it_ends_as_what_it_runs_has_ended(code: str, status: int) -> None:
    with subprocess.Popen(
        [*KEEPER, sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.wait(30) == status


def test_when_we_are_killed_nothing_of_the_indexer_is_left(tmp_path: Path) -> None:
    long = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    us = (
        "import subprocess, time\n"
        f"child = subprocess.Popen({[*KEEPER, sys.executable, '-c', long]!r}, stdin=subprocess.PIPE,"
        " start_new_session=True)\n"
        f"open({str(tmp_path / 'keeper')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", us]) as parent:
        pids = [wait_for(tmp_path / "pid"), wait_for(tmp_path / "keeper")]
        assert all(map(is_alive, pids))
        parent.kill()
    for _ in range(500):
        if not any(map(is_alive, pids)):
            break
        subprocess.run(["sleep", "0.02"], check=True)
    assert not any(map(is_alive, pids))


def test_a_program_that_is_not_there_is_told_by_its_status(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*KEEPER, str(tmp_path / "none")], stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stderr is not None
        assert b"No such file" in child.stderr.read()
        assert child.wait(30) == 127


def test_what_it_runs_cannot_write_to_the_pipe_that_it_watches() -> None:
    code = "import os; raise SystemExit(len(os.read(0, 1)))"
    with subprocess.Popen(
        [*KEEPER, sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.wait(30) == 0
