"""Somebody with a repository of a few hundred files whose commands are stopped, killed and run side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cairn.store.disk import Disk
from cairn.store.repair.verify import Finding, FindingLevel, check
from cairn.sync.codebase import open_codebase, place_of
from tests.store.little import load
from tests.support.commands import typed
from tests.support.repos import make_repo
from tests.support.waiting import until


class Owner:
    """A tree in which every file says which version of the whole it belongs to."""

    def __init__(self, tmp_path: Path, files: int, lines: int = 0) -> None:
        self.tree, self.home = (tmp_path / "tree").resolve(), tmp_path / "home"
        tmp_path.mkdir(exist_ok=True)
        self.files, self.lines = files, lines
        make_repo(self.tree)
        # A dozen batches: enough to be killed between two of them.
        most = files * (50 + 80 * lines) // 12
        (self.tree / ".cairn.toml").write_text(f"[limits]\nmax_bytes_per_batch = {most}\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "CAIRN_HOME": str(self.home),
        }

    def write(self, version: int, every: int = 1) -> dict[str, bytes]:
        """Bring each n-th file to this version; what the whole tree then holds."""
        for number in range(version % every, self.files, every):
            text = f"# version {version}\ndef f{number}(x):\n    return {version}\n\n\n"
            text += "# and much to be said about it, over and over again, line after line after line\n" * self.lines
            (self.tree / f"file{number}.py").write_text(text)
        return self.contents()

    def contents(self) -> dict[str, bytes]:
        """What an index of this tree must hold."""
        return {path.name: path.read_bytes() for path in self.tree.iterdir() if path.is_file()}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command in a group of its own, as a shell starts it."""
        return subprocess.Popen(
            [sys.executable, "-m", "cairn", *arguments],
            cwd=self.tree,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Status, stdout and stderr of a command that nobody stops."""
        return typed(arguments, self.tree, self.environment)

    def disk(self) -> Disk:
        codebase = open_codebase(str(self.tree), self.environment)
        disk = place_of(codebase, str(self.home)).disk()
        assert disk is not None
        return disk

    def look(self) -> dict[str, bytes] | None:
        """What a reader finds."""
        try:
            codebase = open_codebase(str(self.tree), self.environment)
            disk = place_of(codebase, str(self.home)).disk()
        except FileNotFoundError:
            return None
        if disk is None:
            return None
        with disk:
            return load(disk)

    def problems(self) -> list[Finding]:
        with self.disk() as disk:
            return check(disk)

    def errors(self) -> list[Finding]:
        return [finding for finding in self.problems() if finding.severity is FindingLevel.ERROR]


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def kill(command: subprocess.Popen[str], number: signal.Signals, *, group: bool) -> tuple[int, str, str]:
    """Send the signal and wait for the end of the command and of all that it had started."""
    with suppress(ProcessLookupError):
        if group:
            os.killpg(command.pid, number)
        else:
            os.kill(command.pid, number)
    out, err = command.communicate()
    until(lambda: not _has_members(command.pid), lambda: "a worker has outlived the run")
    return command.returncode, out, err
