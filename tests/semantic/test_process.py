"""One process of an indexer: how it ends is known, and what it said last."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import cairn.semantic.process as footprint_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import INDEXER_SAID_BYTES
from cairn.semantic.process import ProcessResult, family_bytes, machine_bytes, run_to_end
from tests.support.faults import Faults

# --- How much memory a session takes.


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
        assert 100_000_000 < family_bytes(leader.pid) < 300_000_000
        leader.stdin.close()
    for _ in range(500):
        if not family_bytes(leader.pid):
            break
        time.sleep(0.01)
    assert family_bytes(leader.pid) == 0


def test_a_machine_that_does_not_say_gives_nothing(faults: Faults) -> None:
    faults.fail(footprint_module.os, "listdir", FileNotFoundError())
    assert family_bytes(1) == 0
    assert machine_bytes() > 2**28


def run(code: str, cwd: str = "/") -> ProcessResult:
    command = [sys.executable, "-c", code]
    return run_to_end(command, cwd=cwd, environ={}, look=lambda _: None, clock=SYSTEM_CLOCK)


def test_what_is_said_just_before_the_end_is_heard() -> None:
    for number in range(5):
        assert run(f"import os; print({number}, flush=True); os._exit(3)") == ProcessResult(3, f"{number}\n".encode())


def test_of_much_that_is_said_the_end_is_kept() -> None:
    found = run("import sys; sys.stdout.write('x' * 1_000_000 + 'the end')")
    assert len(found.said) == INDEXER_SAID_BYTES
    assert found.said.endswith(b"xthe end")


def test_a_program_that_closes_its_output_is_waited_for() -> None:
    assert run("import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(5)") == ProcessResult(5, b"")


def test_others_go_before_it_and_it_leaves_no_core() -> None:
    code = "import os, resource; print(os.getpriority(0, 0), resource.getrlimit(resource.RLIMIT_CORE))"
    assert run(code).said == b"10 (0, 0)\n"


def test_a_folder_that_is_gone_is_the_callers_to_explain(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run("pass", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (ProcessResult(1, b"starting\nError: it broke.\n    at line 3\n"), "it ended with status 1: Error: it broke"),
        (ProcessResult(2, b"one\ntwo\n"), "it ended with status 2: two"),
        (ProcessResult(137, b""), "it was killed by signal 9"),
        (
            ProcessResult(1, "\x1b[31merror\x1b[0m: a\u202eb \xff".encode("latin-1", "replace")),
            "it ended with status 1: error: a?b \ufffd",
        ),
    ],
)
def test_the_reason_is_the_last_line_that_sounds_like_one(ended: ProcessResult, reason: str) -> None:
    assert ended.reason == reason
