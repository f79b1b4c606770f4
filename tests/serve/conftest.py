"""A desk over a small tree, and a way to ask it that checks every answer against its schema."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.clock import SystemClock
from cairn.serve.desk import Desk, Patience
from cairn.serve.guard import Allowed
from cairn.serve.tools import call
from cairn.store.lease import RunKind
from cairn.store.writer import open_writer
from cairn.sync.codebase import open_codebase
from cairn.sync.place import place_of
from tests.schemas import check
from tests.sync.desk import extract_here

LEASE = "class Lease:\n    def steal(self):\n        return take()\n\n\ndef take():\n    return 1\n"
AT_ONCE = Patience(seconds=0.0, sync_seconds=0.0)


class Agent:
    """Somebody who calls tools of one desk."""

    def __init__(self, folder: Path) -> None:
        self.home, self.tree = folder / "home", (folder / "tree").resolve()
        self.environ = {"CAIRN_HOME": str(self.home), "HOME": str(folder / "me")}
        self.tree.mkdir(parents=True)
        (self.tree / "lease.py").write_text(LEASE)
        self.desk = Desk(self.environ, Allowed(self.environ, [str(self.tree)]))

    def ask(self, tool: str, *, patience: Patience | None = None, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool; whatever it is, it has the shape that is promised."""
        envelope = call(self.desk, tool, arguments, patience=patience)
        answer: dict[str, Any] = json.loads(envelope.to_json())
        check(answer, envelope.schema)
        return answer

    def index(self, tree: Path | None = None) -> None:
        answer = self.ask("manage_index", action="create", path=str(tree or self.tree))
        assert answer["status"] == "ok", answer

    def settings(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        self.home.chmod(0o700)
        (self.home / "config.toml").write_text(text)

    @contextmanager
    def writing(self, kind: RunKind, tree: Path | None = None) -> Iterator[None]:
        """Another run holds the lease meanwhile."""
        place = place_of(open_codebase(str(tree or self.tree), self.environ), str(self.home))
        with place.make_disk() as disk, open_writer(disk, "here", kind, rebuild=True):
            yield

    def stored(self) -> dict[str, bytes]:
        """Every file of the home, but the note that a store was used."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and path.name != "last_used"
        }

    def kept(self) -> dict[str, bytes]:
        """What makes up the indexes. A sync that finds nothing to do notes when it looked, and who held the lease."""
        noted = ("tree.bin", "writer_lease.json", "registry.db", "registry.db-wal", "registry.db-shm", "progress.json")
        return {name: data for name, data in self.stored().items() if name.rpartition("/")[2] not in noted}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    found = Agent(tmp_path)
    yield found
    found.desk.close()


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are parsed in this process: to start a worker for each test would take longer than all else in it."""
    extract_here(monkeypatch, SystemClock())


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tree and its index, made once: to start a worker takes a second."""
    folder = tmp_path_factory.mktemp("indexed")
    first = Agent(folder)
    first.index()
    first.desk.close()
    shutil.copytree(first.home, folder / "kept")
    return folder


@pytest.fixture
def indexed(template: Path) -> Iterator[Agent]:
    """An agent whose tree is indexed. The index belongs to the place of the tree, so both are laid out anew there."""
    for left in template.iterdir():
        if left.name != "kept":
            shutil.rmtree(left)
    shutil.copytree(template / "kept", template / "home")
    found = Agent(template)
    yield found
    found.desk.close()
