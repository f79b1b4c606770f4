"""The step before a search: what is never indexed by the way, and what a sync that goes wrong leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.ask.prepare import catch_up, create, unwanted
from cairn.core.config import IndexConfig
from cairn.core.types import Root
from cairn.errors import NotIndexed
from tests.sync.desk import Desk, extract_here, silent

HOME = {"HOME": "/home/me"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "x = 1\n")
    return desk


@pytest.mark.parametrize(
    ("path", "is_git", "says"),
    [
        ("/", False, "the root of the disk"),
        ("/", True, "the root of the disk"),
        ("/home/me", True, "a home folder"),
        ("/home", False, "a home folder"),
        ("/home/me/project", False, None),
        ("/home/me2", False, None),
        ("/etc", True, "a folder of the system"),
        ("/etc/nginx", False, "a folder of the system"),
        ("/usr/lib/python3", False, "a folder of the system"),
        ("/usr/src/linux", True, None),
        ("/usr2", False, None),
        ("/tmp", False, "a folder of the system"),
        ("/tmp/project", False, None),
        ("/opt/project", False, None),
        ("/var/lib/data", False, "a folder of the system"),
        ("/srv/cairn", False, "the folder of Cairn's own data"),
        ("/srv/cairn/data", False, "the folder of Cairn's own data"),
    ],
)
def test_some_folders_are_never_indexed_by_the_way(path: str, is_git: bool, says: str | None) -> None:
    assert unwanted(Root(path, is_git), HOME, "/srv/cairn") == says


def test_a_first_index_says_what_it_found(desk: Desk) -> None:
    made = create(desk.codebase, desk.options(), silent, consent=lambda _: False, environ=HOME, clock=desk.clock)
    assert (made.mode, made.changed, made.trouble) == ("synced", 1, None)
    assert list(desk.texts()) == ["a.py"]


def test_a_large_folder_needs_consent(desk: Desk) -> None:
    desk.put("b.py", "b = 1\n")
    large = desk.codebase._replace(config=replace(desk.codebase.config, index=IndexConfig(ask_above=1)))
    asked: list[int] = []

    def go(consent: Callable[[int], bool]) -> None:
        create(large, desk.options(), silent, consent=consent, environ=HOME, clock=desk.clock)

    with pytest.raises(NotIndexed, match="it holds 2 files"):
        go(lambda files: bool(asked.append(files)))
    assert asked == [2]
    go(lambda _: True)
    assert list(desk.texts()) == ["a.py", "b.py"]


def test_who_wants_no_folder_indexed_by_the_way_says_so_in_the_settings(desk: Desk) -> None:
    desk.home.mkdir()
    (desk.home / "config.toml").write_text("[search]\nauto_index = false\n")
    with pytest.raises(NotIndexed, match="auto_index"):
        create(desk.codebase, desk.options(), silent, consent=lambda _: True, environ=HOME, clock=desk.clock)
    assert desk.index().published


def test_catching_up_counts_what_has_changed(desk: Desk) -> None:
    desk.index()
    desk.put("b.py", "y = 1\n")
    fresh = catch_up(desk.codebase, desk.options(), silent, clock=desk.clock)
    assert (fresh.mode, fresh.changed) == ("synced", 1)
    assert sorted(desk.texts()) == ["a.py", "b.py"]


def test_a_sync_that_takes_too_long_is_stopped_and_the_old_snapshot_stays(desk: Desk) -> None:
    desk.index()
    desk.put("b.py", "y = 1\n")
    before = desk.manifest()
    fresh = catch_up(desk.codebase, desk.options(), silent, seconds=-1.0, clock=desk.clock)
    assert (fresh.mode, fresh.trouble) == ("sync_failed", "timeout")
    assert desk.manifest() == before
    assert desk.sync().changes.added == 1


def test_an_error_of_the_sync_is_told_by_its_code_alone(desk: Desk) -> None:
    desk.index()
    (desk.home / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    desk.put("A.py", "x = 1\n")
    fresh = catch_up(desk.codebase, desk.options(), silent, clock=desk.clock)
    assert (fresh.mode, fresh.trouble) == ("sync_failed", "name_collision")
