"""A bare repository is no source: its files are those of git, and its settings may hold the password of a server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cairn.core.types import Root
from cairn.errors import RootIsBare
from cairn.source.beneath import Tree
from cairn.source.listing import ListingRecorder, unchanged
from cairn.source.root import find_root, is_bare, repository_roots
from cairn.source.walk import walk, walk_some
from tests.source.test_walk import Config, reasons, walked
from tests.support.commands import Person
from tests.support.repos import make_repo, run_git

# Put together here, so that no text of ours holds what looks like a password.
PASSWORD = "hunter" + "2" * 12
ADDRESS = f"https://deploy:{PASSWORD}@git.example.org/payroll.git"
WAYS = ("init", "clone", "mirror", "renamed", "detached", "linked")
COMMANDS = (["index"], ["sync"], ["files"], ["search", "deploy"], ["status"], ["map"], ["health"])


def bare(folder: Path, way: str) -> Path:
    """A bare repository as people come to have one, whose settings name a server and its password."""
    source = make_repo(folder.parent / f"{folder.name}-source", {"a.py": "x = 1\n"})
    if way == "init":
        run_git(folder.parent, "init", "-q", "--bare", str(folder))
    elif way in ("clone", "mirror"):
        run_git(folder.parent, "clone", "-q", "--bare" if way == "clone" else "--mirror", str(source), str(folder))
    else:
        (source / ".git").rename(folder)
    if way == "detached":
        (folder / "HEAD").write_text(run_git(folder, "rev-parse", "HEAD") + "\n")
    if way == "linked":
        (folder / "HEAD").unlink()
        (folder / "HEAD").symlink_to("refs/heads/main")
    shutil.rmtree(source)
    with open(folder / "config", "a") as settings:
        settings.write(f'[remote "origin"]\n\turl = {ADDRESS}\n')
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_bare_repository_is_refused_as_a_root_and_left_out_below_one(tmp_path: Path, way: str) -> None:
    alone = bare(tmp_path / "alone.git", way)
    for asked in (alone, alone / "hooks", alone / "objects" / "pack"):
        asked.mkdir(parents=True, exist_ok=True)
        with pytest.raises(RootIsBare):
            find_root(str(asked))
        assert repository_roots(str(asked)) == ()
    tree = make_repo(tmp_path / "tree", {"b.py": "x = 1\n"})
    shutil.move(alone, tree / "alone.git")
    assert reasons(walked(tree)) == {".git": "vcs_internal", "alone.git": "vcs_internal"}
    assert find_root(str(tree / "alone.git" / "refs")).path == str(tree), "it is a part of the work tree around it"
    with Tree(find_root(str(tree))) as opened:
        some = walk_some(opened, Config(), [b"alone.git/config"])
    assert some is not None
    assert not some.candidates


def test_a_folder_that_only_looks_like_one_is_indexed(tmp_path: Path) -> None:
    for name, head in (("talk", "The head of the talk.\n"), ("folder", None), ("short", "ref: main\n")):
        top = tmp_path / "tree" / name
        for below in ("objects", "refs"):
            (top / below).mkdir(parents=True)
            (top / below / "a.py").write_text("x = 1\n")
        if head is None:
            (top / "HEAD").mkdir()
        else:
            (top / "HEAD").write_text(head)
        with Tree(Root(str(top), is_git=False)) as opened:
            assert not is_bare(opened)
    assert len(walked(tmp_path / "tree").candidates) == 8


def test_a_folder_that_becomes_one_or_ceases_to_be_one_is_a_change(tmp_path: Path) -> None:
    tree = make_repo(tmp_path / "tree", {"b.py": "x = 1\n"})
    inside = bare(tree / "inside.git", "init")

    def holds() -> bool:
        with Tree(find_root(str(tree))) as opened:
            return unchanged(opened, listing, synced_at_ns=2**62)

    for change in (
        lambda: (inside / "HEAD").rename(inside / "OLD"),
        lambda: (inside / "OLD").rename(inside / "HEAD"),
        lambda: (inside / "HEAD").write_text("nothing"),
    ):
        recorder = ListingRecorder()
        with Tree(find_root(str(tree))) as opened:
            walk(opened, Config(), recorder=recorder)
        listing = recorder.listing()
        assert holds()
        change()
        assert not holds()


def test_every_command_says_what_a_bare_repository_is_in_one_sentence_and_reads_nothing_of_it(tmp_path: Path) -> None:
    me = Person(tmp_path)
    alone = bare(tmp_path / "alone.git", "mirror")
    for command in COMMANDS:
        done = me.cairn(*command, "--root", str(alone), "--offline")
        assert done.status == RootIsBare.exit_status, command
        assert "is a bare git repository" in done.stderr
        assert PASSWORD not in done.stdout + done.stderr
    shutil.move(alone, me.tree / "alone.git")
    assert me.cairn("index").status == 0
    for found in me.home.rglob("*"):
        assert not found.is_file() or PASSWORD.encode() not in found.read_bytes(), found
    told = json.loads(me.cairn("files", "--skipped", "--json").stdout)
    assert PASSWORD not in json.dumps(told)
    assert "alone.git" in json.dumps(told)
