"""The semantic database: transactions that are kept whole, readers that change nothing, damage that is thrown away."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cairn.errors import CairnError, SemanticBusy, SemanticUnreadable, StoreNotOurs, Unsupported
from cairn.semantic import database as module
from cairn.semantic.database import TABLES, Connection, SemanticDatabase, has_contexts, register, stored
from cairn.store.disk import Disk, LooseFiles
from tests.conformance import conforms
from tests.semantic.pinned import CONTEXT
from tests.support.faults import Faults

# --- Contexts as they are kept: exactly those that were found, and nothing known under other settings is
# believed.


OTHER = replace(CONTEXT, id="python:x", root="x", name="x", include=("x/y",), punched=("x/z",), why="because")


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), "/project")


def count(database: SemanticDatabase) -> int:
    found = database.ask(lambda db: db.execute("SELECT count(*) FROM file_semantic_facts").fetchone())
    assert found is not None
    return int(found[0])


def test_contexts_are_kept_and_what_was_known_under_other_settings_is_believed_no_more(
    database: SemanticDatabase,
) -> None:
    with database.writing() as db:
        register(db, [CONTEXT, OTHER])
        assert stored(db) == (CONTEXT, OTHER)
        db.execute("INSERT INTO files VALUES (1, 'a.py', 'python', 'h', 'i', 0)")
        (key,) = db.execute("SELECT id FROM contexts WHERE key = 'python:.'").fetchone()
        db.execute("INSERT INTO file_semantic_facts VALUES (1, ?, '', 'h', '[]', 0, '')", (key,))
    with database.writing() as db:
        register(db, [replace(CONTEXT, name="another name", why="another reason")])
        assert [context.name for context in stored(db)] == ["another name"]
    assert count(database) == 1
    changed = replace(CONTEXT, config_hash="other settings")
    with database.writing() as db:
        register(db, [changed])
        assert stored(db) == (changed,)
    assert count(database) == 0


def test_a_codebase_is_set_up_once_it_has_contexts(database: SemanticDatabase) -> None:
    assert not has_contexts(database)
    with database.writing() as db:
        register(db, [])
    assert not has_contexts(database)
    with database.writing() as db:
        register(db, [CONTEXT])
    assert has_contexts(database)


@pytest.mark.parametrize("change", ["language = 'klingon'", "include = 'x'", "punched = '7'"])
def test_a_context_that_we_would_not_have_written_hides_no_other(database: SemanticDatabase, change: str) -> None:
    with database.writing() as db:
        register(db, [CONTEXT, OTHER])
        db.execute(f"UPDATE contexts SET {change} WHERE key = 'python:x'")
        assert stored(db) == (CONTEXT,)


def put(database: SemanticDatabase, *paths: str) -> None:
    with database.writing() as db:
        for path in paths:
            db.execute("INSERT INTO files VALUES (NULL, ?, 'python', 'h', 'i', 0)", (path,))


def paths(db: Connection) -> list[str]:
    return [path for (path,) in db.execute("SELECT path FROM files ORDER BY path")]


def beside(database: SemanticDatabase) -> list[str]:
    return sorted(os.listdir(os.path.dirname(database.path)))


def change(database: SemanticDatabase, *statements: str) -> None:
    with closing(sqlite3.connect(database.path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_what_is_written_is_read_and_without_a_database_there_is_nothing(database: SemanticDatabase) -> None:
    assert database.ask(paths) is None
    with database.reading() as db:
        assert db is None
    assert not os.path.exists(os.path.dirname(database.path))
    put(database, "a.py")
    assert database.ask(paths) == ["a.py"]


@conforms("002.R2")
def test_files_contexts_symbols_and_what_relates_them_have_tables_of_their_own(database: SemanticDatabase) -> None:
    put(database)
    listed = database.ask(lambda db: {name for (name,) in db.execute("SELECT name FROM sqlite_schema")})
    wanted = {"files", "contexts", "file_semantic_facts", "symbol_interface_hashes", "symbols", "exports"}
    assert listed is not None
    assert listed >= wanted | {"occurrences", "edges", "relationships", "refresh_jobs", "repo_state", "decision_cache"}


def test_only_the_user_can_read_it_and_only_its_lock_stays_beside_it(database: SemanticDatabase) -> None:
    before = os.umask(0)
    try:
        put(database, "a.py")
    finally:
        os.umask(before)
    assert [
        stat.S_IMODE(os.stat(os.path.join(os.path.dirname(database.path), name)).st_mode) for name in beside(database)
    ] == [0o600] * 2
    assert [name.partition(".")[2] for name in beside(database)] == ["db", "lock"]
    assert stat.S_IMODE(os.stat(os.path.dirname(database.path)).st_mode) == 0o700


@conforms("002.DB1")
def test_it_is_written_ahead_and_synced_and_foreign_keys_count(database: SemanticDatabase) -> None:
    with database.writing() as db:
        asked = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")]
        assert asked == ["wal", 2, 1]


@conforms("002.DB1")
def test_a_path_has_one_row_and_all_that_is_known_of_it_goes_with_it(database: SemanticDatabase) -> None:
    put(database, "a.py", "b.py")
    with pytest.raises(SemanticUnreadable, match="UNIQUE"):
        put(database, "a.py")
    with database.writing() as db:
        register(db, [CONTEXT])
        (file_id,) = db.execute("SELECT id FROM files WHERE path = 'a.py'").fetchone()
        (other,) = db.execute("SELECT id FROM files WHERE path = 'b.py'").fetchone()
        db.execute("INSERT INTO identities VALUES (1, 's')")
        db.execute("INSERT INTO file_semantic_facts VALUES (?, 1, '', 'h', '[]', 0, '')", (file_id,))
        db.execute("INSERT INTO symbols VALUES (1, ?, 1, 1, 'n', 'n', 'type', 1, 0, 1, 1, '', 'semantic')", (file_id,))
        db.execute("INSERT INTO symbol_interface_hashes VALUES (1, 'h')")
        db.execute(
            "INSERT INTO occurrences VALUES (1, ?, 1, 1, 1, 0, 1, 1, 'definition', 'semantic', '', '')", (file_id,)
        )
        db.execute("INSERT INTO exports VALUES (?, 1, 1, 'n')", (file_id,))
        db.execute("INSERT INTO relationships VALUES (?, 1, 1, 1, 'reference')", (file_id,))
        db.execute("INSERT INTO edges VALUES (1, ?, ?, 'uses', 1, 'semantic', '', '')", (other, file_id))
    with database.writing() as db:
        db.execute("DELETE FROM files WHERE path = 'a.py'")
    emptied = ("file_semantic_facts", "symbols", "symbol_interface_hashes", "occurrences", "exports", "relationships")
    with database.reading() as reader:
        assert reader is not None
        for table in (*emptied, "edges"):
            assert reader.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert database.ask(paths) == ["b.py"]


@conforms("002.DB2")
def test_a_file_has_one_set_of_facts_in_each_context(database: SemanticDatabase) -> None:
    put(database, "a.py")
    facts = "INSERT INTO file_semantic_facts VALUES (1, ?, '', 'h', '[]', ?, '')"
    with database.writing() as db:
        register(db, [CONTEXT, replace(CONTEXT, id="python:other")])
        db.execute(facts, (1, 0.0))
        db.execute(facts, (2, 0.0))
    for again in (1, 2, 7):
        # Two have facts already, and the third is no context.
        with pytest.raises(SemanticUnreadable, match="constraint"), database.writing() as db:
            db.execute(facts, (again, 1.0))
    assert database.ask(lambda db: db.execute("SELECT count(*) FROM file_semantic_facts").fetchone()) == (2,)


def test_a_transaction_that_fails_leaves_nothing(database: SemanticDatabase) -> None:
    put(database, "a.py")

    def stopped() -> None:
        with database.writing() as db:
            db.execute("DELETE FROM files")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stopped()
    assert database.ask(paths) == ["a.py"]


@pytest.mark.parametrize("large", [False, True])
def test_to_read_changes_nothing_when_nobody_writes(database: SemanticDatabase, large: bool) -> None:
    put(database, *(f"{number:0200}.py" for number in range(6_000 if large else 10)))
    assert (os.path.getsize(database.path) > module._SMALL) is large
    names = beside(database)
    before = os.stat(database.path)
    with database.reading() as db:
        assert db is not None
        assert db.execute("SELECT count(*) FROM files").fetchone() == (6_000 if large else 10,)
        assert beside(database) == names
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("DELETE FROM files")
    after = os.stat(database.path)
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert beside(database) == names


def test_a_question_that_cannot_be_answered_is_told_and_answered_with_nothing(database: SemanticDatabase) -> None:
    put(database, "a.py")

    def asked() -> None:
        with database.reading() as db:
            assert db is not None
            db.execute("SELECT * FROM nonsense")

    with pytest.raises(SemanticUnreadable, match="no such table"):
        asked()
    assert database.ask(lambda db: db.execute("SELECT * FROM nonsense")) is None


def test_a_home_that_others_can_write_in_has_no_semantic_facts(database: SemanticDatabase, tmp_path: Path) -> None:
    put(database, "a.py")
    os.chmod(tmp_path / "home", 0o2770)
    assert database.ask(paths) is None
    with pytest.raises(Unsupported):
        put(database, "b.py")


def test_who_reads_beside_a_writer_sees_the_last_transaction_and_not_the_next(database: SemanticDatabase) -> None:
    put(database, "a.py")
    with database.writing() as db:
        db.execute("INSERT INTO files VALUES (NULL, 'b.py', 'python', 'h', 'i', 0)")
        assert database.ask(paths) == ["a.py"]
        with database.reading() as reader:
            assert reader is not None
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                reader.execute("DELETE FROM files")
    assert database.ask(paths) == ["a.py", "b.py"]


def test_who_writes_waits_for_who_reads_at_rest(database: SemanticDatabase, faults: Faults) -> None:
    put(database, "a.py")
    faults.limit(module, SEMANTIC_WAIT_SECONDS=0.02)
    with database.reading(), pytest.raises(SemanticBusy):
        put(database, "b.py")
    put(database, "b.py")


def test_two_writers_take_turns(database: SemanticDatabase) -> None:
    put(database)

    def many(name: str) -> None:
        for number in range(5):
            put(database, f"{name}{number}")

    threads = [threading.Thread(target=many, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(database.ask(paths) or []) == 10


@pytest.mark.parametrize("data", [b"no database", b"SQLite format 3\0" + b"\xff" * 4_096, b"x" * 2_000_000])
def test_bytes_that_are_no_database_are_nothing_to_who_asks_and_thrown_away_by_who_writes(
    database: SemanticDatabase, data: bytes
) -> None:
    put(database)
    Path(database.path).write_bytes(data)
    assert database.ask(paths) is None
    with pytest.raises(SemanticUnreadable), database.reading():
        pass
    put(database, "a.py")
    assert database.ask(paths) == ["a.py"]


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE more (x)", "ALTER TABLE files ADD COLUMN x", "DROP TABLE edges", "DROP INDEX one_queued"],
)
def test_a_database_with_other_tables_is_not_ours_and_is_made_anew(database: SemanticDatabase, statement: str) -> None:
    put(database, "a.py")
    change(database, statement)
    assert database.ask(paths) is None
    put(database, "b.py")
    assert database.ask(paths) == ["b.py"]


def test_a_database_of_a_later_version_is_left_alone(database: SemanticDatabase) -> None:
    put(database, "a.py")
    change(database, "PRAGMA user_version = 99")
    before = Path(database.path).read_bytes()
    with pytest.raises(SemanticUnreadable, match="later version"):
        put(database, "b.py")
    assert Path(database.path).read_bytes()[100:] == before[100:]


def test_a_log_without_its_database_is_thrown_away_too(database: SemanticDatabase) -> None:
    put(database, "a.py")
    Path(database.path).write_bytes(b"no database")
    for ending in ("-wal", "-shm", "-journal"):
        Path(database.path + ending).write_bytes(b"left behind")
    put(database, "b.py")
    assert database.ask(paths) == ["b.py"]


def test_what_an_empty_file_says_is_nothing(database: SemanticDatabase) -> None:
    put(database)
    Path(database.path).write_bytes(b"")
    assert database.ask(paths) is None
    os.unlink(database.path)
    assert database.ask(paths) is None


def test_a_link_in_its_place_is_not_followed(database: SemanticDatabase, tmp_path: Path) -> None:
    put(database)
    os.unlink(database.path)
    other = tmp_path / "other"
    other.write_bytes(b"")
    os.symlink(other, database.path)
    with pytest.raises(CairnError):
        put(database, "a.py")
    assert other.read_bytes() == b""


def test_a_folder_that_others_can_write_in_is_not_used(database: SemanticDatabase) -> None:
    put(database)
    os.chmod(os.path.dirname(database.path), 0o777)
    with pytest.raises(StoreNotOurs):
        put(database)
    assert database.ask(paths) is None


def test_trouble_of_the_disk_is_told_and_nothing_is_thrown_away(
    database: SemanticDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, "a.py")

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(LooseFiles, "database", refused)
        with pytest.raises(CairnError):
            put(database, "b.py")
        patched.setattr(Disk, "read", refused)
        with pytest.raises(SemanticUnreadable, match="No space"), database.reading():
            pass
    assert database.ask(paths) == ["a.py"]


def test_damage_that_is_met_in_the_middle_of_a_transaction_is_thrown_away_for_the_next(
    database: SemanticDatabase,
) -> None:
    put(database, *(f"{number:0200}" for number in range(400)))
    data = bytearray(Path(database.path).read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    Path(database.path).write_bytes(data)
    with pytest.raises(SemanticUnreadable):
        put(database, *(f"{number:0300}" for number in range(300)))
    put(database, "a.py")
    assert database.ask(paths) == ["a.py"]


def test_who_wants_to_be_sure_looks_at_all_of_it_first(database: SemanticDatabase) -> None:
    put(database, *(f"{number:0200}" for number in range(200)))
    data = bytearray(Path(database.path).read_bytes())
    data[-4_096:] = b"\xff" * 4_096
    Path(database.path).write_bytes(data)
    with database.writing(check=True) as db:
        assert paths(db) == []


def test_a_sqlite_that_ignores_a_pragma_is_not_trusted(
    database: SemanticDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ignorant(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return super().execute("PRAGMA foreign_keys = OFF" if sql == "PRAGMA foreign_keys = ON" else sql, *values)

    def connect(*_: object) -> sqlite3.Connection:
        return sqlite3.connect(database.path, factory=Ignorant, isolation_level=None)

    monkeypatch.setattr(LooseFiles, "database", connect)
    with pytest.raises(AssertionError):
        put(database)


# --- damage and death -------------------------------------------------------------------------------------------------


def sweep(database: SemanticDatabase, seeds: range) -> None:
    """Whatever bytes are damaged: it is read, or is nothing; and the next who looks at all of it has a sound one."""
    with database.writing() as db:
        register(db, [CONTEXT])
        rows = [(f"file{number}.py",) for number in range(60)]
        db.executemany("INSERT INTO files VALUES (NULL, ?, 'python', 'h', 'i', 0)", rows)
    whole = Path(database.path).read_bytes()
    for seed in seeds:
        draw = Random(seed)
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 4, 64])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        Path(database.path).write_bytes(data[: draw.choice([len(data), len(data), draw.randrange(len(data))])])
        database.ask(paths)
        database.ask(stored)
        try:
            with database.writing(check=True) as db:
                register(db, [CONTEXT])
        except SemanticUnreadable as problem:
            # A flip in its version makes it that of a later one, which is left alone.
            assert "later version" in str(problem)  # noqa: PT017
            continue
        assert database.ask(stored) == (CONTEXT,)


def test_damage_is_survived(database: SemanticDatabase) -> None:
    sweep(database, range(20))


@pytest.mark.long
def test_much_damage_is_survived(database: SemanticDatabase) -> None:
    sweep(database, range(20, 1_000))


WRITER = """
import sys, itertools
from cairn.semantic.database import SemanticDatabase
database = SemanticDatabase(sys.argv[1], "/project")
for number in itertools.count():
    with database.writing() as db:
        db.execute("DELETE FROM files")
        rows = [(f"{name}.py", str(number)) for name in range(50)]
        db.executemany("INSERT INTO files VALUES (NULL, ?, 'python', ?, 'i', 0)", rows)
    print(number, flush=True)
