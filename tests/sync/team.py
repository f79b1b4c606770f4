"""A folder, the homes of two people, and the search server that both of them name in their settings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, Target
from cairn.engine.milvus_rows import MilvusRows
from cairn.store.disk import Disk
from cairn.sync.codebase import Codebase, StorePlace, open_codebase, place_of
from cairn.sync.remote.copy import remote_rows
from cairn.sync.report import RunOptions, RunReport
from cairn.sync.run import index, sync
from tests.support.trees import write_tree

FILES = {
    "src/lease.py": "class Lease:\n    '''Who may write.'''\n    def steal(self):\n        return self.token\n",
    "src/publish.py": "def publish(manifest):\n    '''Make a snapshot the truth.'''\n    return claim(manifest)\n",
    "docs/guide.md": "# Guide\n\nHow a snapshot is published, and how a lease is stolen.\n",
}


@dataclass(frozen=True)
class Person:
    """Somebody with a home of their own."""

    home: Path
    tree: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"CAIRN_HOME": str(self.home), "HOME": str(self.home)}

    def names(self, uri: str, extra: str = "") -> None:
        """Write the server into the settings; without an address, take it out."""
        text = f'[engine]\nkind = "milvus"\nuri = "{uri}"\n{extra}' if uri else ""
        (self.home / "config.toml").write_text(text)

    @property
    def codebase(self) -> Codebase:
        return open_codebase(str(self.tree), self.environ)

    @property
    def place(self) -> StorePlace:
        return place_of(self.codebase, str(self.home))

    def index(self) -> RunReport:
        return index(self.codebase, RunOptions(str(self.home), workers=1), lambda _: None)

    def sync(self) -> RunReport:
        return sync(self.codebase, RunOptions(str(self.home), workers=1), lambda _: None)

    def write(self, files: dict[str, str]) -> None:
        write_tree(self.tree, files)

    @contextlib.contextmanager
    def disk(self) -> Iterator[Disk]:
        disk = self.place.disk()
        assert disk is not None
        with disk:
            yield disk

    @contextlib.contextmanager
    def rows(self) -> Iterator[MilvusRows]:
        rows = remote_rows(self.codebase.config, self.place, self.environ)
        assert rows is not None
        with contextlib.closing(rows):
            yield rows

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        with Session(Target(str(self.tree), self.codebase), self.environ) as session:
            prepare(session, Policy(create=False, sync=False))
            yield session


def person(folder: Path, name: str, uri: str, tree: Path | None = None) -> Person:
    """Somebody new, who names this server."""
    home = folder / name
    home.mkdir(mode=0o700)
    one = Person(home, tree or folder / "tree")
    one.tree.mkdir(exist_ok=True)
    one.names(uri)
    return one
