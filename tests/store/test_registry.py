"""The registry: what is put is there, what is damaged is thrown away, and to read changes nothing."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import cairn.store.disk as disk_module
from cairn.errors import StoreCorrupt
from cairn.store.disk import Disk, LooseFiles
from cairn.store.registry import FILES, REGISTRY, RunOutcome, Tracked, open_registry, read_registry, sqlite_version
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.support.faults import Faults

TIME = "2026-11-15T12:00:00Z"
A = Tracked("/a", "a__0123456789abcdef__fedcba9876543210", TIME)
B = Tracked(
    "/b/häuser", "b__0123456789abcdef__fedcba9876543210", TIME, True, "model", "create", RunOutcome.FAILED, TIME, "code"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), "", create=True) as disk:
        yield disk


def put(disk: Disk, *entries: Tracked) -> bool:
    with open_registry(disk) as (registry, new):
        for entry in entries:
            registry.put(entry)
    return new


def path(disk: Disk) -> Path:
    return Path(disk.path) / REGISTRY


def change(disk: Disk, *statements: str) -> None:
    with closing(sqlite3.connect(path(disk))) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


@conforms("004.MD5")
def test_what_is_put_is_read_and_the_next_put_takes_its_place(disk: Disk) -> None:
    assert read_registry(disk) == ()
    assert put(disk, B, A) is True
    assert read_registry(disk) == (A, B)
    changed = replace(A, embedding_model="other", cleared=True)
    assert put(disk, changed) is False
    assert read_registry(disk) == (changed, B)
    with open_registry(disk) as (registry, _):
        assert registry.entries() == (changed, B)
        registry.forget("/a")
    assert read_registry(disk) == (B,)


def test_only_the_user_can_read_it_whatever_the_umask_and_nothing_stays_beside_it(disk: Disk) -> None:
    before = os.umask(0)
    try:
        put(disk, A)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path(disk).stat().st_mode) == 0o600
    assert disk.list_folder("") == [REGISTRY]


def test_it_is_written_ahead_and_synced_and_foreign_keys_count(disk: Disk) -> None:
    with open_registry(disk) as (registry, _):
        asked = [registry._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        assert asked == ["wal", 2]
        assert registry._db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_what_was_begun_and_not_ended_is_not_there(disk: Disk) -> None:
    put(disk, A)

    def stopped() -> None:
        with open_registry(disk) as (registry, _):
            registry.put(B)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stopped()
    assert read_registry(disk) == (A,)


@conforms("001.INV5")
def test_to_read_changes_nothing_even_while_somebody_writes(disk: Disk) -> None:
    put(disk, A)
    with open_registry(disk) as (registry, _):
        registry.put(B)
        names = disk.list_folder("")
        before = [disk.stat(name) for name in names]
        assert read_registry(disk) == (A,)
        assert disk.list_folder("") == names
        assert [disk.stat(name) for name in names] == before
    assert read_registry(disk) == (A, B)


def test_it_is_read_from_a_disk_that_can_only_be_read(disk: Disk) -> None:
    put(disk, A)
    memory = MemoryDisk()
    memory.create_bytes(REGISTRY, path(disk).read_bytes())
    assert read_registry(memory) == (A,)
    empty = MemoryDisk()
    empty.create_bytes(REGISTRY, b"")
    assert read_registry(empty) == ()


def test_what_changes_while_it_is_read_is_read_again(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    put(disk, A)
    old, reads = path(disk).read_bytes(), []

    def read(self: Disk, name: str, cap: int) -> bytes:
        reads.append(name)
        if len(reads) == 1:
            put(disk, B)
            return old[:5_000]
        return path(disk).read_bytes()

    monkeypatch.setattr(Disk, "read", read)
    assert read_registry(disk) == (A, B)
    assert len(reads) == 2


def test_who_never_finds_it_at_rest_takes_the_last_bytes(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    put(disk, A)
    data = path(disk).read_bytes()

    def read(self: Disk, name: str, cap: int) -> bytes:
        os.utime(path(disk))
        return data

    monkeypatch.setattr(Disk, "read", read)
    assert read_registry(disk) == (A,)


@pytest.mark.parametrize("bytes_", [b"no database", b"SQLite format 3\0" + b"\xff" * 4_096, b"x" * 100_000])
def test_bytes_that_are_no_registry_are_damage_to_read_and_thrown_away_by_who_writes(disk: Disk, bytes_: bytes) -> None:
    path(disk).write_bytes(bytes_)
    with pytest.raises(StoreCorrupt):
        read_registry(disk)
    assert put(disk, A) is True
    assert read_registry(disk) == (A,)


def test_a_log_without_its_database_is_thrown_away_too(disk: Disk) -> None:
    path(disk).write_bytes(b"no database")
    for name in FILES[1:]:
        (path(disk).parent / name).write_bytes(b"left behind")
    put(disk, A)
    assert read_registry(disk) == (A,)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE more (x)",
        "ALTER TABLE codebases ADD COLUMN x",
        "DROP TABLE codebases",
        "CREATE INDEX i ON codebases (store_id)",
    ],
)
def test_a_database_with_other_tables_is_not_ours_and_is_made_anew(disk: Disk, statement: str) -> None:
    put(disk, A)
    change(disk, statement)
    assert put(disk, B) is True
    assert read_registry(disk) == (B,)


def test_a_registry_of_a_later_version_is_left_alone(disk: Disk) -> None:
    put(disk, A)
    change(disk, "PRAGMA user_version = 2")
    before = path(disk).read_bytes()
    with pytest.raises(OSError, match="later version"):
        put(disk, B)
    assert path(disk).read_bytes() == before


def test_what_is_locked_for_too_long_is_trouble_and_no_damage(disk: Disk, faults: Faults) -> None:
    put(disk, A)
    faults.limit(disk_module, _DATABASE_SECONDS=0.01)
    with open_registry(disk), pytest.raises(OSError, match="locked"):
        put(disk, B)
    assert read_registry(disk) == (A,)


def test_a_folder_or_a_link_in_its_place_is_refused(disk: Disk, tmp_path: Path) -> None:
    path(disk).mkdir()
    with pytest.raises(OSError):  # noqa: PT011
        put(disk, A)
    path(disk).rmdir()
    other = tmp_path / "other"
    other.write_bytes(b"")
    path(disk).symlink_to(other)
    with pytest.raises(OSError):  # noqa: PT011
        put(disk, A)
    assert other.read_bytes() == b""


def test_trouble_inside_a_transaction_is_trouble_of_the_disk(disk: Disk) -> None:
    with pytest.raises(OSError), open_registry(disk) as (registry, _):  # noqa: PT011
        registry.put(replace(A, store_id=None))  # type: ignore[arg-type]
    assert read_registry(disk) == ()


BAD = [
    "root = 'text'", "root = x'ff2f'", "root = CAST('relative' AS BLOB)", "store_id = '../x'", "store_id = 7",
    "tracked_at = 'yesterday'", "cleared = 7", "embedding_model = ''", "last_run_kind = x'00'",
    "last_error_code = char(27)", "last_run_outcome = 'maybe'", "last_run_at = 'then'", "last_run_at = 5",
    "embedding_model = CAST(x'ff0a' AS TEXT)",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_row_that_we_would_not_have_written_hides_no_other(disk: Disk, bad: str) -> None:
    put(disk, A, B)
    change(disk, f"UPDATE codebases SET {bad} WHERE root = CAST('/a' AS BLOB)")
    assert read_registry(disk) == (B,)


# --- damage and death -------------------------------------------------------------------------------------------------


def sweep(disk: Disk, seeds: range) -> None:
    """Whatever bytes are damaged: it is read, or is told to be damaged; and the next who writes has a sound one."""
    put(disk, A, B)
    whole = path(disk).read_bytes()
    for seed in seeds:
        draw = Random(seed)
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 4, 64])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path(disk).write_bytes(data[: draw.choice([len(data), len(data), draw.randrange(len(data))])])
        try:
            found = read_registry(disk)
        except StoreCorrupt:
            found = ()
        assert all(isinstance(entry, Tracked) for entry in found)
        try:
            put(disk, A)
        except OSError:
            # A flip in the version of the registry makes it that of a later one, which is left alone.
            continue
        assert A in read_registry(disk)


def test_damage_is_survived(disk: Disk) -> None:
    sweep(disk, range(20))


@pytest.mark.long
def test_much_damage_is_survived(disk: Disk) -> None:
    sweep(disk, range(20, 4_000))


WRITER = """
import sys, itertools
from cairn.store.disk import Disk, LooseFiles
from cairn.store.registry import open_registry
from cairn.store.registry import Tracked
with Disk.at(sys.argv[1], "") as disk:
    for number in itertools.count():
        with open_registry(disk) as (registry, _):
            for name in "pq":
                registry.put(Tracked(f"/{name}", f"{name}__{number:016x}__fedcba9876543210", "2026-11-15T12:00:00Z"))
        print(number, flush=True)