"""


def kill_writers(home: str, times: int) -> None:
    """A writer that is killed at any moment has written all of a transaction or nothing, and what it said is there."""
    database, said = SemanticDatabase(home, "/project"), -1

    def numbers(db: Connection) -> list[tuple[str, int]]:
        return db.execute("SELECT content_hash, count(*) FROM files GROUP BY content_hash").fetchall()

    for turn in range(times):
        with subprocess.Popen([sys.executable, "-c", WRITER, home], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(Random(turn).randrange(1, 6)):
                said = int(writer.stdout.readline())
            writer.kill()
            rest = writer.stdout.read().split()
            said = int(rest[-1]) if rest else said
        read = database.ask(numbers)
        assert read in ([(str(said), 50)], [(str(said + 1), 50)])
        with database.writing(check=True) as db:
            assert numbers(db) == read


def test_a_killed_writer_leaves_a_whole_database(tmp_path: Path) -> None:
    kill_writers(str(tmp_path / "home"), 2)


@pytest.mark.long
def test_many_killed_writers_leave_a_whole_database(tmp_path: Path) -> None:
    kill_writers(str(tmp_path / "home"), 60)


def test_every_table_and_index_has_its_own_name() -> None:
    names = [statement.split("(")[0].split(" ON ")[0].split()[-1] for statement in TABLES]
    assert len(set(names)) == len(names)


def test_it_is_removed_whole_unless_somebody_writes_it(database: SemanticDatabase) -> None:
    assert database.remove() == 0
    assert not os.path.exists(os.path.dirname(database.path))
    put(database, "a.py")
    size = os.path.getsize(database.path)
    with database.writing(), pytest.raises(SemanticBusy):
        database.remove()
    assert database.remove(dry_run=True) == size
    assert database.ask(paths) == ["a.py"]
    assert database.remove() == size
    assert beside(database) == []
    assert database.ask(paths) is None
    put(database, "b.py")
    assert database.ask(paths) == ["b.py"]


def test_in_a_folder_of_others_nothing_is_removed_and_nothing_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    home.chmod(0o777)
    database = SemanticDatabase(str(home), "/project")
    with pytest.raises(StoreNotOurs):
        put(database, "a.py")
    # One that a group shares is no mistake to be mended: it is told what is meant.
    home.chmod(0o2770)
    with pytest.raises(Unsupported, match="a folder that a group shares") as refused:
        put(database, "a.py")
    assert "chmod" not in refused.value.advice
    assert "--shared" not in refused.value.advice
    assert (database.remove(), list(home.iterdir())) == (0, [])
