"""A function that makes a name its own hides what is outside; when in doubt it does."""

from __future__ import annotations

import pytest

from cairn.graph.shadows import assigns, binds, type_parameters
from cairn.syntax.languages import resolver_of, traits_of


def own(language: str, text: str, name: str = "f") -> bool:
    return binds(resolver_of(language), traits_of(language).lexis, text.encode(), name, text.index("("))


@pytest.mark.parametrize(
    "text",
    [
        "def g(f): f()",
        "def g(a, *f): f()",
        "def g(a: int, f: Any = 1): f()",
        "def g():\n    f = 1\n    f()",
        "def g():\n    f=1\n    f()",
        "def g():\n    f: int = 1\n",
        "def g():\n    a, f = 1, 2\n",
        "def g():\n    (f, a) = x\n",
        "def g():\n    f += 1\n",
        "def g():\n    for f in x: f()",
        "def g():\n    return [f() for a, f in x]",
        "def g():\n    with x as f: f()",
        "def g():\n    if (f := x): f()",
        "def g():\n    return lambda f: f()",
        "def g():\n    return lambda a, f: f()",
    ],
)
def test_python_functions_that_bind_a_name(text: str) -> None:
    assert own("python", text)


@pytest.mark.parametrize(
    "text",
    [
        "def g(): f()",
        "def g(a: f): pass",
        "def g(a=f): pass",
        "def g():\n    return h(f=1)",
        "def g():\n    return h(\n        f=1,\n    )",
        "def g():\n    x.f = 1",
        "def g():\n    for a, b in f(x): pass",
        "def g():\n    x.y[f(a)] = 1",
        "def g():\n    f(a).b = 1",
        "def g():\n    a[f] == f",
        "def g():\n    if f == 1: pass",
        "def g():\n    offset = ff = 1",
    ],
)
def test_python_functions_that_only_use_it(text: str) -> None:
    assert not own("python", text)


@pytest.mark.parametrize(
    ("language", "text", "bound"),
    [
        ("javascript", "function g(f) {}", True),
        ("javascript", "function g({ a, f }: X) {}", True),
        ("javascript", "function g() { const f = 1 }", True),
        ("javascript", "function g() { const { a, b: f } = x }", True),
        ("javascript", "function g() { for (const f of x) {} }", True),
        ("javascript", "function g() { return (a, f) => 1 }", True),
        ("javascript", "function g() { return f => 1 }", True),
        ("javascript", "function g() { try {} catch (f) {} }", True),
        ("javascript", "function g() { return function (f) {} }", True),
        ("javascript", "function g() { return f() }", False),
        ("javascript", "function g() { x.catch(f) }", False),
        ("javascript", "function g(a: f) { h(f); x.f = 1; return { f: 1 } }", False),
        ("go", "func g(f int) {}", True),
        ("go", "func g() { f := 1 }", True),
        ("go", "func g() {\n\ta, f := 1, 2\n}", True),
        ("go", "func g() { return f(1) }", False),
        ("rust", "fn g(f: u8) {}", True),
        ("rust", "fn g() { let f = 1; }", True),
        ("rust", "fn g() { x.map(|f| f()) }", True),
        ("rust", "fn g() { f() }", False),
        ("c", "int g(int *f) {}", True),
        ("c", "int g(void) { return f(1); }", False),
    ],
)
def test_functions_of_other_languages(language: str, text: str, bound: bool) -> None:
    assert own(language, text) is bound


def test_what_is_too_long_to_look_into_is_in_doubt() -> None:
    assert own("python", "def g():\n" + "    f()\n" * 100_000)
    assert own("python", "def g():\n" + "    f()\n" * 1_000)
    assert not own("javascript", "function g() {" + "const {" * 20_000 + "}")


def test_types_that_a_definition_makes_for_itself() -> None:
    assert type_parameters("class Box<T extends Map<K, V>, U = X> extends Y<Z>", "Box") == {"T", "U"}
    assert type_parameters("func Map[T any, U comparable](x []T) []U", "Map") == {"T", "U"}
    assert type_parameters("public <T> void go(T one)", "go") == {"T"}
    assert type_parameters("def f(a)", "f") == frozenset()
    assert type_parameters("function on<T>(a: T)", "on") == {"T"}
    assert type_parameters("fn f<U>(a: U)", "f") == {"U"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"def f(self):\n    x = 1\n", True),
        (b"def f(self):\n    x: int = 1\n", True),
        (b"def f(self, x=None):\n    pass\n", True),
        (b"def f(*x):\n    pass\n", True),
        (b"def f(self):\n    x == 1\n    self.x = 1\n    xx = 1\n", False),
        (b"def f(self, xs):\n    def x(): pass\n    g(x=1)\n", False),
        (b"def f():\n" + b"    pass\n" * 30_000, True),
    ],
)
def test_a_function_of_python_gives_a_name_a_value_by_a_statement_or_a_parameter(text: bytes, expected: bool) -> None:
    assert assigns(text, "x", len(b"def f")) is expected


def test_a_word_in_a_comment_binds_nothing() -> None:
    said = "def run(self):\n    # Reset the address for\n    f(1)\n"
    assert not own("python", said)
    assert not own("go", "func run() {\n\t// for a moment, var\n\tf(1)\n}\n")
    assert not own("javascript", "function run() {\n  /* const */ f(1)\n}\n")
    assert own("python", "def run(g, # the next one\n        f): ...\n")
