"""Programs that stand in for an indexer and misbehave in one way each, and a codebase to run them on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cairn.core.config import SemanticConfig
from cairn.semantic.contexts import discover
from cairn.semantic.model import Context
from cairn.semantic.running import Runner
from tests.semantic.indices import document, index, occurrence

WHOLE = index(document("shop/a.py", [occurrence([0, 0, 1], "scip test p 0 a/x.", 1)]))
_HEAD = f"""#!{sys.executable}
import os, signal, subprocess, sys, time
arguments = dict(one.partition("=")[::2] for one in sys.argv[1:] if one.startswith("--"))
if "--version" in arguments:
    print("fake 9.8.7")
    raise SystemExit
output = arguments.get("--output")
def write(data, name=None):
    with open(name or output, "wb") as file:
        file.write(data)
"""


class Project:
    """A codebase of one Python package, a home, and an indexer of any behaviour, found on a PATH of its own."""

    def __init__(self, tmp_path: Path, body: str = f"write({WHOLE!r})") -> None:
        self.root, self.home, self.bin = tmp_path / "project", tmp_path / "home", tmp_path / "bin"
        self.files = {"shop/__init__.py": "", "shop/a.py": "x = 1\n", "pyproject.toml": '[project]\nname = "shop"\n'}
        for name, text in self.files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.home.mkdir(mode=0o700)
        self.bin.mkdir()
        self.environ: dict[str, str] = {"PATH": str(self.bin), "HOME": str(tmp_path / "me")}
        # What comes as a script needs a node; this one is never run.
        self.program("node", "raise SystemExit(9)")
        self.indexer = self.program("scip-python", body)

    def program(self, name: str, body: str, folder: Path | None = None) -> Path:
        place = (folder or self.bin) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_HEAD + body + "\n")
        place.chmod(0o755)
        return place

    @property
    def context(self) -> Context:
        return discover(self.files, self.read).contexts[0]

    def read(self, path: str) -> bytes | None:
        return self.files[path].encode() if path in self.files else None

    def runner(self, *, tell: Callable[[Any], None] = lambda _: None, **settings: Any) -> Runner:
        return Runner(
            root=str(self.root),
            home=str(self.home),
            environ=self.environ,
            settings=SemanticConfig(**settings),
            files=lambda _: [name for name in self.files if name.endswith(".py")],
            read=self.read,
            tell=tell,
        )

    def tree(self) -> Mapping[str, bytes]:
        """Everything in the codebase, to see that nothing was changed there."""
        return {str(path): path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}

    def scratch(self) -> list[str]:
        """What runs have left behind."""
        return sorted(path.name for path in self.home.glob("cache/semantic/*"))
