"""Where an index stands, asked of real stores on a real disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, ProcessId
from cairn.core.types import SkipReason
from cairn.errors import StoreNotOurs
from cairn.store.disk import Disk
from cairn.store.format.layout import INDEX_STATE, POINTER, create_store
from cairn.store.format.side_files import decode_state, encode_state
from cairn.store.publish.lease import Lease, RunKind, acquire
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.report import RunOptions
from cairn.sync.status import State, StoreStatus, kept_snapshots, look
from tests.conformance import conforms

RUN_ID = "01KA3M7Q2W0000000000000000"


class World:
    """A small repository, a home of its own, and the runs on it."""

    def __init__(self, tmp_path: Path) -> None:
        self.tree, self.home = tmp_path / "tree", str(tmp_path / "home")
        self._open = ExitStack()
        self.tree.mkdir()
        (self.tree / "a.py").write_text("def a():\n    return 1\n")
        (self.tree / "b.py").write_text("def b():\n    return a()\n")
        (self.tree / "logo.txt").write_bytes(b"\0\1")

    @property
    def codebase(self) -> Codebase:
        return open_codebase(str(self.tree), {"CAIRN_HOME": self.home})

    @property
    def store(self) -> Path:
        return Path(place_of(self.codebase, self.home).path)

    def do(self, kind: str) -> None:
        getattr(run, kind)(self.codebase, RunOptions(home=self.home), lambda _: None)

    def close(self) -> None:
        self._open.close()

    def look(self) -> StoreStatus:
        return look(self.codebase, self.home)

    def lease(self, kind: RunKind) -> Lease:
        disk = self._open.enter_context(place_of(self.codebase, self.home).make_disk())
        create_store(disk)
        return acquire(disk, run_id=RUN_ID, kind=kind, floor_epoch=100, clock=SYSTEM_CLOCK, processes=SYSTEM_PROCESSES)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as world:
        yield world
    subprocess.run(["chmod", "-R", "u+rwX", str(tmp_path)], check=True)


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every name below a folder with what changes when it is written."""
    found = [folder, *folder.rglob("*")] if folder.exists() else []
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_ino) for path in found}


# --- states -----------------------------------------------------------------------------------------------------------


@conforms("000.PRF7")
def test_a_folder_without_an_index_is_not_indexed_and_looking_makes_none(world: World, tmp_path: Path) -> None:
    assert world.look().state is State.NOT_INDEXED
    assert kept_snapshots(world.codebase, world.home) == []
    assert not os.path.exists(world.home)
    # A store that was made and never filled proves nothing either.
    with Disk.at(world.home, f"data/{world.store.name}", create=True) as disk:
        assert world.look().state is State.NOT_INDEXED
        create_store(disk)
        assert world.look().state is State.NOT_INDEXED
        assert kept_snapshots(world.codebase, world.home) == []


def test_an_indexed_folder_is_described_from_its_snapshot(world: World) -> None:
    world.do("index")
    status = world.look()
    assert status.state is State.INDEXED
    assert status.snapshot is not None
    assert (status.snapshot.files, status.snapshot.generation, status.snapshot.active) == (2, 1, True)
    assert status.skipped == ((SkipReason.BINARY, 1),)
    assert (status.root, status.path) == (str(world.tree), str(world.store))
    assert status.store_bytes == sum(path.stat().st_size for path in world.store.rglob("*") if path.is_file())
    assert status.index_fingerprint is not None
    assert status.store_id.endswith(status.index_fingerprint[:16])
    assert status.embedding_model
    assert status.writer is None
    # The files were as of when the run began to look; it was published a moment later.
    assert status.last_sync_at is not None
    assert status.last_sync_at <= status.snapshot.created_at


def test_a_cleared_index_says_so_until_it_is_filled_again(world: World) -> None:
    world.do("index")
    world.do("clear")
    assert world.look().state is State.CLEARED
    world.do("index")
    assert world.look().state is State.INDEXED


def test_looking_changes_nothing(world: World) -> None:
    world.do("index")
    before = everything(Path(world.home))
    world.look()
    kept_snapshots(world.codebase, world.home)
    assert everything(Path(world.home)) == before


def test_damage_to_the_only_snapshot_is_told_and_is_no_exception(world: World) -> None:
    world.do("index")
    for data in world.store.glob("segments/*/data.bin"):
        data.chmod(0o600)
        data.write_bytes(data.read_bytes()[:-1] + b"\xaa\xbb")
    status = world.look()
    assert (status.state, status.snapshot) == (State.CORRUPT, None)
    assert [snapshot.active for snapshot in kept_snapshots(world.codebase, world.home)] == [False]


def test_a_damaged_newest_snapshot_leaves_the_one_before_it_active(world: World) -> None:
    world.do("index")
    first = world.look().snapshot
    assert first is not None
    (world.tree / "a.py").write_text("def a():\n    return 2\n")
    world.do("sync")
    newest = world.look().snapshot
    assert newest is not None
    assert newest.id != first.id
    for data in world.store.glob(f"segments/seg_{newest.id}_*/data.bin"):
        data.chmod(0o600)
        data.write_bytes(b"")
    status = world.look()
    assert (status.state, status.snapshot) == (State.INDEXED, first)
    assert [(s.id, s.active) for s in kept_snapshots(world.codebase, world.home)] == [
        (newest.id, False),
        (first.id, True),
    ]


