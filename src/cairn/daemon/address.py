"""Where a user's daemon is met: a socket in a folder of their own, and who is at the other end of it."""

from __future__ import annotations

import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


RUN = "run"
SOCKET = "daemon.sock"
LOCK = "daemon.lock"
START_LOCK = "start.lock"
# The system takes 108 bytes with the NUL at the end.
_MOST_BYTES = 107
_CREDENTIALS = struct.Struct("3i")
_SEND_SECONDS = 10


def at_socket(home: str, use: Callable[[str], T]) -> T:
    """What `use` makes of the address of the socket, which is short however long the name of the home is."""
    folder = os.path.join(home, RUN)
    path = os.path.join(folder, SOCKET)
    if len(os.fsencode(path)) <= _MOST_BYTES:
        return use(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return use(f"/proc/self/fd/{fd}/{SOCKET}")
    finally:
        os.close(fd)


def socket_id(home: str) -> tuple[int, int] | None:
    """What tells the socket that is there now from any other that was, or will be; None when there is none."""
    try:
        found = os.lstat(os.path.join(home, RUN, SOCKET))
    except OSError:
        return None
    return found.st_dev, found.st_ino


def dial(home: str, seconds: float) -> socket.socket:
    """A socket that is connected to whoever listens there. `OSError` when nobody does, or it is another user."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(seconds)
        at_socket(home, found.connect)
        if not is_own(found):
            raise PermissionError("the daemon belongs to another user")
    except BaseException:
        found.close()
        raise
    return found


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process at the other end, and its user, as the kernel says; it was so when the connection was made."""
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def is_own(connection: socket.socket) -> bool:
    """Whether the same user is at both ends."""
    return peer(connection)[1] == os.geteuid()


def patient(connection: socket.socket) -> None:
    """Give up on an other end that takes nothing for a while; to wait for what it sends takes as long as it likes."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_SECONDS, 0))
