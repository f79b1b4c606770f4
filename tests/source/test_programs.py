"""Where programs are looked for: on the PATH of the user, and in no codebase, however the PATH leads there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.source.programs import ProgramPath, bar_programs_of
from cairn.source.root import repository_roots
from tests.support.repos import make_repo, run_git


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the process stands in; it is no repository."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def program(folder: Path, name: str = "tool") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder / name


def found(path: str | Path, root: Path | None = None) -> str | None:
    return ProgramPath({"PATH": str(path)}, str(root or "")).find("tool")


def test_the_first_program_on_path_outside_of_the_root_is_found(tmp_path: Path) -> None:
    root = tmp_path / "root"
    inside, beside = program(root / "bin"), program(tmp_path / "root-beside")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "tool").write_text("no program")
    (tmp_path / "folder" / "tool").mkdir(parents=True)
    path = os.pathsep.join(map(str, (inside.parent, tmp_path / "plain", tmp_path / "folder", beside.parent)))
    assert found(path, root) == str(beside)
    assert found(path) == str(inside)
    assert ProgramPath({"PATH": str(beside.parent)}).find("other") is None


@pytest.mark.parametrize("way", ["inside", "dots", "link", "links", "out of it", "through it", "chain", "circle"])
def test_no_way_that_passes_the_root_leads_to_a_program(tmp_path: Path, way: str) -> None:
    root, outside, away = tmp_path / "root", tmp_path / "outside", tmp_path / "away"
    program(root / "bin")
    program(away)
    outside.mkdir()
    (outside / "link").symlink_to(root / "bin")
    (outside / "links").mkdir()
    (outside / "links" / "tool").symlink_to(root / "bin" / "tool")
    # The repository decides where this leads, and may change its mind between a look and a run.
    (root / "out").symlink_to(away)
    (outside / "through").symlink_to("../root/out")
    (outside / "chain").symlink_to("through")
    (outside / "circle").symlink_to("circle")
    ways = {
        "inside": root / "bin",
        "dots": f"{outside}/../root/./bin/",
        "link": outside / "link",
        "links": outside / "links",
        "out of it": root / "out",
        "through it": outside / "through",
        "chain": outside / "chain",
        "circle": outside / "circle",
    }
    assert found(ways[way], root) is None
    assert found(ways[way]) is not None or way == "circle"


@pytest.mark.parametrize("relative", ["", ".", "bin", "./bin", "../elsewhere/bin"])
def test_a_relative_folder_of_path_is_not_looked_in(elsewhere: Path, relative: str) -> None:
    program(elsewhere), program(elsewhere / "bin")
    assert found(relative) is None


def test_the_repository_that_the_process_stands_in_is_a_codebase_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make_repo(tmp_path / "here")
    inside = program(here / ".venv" / "bin")
    (here / "src").mkdir()
    assert found(inside.parent) == str(inside)
    monkeypatch.chdir(here / "src")
    assert found(inside.parent) is None


def test_a_folder_that_has_gone_bars_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = program(tmp_path / "bin")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert found(beside.parent, tmp_path / "none") == str(beside)
    assert found(beside.parent, Path("/")) == str(beside)


def test_a_codebase_that_the_process_has_opened_is_barred_for_all_others(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    inside = program(one / "bin")
    other.mkdir()
    assert found(inside.parent, other) == str(inside)
    bar_programs_of(str(one))
    assert found(inside.parent, other) is None
    # A new folder under the old name is another one, until it is opened.
    one.rename(tmp_path / "moved")
    program(one / "bin")
    assert found(one / "bin", other) == str(inside)


def test_a_part_of_a_repository_bars_the_whole_of_it(tmp_path: Path) -> None:
    main = make_repo(tmp_path / "main", {"a.py": "x"})
    other = make_repo(tmp_path / "other", {"b.py": "x"})
    run_git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part")
    run_git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    inside = program(main / ".venv" / "bin")
    for part in (main / "part", tmp_path / "linked"):
        assert repository_roots(str(part)) == (str(part), str(main))
        assert found(inside.parent, part) is None
    assert found(inside.parent, other) == str(inside)


@pytest.mark.parametrize(
    "said", [b"gitdir: /\n", b"gitdir: nowhere/.git/x", b"gitdir: \0/.git/x", b"gitdir:" + b"x" * 9999]
)
def test_a_git_file_that_lies_bars_nothing_else(tmp_path: Path, said: bytes) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".git").write_bytes(said)
    assert repository_roots(str(tmp_path / "root")) == (str(tmp_path / "root"),)


def test_a_program_that_is_run_sees_the_same_folders_and_no_other(tmp_path: Path) -> None:
    root = tmp_path / "root"
    program(root)
    given = os.pathsep.join([str(root), ".", "", "/usr/bin", "/bin"])
    assert ProgramPath({"PATH": given}, str(root)).environ == {"PATH": "/usr/bin:/bin"}
    assert ProgramPath({}).folders == tuple(one for one in os.defpath.split(os.pathsep) if one)
