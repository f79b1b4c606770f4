"""What every disk owes the store, whatever it is made of; run by `test_fs.py` against all of them."""

from __future__ import annotations

import errno
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from functools import cache

import pytest

from cairn.store.fs import Fs

BAD_PATHS = [
    "/x",
    "../x",
    "a/../x",
    "a/..",
    "..",
    ".",
    "./x",
    "a//b",
    "a/",
    "/",
    "a\0b",
    "a b",
    "a\n",
    "é",
    "a\\b",
    "x" * 201,
]


def hold(fs: Fs, path: str, *, exclusive: bool = True) -> None:
    with fs.lock(path, exclusive=exclusive, timeout=0):
        pass


def refused(number: int) -> pytest.RaisesExc[OSError]:
    return pytest.raises(OSError, match=rf"^\[Errno {number}\]")


# Everything that takes a path, called with it as its first argument.
TAKES_A_PATH: dict[str, Callable[[Fs, str], object]] = {
    "create": lambda fs, path: fs.create(path),
    "create_bytes": lambda fs, path: fs.create_bytes(path, b""),
    "make_folder": lambda fs, path: fs.make_folder(path),
    "move": lambda fs, path: fs.move(path, "elsewhere"),
    "move to": lambda fs, path: fs.move("folder", path),
    "swap": lambda fs, path: fs.swap(path, "file"),
    "swap to": lambda fs, path: fs.swap("file", path),
    "claim": lambda fs, path: fs.claim(path, "elsewhere"),
    "claim as": lambda fs, path: fs.claim("file", path),
    "remove": lambda fs, path: fs.remove(path),
    "remove_folder": lambda fs, path: fs.remove_folder(path),
    "seal": lambda fs, path: fs.seal(path),
    "unseal": lambda fs, path: fs.unseal(path),
    "sync_file": lambda fs, path: fs.sync_file(path),
    "sync_folder": lambda fs, path: fs.sync_folder(path),
    "read": lambda fs, path: fs.read(path, 100),
    "open_map": lambda fs, path: fs.open_map(path),
    "open_database": lambda fs, path: fs.open_database(path).close(),
    "stat": lambda fs, path: fs.stat(path),
    "list_folder": lambda fs, path: fs.list_folder(path),
    "lock": hold,
}
ALSO_THE_BASE = {"sync_folder", "stat", "list_folder"}
NEEDS_IT = {
    name: do for name, do in TAKES_A_PATH.items() if not name.startswith(("create", "make")) and " " not in name
}
CHANGES_ITS_FOLDER: dict[str, Callable[[Fs], object]] = {
    "create": lambda fs: fs.create("sealed/new"),
    "make_folder": lambda fs: fs.make_folder("sealed/new"),
    "move out": lambda fs: fs.move("sealed/folder", "new"),
    "move in": lambda fs: fs.move("folder", "sealed/new"),
    "swap out": lambda fs: fs.swap("sealed/file", "file"),
    "swap in": lambda fs: fs.swap("file", "sealed/file"),
    "claim": lambda fs: fs.claim("file", "sealed/new"),
    "remove": lambda fs: fs.remove("sealed/file"),
    "remove_folder": lambda fs: fs.remove_folder("sealed/folder"),
}


@cache
def database(rows: int) -> bytes:
    """The bytes of a database with this many words; 60,000 of them are more than is held in memory."""
    with closing(sqlite3.connect(":memory:")) as db, db:
        db.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT")
        db.executemany("INSERT INTO words VALUES (?, ?)", ((at, f"word {at:09}") for at in range(rows)))
        db.commit()
        return db.serialize()


def mode(fs: Fs, path: str) -> int:
    return stat.S_IMODE(fs.stat(path).mode)


def everything(fs: Fs, path: str = "") -> dict[str, bytes | None]:
    """All that is on the disk: files with their bytes, folders with None."""
    found: dict[str, bytes | None] = {}
    for name in fs.list_folder(path):
        below = f"{path}/{name}" if path else name
        if fs.stat(below).is_folder:
            found |= {below: None, **everything(fs, below)}
        else:
            found[below] = fs.read(below, 1 << 20)
    return found


