"""The facts of one file, arranged by name; a hostile file has no more of them than are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cairn.core.filetypes import language_of
from cairn.graph.facts import MOST_ALIKE, Facts
from cairn.syntax.resolver import WHOLE
from tests.graph.code import code_view


@contextmanager
def facts_of(path: str, text: str) -> Iterator[Facts]:
    """The facts of the only file there is."""
    language = language_of(path.encode())
    with code_view({path: text}) as view:
        yield Facts(view, path, language)


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "class A:\n    def m(self): pass\ndef f():\n    def g(): pass\nx = 1\n", {"A", "f", "x"}),
        ("A.java", "package p.q;\nclass A { void m() {} class In {} }\nclass B {}\n", {"A", "B"}),
        ("a.kt", "package p\nfun String.ext() {}\nfun own() {}\n", {"ext", "own"}),
        ("a.cpp", "namespace n { namespace o { class A { void m(); }; } void o::A::m() {} }\n", {"A"}),
        ("a.go", "package a\ntype T struct{}\nfunc (t *T) M() {}\nfunc F() {}\n", {"T", "F"}),
        ("a.rs", "mod m { fn g() {} }\nstruct S;\nimpl S { fn f(&self) {} }\n", {"m", "S"}),
    ],
)
def test_at_the_top_is_what_other_files_can_name_without_naming_what_is_around_it(
    path: str, text: str, names: set[str]
) -> None:
    with facts_of(path, text) as facts:
        assert set(facts.top) == names


def test_all_that_has_one_name_is_listed_in_the_order_written() -> None:
    with facts_of("a.ts", "function f(a: string): void;\nfunction f(a: any) {}\nclass C { m() {} m() {} }\n") as facts:
        assert facts.top["f"] == (0, 1)
        assert facts.inner["C", "m"] == facts.written_as["C.m"] == (3, 4)
        assert [facts.qualified(number) for number in range(5)] == ["f", "f", "C", "C.m", "C.m"]


@pytest.mark.parametrize(
    ("path", "text", "package"),
    [
        ("a.go", "package a\n", "a"),
        ("A.java", "package p.q;\nclass A {}\n", "p.q"),
        ("A.java", "class A {}\n", ""),
        ("a.rs", "mod a;\n", ""),
        ("a.py", "", ""),
    ],
)
def test_a_package_is_what_the_file_says_where_files_say_such_a_thing(path: str, text: str, package: str) -> None:
    with facts_of(path, text) as facts:
        assert facts.package == package


def test_bases_are_in_the_order_written_and_belong_to_their_class() -> None:
    with facts_of("a.py", "class A(Z, Y, X): pass\nclass B(Y): pass\nclass C: pass\n") as facts:
        assert {number: [base.name for base in bases] for number, bases in facts.bases.items()} == {
            0: ["Z", "Y", "X"],
            1: ["Y"],
        }


@pytest.mark.parametrize(
    ("path", "text", "inside"),
    [
        ("a.py", "import a\ndef f():\n    import b\nclass C:\n    def m(self):\n        import c\n", {"b": 0, "c": 2}),
        ("a.rs", "use x::a;\nmod m { use x::b; fn f() { use x::c; } }\nuse x::d;\n", {"b": 0, "c": 1}),
        ("A.java", "package p;\nimport x.a;\nclass A {}\n", {}),
        ("A.scala", "package p\nclass A { import x.a }\n", {"a": 1}),
    ],
)
def test_an_import_below_the_top_is_told_with_what_is_around_it(path: str, text: str, inside: dict[str, int]) -> None:
    with facts_of(path, text) as facts:
        found = {each.name or each.module: facts.scopes.get(each.start_byte) for each in facts.imports}
        assert {name: scope for name, scope in found.items() if scope is not None} == inside


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "import a.b\nimport c.d as e\nfrom f import g as h, i\nfrom j import *\n", ["a", "e", "h", "i"]),
        ("a.go", 'package a\nimport (\n "x.org/y/v2"\n "x.org/go-log"\n "x.in/yaml.v3"\n)\n', ["y", "log", "yaml"]),
        ("a.go", 'package a\nimport (\n "v2"\n z "x.org/q"\n "x.org/"\n "/"\n "fmt"\n)\n', ["v2", "z", "x.org", "fmt"]),
        ("a.rs", "use a::b;\nuse c::d as e;\nuse f::*;\nextern crate g;\n", ["b", "e", "g"]),
        ("a.ts", "import a, { b as c } from 'x';\nimport * as n from 'y';\nimport 'z';\n", ["c", "a", "n"]),
        ("A.java", "package p;\nimport r.S;\nimport static r.S.t;\nimport u.*;\n", ["S", "t"]),
        ("a.c", "#include <stdio.h>\n", []),
    ],
)
def test_an_import_gives_the_name_that_the_language_gives_it(path: str, text: str, names: list[str]) -> None:
    with facts_of(path, text) as facts:
        assert list(facts.bound) == names


def test_a_script_hands_on_what_it_exports_from_elsewhere_and_has_none_of_it_itself() -> None:
    text = """\
