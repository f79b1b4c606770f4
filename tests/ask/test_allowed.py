"""Which folders an agent may use."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cairn.ask.allowed import Allowed
from cairn.errors import InvalidRequest, PathNotFound, RootNotAllowed, RootNotFound
from tests.support.servers import Agent


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "a.py").write_text("x = 1\n")
    return path.resolve()


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder(path)


def test_without_a_path_the_first_folder_that_is_served_is_meant(tmp_path: Path, agent: Agent) -> None:
    other = folder(tmp_path / "other")
    found = Allowed(agent.environ, [str(agent.tree), str(other)]).resolve(None)
    assert (found.codebase.root.path, found.below) == (str(agent.tree), ())


@pytest.mark.parametrize(("path", "below"), [(".", ()), ("src", ("src",)), ("src/a.py", ("src/a.py",))])
def test_a_path_may_be_a_folder_or_a_file_from_the_root_that_is_served(
    agent: Agent, path: str, below: tuple[str, ...]
) -> None:
    folder(agent.tree / "src")
    allowed = Allowed(agent.environ, [str(agent.tree)])
    for said in (path, os.path.join(agent.tree, path)):
        target = allowed.resolve(said)
        assert (target.asked, target.codebase.root.path, target.below) == (said, str(agent.tree), below)


@pytest.mark.parametrize(
    "path", ["/", "/etc", "/usr/lib", "..", "../tree-evil", "sub/../../tree-evil", "out", "out/a.py"]
)
def test_what_lies_outside_is_refused_and_the_roots_are_named(tmp_path: Path, agent: Agent, path: str) -> None:
    evil = folder(tmp_path / "tree-evil")
    (agent.tree / "out").symlink_to(evil)
    with pytest.raises(RootNotAllowed) as refused:
        Allowed(agent.environ, [str(agent.tree)]).resolve(path)
    assert str(agent.tree) in refused.value.sentence


def test_a_folder_outside_is_refused_in_the_same_words_whether_it_is_there_or_not(tmp_path: Path, agent: Agent) -> None:
    folder(tmp_path / "there")
    allowed = Allowed(agent.environ, [str(agent.tree)])
    told = []
    for name in ("there", "gone!"):
        with pytest.raises(RootNotAllowed) as refused:
            allowed.resolve(str(tmp_path / name))
        told.append(refused.value.sentence.replace(name, ""))
    assert told[0] == told[1]


def test_a_folder_that_is_served_but_gone_is_told_as_such(tmp_path: Path, agent: Agent) -> None:
    gone = str(tmp_path / "gone")
    for asked in (None, gone):
        with pytest.raises(RootNotFound) as refused:
            Allowed(agent.environ, [gone]).resolve(asked)
        assert gone in refused.value.sentence


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no folder of the system to write to")
def test_a_served_folder_that_lies_in_one_of_the_system_is_refused_for_that(agent: Agent) -> None:
    with TemporaryDirectory(dir="/dev/shm") as shared:
        folder(Path(shared))
        with pytest.raises(RootNotAllowed) as refused:
            Allowed(agent.environ, [shared]).resolve(None)
    assert "(it is a folder of the system, or below one)" in refused.value.sentence


def test_a_path_that_is_not_there_is_named(agent: Agent) -> None:
    with pytest.raises(PathNotFound):
        Allowed(agent.environ, [str(agent.tree)]).resolve("nothing/here.py")


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(agent: Agent, path: str) -> None:
    with pytest.raises(InvalidRequest):
        Allowed(agent.environ, [str(agent.tree)]).resolve(path)


def test_folders_of_the_settings_are_allowed_as_soon_as_they_are_written_there(tmp_path: Path, agent: Agent) -> None:
    code = folder(tmp_path / "me" / "code" / "one")
    allowed = Allowed(agent.environ, [str(agent.tree)])
    with pytest.raises(RootNotAllowed):
        allowed.resolve(str(code))
    agent.settings('[serve]\nallowed_roots = ["~/code"]\n')
    assert allowed.resolve(str(code)).codebase.root.path == str(code)


@pytest.mark.parametrize("roots", ['["~/"]', '["/"]'])
def test_home_and_the_disk_are_refused_though_the_settings_allow_them(tmp_path: Path, agent: Agent, roots: str) -> None:
    me = folder(tmp_path / "me")
    code = folder(me / "code")
    agent.settings(f"[serve]\nallowed_roots = {roots}\n")
    allowed = Allowed(agent.environ)
    for path in (str(me), "/", "/etc"):
        with pytest.raises(RootNotAllowed):
            allowed.resolve(path)
    assert allowed.resolve(str(code)).codebase.root.path == str(code)


def test_a_server_that_is_started_at_home_serves_nothing_by_that(tmp_path: Path, agent: Agent) -> None:
    me = folder(tmp_path / "me")
    folder(me / "code")
    allowed = Allowed(agent.environ, [str(me)])
    for path in (None, str(me), str(me / "code")):
        with pytest.raises(RootNotAllowed):
            allowed.resolve(path)


def test_without_any_folder_the_call_says_that_a_path_is_missing(agent: Agent) -> None:
    with pytest.raises(InvalidRequest, match="no folder is served by itself"):
        Allowed(agent.environ).resolve(None)


def test_a_folder_that_the_user_has_indexed_is_allowed(tmp_path: Path, indexed: Agent) -> None:
    other = folder(tmp_path / "other")
    allowed = Allowed(indexed.environ, [str(other)])
    assert allowed.resolve(str(indexed.tree)).codebase.root.path == str(indexed.tree)
    assert allowed.roots() == (str(other), str(indexed.tree))


def test_a_work_tree_is_its_own_root_and_a_folder_of_it_stands_for_the_whole(tmp_path: Path, agent: Agent) -> None:
    work = repository(tmp_path / "work")
    sub = folder(work / "src")
    found = Allowed(agent.environ, [str(sub)]).resolve(None)
    assert found.codebase.root.path == str(work)
    nested = repository(agent.tree / "nested")
    assert Allowed(agent.environ, [str(agent.tree)]).resolve("nested/a.py").codebase.root.path == str(nested)
