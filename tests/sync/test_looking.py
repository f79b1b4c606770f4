"""A reader compares the files with a snapshot; what it has found it finds again at the cost of a look at all names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.store.read.snapshot import open_view
from cairn.sync import looking
from cairn.sync.looking import Compared, compare
from tests.sync.desk import Desk, extract_here


def compared(desk: Desk, last: Compared | None = None) -> Compared:
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
        return compare(desk.codebase, desk.place, view, lambda: None, clock=desk.clock, last=last)


def names(found: Compared) -> tuple[list[str], list[str]]:
    return [one.key for one in found.difference.changed], list(found.difference.gone)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    found = Desk(tmp_path, with_git=True)
    extract_here(monkeypatch, found.clock)
    found.put("a.py", "def one(): ...\n")
    found.put("c.py", "def two(): ...\n")
    found.commit()
    found.index()
    found.put("b.py", "def new(): ...\n")
    (found.tree / "c.py").unlink()
    return found


def test_what_differs_is_found_again_without_a_walk_while_the_tree_is_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compared(desk)
    assert names(first) == (["b.py"], ["c.py"])

    def everything(*_: object, **__: object) -> object:
        raise AssertionError("the whole tree was walked")

    monkeypatch.setattr(looking, "walk", everything)
    assert compared(desk, first) is first


def _disguised(desk: Desk) -> None:
    before = (desk.tree / "b.py").stat()
    desk.put("b.py", "def old(): ...\n")
    os.utime(desk.tree / "b.py", ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_disguised, (["b.py"], ["c.py"])),
        (lambda desk: desk.put("d.py", "x = 1\n"), (["b.py", "d.py"], ["c.py"])),
        (lambda desk: (desk.tree / "b.py").unlink(), ([], ["c.py"])),
        (lambda desk: desk.put(".gitignore", "b.py\n"), ([".gitignore"], ["c.py"])),
        (lambda desk: desk.git("checkout", "-q", "--", "c.py"), (["b.py"], [])),
        (lambda desk: desk.commit(), (["b.py"], ["c.py"])),
    ],
    ids=["an edit in disguise", "a new file", "a deletion", "a rule", "one that is back", "a commit"],
)
def test_after_any_change_everything_is_compared_anew(
    desk: Desk, change: Callable[[Desk], object], found: tuple[list[str], list[str]]
) -> None:
    first = compared(desk)
    change(desk)
    second = compared(desk, first)
    assert second is not first
    assert names(second) == found


def test_what_was_changed_a_moment_ago_is_not_trusted(desk: Desk) -> None:
    desk.clock.advance(-10.0)
    first = compared(desk)
    assert compared(desk, first) is not first
