from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cairn.core.config import Config, LimitConfig
from cairn.core.limits import MIN_FILES_FOR_POOL
from cairn.core.types import Candidate, FileFacts, ParseState, Root, Skip, SkipReason, Vanished
from cairn.errors import CairnError
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk
from cairn.sync import pool
from cairn.sync.pool import extract
from tests.support.faults import Faults

PROGRAM = "def first(x):\n    return second(x)\n\n\ndef second(x):\n    return x + 1\n"


def tree_of(top: Path, count: int = 200) -> tuple[Root, tuple[Candidate, ...]]:
    for number in range(count):
        folder = top / f"part{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"m{number}.py").write_text(PROGRAM * (1 + number % 5))
    root = find_root(str(top))
    with Tree(root) as tree:
        return root, walk(tree, Config()).candidates


def test_two_workers_give_exactly_what_one_process_gives(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path)
    with Tree(root) as tree:
        alone = [extract(tree, candidate, LimitConfig()) for candidate in candidates]
    assert list(pool.extract_all(root, candidates, LimitConfig(), workers=1)) == alone
    assert list(pool.extract_all(root, candidates, LimitConfig(), workers=2)) == alone
    assert len(alone) == 200


def test_a_handful_of_files_gets_one_worker() -> None:
    assert pool.worker_count(MIN_FILES_FOR_POOL - 1) == 1
    assert pool.worker_count(MIN_FILES_FOR_POOL) == max(1, len(os.sched_getaffinity(0)) - 1)


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path)
    expected = list(pool.extract_all(root, candidates, LimitConfig(), workers=1))
    found = []
    for number, outcome in enumerate(pool.extract_all(root, candidates, LimitConfig(), workers=2)):
        found.append(outcome)
        if number == 0:
            killed = children()
            for child in killed:
                os.kill(child, signal.SIGKILL)
    assert len(killed) == 2
    assert found == expected


def test_no_file_is_blamed_for_a_worker_that_was_killed_and_takes_its_time_to_die(
    tmp_path: Path, faults: Faults
) -> None:
    root, candidates = tree_of(tmp_path, 1)
    with contextlib.closing(pool._Pool(pool._Duty(root, LimitConfig(), 5.0), 1, candidates)) as crew:
        [worker] = crew._workers
        assert worker.process.pid is not None
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.join()
        faults.answer(worker.process, "is_alive", True)
        crew._waiting.append(pool._Task(0, candidates, suspect=True))
        crew._feed()
        crew._collect()
        [facts] = crew._done.values()
    assert isinstance(facts, FileFacts)
    assert facts.syntax.state is ParseState.PARSED


def test_a_file_that_spends_all_the_time_of_a_worker_is_cut_by_lines(tmp_path: Path) -> None:
    # Quadratic for the parser: within its own budget it takes up to a second, far above the 0.2 s given here.
    (tmp_path / "bomb.py").write_bytes(b"<a>" * 100_000)
    root, candidates = tree_of(tmp_path)
    outcomes = list(pool.extract_all(root, candidates, LimitConfig(), workers=2, cpu_seconds=0.2))
    states = {o.source.key: o.syntax.state for o in outcomes if isinstance(o, FileFacts)}
    assert states.pop("bomb.py") == ParseState.LINES
    assert set(states.values()) == {ParseState.PARSED}
    assert len(states) == 200


# Two shapes of one danger: memory without end, in a fork of this process and in a spawned worker.
EATER = """
import resource, sys, threading
from cairn.core.config import Config, LimitConfig
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk
from cairn.sync import pool
if __name__ == "__main__":
    root = find_root(sys.argv[1])
    with Tree(root) as tree:
        found = walk(tree, Config()).candidates
    done = threading.Event()
    if sys.argv[3] == "spawned":
        threading.Thread(target=done.wait, daemon=True).start()
    for outcome in pool.extract_all(root, found, LimitConfig(), workers=int(sys.argv[2])):
        print(outcome.source.key, outcome.syntax.state.value)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.parametrize(
    ("workers", "how"),
    [
        (1, "forked"),
        pytest.param(2, "forked", marks=pytest.mark.long),
        pytest.param(2, "spawned", marks=pytest.mark.long),
    ],
)
def test_a_file_that_eats_all_memory_is_cut_by_lines_and_nobody_hears_of_it(
    tmp_path: Path, workers: int, how: str
) -> None:
    top = tmp_path / "tree"
    top.mkdir()
    (top / "eater.c").write_bytes(b"x=>" * 100_000)
    (top / "fine.c").write_bytes(b"int main(void) { return 0; }\n")
    program = tmp_path / "program.py"
    program.write_text(EATER)
    found = subprocess.run(
        [sys.executable, str(program), str(top), str(workers), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    *states, mib = found.stdout.splitlines()
    assert states == ["eater.c lines", "fine.c parsed"]
    assert int(mib) < 1024
    assert found.stderr == ""


# The connection to a search server runs threads that Python does not count.
CONNECTED = """
import socket, grpc
silent = socket.create_server(("127.0.0.1", 0))
channel = grpc.insecure_channel("127.0.0.1:%d" % silent.getsockname()[1])
try:
    channel.unary_unary("/a/b")(b"", timeout=0.3)
