"""Real processes on a real disk: a writer is stopped at each step of a publish, robbed, and woken up again.

Whatever it does then, what the thief has published stays the newest, and nothing is left lying about.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import cairn
import cairn.store.publish.lease as lease_module
from cairn.core.clock import SYSTEM_CLOCK, ProcessId, SystemProcesses
from cairn.errors import LeaseStuck
from cairn.store.disk import Disk
from cairn.store.format.layout import GENERATIONS, LEASE_LOCK, POINTER, STAGING
from cairn.store.format.manifest import Manifest
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import LEASE, RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import FindingLevel, check
from tests.conformance import conforms
from tests.conformance_report import PROJECT
from tests.store import little
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.support.clock import ManualClock
from tests.support.faults import Faults
from tests.support.waiting import PATIENCE

BASE = {"a": b"base\n", "b": b"base\n"}
SLEEPER = {"a": b"sleeper\n", "b": b"sleeper\n"}
THIEF = {"a": b"thief\n", "c": b"thief\n"}
LAST = {"a": b"last\n"}


class Believes(SystemProcesses):
    """The machine's processes, but one counts as gone: so nobody has to wait for a term of two minutes."""

    def __init__(self, gone: int) -> None:
        self._gone = gone

    def is_gone(self, process: ProcessId) -> bool:
        return process.pid == self._gone or super().is_gone(process)

    def is_running(self, process: ProcessId) -> bool:
        return process.pid != self._gone and super().is_running(process)


def steps_of_publish() -> list[Call]:
    """What a publish asks of the disk, up to the end of its run."""
    disk = TracingDisk(MemoryDisk())
    little.save(disk, BASE)
    clock = ManualClock()
    with open_writer(disk, "store", RunKind.SYNC, clock=clock, processes=little.FewProcesses()) as writer:
        draft = little.draft(writer, SLEEPER, clock)
        disk.calls.clear()
        publish(writer, draft, lambda: True, clock)
    return disk.calls


STEPS = steps_of_publish()


def numbered(what: str, path: str) -> int:
    """The number, from 1, of the step that does this to a path that begins so."""
    found = (call.what == what and (call.other or call.path).startswith(path) for call in STEPS)
    return 1 + list(found).index(True)


CLAIM = numbered("claim", GENERATIONS)
# From after the lock was taken to the last step before it is let go.
GUARDED = range(numbered("lock", LEASE_LOCK) + 1, len(STEPS) + 1)
CHOSEN = {
    "with its segment in place": numbered("sync_folder", "segments"),
    "before its last look at the lease": CLAIM - 1,
    "before the claim": CLAIM,
    "after the claim": CLAIM + 1,
    "before the swap": numbered("swap", POINTER),
    "with the lock in its hand": len(STEPS) - 1,
}


@contextmanager
def sleeper(home: Path, step: int) -> Iterator[subprocess.Popen[str]]:
    """A writer that has stopped itself at this step. It is ended in any case."""
    paths = os.pathsep.join([str(Path(cairn.__file__).parent.parent), str(PROJECT)])
    argv = [sys.executable, "-m", "tests.races.sleeper", str(home), str(step)]
    with subprocess.Popen(
        argv, cwd=PROJECT, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), f"it ended before step {step}"
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def save(disk: Disk, files: dict[str, bytes], gone: int = 0) -> Manifest:
    """A whole run."""
    with open_writer(disk, "store", RunKind.SYNC, processes=Believes(gone)) as writer:
        made = publish(writer, little.draft(writer, files, SYSTEM_CLOCK), lambda: True, SYSTEM_CLOCK)
    assert made is not None
    return made


def seen(disk: Disk) -> tuple[int, dict[str, bytes]]:
    view = open_view(disk, "store")
    assert view is not None
    with view:
        return view.manifest.generation, little.contents(view)


def rob(folder: Path, step: int) -> str:
    """Stop, steal, publish, wake up; what the sleeper said in the end."""
    home = folder / "home"
    with Disk.at(str(home), "data/store", create=True) as disk:
        first = save(disk, BASE)
        with sleeper(home, step) as process:
            before = seen(disk)
            if step in GUARDED:
                # It sleeps with the kernel's lock in its hand: writers are told so, readers do not notice.
                with pytest.raises(LeaseStuck, match=f"process {process.pid}|not known"):
                    save(disk, THIEF, process.pid)
                process.send_signal(signal.SIGCONT)
                said = process.communicate(timeout=PATIENCE)[0].strip()
                stolen = save(disk, THIEF)
            else:
                stolen = save(disk, THIEF, process.pid)
                assert seen(disk) == (stolen.generation, THIEF)
                process.send_signal(signal.SIGCONT)
                said = process.communicate(timeout=PATIENCE)[0].strip()
        # Nobody is sent back by whatever it did.
        assert seen(disk) == (stolen.generation, THIEF)
        numbers = map(int, disk.list_folder(GENERATIONS))
        published = sorted(number for number in numbers if read_generation(disk, number) is not None)
        if said.startswith("published"):
            assert before == (first.generation + 1, SLEEPER)
            assert published == [first.generation, before[0], stolen.generation]
        else:
            assert before == (first.generation, BASE)
            assert published == [first.generation, stolen.generation]
        assert not [finding for finding in check(disk) if finding.severity is FindingLevel.ERROR]
        last = save(disk, LAST)
        assert seen(disk) == (last.generation, LAST)
        assert disk.list_folder(STAGING) == []
        assert check(disk) == []
    return said


@pytest.fixture(autouse=True)
def impatient(faults: Faults) -> None:
    faults.limit(lease_module, _GUARD_SECONDS=0.2)


@conforms("003.LS9", "003.LS10", "003.LS12", "003.CIT3")
@pytest.mark.parametrize("step", CHOSEN.values(), ids=CHOSEN)
def test_a_writer_that_was_stopped_and_robbed_publishes_nothing_more(tmp_path: Path, step: int) -> None:
    assert rob(tmp_path, step) == ("published 2" if step > CLAIM else "LeaseLost")


@pytest.mark.long
@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_wherever_a_writer_is_stopped_and_robbed_it_publishes_nothing_more(tmp_path: Path, step: int) -> None:
    assert rob(tmp_path, step) == ("published 2" if step > CLAIM else "LeaseLost"), STEPS[step - 1]


@conforms("003.LS9")
def test_the_lease_is_read_again_right_before_the_claim_and_the_pointer_moves_only_after_it() -> None:
    assert STEPS[CLAIM - 2] == Call("read", LEASE)
    assert [at for at, call in enumerate(STEPS, 1) if call.other == POINTER and at < CLAIM] == []
