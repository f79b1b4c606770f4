"""A command that tests run in a fork begins as any process does, whatever ran before it in the process of the tests."""

from __future__ import annotations

import os
import threading
from multiprocessing import resource_tracker
from pathlib import Path

from cairn.source import programs
from tests.support.commands import forked
from tests.support.faults import small_files
from tests.support.forker import forker

# What an agent's index stands on: a worker beside a thread. It says whether there is anything of the tests.
WORKER = """
import sys, threading
from multiprocessing import resource_tracker
resource_tracker.ensure_running()
from cairn.source import programs
from cairn.sync import pool
print(programs._opened, pool._SPARES._waiting, threading.active_count(), "pytest" in sys.modules)
"""
# Makes one file and waits for another.
WAITS = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).touch()
while not pathlib.Path(sys.argv[2]).exists():
    time.sleep(0.01)
"""


def test_a_fork_begins_as_a_process_does(tmp_path: Path) -> None:
    """An agent's index was refused in a fork when an earlier test had started a worker beside a thread."""
    before = dict(programs._opened)
    programs.bar_programs_of(str(tmp_path))
    resource_tracker.ensure_running()
    try:
        done = forked(["-c", WORKER], tmp_path, os.environ)
    finally:
        programs._opened.clear()
        programs._opened.update(before)
    assert done == (0, "{} {} 1 False\n", "")


def test_a_fork_has_the_folder_the_variables_the_mask_and_the_limits_that_a_child_would_have(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    asks = "import os, resource; print(os.getcwd(), dict(os.environ), os.umask(0), resource.getrlimit(1)[0])"
    try:
        with small_files(4096):
            done = forked(["-c", asks], tmp_path, {"A": "1"})
    finally:
        os.umask(mask)
    assert done == (0, f"{tmp_path} {{'A': '1'}} {0o027} 4096\n", "")


def test_forks_of_two_threads_run_side_by_side(tmp_path: Path) -> None:
    """Each of them waits for the other one's file."""
    ended: list[int] = []
    threads = [
        threading.Thread(target=lambda names=names: ended.append(forked(["-c", WAITS, *names], tmp_path, {}).status))
        for names in (("a", "b"), ("b", "a"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [0, 0]


def test_what_a_fork_cost_is_known(tmp_path: Path) -> None:
    before = forker().seconds
    assert forked(["-c", "sum(range(3_000_000)); raise SystemExit(3)"], tmp_path, {}) == (3, "", "")
    assert forker().seconds > before + 0.01
