"""An edge is the same one from either end, and a definition is one node however often it is written."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.graph import callsites
from cairn.graph.callsites import Call, CallSites, EdgeKind
from cairn.graph.facts import Place
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from tests.graph.trees import graph_of
from tests.support.faults import Faults

PYTHON = {
    "lib/__init__.py": "from .a import work as job\n",
    "lib/a.py": """from .b import helper

class Base:
    def __init__(self):
        helper()

    def go(self):
        return self.go()

class A(Base):
    field = helper()

    def __init__(self):
        super().__init__()

    @property
    def size(self):
        def inner():
            return helper()
        return inner

def work(hook):
    hook()
    return A().go()
""",
    "lib/b.py": "def helper(): ...\n\n@helper\ndef decorated(): ...\n",
    "app.py": "from lib import job\nresult = job()\njob()\ndef f(x, y):\n    x.go()\n    y.unknown()\n    print(x)\n",
    "other.py": "from lib.b import helper\n",
}


def named(sites: CallSites, place: Place) -> str:
    return place.path if place.number < 0 else f"{place.path}#{sites.facts(place).qualified(place.number)}"


def shown(sites: CallSites, call: Call) -> str:
    return f"{named(sites, call.src)} -> {named(sites, call.dst)} {call.kind} {call.tier} {call.path}:{call.line}"


def nodes(graph: Graph, sites: CallSites, tree: Mapping[str, str]) -> list[Place]:
    numbered = [Place(path, n) for path in sorted(tree) for n in range(len(graph.view.symbols(path)))]
    return sorted({sites.node(place) for place in numbered})


def from_both_ends(tree: Mapping[str, str], *, by_name: bool = False) -> tuple[set[str], set[str]]:
    """Every edge of a tree, found from who calls and from what is called."""
    with graph_of(tree) as graph:
        sites = CallSites(graph, by_name=by_name)
        every = nodes(graph, sites, tree)
        called = {shown(sites, each) for node in every for each in sites.callers(node).uses}
        calls = {shown(sites, each) for node in every for each in sites.callees(node).uses}
        return called, calls


def test_an_edge_is_the_same_whichever_end_is_asked() -> None:
    called, calls = from_both_ends(PYTHON)
    # A file is not asked what it calls, and what a file imports is found from what is imported.
    assert calls == {edge for edge in called if "#" in edge.partition(" -> ")[0]}
    assert calls >= {
        "app.py#result -> lib/a.py#work call proven app.py:2",
        "app.py#f -> lib/a.py#Base.go dynamic likely app.py:5",
        "lib/a.py#A -> lib/b.py#helper call proven lib/a.py:11",
        "lib/a.py#A -> lib/a.py#Base call proven lib/a.py:14",
        "lib/a.py#Base.go -> lib/a.py#Base.go call proven lib/a.py:8",
        "lib/a.py#A.size.inner -> lib/b.py#helper call proven lib/a.py:19",
        "lib/a.py#work -> lib/a.py#A call proven lib/a.py:24",
        "lib/b.py#decorated -> lib/b.py#helper call proven lib/b.py:3",
    }
    assert called - calls == {
        "app.py -> lib/a.py#work call proven app.py:3",
        "lib/__init__.py -> lib/a.py#work import proven lib/__init__.py:1",
        "other.py -> lib/b.py#helper import proven other.py:1",
    }


def test_what_shares_only_a_name_is_the_same_from_either_end_too() -> None:
    tree = {
        "a.py": "class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\ndef f(x):\n    x.go()\n",
        "b.ts": "export class C { go() {} }\n",
    }
    called, calls = from_both_ends(tree, by_name=True)
    assert called == calls == {f"a.py#f -> a.py#{each}.go dynamic name_only a.py:6" for each in "AB"}
    assert from_both_ends(tree) == (set(), set())


def test_uses_that_may_mean_it_are_counted_and_a_name_outside_is_no_edge() -> None:
    with graph_of(PYTHON | {"b2.py": "class Z:\n    def go(self): ...\n"}) as graph:
        sites = CallSites(graph)
        [go] = graph.places("lib/a.py", "Base.go")
        [function] = graph.places("app.py", "f")
        found = sites.callers(sites.node(go))
        callees = sites.callees(function)
    assert found.name_only == 1
    assert callees.uses == []
    assert [(call.name, count) for call, count in callees.unknown] == [("go", 2), ("unknown", 0), ("print", 0)]


def test_overloads_blocks_and_constructors_are_one_node() -> None:
    tree = {
        "a.ts": "function f(a: string): void;\nfunction f(a: any) {}\nclass K { constructor() { f(1) } }\n",
        "b.rs": "struct S;\nimpl S { fn new() -> S { S } }\nimpl S { fn go(&self) { S::new(); } }\n",
        "C.java": "class C { C() {} C(int a) { run(); } void run() {} void more() { new C(); } }\n",
        "f.h": "int f(int a);\n",
        "f.c": '#include "f.h"\nint f(int a) { return a; }\n',
        "main.c": '#include "f.h"\nint main(void) { return f(1); }\n',
        "own.c": "static int k(int a);\nint m(void) { return k(1); }\nstatic int k(int a) { return k(a); }\n",
    }
    called, calls = from_both_ends(tree)
    assert (
        called
        == calls
        == {
            "a.ts#K -> a.ts#f call proven a.ts:3",
            "b.rs#S.go -> b.rs#S.new call proven b.rs:3",
            "C.java#C -> C.java#C.run call proven C.java:1",
            "C.java#C.more -> C.java#C call proven C.java:1",
            "main.c#main -> f.c#f call proven main.c:2",
            "own.c#m -> own.c#k call proven own.c:2",
            "own.c#k -> own.c#k call proven own.c:3",
        }
    )
    with graph_of(tree) as graph:
        sites = CallSites(graph)
        assert {named(sites, sites.node(Place("b.rs", n))) for n in range(5)} == {"b.rs#S", "b.rs#S.new", "b.rs#S.go"}
        assert {sites.node(Place("C.java", n)) for n in range(3)} == {Place("C.java", 0)}
        assert {sites.node(Place("own.c", n)) for n in (0, 2)} == {Place("own.c", 2)}


def test_a_package_is_not_its_function_of_the_same_name() -> None:
    tree = {"main.go": "package main\n\nfunc run() {}\n\nfunc main() {\n\trun()\n}\n"}
    called, calls = from_both_ends(tree)
    assert called == calls == {"main.go#main -> main.go#run call proven main.go:6"}
    with graph_of(tree) as graph:
        sites = CallSites(graph)
        [package, function] = [sites.node(place) for place in graph.places("main.go", "main")]
        assert package != function
        assert sites.inside(function) == []


def test_the_annotations_of_java_call_nothing() -> None:
    tree = {"A.java": "@interface Mark {}\nclass A { @Mark void f() {} }\n"}
    assert from_both_ends(tree) == (set(), set())


def test_what_is_inside_of_a_definition_is_listed_when_it_calls_something() -> None:
    with graph_of(PYTHON) as graph:
        sites = CallSites(graph)
        [a] = graph.places("lib/a.py", "A")
        [work] = graph.places("lib/a.py", "work")
        # A decorator is called by what it stands on.
        assert [named(sites, each) for each in sites.inside(a)] == ["lib/a.py#A.size", "lib/a.py#A.size.inner"]
        assert sites.inside(work) == sites.inside(Place("lib/a.py", -1)) == []


def test_a_file_calls_nothing_and_nobody_calls_it() -> None:
    with graph_of(PYTHON) as graph:
        sites = CallSites(graph)
        assert sites.callers(Place("app.py", -1)) == ([], 0, 0, 0.0)
        assert sites.node(Place("app.py", -1)) == Place("app.py", -1)


def test_a_prototype_without_a_body_is_a_node_of_its_own() -> None:
    called, calls = from_both_ends({"a.h": "int f(int a);\n", "a.c": '#include "a.h"\nint g(void) { return f(1); }\n'})
    assert called == calls == {"a.c#g -> a.h#f call proven a.c:2"}


def test_of_endless_calls_only_so_many_are_looked_at_and_the_rest_is_counted(faults: Faults) -> None:
    faults.limit(callsites, _MOST_CALLS=200)
    with graph_of({"a.py": "def g(): ...\ndef f():\n" + " g()\n" * 300 + "def h():\n g()\n"}) as graph:
        sites = CallSites(graph)
        [f], [h] = graph.places("a.py", "f"), graph.places("a.py", "h")
        found, none_left = sites.callees(f), sites.callees(h)
    assert (len(found.uses), found.not_looked_at) == (200, 100)
    assert (none_left.uses, none_left.not_looked_at) == ([], 1)


def test_a_method_of_a_guessed_value_is_dynamic_and_an_import_that_may_fail_is_likely() -> None:
    tree = {
        "fast.py": "def f(): ...\n",
        "slow.py": "def f(): ...\n",
        "a.py": "try:\n    from fast import f\nexcept ImportError:\n    from slow import f\ndef g():\n    f()\n",
    }
    with graph_of(tree) as graph:
        sites = CallSites(graph)
        [g] = graph.places("a.py", "g")
        found = sites.callees(g).uses
    assert {(call.dst.path, call.kind, call.tier) for call in found} == {
        ("fast.py", EdgeKind.CALL, Tier.LIKELY),
        ("slow.py", EdgeKind.CALL, Tier.LIKELY),
    }


def test_an_id_names_its_definition_and_nothing_else_does() -> None:
    tree = PYTHON | {"main.go": "package main\n\nfunc main() {}\n", "a#b.py": "def f(): ...\n"}
    with graph_of(tree) as graph:
        sites = CallSites(graph)
        every = nodes(graph, sites, tree)
        ids = [sites.id(node) for node in every]
        assert [sites.of_id(each) for each in ids] == every
        assert len(set(ids)) == len(ids)
        assert {"main.go#@0", "main.go#main", "a%23b.py#f"} <= set(ids)
        assert [sites.of_id(said) for said in ("f", "app.py", "app.py#nope", "nope.py#f", "a#b.py#f", "#")] == [
            None
        ] * 6
