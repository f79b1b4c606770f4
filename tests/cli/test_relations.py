"""`cairn refs` as people and scripts meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.cli.main import command_parser
from cairn.graph.scopes import Tier
from tests.cli.test_structure import answer, ask

LEASE = """class Lease:
    def steal(self, victim):
        return self.steal(victim)


def take(): ...
"""
APP = """from lease import Lease, take


def run(lease: Lease, other):
    lease.steal(1)
    other.steal(2)
    take()
"""


@pytest.fixture
def folder(bare: Path) -> Path:
    """A tree in which nothing is indexed yet."""
    (bare / "src" / "lease.py").write_text(LEASE)
    (bare / "src" / "app.py").write_text(APP)
    (bare / "src" / "twin.py").write_text("class Twin:\n    def steal(self):\n        self.steal()\n")
    (bare / "notes.txt").write_text("one\n")
    (bare / "README.md").write_text("# A heading\n")
    return bare


@pytest.fixture
def tree(folder: Path) -> Path:
    assert ask("index", "-q").status == 0
    return folder


def test_the_tiers_that_can_be_asked_for_are_those_of_the_graph() -> None:
    for command in ("refs", "graph"):
        offered = command_parser(command)._option_string_actions["--min-tier"].choices
        assert offered == [tier.value for tier in Tier]


# --- for people -------------------------------------------------------------------------------------------------------


def test_the_definition_comes_first_then_who_uses_it_then_who_imports_it(tree: Path) -> None:
    found = ask("refs", "Lease")
    assert found.stdout == (
        "src/lease.py:1  Lease (class)\n"
        "src/app.py:4:16  def run(lease: Lease, other):  (type in run, proven)\n"
        "src/app.py:1:1  from lease import Lease, take  (import, proven)\n"
    )
    assert found.stderr == "1 use (1 proven, 0 likely), 1 import.\n"


def test_what_is_not_sure_is_listed_last_or_counted_on_request(tree: Path) -> None:
    found = ask("refs", "Lease.steal", "--min-tier", "likely")
    assert found.stdout == (
        "src/lease.py:2  Lease.steal (method)\n"
        "src/app.py:5:11  lease.steal(1)  (call in run, likely)\n"
        "src/lease.py:3:21  return self.steal(victim)  (call in Lease.steal, proven)\n"
    )
    assert found.stderr == (
        "2 uses (1 proven, 1 likely), 0 imports. "
        "1 more place with this name may mean it or not (--min-tier name_only lists them). "
        "1 place with this name means something else.\n"
    )
    listed = ask("refs", "Lease.steal")
    assert listed.stdout == f"{found.stdout}src/app.py:6:11  other.steal(2)  (call in run, name_only)\n"
    assert "lists them" not in listed.stderr
    assert "likely)" not in ask("refs", "Lease.steal", "--min-tier", "proven").stdout


def test_what_nothing_uses_and_what_is_left_of_a_page_are_told(tree: Path) -> None:
    nothing = "No other place in the parsed code has this name.\n"
    said = ask("refs", "run")
    assert said.stdout == f"src/app.py:4  run (function)\n{nothing}"
    assert "Documents, data and settings were not looked at" in said.stderr
    page = ask("refs", "Lease", "-k", "1")
    assert page.stdout.count("\n") == 2
    assert "1 of them is not shown; -k shows more at once." in page.stderr


def test_where_a_value_is_only_read_is_a_use_too(tree: Path) -> None:
    (tree / "src" / "lease.py").write_text(f"LIMIT = 1\n{LEASE}\nprint(LIMIT)  # no LIMIT\n")
    assert ask("sync", "-q").status == 0
    line = LEASE.count("\n") + 3
    found = ask("refs", "LIMIT")
    shown = f"src/lease.py:{line}:7  print(LIMIT)  # no LIMIT  (value, proven)\n"
    assert found.stdout == f"src/lease.py:1  LIMIT (constant)\n{shown}"
    assert found.stderr == "1 use (1 proven, 0 likely), 0 imports.\n"
    assert answer("refs", "LIMIT")["counts"]["mentions"] == 1


def test_a_definition_is_named_from_where_one_stands(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "src")
    for arguments in (("lease.py:6",), ("src/lease.py:6",), ("take", "--file", "lease.py")):
        assert ask("refs", *arguments).stdout.splitlines() == [
            "lease.py:6  take (function)",
            "app.py:7:5  take()  (call in run, proven)",
            "app.py:1:1  from lease import Lease, take  (import, proven)",
        ]
    monkeypatch.chdir("/")
    assert ask("refs", "src/lease.py:6", "--root", str(tree)).status == 0


def test_a_name_of_several_answers_for_the_best_and_names_the_others(tree: Path) -> None:
    value = answer("refs", "steal")
    assert (value["status"], value["definitions"][0]["path"]) == ("ok", "src/lease.py")
    assert [each["path"] for each in value["candidates"]] == ["src/twin.py"]
    said = ask("refs", "steal")
    assert (said.status, said.stdout.splitlines()[0]) == (0, "src/lease.py:2  Lease.steal (method)")
    assert "also: src/twin.py:2  Twin.steal (method)\n" in said.stderr
    assert "1 more definition has this name; this answer is about the best one." in said.stderr


def test_asked_for_exactly_a_name_of_several_lists_those_to_pick_from(tree: Path) -> None:
    found = ask("refs", "steal", "--exact")
    assert (found.status, found.stdout) == (
        16,
        "src/lease.py:2  Lease.steal (method)\nsrc/twin.py:2  Twin.steal (method)\n",
    )
    for line in found.stdout.splitlines():
        assert ask("refs", line.partition("  ")[0]).status == 0


def test_what_would_steer_a_terminal_is_shown_instead(tree: Path) -> None:
    (tree / "src" / "evil.py").write_text("def evil(): ...\nevil()  # \x1b[31m\u202e\n")
    assert ask("sync", "-q").status == 0
    found = ask("refs", "evil")
    assert "src/evil.py:2:1  evil()  # \\x1b[31m\\u202e  (call, proven)\n" in found.stdout
    assert "\x1b" not in ask("refs", "evil", "--json").stdout


@pytest.mark.parametrize("name", [b"\xff", b"\xffabcd", b"ab\xffcd:3", b"steal\x1b[31m", b"steal\n", b"a:0", b"../x:1"])
def test_a_hostile_name_ends_in_one_sentence(tree: Path, name: bytes) -> None:
    found = ask("refs", os.fsdecode(name))
    # White space around a name is not part of it.
    expected = (0,) if name.strip() == b"steal" else (2, 15, 16, 24, 25, 26, 27, 28)
    assert found.status in expected
    assert not found.status or found.stderr.count("\n") == 2
    assert "\x1b" not in found.stdout + found.stderr
    json.loads(ask("refs", os.fsdecode(name), "--json").stdout)


# --- for programs -----------------------------------------------------------------------------------------------------


def test_the_answer_has_the_published_shape(tree: Path) -> None:
    value = answer("refs", "Lease.steal", "--min-tier", "name_only")
    assert (value["schema"], value["status"], value["path"]) == ("cairn.refs/1", "ok", "Lease.steal")
    assert value["counts"] == {"imports": 0, "proven": 1, "likely": 1, "nameOnly": 1, "elsewhere": 1} | {
        "mentions": 0,
        "roles": {"call": 3},
    }
    assert [(row["line"], row["column"], row["tier"], row.get("inside")) for row in value["results"]] == [
        (5, 11, "likely", "run"),
        (3, 21, "proven", "Lease.steal"),
        (6, 11, "name_only", "run"),
    ]
    assert value["results"][0]["text"] == "    lease.steal(1)"
    again = answer("refs", "Lease.steal", "--min-tier", "name_only")
    assert again | {"timingsMs": {}, "freshness": {}} == value | {"timingsMs": {}, "freshness": {}}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("leese",), 15, "not_found"),
        (("gone.py:3",), 15, "not_found"),
        (("src/app.py:2",), 15, "not_found"),
        (("steal", "--exact"), 16, "ambiguous"),
        (("notes.txt:1",), 17, "unsupported"),
        (("A heading",), 17, "unsupported"),
        (("take", "--file", "notes.txt"), 17, "unsupported"),
    ],
)
def test_what_has_no_answer_has_the_status_that_says_so(
    tree: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    value = answer("refs", *arguments, status=status)
    assert value["status"] == said
    assert value["message"].endswith(".")
    assert value["hints"]["next"]
    assert ask("refs", *arguments).stderr.startswith(f"cairn: {value['message']}")


def test_a_file_outside_the_root_and_a_wrong_number_are_errors(tree: Path) -> None:
    assert answer("refs", "/etc/passwd:1", status=24)["error"]["code"] == "path_outside_root"
    assert answer("refs", "take", "--file", "../x.py", status=24)["error"]["code"] == "path_outside_root"
    for arguments in (("take", "-k", "0"), ("take", "--min-tier", "sure"), ("src/lease.py:1-2",), ("",)):
        assert ask("refs", *arguments).status == 2


def test_without_an_index_the_gate_answers_and_nothing_is_made(folder: Path) -> None:
    value = answer("refs", "take", "--no-sync", status=10)
    assert (value["status"], value["reason"]) == ("not_indexed", "not_indexed")
    assert not Path(os.environ["CAIRN_HOME"]).exists()


def test_the_next_uses_are_from_the_same_snapshot_whatever_has_changed(tree: Path) -> None:
    page = answer("refs", "take", "-k", "1")
    first, seen = page["snapshot"], [row["line"] for row in page["results"]]
    (tree / "src" / "app.py").write_text("from lease import take\n\n\n\ntake()\n")
    assert ask("sync", "-q").status == 0
    while "continuation" in page:
        page = answer("refs", "take", "-k", "1", "--continue", page["continuation"])
        assert page["snapshot"] == first
        seen += [row["line"] for row in page["results"]]
    assert seen == [7, 1]
    token = answer("refs", "take", "-k", "1")["continuation"]
    for arguments in (("Lease", "--continue", token), ("take", "--continue", "AAAA")):
        assert answer("refs", *arguments, status=2)["error"]["code"] == "bad_continuation"


def typed(tree: Path, *arguments: str) -> str:
    """What the command itself prints, started as a program."""
    command = [sys.executable, "-m", "cairn", *arguments]
    found = subprocess.run(command, cwd=tree, env=os.environ, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


def test_the_command_itself_finds_a_callback_a_macro_a_partial_method_and_an_import_path(bare: Path) -> None:
    files = {
        "net/server.h": "#define C_OK 0\nvoid readQuery(int fd);\n",
        "net/server.c": """\
