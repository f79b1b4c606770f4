"""The first question about a folder: each verb makes its index, a large one only with consent; a part may answer."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from tests.support.clock import ManualClock
from tests.support.commands import Typed
from tests.support.servers import no_daemon_left
from tests.sync.desk import extract_here

VERBS = (
    ("search", "first"),
    ("symbol", "first"),
    ("refs", "first"),
    ("graph", "first"),
    ("outline", "a.py"),
    ("read", "a.py"),
    ("similar", "a.py:1"),
    ("map",),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two files that nobody has indexed."""
    home, found = tmp_path / "home", (tmp_path / "tree").resolve()
    found.mkdir()
    home.mkdir(mode=0o700)
    for name in ("a", "b"):
        (found / f"{name}.py").write_text(f"def first():\n    return {name}()\n")
    for name, value in (("HOME", tmp_path / "me"), ("CAIRN_HOME", home), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(found)
    return found


def large(tmp_path: Path) -> None:
    """Let two files be more than may be indexed unasked."""
    (tmp_path / "home" / "config.toml").write_text("[index]\nask_above = 1\n")


def ask(*arguments: str) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    status = main(arguments, Output(out, err, environ=os.environ))
    return Typed(status, out.getvalue(), err.getvalue())


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_above_the_limit_no_verb_makes_an_index_unasked_and_each_does_with_consent(
    verb: tuple[str, ...], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    extract_here(monkeypatch, ManualClock())
    large(tmp_path)
    refused = ask(*verb)
    assert (refused.status, refused.stdout) == (10, "")
    assert "it holds 2 files" in refused.stderr
    assert not (tmp_path / "home" / "data").exists()
    assert ask(*verb, "--yes").status == 0
    assert ask(*verb).status == 0


def test_nothing_is_called_looked_at_in_full_without_a_look_at_the_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    extract_here(monkeypatch, ManualClock())
    assert ask("index").status == 0
    for verb in (("symbol", "nowhere"), ("search", "nowhere", "--mode", "regex")):
        assert "all of them were" in ask(*verb).stdout
        unsure = ask(*verb, "--no-sync")
        assert "all of them were" not in unsure.stdout
        assert "recent changes may be missing" in unsure.stderr


@pytest.mark.long
def test_the_first_question_about_a_large_folder_is_answered_in_part_while_the_daemon_makes_the_index(
    folder: Path, tmp_path: Path
) -> None:
    large(tmp_path)
    # More than a segment of text, so that some of it is sealed long before the rest.
    for number in range(1_200):
        body = "".join(f"def f{number}_{at}(a, b):\n    return g{at}(a, b) + {at}\n\n\n" for at in range(700))
        (folder / f"m{number:04}.py").write_text(body)
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}
    with no_daemon_left(environ):
        command = [sys.executable, "-m", "cairn", "symbol", "f1_2", "--partial", "--yes", "--json"]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["status"], answer["coverage"]["exhaustive"]) == (0, "ok", False)
        assert answer["coverage"]["partial"]
        assert 0 < answer["coverage"]["share"] < 1
        assert [row["path"] for row in answer["results"]][:1] == ["m0001.py"]
