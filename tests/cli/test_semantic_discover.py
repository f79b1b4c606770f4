"""`cairn semantic discover`: shows the contexts and why, and changes nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from tests.schemas import check

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "src/shop/a.py": "",
    "go.work": "use ./a\n",
    "a/go.mod": "module a\n",
    "a/a.go": "",
    "b/go.mod": "module b\n",
    "b/b.go": "",
    "libs/x/pyproject.toml": '[project]\nname = "x"\n',
    "libs/x/x.py": "",
    "ignored/pyproject.toml": "[project]\n",
    "ignored/y.py": "",
    ".gitignore": "ignored/\n",
}


@pytest.fixture
def tree(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (bare / name).parent.mkdir(parents=True, exist_ok=True)
        (bare / name).write_text(text)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return bare


def discover(*options: str) -> tuple[str, str]:
    out, error = io.StringIO(), io.StringIO()
    assert main(["semantic", "discover", *options], Output(out, error)) == 0
    return out.getvalue(), error.getvalue()


def test_it_shows_every_context_with_its_reason_and_what_is_missing(tree: Path) -> None:
    shown, told = discover()
    assert "python:.  shop  1 file\n    pyproject.toml is a package.\n    Without libs/x.\n" in shown
    assert "go:a  1 file\n    a/go.mod is a package, and go.work lists it.\n" in shown
    assert "detached  go:b\n" in shown
    assert "ignored" not in shown
    assert "scip-go is missing: there is no program scip-go on PATH." in shown
    assert "go install github.com/scip-code/scip-go" in told


def test_the_envelope_says_the_same_and_nothing_is_made(tree: Path, tmp_path: Path) -> None:
    answer = json.loads(discover("--json")[0])
    check(answer, "cairn.contexts/1")
    assert [one["id"] for one in answer["results"]] == ["go:a", "python:.", "python:libs/x"]
    assert [one["root"] for one in answer["detached"]] == ["b"]
    assert not (tmp_path / "home").exists()


def test_an_indexer_that_never_ran_here_is_called_untested(tree: Path) -> None:
    (tree / "lib").mkdir()
    (tree / "Gemfile").write_text("")
    (tree / "lib/a.rb").write_text("")
    assert "scip-ruby is missing: there is no program scip-ruby on PATH (untested)." in discover()[0]


def test_a_folder_that_no_indexer_reads_says_so(bare: Path) -> None:
    (bare / "README.md").write_text("x")
    assert discover()[0] == "No file here is of a language that an indexer reads.\n"


def test_a_program_that_the_user_names_is_found(tree: Path, tmp_path: Path) -> None:
    program = tmp_path / "my-go-indexer"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\n")
    go.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'[semantic.tools]\nscip-go = "{program}"\n')
    answer = json.loads(discover("--json")[0])
    assert answer["results"][0]["indexer"]["program"] == str(program)
