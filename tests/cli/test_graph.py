"""`cairn graph` as people and scripts meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.cli.main import command_parser
from tests.cli.test_structure import answer, ask

LEASE = """def helper(hook):
    hook()


class Lease:
    def __init__(self):
        helper(None)

    def steal(self, other):
        other.steal(self)
        return self.steal(other)

    def renew(self):
        self.steal(None)
        self.steal(None)


class Twin:
    def steal(self): ...
"""
APP = """from lease import Lease, helper

lease = Lease()
helper(1)


def run():
    Lease().renew()
"""


@pytest.fixture
def folder(bare: Path) -> Path:
    """A tree in which nothing is indexed yet."""
    (bare / "src" / "lease.py").write_text(LEASE)
    (bare / "src" / "app.py").write_text(APP)
    (bare / "README.md").write_text("# A heading\n")
    return bare


@pytest.fixture
def tree(folder: Path) -> Path:
    assert ask("index", "-q").status == 0
    return folder


# --- for people -------------------------------------------------------------------------------------------------------


def test_callers_stand_at_their_call_and_callees_at_their_definition(tree: Path) -> None:
    found = ask("graph", "Lease.renew")
    assert found.stdout == (
        "src/lease.py:13  Lease.renew (method)\n"
        "called by\n"
        "  <~ src/app.py:8  run (function)  Lease().renew()\n"
        "calls\n"
        "  -> src/lease.py:9  Lease.steal (method, 2 calls)  self.steal(None)\n"
    )
    assert found.stderr == "~ is likely; - is proven.\n"
    assert ask("graph", "Lease.renew", "--callers").stdout.endswith("run (function)  Lease().renew()\n")
    assert "called by" not in ask("graph", "Lease.renew", "--callees").stdout


def test_steps_are_indented_and_a_definition_is_opened_once(tree: Path) -> None:
    found = ask("graph", "helper", "--callers", "--depth", "3")
    assert found.stdout == (
        "src/lease.py:1  helper (function)\n"
        "called by\n"
        "  <- src/app.py:4  (file)  helper(1)\n"
        "  <- src/lease.py:7  Lease (class)  helper(None)\n"
        "    <- src/app.py:3  lease (variable)  lease = Lease()\n"
        "    <- src/app.py:8  run (function)  Lease().renew()\n"
    )
    recursive = ask("graph", "Lease.steal", "--callers", "--depth", "2")
    assert "  <- src/lease.py:11  Lease.steal (method) (itself)  return self.steal(other)\n" in recursive.stdout


def test_a_class_lists_what_each_member_calls(tree: Path) -> None:
    found = ask("graph", "Lease", "--callees", "--depth", "2")
    assert found.stdout == (
        "src/lease.py:5  Lease (class)\n"
        "calls\n"
        "  -> src/lease.py:1  helper (function)  helper(None)\n"
        "  in src/lease.py:9  Lease.steal (method)\n"
        "    -> src/lease.py:9  Lease.steal (method) (itself)  return self.steal(other)\n"
        "  in src/lease.py:13  Lease.renew (method)\n"
        "    -> src/lease.py:9  Lease.steal (method, 2 calls) (shown elsewhere)  self.steal(None)\n"
    )
    assert ask("graph", "Twin").stdout == (
        "src/lease.py:18  Twin (class)\ncalled by nothing that is known\ncalls nothing that is known\n"
    )


def test_the_shortest_way_from_one_definition_to_another_is_one_line_for_each_call(tree: Path) -> None:
    found = ask("graph", "run", "--to", "Lease.steal")
    assert found.stdout == (
        "src/app.py:7  run (function)\n"
        "  ~> src/lease.py:13  Lease.renew (method)  Lease().renew()\n"
        "  -> src/lease.py:9  Lease.steal (method)  self.steal(None)\n"
    )
    value = answer("graph", "run", "--to", "Lease.steal")
    assert (value["graph"]["to"], value["graph"]["depth"]) == ("src/lease.py#Lease.steal", 2)
    assert [edge["text"] for edge in value["edges"]] == ["Lease().renew()", "self.steal(None)"]
    none = ask("graph", "helper", "--to", "run")
    assert none.stdout == "src/lease.py:1  helper (function)\n"
    assert "note: No known call leads from the one to the other, however many steps are gone.\n" in none.stderr
    assert ask("graph", "run", "--to", "nobody").status == 15
    assert ask("graph", "run", "--to", "helper", "--callers").status == 2


def test_tests_that_reach_a_definition_are_found_through_code_and_helpers(tree: Path) -> None:
    (tree / "tests").mkdir()
    (tree / "tests" / "test_app.py").write_text(
        "from app import run\n\n\ndef prepared():\n    run()\n\n\ndef test_it_runs():\n    prepared()\n"
    )
    found = ask("graph", "Lease.renew", "--tests")
    assert found.stdout == (
        "src/lease.py:13  Lease.renew (method)\n"
        "reached by\n"
        "  <~ src/app.py:8  run (function)  Lease().renew()\n"
        "    <- tests/test_app.py:5  prepared (function)  run()\n"
        "      <- tests/test_app.py:9  test_it_runs (function, test)  prepared()\n"
    )
    value = answer("graph", "Lease.renew", "--tests")
    assert [node["symbolId"] for node in value["nodes"] if "isTest" in node] == ["tests/test_app.py#test_it_runs"]
    assert ask("graph", "Twin", "--tests").stdout.endswith("reached by nothing that is known\n")


def test_what_very_many_files_use_is_listed_last_and_that_is_said(tree: Path) -> None:
    (tree / "src" / "checks.py").write_text("def ensure(what): ...\n")
    (tree / "src" / "main.py").write_text(
        "from checks import ensure\nfrom lease import helper\n\n\ndef main():\n    ensure(1)\n    helper(2)\n"
    )
    for number in range(15):
        (tree / "src" / f"user{number}.py").write_text("from checks import ensure\n\nensure(3)\n")
    found = ask("graph", "main", "--callees")
    assert found.stdout.splitlines()[2:] == [
        "  -> src/lease.py:1  helper (function)  helper(2)",
        "  -> src/checks.py:1  ensure (function, used in 16 files)  ensure(1)",
    ]
    assert "1 definition that very many files use, such as an assertion or an allocator, comes last." in found.stderr


def test_what_is_not_in_the_graph_is_counted_and_v_lists_it(tree: Path) -> None:
    found = ask("graph", "Lease.steal")
    assert found.stderr == (
        "Not shown: 1 call by a name that several things may have, 1 definition with more edges than are shown;"
        " -v lists them.\n"
    )
    listed = ask("graph", "Lease.steal", "-v").stderr.splitlines()
    assert listed == [
        "src/lease.py:9  (suppressed_edge) 1 use has this name, and nothing shows whether it is meant.",
        "src/lease.py:10  other.steal  (unresolved_edge)"
        " 2 definitions have this name, and nothing shows whether one is meant.",
    ]
    assert ask("graph", "Lease.steal", "-v", "--notes", "1").stderr.splitlines()[1:] == [
        "1 more note; --notes shows more."
    ]
    by_name = ask("graph", "Lease.steal", "--callees", "--min-tier", "name_only")
    assert "  ?> src/lease.py:19  Twin.steal (method)  other.steal(self)\n" in by_name.stdout
    assert by_name.stderr == "? is no more than a name; - is proven.\n"
    assert ask("graph", "helper", "-k", "1").stderr.splitlines()[0] == "1 more edge did not fit; -k shows more."


def test_an_import_without_a_call_is_shown_and_a_language_without_imports_is_named(tree: Path) -> None:
    (tree / "src" / "hands_on.py").write_text("from lease import helper\n")
    (tree / "a.rb").write_text("def paint\nend\n\ndef draw\n  paint\nend\n")
    assert ask("sync", "-q").status == 0
    assert "  <- src/hands_on.py:1  (file, import)  from lease import helper\n" in ask("graph", "helper").stdout
    assert "note: Imports of ruby are not followed" in ask("graph", "paint").stderr


def test_a_picture_is_all_that_is_printed(tree: Path) -> None:
    assert ask("graph", "Lease.renew", "--callees", "--format", "dot").stdout == (
        "digraph calls {\n"
        '  rankdir="LR";\n'
        '  node [shape="box", fontname="sans-serif"];\n'
        '  n0 [label="Lease.renew\\nsrc/lease.py:13", penwidth="2"];\n'
        '  n1 [label="Lease.steal\\nsrc/lease.py:9"];\n'
        '  n0 -> n1 [style="solid"];\n'
        "}\n"
    )
    assert ask("graph", "Lease.renew", "--callees", "--format", "mermaid").stdout == (
        "flowchart LR\n"
        '  n0["Lease.renew<br/>src/lease.py:13"]\n'
        '  n1["Lease.steal<br/>src/lease.py:9"]\n'
        "  n0 --> n1\n"
        "  style n0 stroke-width:3px\n"
    )


# --- for programs -----------------------------------------------------------------------------------------------------


def test_an_id_of_an_answer_names_its_definition_again(tree: Path) -> None:
    value = answer("graph", "Lease.renew", "--callers")
    [edge] = value["edges"]
    assert (edge["src"], edge["dst"]) == ("src/app.py#run", "src/lease.py#Lease.renew")
    again = answer("graph", edge["dst"], "--callers")
    assert (again["nodes"], again["edges"]) == (value["nodes"], value["edges"])
    assert answer("graph", "steal", "--file", "src/lease.py", "--exact", status=16)["status"] == "ambiguous"
    # A class and its constructor have one name in Java, and are one.
    (tree / "Gate.java").write_text("class Gate { Gate() {} Gate(int a) {} }\n")
    assert ask("sync", "-q").status == 0
    assert answer("graph", "Gate")["graph"]["symbolId"] == "Gate.java#Gate"
    assert answer("graph", "src/lease.py:13")["graph"]["symbolId"] == "src/lease.py#Lease.renew"


def test_the_format_json_is_what_json_means(tree: Path) -> None:
    asked = ask("graph", "helper", "--format", "json")
    value, other = json.loads(asked.stdout), answer("graph", "helper")
    assert asked.stderr == ""
    assert value | {"timingsMs": {}, "freshness": {}} == other | {"timingsMs": {}, "freshness": {}}
    wrong = ask("graph", "helper", "--format", "json", "--depth", "99")
    assert (wrong.status, json.loads(wrong.stdout)["error"]["code"]) == (2, "usage")
    offered = command_parser("graph")._option_string_actions["--format"].choices
    assert offered == ["text", "json", "dot", "mermaid"]


def test_the_same_snapshot_gives_the_same_bytes_whatever_the_hashes_of_names_are(
    tree: Path,
) -> None:
    printed = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "cairn", "graph", "Lease", "--depth", "3", "--min-tier", "name_only", "-v"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONHASHSEED": seed}
        )
        printed.add((done.stdout, done.stderr))
    assert len(printed) == 1


# --- what cannot be answered ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--depth", "99"), "The depth of a call graph must be a whole number from 1 to 3."),
        (("--depth", "0"), "The depth of a call graph must be a whole number from 1 to 3."),
        (("-k", "0"), "The number of definitions must be a whole number from 1 to 500."),
        (("--notes", "1001"), "The number of notes must be a whole number from 0 to 1,000."),
        (("--callers", "--callees"), "Take --callers, --callees, --tests or --to; without any both ways are shown."),
    ],
)
def test_a_wrong_number_is_refused_in_one_sentence(tree: Path, arguments: tuple[str, ...], problem: str) -> None:
    found = ask("graph", "helper", *arguments)
    assert (found.status, found.stdout) == (2, "")
    assert found.stderr.splitlines()[0] == f"cairn: {problem}"


def test_what_there_is_none_or_several_of_says_so(tree: Path) -> None:
    missing = answer("graph", "Leese", status=15)
    assert (missing["status"], missing["candidates"][0]["symbol"]) == ("not_found", "Lease")
    several = ask("graph", "steal", "--format", "dot", "--exact")
    assert several.status == 16
    assert "digraph" not in several.stdout
    best = answer("graph", "steal")
    assert [each["place"] if "place" in each else each["path"] for each in best["candidates"]] == ["src/lease.py"]
    assert "1 more definition has this name" in best["warnings"][0]
    assert answer("graph", "A heading", status=17)["status"] == "unsupported"


def test_without_an_index_there_is_no_graph(folder: Path) -> None:
    assert answer("graph", "Lease", "--no-sync", status=10)["status"] == "not_indexed"
