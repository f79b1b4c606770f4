"""The door to time: real clocks that behave, and text that does not depend on the machine."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core import clock as clock_module
from cairn.core.clock import (
    SYSTEM_CLOCK,
    SYSTEM_PROCESSES,
    Clock,
    Processes,
    ProcessId,
    SystemClock,
    rfc3339,
    wall_seconds,
)
from tests.support.faults import Faults


def test_the_system_clock_is_a_clock() -> None:
    clock: Clock = SystemClock()
    assert isinstance(SYSTEM_CLOCK, SystemClock)
    before = clock.wall_ns()
    assert abs(before - time.time_ns()) < 60 * 10**9
    first, cpu, boot = clock.monotonic(), clock.cpu(), clock.boottime()
    clock.sleep(0.01)
    assert clock.monotonic() - first >= 0.009
    assert clock.boottime() - boot >= 0.009
    # It goes on while the machine sleeps, so it is never behind.
    assert clock.boottime() >= first
    # Sleeping is not working.
    assert clock.cpu() - cpu < clock.monotonic() - first


def test_a_wall_time_reads_as_utc_whole_seconds() -> None:
    assert rfc3339(0) == "1970-01-01T00:00:00Z"
    assert rfc3339(1_700_000_000_999_999_999) == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_the_text_of_a_time_does_not_depend_on_the_time_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", zone)
    time.tzset()
    try:
        assert rfc3339(1_700_000_000_000_000_000) == "2023-11-14T22:13:20Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.lists(st.integers(0, 4_000_000_000_000_000_000), min_size=2, max_size=2))
def test_text_order_is_time_order(times: list[int]) -> None:
    first, second = sorted(times)
    assert rfc3339(first) <= rfc3339(second)


# --- other processes --------------------------------------------------------------------------------------------------

PROCESSES: Processes = SYSTEM_PROCESSES
CHILD = """
import sys
from cairn.core.clock import SYSTEM_PROCESSES
open("/proc/self/comm", "w").write(") Z 1 (")
me = SYSTEM_PROCESSES.me()
print(me.pid, me.started, me.namespace, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[str], ProcessId]]:
    """A living process with an ugly name, and who it says it is."""
    argv = [sys.executable, "-c", CHILD]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, started, namespace = map(int, process.stdout.readline().split())
        assert pid == process.pid
        yield process, replace(PROCESSES.me(), pid=pid, started=started, namespace=namespace)
        process.kill()


def test_we_know_who_we_are() -> None:
    me = PROCESSES.me()
    assert me == PROCESSES.me()
    assert (me.pid, me.is_known) == (os.getpid(), True)
    assert not PROCESSES.is_gone(me)
    assert me.hostname.isascii()
    for unknown in (replace(me, pid=0), replace(me, started=0), replace(me, boot_id=""), replace(me, namespace=0)):
        assert not unknown.is_known


def test_a_process_is_not_gone_while_it_runs_or_is_stopped(child: tuple[subprocess.Popen[str], ProcessId]) -> None:
    process, who = child
    assert not PROCESSES.is_gone(who)
    assert PROCESSES.is_running(who)
    process.send_signal(signal.SIGSTOP)
    assert not PROCESSES.is_gone(who)
    assert PROCESSES.is_running(who)


def test_a_killed_process_is_gone_before_and_after_its_parent_notices(
    child: tuple[subprocess.Popen[str], ProcessId],
) -> None:
    process, who = child
    process.kill()
    os.waitid(os.P_PID, who.pid, os.WEXITED | os.WNOWAIT)
    assert PROCESSES.is_gone(who)
    assert not PROCESSES.is_running(who)
    process.wait()
    assert PROCESSES.is_gone(who)
    assert not PROCESSES.is_running(who)
    # In another container, or on another machine, the number says nothing.
    for unknown in (
        replace(who, namespace=1),
        replace(who, namespace=0),
        replace(who, boot_id=""),
        replace(who, pid=0),
    ):
        assert not PROCESSES.is_gone(unknown)
        assert not PROCESSES.is_running(unknown)
    # Without its start time it is still absent.
    assert PROCESSES.is_gone(replace(who, started=0))


def test_a_number_that_was_given_to_another_process_does_not_keep_the_first_alive() -> None:
    me = PROCESSES.me()
    assert PROCESSES.is_gone(replace(me, started=me.started - 1))
    assert not PROCESSES.is_gone(replace(me, started=0))
    for impossible in (0, -1, -me.pid, 1 << 31, 1 << 70):
        assert not PROCESSES.is_gone(replace(me, pid=impossible))


def test_a_reboot_ends_every_process_of_this_machine_and_of_no_other(faults: Faults) -> None:
    before = replace(PROCESSES.me(), boot_id="00000000-0000-0000-0000-000000000000")
    assert PROCESSES.is_gone(before)
    assert not PROCESSES.is_gone(replace(before, hostname="elsewhere"))
    nameless = os.uname_result(("Linux", "", "6", "1", "x86_64"))
    faults.answer(os, "uname", nameless)
    assert not PROCESSES.is_gone(replace(before, hostname=""))


def test_a_process_that_we_may_not_signal_lives(faults: Faults) -> None:
    faults.fail(os, "kill", PermissionError())
    me = PROCESSES.me()
    assert not PROCESSES.is_gone(me)
    assert PROCESSES.is_gone(replace(me, started=me.started + 1))
    # /proc may hide it, which proves nothing.
    assert not PROCESSES.is_gone(replace(me, pid=(1 << 31) - 1))


@pytest.mark.parametrize("stat", ["", "nonsense", "1 (x) R 1 2 3", "7 (other) R " + "1 " * 40])
def test_without_a_proc_of_our_own_nothing_is_proven(stat: str, faults: Faults) -> None:
    real = PROCESSES.me()
    faults.around(
        clock_module, "_first_line", lambda first_line, path: stat if path.endswith("/stat") else first_line(path)
    )
    me = PROCESSES.me()
    assert (me.pid, me.started, me.namespace, me.is_known) == (real.pid, 0, 0, False)
    assert not PROCESSES.is_gone(replace(real, started=real.started - 1))


def test_without_any_proc_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PROCESSES.me()

    def absent(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", absent)
    monkeypatch.setattr(os, "stat", absent)
    assert clock_module._namespace("pid") == 0
    assert not PROCESSES.me().is_known
    assert SYSTEM_CLOCK.origin() == ""
    for process in (real, replace(real, pid=(1 << 31) - 1), replace(real, boot_id="other")):
        assert not PROCESSES.is_gone(process)
        assert not PROCESSES.is_running(process)


def test_a_strange_host_name_stays_itself_in_ascii(faults: Faults) -> None:
    strange = os.uname_result(("Linux", os.fsdecode(b"h\xc3\xb6st\xff"), "6", "1", "x86_64"))
    faults.answer(os, "uname", strange)
    assert PROCESSES.me().hostname == r"h\xc3\xb6st\xff"


@pytest.mark.parametrize("seconds", [0, 951_782_400, 1_790_000_000, 253_402_300_799])
def test_a_wall_time_that_was_written_down_is_read_back_to_the_second(seconds: int) -> None:
    assert wall_seconds(rfc3339(seconds * 1_000_000_000 + 999_999_999)) == seconds