class FsContract:
    """Each test gets an empty disk as `fs`."""

    # --- names --------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("what", TAKES_A_PATH)
    def test_a_path_that_is_not_clean_is_refused_and_changes_nothing(self, fs: Fs, what: str) -> None:
        fs.make_folder("folder")
        fs.create_bytes("file", b"old")
        for path in BAD_PATHS:
            with refused(errno.EINVAL):
                TAKES_A_PATH[what](fs, path)
        assert everything(fs) == {"folder": None, "file": b"old"}

    @pytest.mark.parametrize("what", sorted(TAKES_A_PATH.keys() - ALSO_THE_BASE))
    def test_the_base_folder_itself_is_not_a_name(self, fs: Fs, what: str) -> None:
        fs.make_folder("folder")
        fs.create_bytes("file", b"old")
        with refused(errno.EINVAL):
            TAKES_A_PATH[what](fs, "")

    @pytest.mark.parametrize("path", ["a", "...", ".a", "a..", "a.b-c_D9", "a/b/c", "x" * 200])
    def test_a_clean_path_is_taken(self, fs: Fs, path: str) -> None:
        *folders, _ = path.split("/")
        for depth in range(len(folders)):
            fs.make_folder("/".join(folders[: depth + 1]))
        fs.create_bytes(path, b"x")
        assert fs.read(path, 1) == b"x"

    @pytest.mark.parametrize("what", NEEDS_IT)
    def test_a_name_that_is_not_there_is_said_to_be_missing(self, fs: Fs, what: str) -> None:
        fs.create_bytes("file", b"")
        for path in ("gone", "gone/file"):
            with pytest.raises(FileNotFoundError):
                NEEDS_IT[what](fs, path)

    @pytest.mark.parametrize("what", TAKES_A_PATH)
    def test_a_file_is_not_a_folder_on_the_way(self, fs: Fs, what: str) -> None:
        fs.make_folder("folder")
        fs.create_bytes("file", b"")
        with pytest.raises(NotADirectoryError):
            TAKES_A_PATH[what](fs, "file/name")

    @pytest.mark.parametrize(
        "what", ["swap", "claim", "remove", "sync_file", "read", "open_map", "open_database", "lock"]
    )
    def test_a_folder_is_refused_where_a_file_is_asked_for(self, fs: Fs, what: str) -> None:
        fs.create_bytes("file", b"")
        fs.make_folder("folder")
        with pytest.raises(IsADirectoryError):
            TAKES_A_PATH[what](fs, "folder")

    @pytest.mark.parametrize("what", ["move", "remove_folder", "unseal", "sync_folder", "list_folder"])
    def test_a_file_is_refused_where_a_folder_is_asked_for(self, fs: Fs, what: str) -> None:
        fs.create_bytes("file", b"")
        with pytest.raises(NotADirectoryError):
            TAKES_A_PATH[what](fs, "file")

    # --- files --------------------------------------------------------------------------------------------------------

    def test_a_file_grows_by_what_is_written_and_is_there_at_once(self, fs: Fs) -> None:
        with fs.create("file") as out:
            assert fs.read("file", 0) == b""
            out.write(b"one ")
            assert fs.read("file", 100) == b"one "
            out.write(bytearray(b"two "))
            out.write(memoryview(b"three"))
            out.write(b"")
        assert fs.read("file", 100) == b"one two three"
        assert fs.stat("file").size == 13

    def test_a_writer_takes_any_numbers_as_their_bytes(self, fs: Fs) -> None:
        fs.create_bytes("file", memoryview(b"12345678").cast("Q"))
        assert fs.read("file", 8) == b"12345678"

    def test_a_closed_writer_writes_no_more(self, fs: Fs) -> None:
        out = fs.create("file")
        out.close()
        out.close()
        with refused(errno.EBADF):
            out.write(b"late")
        assert fs.read("file", 100) == b""

    def test_a_file_is_written_once(self, fs: Fs) -> None:
        fs.create_bytes("file", b"first")
        fs.make_folder("folder")
        for path in ("file", "folder"):
            with pytest.raises(FileExistsError):
                fs.create(path)
            with pytest.raises(FileExistsError):
                fs.create_bytes(path, b"second")
            with pytest.raises(FileExistsError):
                fs.make_folder(path)
        assert everything(fs) == {"file": b"first", "folder": None}

    def test_new_files_and_folders_are_for_the_user_or_the_group_alone(self, fs: Fs) -> None:
        fs.make_folder("folder")
        fs.create_bytes("folder/file", b"")
        folder, file = (0o2770, 0o660) if fs.modes.shared else (0o700, 0o600)
        assert mode(fs, "") == mode(fs, "folder") == folder
        assert mode(fs, "folder/file") == file
        assert fs.stat("folder").uid == fs.stat("folder/file").uid == fs.stat("").uid

    def test_reading_stops_at_the_cap(self, fs: Fs) -> None:
        fs.create_bytes("file", b"12345")
        assert fs.read("file", 5) == b"12345"
        for cap in (4, 0):
            with refused(errno.EFBIG):
                fs.read("file", cap)

    @pytest.mark.parametrize("data", [b"", b"x", b"0123456789" * 10_000])
    def test_a_map_shows_the_bytes_after_the_name_is_gone(self, fs: Fs, data: bytes) -> None:
        fs.create_bytes("file", data)
        found = fs.stat("file")
        mapped = fs.open_map("file")
        fs.remove("file")
        assert mapped.stat == found
        assert mapped.view.readonly
        assert bytes(mapped.view) == data
        mapped.close()
        mapped.close()
        with pytest.raises(ValueError, match="released"):
            len(mapped.view)

    def test_a_view_that_is_still_held_keeps_the_bytes_of_a_closed_map(self, fs: Fs) -> None:
        fs.create_bytes("file", b"held")
        with fs.open_map("file") as mapped:
            held = memoryview(mapped.view)[1:]
        assert held.tobytes() == b"eld"

    @pytest.mark.parametrize("rows", [1, 60_000])
    def test_a_database_answers_after_its_name_is_gone_and_cannot_be_written(self, fs: Fs, rows: int) -> None:
        data = database(rows)
        fs.create_bytes("file", data)
        fs.seal("file")
        with closing(fs.open_database("file")) as db:
            fs.remove("file")
            assert db.execute("SELECT count(*), max(word) FROM words").fetchall() == [(rows, f"word {rows - 1:09}")]
            assert db.execute("SELECT word FROM words WHERE id = ?", (rows // 2,)).fetchone() == (
                f"word {rows // 2:09}",
            )
            for change in ("INSERT INTO words VALUES (-1, 'x')", "CREATE TABLE x (y)", "DROP TABLE words"):
                with pytest.raises(sqlite3.OperationalError, match="readonly"):
                    db.execute(change)

    def test_a_database_is_left_byte_for_byte_as_it_was(self, fs: Fs) -> None:
        for path, rows in (("small", 1), ("large", 60_000)):
            fs.create_bytes(path, database(rows))
            with closing(fs.open_database(path)) as db:
                db.execute("SELECT sum(length(word)) FROM words").fetchone()
            with fs.open_map(path) as mapped:
                assert bytes(mapped.view) == database(rows)
        assert fs.list_folder("") == ["large", "small"], "no journal beside it"

    @pytest.mark.parametrize("data", [b"no database" * 100, b"no database" * 200_000], ids=["small", "large"])
    def test_bytes_that_are_no_database_are_said_to_be_none(self, fs: Fs, data: bytes) -> None:
        fs.create_bytes("file", data)
        with pytest.raises(sqlite3.DatabaseError, match="not a database"):
            fs.open_database("file")

    def test_a_stat_tells_files_apart_and_sees_every_change(self, fs: Fs) -> None:
        fs.create_bytes("one", b"1")
        fs.create_bytes("two", b"1")
        one = fs.stat("one")
        assert not one.is_folder
        assert fs.stat("").is_folder
        assert one == fs.stat("one")
        assert (one.device, one.inode) != (fs.stat("two").device, fs.stat("two").inode)
        fs.claim("one", "again")
        assert fs.stat("again") == fs.stat("one")
        assert fs.stat("one").inode == one.inode

    def test_a_listing_is_sorted_and_one_level_deep(self, fs: Fs) -> None:
        assert fs.list_folder("") == []
        fs.make_folder("m")
        for path in ("z", "B", "a", "m/inner", "10", "9"):
            fs.create_bytes(path, b"")
        assert fs.list_folder("") == ["10", "9", "B", "a", "m", "z"]
        assert fs.list_folder("m") == ["inner"]
        assert fs.list_folder("") == ["10", "9", "B", "a", "m", "z"]

    # --- changing names -----------------------------------------------------------------------------------------------

    def test_a_moved_folder_keeps_what_is_in_it(self, fs: Fs) -> None:
        fs.make_folder("staging")
        fs.make_folder("staging/one")
        fs.make_folder("segments")
        fs.create_bytes("staging/one/data", b"rows")
        fs.move("staging/one", "segments/first")
        assert everything(fs) == {
            "segments": None,
            "segments/first": None,
            "segments/first/data": b"rows",
            "staging": None,
        }

    def test_a_move_never_replaces_anything(self, fs: Fs) -> None:
        for path in ("one", "full", "empty"):
            fs.make_folder(path)
        fs.create_bytes("full/file", b"kept")
        fs.create_bytes("file", b"kept")
        before = everything(fs)
        for taken in ("full", "empty", "file", "one"):
            with pytest.raises(FileExistsError):
                fs.move("one", taken)
        assert everything(fs) == before

    def test_a_folder_cannot_be_moved_below_itself(self, fs: Fs) -> None:
        fs.make_folder("one")
        with refused(errno.EINVAL):
            fs.move("one", "one/two")
        assert everything(fs) == {"one": None}

    def test_a_swap_replaces_the_target_and_takes_the_old_name_away(self, fs: Fs) -> None:
        fs.create_bytes("pointer", b"old")
        fs.create_bytes("pointer.tmp", b"new")
        with fs.open_map("pointer") as reader:
            fs.swap("pointer.tmp", "pointer")
            assert bytes(reader.view) == b"old"
        assert everything(fs) == {"pointer": b"new"}
        fs.swap("pointer", "elsewhere")
        assert everything(fs) == {"elsewhere": b"new"}
        fs.swap("elsewhere", "elsewhere")
        assert everything(fs) == {"elsewhere": b"new"}

    def test_a_swap_never_replaces_a_folder(self, fs: Fs) -> None:
        fs.create_bytes("file", b"kept")
        fs.make_folder("folder")
        with pytest.raises(IsADirectoryError):
            fs.swap("file", "folder")
        assert everything(fs) == {"file": b"kept", "folder": None}

    def test_only_the_first_claim_of_a_name_wins(self, fs: Fs) -> None:
        fs.make_folder("generations")
        fs.create_bytes("mine", b"mine")
        fs.create_bytes("yours", b"yours")
        fs.claim("mine", "generations/7")
        for source in ("yours", "mine"):
            with pytest.raises(FileExistsError):
                fs.claim(source, "generations/7")
        fs.remove("mine")
        assert everything(fs) == {"generations": None, "generations/7": b"mine", "yours": b"yours"}

    def test_a_folder_is_removed_only_when_it_is_empty(self, fs: Fs) -> None:
        fs.make_folder("folder")
        fs.create_bytes("folder/file", b"")
        with refused(errno.ENOTEMPTY):
            fs.remove_folder("folder")
        fs.remove("folder/file")
        fs.remove_folder("folder")
        assert everything(fs) == {}

    def test_a_removed_name_is_free_again(self, fs: Fs) -> None:
        fs.create_bytes("file", b"first")
        fs.remove("file")
        fs.create_bytes("file", b"second")
        assert fs.read("file", 100) == b"second"

    # --- sealing and syncing ------------------------------------------------------------------------------------------

    def test_what_is_sealed_is_read_only(self, fs: Fs) -> None:
        fs.make_folder("folder")
        fs.create_bytes("folder/file", b"rows")
        fs.seal("folder/file")
        fs.seal("folder")
        assert mode(fs, "folder/file") == (0o440 if fs.modes.shared else 0o400)
        assert mode(fs, "folder") == (0o2770 if fs.modes.shared else 0o500)
        fs.sync_file("folder/file")
        fs.sync_folder("folder")
        assert fs.read("folder/file", 4) == b"rows"
        with fs.open_map("folder/file") as mapped:
            assert bytes(mapped.view) == b"rows"

    @pytest.mark.parametrize("what", CHANGES_ITS_FOLDER)
    def test_a_sealed_folder_of_one_user_takes_no_change_of_its_names(self, fs: Fs, what: str) -> None:
        for path in ("sealed", "sealed/folder", "folder"):
            fs.make_folder(path)
        for path in ("sealed/file", "file"):
            fs.create_bytes(path, path.encode())
        fs.seal("sealed")
        before = everything(fs)
        if fs.modes.shared:
            # A member could not unseal what another one has sealed.
            CHANGES_ITS_FOLDER[what](fs)
            assert everything(fs) != before
            return
        with pytest.raises(PermissionError):
            CHANGES_ITS_FOLDER[what](fs)
        assert everything(fs) == before

    def test_a_sealed_folder_stays_where_it_is_until_it_is_unsealed(self, fs: Fs) -> None:
        fs.make_folder("folder")
        fs.create_bytes("folder/file", b"")
        fs.seal("folder")
        if not fs.modes.shared:
            with pytest.raises(PermissionError):
                fs.move("folder", "elsewhere")
        fs.unseal("folder")
        assert mode(fs, "folder") == (0o2770 if fs.modes.shared else 0o700)
        fs.move("folder", "elsewhere")
        fs.remove("elsewhere/file")
        fs.remove_folder("elsewhere")
        assert everything(fs) == {}

    def test_a_sealed_file_can_be_claimed_replaced_and_removed(self, fs: Fs) -> None:
        for path in ("one", "two"):
            fs.create_bytes(path, path.encode())
            fs.seal(path)
        fs.claim("one", "first")
        fs.swap("two", "one")
        fs.remove("first")
        assert everything(fs) == {"one": b"two"}

    def test_syncing_changes_nothing_that_can_be_seen(self, fs: Fs) -> None:
        fs.make_folder("folder")
        fs.create_bytes("folder/file", b"x")
        before = fs.stat("folder/file")
        fs.sync_file("folder/file")
        for path in ("folder", ""):
            fs.sync_folder(path)
        assert fs.stat("folder/file") == before

    # --- locks --------------------------------------------------------------------------------------------------------

    def test_an_exclusive_lock_keeps_everybody_out_until_it_is_let_go(self, fs: Fs) -> None:
        fs.create_bytes("lock", b"")
        with fs.lock("lock", exclusive=True, timeout=0):
            for exclusive in (True, False):
                with pytest.raises(TimeoutError):
                    hold(fs, "lock", exclusive=exclusive)
        hold(fs, "lock")

    def test_a_shared_lock_lets_others_share_it(self, fs: Fs) -> None:
        fs.create_bytes("lock", b"")
        with fs.lock("lock", exclusive=False, timeout=0):
            hold(fs, "lock", exclusive=False)
            with pytest.raises(TimeoutError):
                hold(fs, "lock")
        hold(fs, "lock")

    def test_a_lock_is_let_go_when_its_holder_fails(self, fs: Fs) -> None:
        fs.create_bytes("lock", b"")
        with pytest.raises(RuntimeError), fs.lock("lock", exclusive=True, timeout=0):
            raise RuntimeError
        hold(fs, "lock")

    def test_locks_of_different_files_have_nothing_to_do_with_each_other(self, fs: Fs) -> None:
        for path in ("one", "two"):
            fs.create_bytes(path, b"")
        with fs.lock("one", exclusive=True, timeout=0):
            hold(fs, "two")