def test_a_pointer_that_says_nonsense_does_not_hide_the_index(world: World) -> None:
    world.do("index")
    (world.store / POINTER).write_bytes(b"../../etc/passwd\n")
    assert world.look().state is State.INDEXED


# --- runs at work -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "indexed", "expected"),
    [
        (RunKind.CREATE, False, State.INDEXING),
        (RunKind.SYNC, False, State.INDEXING),
        (RunKind.SYNC, True, State.INDEXED),
        (RunKind.CATCHUP, True, State.INDEXED),
        (RunKind.COMPACT, True, State.INDEXED),
        (RunKind.REINDEX, True, State.INDEXING),
    ],
)
def test_a_live_run_closes_the_gate_only_where_nothing_older_may_answer(
    world: World, kind: RunKind, indexed: bool, expected: State
) -> None:
    if indexed:
        world.do("index")
    with world.lease(kind):
        status = world.look()
        assert status.state is expected
        assert status.writer is not None
        assert (status.writer.pid, status.writer.kind, status.writer.alive) == (os.getpid(), kind.value, True)
        assert status.writer.run_id == RUN_ID
    after = world.look()
    assert after.state is (State.INDEXED if indexed else State.NOT_INDEXED)
    assert after.writer is None


def test_a_killed_run_blocks_nobody(world: World) -> None:
    world.do("index")

    class Gone:
        def me(self) -> ProcessId:
            return replace(SYSTEM_PROCESSES.me(), pid=1)

        def is_gone(self, process: ProcessId) -> bool:
            return True

        def is_running(self, process: ProcessId) -> bool:
            return False

    with world.lease(RunKind.REINDEX):
        status = look(world.codebase, world.home, Gone())
    assert status.state is State.INDEXED
    assert status.writer is not None
    assert status.writer.alive is False


def test_a_damaged_lease_hides_nothing(world: World) -> None:
    world.do("index")
    (world.store / "locks" / "writer_lease.json").write_bytes(b"{")
    status = world.look()
    assert (status.state, status.writer) == (State.INDEXED, None)


# --- details ----------------------------------------------------------------------------------------------------------


def test_a_sync_that_found_nothing_is_later_than_the_snapshot(world: World) -> None:
    world.do("index")
    file = world.store / INDEX_STATE
    file.write_bytes(encode_state(replace(decode_state(file.read_bytes()), last_sync_at="2030-01-01T00:00:00Z")))
    assert world.look().last_sync_at == "2030-01-01T00:00:00Z"
    file.write_bytes(b"nonsense")
    status = world.look()
    assert status.snapshot is not None
    assert status.last_sync_at is not None
    assert status.last_sync_at <= status.snapshot.created_at


def test_indexes_of_the_same_root_under_other_settings_are_counted(world: World) -> None:
    world.do("index")
    assert world.look().siblings == 0
    (world.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 1000\n")
    world.do("reindex")
    (world.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 2000\n")
    # Neither is by what is asked for now, and the last one answers.
    status = world.look()
    assert (status.state, status.siblings) == (State.INDEXED, 1)
    assert status.proposed is not None
    assert status.proposed.differs == ("limits.maxFileBytes",)
    (world.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 1000\n")
    (world.store.parent / "another__0123456789abcdef__0123456789abcdef").mkdir()
    assert world.look().siblings == 1


def test_snapshots_are_listed_with_what_they_hold(world: World) -> None:
    world.do("index")
    (world.tree / "b.py").unlink()
    world.do("sync")
    kept = kept_snapshots(world.codebase, world.home)
    assert [(s.files, s.active, s.tombstones > 0) for s in kept] == [(1, True, True), (2, False, False)]
    assert kept[0].generation > kept[1].generation


def test_a_store_that_others_may_write_in_is_refused(world: World) -> None:
    world.do("index")
    world.store.chmod(0o777)
    with pytest.raises(StoreNotOurs):
        world.look()


def test_looking_loads_nothing_heavy(world: World) -> None:
    """A shell prompt may ask for the status: numpy and the grammars cost more than everything else in it."""
    world.do("index")
    program = (
        "import sys\nfrom cairn.cli.main import main\n"
        "codes = main(['status', '-q']), main(['snapshots', '-q'])\n"
        "heavy = {'numpy', 'tree_sitter', 'multiprocessing', 'concurrent.futures', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(f'{codes} {heavy}' if heavy or any(codes) else 0)\n"
    )
    environment = {"PATH": os.environ["PATH"], "CAIRN_HOME": world.home, "HOME": "/nonexistent"}
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=world.tree, capture_output=True, text=True, check=False, env=environment
    )
    assert found.returncode == 0, found.stdout + found.stderr
