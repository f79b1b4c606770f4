"""A disk that cannot keep the promises of a group's store is found out before anything is written to it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.errors import DiskUnfit, LeaseStuck, SharedUnfit
from cairn.store import sharing as capability
from cairn.store.disk import Disk
from cairn.store.format.layout import LEASE_LOCK, create_store
from cairn.store.fs import SHARED, Data, Fs
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.sharing import CLAIM, GUARD, NAMES, POINTER, TEMP, require_capable, require_local
from tests.conformance import conforms
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.fs_contract import everything
from tests.store.little import save
from tests.support.faults import Faults


def shared_store() -> MemoryDisk:
    fs = MemoryDisk(SHARED)
    create_store(fs)
    return fs


# --- network file systems ---------------------------------------------------------------------------------------------


NETWORKS = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse", "fuseblk", "fuse.sshfs", "fuse.glusterfs", "9p", "afs"]
NETWORKS += ["ceph", "glusterfs", "lustre", "virtiofs"]


@conforms("003.PERM3")
@pytest.mark.parametrize("kind", NETWORKS)
def test_a_file_system_that_other_machines_use_too_is_refused_by_name(kind: str) -> None:
    with pytest.raises(SharedUnfit, match=r"^The folder /home/x cannot hold a store for a group: ") as no:
        require_local(kind, "/home/x")
    assert kind in no.value.sentence
    assert "local disk" in no.value.advice


def test_where_the_system_does_not_say_what_it_is_nothing_is_taken_for_local() -> None:
    with pytest.raises(SharedUnfit, match="does not say"):
        require_local("", "/home/x")


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "nilfs2"])
def test_a_file_system_of_this_machine_is_taken(kind: str) -> None:
    require_local(kind, "/home/x")


# --- what is tried ----------------------------------------------------------------------------------------------------


@conforms("003.PERM5")
def test_guard_bytes_pointer_and_lock_are_all_tried_in_the_store_and_nothing_stays() -> None:
    disk = shared_store()
    before = everything(disk)
    fs = TracingDisk(disk)
    require_capable(fs, "here")
    assert everything(disk) == before
    done = [call for call in fs.calls if call.what != "remove"]
    assert done == [
        Call("lock", LEASE_LOCK),
        Call("lock", LEASE_LOCK),
        Call("create_bytes", GUARD),
        Call("create_bytes", GUARD),
        Call("create_bytes", POINTER),
        Call("sync_file", POINTER),
        Call("read", POINTER),
        Call("create_bytes", TEMP),
        Call("sync_file", TEMP),
        Call("read", TEMP),
        Call("swap", TEMP, POINTER),
        Call("read", POINTER),
        Call("list_folder", ""),
        Call("sync_folder", ""),
        Call("claim", POINTER, CLAIM),
        Call("claim", GUARD, CLAIM),
    ]


@conforms("003.PERM4")
def test_every_run_that_writes_to_a_groups_store_tries_its_disk_before_it_takes_the_lease() -> None:
    fs = TracingDisk(shared_store())
    with open_writer(fs, "here", RunKind.SYNC):
        pass
    first = {call.path: at for at, call in reversed(list(enumerate(fs.calls)))}
    assert first[CLAIM] < first["locks/writer_lease.json"]


def test_the_real_disk_passes_and_a_run_on_it_leaves_nothing_behind(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path / "home"), "data/store", create=True, modes=SHARED) as fs:
        save(fs, {"a.txt": b"a\n"})
        require_capable(fs, fs.path)
        assert not set(NAMES) & set(fs.list_folder(""))


def test_what_a_killed_run_left_is_no_obstacle() -> None:
    fs = shared_store()
    for name in NAMES:
        fs.create_bytes(name, b"left")
    require_capable(fs, "here")
    assert not set(NAMES) & set(fs.list_folder(""))


# --- disks that cannot ------------------------------------------------------------------------------------------------


class Overwriting(TracingDisk):
    """Creates a file though there is one, as without O_EXCL."""

    def create_bytes(self, path: str, data: Data) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.inner.remove(path)
        super().create_bytes(path, data)


class Forgetful(TracingDisk):
    """Gives back other bytes than were written."""

    def read(self, path: str, cap: int) -> bytes:
        return b"old" if path == POINTER else super().read(path, cap)


class Copying(TracingDisk):
    """A rename that leaves the old name behind."""

    def swap(self, temp: str, target: str) -> None:
        data = self.inner.read(temp, 1 << 20)
        self.inner.swap(temp, target)
        self.inner.create_bytes(temp, data)


class Relinking(TracingDisk):
    """Gives a name to whoever asks for it, even when it is taken."""

    def claim(self, source: str, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.inner.remove(name)
        super().claim(source, name)


class Unlocked(TracingDisk):
    """Everybody gets every lock."""

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        yield


LACKING: list[tuple[str, Callable[[Fs], Fs]]] = [
    ("cannot create a file exclusively", Overwriting),
    ("cannot give back what was written", Forgetful),
    ("cannot rename a file over another", Copying),
    ("cannot give a file a second name once", Relinking),
    ("cannot keep others out of a locked file", Unlocked),
]


@conforms("003.PERM4")
@pytest.mark.parametrize(("why", "lacking"), LACKING, ids=[kind.__name__ for _, kind in LACKING])
def test_what_a_disk_does_wrong_is_named_and_nothing_is_written(why: str, lacking: Callable[[Fs], Fs]) -> None:
    disk = shared_store()
    before = everything(disk)
    with pytest.raises(SharedUnfit, match=why), open_writer(lacking(disk), "here", RunKind.SYNC):
        pytest.fail("the run began")
    assert everything(disk) == before


def test_before_the_first_index_the_disk_of_one_user_is_tried_and_later_no_more() -> None:
    disk = MemoryDisk()
    own = TracingDisk(disk)
    with open_writer(own, "here", RunKind.CREATE):
        pass
    first = {call.path: at for at, call in reversed(list(enumerate(own.calls)))}
    assert first[CLAIM] < first["locks/writer_lease.json"]
    made = MemoryDisk()
    save(made, {"a.py": b"a = 1\n"})
    for kind in (RunKind.SYNC, RunKind.REINDEX):
        own = TracingDisk(made)
        with open_writer(own, "here", kind):
            pass
        assert not {call.path for call in own.calls} & set(NAMES)
    own = TracingDisk(MemoryDisk())
    # What frees room needs no room to begin.
    with open_writer(own, "here", RunKind.CLEAR):
        pass
    assert not {call.path for call in own.calls} & set(NAMES)


@pytest.mark.parametrize(("why", "lacking"), LACKING, ids=[kind.__name__ for _, kind in LACKING])
def test_a_disk_that_does_wrong_is_refused_in_one_sentence_before_the_first_index(
    why: str, lacking: Callable[[Fs], Fs]
) -> None:
    fs = lacking(MemoryDisk())
    for _ in range(2):
        with pytest.raises(DiskUnfit, match=f"^The folder here cannot hold an index: its file system {why}") as told:
            open_writer(fs, "here", RunKind.CREATE)
        assert "CAIRN_HOME" in told.value.advice


STEPS = {
    "lock": "lock a file",
    "create_bytes": "create a file exclusively",
    "sync_file": "sync a file",
    "swap": "rename a file over another",
    "claim": "give a file a second name",
}


@conforms("003.PERM4")
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL])
@pytest.mark.parametrize("what", STEPS)
def test_a_disk_that_does_not_know_a_step_is_named_by_it(what: str, number: int) -> None:
    def fail(call: Call) -> None:
        if call.what == what:
            raise OSError(number, os.strerror(number), call.path)

    with pytest.raises(SharedUnfit, match=f"cannot {STEPS[what]}"):
        require_capable(TracingDisk(shared_store(), fail), "here")
    own = MemoryDisk()
    create_store(own)
    with pytest.raises(DiskUnfit, match=f"cannot {STEPS[what]}"):
        require_capable(TracingDisk(own, fail), "here")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE])
def test_any_other_trouble_is_told_as_what_it_is_and_leaves_no_trace(number: int) -> None:
    disk = shared_store()
    before = everything(disk)
    at = 0
    while True:
        at += 1
        fs = FailingDisk(disk, Fault(at, number))
        # What fails when all is said and done is no trouble.
        seen = number
        try:
            require_capable(fs, "here")
        except OSError as error:
            seen = error.errno or 0
        assert seen == number
        if fs.fired is None:
            break
        require_capable(disk, "here")
        assert everything(disk) == before
    assert at > 15


def test_a_member_who_holds_on_to_the_lock_is_not_waited_for_for_ever(faults: Faults) -> None:
    faults.limit(capability, _LOCK_SECONDS=0)
    fs = shared_store()
    with fs.lock(LEASE_LOCK, exclusive=True, timeout=0), pytest.raises(LeaseStuck):
        require_capable(fs, "here")