"""


def kill_writers(disk: Disk, times: int) -> None:
    """A writer that is killed at any moment has written all of a transaction or nothing, and what it said is there."""
    home, said = disk.path, -1
    for turn in range(times):
        with subprocess.Popen([sys.executable, "-c", WRITER, home], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(Random(turn).randrange(1, 6)):
                said = int(writer.stdout.readline())
            writer.kill()
            rest = writer.stdout.read().split()
            said = int(rest[-1]) if rest else said
        with open_registry(disk) as (registry, new):
            assert new is False
            numbers = {int(entry.store_id.split("__")[1], 16) for entry in registry.entries()}
        assert numbers in ({said}, {said + 1})
        assert {int(entry.store_id.split("__")[1], 16) for entry in read_registry(disk)} == numbers


def test_a_killed_writer_leaves_a_whole_registry(disk: Disk) -> None:
    kill_writers(disk, 2)


@pytest.mark.long
def test_many_killed_writers_leave_a_whole_registry(disk: Disk) -> None:
    kill_writers(disk, 100)


def test_a_sqlite_that_ignores_a_pragma_is_not_trusted(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ignorant(sqlite3.Connection):
        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
            return super().execute("PRAGMA foreign_keys = OFF" if sql == "PRAGMA foreign_keys = ON" else sql, *values)

    def connect(_: Disk, name: str) -> sqlite3.Connection:
        return sqlite3.connect(path(disk), factory=Ignorant, isolation_level=None)

    monkeypatch.setattr(LooseFiles, "database", connect)
    with pytest.raises(AssertionError):
        put(disk, A)


def test_the_version_of_sqlite_is_the_one_that_is_used() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        assert db.execute("SELECT sqlite_version()").fetchone() == (sqlite_version(),)
