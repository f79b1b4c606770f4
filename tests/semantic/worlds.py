"""A real codebase with a real index and a semantic database that the small indexer has filled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.semantic.database import SemanticDatabase
from tests.semantic.small_indexer import Memory, refresh
from tests.support.repos import commit, make_repo, run_git
from tests.support.trees import write_tree

TREE = {
    "pyproject.toml": "[project]\nname = 'demo'\n",
    "lib.py": "def greet(who):\n    return who\n\n\nclass Host:\n    def meet(self):\n        return self.meet()\n",
    "app.py": "from lib import greet, Host\n\n\ndef main():\n    greet('ä'); x = greet\n    return Host, x\n",
    "hand.py": "from lib import (\n    greet as hello,\n)\n\nhello()\n",
    "notes.py": "# greet is only mentioned here\nvalue = 1\n",
}


class World:
    """The codebase, and where its index and its facts are."""

    def __init__(self, place: Path, files: Mapping[str, str] = TREE) -> None:
        self.tree = place / "tree"
        self.environ = {"CAIRN_HOME": str(place / "home"), "HOME": str(place), "PATH": os.environ["PATH"]}
        make_repo(self.tree, files)
        with self.session():
            pass

    def git(self, *arguments: str, data: bytes | None = None) -> str:
        return run_git(self.tree, *arguments, data=data)

    def commit(self, message: str) -> None:
        commit(self.tree, message=message)

    def write(self, path: str, text: str) -> None:
        write_tree(self.tree, {path: text})

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.tree / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new))

    @contextmanager
    def session(self, *, sync: bool = True) -> Iterator[Session]:
        """The codebase, brought up to date unless that is not wanted."""
        with Session(whole(str(self.tree), self.environ), self.environ) as session:
            prepare(session, Policy(sync=sync))
            yield session

    @property
    def database(self) -> SemanticDatabase:
        return SemanticDatabase(self.environ["CAIRN_HOME"], str(self.tree.resolve()))

    def memory(self) -> Memory:
        """The files of Python as they are."""
        python, others = (
            {str(file.relative_to(self.tree)): file.read_bytes() for file in self.tree.rglob(names)}
            for names in ("*.py", "*.toml")
        )
        return Memory(python, others)

    def refresh(self, only: Iterable[str] | None = None) -> None:
        """Index again: the files, and what is known of them."""
        with self.session():
            refresh(self.database, self.memory(), only)
