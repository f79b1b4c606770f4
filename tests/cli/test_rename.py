"""`cairn rename` and `cairn undo` as people and scripts meet them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.core.clock import SYSTEM_CLOCK
from cairn.edit.journal import CUT
from cairn.edit.tree_writer import TreeWriter
from tests.answer.test_envelope import VALIDATORS
from tests.semantic.worlds import World
from tests.support.commands import Typed
from tests.support.commands import typed as typed_apart
from tests.support.faults import Faults
from tests.support.trees import write_tree
from tests.sync.desk import extract_here

WHO = {"name": "test", "version": "1"}


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    world = World(tmp_path.resolve())
    world.refresh()
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(world.tree)
    return world


def typed(*arguments: str, terminal: bool = False) -> Typed:
    """What a command prints, its bytes included."""
    kind = _Terminal if terminal else io.TextIOWrapper
    out, err = kind(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    status = main(arguments, Output(out, err))
    assert isinstance(out.buffer, io.BytesIO)
    return Typed(status, out.buffer.getvalue().decode(), err.getvalue())


def answer(*arguments: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(typed(*arguments, "--json").stdout)
    VALIDATORS[said["schema"]].validate(said)
    return said


def held(world: World) -> dict[str, bytes]:
    files = (path for path in world.tree.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(world.tree)): path.read_bytes() for path in files}


def test_a_rename_is_shown_applied_and_taken_back(world: World) -> None:
    before = held(world)
    shown = typed("rename", "greet", "welcome")
    assert (shown.status, shown.stdout) == (0, typed("semantic", "plan-rename", "greet", "welcome").stdout)
    assert held(world) == before
    done = typed_apart(["rename", "greet", "welcome", "--apply"], world.tree, world.environ)
    assert (done.status, done.stdout) == (0, "Renamed greet to welcome: 5 places in 3 files.\n")
    assert "`cairn undo` takes it back." in done.stderr
    subprocess.run(
        ["git", "apply", "--reverse", "--check", "-"], cwd=world.tree, input=shown.stdout.encode(), check=True
    )
    undone = typed_apart(["undo"], world.tree, world.environ)
    assert (undone.status, undone.stdout.splitlines()) == (
        0,
        ["Taken back: rename greet to welcome, 3 files.", "  app.py", "  hand.py", "  lib.py"],
    )
    assert held(world) == before
    again = typed("undo")
    assert (again.status, again.stdout) == (15, "")
    assert again.stderr.startswith("cairn: There is no edit here to take back.")


def test_in_json_it_says_the_verdict_the_patch_and_the_number_of_the_edit(world: World) -> None:
    planned = answer("rename", "greet", "welcome")
    assert (planned["verdict"], planned["applied"], planned["edit"]) == ("automatic", False, None)
    assert planned["text"] == typed("rename", "greet", "welcome").stdout
    done = answer("rename", "greet", "welcome", "--apply")
    assert (done["verdict"], done["applied"], done["edit"]) == ("automatic", True, 1)
    undone = answer("undo")
    assert undone["edit"] == {"number": 1, "about": "rename greet to welcome"}
    assert [one["path"] for one in undone["results"]] == ["app.py", "hand.py", "lib.py"]
    typed("rename", "greet", "welcome", "--apply")
    assert answer("undo", "--forget")["edit"] is None


def test_a_folder_that_was_never_indexed_is_indexed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    write_tree(tmp_path / "fresh", {"lib.py": "def greet():\n    return 1\n"})
    environ = {"CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = typed_apart(["rename", "greet", "welcome"], tmp_path / "fresh", environ)
    assert done.status == 19
    assert "cairn semantic refresh" in done.stdout + done.stderr
    assert typed_apart(["status"], tmp_path / "fresh", environ).status == 0


def test_a_line_names_a_definition_too(world: World) -> None:
    assert typed("rename", "lib.py:1", "welcome", "--apply").status == 0
    assert "def welcome(who)" in (world.tree / "lib.py").read_text()


def test_the_patch_has_colours_at_a_terminal_unless_they_are_not_wanted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = typed("rename", "greet", "welcome", terminal=True).stdout
    assert "\x1b[32m+def welcome(who):\x1b[0m" in shown
    assert "\x1b[31m-def greet(who):\x1b[0m" in shown
    assert "\x1b" not in typed("rename", "greet", "welcome").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in typed("rename", "greet", "welcome", terminal=True).stdout


# Says of every file with the new name that it is wrong.
SUSPICIOUS = """#!{python}
import json, os, sys
tree = sys.argv[sys.argv.index("-p") + 1]
bad = [name for name in sorted(os.listdir(tree)) if "welcome" in open(os.path.join(tree, name)).read()]
told = [{{"file": os.path.join(os.path.realpath(tree), name), "severity": "error", "message": "no such thing",
    "range": {{"start": {{"line": 0}}}}}} for name in bad]
