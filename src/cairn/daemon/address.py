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
    """Return what `use` makes of the socket's address, which is short however long the name of the home is."""
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
    """Return an id that tells the socket that exists now from any other; None when there is none."""
    try:
        found = os.lstat(os.path.join(home, RUN, SOCKET))
    except OSError:
        return None
    return found.st_dev, found.st_ino


def dial(home: str, seconds: float) -> socket.socket:
    """Return a socket connected to the daemon; raises `OSError` when nobody listens or another user does."""
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
    """Return the process at the other end and its user, as the kernel knew them when the connection was made."""
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def is_own(connection: socket.socket) -> bool:
    """Whether the same user is at both ends."""
    return peer(connection)[1] == os.geteuid()


def patient(connection: socket.socket) -> None:
    """Set a timeout for sending to a peer that takes nothing; waiting for what the peer sends has no limit."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_SECONDS, 0))
