"""The table that says which indexers are here."""

from __future__ import annotations

from pathlib import Path

from cairn.core.config import SemanticConfig
from cairn.semantic.indexers import INDEXERS
from cairn.semantic.reports import IndexerReport, indexer_table
from tests.semantic.fakes import Project


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
