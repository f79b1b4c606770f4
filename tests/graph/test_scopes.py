"""A name that stands alone means the innermost definition that can be named there, and nothing where that is unsure."""

from __future__ import annotations

import pytest

from cairn.core.types import Import, Reference
from cairn.graph import scopes as scopes_module
from cairn.graph.facts import Place
from cairn.graph.names import Seen
from cairn.graph.references import Graph
from cairn.graph.scopes import ELSEWHERE, UNBOUND, Bound, Tier
from tests.graph.trees import graph_of, place
from tests.support.faults import Faults


def meant(graph: Graph, path: str, name: str, nth: int = 0) -> str:
    """What the nth use of a name in a file means: `tier path:dotted.name …`, `elsewhere` or `unbound`."""
    uses = [use for use in graph.view.references(path) if use.name == name]
    return shown(graph, graph.binder.bind(path, uses[nth]))


def shown(graph: Graph, bound: Bound | None) -> str:
    if bound is None or not bound.places:
        return "elsewhere" if bound is not None and bound.elsewhere else "unbound"
    named = (f"{each.path}:{graph.names.facts(each.path).qualified(each.number)}" for each in bound.places)
    return f"{bound.tier} {' '.join(named)}"


# --- how sure ----------------------------------------------------------------------------------------------------


def test_one_definition_is_proven_several_are_likely_and_none_is_nothing() -> None:
    tree = {"a.ts": "function f(a: string): void;\nfunction f(a: any) {}\nfunction g() {}\n"}
    with graph_of(tree) as graph:
        sure, overloads, other = graph.binder.scopes.sure, graph.places("a.ts", "f"), graph.places("a.ts", "g")
        assert sure(()) is None
        assert sure(overloads) == Bound(Tier.PROVEN, overloads)
        assert sure(overloads, certain=False) == Bound(Tier.LIKELY, overloads)
        assert sure(overloads + other) == Bound(Tier.LIKELY, overloads + other)


def test_which_extension_function_is_meant_is_never_proven() -> None:
    tree = {"a.kt": "package p\nfun String.ext() {}\nfun plain() {}\nfun use() {\n  ext()\n  plain()\n}\n"}
    with graph_of(tree) as graph:
        assert meant(graph, "a.kt", "ext") == "likely a.kt:p.String.ext"
        assert meant(graph, "a.kt", "plain") == "proven a.kt:p.plain"


def test_where_a_type_is_named_only_types_are_meant() -> None:
    with graph_of({"a.go": "package a\ntype T struct{}\nfunc f() {}\n"}) as graph:
        as_type = graph.binder.scopes.as_type
        (kind,), (function,) = graph.places("a.go", "T"), graph.places("a.go", "f")
        assert as_type(Bound(Tier.PROVEN, (kind, function))) == Bound(Tier.PROVEN, (kind,))
        assert as_type(Bound(Tier.PROVEN, (function,))) == UNBOUND
        assert as_type(ELSEWHERE) == ELSEWHERE


def test_a_file_is_a_module() -> None:
    with graph_of({"a.py": "def f(): pass\n"}) as graph:
        assert graph.binder.scopes.kind_of(Place("a.py", -1)) == "module"
        assert graph.binder.scopes.kind_of(place(graph, "a.py", "f")) == "function"


# --- at the top of a file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from b import x\n", "proven b.py:x"),
        ("from numpy import x\n", "elsewhere"),
        ("from b import gone as x\n", "unbound"),
        ("from numpy import x\nfrom b import gone as x\n", "unbound"),
        ("from numpy import x\nfrom b import x\n", "likely b.py:x"),
        ("from b import x\nfrom c import x\n", "likely b.py:x c.py:x"),
        ("from b import *\n", "proven b.py:x"),
        ("from b import *\nfrom c import *\n", "likely b.py:x c.py:x"),
        ("from b import *\nfrom numpy import *\n", "likely b.py:x"),
        ("from numpy import *\n", "unbound"),
        ("", "unbound"),
    ],
)
def test_at_the_top_a_name_means_what_every_import_of_it_agrees_on(text: str, expected: str) -> None:
    tree = {"a.py": f"{text}x()\n", "b.py": "def x(): pass\n", "c.py": "def x(): pass\n"}
    with graph_of(tree) as graph:
        assert meant(graph, "a.py", "x") == expected


def test_a_dotted_import_gives_a_name_to_the_outermost_package() -> None:
    with graph_of({"a.py": "import p.q\np.f()\n", "p/__init__.py": "def f(): pass\n", "p/q.py": ""}) as graph:
        assert meant(graph, "a.py", "f") == "proven p/__init__.py:f"


def test_what_was_found_at_the_top_of_a_file_is_given_again() -> None:
    with graph_of({"a.py": "def f(): pass\nf()\nf()\n"}) as graph:
        scopes, facts = graph.binder.scopes, graph.names.facts("a.py")
        assert scopes.at_top(facts, "f") is scopes.at_top(facts, "f")


