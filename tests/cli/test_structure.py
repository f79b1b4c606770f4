"""`cairn outline`, `read`, `symbol` and `similar` as people and scripts meet them."""

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
from cairn.cli.structure import COMMANDS
from tests.cli.test_search import WRITER
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Typed
from tests.sync.desk import Desk, extract_here

LEASE = '''class Lease:
    """Held by one writer."""

    def steal(self, victim):
        return victim


def _help(): ...
'''
ASKED = {
    "outline": ("outline", "src/lease.py"),
    "read": ("read", "src/lease.py"),
    "symbol": ("symbol", "Lease"),
    "similar": ("similar", "src/lease.py:1"),
}


def ask(*arguments: str) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    status = main(arguments, Output(out, err, environ=os.environ))
    return Typed(status, out.getvalue(), err.getvalue())


def answer(*arguments: str, status: int = 0) -> dict[str, Any]:
    found = ask(*arguments, "--json")
    assert (found.status, found.stderr) == (status, "")
    value: dict[str, Any] = json.loads(found.stdout)
    check(value, value["schema"])
    return value


@pytest.fixture
def folder(bare: Path) -> Path:
    """A tree in which nothing is indexed yet."""
    (bare / "src" / "lease.py").write_text(LEASE)
    (bare / "src" / "twin.py").write_text(LEASE.replace("Lease", "Twin"))
    (bare / "notes.txt").write_text("one\n\x1b[31mtwo\n")
    (bare / "README.md").write_text("# A lease\n\n## Why\n")
    return bare


@pytest.fixture
def tree(folder: Path) -> Path:
    assert ask("index", "-q").status == 0
    return folder


def test_every_command_of_this_room_is_asked_here() -> None:
    assert set(COMMANDS) == set(ASKED)


# --- for people -------------------------------------------------------------------------------------------------------


def test_an_outline_names_each_definition_with_its_line(tree: Path) -> None:
    assert ask("outline", "src/lease.py").stdout == (
        "src/lease.py:1  class Lease  (class)\n"
        "src/lease.py:4    def steal(self, victim)  (method)\n"
        "src/lease.py:8  def _help()  (function, not exported)\n"
    )
    assert "  Held by one writer.\n" in ask("outline", "src/lease.py", "-v").stdout
    cut = ask("outline", "src/lease.py", "-k", "1")
    assert (cut.stdout.count("\n"), cut.stderr) == (1, "2 more definitions.\n")
    assert ask("outline", "README.md").stdout.splitlines()[1] == "README.md:3    ## Why  (heading)"
    assert ask("outline", "src/lease.py:6-7").stdout == "src/lease.py defines nothing on these lines.\n"
    assert ask("outline", "src/lease.py", "-k", "0").status == 2


def test_the_path_is_one_that_a_terminal_can_open_from_here(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "src")
    assert ask("outline", "lease.py").stdout.startswith("lease.py:1  ")
    assert ask("outline", "../README.md").stdout.startswith("../README.md:1  ")
    monkeypatch.chdir("/")
    shown = ask("outline", "src/lease.py", "--root", str(tree)).stdout
    assert shown.partition(":1  ")[0].removeprefix("/") == f"{tree}/src/lease.py".removeprefix("/")


def test_lines_are_shown_with_their_numbers_and_with_what_they_cross(tree: Path) -> None:
    assert ask("read", "src/lease.py:4-5").stdout == "4     def steal(self, victim):\n5         return victim\n"
    assert ask("read", "src/lease.py:5-", "--annotate").stdout == (
        "  | Lease (class, 1-5)\n  | Lease.steal (method, 4-5)\n5         return victim\n6\n7\n"
        "  | _help (function, 8-8)\n8 def _help(): ...\n"
    )


def test_what_would_steer_a_terminal_is_shown_instead(tree: Path) -> None:
    assert ask("read", "notes.txt").stdout == "1 one\n2 \\x1b[31mtwo\n"


def test_a_file_that_has_changed_is_taken_in_first_or_told_beside_what_was_indexed(tree: Path) -> None:
    (tree / "src" / "lease.py").write_text("changed = 1\n")
    found = ask("read", "src/lease.py:1", "--no-sync")
    assert found.stdout == "1 class Lease:\n"
    assert "note: The file on disk has changed since it was indexed; this is what was indexed.\n" in found.stderr
    assert "note: The files were not compared with the index" in found.stderr
    value = answer("read", "src/lease.py:1", "--no-sync")
    assert (value["disk"], value["freshness"]["mode"]) == ("changed", "not_checked")
    value = answer("read", "src/lease.py:1")
    assert (value["disk"], value["freshness"]["mode"], value["text"]) == ("same", "synced", "changed = 1")


def test_definitions_are_found_by_name_and_an_absence_is_proven(tree: Path) -> None:
    assert ask("symbol", "Twin.steal").stdout == "src/twin.py:4  Twin.steal (method)\n  def steal(self, victim)\n"
    assert ask("symbol", "nowhere").stdout == "No definition has that name in 4 files, and all of them were searched.\n"
    some = ask("symbol", "steal", "-k", "1")
    assert some.stderr == "1 more definition; -k shows more of them at once.\n"


def test_the_next_definitions_are_from_the_same_snapshot_whatever_has_changed(tree: Path) -> None:
    for number in range(5):
        (tree / f"z{number}.py").write_text("def zebra(): ...\n")
    assert ask("sync", "-q").status == 0
    page = answer("symbol", "zebra", "-k", "2")
    first, seen = page["snapshot"], [row["path"] for row in page["results"]]
    (tree / "z3.py").unlink()
    assert ask("sync", "-q").status == 0
    while "continuation" in page:
        page = answer("symbol", "zebra", "-k", "2", "--continue", page["continuation"])
        assert page["snapshot"] == first
        seen += [row["path"] for row in page["results"]]
    assert seen == [f"z{number}.py" for number in range(5)]
    token = answer("symbol", "zebra", "-k", "2")["continuation"]
    for arguments in (("horse", "--continue", token), ("zebra", "--continue", "AAAA")):
        assert answer("symbol", *arguments, status=2)["error"]["code"] == "bad_continuation"


