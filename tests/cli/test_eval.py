"""`cairn eval` as people and scripts meet it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from tests.evaluation.test_history import commit
from tests.evaluation.test_judged import lay
from tests.schemas import check
from tests.support.commands import Typed
from tests.support.repos import run_git


def evaluate(*arguments: str) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    status = main(("eval", *arguments), Output(out, err, environ=os.environ))
    return Typed(status, out.getvalue(), err.getvalue())


def answer(*arguments: str, status: int = 0) -> dict[str, Any]:
    found = evaluate(*arguments, "--json")
    assert (found.status, found.stderr) == (status, "")
    value: dict[str, Any] = json.loads(found.stdout)
    check(value, value["schema"])
    return value


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CAIRN_DEBUG", raising=False)
    return tmp_path / "home"


@pytest.fixture
def data(tmp_path: Path) -> str:
    folder = tmp_path / "data"
    one, two = folder / "repos" / "one", folder / "repos" / "two" / "src"
    one.mkdir(parents=True)
    two.mkdir(parents=True)
    (one / "lease.py").write_text("class Lease:\n    def steal(self):\n        return self\n")
    (one / "parser.py").write_text("def parse(pattern):\n    return pattern\n")
    (two / "reader.go").write_text("package reader\n\nfunc Read() {}\n")
    lay(
        folder,
        repos=[
            {"name": "one", "language": "python"},
            {"name": "two", "language": "go", "benchmark_root": "src"},
            {"name": "away", "language": "go"},
        ],
        split={"dev": ["one"], "rest": ["two", "away"]},
        annotations_one=[
            {"query": "steal the lease", "relevant": [{"path": "lease.py", "start_line": 80, "end_line": 90}]},
            {"query": "Parser", "relevant": ["lease.py"], "category": "symbol"},
        ],
        annotations_two=[{"query": "read", "relevant": ["src/reader.go"], "category": "symbol"}, {"query": " "}],
    )
    return str(folder)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a history, in which somebody stands."""
    folder = (tmp_path / "mine").resolve()
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    owner = "class Owner:\n    def replace(self, stale):\n        return stale\n"
    commit(folder, "Begin", lease=owner, parser="def patterns(list):\n    return list\n")
    commit(folder, "Nothing yet")
    commit(folder, "Replace the stale owner sooner than before", lease=owner + "x = 1\n")
    commit(folder, "Parser takes an empty list of patterns", parser="def patterns():\n    return []\n")
    monkeypatch.chdir(folder)
    return folder


def test_judged_questions_are_scored_by_category_and_language(data: str) -> None:
    value = answer(data)
    [result] = value["results"]
    assert (value["k"], value["without"], value["base"], value["codebaseRoot"]) == (10, [], None, None)
    assert (result["set"], result["questions"]) == ("judged", 4)
    assert result["byLanguage"][0]["name"] == "go"
    assert result["byLanguage"][0]["ndcg"] == 0.5
    assert [one["name"] for one in result["byCategory"]] == ["symbol", "unknown"]
    assert [one["questions"] for one in result["byRepository"]] == [2, 2]
    assert result["ndcgLines"] < result["ndcg"]
    assert value["warnings"] == [
        "There is no folder for away, so it was not asked.",
        "1 question cannot be asked as a query and counts 0.",
    ]


def test_people_get_a_table_and_notes(data: str) -> None:
    found = evaluate(data, "--half", "dev", "-k", "1")
    assert found.status == 0
    first, second, third, *rest = found.stdout.splitlines()
    assert first == "Judged questions: 2 questions"
    assert second.startswith("  NDCG@1 0.5000 ± ")
    assert third == "  NDCG@1 0.0000 where the right lines have to be shown too"
    assert any(line.startswith("  by language") and line.endswith("questions  NDCG@1  recall@1") for line in rest)
    assert not any(line.startswith("  by repository") for line in rest)
    assert any(line.startswith("  by repository") for line in evaluate(data, "-v").stdout.splitlines())
    assert "note: There is no folder for away" in evaluate(data).stderr


def test_a_second_run_says_the_same_and_a_signal_can_be_left_out(data: str) -> None:
    first, second = answer(data), answer(data)
    for value in (first, second):
        value["results"][0].pop("medianMs")
    assert first == second
    assert answer(data, "--no-signal", "filename")["without"] == ["filename"]


def test_a_repository_is_asked_with_its_own_history(mine: Path, home: Path) -> None:
    value = answer("--from-git", "--commits", "2")
    assert (value["path"], value["codebaseRoot"]) == (".", str(mine))
    assert value["base"] == run_git(mine, "rev-parse", "HEAD~2")
    plain, masked = value["results"]
    assert (plain["set"], plain["questions"], plain["recall"]) == ("plain", 2, 1.0)
    assert [one["name"] for one in plain["byCategory"]] == ["named", "unnamed"]
    assert (masked["set"], masked["questions"]) == ("masked", 2)
    assert not home.exists(), "what was made to measure is gone"
    assert evaluate("--from-git").stdout.startswith("Commit subjects: 2 questions\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Name one of two"),
        (("x", "--from-git"), "Name one of two"),
        (("--from-git", "--half", "dev"), "--repos and --half belong"),
        (("x", "--commits", "3"), "goes with --from-git"),
        (("--from-git", "--commits", "0"), "a number above 0"),
        (("--from-git", "-k", "0"), "must be a whole number"),
        (("--from-git", "--no-signal", "magic"), "no signal called `magic`"),
        (("nowhere",), "The questions cannot be read: repos.json in nowhere: No such file or directory."),
        (("--from-git", "--root", "nowhere"), "no folder at"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_a_wrong_call_is_one_sentence(arguments: tuple[str, ...], says: str) -> None:
    found = evaluate(*arguments)
    assert found.status in {2, 21}
    assert says in found.stderr
    assert found.stdout == ""
    assert answer(*arguments, status=found.status)["schema"] == "cairn.error/1"


def test_a_folder_without_git_has_no_history_to_ask_with(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    found = evaluate("--from-git", "--root", str(tmp_path / "plain"))
    assert (found.status, found.stderr.splitlines()[0]) == (
        2,
        "cairn: plain has no git history to take questions from.",
    )
