"""Starts the daemon of a user, apart from whoever started it: it lives on when that one has gone."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping

from cairn.clock import SYSTEM_CLOCK, Clock
from cairn.errors import StoreError
from cairn.limits import DAEMON_HELLO_SECONDS, DAEMON_START_SECONDS
from cairn.serve.address import RUN, START_LOCK, dial
from cairn.serve.client import Connection, connect
from cairn.store.disk import Disk

_TICK_SECONDS = 0.02


def ensure_daemon(
    home: str,
    environ: Mapping[str, str],
    face: str,
    *,
    seconds: float = DAEMON_START_SECONDS,
    clock: Clock = SYSTEM_CLOCK,
) -> Connection | None:
    """A connection to the daemon, started when there is none; None when that takes longer, or cannot be.

    Of many who come at once one starts it, and the others wait for it.
    """
    # On a busy machine a hello can take long, and to do all by oneself takes longer.
    found = connect(home, environ, face, seconds=seconds)
    if found is not None or not nobody_listens(home):
        # One that listens but does not answer is stopped, of another version, or not ours: a second one helps nobody.
        return found
    until = clock.monotonic() + seconds
    try:
        with Disk.at(home, RUN, create=True) as disk:
            with contextlib.suppress(FileExistsError):
                disk.create_bytes(START_LOCK, b"")
            with disk.lock(START_LOCK, exclusive=True, timeout=seconds):
                if nobody_listens(home):
                    _spawn(environ)
                while nobody_listens(home) and clock.monotonic() < until:
                    clock.sleep(_TICK_SECONDS)
    except (OSError, StoreError):
        return None
    return connect(home, environ, face, seconds=max(DAEMON_HELLO_SECONDS, until - clock.monotonic()))


def nobody_listens(home: str) -> bool:
    """Whether there is surely no daemon at the socket."""
    try:
        dial(home, DAEMON_HELLO_SECONDS).close()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _spawn(environ: Mapping[str, str]) -> None:
    process = subprocess.Popen(
        # Not from the folder that it is started in, whatever lies there.
        [sys.executable, "-P", "-m", "cairn", "daemon", "run"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=dict(environ),
        start_new_session=True,
        umask=0o077,
    )
    # Its end is noticed, should it come before ours: a process that nobody asks for stays in the table for ever.
    threading.Thread(target=process.wait, name="cairn daemon's end", daemon=True).start()