def test_files_of_one_folder_share_their_names_only_in_the_package_that_they_say() -> None:
    tree = {
        "a.go": "package a\nfunc use() { f(); g() }\n",
        "b.go": "package a\nfunc f() {}\n",
        "c_test.go": "package a_test\nfunc g() {}\n",
    }
    with graph_of(tree) as graph:
        assert meant(graph, "a.go", "f") == "proven b.go:f"
        assert meant(graph, "a.go", "g") == "unbound"


@pytest.mark.parametrize(("using", "expected"), [("n::f", "proven n.hpp:n.f"), ("m::f", "unbound")])
def test_a_using_declaration_names_what_an_include_has_brought(using: str, expected: str) -> None:
    tree = {
        "n.hpp": "namespace n { void f(); }\n",
        "m.hpp": "namespace m { void f(); }\n",
        "a.cpp": f'#include "n.hpp"\nusing {using};\nvoid use() {{ f(); }}\n',
    }
    with graph_of(tree) as graph:
        assert meant(graph, "a.cpp", "f") == expected


def test_a_namespace_is_one_of_cpp_and_of_what_the_file_reaches() -> None:
    tree = {
        "n.hpp": "namespace n { void f(); }\n",
        "far.hpp": "namespace n { void g(); }\n",
        "a.cpp": '#include "n.hpp"\n',
        "a.py": "",
    }
    with graph_of(tree) as graph:
        scopes, facts = graph.binder.scopes, graph.names.facts
        assert shown(graph, scopes.in_namespace(facts("a.cpp"), ["n"], "f")) == "proven n.hpp:n.f"
        assert scopes.in_namespace(facts("a.cpp"), ["n"], "g") is None
        assert scopes.in_namespace(facts("a.py"), ["n"], "f") is None


# --- inside of definitions ---------------------------------------------------------------------------------------


def test_decorators_and_bases_are_looked_up_outside_of_what_they_belong_to() -> None:
    text = "@wrap\ndef f(a: Kind): pass\nclass C(Base):\n    @wrap\n    def m(self): call()\ncall()\n"
    with graph_of({"a.py": text}) as graph:
        facts, start = graph.names.facts("a.py"), graph.binder.scopes.start
        found = [(use.name, start(facts, use)) for use in facts.references]
        assert found == [("wrap", -1), ("Kind", 0), ("Base", -1), ("wrap", 1), ("call", 2), ("call", -1)]


def nested(depth: int) -> str:
    """Functions one inside the other, in the innermost a call."""
    return "".join(f"{' ' * n}def f{n}():\n" for n in range(depth)) + " " * depth + "target()\n"


def test_a_use_is_looked_for_in_so_many_scopes_and_no_further(faults: Faults) -> None:
    faults.limit(scopes_module, _MOST_SCOPES=10)
    for depth, expected in ((9, "proven a.py:target"), (10, "unbound")):
        with graph_of({"a.py": f"def target(): pass\n{nested(depth)}"}) as graph:
            assert meant(graph, "a.py", "target") == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.ts", "class T {}\nfunction make<T>(a: T) {}\n", "elsewhere"),
        ("A.java", "class T {}\nclass Box<T> {\n  T one;\n}\n", "elsewhere"),
        ("a.rs", "struct T;\nfn make<T>(a: T) {}\n", "elsewhere"),
        ("a.ts", "class T {}\nfunction make(a: T) {}\n", "proven a.ts:T"),
    ],
)
def test_a_parameter_of_types_hides_the_type_of_its_name(path: str, text: str, expected: str) -> None:
    with graph_of({path: text}) as graph:
        uses = [use for use in graph.view.references(path) if use.name == "T" and use.kind == "type"]
        assert shown(graph, graph.binder.bind(path, uses[-1])) == expected


def test_a_parameter_of_types_is_known_in_all_that_is_inside() -> None:
    with graph_of({"a.ts": "class Box<T> {\n  m() {}\n}\nfunction f() {}\n"}) as graph:
        facts, known = graph.names.facts("a.ts"), graph.binder.scopes.is_type_parameter
        method, outside = place(graph, "a.ts", "Box.m").number, place(graph, "a.ts", "f").number
        assert [known(facts, "T", scope) for scope in (method, outside, -1)] == [True, False, False]
        assert not known(facts, "U", method)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class C:\n    def x(self): pass\n    def m(self): x()\n", "unbound"),
        ("A.java", "class C {\n  void x() {}\n  void m() { x(); }\n}\n", "proven A.java:C.x"),
        ("a.cpp", "class C { void x(); void m(); };\nvoid C::m() { x(); }\n", "proven a.cpp:C.x"),
        ("a.ts", "class C { x() {} m() { x(); } }\n", "unbound"),
        ("a.rb", "class C\n  def x(y)\n  end\n  def m\n    x(1)\n  end\nend\n", "proven a.rb:C.x"),
    ],
)
def test_a_member_is_named_alone_only_where_the_language_allows_it(path: str, text: str, expected: str) -> None:
    with graph_of({path: text}) as graph:
        assert meant(graph, path, "x", -1) == expected