def test_a_name_that_is_not_the_only_one_lists_those_to_pick_from(tree: Path) -> None:
    found = ask("symbol", "steal", "--exact")
    assert found.status == 16
    assert found.stdout == "src/lease.py:4  Lease.steal (method)\nsrc/twin.py:4  Twin.steal (method)\n"
    assert found.stderr.startswith("cairn: 2 definitions are called steal.\n  Name one of them by its place, such as ")
    for line in found.stdout.splitlines():
        assert ask("symbol", line.partition("  ")[0], "--exact").status == 0


def test_similar_code_is_shown_like_a_search_result(tree: Path) -> None:
    found = ask("similar", "src/lease.py:4").stdout
    assert found.startswith("src/twin.py:1")
    assert "src/lease.py" not in found


@pytest.mark.parametrize("name", [b"\xff", b"\xffabcd", b"ab\xffcd:3", b"steal\x1b[31m", b"steal\n"])
def test_a_name_that_is_no_text_is_looked_for_and_shown_without_harm(tree: Path, name: bytes) -> None:
    for arguments in (("symbol", os.fsdecode(name)), ("symbol", os.fsdecode(name), "--exact")):
        found = ask(*arguments)
        assert found.status in (0, 15, 16)
        assert "\x1b" not in found.stdout + found.stderr
        json.loads(ask(*arguments, "--json").stdout)
    assert ask("symbol", " ").status == 2


# --- for programs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ASKED)
def test_every_command_answers_in_the_published_shape(tree: Path, command: str) -> None:
    value = answer(*ASKED[command])
    assert (value["schema"], value["status"]) == (f"cairn.{command}/1", "ok")
    assert (value["path"], value["codebaseRoot"]) == (ASKED[command][1], str(tree))
    assert value["freshness"]["mode"] == "synced"
    assert value["coverage"]["exhaustive"] is (command == "symbol")
    assert answer(*ASKED[command], "--no-sync")["coverage"]["exhaustive"] is False
    assert set(value["timingsMs"]) == {"open", "ask", "total"}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("outline", "nothing.py"), 15, "not_found"),
        (("outline", "src/lease.py", "--symbol", "nope"), 15, "not_found"),
        (("read", "src/lease.py:99"), 15, "not_found"),
        (("similar", "src:1"), 15, "not_found"),
        (("symbol", "nope", "--exact"), 15, "not_found"),
        (("symbol", "steal", "--exact"), 16, "ambiguous"),
        (("outline", "notes.txt"), 17, "unsupported"),
    ],
)
def test_what_has_no_answer_has_the_status_that_says_so(
    tree: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    value = answer(*arguments, status=status)
    assert value["status"] == said
    assert "reason" not in value
    assert value["message"].endswith(".")
    assert value["hints"]["next"]
    plain = ask(*arguments)
    assert plain.status == status
    assert plain.stderr.startswith(f"cairn: {value['message']}")


def test_a_path_outside_the_root_is_an_error_of_the_source_tree(tree: Path) -> None:
    value = answer("read", "/etc/passwd", status=24)
    assert value["error"]["code"] == "path_outside_root"


@pytest.mark.parametrize("command", ASKED)
def test_without_an_index_the_gate_answers_and_nothing_is_made(folder: Path, command: str) -> None:
    value = answer(*ASKED[command], "--no-sync", status=10)
    assert (value["status"], value["reason"]) == ("not_indexed", "not_indexed")
    assert value["hints"]["status"]["args"] == {"action": "status", "path": str(folder)}
    assert not Path(os.environ["CAIRN_HOME"]).exists()
    assert "cairn: There is no index of" in ask(*ASKED[command], "--no-sync").stderr


def test_an_index_made_with_another_model_asks_for_a_reindex(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder / "desk")
    extract_here(monkeypatch, desk.clock)
    desk.put("src/lease.py", LEASE)
    desk.index()
    monkeypatch.setenv("CAIRN_HOME", str(desk.home))
    for arguments in ASKED.values():
        value = answer(*arguments, "--root", str(desk.tree), status=12)
        assert (value["status"], value["reason"]) == ("requires_reindex", "requires_reindex")


@conforms("000.API2", "000.API3")
def test_while_the_index_is_built_anew_every_command_says_so_and_the_old_one_answers_on_request(tree: Path) -> None:
    [store] = (Path(os.environ["CAIRN_HOME"]) / "data").iterdir()
    command = [sys.executable, "-c", WRITER, os.environ["CAIRN_HOME"], f"data/{store.name}", "reindex"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"held\n"
        for arguments in ASKED.values():
            value = answer(*arguments, status=11)
            assert (value["status"], value["reason"]) == ("not_ready", "indexing")
            assert value["indexing"]["indexingType"] == "full"
            assert value["hints"]["lastGood"]["with"] == "allowStale"
            assert "text" not in value
            stale = answer(*arguments, "--stale-ok")
            assert (stale["status"], stale["freshness"]["mode"]) == ("ok", "stale_ok")
            assert "is being indexed" in ask(*arguments).stderr
        assert writer.stdin is not None
        writer.stdin.close()


def test_the_same_question_has_the_same_answer_byte_for_byte(tree: Path) -> None:
    for arguments in ASKED.values():
        first, second = (answer(*arguments) | {"timingsMs": {}, "freshness": {}} for _ in range(2))
        assert json.dumps(first) == json.dumps(second)
