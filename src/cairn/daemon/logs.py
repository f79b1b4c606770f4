"""The daemon's log: lines of JSON about what was done, never what was asked or what stands in a file.

Which fields a line may have is fixed here, so that nothing else can slip in. A log that cannot be written stops no
request.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.limits import DAEMON_LOG_BYTES, DAEMON_LOG_FILES
from cairn.errors import StoreError
from cairn.source.root import printable
from cairn.store import Disk, FileWriter, Home

FOLDER = "logs"
_NAME = "daemon.log"


def log_name(home: str) -> str:
    """Return the name of the log. In the home of a group each member has a daemon, and each daemon a log."""
    return f"daemon.{os.geteuid()}.log" if Home(home).shared else _NAME


class Line(NamedTuple):
    """The fields of a log line. `action` is what was really done, `outcome` its result, `root` the codebase."""

    event: str
    root: str | None = None
    store: str | None = None
    action: str | None = None
    outcome: str | None = None
    code: str | None = None
    ms: float | None = None
    client: int | None = None
    number: int | None = None
    bytes: int | None = None


class Log:
    """The log files. A full file gets a number, and the oldest is replaced."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str],
        clock: Clock = SYSTEM_CLOCK,
        *,
        most_bytes: int = DAEMON_LOG_BYTES,
        most_files: int = DAEMON_LOG_FILES,
    ) -> None:
        self._home, self._clock, self._name = home, clock, log_name(home)
        self._user = environ.get("HOME") or os.path.expanduser("~")
        self._most_bytes, self._most_files = most_bytes, most_files
        self._lock = threading.Lock()
        self._disk: Disk | None = None
        self._out: FileWriter | None = None
        self._size = 0
        self.lost = 0

    def write(self, line: Line) -> None:
        """Add a line; when the log cannot be written, only the line is lost."""
        fields = {name: value for name, value in line._asdict().items() if value is not None}
        if line.root is not None:
            fields["root"] = self.shown(line.root)
        head = {"at": rfc3339(self._clock.wall_ns()), "pid": os.getpid()}
        data = json.dumps(head | fields, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            try:
                self._append(data)
            except (OSError, StoreError):
                self.lost += 1
                self._close()

    def shown(self, path: str) -> str:
        """Return a path without the user's home, whose name is often the name of the user."""
        user = self._user.rstrip("/")
        if user and (path == user or path.startswith(f"{user}/")):
            path = "~" + path[len(user) :]
        return printable(os.fsencode(path))

    def close(self) -> None:
        with self._lock:
            self._close()

    def _append(self, data: bytes) -> None:
        if self._out is None:
            self._disk = self._disk or Disk.at(self._home, FOLDER, create=True, modes=Home(self._home).modes)
            self._out, self._size = self._disk.loose.append(self._name), self._disk.stat(self._name).size
        if self._size and self._size + len(data) > self._most_bytes:
            self._out.close()
            assert self._disk is not None
            self._turn_over(self._disk)
            self._out, self._size = self._disk.loose.append(self._name), 0
        self._out.write(data)
        self._size += len(data)

    def _turn_over(self, disk: Disk) -> None:
        """Rename daemon.log to daemon.log.1, and that to daemon.log.2; the oldest file is gone."""
        names = [self._name, *(f"{self._name}.{number}" for number in range(1, self._most_files))]
        there = set(disk.list_folder(""))
        for newer, older in reversed(list(pairwise(names))):
            if newer in there:
                disk.swap(newer, older)

    def _close(self) -> None:
        if self._out is not None:
            self._out.close()
            self._out = None
        if self._disk is not None:
            self._disk.close()
            self._disk = None