def test_a_class_in_a_class_sees_what_is_in_the_outer_one_where_the_language_allows_it() -> None:
    java = "class A {\n  void x() {}\n  class B {\n    void m() { x(); }\n  }\n}\n"
    ruby = "class A\n  def x(y)\n  end\n  class B\n    def m\n      x(1)\n    end\n  end\nend\n"
    with graph_of({"A.java": java, "a.rb": ruby}) as graph:
        assert meant(graph, "A.java", "x") == "proven A.java:A.x"
        assert meant(graph, "a.rb", "x") == "unbound"


def test_a_module_of_rust_sees_what_it_holds_and_imports_and_not_what_is_around_it() -> None:
    text = "fn far() {}\nfn up() {}\nmod m {\n  use super::up;\n  fn near() {}\n  fn f() { near(); up(); far(); }\n}\n"
    with graph_of({"src/lib.rs": text}) as graph:
        found = [meant(graph, "src/lib.rs", name, -1) for name in ("near", "up", "far")]
        assert found == ["proven src/lib.rs:m.near", "proven src/lib.rs:up", "unbound"]


def test_a_function_that_imports_everything_names_what_that_brings() -> None:
    with graph_of({"src/lib.rs": "mod m { pub fn x() {} }\nfn f() { use self::m::*; x(); y(); }\n"}) as graph:
        assert meant(graph, "src/lib.rs", "x") == "proven src/lib.rs:m.x"
        assert meant(graph, "src/lib.rs", "y") == "unbound"


def test_the_methods_of_a_nameless_class_name_each_other_and_are_only_likely() -> None:
    text = """\
class A {
  void make() {
    add(new Listener() {
      void on() { off(); }
      void off() {}
    });
  }
}
"""
    with graph_of({"A.java": text}) as graph:
        assert meant(graph, "A.java", "off") == "likely A.java:A.make.off"


# --- the class around --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "method", "holder"),
    [
        ("a.py", "class A:\n    class B:\n        def m(self): pass\n", "A.B.m", "A.B"),
        ("a.go", "package a\ntype T struct{}\nfunc (t *T) m() {}\n", "T.m", "T"),
        ("a.rs", "struct S;\nimpl S { fn m(&self) {} }\n", "S.m", "S"),
        ("a.cpp", "class C { void k(); };\nvoid C::m() {}\n", "C.m", "C"),
    ],
)
def test_the_class_of_a_method_is_found_wherever_the_method_is_written(
    path: str, text: str, method: str, holder: str
) -> None:
    with graph_of({path: text}) as graph:
        facts = graph.names.facts(path)
        around = graph.binder.scopes.class_around(facts, graph.places(path, method)[-1].number)
        assert around is not None
        assert around == graph.places(path, holder)[0]


def test_a_method_whose_class_is_not_there_stands_for_itself_and_a_function_has_none() -> None:
    with graph_of({"a.go": "package a\nfunc (t *Gone) m() {}\nfunc f() {}\n"}) as graph:
        facts, around = graph.names.facts("a.go"), graph.binder.scopes.class_around
        method, function = place(graph, "a.go", "Gone.m"), place(graph, "a.go", "f")
        assert around(facts, method.number) == method
        assert around(facts, function.number) is None
        assert around(facts, -1) is None


def test_a_use_of_a_name_that_is_no_word_means_nothing_and_is_no_error() -> None:
    with graph_of({"a.ts": "function f() {\n  run(() => {\n  });\n}\n", "a.py": "def f(): pass\n"}) as graph:
        for path in ("a.ts", "a.py"):
            for name in ("", "(", "\\", "a.b", "\x00", "\ud800" if path == "a.py" else "é", "x" * 100_000):
                use = Reference("call", name, "", 5, 1, 5, -1)
                assert graph.binder.bind(path, use) == UNBOUND


def test_many_files_that_import_all_of_each_other_cost_little() -> None:
    count = 60
    every = "".join(f"from m{other} import *\n" for other in range(count))
    with graph_of({f"m{one}.py": every + "nobody()\n" for one in range(count)}) as graph:
        asked = []
        walk = graph.names.in_wildcard

        def counted(path: str, imported: Import, name: str, seen: Seen) -> tuple[Place, ...]:
            asked.append(path)
            return walk(path, imported, name, seen)

        graph.names.in_wildcard = counted  # type: ignore[method-assign]
        use = graph.names.facts("m0.py").references[-1]
        assert graph.binder.bind("m0.py", use) == UNBOUND
        # Each file is looked into once, not once for each way that leads there.
        assert len(asked) <= 2 * count * count
