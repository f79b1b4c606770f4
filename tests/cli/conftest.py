"""What several pages of tests stand on: a tree of their own to ask about, or a store to damage, each its own copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.commands import Person


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of git with nothing in it, where one stands; nothing is indexed yet."""
    folder = (tmp_path / "tree").resolve()
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("CAIRN_DEBUG", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A tree and a home with its index, of which every test gets a copy."""
    person = Person(tmp_path_factory.mktemp("person"))
    person.commit()
    assert person.cairn("index").status == 0
    return person


@pytest.fixture
def home(indexed: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    shutil.copytree(indexed.home, home)
    monkeypatch.chdir(indexed.tree)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CAIRN_HOME", str(home))
    monkeypatch.delenv("CAIRN_DEBUG", raising=False)
    return home