except grpc.RpcError:
    pass
""" + EATER.lstrip()


@pytest.mark.long
def test_files_are_parsed_all_the_same_after_a_search_server_was_asked(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    top = tmp_path / "tree"
    top.mkdir()
    for number in range(4):
        (top / f"{number}.py").write_text("def f(): pass\n")
    program = tmp_path / "program.py"
    program.write_text(CONNECTED)
    command = [sys.executable, str(program), str(top), "2", "alone"]
    for _ in range(3):
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert found.returncode == 0, found.stderr
        assert found.stdout.splitlines()[:-1] == [f"{number}.py parsed" for number in range(4)]
        assert found.stderr == ""


def test_a_file_that_kills_even_without_a_parser_is_a_bug_and_not_a_loop(tmp_path: Path) -> None:
    (tmp_path / "huge.txt").write_bytes(b"word and more words\n" * 400_000)
    root, candidates = tree_of(tmp_path)
    with pytest.raises(CairnError):
        list(pool.extract_all(root, candidates, LimitConfig(), workers=2, cpu_seconds=0.001))
    assert children() == [], "no worker is left behind"


def test_files_that_are_gone_or_no_text_come_back_as_such(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path)
    (tmp_path / "part0" / "m0.py").unlink()
    (tmp_path / "part1" / "m1.py").write_bytes(b"\0no text")
    by_raw = dict(zip(candidates, pool.extract_all(root, candidates, LimitConfig(), workers=2), strict=True))
    found = {candidate.raw: outcome for candidate, outcome in by_raw.items()}
    assert found[b"part0/m0.py"] == Vanished(b"part0/m0.py")
    assert found[b"part1/m1.py"] == Skip(b"part1/m1.py", SkipReason.NOT_UTF8, "a NUL byte near its start")


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    tree_of(tmp_path / "tree")
    script = (
        "import sys\n"
        "from cairn.sync import pool\nfrom cairn.core.config import LimitConfig, Config\n"
        "from cairn.source.root import find_root\nfrom cairn.source.beneath import Tree\n"
        "from cairn.source.walk import walk\n"
        "if __name__ == '__main__':\n"
        "    root = find_root(sys.argv[1])\n"
        "    with Tree(root) as tree: found = walk(tree, Config()).candidates\n"
        "    for outcome in pool.extract_all(root, found, LimitConfig(), workers=2):\n"
        "        print('ready', flush=True); sys.stdin.read()\n"
    )
    program = tmp_path / "parent.py"
    program.write_text(script)
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "tree")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        workers = children(parent.pid)
        assert len(workers) >= 2
        parent.kill()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in workers)


def test_a_script_from_anywhere_may_start_workers_and_runs_once(tmp_path: Path) -> None:
    tree_of(tmp_path)
    script = (
        "print('started')\n"
        "from cairn.sync import pool\nfrom cairn.core.config import LimitConfig, Config\n"
        "from cairn.source.root import find_root\nfrom cairn.source.beneath import Tree\n"
        "from cairn.source.walk import walk\n"
        f"root = find_root({str(tmp_path)!r})\n"
        "with Tree(root) as tree: found = walk(tree, Config()).candidates\n"
        "print(len(list(pool.extract_all(root, found, LimitConfig(), workers=2))))\n"
    )
    found = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("started\n200\n", "")


def test_a_program_with_threads_gets_workers_that_give_the_same(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path)
    expected = list(pool.extract_all(root, candidates, LimitConfig(), workers=2))
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert list(pool.extract_all(root, candidates, LimitConfig(), workers=2)) == expected
    finally:
        done.set()
        thread.join()


def test_a_server_whose_own_folder_was_deleted_still_gets_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, candidates = tree_of(tmp_path / "tree", 3)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        outcomes = list(pool.extract_all(root, candidates, LimitConfig(), workers=1))
    finally:
        done.set()
        thread.join()
    assert [isinstance(outcome, FileFacts) for outcome in outcomes] == [True] * 3


def test_a_worker_holds_no_descriptor_of_its_parent(tmp_path: Path) -> None:
    """A lock of the store, or the pipe to another worker, would outlive the parent in it."""
    root, candidates = tree_of(tmp_path)
    with (tmp_path / "held").open("wb"):
        outcomes = pool.extract_all(root, candidates, LimitConfig(), workers=2)
        next(outcomes)
        held = [os.path.realpath(each) for child in children() for each in Path(f"/proc/{child}/fd").iterdir()]
        outcomes.close()  # type: ignore[attr-defined]
    assert held
    assert str(tmp_path / "held") not in held


def test_a_worker_imports_no_numpy_and_no_command_line(tmp_path: Path) -> None:
    unwanted = "('numpy', 'argparse', 'cairn.cli')"
    code = f"import sys, cairn.sync.pool, cairn.syntax.analyze; print([m for m in {unwanted} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout.strip() == "[]"


def children(of: int | None = None) -> list[int]:
    """The worker processes that this process (or another) has started."""
    parent = str(of or os.getpid())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_child = (folder / "stat").read_text().rpartition(")")[2].split()[1] == parent
            started = (folder / "cmdline").read_bytes()
            if is_child and not any(other in started for other in (b"resource_tracker", b"tests.support.forker")):
                found.append(int(folder.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# --- a worker that waits ----------------------------------------------------------------------------------------------


@pytest.fixture
def threaded() -> Iterator[None]:
    """A process that must not fork, as a server is; no worker of it is left behind."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    pool.dismiss()
    done.set()
    thread.join()
    assert children() == []


