"""Somebody with a small repository and a home of their own who types commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Typed(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    stdout: str
    stderr: str


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
        command = [sys.executable, "-m", "cairn", *arguments]
        found = subprocess.run(
            command, cwd=self.tree, capture_output=True, text=True, check=False, env=self.environment
        )
        assert "Traceback" not in found.stderr
        return Typed(found.returncode, found.stdout, found.stderr)

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