#include "server.h"
void readQuery(int fd) { }
int start(void) { onRead(3, readQuery); return C_OK; }
""",
        "shop/__init__.py": "from .model import Model\n",
        "shop/model.py": """\
from functools import partialmethod

class Model:
    def _next(self, forward): ...
    def made(cls):
        return partialmethod(cls._next, forward=True)
""",
    }
    for path, text in files.items():
        (bare / path).parent.mkdir(exist_ok=True)
        (bare / path).write_text(text)
    typed(bare, "index", "-q")
    callback = "net/server.c:3:29  int start(void) { onRead(3, readQuery); return C_OK; }  (value in start, proven)\n"
    assert typed(bare, "refs", "readQuery") == (
        f"net/server.c:2  readQuery (function)\nnet/server.h:2  readQuery (function)\n{callback}"
        "1 use (1 proven, 0 likely), 0 imports.\n"
    )
    assert callback.replace(":29 ", ":48 ") in typed(bare, "refs", "C_OK")
    wrapped = "shop/model.py:6:34  return partialmethod(cls._next, forward=True)  (read in Model.made, proven)\n"
    assert wrapped in typed(bare, "refs", "Model._next")
    assert "shop/model.py:3  Model (class)\n" in typed(bare, "refs", "shop.Model")


# --- how a definition is named, and what is said when there is none ---------------------------------------------------


def test_every_way_to_name_a_definition_means_the_same_one(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "shop" / "cart").mkdir(parents=True)
    (bare / "shop" / "__init__.py").write_text("from .cart.lines import Lines, add as put\n")
    (bare / "shop" / "cart" / "__init__.py").write_text("")
    (bare / "shop" / "cart" / "lines.py").write_text("class Lines:\n    def add(self): ...\n\n\ndef add(): ...\n")
    (bare / "other.py").write_text("class Other:\n    def add(self): ...\n")
    assert ask("index", "-q").status == 0
    monkeypatch.chdir(bare / "shop")
    method = ("shop.Lines.add", "Lines.add", "cart/lines.py:2", "cart/lines.py:2:9", "cart/lines.py#Lines.add")
    function = ("shop.put", "shop.cart.lines.add", "cart/lines.py:5", "cart/lines.py#add", "shop/cart/lines.py#add")
    for line, names in ((2, method), (5, function)):
        for name in names:
            for command in (("refs", name), ("graph", name), ("refs", name, "--exact")):
                assert ask(*command).stdout.startswith(f"cart/lines.py:{line}  "), command
    for name in ("shop.put", "shop.Lines.add"):
        for arguments in (("symbol", name), ("symbol", name, "--exact")):
            row = answer(*arguments)["results"][0]
            assert (row["path"], row["way"]) == ("shop/cart/lines.py", "exact")


def test_what_cannot_be_answered_is_told_in_one_sentence_with_the_nearest_names(tree: Path) -> None:
    def said(*arguments: str) -> tuple[int, str, list[str]]:
        found = ask("refs", *arguments)
        return found.status, found.stderr, [line.partition("  ")[2] for line in found.stdout.splitlines()]

    missing = "cairn: Nothing is called staal.\n  The nearest names are listed.\n"
    assert said("staal") == (15, missing, ["Lease.steal (method)", "Twin.steal (method)"])
    blank = "cairn: No definition stands on line 2 of src/app.py.\n  The nearest ones are listed.\n"
    assert said("src/app.py:2") == (15, blank, ["run (function)"])
    beyond = blank.replace("line 2 of src/app.py", "line 70 of src/app.py, which has 7 lines in the index")
    assert said("src/app.py:70") == (15, beyond, ["run (function)"])
    gone = "cairn: There is no file {0} in the index, and none on disk.\n  The nearest one is {1}.\n"
    assert said("src/apq.py:2") == (15, gone.format("src/apq.py", "src/app.py"), [])
    assert said("lib/app.py:2") == (15, gone.format("lib/app.py", "src/app.py"), [])
    advice = "Name one of them by its place, such as src/lease.py:2, or with more of the names around it."
    several = f"cairn: 2 definitions are called steal.\n  {advice}\n"
    assert said("steal", "--exact") == (16, several, ["Lease.steal (method)", "Twin.steal (method)"])
    (tree / "src" / "app.py").write_text("\n" * 40)
    changed = "cairn: src/app.py is not as it was indexed, so its lines are others now.\n"
    status, told, listed = said("src/app.py:2", "--no-sync")
    assert (status, listed) == (15, [])
    assert told.endswith(f"{changed}  `cairn sync` brings the index up to date.\n")
