"""The graph around a definition: how far it goes, what it leaves out, and that nothing but the snapshot decides."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from cairn.core import limits
from cairn.graph import callsites
from cairn.graph.calls import CallGraph, CallSite, Direction, calls_around
from cairn.graph.callsites import Note, NoteType
from cairn.graph.scopes import Tier
from tests.graph.trees import graph_of
from tests.support.faults import Faults

CHAIN = {
    "a.py": "from b import two\ndef one():\n    two()\n",
    "b.py": "from c import three\ndef two():\n    three()\n    three()\n",
    "c.py": "from d import four\ndef three():\n    four()\n",
    "d.py": "import a\ndef four():\n    a.one()\n    four()\n",
    "top.py": "from c import three\n\nthree()\nthree()\n",
}


def calls(tree: Mapping[str, str], asked: str, **options: Any) -> CallGraph:
    """The graph around `file#name`."""
    path, _, name = asked.partition("#")
    with graph_of(tree) as graph:
        place, *_ = graph.places(path, name)
        return calls_around(graph, place, **({"most_nodes": 50, "most_edges": 200} | options))


def arrows(found: CallGraph) -> list[str]:
    return [f"{edge.src.partition('#')[2] or edge.src} {edge.dst.partition('#')[2]}" for edge in found.edges]


def notes(found: CallGraph, kind: NoteType) -> list[Note]:
    return [note for note in found.notes if note.type is kind]


@pytest.mark.parametrize(
    ("direction", "depth", "expected"),
    [
        (Direction.CALLERS, 1, ["two three", "top.py three"]),
        (Direction.CALLERS, 2, ["two three", "top.py three", "one two"]),
        (Direction.CALLEES, 1, ["three four"]),
        (Direction.CALLEES, 2, ["three four", "four one", "four four"]),
        (Direction.BOTH, 1, ["two three", "three four", "top.py three"]),
        (Direction.BOTH, 3, ["two three", "three four", "top.py three", "four one", "four four", "one two"]),
    ],
)
def test_each_way_is_followed_as_far_as_asked(direction: Direction, depth: int, expected: list[str]) -> None:
    assert arrows(calls(CHAIN, "c.py#three", direction=direction, depth=depth)) == expected


def test_a_cycle_ends_and_every_node_is_there_once_with_the_shortest_distance() -> None:
    found = calls(CHAIN, "a.py#one", direction=Direction.CALLEES, depth=3)
    assert arrows(found) == ["one two", "two three", "three four"]
    both = calls(CHAIN, "a.py#one", depth=3)
    assert {(node.id, node.distance) for node in both.nodes} == {
        ("a.py#one", 0),
        ("b.py#two", 1),
        ("d.py#four", 1),
        ("c.py#three", 2),
        ("top.py", 3),
    }
    assert len(both.edges) == len(set(arrows(both))) == 6


def test_several_calls_of_one_tier_are_one_edge_and_tiers_are_never_mixed() -> None:
    [edge] = calls(CHAIN, "b.py#two", direction=Direction.CALLEES).edges
    assert (edge.count, edge.site, edge.tier) == (2, CallSite("b.py", 3, 5, "three()"), Tier.PROVEN)
    tree = {"a.py": "class A:\n    def go(self): ...\n    def f(self, é, x):\n        é; x.go(); self.go()\n"}
    sure, guessed = calls(tree, "a.py#A.f", direction=Direction.CALLEES).edges
    text = "é; x.go(); self.go()"
    assert (sure.count, sure.kind, sure.tier, sure.site) == (1, "call", "proven", CallSite("a.py", 4, 25, text))
    assert (guessed.count, guessed.kind, guessed.tier) == (1, "dynamic", "likely")


def test_the_order_in_which_files_came_in_changes_nothing() -> None:
    def everything(*trees: Mapping[str, str]) -> CallGraph:
        with graph_of(*trees) as graph:
            [place] = graph.places("c.py", "three")
            return calls_around(graph, place, depth=3, most_nodes=3, most_edges=3)

    expected = everything(CHAIN)
    for seed in range(3):
        paths = sorted(CHAIN)
        random.Random(seed).shuffle(paths)
        old = {path: f"{CHAIN[path]}# old\n" for path in paths[:3]}
        found = everything(old, {path: CHAIN[path] for path in paths})
        assert found == expected


# --- bounds -----------------------------------------------------------------------------------------------------------

MANY = {"a.py": "def f(): ...\n" + "".join(f"def g{n:02}():\n    f()\n" for n in range(20))}


def test_what_does_not_fit_is_counted_and_the_first_ones_are_kept() -> None:
    found = calls(MANY, "a.py#f", most_nodes=5)
    assert [node.id for node in found.nodes] == ["a.py#f", *(f"a.py#g{n:02}" for n in range(5))]
    assert (len(found.edges), found.nodes_left, found.edges_left) == (5, 15, 15)
    [note] = notes(found, NoteType.SUPPRESSED)
    assert (note.symbol_id, note.start_line, note.detail) == ("a.py#f", 1, "15 calls did not fit.")
    assert len(calls(MANY, "a.py#f", most_edges=7).edges) == 7


def test_the_bounds_hold_for_each_direction() -> None:
    tree = {"a.py": MANY["a.py"].replace("def f(): ...", "def f():\n" + "".join(f"    h{n:02}()\n" for n in range(20)))}
    tree["a.py"] += "".join(f"def h{n:02}(): ...\n" for n in range(20))
    found = calls(tree, "a.py#f", most_nodes=2)
    assert arrows(found) == ["g00 f", "f h00", "g01 f", "f h01"]
    assert (found.nodes_left, found.edges_left) == (36, 36)


def test_the_surest_edges_go_first() -> None:
    tree = {"a.py": "class A:\n    def go(self): ...\n    def f(self, x):\n        self.go()\ndef b(x):\n    x.go()\n"}
    tree["0.py"] = "def z(x):\n    x.go()\n"
    found = calls(tree, "a.py#A.go")
    assert [(edge.src, edge.tier) for edge in found.edges] == [
        ("a.py#A.f", "proven"),
        ("0.py#z", "likely"),
        ("a.py#b", "likely"),
    ]
    imported = calls(
        {"a.py": "def f(): ...\n", "b.py": "from a import f\n", "c.py": "from a import f\nf()\n"}, "a.py#f"
    )
    assert [(edge.src, edge.kind) for edge in imported.edges] == [("c.py", "call"), ("b.py", "import")]
    sure = calls(tree, "a.py#A.go", min_tier=Tier.PROVEN)
    assert arrows(sure) == ["A.f A.go"]
    assert [note.detail for note in notes(sure, NoteType.SUPPRESSED)] == ["2 calls are less sure than asked for."]


# --- what is inside of the one that was asked about -------------------------------------------------------------------

CLASS = {
    "a.py": "def f(): ...\nclass A:\n    def __init__(self):\n        f()\n    def one(self):\n        f()\n"
    "    def two(self): ...\ndef g():\n    return A()\n"
}


def test_a_class_shows_what_its_members_call_and_who_makes_it() -> None:
    found = calls(CLASS, "a.py#A")
    assert (found.root, found.members) == ("a.py#A", ("a.py#A.one",))
    assert arrows(found) == ["g A", "A f", "A.one f"]
    assert {node.id: node.distance for node in found.nodes} == {"a.py#A": 0, "a.py#g": 1, "a.py#f": 1, "a.py#A.one": 0}
    # From further away a class is only made.
    assert arrows(calls(CLASS, "a.py#g", direction=Direction.CALLEES, depth=2)) == ["g A", "A f"]
    assert calls(CLASS, "a.py#A.__init__").root == "a.py#A"


def test_members_that_do_not_fit_are_told() -> None:
    tree = {"a.py": "def f(): ...\nclass A:\n" + "".join(f"    def m{n}(self):\n        f()\n" for n in range(9))}
    found = calls(tree, "a.py#A", most_nodes=4)
    assert found.members == ("a.py#A.m0", "a.py#A.m1", "a.py#A.m2")
    assert "Calls in 5 definitions inside of it did not fit." in {note.detail for note in found.notes}


def test_calls_that_were_not_looked_at_are_told(faults: Faults) -> None:
    faults.limit(callsites, _MOST_CALLS=2)
    found = calls({"a.py": "def g(): ...\ndef f():\n    g()\n    g()\n    g()\n"}, "a.py#f")
    assert [note.detail for note in notes(found, NoteType.SUPPRESSED)] == [
        "Of its calls 1 were not looked at: there are too many."
    ]


# --- ids and notes ----------------------------------------------------------------------------------------------------


def test_uses_that_nobody_looked_at_are_counted_for_all_nodes(faults: Faults) -> None:
    whole = calls(CHAIN, "c.py#three", direction=Direction.CALLERS, depth=2)
    assert (whole.not_looked_at, arrows(whole)) == (0, ["two three", "top.py three", "one two"])
    faults.limit(limits, MAX_USES_LOOKED_AT=1)
    for tier in (Tier.LIKELY, Tier.NAME_ONLY):
        found = calls(CHAIN, "c.py#three", direction=Direction.CALLERS, depth=2, min_tier=tier)
        # Of four calls of `three` one was looked at; the only one of `two` is.
        assert found.not_looked_at == 3
        assert "3 uses have this name" in notes(found, NoteType.SUPPRESSED)[0].detail


def test_an_id_is_the_path_and_the_name_and_a_name_of_many_words_is_its_place() -> None:
    tree = {
        "a#b%.py": "def f(): ...\ndef g(): f()\nf()\n",
        "a.js": 'const o = { "drop all tables": function () { f() } };\nfunction f() {}\n',
    }
    tree["main.go"] = "package main\n\nfunc main() {}\n"
    with graph_of(tree) as graph:
        both = [calls_around(graph, each, most_nodes=9, most_edges=9).root for each in graph.places("main.go", "main")]
        [place] = graph.places("a#b%.py", "f")
        ids = {node.id for node in calls_around(graph, place, most_nodes=9, most_edges=9).nodes}
        [place] = graph.places("a.js", "f")
        of_script = calls_around(graph, place, most_nodes=9, most_edges=9)
    assert both == ["main.go#@0", "main.go#main"]
    assert ids == {"a%23b%25.py#f", "a%23b%25.py#g", "a%23b%25.py"}
    assert all(" " not in node.id for node in of_script.nodes)
    assert len(of_script.nodes) == 2


def test_what_is_not_known_as_a_whole_has_a_note() -> None:
    tree = {
        "a.py": "def f(): ...\n",
        "b.py": "from a import f\n\nf()\nf()\n",
        "c.py": "from a import f\ndef g():\n    f()\ndef broken(:\n    ((\n",
    }
    found = calls(tree, "a.py#f")
    missing = {(note.file, note.symbol_id, note.start_line, note.detail) for note in notes(found, NoteType.MISSING)}
    assert missing == {
        ("b.py", None, 3, "2 calls stand outside of every definition."),
        ("c.py", None, None, "Some lines could not be parsed, so calls may be missing."),
    }


def test_each_call_that_leads_nowhere_has_a_note_unless_names_are_enough() -> None:
    tree = {
        "a.py": "class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\ndef f(x):\n    x.go()\n    x.go()\n"
    }
    found = calls(tree, "a.py#f")
    lines = [note.start_line for note in notes(found, NoteType.UNRESOLVED)]
    assert (found.edges, lines) == ((), [6, 7])
    by_name = calls(tree, "a.py#f", min_tier=Tier.NAME_ONLY)
    assert arrows(by_name) == ["f A.go", "f B.go"]
    assert {edge.count for edge in by_name.edges} == {2}
    assert by_name.notes == ()
    counted = calls(tree, "a.py#A.go")
    assert [note.detail for note in notes(counted, NoteType.SUPPRESSED)] == [
        "2 uses have this name, and nothing shows whether it is meant."
    ]
