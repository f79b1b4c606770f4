"""A daemon whose disk fails for a while: it goes on, says so, and catches up when the disk works again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import Person
from tests.support.servers import no_daemon_left
from tests.support.waiting import PATIENCE, until

# What a run does to the disk, by the names that the system has for it, and how it fails.
FAULTS = (
    ("fsync", "EIO"),
    ("fsync", "ENOSPC"),
    ("rename,renameat,renameat2", "EACCES"),
    ("link,linkat", "EIO"),
    ("mkdir,mkdirat", "ENOSPC"),
    ("unlink,unlinkat", "EIO"),
)


@pytest.fixture
def me(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path)
    with no_daemon_left(person.environment):
        yield person


def pid_of(me: Person) -> int:
    return int(json.loads(me.cairn("daemon", "status", "--json").stdout)["daemon"]["pid"])


@contextmanager
def failing(pid: int, calls: str, error: str, told: Path) -> Iterator[None]:
    """Each of these calls of that process, and of what it starts, fails meanwhile, and is written down."""
    what = ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}"]
    command = ["strace", "-f", "-p", str(pid), "-o", str(told), *what]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        if "attached" not in said:
            tracer.wait(PATIENCE)
            pytest.skip(f"nothing can be traced here: {said.strip()}")
        try:
            yield
        finally:
            tracer.terminate()
            tracer.stderr.read()
            tracer.wait(PATIENCE)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
@pytest.mark.parametrize(("calls", "error"), FAULTS)
def test_a_daemon_goes_on_while_calls_to_the_disk_fail_and_catches_up_afterwards(
    me: Person, tmp_path: Path, calls: str, error: str
) -> None:
    assert me.cairn("index", "--offline").status == 0
    assert me.cairn("daemon", "start").status == 0
    assert me.cairn("search", "lease").status == 0
    pid = pid_of(me)
    with failing(pid, calls, error, tmp_path / "calls"):
        for number in range(4):
            (me.tree / "src" / f"new{number}.py").write_text(f"def only_{number}(): ...\n")
            said = me.cairn("search", f"only_{number}", "--mode", "symbol")
            assert "bug in Cairn" not in said.stderr, said
            assert f"new{number}.py" in said.stdout or said.stderr.startswith("note: "), said
    assert "INJECTED" in (tmp_path / "calls").read_text(), "nothing failed"
    (me.tree / "src" / "last.py").write_text("def last(): ...\n")
    until(lambda: "last.py" in me.cairn("search", "last", "--mode", "symbol").stdout)
    until(lambda: me.cairn("audit", "--offline").status == 0, lambda: me.cairn("status"))
    assert pid_of(me) == pid, "who met the faults has caught up"
    assert "failed" not in me.cairn("status").stdout
    assert me.cairn("health", "--offline").status == 0
