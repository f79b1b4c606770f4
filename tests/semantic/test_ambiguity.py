"""Every source of ambiguity has a detector that finds it in a fixture, and leaves alone what only looks like it."""

from __future__ import annotations

import pytest

from cairn.core.filetypes import language_of
from cairn.semantic.ambiguity import (
    MOST_OF_A_KIND,
    SENTENCES,
    Ambiguity,
    AmbiguityEvidence,
    AmbiguitySource,
    MeaningCandidate,
    ambiguities,
)
from cairn.semantic.model import family_of
from cairn.syntax.analyze import analyze
from tests.conformance import conforms


def evidence(path: str, text: str, *, known: tuple[str, ...] = ()) -> AmbiguityEvidence:
    """What is known of a file; the indexer resolves every name that begins at one of these texts."""
    data = text.encode()
    language = language_of(path.encode())
    assert language is not None
    syntax, _ = analyze(data, language)
    family = family_of(path)
    assert family is not None
    starts = {data.index(each.encode()) for each in known}
    return AmbiguityEvidence(path, family, data, syntax.symbols, syntax.references, syntax.imports, starts.__contains__)


def found(path: str, text: str) -> list[tuple[AmbiguitySource, str, int]]:
    resolved = evidence(path, text)._replace(resolved=lambda _: True)
    return [(one.source, one.name, one.line) for one in ambiguities(resolved)]


D, C, L, Y, S = (
    AmbiguitySource.DUPLICATE_DEFINITION,
    AmbiguitySource.CONDITIONAL_DEFINITION,
    AmbiguitySource.OVERLOAD_SET,
    AmbiguitySource.DYNAMIC_ATTRIBUTE,
    AmbiguitySource.STAR_IMPORT,
)
IF = "if x:\n    def load(): ...\nelse:\n    def load(): ...\n"
TRY = "try:\n    from a import b\nexcept E:\n    class Box: ...\nclass Box: ...\n"
OVERLOAD = "from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...\n"
PROPERTY = "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n"
DISPATCH = "@singledispatch\ndef f(a): ...\n@f.register\ndef _(a): ...\n@f.register\ndef _(a): ...\n"


@conforms("002.AX2")
@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "def load(): ...\n\ndef load(): ...\n", [(D, "load", 1)]),
        ("a.py", "class A:\n    def m(self): ...\n    def m(self): ...\n", [(D, "A.m", 2)]),
        ("a.py", IF, [(C, "load", 2)]),
        ("a.py", TRY, [(C, "Box", 4)]),
        ("a.py", OVERLOAD, [(L, "f", 2)]),
        ("a.ts", "function f(a: number): void;\nfunction f(a: string): void;\nfunction f(a: any) {}\n", [(L, "f", 1)]),
        ("A.java", "class A {\n  void m(int a) {}\n  void m(String a) {}\n}\n", [(L, "A.m", 2)]),
        ("a.c", "#if X\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n", [(C, "f", 2)]),
        ("a.rs", "#[cfg(unix)]\nfn f() {}\n#[cfg(windows)]\nfn f() {}\n", [(C, "f", 2)]),
        ("a.py", "def f(o, name):\n    return getattr(o, name)\n", [(Y, "getattr", 2)]),
        ("a.py", "class A:\n    def __getattr__(self, name): ...\n", [(Y, "__getattr__", 2)]),
        ("a.ts", "eval('x');\n", [(Y, "eval", 1)]),
        ("a.ts", "Reflect.get(a, 'x');\n", [(Y, "get", 1)]),
        ("a.rb", "def f(o)\n  o.public_send(:x)\nend\n", [(Y, "public_send", 2)]),
        ("a.py", "from os.path import *\n", [(S, "os.path", 1)]),
    ],
)
def test_a_source_of_ambiguity_is_found(path: str, text: str, expected: list[tuple[AmbiguitySource, str, int]]) -> None:
    assert found(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def load(): ...\n\nclass A:\n    def load(self): ...\n"),
        ("a.py", PROPERTY),
        ("a.py", DISPATCH),
        ("a.py", "x = 1\nx = 2\n"),
        ("a.py", "if x:\n    def load(): ...\n"),
        ("a.py", "from os import path\nimport os\n"),
        ("a.ts", "class A { get x() { return 1 } set x(v) {} }\n"),
        ("a.ts", "interface A { a: number }\ninterface A { b: number }\n"),
        ("a.ts", "import * as all from './b';\n"),
        ("a.rb", "class A\nend\nclass A\nend\n"),
        ("a.rs", "use a::*;\nfn f() {}\n"),
    ],
)
def test_what_only_looks_ambiguous_is_not(path: str, text: str) -> None:
    assert found(path, text) == []


@conforms("002.AX2")
def test_a_base_that_the_indexer_does_not_know_is_ambiguous() -> None:
    text = "class A(Known, Unknown): ...\n"
    (one,) = ambiguities(evidence("a.py", text, known=("Known",)))
    assert (one.source, one.name, one.line) == (AmbiguitySource.UNRESOLVED_BASE, "Unknown", 1)
    assert ambiguities(evidence("a.py", text, known=("Known", "Unknown"))) == ()


def test_a_signature_is_the_same_for_the_same_ambiguity_and_for_no_other() -> None:
    one = Ambiguity(D, "a.py", 1, "load", (MeaningCandidate("a.py", 1, "load"), MeaningCandidate("a.py", 5, "load")))
    others = [
        Ambiguity(C, "a.py", 1, "load", one.candidates),
        Ambiguity(D, "b.py", 1, "load", one.candidates),
        Ambiguity(D, "a.py", 2, "load", one.candidates),
        Ambiguity(D, "a.py", 1, "save", one.candidates),
        Ambiguity(D, "a.py", 1, "load", one.candidates[:1]),
    ]
    assert len({each.signature for each in (one, *others)}) == 6
    assert one.signature == Ambiguity(D, "a.py", 1, "load", one.candidates).signature


def test_every_source_has_a_sentence_and_a_hostile_file_is_bounded() -> None:
    assert set(SENTENCES) == set(AmbiguitySource)
    many = found("a.py", "".join(f"getattr(a, {n})\n" for n in range(MOST_OF_A_KIND * 2)))
    assert len(many) == MOST_OF_A_KIND
    assert found("a.py", "\t" * 5_000 + "def f(): ...\n" * 50) is not None
