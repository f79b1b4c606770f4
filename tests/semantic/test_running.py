"""One run of an indexer: it leaves an index or a reason, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import cairn.semantic.tools as tools_module
from cairn.errors import (
    CairnError,
    Cancelled,
    IndexerEmpty,
    IndexerFailed,
    IndexerMemory,
    IndexerMissing,
    IndexerRefused,
    IndexerTimeout,
    SemanticUnreadable,
)
from cairn.semantic.contexts import discover
from cairn.semantic.indexers import BY_FAMILY
from cairn.semantic.model import FULL, Family
from cairn.semantic.running import Beat
from cairn.semantic.tools import IndexerTool, tool_version
from tests.semantic.fakes import WHOLE, Project
from tests.semantic.indices import index
from tests.support.faults import Faults

PIDS = 'write(str(os.getpid()).encode(), os.path.join({folder!r}, "pid"))\n'


def never() -> bool:
    return False


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for(path: Path) -> int:
    for _ in range(1_000):
        if path.exists() and (text := path.read_text()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError(f"{path} was never written")


def test_an_index_that_says_something_is_handed_over_and_the_folder_of_the_run_is_gone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    before = project.tree()
    beats: list[Beat] = []
    found = project.runner(tell=beats.append)(project.context, FULL, never)
    assert (found.data, found.tool_version) == (WHOLE, "1.0")
    assert project.tree() == before
    assert project.scratch() == []
    assert beats


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        ("sys.exit('Error: no such thing\\nat line 3')", IndexerFailed, "status 1: Error: no such thing"),
        (f"write({WHOLE!r}); sys.exit(3)", IndexerFailed, "status 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", IndexerFailed, "killed by signal 11"),
        ("print('JavaScript heap out of memory'); sys.exit(134)", IndexerMemory, "heap"),
        ("pass", IndexerEmpty, "said nothing"),
        ("print('no project here')", IndexerEmpty, "no project here"),
        ("write(b'')", IndexerEmpty, "said nothing"),
        (f"write({index()!r})", IndexerEmpty, "said nothing"),
        ("os.symlink('/etc/passwd', output)", IndexerEmpty, "said nothing"),
        ("os.mkdir(output)", IndexerEmpty, "said nothing"),
        ("write(bytes(range(256)) * 100)", SemanticUnreadable, "cannot be used"),
        ("write(b'\\x12\\xff\\xff\\xff\\xff\\x0f')", SemanticUnreadable, "cannot be used"),
    ],
)
def test_an_indexer_that_fails_says_nothing_or_garbage_is_an_error_and_leaves_nothing(
    tmp_path: Path, body: str, error: type[CairnError], says: str
) -> None:
    project = Project(tmp_path, body)
    before = project.tree()
    with pytest.raises(CairnError) as caught:
        project.runner()(project.context, FULL, never)
    assert type(caught.value) is error
    assert says in str(caught.value)
    assert 40 <= caught.value.exit_status <= 49
    assert project.tree() == before
    assert project.scratch() == []


def test_what_an_indexer_prints_is_one_short_line_without_tricks(tmp_path: Path) -> None:
    project = Project(tmp_path, r"print('\x1b[31merror\x1b[0m: ' + 'x\u202e' * 5000); sys.exit(1)")
    with pytest.raises(IndexerFailed) as caught:
        project.runner()(project.context, FULL, never)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_an_indexer_that_hangs_is_stopped_with_all_that_it_has_started(tmp_path: Path) -> None:
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    record = f"write(str({child}.pid).encode(), {str(tmp_path / 'pid')!r})"
    project = Project(tmp_path, f"{record}\ntime.sleep(600)")
    with pytest.raises(IndexerTimeout, match="longer than 1 second"):
        project.runner(seconds=1)(project.context, FULL, never)
    assert not is_alive(wait_for(tmp_path / "pid"))
    assert project.scratch() == []


def test_what_an_indexer_leaves_running_is_stopped_when_it_has_ended(tmp_path: Path) -> None:
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    project = Project(tmp_path, f"write(str({child}.pid).encode(), {str(tmp_path / 'pid')!r})\nwrite({WHOLE!r})")
    assert project.runner()(project.context, FULL, never).data == WHOLE
    assert not is_alive(wait_for(tmp_path / "pid"))


def test_an_indexer_that_eats_memory_is_stopped_before_the_machine_is_full(tmp_path: Path) -> None:
    project = Project(tmp_path, "held = []\nwhile True:\n    held.append(b'x' * 10_000_000); time.sleep(0.01)")
    with pytest.raises(IndexerMemory, match="more than 100 MiB"):
        project.runner(memory_mib=100, seconds=60)(project.context, FULL, never)


def test_memory_counts_for_all_processes_of_an_indexer_together(tmp_path: Path) -> None:
    eater = "import time; held = b'x' * 60_000_000; time.sleep(600)"
    project = Project(
        tmp_path, f"[subprocess.Popen([sys.executable, '-c', {eater!r}]) for _ in (1, 2)]\ntime.sleep(600)"
    )
    with pytest.raises(IndexerMemory):
        project.runner(memory_mib=110, seconds=60)(project.context, FULL, never)


def test_a_run_that_nobody_wants_any_more_is_stopped(tmp_path: Path) -> None:
    project = Project(tmp_path, PIDS.format(folder=str(tmp_path)) + "time.sleep(600)")
    with pytest.raises(Cancelled):
        project.runner()(project.context, FULL, (tmp_path / "pid").exists)
    assert not is_alive(wait_for(tmp_path / "pid"))
    assert project.scratch() == []


def test_an_indexer_that_prints_without_end_costs_no_memory_and_goes_on(tmp_path: Path) -> None:
    project = Project(tmp_path, f"print('x' * 5_000_000)\nwrite({WHOLE!r})")
    assert project.runner()(project.context, FULL, never).data == WHOLE


def test_an_indexer_gets_an_environment_made_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    body = f"write(repr(dict(os.environ)).encode(), {str(tmp_path / 'environ')!r})\nwrite({WHOLE!r})"
    project = Project(tmp_path, body)
    project.environ["SECRET_TOKEN"] = "y"
    project.runner()(project.context, FULL, never)
    seen = eval((tmp_path / "environ").read_text())
    assert set(seen) <= {"PATH", "HOME", "LANG", "LC_CTYPE", "TMPDIR", "NODE_OPTIONS", "CAIRN_INDEXER_RUN"}
    assert seen["HOME"] == "/dev/null"


def test_an_indexer_that_is_not_there_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.indexer.unlink()
    with pytest.raises(IndexerMissing) as caught:
        project.runner()(project.context, FULL, never)
    assert f"npm install --prefix {project.home}/tools @sourcegraph/scip-python" in caught.value.advice
    assert project.scratch() == []


def test_a_program_that_cannot_be_started_is_a_failure_like_another(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.indexer.write_text("#!/no/such/interpreter\n")
    with pytest.raises(IndexerFailed, match="status 127"):
        project.runner()(project.context, FULL, never)


def test_an_indexer_that_runs_the_build_waits_for_the_users_trust(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.files |= {"Cargo.toml": '[package]\nname = "a"\n', "src/lib.rs": ""}
    body = "output = sys.argv[sys.argv.index('--output') + 1]\n"
    project.program("rust-analyzer", f"{body}write({WHOLE!r})")
    context = next(one for one in discover(project.files, project.read).contexts if one.family is Family.RUST)
    with pytest.raises(IndexerRefused, match="trust"):
        project.runner()(context, FULL, never)
    with pytest.raises(IndexerRefused):
        project.runner(trusted_roots=(str(project.root / "src"), f"{project.root}x"))(context, FULL, never)
    assert project.runner(trusted_roots=(str(tmp_path),))(context, FULL, never).data == WHOLE


def test_the_next_way_is_tried_when_one_fails_and_time_is_not_given_twice(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.files |= {"tsconfig.json": "{}", "a.ts": ""}
    body = "text = open(sys.argv[-1]).read()\nif 'extends' in text: sys.exit('error: no such package')\n"
    project.program("scip-typescript", f"{body}write({WHOLE!r})")
    context = next(one for one in discover(project.files, project.read).contexts if one.family is Family.TYPESCRIPT)
    assert project.runner()(context, FULL, never).data == WHOLE
    project.program("scip-typescript", "sys.exit('error: both')")
    with pytest.raises(IndexerFailed, match="both"):
        project.runner()(context, FULL, never)
    assert project.scratch() == []


def test_what_a_killed_run_has_left_goes_with_the_next_when_it_is_old(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.runner()(project.context, FULL, never)
    for name, age in (("run_old", 3 * 86_400), ("run_young", 60)):
        folder = project.home / "cache/semantic" / name
        folder.mkdir(mode=0o700)
        os.utime(folder, (time.time() - age,) * 2)
    project.runner()(project.context, FULL, never)
    assert project.scratch() == ["run_young"]


@pytest.mark.parametrize(
    ("body", "version", "why"),
    [
        ("", "9.8.7", ""),
        ("print('no number')", "", "status 0: no number"),
        ("sys.exit('error: broken')", "", "broken"),
    ],
)
def test_an_indexer_says_its_version_or_why_not(tmp_path: Path, body: str, version: str, why: str) -> None:
    project = Project(tmp_path)
    if body:
        project.indexer.write_text(project.indexer.read_text().partition("arguments")[0] + body)
    tool = IndexerTool(BY_FAMILY[Family.PYTHON], "p", (str(project.indexer),), {"PATH": "/usr/bin:/bin"})
    found, trouble = tool_version(tool)
    assert found == version
    assert why in trouble


def test_an_indexer_that_never_says_its_version_is_not_waited_for(tmp_path: Path, faults: Faults) -> None:
    faults.limit(tools_module, INDEXER_VERSION_SECONDS=0.3)
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    tool = IndexerTool(BY_FAMILY[Family.PYTHON], "p", (str(slow),), {"PATH": "/usr/bin:/bin"})
    assert tool_version(tool) == ("", "it did not say its version in 0.3 seconds")
