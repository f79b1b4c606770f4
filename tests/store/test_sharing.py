"""Whose a store is stands firm from its first moment: nobody opens it as what it is not, and no cut undoes it."""

from __future__ import annotations

import builtins
import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.errors import Incompatible, SharedUnfit, SharingDiffers, StoreCorrupt, StoreIo, StoreNotOurs
from cairn.store import sharing
from cairn.store.disk import Disk, file_system
from cairn.store.format.document import SHARING as DOCUMENT
from cairn.store.format.document import seal
from cairn.store.format.layout import FOLDERS, SHARING, create_store
from cairn.store.fs import PRIVATE, SHARED
from cairn.store.repair.verify import check
from cairn.store.sharing import declare, is_declared, make_disk, modes_of, open_disk
from tests.conformance import conforms
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.fs_contract import mode
from tests.store.little import load, save
from tests.support.faults import Faults

STORE = "data/store"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def modes_below(home: Path) -> dict[str, set[int]]:
    """The modes of all that lies below, by what it is; files of segments are sealed."""
    found: dict[str, set[int]] = {}
    for path in (home, *home.rglob("*")):
        kind = "folder" if path.is_dir() else "sealed file" if "segments" in path.parts else "file"
        found.setdefault(kind, set()).add(stat.S_IMODE(path.lstat().st_mode))
    return found


# --- the home says what is possible -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "shared"),
    [(0o700, False), (0o755, False), (0o770, False), (0o2750, False), (0o2770, True), (0o2775, True), (0o2777, True)],
)
def test_only_a_home_that_is_open_to_its_group_holds_stores_of_a_group(home: Path, bits: int, shared: bool) -> None:
    assert modes_of(str(home)) == PRIVATE
    home.mkdir()
    home.chmod(bits)
    assert modes_of(str(home)) == (SHARED if shared else PRIVATE)


@conforms("003.PERM1")
@pytest.mark.parametrize("bits", [0o000, 0o022, 0o077, 0o777])
def test_a_store_of_a_group_is_made_only_on_request_and_has_its_rights_under_any_umask(
    tmp_path: Path, bits: int
) -> None:
    with umask(bits):
        with make_disk(str(tmp_path / "own"), STORE) as own:
            save(own, {"a.txt": b"a\n"})
        with make_disk(str(tmp_path / "group"), STORE, shared=True) as fs:
            save(fs, {"a.txt": b"a\n", "b.txt": b"b\n"})
            save(fs, {"a.txt": b"other\n"})
            assert check(fs) == []
        with open_disk(str(tmp_path / "group"), STORE) as again:
            assert load(again) == {"a.txt": b"other\n"}
            assert again.modes == SHARED
    assert modes_below(tmp_path / "group") == {"folder": {0o2770}, "file": {0o660}, "sealed file": {0o440}}
    assert all(not mode & 0o077 for modes in modes_below(tmp_path / "own").values() for mode in modes)


def test_what_is_made_has_the_group_of_the_home(home: Path) -> None:
    if os.geteuid():
        pytest.skip("only the superuser can give a folder to any group")
    home.mkdir()
    os.chown(home, -1, 12345)
    home.chmod(0o2770)
    with pytest.raises(SharedUnfit, match="you are not in its group"):
        make_disk(str(home), STORE, shared=True)
    assert list(home.iterdir()) == []
    before = os.getgroups()
    os.setgroups([*before, 12345])
    try:
        with make_disk(str(home), STORE, shared=True) as fs:
            save(fs, {"a.txt": b"a\n"})
    finally:
        os.setgroups(before)
    assert {path.lstat().st_gid for path in home.rglob("*")} == {12345}


# --- the store says what it is ----------------------------------------------------------------------------------------


@conforms("003.PERM2")
def test_a_store_is_never_opened_as_what_it_is_not(tmp_path: Path) -> None:
    own, group = str(tmp_path / "own"), str(tmp_path / "group")
    make_disk(own, STORE, shared=False).close()
    make_disk(group, STORE, shared=True).close()
    with pytest.raises(SharingDiffers, match="was made for one user, and was asked for as one for a group") as no:
        make_disk(own, STORE, shared=True)
    assert no.value.fields["path"] == f"{own}/{STORE}"
    with pytest.raises(SharingDiffers, match="was made for a group, and was asked for as one for one user"):
        make_disk(group, STORE, shared=False)
    for place, modes in ((own, PRIVATE), (group, SHARED)):
        for shared in (None, modes.shared):
            with make_disk(place, STORE, shared=shared) as disk:
                assert disk.modes == modes


def test_a_home_of_one_user_gets_no_store_of_a_group_and_a_groups_home_none_of_one_user(home: Path) -> None:
    for bits, shared, problem in ((0o700, True, SharedUnfit), (0o2770, None, StoreNotOurs)):
        place = home / f"{bits:o}"
        place.mkdir(parents=True)
        place.chmod(bits)
        with pytest.raises(problem) as no:
            make_disk(str(place), STORE, shared=shared)
        assert no.value.fields["path"] == str(place)
        assert list(place.iterdir()) == []


