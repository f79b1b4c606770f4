"""Questions are asked as a search would ask them, of just the folder that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.types import Root
from cairn.errors import NotIndexed
from cairn.evaluation.asking import Way, ask, folder_as_codebase
from cairn.evaluation.metric import Lines, Question
from cairn.sync.report import Progress
from cairn.sync.run import RunOptions, clear


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder inside a repository, of which the rest is not asked."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "lease.py").write_text("class Lease:\n    pass\n")
    (folder / "lease.py").write_text("class Lease:\n    def steal(self):\n        return self\n")
    (folder / "parser.py").write_text("def parse(pattern):\n    return pattern\n")
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_HOME": str(tmp_path / "home")}


def question(text: str, *targets: Lines) -> Question:
    return Question("mine", "python", "x", text, targets)


def test_a_question_scores_by_the_file_and_by_its_lines(tree: Path, environ: dict[str, str]) -> None:
    right, wrong = Lines("lease.py", 1, 3), Lines("lease.py", 90, 99)
    told: list[Progress] = []
    seen: list[str] = []
    codebase = folder_as_codebase(str(tree), environ)
    questions = [question("steal a lease", right), question("steal a lease", wrong), question("parse", Lines("no.py"))]
    first, second, third = ask(
        codebase, environ, questions, Way(10), tell=told.append, asked=lambda one: seen.append(one.text)
    )
    assert (first.ndcg, first.ndcg_lines, first.recall, first.is_valid) == (1.0, 1.0, 1.0, True)
    assert (second.ndcg, second.ndcg_lines) == (1.0, 0.0)
    assert (third.ndcg, third.recall) == (0.0, 0.0)
    assert all(one.seconds > 0 for one in (first, second, third))
    assert told
    assert seen == ["steal a lease", "steal a lease", "parse"]


def test_only_the_folder_itself_is_asked(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    assert codebase.root == Root(str(tree.resolve()), is_git=False)
    (tree.parent / "only_outside.py").write_text("def only_outside():\n    return 1\n")
    [found] = ask(codebase, environ, [question("only_outside", Lines("only_outside.py"))], Way(10))
    assert found.recall == 0.0


def test_a_signal_can_be_left_out(tree: Path, environ: dict[str, str]) -> None:
    (tree / "parser.py").write_text("def other(x):\n    return x\n")
    codebase = folder_as_codebase(str(tree), environ)
    asked = [question("parser", Lines("parser.py"))]
    assert ask(codebase, environ, asked, Way(10))[0].ndcg == 1.0
    without = Way(10, without=frozenset({"filename", "dense"}))
    assert ask(codebase, environ, asked, without)[0].ndcg == 0.0


def test_what_is_no_query_scores_nothing_and_stops_nothing(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    asked = [question("", Lines("lease.py")), question("lease", Lines("lease.py"))]
    first, second = ask(codebase, environ, asked, Way(10))
    assert (first.ndcg, first.is_valid) == (0.0, False)
    assert (second.ndcg, second.is_valid) == (1.0, True)


def test_an_index_that_was_emptied_on_purpose_is_not_filled_again(tree: Path, environ: dict[str, str]) -> None:
    codebase = folder_as_codebase(str(tree), environ)
    ask(codebase, environ, [], Way(10))
    clear(codebase, RunOptions(environ["CAIRN_HOME"]), lambda _: None)
    with pytest.raises(NotIndexed):
        ask(codebase, environ, [question("lease", Lines("lease.py"))], Way(10))
