"""Where indexers are looked for, and where never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.core.config import SemanticConfig
from cairn.errors import IndexerMissing
from cairn.semantic.indexers import BY_FAMILY, INDEXERS
from cairn.semantic.model import Family
from cairn.semantic.tools import IndexerReport, IndexerTool, find_tool, indexer_table, install_command
from tests.semantic.fakes import Project

# --- The table that says which indexers are here.


def table(project: Project) -> dict[str, IndexerReport]:
    environ = {**project.environ, "CAIRN_HOME": str(project.home)}
    return {one.name: one for one in indexer_table(environ, SemanticConfig(), root=str(project.root))}


def test_every_indexer_has_a_row_with_its_version_or_the_command_that_installs_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    rows = table(project)
    assert list(rows) == [indexer.name for indexer in INDEXERS]
    there = rows["scip-python"]
    assert (there.program, there.version, there.trouble) == (str(project.indexer), "9.8.7", "")
    missing = rows["scip-go"]
    assert (missing.program, missing.version) == (None, None)
    assert "no program scip-go" in missing.trouble
    assert missing.install.startswith(f"GOBIN={project.home}/tools/bin go install ")
    assert (there.tested, rows["scip-java"].tested) == (True, False)


def test_one_that_is_broken_says_so_and_the_others_answer(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.program("rust-analyzer", "").write_text("#!/bin/sh\necho 'error: unknown binary' >&2\nexit 1\n")
    project.program("scip-ruby", "").write_text("#!/no/such/thing\n")
    rows = table(project)
    assert (rows["rust-analyzer"].version, "unknown binary" in rows["rust-analyzer"].trouble) == (None, True)
    assert "status 127" in rows["scip-ruby"].trouble
    assert rows["scip-python"].version == "9.8.7"


PYTHON = BY_FAMILY[Family.PYTHON]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def find(project: Project, family: Family = Family.PYTHON, **tools: str) -> IndexerTool:
    named = tuple((name.replace("_", "-"), path) for name, path in tools.items())
    settings = SemanticConfig(tools=named)
    place = {"root": str(project.root), "home": str(project.home)}
    return find_tool(BY_FAMILY[family], environ=project.environ, settings=settings, **place)


def test_what_the_user_names_comes_first_then_path_then_the_folder_of_cairn(project: Project, tmp_path: Path) -> None:
    own = project.program("scip-python", "", project.home / "tools/node_modules/.bin")
    named = project.program("mine", "", tmp_path / "me")
    assert find(project, scip_python=str(named)).program == str(named)
    assert find(project, scip_python="~/mine").program == str(named)
    assert find(project).program == str(project.indexer)
    project.indexer.unlink()
    assert find(project).program == str(own)
    own.unlink()
    other = project.program("scip-python", "", project.home / "tools/bin")
    assert find(project).program == str(other)


def test_nothing_that_lies_in_the_project_is_ever_run(project: Project, tmp_path: Path) -> None:
    project.indexer.unlink()
    inside = project.program("scip-python", "", project.root / "node_modules/.bin")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "scip-python").symlink_to(inside)
    (tmp_path / "way-in").symlink_to(inside.parent)
    here = [str(inside.parent), str(tmp_path / "way-in"), str(linked), "node_modules/.bin", "", "."]
    project.environ["PATH"] = os.pathsep.join([*here, str(project.bin)])
    with pytest.raises(IndexerMissing, match="no program scip-python"):
        find(project)


@pytest.mark.parametrize("folder", ["", "tools"])
def test_what_others_may_have_put_into_the_folder_of_cairn_is_not_run(project: Project, folder: str) -> None:
    project.indexer.unlink()
    own = project.program("scip-python", "", project.home / "tools/bin")
    assert find(project).program == str(own)
    (project.home / folder).chmod(0o770)
    with pytest.raises(IndexerMissing, match="no program scip-python"):
        find(project)


def test_a_folder_of_cairn_that_lies_in_the_project_is_a_part_of_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.indexer.unlink()
    project.home = project.root / ".cairn"
    project.program("scip-python", "", project.home / "tools/bin")
    with pytest.raises(IndexerMissing, match="no program scip-python"):
        find(project)


def test_a_runtime_in_the_project_is_none(project: Project) -> None:
    (project.bin / "node").unlink()
    project.program("node", "", project.root / "bin")
    project.environ["PATH"] += f":{project.root}/bin"
    with pytest.raises(IndexerMissing, match="needs node"):
        find(project)


def test_what_the_user_names_and_is_no_program_is_said_to_be_none(project: Project, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x")
    for path in (str(tmp_path / "none"), str(tmp_path / "text"), str(tmp_path)):
        with pytest.raises(IndexerMissing, match="not a program"):
            find(project, scip_python=path)


def test_a_script_is_run_by_its_runtime_which_sees_no_other_program(project: Project, tmp_path: Path) -> None:
    script = tmp_path / "lib" / "main.js"
    script.parent.mkdir()
    script.write_text("")
    script.chmod(0o755)
    project.indexer.unlink()
    project.indexer.symlink_to(script)
    found = find(project)
    assert found.command == (str(project.bin / "node"), str(script))
    assert found.environ == {"HOME": "/dev/null", "LANG": "C.UTF-8", "PATH": "/dev/null"}


def test_an_indexer_of_go_sees_the_folder_of_its_go_and_no_other(project: Project) -> None:
    project.program("scip-go", "")
    go = project.program("go", "", project.home / "go/bin")
    project.environ["PATH"] += f":{go.parent}"
    assert find(project, Family.GO).environ["PATH"] == str(go.parent)


def test_one_that_runs_builds_gets_the_home_that_builds_need(project: Project) -> None:
    project.program("scip-java", "")
    project.environ |= {"JAVA_HOME": "/jdk", "AWS_SECRET": "x"}
    environ = find(project, Family.JVM).environ
    assert (environ["JAVA_HOME"], environ["HOME"]) == ("/jdk", project.environ["HOME"])
    assert "AWS_SECRET" not in environ


def test_the_command_that_installs_is_one_that_a_shell_takes() -> None:
    assert "'/a b/tools'" in install_command(PYTHON, "/a b")
