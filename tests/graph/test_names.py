"""Names are followed through files and bases as far as the walk may go, and what is kept of it is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from cairn.graph import names as names_module
from cairn.graph.facts import Place
from cairn.graph.names import MOST_DEPTH, OUTSIDE, UNKNOWN, DefinedAt, SnapshotNames
from cairn.graph.references import Graph
from cairn.syntax.resolver import Lead
from tests.graph.trees import graph_of, place
from tests.support.faults import Faults


@contextmanager
def names_of(tree: Mapping[str, str]) -> Iterator[SnapshotNames]:
    """The names of a tree, with bases bound as everywhere."""
    with graph_of(tree) as graph:
        yield graph.names


def shown(names: SnapshotNames, places: tuple[Place, ...]) -> list[str]:
    """`path:dotted.name` of each place, only the path for a file."""
    return [
        f"{each.path}:{names.facts(each.path).qualified(each.number)}" if each.number >= 0 else each.path
        for each in places
    ]


def led(names: SnapshotNames, path: str, number: int = 0) -> DefinedAt:
    """What an import of a file leads to."""
    return names.leads_to(path, names.facts(path).imports[number])


# --- what is kept ------------------------------------------------------------------------------------------------


def test_the_facts_of_the_files_that_were_looked_at_lately_are_kept_and_no_others(
    faults: Faults,
) -> None:
    faults.limit(names_module, _MOST_FACTS=3)
    with names_of({f"{each}.py": f"def {each}(): pass\n" for each in "abcd"}) as names:
        first, second = names.facts("a.py"), names.facts("b.py")
        names.facts("c.py")
        assert names.facts("a.py") is first
        names.facts("d.py")
        assert names.facts("a.py") is first
        again = names.facts("b.py")
        assert again is not second
        assert again.symbols == second.symbols


def test_an_import_is_resolved_once() -> None:
    with names_of({"a.py": "from b import x\n", "b.py": "x = 1\n"}) as names:
        (imported,) = names.facts("a.py").imports
        assert names.target("a.py", imported) is names.target("a.py", imported)


def test_a_file_that_is_not_there_has_nothing_and_is_no_error() -> None:
    with names_of({"a.py": "x = 1\n"}) as names:
        assert names.exported("gone.py", "x", set()) == ()
        assert names.member(Place("gone.py", -1), "x", set()) == ()
        assert names.reached("gone.c") == frozenset()
        assert names.files_defining("nobody") == ()


# --- imports -----------------------------------------------------------------------------------------------------


def test_an_import_leads_to_a_definition_to_a_file_outside_or_to_nothing_known() -> None:
    tree = {
        "a.py": "from b import x\nimport b\nfrom numpy import y\nfrom b import gone\nfrom . import nowhere\n",
        "b.py": "def x(): pass\n",
    }
    with names_of(tree) as names:
        assert shown(names, led(names, "a.py", 0).places) == ["b.py:x"]
        assert led(names, "a.py", 1) == DefinedAt((Place("b.py", -1),))
        assert led(names, "a.py", 2) == OUTSIDE
        assert led(names, "a.py", 3) == UNKNOWN
        assert led(names, "a.py", 4) == UNKNOWN


def test_a_script_that_exports_one_thing_in_place_of_itself_is_that_thing() -> None:
    tree = {
        "a.js": "const x = require('./b');\nconst y = require('./c');\n",
        "b.js": "class Main {}\nmodule.exports = Main;\n",
        "c.js": "module.exports = missing;\n",
    }
    with names_of(tree) as names:
        assert shown(names, led(names, "a.js", 0).places) == ["b.js:Main"]
        assert shown(names, led(names, "a.js", 1).places) == ["c.js"]


def test_an_import_below_the_top_of_a_file_is_not_handed_on() -> None:
    tree = {
        "a.py": "from b import x, y, z\n",
        "b.py": "from c import x\ndef f():\n    from c import y\n    from c import *\n",
        "c.py": "x = y = z = 1\ny = 2\nz = 3\n",
    }
    with names_of(tree) as names:
        assert [shown(names, led(names, "a.py", number).places) for number in range(3)] == [["c.py:x"], [], []]


def test_everything_never_brings_the_default_of_a_script() -> None:
    tree = {
        "a.ts": "import d, { x } from './b';\n",
        "b.ts": "export * from './c';\n",
        "c.ts": "export function x() {}\nexport default x;\n",
    }
    with names_of(tree) as names:
        found = {each.name: shown(names, names.leads_to("a.ts", each).places) for each in names.facts("a.ts").imports}
        assert found == {"default": [], "x": ["c.ts:x"]}


def test_an_operator_that_is_called_like_everything_is_no_name_that_an_import_of_everything_gives() -> None:
    tree = {
        "Num.scala": "package a\nclass Num {\n  def *(o: Num): Num = o\n}\n",
        "Use.scala": "package b\nimport a._\nclass Use\n",
    }
    with graph_of(tree) as graph:
        assert led(graph.names, "Use.scala") == UNKNOWN
        assert graph.references(place(graph, "Num.scala", "*")).imports == ()


def tower(height: int) -> dict[str, str]:
    """Files that hand on a name, each from the next; the last defines it."""
    tree = {f"m{number}.py": f"from m{number + 1} import x\n" for number in range(height)}
    return {**tree, f"m{height}.py": "def x(): pass\n"}


def test_a_tower_of_files_is_followed_up_to_its_height_whatever_was_asked_before() -> None:
    height = MOST_DEPTH + 10
    for order in (range(height), reversed(range(height))):
        with names_of(tower(height)) as names:
            found = {number: bool(led(names, f"m{number}.py").places) for number in order}
        assert sorted(number for number in found if not found[number]) == list(range(height - MOST_DEPTH - 1))


def test_a_ring_of_files_ends_and_hides_nothing_that_is_in_it() -> None:
    tree = {f"m{n}.py": f"from m{(n + 1) % 5} import *\nfrom m{(n + 1) % 5} import lost\n" for n in range(5)}
    tree["m3.py"] += "def x(): pass\n"
    with names_of(tree) as names:
        for number in range(5):
            assert shown(names, names.exported(f"m{number}.py", "x", set())) == ["m3.py:x"]
            assert names.exported(f"m{number}.py", "lost", set()) == ()


def test_one_walk_takes_so_many_steps_and_no_more(faults: Faults) -> None:
    wide = {f"m{number}.py": f"y{number} = 1\n" for number in range(60)}
    wide["a.py"] = "".join(f"from m{number} import *\n" for number in range(60))
    wide["m59.py"] += "def x(): pass\n"
    for most, expected in ((500, ["m59.py:x"]), (20, [])):
        faults.limit(names_module, _MOST_STEPS=most)
        with names_of(wide) as names:
            assert shown(names, names.exported("a.py", "x", set())) == expected


# --- members -----------------------------------------------------------------------------------------------------


def test_a_member_of_a_package_is_what_its_file_gives_else_its_module() -> None:
    tree = {"p/__init__.py": "from .b import a\n", "p/a.py": "", "p/b.py": "def a(): pass\n", "p/c.py": ""}
    with names_of(tree) as names:
        package = Place("p/__init__.py", -1)
        assert shown(names, names.member(package, "a", set())) == ["p/b.py:a"]
        assert shown(names, names.member(package, "c", set())) == ["p/c.py"]
        assert names.member(package, "gone", set()) == ()


def test_a_type_of_go_holds_the_methods_of_all_files_of_its_package_only() -> None:
    tree = {
        "a/t.go": "package a\ntype T struct{}\n",
        "a/m.go": "package a\nfunc (t *T) M() {}\n",
        "b/m.go": "package b\nfunc (t *T) M() {}\n",
    }
    with graph_of(tree) as graph:
        names = graph.names
        assert shown(names, names.own_member(place(graph, "a/t.go", "T"), "M")) == ["a/m.go:T.M"]


def test_what_a_type_of_rust_has_itself_goes_before_what_it_has_from_a_trait() -> None:
    text = """\