@conforms("003.PERM2")
def test_a_store_whose_rights_were_changed_is_refused_and_not_turned_into_the_other_kind(tmp_path: Path) -> None:
    own, group = tmp_path / "own", tmp_path / "group"
    with make_disk(str(own), STORE) as disk:
        save(disk, {"a.txt": b"a\n"})
    make_disk(str(group), STORE, shared=True).close()
    for folder in (own, own / "data", own / STORE):
        folder.chmod(0o2770)
    for folder in (group, group / "data", group / STORE):
        folder.chmod(0o700)
    for shared in (None, True, False):
        with pytest.raises(StoreNotOurs, match="made for one user, and others may write in it"):
            make_disk(str(own), STORE, shared=shared)
        with pytest.raises(SharedUnfit, match="made for a group, and is no longer open to it"):
            make_disk(str(group), STORE, shared=shared)
    assert not (own / STORE / SHARING).exists()


@pytest.mark.parametrize("which", ["", "data", STORE])
@pytest.mark.parametrize(
    ("bits", "why"),
    [
        (0o2772, "everybody may write in it"),
        (0o2777, "everybody may write in it"),
        (0o770, "not open to its group"),
        (0o2750, "not open to its group"),
        (0o2720, "not open to its group"),
    ],
)
def test_a_folder_on_the_way_that_is_not_the_groups_alone_is_refused(
    home: Path, which: str, bits: int, why: str
) -> None:
    make_disk(str(home), STORE, shared=True).close()
    (home / which).chmod(bits)
    for create in (False, True):
        with pytest.raises(SharedUnfit, match=why) as no:
            Disk.at(str(home), STORE, create=create, modes=SHARED)
        assert no.value.fields["path"] == str(home / which).rstrip("/")


@pytest.mark.parametrize("which", ["data", STORE])
def test_a_link_on_the_way_to_a_groups_store_is_refused(home: Path, tmp_path: Path, which: str) -> None:
    make_disk(str(home), STORE, shared=True).close()
    (home / which).rename(tmp_path / "elsewhere")
    (home / which).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreNotOurs, match="file or a link"):
        open_disk(str(home), STORE)


