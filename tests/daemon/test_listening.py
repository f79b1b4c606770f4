"""The place where the daemon listens: closed to others, held by one, and never taken from somebody else."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.daemon.address import RUN, SOCKET, at_socket, dial, is_own, peer
from cairn.daemon.listening import listening
from cairn.errors import DaemonRunning, SocketTaken, StoreNotOurs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def made(home: Path) -> Path:
    (home / RUN).mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    return home / RUN / SOCKET


def test_only_the_user_can_reach_the_socket_and_it_is_gone_afterwards(home: Path) -> None:
    before = os.umask(0)
    try:
        with listening(str(home)):
            found = (home / RUN / SOCKET).lstat()
            assert stat.S_ISSOCK(found.st_mode)
            assert stat.S_IMODE(found.st_mode) == 0o600
            assert stat.S_IMODE((home / RUN).stat().st_mode) == 0o700
        assert os.umask(0) == 0, "the mask is as it was"
    finally:
        os.umask(before)
    assert not (home / RUN / SOCKET).exists()


def test_both_ends_know_who_the_other_is(home: Path) -> None:
    with listening(str(home)) as listener, dial(str(home), 1.0) as client:
        server, _ = listener.accept()
        with server:
            assert peer(server) == peer(client) == (os.getpid(), os.geteuid())
            assert is_own(server)


def test_there_is_one_daemon(home: Path) -> None:
    with listening(str(home)):
        with pytest.raises(DaemonRunning), listening(str(home)):
            raise AssertionError
        dial(str(home), 1.0).close()
    with listening(str(home)):
        pass


def test_the_socket_of_one_that_was_killed_is_replaced(home: Path) -> None:
    path = made(home)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.is_socket()
    with listening(str(home)) as listener, dial(str(home), 1.0):
        assert listener.accept()[0].close() is None


def a_file(path: Path) -> None:
    path.write_text("precious")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link(path: Path) -> None:
    path.symlink_to("/dev/null")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("squatter", [a_file, a_folder, a_link, a_pipe])
def test_what_is_no_socket_of_ours_is_left_where_it_is(home: Path, squatter: Callable[[Path], None]) -> None:
    path = made(home)
    squatter(path)
    before = path.lstat()
    with pytest.raises(SocketTaken, match="no socket"), listening(str(home)):
        raise AssertionError
    assert os.path.samestat(path.lstat(), before)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_at_which_somebody_else_listens_is_left_to_them(home: Path, kind: socket.SocketKind) -> None:
    path = made(home)
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(path))
        if kind is socket.SOCK_STREAM:
            other.listen()
        with pytest.raises(SocketTaken, match="listens"), listening(str(home)):
            raise AssertionError
        assert path.is_socket()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a socket away")
def test_the_socket_of_another_user_is_not_touched(home: Path) -> None:
    path = made(home)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    os.chown(path, 12_345, 12_345)
    with pytest.raises(SocketTaken, match="another user"), listening(str(home)):
        raise AssertionError
    assert path.is_socket()


def test_a_folder_that_others_can_enter_or_write_is_not_used(home: Path) -> None:
    made(home).parent.chmod(0o755)
    with pytest.raises(SocketTaken, match="others can enter"), listening(str(home)):
        raise AssertionError
    (home / RUN).chmod(0o777)
    with pytest.raises(StoreNotOurs), listening(str(home)):
        raise AssertionError


def test_a_home_with_a_name_of_any_length_will_do(tmp_path: Path) -> None:
    home = tmp_path
    for _ in range(4):
        home /= "x" * 60
    home.parent.mkdir(parents=True)
    with listening(str(home)) as listener, dial(str(home), 1.0):
        listener.accept()[0].close()
    assert at_socket(str(home), str).startswith("/proc/self/fd/")
