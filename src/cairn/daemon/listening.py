"""The socket that the daemon listens on: one daemon for each user, in a folder that nobody else can enter."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator

from cairn.daemon.address import LOCK, RUN, SOCKET, at_socket
from cairn.errors import DaemonRunning, SocketTaken
from cairn.source.root import printable
from cairn.store import Disk

_BACKLOG = 64
_KNOCK_SECONDS = 0.5
# Nobody but the user may connect, from the moment on at which the name is there.
_SOCKET_UMASK = 0o177


@contextlib.contextmanager
def listening(home: str, *, wait_seconds: float = 0.0) -> Iterator[socket.socket]:
    """The daemon's socket, for as long as this process holds the lock.

    Raises `DaemonRunning` when another daemon holds the lock for too long, and `SocketTaken` when something other than
    a daemon's socket is in its place.
    """
    with Disk.at(home, RUN, create=True) as disk:
        if stat.S_IMODE(disk.stat("").mode) & 0o077:
            raise SocketTaken(path=_shown(disk.path), why="others can enter that folder")
        with contextlib.suppress(FileExistsError):
            disk.create_bytes(LOCK, b"")
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(disk.lock(LOCK, exclusive=True, timeout=wait_seconds))
            except TimeoutError:
                raise DaemonRunning from None
            _make_room(home, disk)
            listener = stack.enter_context(_bound(home))
            ours = disk.stat(SOCKET)
            try:
                yield listener
            finally:
                # The lock is held until the name is gone: the next daemon never meets it.
                with contextlib.suppress(OSError):
                    if disk.stat(SOCKET)[:2] == ours[:2]:
                        disk.remove(SOCKET)


def _make_room(home: str, disk: Disk) -> None:
    """Remove the socket of a daemon that was killed, and nothing else."""
    path = _shown(os.path.join(disk.path, SOCKET))
    try:
        found = disk.stat(SOCKET)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.mode):
        raise SocketTaken(path=path, why="what is there is no socket")
    if found.uid != os.geteuid():
        raise SocketTaken(path=path, why="the socket there belongs to another user")
    if not _is_dead(home):
        raise SocketTaken(path=path, why="somebody listens there who is no daemon of this version")
    disk.remove(SOCKET)


def _is_dead(home: str) -> bool:
    """Whether nobody listens at the socket: only then the system refuses the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(_KNOCK_SECONDS)
        try:
            at_socket(home, knocking.connect)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False


def _bound(home: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(_SOCKET_UMASK)
    try:
        at_socket(home, listener.bind)
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        path = _shown(os.path.join(home, RUN, SOCKET))
        raise SocketTaken(path=path, why=os.strerror(problem.errno or 0)) from None
    finally:
        os.umask(before)
    return listener


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
