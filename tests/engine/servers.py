"""A real Milvus for the tests: `milvus-lite` as a server process of its own, on the loopback."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE, until

_MISSING = [name for name in ("milvus_lite", "pymilvus") if importlib.util.find_spec(name) is None]
needs_milvus = pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)}")


@dataclass
class RealServer:
    """The process, its folder and its address. `kill` is a power cut for it; `start` opens the same folder again."""

    data: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(self.data)]
        self.process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(self._listens, lambda: "the server does not listen")
        except BaseException:
            self.kill()
            raise

    def _listens(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server left as soon as it was started"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), PATIENCE):
            return True
        return False

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(folder: Path) -> Iterator[RealServer]:
    """A server that is gone when the test is over."""
    folder.mkdir(parents=True, exist_ok=True)
    server = RealServer(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.kill()
