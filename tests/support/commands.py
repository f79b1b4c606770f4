"""Somebody with a small repository and a home of their own who types commands."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.forker import CLOSED, forker

__all__ = ["CLOSED", "Person", "Typed", "forked", "typed"]


class Typed(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    stdout: str
    stderr: str


def typed(
    arguments: Sequence[str],
    folder: str | Path,
    environment: Mapping[str, str],
    out: int | None = None,
    err: int | None = None,
) -> Typed:
    """What `python -m cairn` does there; `out` and `err` are descriptors of its standard streams, or `CLOSED`."""
    done = forked(["-m", "cairn", *arguments], folder, environment, out, err)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def forked(
    python: Sequence[str],
    folder: str | Path,
    environment: Mapping[str, str],
    out: int | None = None,
    err: int | None = None,
) -> Typed:
    """What Python prints there with these arguments (`-m cairn …` or `-c TEXT …`), in a process of its own."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        written = stdout.fileno() if out is None else out
        noted = stderr.fileno() if err is None else err
        status = forker().run(python, folder, environment, written, noted)
        said = []
        for stream in (stdout, stderr):
            stream.seek(0)
            said.append(stream.read().decode("utf-8", "surrogateescape"))
    return Typed(status, *said)


class Person:
    """Three files that are indexed, one of each of four kinds that are left out; commands are real processes."""

    def __init__(self, tmp_path: Path) -> None:
        self.tree, self.home = (tmp_path / "tree").resolve(), tmp_path / "home"
        (self.tree / "src").mkdir(parents=True)
        (self.tree / "build").mkdir()
        (self.tree / "src" / "lease.py").write_text("class Lease:\n    def steal(self):\n        return take(self)\n")
        (self.tree / "README.md").write_text("# A lease\n\nOne writer at a time.\n")
        (self.tree / ".gitignore").write_text("build/\n")
        (self.tree / "build" / "out.js").write_text("x")
        (self.tree / "logo.txt").write_bytes(b"\0\1\2")
        (self.tree / ".env").write_text("TOKEN=1\n")
        self.git("init", "-q")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "CAIRN_HOME": str(self.home),
        }

    def cairn(self, *arguments: str) -> Typed:
        return typed(arguments, self.tree, self.environment)

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=self.tree, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "All of it")

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def damage(self) -> None:
        """Change the last byte of every segment's data."""
        changed = 0
        for data in self.home.glob("data/*/segments/*/data.bin"):
            content = bytearray(data.read_bytes())
            content[-1] ^= 1
            data.chmod(0o600)
            data.write_bytes(content)
            changed += 1
        assert changed
