"""How much memory a session takes."""

from __future__ import annotations

import subprocess
import sys
import time

import cairn.semantic.footprint as footprint_module
from cairn.semantic.footprint import machine_bytes, session_bytes
from tests.support.faults import Faults


def test_the_memory_of_a_session_is_that_of_all_its_processes() -> None:
    eater = "held = b'x' * 50_000_000; import sys, subprocess; {}; print(1, flush=True); sys.stdin.read()"
    child = eater.format("0")
    both = eater.format(f"c = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=0, stdout=1)")
    with subprocess.Popen(
        [sys.executable, "-c", both], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        assert leader.stdin is not None
        leader.stdout.readline()
        leader.stdout.readline()
        assert 100_000_000 < session_bytes(leader.pid) < 300_000_000
        leader.stdin.close()
    for _ in range(500):
        if not session_bytes(leader.pid):
            break
        time.sleep(0.01)
    assert session_bytes(leader.pid) == 0


def test_a_machine_that_does_not_say_gives_nothing(faults: Faults) -> None:
    faults.fail(footprint_module.os, "listdir", FileNotFoundError())
    assert session_bytes(1) == 0
    assert machine_bytes() > 2**28
