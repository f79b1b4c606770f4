"""A small codebase on a real disk and what a snapshot would say of it, for tests of the semantic layer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from cairn.core.types import FileStat, Import, ParseState, StoredFile, Symbol
from cairn.semantic.importing import SeenFile, look
from cairn.semantic.model import Context, Family
from cairn.source.root import find_root
from cairn.syntax.analyze import analyze
from tests.semantic.indices import document, index, occurrence

CONTEXT = Context("python:.", Family.PYTHON, "", "demo", "pyproject.toml", "settings", why="pyproject.toml")
_STAT = FileStat(0, 0, 0, 0)


class Codebase:
    """Files in a folder; `pinned` is what they held when it was last called."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for path, text in files.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def look(self, paths: Iterable[str]) -> Mapping[str, SeenFile]:
        return look(find_root(str(self.folder)), paths)

    def paths(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.*") if path.is_file())

    def pinned(self) -> Snapshot:
        return Snapshot({path: (self.folder / path).read_bytes() for path in self.paths()})


class Snapshot:
    """What a snapshot says of these files, by the parser that the index uses."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def file(self, path_key: str) -> StoredFile | None:
        data = self._files.get(path_key)
        if data is None:
            return None
        syntax, _ = analyze(data, "python")
        digest = hashlib.sha256(data).hexdigest()
        return StoredFile(
            *(path_key, _STAT, digest, "python", ParseState.PARSED, None, "", len(data), 1, syntax.interface_hash)
        )

    def paths(self) -> list[str]:
        return list(self._files)

    def text(self, path_key: str) -> memoryview | None:
        data = self._files.get(path_key)
        return None if data is None else memoryview(data)

    def symbols(self, path_key: str) -> list[Symbol]:
        data = self._files.get(path_key)
        return [] if data is None else list(analyze(data, "python")[0].symbols)

    def imports(self, path_key: str) -> list[Import]:
        data = self._files.get(path_key)
        return [] if data is None else list(analyze(data, "python")[0].imports)


def name(module: str, rest: str, version: str = "0.1") -> str:
    """A symbol as scip-python writes it."""
    return f"scip-python python demo {version} {module}/{rest}"


LIB = "def greet(who):\n    return who\n"
APP = "from lib import greet\n\ngreet('ä')\n"


def index_of_demo(version: str = "0.1") -> bytes:
    """What an indexer says of LIB and APP."""
    greet = name("lib", "greet().", version)
    return index(
        document("lib.py", [occurrence([0, 4, 9], greet, 1, [0, 0, 1, 14]), occurrence([0, 10, 13], "local 0", 1)]),
        document("app.py", [occurrence([0, 16, 21], greet), occurrence([2, 0, 5], greet)]),
    )