import { a } from './a';
export { b as c } from './b';
export * from './d';
export * as e from './e';
"""
    with facts_of("a.ts", text) as facts:
        assert (list(facts.bound), list(facts.handed_on)) == (["a"], ["c", "e"])
        assert [each.module for each in facts.wildcards] == []
        assert [each.module for each in facts.wildcards_handed_on] == ["./d"]


def test_in_other_languages_every_import_is_handed_on() -> None:
    with facts_of("a.py", "from a import b\nfrom c import *\n") as facts:
        assert facts.handed_on == facts.bound
        assert facts.wildcards == facts.wildcards_handed_on != ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export { a, b as c, type d as e };", {"a": "a", "c": "b", "e": "d"}),
        ('export { a as "b c" };', {"b c": "a"}),
        ("export { a } from './a';", {}),
        ("export {};\nexport { , 5 as, a b c, ..., {} };", {}),
        ("export { a };\nexport { b as a };", {"a": "a"}),
        ("export default a;", {"default": "a"}),
        ("export default async function a() {}", {"default": "a"}),
        ("export default abstract class A {}", {"default": "A"}),
        ("export default a;\nexport default b;", {"default": "a"}),
        ("module.exports = a;", {"default": "a", WHOLE: "a"}),
        ("module.exports = new A\n", {"default": "A", WHOLE: "A"}),
        ("export = a;", {"default": "a", WHOLE: "a"}),
        ("module.exports = a.b;", {}),
        ("module.exports = { a };", {}),
        ("export {" + " " * 30_000 + "a };", {}),
        (" " * 1_000_000 + "\nexport { a };", {}),
    ],
)
def test_a_script_says_what_others_call_its_names(text: str, names: dict[str, str]) -> None:
    with facts_of("a.ts", text) as facts:
        assert facts.exported_as == names


def test_only_scripts_export_under_other_names() -> None:
    with facts_of("a.py", "export = a\nmodule.exports = a\n") as facts:
        assert facts.exported_as == {}


def test_what_stands_in_a_callback_or_an_object_is_not_at_the_top_of_a_script() -> None:
    text = "function high() {}\nrun(() => {\n  function low() {}\n});\nuse({ member() {} });\n"
    with facts_of("a.ts", text) as facts:
        assert {facts.symbols[number].name for number in facts.sunken} == {"low", "member"}
    with facts_of("a.py", "if x:\n    def low(): pass\n") as facts:
        assert facts.sunken == frozenset()


def test_what_blocks_bind_is_looked_for_once() -> None:
    with facts_of("a.ts", "run(() => {\n  const low = 1;\n});\n") as facts:
        assert [spot.depth for spot in facts.in_blocks("low")] == [2]
        assert facts.in_blocks("low") is facts.in_blocks("low")
        assert facts.in_blocks("other") == ()


@pytest.mark.parametrize(
    ("path", "alike", "wild"),
    [
        ("a.py", "from x import y\n", "from x import *\n"),
        ("a.ts", "export { y } from 'x';\n", "export * from 'x';\n"),
    ],
)
def test_of_imports_that_all_give_the_same_only_so_many_are_kept(path: str, alike: str, wild: str) -> None:
    with facts_of(path, (alike + wild) * (MOST_ALIKE + 10)) as facts:
        assert len(facts.imports) == 2 * (MOST_ALIKE + 10)
        assert (len(facts.handed_on["y"]), len(facts.wildcards_handed_on)) == (MOST_ALIKE, MOST_ALIKE)
        assert len(facts.wildcards) == (0 if path == "a.ts" else MOST_ALIKE)


def test_a_file_that_is_not_there_has_no_facts_and_is_no_error() -> None:
    with code_view({"a.ts": "export { a };\n"}) as view:
        facts = Facts(view, "gone.ts", "typescript")
        assert (facts.symbols, facts.imports, facts.references, facts.text) == ([], [], [], b"")
        assert (facts.top, facts.inner, facts.bound, facts.exported_as, facts.scopes, facts.package) == (
            {}, {}, {}, {}, {}, "",
        )  # fmt: skip
        assert (facts.wildcards, facts.sunken, facts.bases) == ((), frozenset(), {})
