"""A codebase of others, a real indexer whose words are written down, and somebody who types commands there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import unittest.mock
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.semantic.scip import ScipIndex, byte_column, is_local
from tests.semantic.indexers import real_indexer
from tests.semantic.worlds import World
from tests.support.commands import Typed

_RECORDER = """#!{python}
import os, shutil, subprocess, sys
done = subprocess.call([*{run!r}, *sys.argv[1:]], env=dict(os.environ, PATH="/dev/null"))
output = next(one.partition("=")[2] for one in sys.argv if one.startswith("--output="))
if os.path.exists(output):
    shutil.copy(output, os.path.join({said!r}, f"{{len(os.listdir({said!r})):04}}.scip"))
sys.exit(done)
"""


class Spot(NamedTuple):
    """A place: its line from 1, its column in bytes from 0."""

    path: str
    line: int
    column: int


class Said:
    """What an indexer has said last of each file, in its own symbols; nothing of ours has touched them."""

    def __init__(self, indexes: list[bytes], tree: Path) -> None:
        documents = {one.path: one for data in indexes for one in ScipIndex(data, "its own").documents()}
        self.at: dict[Spot, set[tuple[str, str]]] = {}
        self.uses: dict[tuple[str, str], set[Spot]] = {}
        for path, document in documents.items():
            if not (tree / path).is_file():
                continue
            lines = (tree / path).read_bytes().split(b"\n")
            for one in document.occurrences:
                first = one.range.start_line
                # A module is said to begin at its first byte and to end there: no name stands for it.
                if first >= len(lines) or one.range.start_column == one.range.end_column:
                    continue
                column = byte_column(lines[first].removesuffix(b"\r"), one.range.start_column, document.encoding)
                spot, key = Spot(path, first + 1, column), (path if is_local(one.symbol) else "", one.symbol)
                if one.is_definition:
                    self.at.setdefault(spot, set()).add(key)
                else:
                    self.uses.setdefault(key, set()).add(spot)


class Life(World):
    """A codebase, its home, and the indexer on PATH."""

    def __init__(self, place: Path, files: Mapping[str, str], indexer: str, small: Path | None = None) -> None:
        """`small` is a program that stands in for the real indexer."""
        super().__init__(place, files)
        run = [str(small)] if small else [shutil.which("node"), os.path.realpath(real_indexer(indexer))]
        self.said_at = place / "said"
        self.said_at.mkdir()
        tools = place / "tools"
        tools.mkdir()
        (tools / indexer).write_text(_RECORDER.format(python=sys.executable, run=run, said=str(self.said_at)))
        (tools / indexer).chmod(0o755)
        self.environ["PATH"] = f"{tools}{os.pathsep}{self.environ['PATH']}"

    def cairn(self, *arguments: str) -> Typed:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.tree), unittest.mock.patch.dict(os.environ, self.environ, clear=True):
            status = main(arguments, Output(out, err))
        return Typed(status, out.getvalue(), err.getvalue())

    def answer(self, *arguments: str) -> dict[str, Any]:
        done = self.cairn(*arguments, "--json")
        assert done.status == 0, done
        value: dict[str, Any] = json.loads(done.stdout)
        return value

    def states(self, *files: str) -> list[str]:
        """How fresh each file is."""
        return [row["freshness"] for row in self.answer("semantic", "state", *files)["results"]]

    def said(self) -> Said:
        return Said([path.read_bytes() for path in sorted(self.said_at.iterdir())], self.tree)