print(json.dumps({{"generalDiagnostics": told}}))
"""


def test_a_plan_that_a_compiler_finds_wrong_is_not_offered(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("node", "pyright"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(SUSPICIOUS.format(python=sys.executable))
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    before = held(world)
    found = typed("rename", "greet", "welcome", "--apply")
    assert (found.status, found.stdout.splitlines()[-1]) == (19, "lib.py:1  no such thing")
    assert "pyright reports errors that it does not report without them" in found.stderr
    assert held(world) == before
    said = answer("rename", "greet", "welcome", "--apply")
    assert (said["verdict"], said["text"], said["applied"]) == ("blocked", "", False)
    assert [one["path"] for one in said["check"]["errors"]] == ["app.py", "hand.py", "lib.py"]
    fine = typed("rename", "meet", "encounter", "--apply")
    assert (fine.status, "Checked by pyright: no new error." in fine.stderr) == (0, True)
    assert "checked" not in typed("rename", "greet", "welcome", "--no-check").stderr.lower()


REFUSED = [
    (("nothing_like_it", "x"), 15, "nothing_like_it"),
    (("greet", "class"), 2, "The new name is no name in this language."),
    (("greet", "not a name"), 2, "The new name is no name in this language."),
    (("greet", "greet"), 2, "The new name is the old one."),
    (("greet", "main"), 18, "Something is ambiguous, and somebody has to decide what is meant."),
]


def test_what_cannot_be_done_is_said_and_changes_nothing(world: World) -> None:
    before = held(world)
    for arguments, status, says in REFUSED:
        found = typed("rename", *arguments, "--apply")
        assert (found.status, says in found.stdout + found.stderr) == (status, True), found
    assert held(world) == before
    assert typed("undo").status == 15


def test_a_file_that_is_left_out_and_uses_the_name_is_named(world: World) -> None:
    (world.tree / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9: Host\nfrom lib import greet\n")
    asked = typed("rename", "greet", "welcome")
    assert asked.status == 18
    assert "latin.py:3" in asked.stdout + asked.stderr
    assert typed("rename", "Host", "Guest").status == 0


def test_a_file_that_cannot_be_replaced_is_named_and_nothing_is_changed(world: World) -> None:
    before = held(world)
    (world.tree / "app.py").chmod(0o444)
    found = typed("rename", "greet", "welcome", "--apply")
    assert (found.status, found.stdout) == (61, "")
    assert found.stderr.startswith("cairn: app.py is not edited: it is read-only.\n  Every file is as it was before.")
    assert held(world) == before


def test_a_file_that_has_changed_since_what_is_known_of_it_closes_the_gate(world: World) -> None:
    world.replace("hand.py", "hello()", "hello(1)")
    before = held(world)
    found = typed("rename", "greet", "welcome", "--apply")
    assert found.status == 19
    assert "Nothing was changed." in found.stderr
    assert held(world) == before


def test_an_undo_names_a_file_that_has_changed_since(world: World) -> None:
    typed("rename", "greet", "welcome", "--apply")
    world.replace("app.py", "return Host", "return  Host")
    before = held(world)
    found = typed("undo")
    assert found.status == 61
    assert "app.py is not edited: it has changed since that edit." in found.stderr
    assert held(world) == before


class _Killed(BaseException):
    """The end of the process, as far as what it has written is concerned."""


def _cut_off() -> None:
    """Kill a rename before the second file takes its place."""
    with Faults.meanwhile() as meanwhile:
        meanwhile.fail(TreeWriter, "put", _Killed(), at=2)
        with pytest.raises(_Killed):
            typed("rename", "greet", "welcome", "--apply")


def test_whatever_is_typed_next_finishes_an_edit_that_was_cut_off(world: World) -> None:
    before = held(world)
    _cut_off()
    for reading in (("status", "--read-only"), ("search", "greet", "--read-only")):
        assert CUT in typed(*reading).stderr
        assert CUT in answer(*reading)["warnings"]
    assert held(world) != before
    found = typed("status")
    assert "note: An edit of 3 files in tree was cut off; it is finished now." in found.stderr
    assert CUT not in found.stderr
    after = held(world)
    assert {name for name in after if after[name] != before[name]} == {"app.py", "hand.py", "lib.py"}
    assert typed("undo").status == 0
    assert held(world) == before


@pytest.mark.long
def test_a_purge_removes_edits_that_could_be_taken_back_and_none_that_was_cut_off(world: World) -> None:
    edits = Path(world.environ["CAIRN_HOME"], "edits")
    _cut_off()
    for name in ("app.py", "hand.py", "lib.py"):
        (world.tree / name).write_text("saved meanwhile\n")
    stuck = typed("stores", "--purge", "--yes")
    assert "edits" in stuck.stdout + stuck.stderr
    assert (edits / "open").is_dir()
    assert typed("undo", "--forget").status == 0
    done = typed("stores", "--purge", "--yes")
    assert "edits" in done.stdout
    assert not edits.exists()


def test_an_agent_is_told_of_an_edit_that_was_cut_off_and_nothing_is_written_for_it(world: World) -> None:
    _cut_off()
    cut = held(world)
    calls = [
        {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": WHO}},
        {"method": "tools/call", "params": {"name": "find_symbol", "arguments": {"name": "greet"}}},
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", "id": number, **call}) + "\n" for number, call in enumerate(calls))
    command = [sys.executable, "-m", "cairn", "mcp", "--offline", "--format", "json"]
    environment = {**os.environ, **world.environ}
    with subprocess.Popen(
        command, cwd=world.tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(sent)
        server.stdin.flush()
        server.stdout.readline()
        said = json.loads(server.stdout.readline())
        server.stdin.close()
    assert CUT in json.loads(said["result"]["content"][0]["text"])["warnings"]
    assert held(world) == cut


def test_ctrl_c_in_the_middle_does_not_leave_it_there(world: World) -> None:
    with Faults.meanwhile() as meanwhile:
        meanwhile.fail(TreeWriter, "put", KeyboardInterrupt(), at=2)
        done = typed("rename", "greet", "welcome", "--apply")
    # It was too late to stop it, so it is told as what it is: done.
    assert (done.status, "Renamed greet to welcome" in done.stdout) == (0, True)
    assert "welcome" in (world.tree / "app.py").read_text()
    assert "welcome" in (world.tree / "lib.py").read_text()
    assert typed("undo").status == 0