trait Port { fn go(&self); fn far(&self) {} }
struct S;
impl Port for S { fn go(&self) {} }
impl S { fn go(&self) {} }
"""
    with graph_of({"src/lib.rs": text}) as graph:
        names, (struct, *_) = graph.names, graph.places("src/lib.rs", "S")
        (own,) = names.own_member(struct, "go")
        assert names.facts("src/lib.rs").symbols[own.number].start_line == 4
        assert shown(names, names.inherited(struct, "far", set())) == ["src/lib.rs:Port.far"]


def inherited(graph: Graph, path: str, holder: str, name: str) -> list[str]:
    """What a class has from its bases."""
    return shown(graph.names, graph.names.inherited(graph.places(path, holder)[0], name, set()))


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class D(B, C): pass\n", ["a.py:C.x"]),
        ("a.py", "class D(C, B): pass\n", ["a.py:C.x"]),
        ("a.py", "class D(B): pass\n", ["a.py:A.x"]),
        ("a.py", "class D(B, E): pass\nclass E:\n    def x(self): pass\n", ["a.py:A.x"]),
        ("a.py", "class D(B, Unknown): pass\n", ["a.py:A.x"]),
        ("a.py", "def D(B): pass\n", []),
    ],
)
def test_python_asks_a_class_before_its_bases(path: str, text: str, expected: list[str]) -> None:
    above = "class A:\n    def x(self): pass\nclass B(A): pass\nclass C(A):\n    def x(self): pass\n"
    with graph_of({path: above + text}) as graph:
        assert inherited(graph, path, "D", "x") == expected


def test_a_class_that_two_ways_of_bases_lead_to_is_asked_once() -> None:
    text = """\
class R: pass
class P(R): pass
class Q(R): pass
class B(P, Q):
    def x(self): pass
class E:
    def x(self): pass