def keep(root: Root, candidates: Sequence[Candidate]) -> list[int]:
    """Extract, and say which workers wait afterwards."""
    outcomes = list(pool.extract_all(root, candidates, LimitConfig(), workers=1, keep=True))
    assert [type(outcome) for outcome in outcomes] == [FileFacts] * len(candidates)
    return children()


@pytest.mark.usefixtures("threaded")
def test_a_server_s_worker_waits_for_the_next_save(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path, 3)
    [first] = keep(root, candidates)
    assert keep(root, candidates[:1]) == [first]
    list(pool.extract_all(root, candidates, LimitConfig(), workers=1))
    assert children() == [first], "who does not ask for it leaves nobody behind, and takes nobody"


@pytest.mark.usefixtures("threaded")
def test_a_worker_that_died_or_stands_in_another_folder_is_not_taken(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path / "a", 3)
    [first] = keep(root, candidates)
    os.kill(first, signal.SIGKILL)
    [second] = keep(root, candidates)
    assert second != first
    (tmp_path / "a").rename(tmp_path / "b")
    _, candidates = tree_of(tmp_path / "a", 4)
    [third] = keep(root, candidates)
    assert third != second


@pytest.mark.usefixtures("threaded")
def test_a_worker_that_nobody_comes_for_leaves(tmp_path: Path, faults: Faults) -> None:
    faults.limit(pool, WORKER_IDLE_SECONDS=0.2)
    root, candidates = tree_of(tmp_path, 3)
    [waiting] = keep(root, candidates)
    until = time.monotonic() + 20
    while Path(f"/proc/{waiting}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert keep(root, candidates) != [waiting]


@pytest.mark.usefixtures("threaded")
def test_only_a_few_workers_wait(tmp_path: Path, faults: Faults) -> None:
    faults.limit(pool, _MOST_SPARES=1)
    [first] = keep(*tree_of(tmp_path / "a", 2))
    [second] = keep(*tree_of(tmp_path / "b", 2))
    assert second != first


@pytest.mark.usefixtures("threaded")
def test_a_worker_that_is_given_up_in_the_middle_does_not_wait(tmp_path: Path) -> None:
    root, candidates = tree_of(tmp_path, 200)
    outcomes = pool.extract_all(root, candidates, LimitConfig(), workers=1, keep=True)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert children() == []
