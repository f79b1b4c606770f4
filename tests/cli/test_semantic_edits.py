"""`cairn semantic state`, `gate`, `decide`, `plan-rename` and `cairn refs --local` as people and scripts meet them."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.core.clock import SYSTEM_CLOCK
from tests.answer.test_envelope import VALIDATORS
from tests.conformance import conforms
from tests.semantic.worlds import World
from tests.support.commands import Typed
from tests.sync.desk import extract_here


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    world = World(tmp_path.resolve())
    world.write("twice.py", "def load():\n    return 1\n\n\ndef load():\n    return 2\n")
    world.refresh()
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(world.tree)
    return world


def typed(*arguments: str) -> Typed:
    """What a command prints, its bytes included."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    status = main(arguments, Output(out, err))
    return Typed(status, out.buffer.getvalue().decode(), err.getvalue())


def answer(*arguments: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(typed(*arguments, "--json").stdout)
    VALIDATORS[said["schema"]].validate(said)
    return said


def test_states_are_shown_and_are_no_failure(world: World) -> None:
    world.replace("lib.py", "return who", "return None")
    found = typed("semantic", "state", "lib.py", "app.py", "twice.py")
    assert found.status == 0
    assert found.stdout.splitlines()[:3] == [
        "lib.py  dirty, unknown",
        "    It has changed since it was indexed.",
        "app.py  pending_check, certain",
    ]
    assert "twice.py  clean, ambiguous" in found.stdout
    assert answer("semantic", "state", "lib.py")["results"][0]["freshness"] == "dirty"


@conforms("002.AX3")
def test_the_exit_status_of_the_gate_says_what_may_be_done(world: World) -> None:
    assert typed("semantic", "gate", "app.py").status == 0
    needs = typed("semantic", "gate", "app.py", "twice.py")
    assert needs.status == 18
    assert "Choose: twice.py:1, twice.py:5, accept" in needs.stdout
    assert "cairn semantic decide SIGNATURE CHOICE --file FILE" in needs.stderr
    world.replace("app.py", "main", "other")
    blocked = typed("semantic", "gate", "app.py", "twice.py")
    assert blocked.status == 19
    assert "cairn semantic refresh" in blocked.stdout
    assert "cairn refs --local" in blocked.stdout
    assert [answer("semantic", "gate", name)["status"] for name in ("lib.py", "twice.py", "app.py")] == [
        "ok",
        "needs_decision",
        "blocked",
    ]
    assert typed("semantic", "gate", "gone.py").status == 15


def test_a_decision_is_made_and_the_gate_opens(world: World) -> None:
    signature = answer("semantic", "gate", "twice.py")["results"][0]["questions"][0]["signature"]
    kept = typed("semantic", "decide", signature[:12], "accept", "--file", "twice.py", "--note", "known")
    assert (kept.status, kept.stdout.startswith(signature[:12])) == (0, True)
    assert typed("semantic", "gate", "twice.py").status == 0
    assert answer("semantic", "decide", signature, "twice.py:5", "--file", "twice.py")["decision"] == {
        "signature": signature,
        "selected": ["twice.py:5"],
    }
    assert typed("semantic", "decide", signature, "lib.py:1", "--file", "twice.py").status == 2
    assert typed("semantic", "decide", "0" * 64, "accept", "--file", "twice.py").status == 15


def test_a_plan_can_be_piped_into_git(world: World) -> None:
    found = typed("semantic", "plan-rename", "greet", "welcome")
    assert found.status == 0
    assert "5 places in 3 files" in found.stderr
    subprocess.run(["git", "apply", "-"], cwd=world.tree, input=found.stdout.encode(), check=True)
    assert "def welcome(who)" in (world.tree / "lib.py").read_text()
    # Now nothing is clean, and nothing is planned by what was known.
    again = typed("semantic", "plan-rename", "welcome", "greet")
    assert again.status == 19
    assert "diff" not in again.stdout


def test_a_plan_in_json_holds_the_patch_and_what_stands_against_one(world: World) -> None:
    said = answer("semantic", "plan-rename", "greet", "welcome")
    assert said["text"] == typed("semantic", "plan-rename", "greet", "welcome").stdout
    taken = answer("semantic", "plan-rename", "greet", "main")
    assert (taken["status"], taken["text"]) == ("needs_decision", "")
    assert typed("semantic", "plan-rename", "nothing_like_it", "x").status == 15
    assert typed("semantic", "plan-rename", "greet", "not a name").status == 2
    decided = typed("semantic", "decide", taken["questions"][0]["signature"], "accept", "--rename", "greet", "main")
    assert decided.status == 0
    assert answer("semantic", "plan-rename", "greet", "main")["status"] == "ok"


def test_uses_say_which_layer_knows_them(world: World) -> None:
    found = typed("refs", "greet").stdout
    assert "(call in main, proven, semantic)" in found
    assert {one["layer"] for one in answer("refs", "greet")["results"]} == {"semantic"}
    assert {one["layer"] for one in answer("outline", "lib.py")["results"]} == {"semantic"}
    assert {one["layer"] for one in answer("graph", "greet")["edges"]} == {"semantic"}
    world.write("lib.py", "# A comment.\n" + (world.tree / "lib.py").read_text())
    assert {one["layer"] for one in answer("refs", "greet")["results"]} == {"semantic"}, "no line of code has changed"
    world.write("lib.py", "added = 1\n" + (world.tree / "lib.py").read_text())
    assert {one["layer"] for one in answer("refs", "greet")["results"]} == {"syntactic"}
    assert {one["layer"] for one in answer("outline", "lib.py")["results"]} == {"syntactic"}
    # What depends on the one file that has changed is not said to have changed too.
    told = "Since an indexer read the code 1 file has changed and 2 files depend on what has changed; syntax alone"
    warnings = answer("refs", "greet")["warnings"]
    assert [one for one in warnings if one.startswith(told)], warnings
    assert told in typed("refs", "greet").stderr


def test_a_page_is_not_continued_after_another_refresh(world: World) -> None:
    first = answer("refs", "greet", "-k", "2")
    token = first["continuation"]
    assert len(answer("refs", "greet", "-k", "2", "--continue", token)["results"]) == 2
    world.write("more.py", "from lib import greet\n")
    world.refresh(["more.py"])
    assert typed("refs", "greet", "--continue", token).status == 2


@conforms("002.LAY1")
def test_local_names_are_shown_by_syntax_alone(world: World) -> None:
    world.replace("app.py", "main", "other")
    typed("sync")
    found = typed("refs", "other", "--local")
    assert found.status == 0
    assert found.stdout.splitlines() == [
        "app.py:4  other (function)",
        "x",
        "  app.py:5  greet('ä'); x = greet  (write)",
        "  app.py:6  return Host, x  (read)",
    ]
    said = answer("refs", "other", "--local")
    assert [(one["symbol"], [place["role"] for place in one["places"]]) for one in said["results"]] == [
        ("x", ["write", "read"])
    ]
    assert typed("refs", "Host", "--local").status == 17


def test_a_damaged_database_takes_nothing_from_other_answers(world: World) -> None:
    before = answer("refs", "greet")["counts"]
    Path(world.database.path).write_bytes(b"no database")
    after = answer("refs", "greet")
    assert {one["layer"] for one in after["results"]} == {"syntactic"}
    assert after["counts"]["imports"] == before["imports"]
    assert typed("semantic", "gate", "app.py").status == 40
