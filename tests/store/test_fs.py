"""One contract for every disk; what only the real one can show; and a power-loss model that can be seen to bite."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from cairn import errors
from cairn.errors import StoreError, StoreNotOurs, StoreUnwritable
from cairn.store.disk import Disk
from cairn.store.fs import PRIVATE, SHARED, Fs, store_trouble
from tests.store.disks import FAULTS, Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.store.fs_contract import NEEDS_IT, TAKES_A_PATH, FsContract, database, everything, hold, mode, refused
from tests.support.clock import ManualClock
from tests.support.faults import Faults

DISKS = ["real", "memory", "failing real", "failing memory", "traced memory", "shared real", "shared memory"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def disk(home: Path) -> Iterator[Disk]:
    with Disk.at(str(home), "data/store", create=True) as disk:
        yield disk


@pytest.fixture
def shared_disk(home: Path) -> Iterator[Disk]:
    with Disk.at(str(home), "data/store", create=True, modes=SHARED) as disk:
        yield disk


@pytest.fixture(params=DISKS)
def fs(request: pytest.FixtureRequest) -> Fs:
    kind = request.param
    shared = kind.startswith("shared")
    inner: Fs
    if kind.endswith("real"):
        inner = request.getfixturevalue("shared_disk" if shared else "disk")
    else:
        inner = MemoryDisk(SHARED if shared else PRIVATE)
    if kind.startswith("failing"):
        return FailingDisk(inner)
    return TracingDisk(inner) if kind.startswith("traced") else inner


class TestEveryDisk(FsContract):
    """The contract, on all of them."""


# --- the real disk: whose it is ---------------------------------------------------------------------------------------


def test_a_base_folder_is_made_only_when_asked_for(home: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Disk.at(str(home), "data/store")
    assert not home.exists()
    Disk.at(str(home), "data/store", create=True).close()
    Disk.at(str(home), "data/store", create=True).close()
    disk = Disk.at(str(home), "data/store")
    assert disk.path == str(home / "data" / "store")
    disk.close()
    disk.close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_permissions_do_not_depend_on_the_umask(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with Disk.at(str(home), "data/store", create=True) as disk:
            disk.make_folder("folder")
            disk.create_bytes("folder/file", b"")
            found = [mode(disk, path) for path in ("", "folder", "folder/file")]
    finally:
        os.umask(before)
    assert found == [0o700, 0o700, 0o600]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "data")] == [0o700, 0o700]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777, 0o1777, 0o2770])
@pytest.mark.parametrize("which", ["", "data", "data/store"])
def test_a_folder_in_which_others_may_write_is_refused(home: Path, which: str, bits: int, create: bool) -> None:
    Disk.at(str(home), "data/store", create=True).close()
    (home / which).chmod(bits)
    with pytest.raises(StoreNotOurs, match="others may write") as no:
        Disk.at(str(home), "data/store", create=create)
    assert no.value.fields["path"] == str(home / which)


@pytest.mark.parametrize("bits", [0o700, 0o755, 0o750, 0o500])
def test_a_folder_that_others_may_only_read_is_taken(home: Path, bits: int) -> None:
    Disk.at(str(home), "data/store", create=True).close()
    home.chmod(bits)
    Disk.at(str(home), "data/store").close()


@pytest.mark.parametrize("which", ["", "data", "data/store"])
def test_a_folder_of_somebody_else_is_refused(home: Path, which: str, faults: Faults) -> None:
    Disk.at(str(home), "data/store", create=True).close()
    theirs = (home / which).stat().st_ino

    def fstat(real: Callable[..., os.stat_result], fd: int) -> os.stat_result:
        found = real(fd)
        fields = list(found)
        fields[4] += found.st_ino == theirs
        return os.stat_result(fields)

    faults.around(os, "fstat", fstat)
    with pytest.raises(StoreNotOurs, match="another user") as no:
        Disk.at(str(home), "data/store")
    assert no.value.fields["path"] == str(home / which)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder away")
@pytest.mark.parametrize("which", ["", "data", "data/store"])
def test_a_folder_that_was_given_away_is_refused(home: Path, which: str) -> None:
    Disk.at(str(home), "data/store", create=True).close()
    os.chown(home / which, 12345, -1)
    with pytest.raises(StoreNotOurs, match="another user"):
        Disk.at(str(home), "data/store")


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("which", ["data", "data/store"])
@pytest.mark.parametrize("what", ["link", "dangling", "file"])
def test_a_link_planted_on_the_way_to_the_base_is_refused(
    home: Path, tmp_path: Path, which: str, what: str, create: bool
) -> None:
    Disk.at(str(home), "data/store", create=True).close()
    elsewhere = tmp_path / "elsewhere"
    (home / which).rename(elsewhere)
    if what == "file":
        (home / which).write_text("")
    else:
        (home / which).symlink_to(elsewhere if what == "link" else tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreNotOurs, match="file or a link"):
        Disk.at(str(home), "data/store", create=create)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_home_folder_may_be_a_link_of_the_user(home: Path, tmp_path: Path) -> None:
    (tmp_path / "big disk").mkdir(mode=0o700)
    home.symlink_to("big disk")
    with Disk.at(str(home), "data/store", create=True) as disk:
        disk.create_bytes("file", b"x")
    assert (tmp_path / "big disk/data/store/file").read_bytes() == b"x"


def test_a_home_that_cannot_be_made_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreIo, match="No such file") as no:
        Disk.at(str(tmp_path / "not" / "there"), "data", create=True)
    assert no.value.fields["path"] == str(tmp_path / "not" / "there")


def test_a_home_that_is_read_only_is_one_clear_sentence(home: Path, faults: Faults) -> None:
    faults.fail(os, "mkdir", OSError(errno.EROFS, os.strerror(errno.EROFS)))
    with pytest.raises(StoreUnwritable, match="Read-only"):
        Disk.at(str(home), "data", create=True)


@pytest.mark.parametrize("below", ["..", "/", "/abs", "data//x", "data/../x"])
def test_a_base_outside_the_home_is_refused(home: Path, below: str) -> None:
    with refused(errno.EINVAL):
        Disk.at(str(home), below, create=True)
    assert not home.exists()


def test_what_is_made_on_the_way_is_made_safe_even_by_the_second_maker(home: Path, faults: Faults) -> None:
    synced: list[str] = []

    def fsync(real: Callable[..., object], fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    faults.around(os, "fsync", fsync)
    for _ in range(2):
        synced.clear()
        Disk.at(str(home), "data/store", create=True).close()
        assert synced == [str(home.parent), str(home), str(home / "data")]
    synced.clear()
    Disk.at(str(home), "data/store").close()
    assert synced == []


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, errors.StoreFull),
        (errno.EDQUOT, errors.StoreFull),
        (errno.EACCES, errors.StoreUnwritable),
        (errno.EROFS, errors.StoreUnwritable),
        (errno.EMFILE, errors.StoreOutOfResources),
        (errno.EIO, errors.StoreIo),
        (errno.ENOENT, errors.StoreIo),
        (None, errors.StoreIo),
    ],
)
def test_trouble_becomes_an_error_for_people(number: int | None, kind: type[StoreError]) -> None:
    error = OSError() if number is None else OSError(number, os.strerror(number))
    shown = store_trouble("/home/a\x1b[31m", error)
    assert type(shown) is kind
    assert "\x1b" not in shown.sentence
    assert "/home/a\\u{1b}" in shown.sentence


# --- the real disk: planted things ------------------------------------------------------------------------------------


@pytest.fixture
def base(disk: Disk) -> Path:
    return Path(disk.path)


@pytest.mark.parametrize("target", ["outside", "nowhere"])
def test_nothing_is_created_through_a_planted_link(disk: Disk, base: Path, tmp_path: Path, target: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (base / "name").symlink_to(tmp_path / target)
    for do in (disk.create, disk.make_folder, lambda path: disk.create_bytes(path, b"x")):
        with pytest.raises(FileExistsError):
            do("name")
    assert outside.read_text() == "kept"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("what", sorted(NEEDS_IT.keys() - {"stat", "remove"}))
def test_no_planted_link_is_followed(disk: Disk, base: Path, tmp_path: Path, what: str) -> None:
    outside = tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "file").write_text("secret")
    (base / "way").symlink_to(outside)
    for name in ("file", "folder"):
        (base / name).symlink_to(outside / name)
        for path in (name, f"way/{name}"):
            with pytest.raises(OSError, match=r"Errno"):
                NEEDS_IT[what](disk, path)
    assert (outside / "file").read_text() == "secret"
    assert stat.S_IMODE((outside / "file").stat().st_mode) != 0o400


def test_a_link_can_be_seen_and_removed_as_itself(disk: Disk, base: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("kept")
    (base / "link").symlink_to(tmp_path / "outside")
    assert stat.S_ISLNK(disk.stat("link").mode)
    disk.remove("link")
    assert (tmp_path / "outside").read_text() == "kept"


def test_a_swap_replaces_a_planted_link_and_not_its_target(disk: Disk, base: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("kept")
    (base / "pointer").symlink_to(tmp_path / "outside")
    disk.create_bytes("temp", b"new")
    disk.swap("temp", "pointer")
    assert disk.read("pointer", 10) == b"new"
    assert (tmp_path / "outside").read_text() == "kept"


@pytest.mark.parametrize("what", ["read", "open_map", "sync_file", "seal", "lock", "claim", "swap"])
def test_a_planted_pipe_is_refused_and_never_waited_for(disk: Disk, base: Path, what: str) -> None:
    def waited(*_: object) -> None:
        raise AssertionError

    os.mkfifo(base / "pipe")
    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(10)
    try:
        with refused(errno.EINVAL):
            NEEDS_IT[what](disk, "pipe")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_base_that_is_moved_away_stays_the_base(disk: Disk, base: Path, tmp_path: Path) -> None:
    base.rename(tmp_path / "moved")
    base.mkdir()
    disk.create_bytes("file", b"x")
    assert (tmp_path / "moved/file").read_bytes() == b"x"
    assert list(base.iterdir()) == []


def test_a_move_cannot_replace_a_folder_that_appears_at_the_last_moment(disk: Disk, base: Path, faults: Faults) -> None:
    disk.make_folder("mine")
    disk.create_bytes("mine/file", b"mine")

    def rename(real: Callable[..., object], old: str, new: str, **where: int) -> None:
        (base / "wanted").mkdir()
        (base / "wanted/file").write_text("theirs")
        real(old, new, src_dir_fd=where["src_dir_fd"], dst_dir_fd=where["dst_dir_fd"])

    faults.around(os, "rename", rename)
    with refused(errno.ENOTEMPTY):
        disk.move("mine", "wanted")
    assert everything(disk) == {"mine": None, "mine/file": b"mine", "wanted": None, "wanted/file": b"theirs"}


# --- the real disk: calls that fail or do half ------------------------------------------------------------------------


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_short_write_is_completed(disk: Disk, faults: Faults) -> None:
    faults.around(os, "write", lambda real, fd, data: real(fd, data[: max(1, len(data) // 3)]))
    data = bytes(range(256)) * 40
    disk.create_bytes("file", data)
    assert disk.read("file", len(data)) == data


def test_a_short_read_is_completed(disk: Disk, faults: Faults) -> None:
    disk.create_bytes("file", b"0123456789")
    faults.around(os, "read", lambda real, fd, size: real(fd, min(size, 3)))
    assert disk.read("file", 10) == b"0123456789"
    with refused(errno.EFBIG):
        disk.read("file", 9)


def test_a_file_that_grows_while_it_is_read_is_held_to_the_cap(disk: Disk, base: Path, faults: Faults) -> None:
    disk.create_bytes("file", b"0")

    def read(real: Callable[..., bytes], fd: int, size: int) -> bytes:
        with (base / "file").open("ab") as out:
            out.write(b"more")
        return real(fd, size)

    faults.around(os, "read", read)
    with refused(errno.EFBIG):
        disk.read("file", 1000)


def test_signals_do_not_disturb_a_write(disk: Disk) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    data = os.urandom(1 << 20) * 16
    try:
        disk.create_bytes("file", data)
        disk.sync_file("file")
        disk.create_bytes("lock", b"")
        with disk.lock("lock", exclusive=True, timeout=0):
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    with disk.open_map("file") as mapped:
        assert mapped.view == memoryview(data)


CALLS = ["open", "fstat", "stat", "fchmod", "chmod", "fsync", "read", "write", "mkdir", "link", "unlink", "rmdir"]
CALLS += ["rename", "replace", "listdir"]


@pytest.mark.parametrize("what", TAKES_A_PATH)
def test_a_call_that_fails_raises_and_leaks_no_descriptor(disk: Disk, what: str) -> None:
    on_folder = what in {"move", "remove_folder", "unseal", "sync_folder", "list_folder"}
    failed = set()
    for call in CALLS:
        for which in range(1, 9):
            root = f"{call}{which}"
            disk.make_folder(root)
            for path in ("folder", "file"):
                TAKES_A_PATH["make_folder" if path == "folder" else "create_bytes"](disk, f"{root}/{path}")
            path = f"{root}/new" if what.startswith(("create", "make")) or " " in what else f"{root}/file"
            before = open_descriptors()
            with Faults.meanwhile() as faults:
                faults.fail(os, call, OSError(errno.EIO, os.strerror(errno.EIO)), at=which)
                try:
                    done = TAKES_A_PATH[what](disk, f"{root}/folder" if on_folder else path)
                except OSError as error:
                    failed.add(error.errno)
                else:
                    getattr(done, "close", int)()
            assert open_descriptors() == before, (call, which)
    assert errno.EIO in failed


@pytest.mark.parametrize("call", ["open", "fstat", "mkdir", "chmod", "fsync"])
def test_a_base_that_cannot_be_opened_leaks_no_descriptor(home: Path, call: str) -> None:
    before = open_descriptors()
    for which in range(1, 10):
        with Faults.meanwhile() as faults:
            faults.fail(os, call, OSError(errno.EIO, os.strerror(errno.EIO)), at=which)
            with contextlib.suppress(errors.StoreIo):
                Disk.at(str(home), f"data/{which}", create=True).close()
        assert open_descriptors() == before


# --- a failed sync ----------------------------------------------------------------------------------------------------


USES_A_FILE = ["swap", "swap to", "claim", "claim as", "seal", "sync_file", "read", "open_map", "stat", "lock"]


@pytest.fixture(params=["real", "failing"])
def with_condemned(request: pytest.FixtureRequest, disk: Disk) -> Fs:
    """A disk on which the sync of `folder/bad` has just failed; `file` and `folder/good` are well."""
    fs: Fs = disk if request.param == "real" else FailingDisk(MemoryDisk(), Fault(5, errno.EIO))
    fs.create_bytes("file", b"")
    fs.make_folder("folder")
    fs.create_bytes("folder/bad", b"maybe")
    fs.create_bytes("folder/good", b"good")
    with Faults.meanwhile() as faults, refused(errno.EIO):
        faults.fail(os, "fsync", OSError(errno.EIO, os.strerror(errno.EIO)), at=1)
        fs.sync_file("folder/bad")
    return fs


@pytest.mark.parametrize("what", USES_A_FILE)
def test_a_file_whose_sync_failed_is_of_no_use(with_condemned: Fs, what: str) -> None:
    for _ in range(2):
        with refused(errno.EIO):
            TAKES_A_PATH[what](with_condemned, "folder/bad")
    assert with_condemned.read("folder/good", 10) == b"good"


def test_a_file_whose_sync_failed_does_not_escape_with_its_folder(with_condemned: Fs) -> None:
    with refused(errno.EIO):
        with_condemned.move("folder", "published")
    with_condemned.remove("folder/bad")
    with_condemned.move("folder", "published")
    assert everything(with_condemned) == {"file": b"", "published": None, "published/good": b"good"}


def test_a_file_whose_sync_failed_can_be_written_anew(with_condemned: Fs) -> None:
    assert with_condemned.list_folder("folder") == ["bad", "good"]
    with_condemned.remove("folder/bad")
    with_condemned.create_bytes("folder/bad", b"again")
    with_condemned.sync_file("folder/bad")
    with_condemned.sync_folder("folder")
    assert with_condemned.read("folder/bad", 10) == b"again"


def test_a_sync_that_could_not_even_open_its_file_condemns_nothing(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.sync_file("file")
    disk.create_bytes("file", b"x")
    assert disk.read("file", 1) == b"x"


# --- the real disk: other processes -----------------------------------------------------------------------------------

HOLD = """
import sys
from cairn.store.disk import Disk
with Disk.at(sys.argv[1], "data/store") as disk, disk.lock("lock", exclusive=True, timeout=0):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_keeps_other_processes_out_and_goes_with_the_one_that_holds_it(disk: Disk, home: Path) -> None:
    disk.create_bytes("lock", b"")
    argv = [sys.executable, "-c", HOLD, str(home)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(TimeoutError):
            hold(disk, "lock")
        holder.kill()
    hold(disk, "lock")


def test_a_lock_is_waited_for_as_long_as_allowed(home: Path) -> None:
    clock = ManualClock()
    with Disk.at(str(home), "data/store", create=True, clock=clock) as disk:
        disk.create_bytes("lock", b"")
        with disk.lock("lock", exclusive=True, timeout=0), pytest.raises(TimeoutError):
            disk.lock("lock", exclusive=False, timeout=7.5).__enter__()
        assert clock.monotonic() == pytest.approx(7.5)


def test_a_lock_that_is_let_go_meanwhile_is_taken(home: Path) -> None:
    clock = ManualClock()
    with Disk.at(str(home), "data/store", create=True, clock=clock) as disk:
        disk.create_bytes("lock", b"")
        first = contextlib.ExitStack()
        first.enter_context(disk.lock("lock", exclusive=True, timeout=0))
        clock.on_sleep = first.close
        with disk.lock("lock", exclusive=True, timeout=1):
            assert 0 < clock.monotonic() < 0.1
            clock.on_sleep = None


def test_a_lock_on_a_file_that_was_replaced_is_not_believed(disk: Disk, faults: Faults) -> None:
    disk.create_bytes("lock", b"")
    disk.create_bytes("other", b"")
    times = []

    def flock(real: Callable[..., object], fd: int, kind: int) -> None:
        real(fd, kind)
        times.append(kind)
        if len(times) == 1:
            os.replace(Path(disk.path) / "other", Path(disk.path) / "lock")

    faults.around(fcntl, "flock", flock)
    before = open_descriptors()
    with disk.lock("lock", exclusive=True, timeout=1):
        assert len(times) == 2
        with pytest.raises(TimeoutError):
            hold(disk, "lock")
    assert open_descriptors() == before


def test_a_worker_that_was_forked_meanwhile_does_not_hold_on_to_a_lock(disk: Disk) -> None:
    disk.create_bytes("lock", b"")
    inherited: list[int] = []

    def flock(real: Callable[..., None], fd: int, kind: int) -> None:
        # What a fork does to an open file: a second descriptor of the same opening.
        inherited.append(os.dup(fd))
        real(fd, kind)

    with Faults.meanwhile() as faults:
        faults.around(fcntl, "flock", flock)
        hold(disk, "lock")
    hold(disk, "lock")
    for fd in inherited:
        os.close(fd)


def test_of_many_claims_at_once_exactly_one_wins(disk: Disk) -> None:
    disk.make_folder("generations")
    won: list[tuple[int, int]] = []
    gate = threading.Barrier(8)

    def claim(who: int) -> None:
        disk.create_bytes(f"manifest{who}", str(who).encode())
        for generation in range(40):
            gate.wait()
            try:
                disk.claim(f"manifest{who}", f"generations/{generation}")
            except FileExistsError:
                continue
            won.append((generation, who))

    threads = [threading.Thread(target=claim, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(generation for generation, _ in won) == list(range(40))
    for generation, who in won:
        assert disk.read(f"generations/{generation}", 1) == str(who).encode()


# --- the real disk: databases -----------------------------------------------------------------------------------------


def test_a_small_database_holds_no_descriptor_and_a_large_one_holds_one(disk: Disk) -> None:
    for path, rows, held in (("small", 1, 0), ("large", 60_000, 1)):
        disk.create_bytes(path, database(rows))
        before = open_descriptors()
        with contextlib.closing(disk.open_database(path)):
            assert open_descriptors() == before + held
        assert open_descriptors() == before


def test_a_database_that_cannot_be_opened_for_want_of_descriptors_says_so(disk: Disk) -> None:
    disk.create_bytes("large", database(60_000))
    taken: list[int] = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        # One is left for us, and none for SQLite.
        os.close(taken.pop())
        with refused(errno.EMFILE):
            disk.open_database("large")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for fd in taken:
            os.close(fd)


@pytest.mark.parametrize(("moment", "number"), [("gone", errno.ENOENT), ("other", errno.ENOENT), ("broken", errno.EIO)])
def test_a_database_that_changes_its_name_while_it_is_opened_is_not_taken_for_another(
    disk: Disk, moment: str, number: int
) -> None:
    for path in ("file", "other"):
        disk.create_bytes(path, database(60_000))

    def connect(real: Callable[..., sqlite3.Connection], *args: object, **kwargs: object) -> sqlite3.Connection:
        if moment == "gone":
            disk.remove("file")
        elif moment == "other":
            disk.swap("other", "file")
        else:
            raise sqlite3.OperationalError("trouble")
        return real(*args, **kwargs)

    before = open_descriptors()
    with Faults.meanwhile() as faults:
        faults.around(sqlite3, "connect", connect)
        with refused(number):
            disk.open_database("file")
    assert open_descriptors() == before


# --- the make-believe disks -------------------------------------------------------------------------------------------


def test_a_tracing_disk_lists_every_call_in_order() -> None:
    seen: list[str] = []
    fs = TracingDisk(MemoryDisk(), lambda call: seen.append(call.what))
    with fs.create("temp") as out:
        out.write(b"1")
    fs.sync_file("temp")
    fs.swap("temp", "pointer")
    fs.sync_folder("")
    with fs.lock("pointer", exclusive=True, timeout=0):
        pass
    said = ["create temp", "write temp", "sync_file temp", "swap temp -> pointer", "sync_folder .", "lock pointer"]
    assert [str(call) for call in fs.calls] == said
    assert seen == [call.what for call in fs.calls]


def publish(fs: Fs, data: bytes, left_out: int = -1) -> None:
    """A new file under a name of its own, then a pointer to it: the smallest thing that works like a publish."""
    number = int(fs.read("pointer", 10)) + 1
    steps: list[Callable[[], None]] = [
        lambda: fs.create_bytes(f"files/{number}", data),
        lambda: fs.sync_file(f"files/{number}"),
        lambda: fs.sync_folder("files"),
        lambda: fs.create_bytes("temp", f"{number}\n".encode()),
        lambda: fs.sync_file("temp"),
        lambda: fs.swap("temp", "pointer"),
        lambda: fs.sync_folder(""),
    ]
    for index, step in enumerate(steps):
        if index != left_out:
            step()


OLD, NEW = b"the old bytes" * 9, b"the new bytes" * 9


def published() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_folder("files")
    disk.create_bytes("files/1", OLD)
    disk.create_bytes("pointer", b"1\n")
    for path in ("files/1", "pointer"):
        disk.sync_file(path)
    for path in ("files", ""):
        disk.sync_folder(path)
    return disk


def answer(fs: Fs) -> bytes:
    """What a reader finds: the bytes that the pointer leads to."""
    pointer = fs.read("pointer", 10)
    assert pointer.endswith(b"\n")
    return fs.read(f"files/{int(pointer)}", 1000)


@pytest.mark.parametrize(("number", "how"), FAULTS)
def test_a_failing_disk_fails_every_call_once_and_only_once(
    number: int, how: Literal["early", "late", "short"]
) -> None:
    fired: list[str] = []
    seen: set[int | None] = set()
    for at in range(1, 100):
        memory = published()
        fs = FailingDisk(memory, Fault(at, number, how))
        try:
            publish(fs, NEW)
        except OSError as error:
            assert fs.fired is not None
            fired.append(fs.fired.what)
            seen.add(error.errno)
            assert answer(memory) in (OLD, NEW)
            half = {"create_bytes files/2": NEW[: len(NEW) // 2], "create_bytes temp": b"2"}.get(str(fs.fired))
            if half:
                path = str(fs.fired).split()[1]
                there = {"early": None, "late": NEW if path == "files/2" else b"2\n", "short": half}[how]
                assert everything(memory).get(path) == there
            continue
        assert fs.fired is None
        break
    assert seen == {number}
    syncs = ["create_bytes", "sync_file", "sync_folder"]
    assert fired == ["read", *syncs, "create_bytes", "sync_file", "swap", "sync_folder"]
    assert answer(memory) == NEW


def test_a_write_that_stops_half_way_leaves_half(disk: Disk) -> None:
    for inner in (disk, MemoryDisk()):
        fs = FailingDisk(inner, Fault(2, errno.ENOSPC, "short"))
        with fs.create("file") as out, refused(errno.ENOSPC):
            out.write(b"12345678")
        assert inner.read("file", 10) == b"1234"


def test_a_late_fault_leaves_nothing_open(disk: Disk) -> None:
    disk.create_bytes("file", database(60_000))
    before = open_descriptors()
    for do in (NEEDS_IT["open_map"], NEEDS_IT["open_database"], NEEDS_IT["lock"], lambda fs, _: fs.create("new")):
        with refused(errno.EIO):
            do(FailingDisk(disk, Fault(1, errno.EIO, "late")), "file")
    assert open_descriptors() == before
    hold(disk, "file")


# --- the power-loss model ---------------------------------------------------------------------------------------------


def outcomes(disk: MemoryDisk, look: Callable[[MemoryDisk], object], seeds: int = 200) -> set[object]:
    """Everything that may be found after a cut."""
    return {look(disk.crash("tear", seed)) for seed in range(seeds)}


def names(disk: MemoryDisk) -> tuple[str, ...]:
    return tuple(sorted(everything(disk)))


def test_a_kill_keeps_all_that_was_asked_for() -> None:
    disk = published()
    publish(disk, NEW)
    disk.make_folder("more")
    disk.create_bytes("more/file", b"unsynced")
    disk.seal("more/file")
    disk.remove("files/1")
    after = disk.crash("kill")
    assert everything(after) == everything(disk)
    assert after.stat("more/file") == disk.stat("more/file")
    assert everything(after.crash("lose")) == {"files": None, "files/1": OLD, "files/2": NEW, "pointer": b"2\n"}


def test_a_loss_keeps_only_what_was_synced() -> None:
    disk = published()
    before = everything(disk)
    disk.create_bytes("files/2", b"new")
    disk.make_folder("more")
    disk.remove("files/1")
    disk.swap("files/2", "pointer")
    disk.seal("files")
    after = disk.crash("lose")
    assert everything(after) == before
    assert mode(after, "files") == 0o700


def test_a_cut_leaves_the_disk_before_it_as_it_was() -> None:
    disk = published()
    disk.create_bytes("new", b"new")
    before = everything(disk)
    after = disk.crash("tear", 1)
    after.create_bytes("only", b"")
    after.remove("files/1")
    assert everything(disk) == before


def test_the_same_seed_finds_the_same_disk() -> None:
    def run() -> list[dict[str, bytes | None]]:
        disk = published()
        publish(disk, NEW, left_out=4)
        disk.remove("files/1")
        return [everything(disk.crash("tear", seed)) for seed in range(50)]

    first = run()
    assert first == run()
    assert any(found != first[0] for found in first)


def test_what_was_found_after_a_cut_is_safe() -> None:
    disk = published()
    disk.create_bytes("new", b"new")
    after = disk.crash("tear", 3)
    cuts: tuple[Mode, ...] = ("lose", "tear")
    for cut in cuts:
        assert everything(after.crash(cut)) == everything(after)


def test_a_name_that_was_not_synced_may_be_there_or_not() -> None:
    disk = MemoryDisk()
    disk.create_bytes("file", b"x")
    disk.sync_file("file")
    assert outcomes(disk, names) == {(), ("file",)}
    disk.sync_folder("")
    assert outcomes(disk, everything_of) == {(("file", b"x"),)}
    disk.remove("file")
    assert outcomes(disk, names) == {(), ("file",)}
    disk.sync_folder("")
    assert outcomes(disk, names) == {()}


def everything_of(disk: MemoryDisk) -> tuple[tuple[str, bytes | None], ...]:
    return tuple(sorted(everything(disk).items()))


def test_a_folder_sync_covers_its_own_names_only() -> None:
    disk = MemoryDisk()
    disk.make_folder("folder")
    disk.create_bytes("folder/file", b"")
    disk.sync_folder("")
    assert outcomes(disk, names) == {("folder",), ("folder", "folder/file")}
    other = MemoryDisk()
    other.make_folder("folder")
    other.create_bytes("folder/file", b"")
    other.sync_folder("folder")
    assert outcomes(other, names) == {(), ("folder", "folder/file")}


def test_bytes_that_were_not_synced_may_be_whole_missing_cut_or_zeros() -> None:
    disk = MemoryDisk()
    with disk.create("file") as out:
        out.write(b"safe")
        disk.sync_file("file")
        disk.sync_folder("")
        out.write(b"lost")
    found = outcomes(disk, lambda after: after.read("file", 10))
    assert found >= {b"safe", b"safelost", b"safelo", b"safe\0\0\0\0", b"safelo\0\0"}
    assert all(isinstance(data, bytes) and data.startswith(b"safe") for data in found)
    assert outcomes(disk, names) == {("file",)}


def test_two_names_of_one_file_show_the_same_bytes_after_a_cut() -> None:
    disk = MemoryDisk()
    disk.create_bytes("one", b"12345678")
    disk.claim("one", "two")
    disk.sync_folder("")
    found = outcomes(disk, lambda after: (after.read("one", 8), after.read("two", 8)))
    assert len(found) > 3
    assert all(isinstance(pair, tuple) and pair[0] == pair[1] for pair in found)


def test_names_are_lost_independently_of_each_other() -> None:
    disk = MemoryDisk()
    for path in ("one", "two"):
        disk.create_bytes(path, b"")
    assert outcomes(disk, names) == {(), ("one",), ("two",), ("one", "two")}


def test_a_claim_is_lost_unless_its_folder_was_synced() -> None:
    disk = published()
    disk.make_folder("generations")
    disk.sync_folder("")
    disk.claim("files/1", "generations/2")
    assert outcomes(disk, lambda after: after.list_folder("generations") == ["2"]) == {True, False}
    disk.sync_folder("generations")
    assert outcomes(disk, lambda after: after.list_folder("generations") == ["2"]) == {True}


def test_a_swap_that_was_not_synced_shows_old_or_new_and_never_neither() -> None:
    disk = MemoryDisk()
    for path in ("pointer", "temp"):
        disk.create_bytes(path, path.encode())
        disk.sync_file(path)
    disk.sync_folder("")
    disk.swap("temp", "pointer")
    both = (("pointer", b"temp"), ("temp", b"temp"))
    old = (("pointer", b"pointer"), ("temp", b"temp"))
    new = (("pointer", b"temp"),)
    assert outcomes(disk, everything_of) == {old, both, new}


@pytest.mark.parametrize("synced", [[], ["from"], ["to"], ["from", "to"]])
def test_a_move_that_was_not_synced_leaves_either_or_both_and_never_neither(synced: list[str]) -> None:
    disk = MemoryDisk()
    for path in ("from", "to", "from/x"):
        disk.make_folder(path)
    disk.create_bytes("from/x/file", b"rows")
    disk.sync_file("from/x/file")
    for path in ("from/x", "from", "to", ""):
        disk.sync_folder(path)
    disk.move("from/x", "to/y")
    for path in synced:
        disk.sync_folder(path)
    found = outcomes(disk, lambda after: ("x" in after.list_folder("from"), "y" in after.list_folder("to")))
    stayed, gone, twice = (True, False), (False, True), (True, True)
    expected = {"": {stayed, gone, twice}, "from": {gone}, "to": {gone, twice}, "from to": {gone}}
    assert found == expected[" ".join(synced)]
    lost = disk.crash("lose")
    assert lost.list_folder("from") == ([] if "from" in synced else ["x"])
    assert lost.list_folder("to") == (["y"] if synced else [])


def test_a_folder_found_under_two_names_is_two_folders() -> None:
    disk = MemoryDisk()
    disk.make_folder("a")
    disk.make_folder("a/b")
    disk.create_bytes("a/b/file", b"rows")
    for path in ("a/b", "a", ""):
        disk.sync_folder(path)
    disk.sync_file("a/b/file")
    disk.move("a", "c")
    after = next(found for seed in range(50) if len((found := disk.crash("tear", seed)).list_folder("")) == 2)
    after.remove("a/b/file")
    assert everything(after) == {"a": None, "a/b": None, "c": None, "c/b": None, "c/b/file": b"rows"}


def test_a_folder_is_never_found_below_itself() -> None:
    disk = MemoryDisk()
    disk.make_folder("b")
    disk.make_folder("b/a")
    for path in ("b/a", "b", ""):
        disk.sync_folder(path)
    disk.move("b/a", "a")
    disk.move("b", "a/b")
    for seed in range(200):
        assert len(everything(disk.crash("tear", seed))) <= 4


def test_a_chain_of_moves_loses_nothing() -> None:
    disk = MemoryDisk()
    for path in ("one", "two", "three"):
        disk.make_folder(path)
    disk.create_bytes("one/file", b"x")
    disk.sync_file("one/file")
    for path in ("one", "two", "three", ""):
        disk.sync_folder(path)
    disk.swap("one/file", "two/file")
    disk.swap("two/file", "three/file")
    disk.create_bytes("one/other", b"y")
    disk.swap("one/other", "two/file")
    for seed in range(300):
        found = everything(disk.crash("tear", seed)).values()
        assert b"x" in found
    disk.sync_folder("one")
    assert b"x" in everything(disk.crash("lose")).values()
    for seed in range(300):
        assert b"x" in everything(disk.crash("tear", seed)).values()


def test_modes_that_were_not_synced_may_be_the_old_ones() -> None:
    disk = published()
    disk.seal("files/1")
    disk.seal("files")
    seen = outcomes(disk, lambda after: (mode(after, "files/1"), mode(after, "files")))
    assert seen == {(0o400, 0o500), (0o400, 0o700), (0o600, 0o500), (0o600, 0o700)}
    disk.sync_file("files/1")
    disk.sync_folder("files")
    assert outcomes(disk, lambda after: (mode(after, "files/1"), mode(after, "files"))) == {(0o400, 0o500)}


def test_locks_are_gone_after_a_cut() -> None:
    disk = published()
    cuts: tuple[Mode, ...] = ("kill", "lose", "tear")
    with disk.lock("pointer", exclusive=True, timeout=0):
        for cut in cuts:
            hold(disk.crash(cut), "pointer")


# --- the model bites --------------------------------------------------------------------------------------------------


def bad_cuts(left_out: int, seeds: int) -> set[str]:
    """What can go wrong with a publish that leaves one of its steps out, cut at every step and at its end."""
    found: set[str] = set()
    memory = published()

    def look(call: Call | None) -> None:
        allowed = {NEW} if call is None else {OLD, NEW}
        cuts: list[tuple[Mode, int]] = [("kill", 0), ("lose", 0)]
        cuts += [("tear", seed) for seed in range(seeds)]
        for cut, seed in cuts:
            try:
                if answer(memory.crash(cut, seed)) not in allowed:
                    found.add("lost" if call is None else "torn")
            except (OSError, ValueError, AssertionError) as error:
                found.add(type(error).__name__)

    publish(TracingDisk(memory, look), NEW, left_out)
    look(None)
    return found


def test_a_publish_with_all_its_syncs_is_always_old_or_new_and_whole() -> None:
    assert bad_cuts(-1, 2_000) == set()


@pytest.mark.parametrize("left_out", [1, 2, 4, 6])
def test_a_publish_without_any_one_of_its_syncs_can_be_seen_to_fail(left_out: int) -> None:
    assert bad_cuts(left_out, 200) != set()


def test_a_swap_needs_its_temporary_file_synced_but_not_the_temporary_name() -> None:
    for sync_name in (True, False):
        for sync_bytes in (True, False):
            disk = published()
            disk.create_bytes("temp", b"2\n")
            if sync_bytes:
                disk.sync_file("temp")
            if sync_name:
                disk.sync_folder("")
            disk.swap("temp", "pointer")
            found = outcomes(disk, lambda after: after.read("pointer", 10))
            assert (found == {b"1\n", b"2\n"}) == sync_bytes


# --- what is asked about folders --------------------------------------------------------------------------------------


def test_the_home_folder_itself_can_be_the_base(home: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Disk.at(str(home), "")
    with Disk.at(str(home), "", create=True) as disk:
        assert (disk.path, disk.list_folder("")) == (str(home), [])
    home.chmod(0o777)
    with pytest.raises(StoreNotOurs):
        Disk.at(str(home), "")


def test_a_listing_with_stats_names_everything_and_follows_no_link(disk: Disk, home: Path) -> None:
    disk.create_bytes("b", b"123")
    disk.make_folder("a")
    (home / "data" / "store" / "my notes").symlink_to("/")
    listed = disk.usage.stats("")
    assert [name for name, _ in listed] == ["a", "b", "my notes"]
    assert [found.is_folder for _, found in listed] == [True, False, False]
    assert dict(listed)["b"] == disk.stat("b")


def test_what_goes_during_a_listing_is_left_out(disk: Disk, faults: Faults) -> None:
    disk.create_bytes("a", b"")
    disk.create_bytes("b", b"")

    class Gone:
        name = "gone"

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError

    @contextlib.contextmanager
    def scandir(real: Callable[..., Any], folder: int) -> Iterator[Iterator[os.DirEntry[str] | Gone]]:
        with real(folder) as entries:
            yield iter([Gone(), *entries])

    faults.around(os, "scandir", scandir)
    assert [name for name, _ in disk.usage.stats("")] == ["a", "b"]


def test_the_room_that_is_left_is_that_of_the_disk_below(disk: Disk, home: Path) -> None:
    found = os.statvfs(home)
    assert 0 < disk.usage.free_bytes() <= found.f_blocks * found.f_frsize


def test_lines_are_added_to_a_file_that_only_we_can_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Disk.at(str(tmp_path / "home"), "logs", create=True) as disk:
            for text in (b"one\n", b"two\n"):
                with disk.loose.append("log") as out:
                    out.write(text)
            assert disk.read("log", 100) == b"one\ntwo\n"
            assert stat.S_IMODE(disk.stat("log").mode) == 0o600
    finally:
        os.umask(before)


def test_lines_are_added_to_nothing_but_a_file(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path / "home"), "logs", create=True) as disk:
        folder = tmp_path / "home" / "logs"
        os.mkfifo(folder / "pipe")
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        # With somebody at its other end a pipe could be opened.
        reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            for name, number in (("pipe", errno.EINVAL), ("link", errno.ELOOP)):
                with pytest.raises(OSError) as refused:  # noqa: PT011 - the number is what matters
                    disk.loose.append(name)
                assert refused.value.errno == number
        finally:
            os.close(reader)
    assert not (tmp_path / "elsewhere").exists()
