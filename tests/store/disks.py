"""Disks that are not there: one that loses power, one that fails, one that tells what was asked of it.

`MemoryDisk` is a strict reading of what a disk owes us, and no more:

- A file's bytes and mode survive a cut only up to its last `sync_file`; what was added later may be whole, missing, cut
  short, or zeros from some place on.
- A name (made, moved, swapped, claimed, removed) survives only after `sync_folder` of its folder. Until then it may be
  what it was at the last sync or anything it has been since, independently of every other name; only that one move or
  swap never leaves neither the old name nor the new.
- Nothing is ordered across files and folders unless a sync stands between.

The machinery is persistent: files and folders are values that are replaced, never changed, so `crash` copies two
dictionaries and looks only at what was not safe.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import Literal, NamedTuple, NoReturn, TypeVar

from cairn.store.format.layout import GENERATIONS
from cairn.store.fs import (
    PRIVATE,
    Condemned,
    Data,
    DiskStat,
    FileWriter,
    Fs,
    Map,
    Modes,
    check_path,
    database_of,
)

Mode = Literal["kill", "lose", "tear"]
T = TypeVar("T")

_ROOT = 1


class _File(NamedTuple):
    data: bytes
    safe: int
    mode: int
    safe_mode: int
    mtime: int
    ctime: int


# What a name was: the step at which it became so, and the inode it led to. The first entry is what surely survives.
_History = tuple[tuple[int, int | None], ...]


class _Folder(NamedTuple):
    names: dict[str, int]
    unsafe: dict[str, _History]
    mode: int
    safe_mode: int
    changed: int


class _Move(NamedTuple):
    """One rename of which neither end is safe yet: whoever survives at the old end as gone, is there at the new."""

    step: int
    old: tuple[int, str]
    new: tuple[int, str]


class MemoryDisk:
    """A disk in memory. `crash` gives the disk that is found after a cut; this one goes on as if nothing had happened.

    A lock that is held is refused at once, whatever the timeout: nobody else can run while we wait.
    """

    def __init__(self, modes: Modes = PRIVATE) -> None:
        self.modes = modes
        self._files: dict[int, _File] = {}
        self._folders: dict[int, _Folder] = {_ROOT: _Folder({}, {}, modes.folder, modes.folder, 0)}
        self._unsafe_files: set[int] = set()
        self._unsafe_folders: set[int] = set()
        self._moves: list[_Move] = []
        self._last_inode = _ROOT
        self._step = 0
        self._locks: dict[int, list[bool]] = {}

    # --- after the cut ------------------------------------------------------------------------------------------------

    def crash(self, mode: Mode, seed: int = 0) -> MemoryDisk:
        """The disk after the machine died here: `kill` keeps all that was asked for, `lose` only what was made safe,
        `tear` draws by the seed from everything that may be found. Locks are gone."""
        after = MemoryDisk(self.modes)
        after._files = self._files.copy()
        after._folders = self._folders.copy()
        after._last_inode, after._step = self._last_inode, self._step
        if mode == "kill":
            after._unsafe_files = self._unsafe_files.copy()
            after._unsafe_folders = self._unsafe_folders.copy()
            after._moves = self._moves.copy()
            return after
        draw = Random(seed).random if mode == "tear" else _never
        for inode in sorted(self._unsafe_files):
            after._files[inode] = _torn(self._files[inode], draw)
        chosen = self._choose(draw)
        tangled = False
        for inode in sorted(self._unsafe_folders):
            folder = self._folders[inode]
            names = folder.names.copy()
            for name, history in folder.unsafe.items():
                found = history[chosen[inode, name]][1]
                # Only a folder that shows up where it was before can be in two places, or below itself.
                tangled = tangled or (found in self._folders and found != history[-1][1])
                if found is None:
                    names.pop(name, None)
                else:
                    names[name] = found
            kept = folder.mode if draw() >= 0.5 else folder.safe_mode
            after._folders[inode] = _Folder(names, {}, kept, kept, folder.changed)
        if tangled:
            after._untangle(_ROOT, frozenset({_ROOT}), {_ROOT})
        return after

    def _choose(self, draw: Callable[[], float]) -> dict[tuple[int, str], int]:
        """Which entry of its history every unsafe name shows."""
        chosen = {
            (inode, name): int(draw() * len(history))
            for inode in sorted(self._unsafe_folders)
            for name, history in self._folders[inode].unsafe.items()
        }
        again = True
        while again:
            again = False
            for move in self._moves:
                old, new = self._history(move.old), self._history(move.new)
                if old[chosen[move.old]][0] >= move.step > new[chosen[move.new]][0]:
                    chosen[move.new] = next(i for i, (step, _) in enumerate(new) if step >= move.step)
                    again = True
        return chosen

    def _history(self, place: tuple[int, str]) -> _History:
        return self._folders[place[0]].unsafe[place[1]]

    def _untangle(self, at: int, above: frozenset[int], seen: set[int]) -> None:
        """A folder found under two names becomes two, and one found below itself is gone, as a file check would do."""
        for name, found in self._folders[at].names.items():
            if found in above:
                self._show(at, name, None)
            elif found in self._folders:
                inode = found
                if found in seen:
                    inode = self._new_inode()
                    self._folders[inode] = self._folders[found]
                    self._show(at, name, inode)
                seen.add(inode)
                self._untangle(inode, above | {found, inode}, seen)

    def _show(self, at: int, name: str, inode: int | None) -> None:
        names = {**self._folders[at].names, name: inode}
        left = {key: value for key, value in names.items() if value is not None}
        self._folders[at] = self._folders[at]._replace(names=left)

    # --- the contract -------------------------------------------------------------------------------------------------

    def create(self, path: str) -> FileWriter:
        folder, name = self._free(path)
        inode = self._new_inode()
        self._step += 1
        self._files[inode] = _File(b"", 0, self.modes.file, self.modes.file, self._step, self._step)
        self._name(folder, name, inode)
        return _MemoryWriter(self, inode)

    def create_bytes(self, path: str, data: Data) -> None:
        with self.create(path) as out:
            out.write(data)

    def make_folder(self, path: str) -> None:
        folder, name = self._free(path)
        inode = self._new_inode()
        self._step += 1
        self._folders[inode] = _Folder({}, {}, self.modes.folder, self.modes.folder, self._step)
        self._name(folder, name, inode)

    def move(self, old: str, new: str) -> None:
        source, name = self._changing(old)
        inode = self._inode(old)
        if inode not in self._folders:
            _refuse(errno.ENOTDIR, old)
        if not self._folders[inode].mode & stat.S_IWUSR:
            _refuse(errno.EACCES, old)
        target, wanted = self._free(new)
        if f"{new}/".startswith(f"{old}/"):
            _refuse(errno.EINVAL, new)
        self._rename(source, name, target, wanted, inode)

    def swap(self, temp: str, target: str) -> None:
        source, name = self._changing(temp)
        inode = self._file(temp)
        folder, wanted = self._changing(target)
        there = self._folders[folder].names.get(wanted)
        if there in self._folders:
            _refuse(errno.EISDIR, target)
        if there != inode:
            self._rename(source, name, folder, wanted, inode)

    def claim(self, source: str, name: str) -> None:
        inode = self._file(source)
        folder, wanted = self._free(name)
        self._step += 1
        self._touch(inode)
        self._name(folder, wanted, inode)

    def remove(self, path: str) -> None:
        folder, name = self._changing(path)
        inode = self._file(path)
        self._step += 1
        self._touch(inode)
        self._name(folder, name, None)

    def remove_folder(self, path: str) -> None:
        folder, name = self._changing(path)
        if self._folders[self._folder(path)].names:
            _refuse(errno.ENOTEMPTY, path)
        self._step += 1
        self._name(folder, name, None)

    def seal(self, path: str) -> None:
        check_path(path)
        inode = self._inode(path)
        self._chmod(inode, self.modes.sealed_folder if inode in self._folders else self.modes.sealed_file)

    def unseal(self, path: str) -> None:
        check_path(path)
        self._chmod(self._folder(path), self.modes.folder)

    def sync_file(self, path: str) -> None:
        inode = self._file(path)
        file = self._files[inode]
        self._files[inode] = file._replace(safe=len(file.data), safe_mode=file.mode)
        self._unsafe_files.discard(inode)

    def sync_folder(self, path: str) -> None:
        inode = self._folder(path)
        folder = self._folders[inode]
        self._folders[inode] = folder._replace(unsafe={}, safe_mode=folder.mode)
        self._unsafe_folders.discard(inode)
        moves, self._moves = self._moves, []
        for move in moves:
            if move.new[0] == inode:
                continue
            if move.old[0] == inode:
                # That the old name is gone is safe now, so the new one is: a move is never half.
                self._at_least(move)
            else:
                self._moves.append(move)

    def read(self, path: str, cap: int) -> bytes:
        data = self._files[self._file(path)].data
        if len(data) > cap:
            _refuse(errno.EFBIG, path)
        return data

    def open_map(self, path: str) -> Map:
        return Map(self._files[self._file(path)].data, self.stat(path))

    def open_database(self, path: str) -> sqlite3.Connection:
        return database_of(self._files[self._file(path)].data)

    def stat(self, path: str) -> DiskStat:
        inode = self._inode(path)
        if inode in self._folders:
            folder = self._folders[inode]
            return DiskStat(1, inode, 0, folder.changed, folder.changed, stat.S_IFDIR | folder.mode, os.geteuid())
        file = self._files[inode]
        mode = stat.S_IFREG | file.mode
        return DiskStat(1, inode, len(file.data), file.mtime, file.ctime, mode, os.geteuid())

    def list_folder(self, path: str) -> list[str]:
        return sorted(self._folders[self._folder(path)].names)

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        held = self._locks.setdefault(self._file(path), [])
        if held and (exclusive or held[0]):
            raise TimeoutError(errno.ETIMEDOUT, "the lock is held by others", path)
        held.append(exclusive)
        try:
            yield
        finally:
            held.remove(exclusive)

    # --- how it is kept -----------------------------------------------------------------------------------------------

    def append(self, inode: int, data: bytes) -> None:
        """What a writer of this disk does."""
        self._step += 1
        file = self._files[inode]
        self._files[inode] = file._replace(data=file.data + data, mtime=self._step, ctime=self._step)
        self._unsafe_files.add(inode)

    def bytes_of(self, inode: int) -> bytes | None:
        """What a file holds, whatever its name is; None when there never was such a file."""
        file = self._files.get(inode)
        return file.data if file else None

    def _new_inode(self) -> int:
        self._last_inode += 1
        return self._last_inode

    def _chmod(self, inode: int, mode: int) -> None:
        self._step += 1
        if inode in self._folders:
            self._folders[inode] = self._folders[inode]._replace(mode=mode, changed=self._step)
            self._unsafe_folders.add(inode)
        else:
            self._files[inode] = self._files[inode]._replace(mode=mode, ctime=self._step)
            self._unsafe_files.add(inode)

    def _touch(self, inode: int) -> None:
        """To gain or lose a name is a change of the file, as every system shows by its ctime."""
        if inode in self._files:
            self._files[inode] = self._files[inode]._replace(ctime=self._step)

    def _rename(self, source: int, name: str, target: int, wanted: str, inode: int) -> None:
        self._step += 1
        self._touch(inode)
        self._name(target, wanted, inode)
        self._name(source, name, None)
        self._moves.append(_Move(self._step, (source, name), (target, wanted)))

    def _name(self, at: int, name: str, inode: int | None) -> None:
        folder = self._folders[at]
        history = folder.unsafe.get(name) or ((0, folder.names.get(name)),)
        unsafe = {**folder.unsafe, name: (*history, (self._step, inode))}
        self._folders[at] = folder._replace(unsafe=unsafe, changed=self._step)
        self._show(at, name, inode)
        self._unsafe_folders.add(at)

    def _at_least(self, move: _Move) -> None:
        inode, name = move.new
        folder = self._folders[inode]
        history = tuple(entry for entry in folder.unsafe[name] if entry[0] >= move.step)
        self._folders[inode] = folder._replace(unsafe={**folder.unsafe, name: history})

    def _inode(self, path: str) -> int:
        if not path:
            return _ROOT
        check_path(path)
        at = _ROOT
        for name in path.split("/"):
            if at not in self._folders:
                _refuse(errno.ENOTDIR, path)
            found = self._folders[at].names.get(name)
            if found is None:
                _refuse(errno.ENOENT, path)
            at = found
        return at

    def _file(self, path: str) -> int:
        check_path(path)
        inode = self._inode(path)
        if inode in self._folders:
            _refuse(errno.EISDIR, path)
        return inode

    def _folder(self, path: str) -> int:
        inode = self._inode(path)
        if inode not in self._folders:
            _refuse(errno.ENOTDIR, path)
        return inode

    def _changing(self, path: str) -> tuple[int, str]:
        check_path(path)
        above, _, name = path.rpartition("/")
        folder = self._folder(above)
        if not self._folders[folder].mode & stat.S_IWUSR:
            _refuse(errno.EACCES, path)
        return folder, name

    def _free(self, path: str) -> tuple[int, str]:
        folder, name = self._changing(path)
        if name in self._folders[folder].names:
            _refuse(errno.EEXIST, path)
        return folder, name


class _MemoryWriter(AbstractContextManager[FileWriter]):
    def __init__(self, disk: MemoryDisk, inode: int) -> None:
        self._disk: MemoryDisk | None = disk
        self._inode = inode

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: Data) -> None:
        if self._disk is None:
            _refuse(errno.EBADF, "")
        self._disk.append(self._inode, bytes(data))

    def close(self) -> None:
        self._disk = None


def _never() -> float:
    return 0.0


def _torn(file: _File, draw: Callable[[], float]) -> _File:
    """What is found of a file whose last bytes were never synced."""
    tail = len(file.data) - file.safe
    outcome = int(draw() * 4)
    cut = file.safe + int(draw() * tail)
    if outcome == 0:
        data = file.data[: file.safe]
    elif outcome == 1:
        data = file.data
    elif outcome == 2:
        data = file.data[:cut]
    else:
        data = file.data[:cut].ljust(len(file.data), b"\0")
    mode = file.mode if draw() >= 0.5 else file.safe_mode
    return _File(data, len(data), mode, mode, file.mtime, file.ctime)


def _refuse(number: int, path: str) -> NoReturn:
    raise OSError(number, os.strerror(number), path)


# --- disks around a disk ----------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """One thing that was asked of a disk; `other` is the second path of a move, swap or claim."""

    what: str
    path: str
    other: str = ""

    @property
    def publishes(self) -> bool:
        """Whether it gives a manifest its number; who tries out a disk claims a name that means nothing."""
        return self.what == "claim" and self.other.startswith(f"{GENERATIONS}/")

    def __str__(self) -> str:
        return f"{self.what} {self.path or '.'}" + (f" -> {self.other}" if self.other else "")


class _Around:
    """Passes every call on to another disk, through `around`."""

    def __init__(self, inner: Fs) -> None:
        self.inner = inner

    @property
    def modes(self) -> Modes:
        return self.inner.modes

    def around(self, call: Call, do: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        """Do it; `half` does half of a write."""
        raise NotImplementedError

    def create(self, path: str) -> FileWriter:
        return self.around(Call("create", path), lambda: _WriterAround(self, path, self.inner.create(path)))

    def create_bytes(self, path: str, data: Data) -> None:
        part = memoryview(data).cast("B")[: len(data) // 2]
        self.around(
            Call("create_bytes", path),
            lambda: self.inner.create_bytes(path, data),
            lambda: self.inner.create_bytes(path, part),
        )

    def make_folder(self, path: str) -> None:
        self.around(Call("make_folder", path), lambda: self.inner.make_folder(path))

    def move(self, old: str, new: str) -> None:
        self.around(Call("move", old, new), lambda: self.inner.move(old, new))

    def swap(self, temp: str, target: str) -> None:
        self.around(Call("swap", temp, target), lambda: self.inner.swap(temp, target))

    def claim(self, source: str, name: str) -> None:
        self.around(Call("claim", source, name), lambda: self.inner.claim(source, name))

    def remove(self, path: str) -> None:
        self.around(Call("remove", path), lambda: self.inner.remove(path))

    def remove_folder(self, path: str) -> None:
        self.around(Call("remove_folder", path), lambda: self.inner.remove_folder(path))

    def seal(self, path: str) -> None:
        self.around(Call("seal", path), lambda: self.inner.seal(path))

    def unseal(self, path: str) -> None:
        self.around(Call("unseal", path), lambda: self.inner.unseal(path))

    def sync_file(self, path: str) -> None:
        self.around(Call("sync_file", path), lambda: self.inner.sync_file(path))

    def sync_folder(self, path: str) -> None:
        self.around(Call("sync_folder", path), lambda: self.inner.sync_folder(path))

    def read(self, path: str, cap: int) -> bytes:
        return self.around(Call("read", path), lambda: self.inner.read(path, cap))

    def open_map(self, path: str) -> Map:
        return self.around(Call("open_map", path), lambda: self.inner.open_map(path))

    def open_database(self, path: str) -> sqlite3.Connection:
        return self.around(Call("open_database", path), lambda: self.inner.open_database(path))

    def stat(self, path: str) -> DiskStat:
        return self.around(Call("stat", path), lambda: self.inner.stat(path))

    def list_folder(self, path: str) -> list[str]:
        return self.around(Call("list_folder", path), lambda: self.inner.list_folder(path))

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            held = self.inner.lock(path, exclusive=exclusive, timeout=timeout)
            self.around(Call("lock", path), lambda: stack.enter_context(held))
            yield


class _WriterAround(AbstractContextManager[FileWriter]):
    def __init__(self, disk: _Around, path: str, inner: FileWriter) -> None:
        self._disk = disk
        self._path = path
        self._inner = inner

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: Data) -> None:
        part = memoryview(data).cast("B")[: len(data) // 2]
        call = Call("write", self._path)
        self._disk.around(call, lambda: self._inner.write(data), lambda: self._inner.write(part))

    def close(self) -> None:
        self._inner.close()


class TracingDisk(_Around):
    """Lists what was asked of a disk, in order; `before` is called first, and may look, crash a copy or raise."""

    def __init__(self, inner: Fs, before: Callable[[Call], None] = lambda _: None) -> None:
        super().__init__(inner)
        self.calls: list[Call] = []
        self.before = before

    def around(self, call: Call, do: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        self.before(call)
        self.calls.append(call)
        return do()


class Fault(NamedTuple):
    """The k-th call (from 1) fails with this number: before it did anything, `late` when it had done all, or `short`
    when it had written half. What cannot be done by half fails before it began."""

    at: int
    number: int
    how: Literal["early", "late", "short"] = "early"


FAULTS = (
    *((number, "early") for number in (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EINTR)),
    (errno.EIO, "late"),
    (errno.ENOSPC, "short"),
)


class FailingDisk(_Around):
    """A disk that fails once, at the call it was told; `fired` says at which. Without a fault, a disk like any other.

    Count up `at` until a run ends with nothing fired, and every call of that run has failed once.
    """

    def __init__(self, inner: Fs, fault: Fault | None = None) -> None:
        super().__init__(inner)
        self.fault = fault
        self.count = 0
        self.fired: Call | None = None
        self._condemned = Condemned()

    def around(self, call: Call, do: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        self.count += 1
        if call.what not in ("remove", "list_folder", "sync_folder"):
            self._condemned.refuse(call.path, call.other)
        if call.what == "move":
            self._condemned.refuse_below(call.path)
        if self.fault is None or self.count != self.fault.at:
            done = do()
            if call.what == "remove":
                self._condemned.discard(call.path)
            return done
        self.fired = call
        if self.fault.how == "late":
            done = do()
            if isinstance(done, _WriterAround | Map | sqlite3.Connection):
                done.close()
        elif self.fault.how == "short" and half is not None:
            half()
        if call.what == "sync_file":
            self._condemned.add(call.path)
        raise OSError(self.fault.number, os.strerror(self.fault.number), call.path)
