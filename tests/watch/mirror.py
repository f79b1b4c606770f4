"""A file system in user space that shows another folder: `python -m tests.watch.mirror BELOW PLACE`.

It speaks the kernel's protocol on /dev/fuse, reads only, and nothing is remembered: an edit in the folder below is
there for whoever reads, and nobody is told of it, as on a network drive that another machine writes.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable

KIND = "fuse.mirror"
_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_ATTR, _ENTRY, _HANDLE = struct.Struct("<6Q10I"), struct.Struct("<4Q2I"), struct.Struct("<QII")
_LOOKUP, _FORGET, _GETATTR, _READLINK, _OPEN, _READ, _STATFS, _RELEASE = 1, 2, 3, 5, 14, 15, 17, 18
_FLUSH, _INIT, _OPENDIR, _READDIR, _RELEASEDIR, _INTERRUPT, _FORGET_MANY = 25, 26, 27, 28, 29, 36, 42
_SILENT = {_FORGET, _INTERRUPT, _FORGET_MANY}


class Mirror:
    """What is below, by the numbers that the kernel was given for it."""

    def __init__(self, below: str) -> None:
        self._paths = {1: below}
        self._numbers = {below: 1}
        self._files: dict[int, int] = {}
        self._lists: dict[int, list[bytes]] = {}
        self._does: dict[int, Callable[[int, bytes], bytes]] = {
            _INIT: self._init, _LOOKUP: self._lookup, _GETATTR: self._getattr, _READLINK: self._readlink,
            _OPEN: self._open, _READ: self._read, _STATFS: lambda *_: bytes(80), _RELEASE: self._release,
            _FLUSH: lambda *_: b"", _OPENDIR: self._opendir, _READDIR: self._readdir, _RELEASEDIR: self._forget_list,
        }  # fmt: skip

    def answer(self, message: bytes) -> bytes | None:
        """The reply to a message of the kernel; None for one that gets none."""
        _, what, unique, node, *_ = _IN.unpack_from(message)
        if what in _SILENT:
            return None
        try:
            body, failed = self._does[what](node, message[_IN.size :]), 0
        except KeyError:
            body, failed = b"", errno.ENOSYS
        except OSError as problem:
            body, failed = b"", problem.errno or errno.EIO
        return _OUT.pack(_OUT.size + len(body), -failed, unique) + body

    def _init(self, _: int, __: bytes) -> bytes:
        return struct.pack("<IIIIHHI", 7, 22, 1 << 16, 0, 0, 0, 1 << 16)

    def _attributes(self, path: str, number: int) -> bytes:
        found = os.lstat(path)
        times = (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)
        whole, parts = [time // 10**9 for time in times], [time % 10**9 for time in times]
        rest = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0)
        return _ATTR.pack(number, found.st_size, found.st_blocks, *whole, *parts, *rest)

    def _lookup(self, node: int, body: bytes) -> bytes:
        path = os.path.join(self._paths[node], os.fsdecode(body.rstrip(b"\0")))
        os.lstat(path)
        number = self._numbers.setdefault(path, len(self._numbers) + 1)
        self._paths[number] = path
        return _ENTRY.pack(number, 0, 0, 0, 0, 0) + self._attributes(path, number)

    def _getattr(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attributes(self._paths[node], node)

    def _readlink(self, node: int, _: bytes) -> bytes:
        return os.fsencode(os.readlink(self._paths[node]))

    def _open(self, node: int, _: bytes) -> bytes:
        fd = os.open(self._paths[node], os.O_RDONLY)
        self._files[fd] = fd
        # Nothing of an earlier reading is kept.
        return _HANDLE.pack(fd, 1, 0)

    def _read(self, _: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(self._files[handle], size, offset)

    def _release(self, _: int, body: bytes) -> bytes:
        os.close(self._files.pop(struct.unpack_from("<Q", body)[0]))
        return b""

    def _opendir(self, node: int, _: bytes) -> bytes:
        listed = []
        for place, name in enumerate([".", "..", *os.listdir(self._paths[node])]):
            kind = stat.S_IFMT(os.lstat(os.path.join(self._paths[node], name)).st_mode) >> 12
            raw = os.fsencode(name)
            entry = struct.pack("<QQII", place + 1, place + 1, len(raw), kind) + raw
            listed.append(entry + bytes(-len(entry) % 8))
        handle = max(self._lists, default=0) + 1
        self._lists[handle] = listed
        return _HANDLE.pack(handle, 0, 0)

    def _readdir(self, _: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        told = b""
        for entry in self._lists[handle][offset:]:
            if len(told) + len(entry) > size:
                break
            told += entry
        return told

    def _forget_list(self, _: int, body: bytes) -> bytes:
        self._lists.pop(struct.unpack_from("<Q", body)[0], None)
        return b""


def main(below: str, place: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"ro,fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    # The kernel asks for nothing before it has the answer to its hello, which it sends when it is mounted.
    subprocess.run(["mount", "-i", "-t", KIND, "-o", options, "mirror", place], check=True, pass_fds=[device])
    print("mounted", flush=True)
    mirror = Mirror(below)
    while True:
        try:
            message = os.read(device, 1 << 17)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EINTR):
                continue
            # Somebody has unmounted it.
            return
        reply = mirror.answer(message)
        if reply is not None:
            try:
                os.write(device, reply)
            except OSError:
                # Who asked has gone.
                continue


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
