"""A use with something before the dot: what it is a member of, and no more than that can be shown."""

from __future__ import annotations

import pytest

from cairn.core.types import Reference
from cairn.graph.references import Graph
from cairn.graph.scopes import UNBOUND, Tier
from tests.graph.trees import graph_of


def meant(graph: Graph, path: str, name: str, nth: int = -1) -> str:
    """What a use of a name in a file means, by its binding alone: `tier path:line …`, `elsewhere` or `unbound`."""
    uses = [use for use in graph.view.references(path) if use.name == name]
    bound = graph.binder.bind(path, uses[nth])
    if not bound.places:
        return "elsewhere" if bound.elsewhere else "unbound"
    lines = (f"{at.path}:{graph.names.facts(at.path).symbols[at.number].start_line}" for at in bound.places)
    return f"{bound.tier} {' '.join(lines)}"


def check(path: str, text: str, name: str, expected: str, **others: str) -> None:
    with graph_of({path: text, **others}) as graph:
        assert meant(graph, path, name) == expected


_PHP = "class C extends B {\n  function x() { parent::x(); }\n}\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def x(): pass\ndef f(self):\n    self.x()\n"),
        ("a.py", "def x(): pass\nself.x()\n"),
        ("a.py", "def x(): pass\ndef f():\n    super().x()\n"),
        ("a.ts", "function x() {}\nfunction f() { this.x(); }\n"),
        ("a.rs", "fn x() {}\nfn f() { Self::x(); }\n"),
    ],
)
def test_what_is_in_no_class_has_no_self(path: str, text: str) -> None:
    check(path, text, "x", "unbound")


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class B:\n    def x(self): pass\nclass C(B):\n    def f(self): self.x()\n", "proven a.py:2"),
        ("a.ts", "class C { x() {}\n  f() { this.x(); } }\n", "proven a.ts:1"),
        ("a.ts", "class C { x() {}\n  f() { each(function () { this.x(); }); } }\n", "likely a.ts:1"),
        ("A.java", "class C {\n  void x() {}\n  void f() { this.x(); }\n}\n", "proven A.java:2"),
        ("a.cpp", "class C {\n  void x();\n  void f() { (*this).x(); }\n};\n", "proven a.cpp:2"),
        ("a.php", "<?php\nclass C {\n  function x() {}\n  function f() { $this->x(); }\n}\n", "proven a.php:3"),
        ("a.rb", "class C\n  def x\n  end\n  def f\n    self.x()\n  end\nend\n", "proven a.rb:2"),
        ("a.rs", "struct C;\nimpl C {\n  fn x(&self) {}\n  fn f(&self) { self.x(); }\n}\n", "proven a.rs:3"),
        ("a.go", "package a\ntype C struct{}\nfunc (c *C) x() {}\nfunc (c *C) f() { c.x() }\n", "proven a.go:3"),
        ("a.go", "package a\ntype C struct{}\nfunc (c *C) x() {}\nfunc f() { c.x() }\n", "unbound"),
    ],
)
def test_the_word_that_a_language_has_for_it_means_the_class_around(path: str, text: str, expected: str) -> None:
    check(path, text, "x", expected)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "class B:\n    def x(self): pass\nclass C(B):\n    def x(self): super().x()\n", "proven a.py:2"),
        ("a.py", "class C:\n    def x(self): super().x()\n", "unbound"),
        ("a.py", "class C(Gone):\n    def x(self): super().x()\n", "unbound"),
        ("a.ts", "class B { x() {} }\nclass C extends B { x() { super.x(); } }\n", "proven a.ts:1"),
        ("a.php", "<?php\nclass B {\n  function x() {}\n}\n" + _PHP, "proven a.php:3"),
    ],
)
def test_the_word_for_the_bases_never_means_the_own_class(path: str, text: str, expected: str) -> None:
    check(path, text, "x", expected)


def test_a_base_that_is_only_likely_is_not_followed() -> None:
    text = "try:\n    from b import Base\nexcept ImportError:\n    from c import Base\n"
    text += "class C(Base):\n    def f(self): self.x()\n"
    base = "class Base:\n    def x(self): pass\n"
    with graph_of({"a.py": text, "b.py": base, "c.py": base}) as graph:
        assert meant(graph, "a.py", "Base") == "likely b.py:1 c.py:1"
        assert meant(graph, "a.py", "x") == "unbound"