class D(E, B): pass
"""
    with graph_of({"a.py": text}) as graph:
        assert inherited(graph, "a.py", "D", "x") == ["a.py:E.x"]


def test_the_last_trait_of_scala_goes_first_and_the_first_base_of_others() -> None:
    scala = "package p\ntrait A {\n  def x() = 1\n}\ntrait B {\n  def x() = 2\n}\nclass D extends A with B\n"
    script = "interface A { x(): void }\ninterface B { x(): void }\nclass D implements A, B {}\n"
    with graph_of({"A.scala": scala, "a.ts": script}) as graph:
        assert inherited(graph, "A.scala", "p.D", "x") == ["A.scala:p.B.x"]
        assert inherited(graph, "a.ts", "D", "x") == ["a.ts:A.x"]


def test_rings_and_towers_of_bases_end() -> None:
    ring = "".join(f"class R{n}(R{(n + 1) % 3}, R{(n + 2) % 3}):\n    def own{n}(self): pass\n" for n in range(3))
    high = "".join(f"class T{n}(T{n + 1}): pass\n" for n in range(60)) + "class T60:\n    def x(self): pass\n"
    alone = "class Self(Self):\n    pass\n"
    with graph_of({"r.py": ring, "t.py": high, "s.py": alone}) as graph:
        assert inherited(graph, "r.py", "R0", "own1") == ["r.py:R1.own1"]
        assert inherited(graph, "r.py", "R0", "gone") == inherited(graph, "s.py", "Self", "gone") == []
        reached = [n for n in range(60) if inherited(graph, "t.py", f"T{n}", "x")]
        assert reached
        assert reached == list(range(reached[0], 60))
        assert 60 - reached[0] <= MOST_DEPTH + 1


def test_names_one_inside_the_other_are_followed_from_the_top_of_a_file() -> None:
    tree = {"src/lib.rs": "pub mod a;\nmod b { pub struct In; }\n", "src/a.rs": "pub struct Out;\n"}
    with names_of(tree) as names:
        assert shown(names, names.in_path("src/lib.rs", ["a", "Out"])) == ["src/a.rs:Out"]
        assert shown(names, names.in_path("src/lib.rs", ["b", "In"])) == ["src/lib.rs:b.In"]
        assert shown(names, names.in_path("src/lib.rs", [])) == ["src/lib.rs"]
        assert names.in_path("src/lib.rs", ["a", "gone", "more"]) == ()


# --- files that share names --------------------------------------------------------------------------------------


def test_of_given_files_those_that_define_a_name_come_in_order() -> None:
    with names_of(dict.fromkeys(("c.py", "a.py", "b.py"), "def x(): pass\n")) as names:
        assert names.files_defining("x") == ("a.py", "b.py", "c.py")
        assert names.defining(("c.py", "a.py", "z.py"), "x") == ("a.py", "c.py")
        assert names.defining(frozenset({"b.py"}), "x") == ("b.py",)


def test_includes_are_followed_around_a_ring_and_not_beyond_the_bound(faults: Faults) -> None:
    ring = {f"h{n}.h": f'#include "h{(n + 1) % 30}.h"\n#include <stdio.h>\n' for n in range(30)}
    with names_of(ring) as names:
        assert names.reached("h0.h") == set(ring)
        assert names.reached("h0.h") is names.reached("h0.h")
    faults.limit(names_module, _MOST_REACHED=10)
    with names_of(ring) as names:
        assert names.reached("h0.h") == {f"h{n}.h" for n in range(1, 11)}


def test_overloads_prototypes_and_the_files_of_a_package_are_one_thing_and_other_files_are_not() -> None:
    tree = {
        "a.ts": "function f(a: string): void;\nfunction f(a: any) {}\n",
        "b.ts": "function f() {}\n",
        "a.h": "int g(void);\n",
        "a.c": "int g(void) { return 1; }\n",
        "p/a.go": "package p\n",
        "p/b.go": "package p\n",
    }
    with graph_of(tree) as graph:
        entity = graph.names.entity
        one, other = graph.places("a.ts", "f")
        assert entity(one) == entity(other) != entity(place(graph, "b.ts", "f"))
        assert entity(place(graph, "a.h", "g")) == entity(place(graph, "a.c", "g"))
        assert entity(Place("p/a.go", -1)) == entity(Place("p/b.go", -1))
        assert entity(Place("a.h", -1)) != entity(Place("a.c", -1))


def test_the_modules_around_a_definition_are_told_outermost_first() -> None:
    with graph_of({"src/lib.rs": "mod a { mod b { fn f() { fn g() {} } } }\nfn top() {}\n"}) as graph:
        facts = graph.names.facts("src/lib.rs")
        inner = place(graph, "src/lib.rs", "a.b.f.g").number
        assert graph.names.modules_around(facts, inner) == ("a", "b")
        assert graph.names.modules_around(facts, place(graph, "src/lib.rs", "top").number) == ()
        assert graph.names.modules_around(facts, -1) == ()


def test_a_use_in_a_module_that_is_written_in_a_file_begins_there() -> None:
    tree = {"src/lib.rs": "mod a { use self::b::X; use super::Y; mod b { pub struct X; } }\nstruct Y;\n"}
    with names_of(tree) as names:
        targets = [names.target("src/lib.rs", each) for each in names.facts("src/lib.rs").imports]
        assert [(each.lead, each.name) for each in targets] == [
            (Lead.INSIDE, "a.b.X"),
            (Lead.INSIDE, "Y"),
        ]