def test_a_link_that_a_member_puts_in_place_of_a_new_folder_is_not_followed(
    home: Path, tmp_path: Path, faults: Faults
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    with make_disk(str(home), STORE, shared=True) as disk:

        def mkdir(real: Callable[..., object], name: str, bits: int, *, dir_fd: int | None = None) -> None:
            real(name, bits, dir_fd=dir_fd)
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(victim, name, dir_fd=dir_fd)

        faults.around(os, "mkdir", mkdir)
        with pytest.raises(NotADirectoryError):
            disk.make_folder("new")
    assert stat.S_IMODE(victim.stat().st_mode) == 0o700


# --- local disks only -------------------------------------------------------------------------------------------------


@conforms("003.PERM3")
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_no_store_of_a_group_is_made_or_opened_on_a_network_disk(
    home: Path, tmp_path: Path, faults: Faults, kind: str
) -> None:
    make_disk(str(home), STORE, shared=True).close()
    faults.answer(sharing, "file_system", kind)
    with pytest.raises(SharedUnfit, match=kind):
        open_disk(str(home), STORE)
    with pytest.raises(SharedUnfit, match=kind):
        make_disk(str(home), STORE)
    with pytest.raises(SharedUnfit, match=kind):
        make_disk(str(tmp_path / "new"), STORE, shared=True)
    assert not (tmp_path / "new").exists()
    make_disk(str(tmp_path / "own"), STORE).close()


def test_the_kernel_is_asked_for_the_file_system_of_the_very_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file_system("/proc") == "proc"
    assert file_system(str(tmp_path)) not in ("", "proc")
    assert file_system(str(tmp_path / "nowhere")) == ""
    real = open

    def answers(text: bytes) -> Callable[..., object]:
        (tmp_path / "answer").write_bytes(text)
        return lambda path, how: real(tmp_path / "answer" if str(path).startswith("/proc/") else path, how)

    monkeypatch.setattr(builtins, "open", answers(b"pos:\t0\n"))
    assert file_system(str(tmp_path)) == "", "an old kernel does not say on which mount a file is"
    monkeypatch.setattr(builtins, "open", answers(b"7 1 0:5 / /srv/a\\040-\\040b rw - nfs4 host:/x rw\nmnt_id:\t7\n"))
    assert file_system(str(tmp_path)) == "nfs4"


# --- the document -----------------------------------------------------------------------------------------------------


def test_a_store_is_a_groups_when_it_says_so() -> None:
    fs = MemoryDisk(SHARED)
    assert not is_declared(fs)
    declare(fs)
    declare(fs)
    assert is_declared(fs)
    assert fs.list_folder("") == [SHARING]
    create_store(fs)
    assert check(fs) == []


DAMAGED = [b"", b"rubbish", b" " * (5 << 20), seal(DOCUMENT, "sharing_sha256", {"policy": "everybody"})]
DAMAGED.append(seal(DOCUMENT, "sharing_sha256", {"policy": "shared", "more": 1}))


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_document_is_damage_for_readers_and_written_anew_by_whoever_writes(home: Path, data: bytes) -> None:
    with make_disk(str(home), STORE, shared=True) as disk:
        save(disk, {"a.txt": b"a\n"})
    (home / STORE / SHARING).write_bytes(data)
    with pytest.raises(StoreCorrupt, match="sharing of a store"):
        open_disk(str(home), STORE)
    with pytest.raises(SharingDiffers):
        make_disk(str(home), STORE, shared=False)
    with make_disk(str(home), STORE) as disk:
        assert load(disk) == {"a.txt": b"a\n"}
        assert check(disk) == []


def test_a_document_of_the_future_is_left_as_it_is(home: Path) -> None:
    make_disk(str(home), STORE, shared=True).close()
    later = seal(replace(DOCUMENT, written=9), "sharing_sha256", {"policy": "shared"})
    (home / STORE / SHARING).write_bytes(later)
    for use in (open_disk, make_disk):
        with pytest.raises(Incompatible):
            use(str(home), STORE)
    assert (home / STORE / SHARING).read_bytes() == later


def test_a_cut_while_a_store_is_made_leaves_a_groups_store_or_none() -> None:
    states: list[MemoryDisk] = []

    def crash(_: Call) -> None:
        states.extend(disk.crash(how, seed) for how in ("kill", "lose", "tear") for seed in range(20))

    disk = MemoryDisk(SHARED)
    fs = TracingDisk(disk, crash)
    declare(fs)
    create_store(fs)
    declared = 0
    for state in states:
        # Never a StoreCorrupt, and never a part of a store that does not say whose it is.
        if is_declared(state):
            declared += 1
        else:
            assert not set(FOLDERS) & set(state.list_folder(""))
    assert 0 < declared < len(states)


def test_a_base_that_was_left_before_it_said_whose_it_is_counts_as_none(home: Path) -> None:
    Disk.at(str(home), STORE, create=True, modes=SHARED).close()
    with pytest.raises(FileNotFoundError):
        open_disk(str(home), STORE)
    with pytest.raises(StoreNotOurs):
        make_disk(str(home), STORE)
    make_disk(str(home), STORE, shared=True).close()
    with open_disk(str(home), STORE) as disk:
        assert is_declared(disk)
        assert mode(disk, SHARING) == 0o660


def test_what_a_killed_maker_left_beside_the_document_is_tidied_up(home: Path) -> None:
    class Killed(Exception):
        pass

    def kill(call: Call) -> None:
        if call.what == "swap":
            raise Killed

    with Disk.at(str(home), STORE, create=True, modes=SHARED) as disk:
        with pytest.raises(Killed):
            declare(TracingDisk(disk, kill))
        [left] = disk.list_folder("")
        assert left.startswith(f"{SHARING}.")
        declare(disk)
        save(disk, {"a.txt": b"a\n"})
        assert [name for name in disk.list_folder("") if name.startswith(SHARING)] == [SHARING]


# --- trouble ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["open", "fstat", "stat", "mkdir", "chmod", "fchmod", "fsync", "write", "replace", "read"]
)
@pytest.mark.parametrize("shared", [True, False])
def test_a_disk_that_fails_is_told_as_one_and_leaks_no_descriptor(home: Path, call: str, shared: bool) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    # A maker that stopped half-way may leave a folder that is open to too few or, to look at, none of a group's.
    told = (StoreIo, FileNotFoundError, StoreNotOurs, SharedUnfit)
    home.mkdir()
    before = open_files()
    for which in range(1, 24):
        for use in (make_disk, open_disk):
            with Faults.meanwhile() as faults, contextlib.suppress(*told):
                faults.fail(os, call, OSError(errno.EIO, os.strerror(errno.EIO)), at=which)
                use(str(home / f"{which}"), STORE, **({"shared": shared} if use is make_disk else {})).close()
            assert open_files() == before, which


def test_an_interrupted_open_lets_go_of_the_disk(home: Path, faults: Faults) -> None:
    before = len(os.listdir("/proc/self/fd"))

    with Faults.meanwhile() as interrupted:
        interrupted.fail(sharing, "declare", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            make_disk(str(home), STORE, shared=True)
    make_disk(str(home), STORE, shared=True).close()
    faults.fail(sharing, "is_declared", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        open_disk(str(home), STORE)
    assert len(os.listdir("/proc/self/fd")) == before
