"""The overview of a package shows how it is used: its example runs, in a folder and a process of its own."""

from __future__ import annotations

import ast
import doctest
import os
from pathlib import Path

import pytest

import cairn
from tests.support.commands import forked

PACKAGE = Path(cairn.__file__).parent
ROOMS = ("source", "syntax", "embedding", "search", "graph", "store", "engine", "sync", "ask", "answer", "cli")
ROOMS += ("core", "daemon", "errors", "evaluation", "install", "mcp", "semantic", "tools", "watch")
RUN = "import doctest, importlib, sys; sys.exit(doctest.testmod(importlib.import_module(sys.argv[1]))[0])"


def overview(room: str) -> str:
    return ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text("utf-8"))) or ""


@pytest.mark.parametrize("room", ROOMS)
def test_the_overview_asks_a_question_and_names_what_is_there(room: str) -> None:
    text = overview(room)
    assert "?" in text.splitlines()[0]
    named = [name.split(".")[0] for name in text.split("`")[1::2]]
    there = {file.stem for file in (PACKAGE / room).iterdir()}
    assert len(there.intersection(named)) >= 2


@pytest.mark.parametrize("room", ROOMS)
def test_the_example_of_an_overview_runs(room: str, tmp_path: Path) -> None:
    assert len(doctest.DocTestParser().get_examples(overview(room))) >= 3
    (tmp_path / "tree").mkdir()
    done = forked(
        ["-c", RUN, f"cairn.{room}"],
        tmp_path / "tree",
        {**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert done.status == 0, done.stdout + done.stderr
