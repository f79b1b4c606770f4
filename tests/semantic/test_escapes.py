"""What an indexer takes beyond its time: processes that hide, a disk that fills, an index that never ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import MIB
from cairn.semantic import keeper
from cairn.semantic.process import family_bytes, run_to_end
from tests.semantic import fake_indexer
from tests.semantic.test_running import is_alive
from tests.support.commands import Person
from tests.support.waiting import until


@pytest.fixture
def me(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    tools = fake_indexer.install(tmp_path / "tools")
    person.environment["PATH"] = f"{tools}{os.pathsep}{person.environment['PATH']}"
    person.home.mkdir(mode=0o700)
    (person.home / "config.toml").write_text("[semantic]\nseconds = 3\n")
    assert person.cairn("index").status == 0
    return person


def mood(me: Person, words: str) -> None:
    (me.tree.parent / "tools" / "mood").write_text(words)


def escaped(me: Person) -> list[int]:
    return [int(one.name) for one in (me.tree.parent / "tools" / "escaped").iterdir()]


@pytest.mark.parametrize(("how", "status"), [("escape", 0), ("escape-hang", 44), ("escape-kill", 43)])
def test_no_process_of_an_indexer_outlives_a_refresh_whatever_session_and_parent_it_has(
    me: Person, how: str, status: int
) -> None:
    mood(me, how)
    assert me.cairn("semantic", "refresh").status == status
    assert len(escaped(me)) == 5
    assert not any(map(is_alive, escaped(me)))
    assert not [*me.home.glob("cache/semantic/run_*")]


def test_none_outlives_a_refresh_that_is_killed(me: Person) -> None:
    mood(me, "escape-hang")
    command = [sys.executable, "-m", "cairn", "semantic", "refresh"]
    process = subprocess.Popen(command, cwd=me.tree, env=me.environment, stderr=subprocess.DEVNULL)
    folder = me.tree.parent / "tools" / "escaped"
    until(lambda: folder.exists() and len(escaped(me)) == 5)
    assert all(map(is_alive, escaped(me)))
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not any(map(is_alive, escaped(me))))


def test_the_memory_of_a_process_that_has_left_the_session_counts() -> None:
    held: list[int] = []
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    eaten = b'x' * 80_000_000\n"
        "    time.sleep(600)\n"
        "time.sleep(3)\n"
    )

    class Seen(Exception):
        pass

    def look(pid: int) -> None:
        held.append(family_bytes(pid))
        if held[-1] > 80 * MIB * 0.9:
            raise Seen

    with pytest.raises(Seen):
        run_to_end([sys.executable, "-c", code], cwd="/", environ={}, look=look, clock=SYSTEM_CLOCK)


def test_a_chain_of_processes_that_fork_and_leave_is_ended(tmp_path: Path) -> None:
    """Each lives for a moment only, so that none of them is there when it is looked for."""
    beat = tmp_path / "beat"
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for _ in range(100_000):\n"
        "        if os.fork(): os._exit(0)\n"
        f"        open({str(beat)!r}, 'w').write(str(time.monotonic_ns()))\n"
        "        time.sleep(0.002)\n"
        "time.sleep(0.3)\n"
    )
    done = run_to_end([sys.executable, "-c", code], cwd="/", environ={}, look=lambda _: None, clock=SYSTEM_CLOCK)
    assert done.status == 0
    last = beat.read_text()
    time.sleep(0.2)
    assert beat.read_text() == last


def test_without_a_parent_for_all_the_mark_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system where no process can take in those of others: the keeper then ends what it still sees."""
    alone = tmp_path / "keeper.py"
    text = Path(keeper.__file__).read_text()
    assert "    _adopt()\n" in text
    alone.write_text(text.replace("    _adopt()\n", ""))
    monkeypatch.setattr(keeper, "__file__", str(alone))
    pid = tmp_path / "pid"
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        f"    open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(pid)!r}) or not open({str(pid)!r}).read(): time.sleep(0.01)\n"
    )
    run_to_end([sys.executable, "-c", code], cwd="/", environ={}, look=lambda _: None, clock=SYSTEM_CLOCK)
    assert not is_alive(int(pid.read_text()))


def test_an_indexer_that_fills_the_disk_is_ended_and_what_it_wrote_is_gone(me: Person) -> None:
    (me.home / "config.toml").write_text("[semantic]\ndisk_mib = 20\nseconds = 600\n")
    mood(me, "fill")
    done = me.cairn("semantic", "refresh")
    assert done.status == 43
    assert "it wrote more than 20 MiB (`disk_mib` under `[semantic]`)" in done.stderr
    assert not [*me.home.glob("cache/semantic/run_*")]


@pytest.mark.long
def test_an_index_that_asks_for_hours_of_work_is_left_and_what_was_known_stays(me: Person) -> None:
    (me.tree / "src" / "lease.py").write_text("def steal(): ...\n\n\nsteal()\n")
    assert me.cairn("semantic", "refresh").stdout == "python:.  1 file, 2 occurrences.\n"
    known = me.cairn("refs", "steal").stdout
    (me.home / "config.toml").write_text("[semantic]\nseconds = 8\n")
    mood(me, "repeat 300000")
    done = me.cairn("semantic", "refresh", "--scope", "full")
    assert done.status == 44
    assert "to take in what it wrote took longer than 8 seconds" in done.stderr
    assert me.cairn("refs", "steal").stdout == known
    assert '"indexer_timeout' in me.cairn("semantic", "jobs", "--json").stdout
