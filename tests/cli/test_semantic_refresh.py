"""`cairn semantic refresh` and `jobs` as a person meets them, with a small real program as the indexer."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.main import command_parser, main
from cairn.cli.output import Output
from cairn.cli.semantic import VERBS
from tests.schemas import check
from tests.semantic import fake_indexer
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    tools = fake_indexer.install(tmp_path / "tools")
    person.environment["PATH"] = f"{tools}{os.pathsep}{person.environment['PATH']}"
    return person


def answer(me: Person, schema: str, *arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(me.cairn("semantic", *arguments).stdout)
    check(value, schema)
    return value


def test_a_refresh_from_nothing_to_the_list_of_its_jobs(me: Person, tmp_path: Path) -> None:
    assert me.cairn("semantic", "jobs").stdout.startswith("No indexer has been asked")
    first = me.cairn("semantic", "refresh")
    assert (first.status, first.stdout) == (0, "python:.  1 file, 0 occurrences.\n")
    (tmp_path / "tools" / "mood").write_text("crash")
    failed = me.cairn("semantic", "refresh", "--scope", "src")
    assert (failed.status, failed.stdout) == (43, "python:.  failed.\n")
    assert "it does not build" in failed.stderr
    [last, before] = answer(me, "cairn.jobs/1", "jobs", "--json")["jobs"]
    assert (last["status"], before["status"]) == ("failed", "completed")
    assert last["error"].startswith("indexer_failed: ")
    assert last["scope"]["files"] == ["src/lease.py"]
    value = answer(me, "cairn.refresh/1", "refresh", "--json", "--scope", "full")
    assert [row["errorCode"] for row in value["contexts"]] == ["indexer_failed"]
    assert "it does not build" in me.cairn("semantic", "jobs").stdout
    status = me.cairn("status")
    assert status.status == 0
    assert "The last semantic refresh of python:. failed: indexer_failed: " in status.stderr


def test_what_is_not_there_is_told(me: Person) -> None:
    assert me.cairn("semantic", "jobs", "--cancel", "1").status == 15
    assert not (me.home / "semantic").exists()
    assert me.cairn("semantic", "refresh", "--scope", "nowhere.py").status == 48
    assert me.cairn("semantic").status == 2


@pytest.mark.long
def test_a_job_that_has_ended_or_never_was_cannot_be_cancelled(me: Person) -> None:
    me.cairn("semantic", "refresh")
    assert "has ended" in me.cairn("semantic", "jobs", "--cancel", "1").stderr
    assert "no job 9" in me.cairn("semantic", "jobs", "--cancel", "9").stderr
    assert me.cairn("semantic", "jobs", "--cancel", "0").status == 2
    assert "there is no context rust" in me.cairn("semantic", "refresh", "--context", "rust").stderr
    assert "refresh" in me.cairn("semantic", "--help").stdout


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_says_what_it_does_and_how_it_is_typed(verb: str) -> None:
    shown = helped("semantic", verb)
    assert shown.startswith(f"usage: cairn semantic {verb} ")
    assert "--json" in shown
    typed = [line.split() for line in shown.splitlines() if line.startswith("  cairn semantic ")]
    assert typed
    for words in typed:
        end = words.index("|") if "|" in words else None
        assert command_parser("semantic").parse_args(words[2:end]).verb == verb
    assert "refresh" in helped("semantic")


def helped(*words: str) -> str:
    out = io.StringIO()
    assert main([*words, "--help"], Output(out, io.StringIO())) == 0
    return out.getvalue()


@pytest.mark.long
def test_what_is_known_of_a_folder_goes_with_its_last_index(me: Person, tmp_path: Path) -> None:
    assert me.cairn("semantic", "refresh").status == 0
    known = [path.suffix for path in (me.home / "semantic").iterdir()]
    assert ".db" in known
    used = ["gc", "--stores", "--unused-days", "0", "--root", str(tmp_path / "nowhere"), "--json"]
    ahead = json.loads(me.cairn(*used, "--dry-run").stdout)
    assert ".db" in [path.suffix for path in (me.home / "semantic").iterdir()]
    shutil.rmtree(me.tree)
    me.tree.mkdir()
    gone = json.loads(me.cairn(*used).stdout)
    assert [row["root"] for row in gone["stores"]["removed"]] == [str(me.tree)]
    assert gone["freedBytes"] == ahead["freedBytes"]
    assert gone["freedBytes"] > gone["stores"]["removed"][0]["bytes"]
    assert list((me.home / "semantic").iterdir()) == []