def test_of_a_field_and_a_method_of_one_name_the_method_is_called() -> None:
    text = "class C {\n  int x;\n  int x() { return 1; }\n  int f() { return this.x(); }\n}\n"
    check("A.java", text, "x", "proven A.java:3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import p.q\np.q.C.x()\n", "proven p/q.py:2"),
        ("import p.q as r\nr.C.x()\n", "proven p/q.py:2"),
        ("import p.q\np.q.gone.x()\n", "unbound"),
        ("import numpy\nnumpy.q.C.x()\n", "elsewhere"),
        ("from p.q import one\none.x()\n", "likely p/q.py:2"),
        ("from p.q import C\nC().x()\n", "likely p/q.py:2"),
        ("from numpy import C\nC().x()\n", "unbound"),
        ("from p.q import make\nmake().x()\n", "unbound"),
        ("from p.q import C\n(C)[0](1).x()\n", "unbound"),
        ("def f(C):\n    C.x()\n", "unbound"),
    ],
)
def test_what_stands_before_the_dot_is_followed_name_by_name(text: str, expected: str) -> None:
    inner = "class C:\n    def x(self): pass\none = C()\ndef make(): pass\n"
    with graph_of({"a.py": text, "p/__init__.py": "", "p/q.py": inner}) as graph:
        assert meant(graph, "a.py", "x") == expected


def test_a_value_of_a_parameter_of_types_may_be_anything_and_is_not_said_to_be_elsewhere() -> None:
    check("a.ts", "class T { x() {} }\nfunction make<T>(one: T) { T.x(); }\n", "x", "unbound")
    check("a.ts", "class T { x() {} }\nfunction make<T>(one: T) { one.x(); }\n", "x", "unbound")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("crate::net::open()", "proven src/net.rs:1"),
        ("self::net::open()", "proven src/net.rs:1"),
        ("net::open()", "proven src/net.rs:1"),
        ("self::inner::open()", "proven src/lib.rs:2"),
        ("crate::gone::open()", "unbound"),
        ("super::open()", "unbound"),
        ("std::open()", "unbound"),
    ],
)
def test_a_path_of_rust_is_followed_from_where_it_begins(words: str, expected: str) -> None:
    text = f"pub mod net;\nmod inner {{ pub fn open() {{}} }}\nfn f() {{ {words}; }}\n"
    with graph_of({"src/lib.rs": text, "src/net.rs": "pub fn open() {}\n"}) as graph:
        assert meant(graph, "src/lib.rs", "open") == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [("n::x()", "proven n.hpp:1"), ("n::o::x()", "proven n.hpp:2"), ("m::o::x()", "unbound"), ("m::x()", "unbound")],
)
def test_all_names_before_the_last_of_cpp_must_fit(words: str, expected: str) -> None:
    tree = {
        "n.hpp": "namespace n { void x();\nnamespace o { void x(); } }\n",
        "a.cpp": f'#include "n.hpp"\nvoid f() {{ {words}; }}\n',
    }
    with graph_of(tree) as graph:
        assert meant(graph, "a.cpp", "x") == expected


HOSTILE = [
    ".",
    "(",
    ".a()",
    "new a..b()",
    "((((((((((",
    "new ",
    "new A(",
    "a" + ".a" * 20_000,
    "a" + "()" * 20_000,
    "self" + ".self" * 5_000,
    "super" * 5_000,
    "<" * 20_000,
    "new A" + "<" * 5_000 + "(" * 5_000 + ")",
    "a::" * 5_000,
    "crate::" * 5_000,
    "\x00",
    "\n",
    "é",
]


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.rs", "A.java", "a.cpp", "a.rb"])
def test_whatever_stands_before_the_dot_is_no_error_and_proves_nothing(path: str) -> None:
    text = {"a.go": "package a\nfunc f() {}\n", "a.rs": "fn f() {}\n", "a.cpp": "void f() {}\n"}.get(path, "f();\n")
    with graph_of({path: text}) as graph:
        for receiver in HOSTILE:
            for kind in ("call", "type", "base"):
                found = graph.binder.bind(path, Reference(kind, "x", receiver, 0, 1, 0, -1))
                assert found.tier is Tier.NAME_ONLY, receiver[:20]
                assert found.places == ()


def test_a_use_in_a_file_that_is_gone_means_nothing() -> None:
    with graph_of({"a.py": "def x(): pass\n"}) as graph:
        for receiver in ("", "self", "a"):
            assert graph.binder.bind("gone.py", Reference("call", "x", receiver, 0, 1, 0, -1)) == UNBOUND
