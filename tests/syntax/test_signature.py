from __future__ import annotations

import pytest

from cairn.core.limits import MAX_SIGNATURE_CHARS
from tests.syntax.fixtures import facts_of


@pytest.mark.parametrize(
    ("language", "data", "expected"),
    [
        ("python", b"def f(\n    a: int,  # why\n    b=2,\n) -> str:\n    return ''\n", "def f( a: int, b=2, ) -> str"),
        ("python", b"@cached\nclass A(B):\n    pass\n", "@cached class A(B)"),
        ("java", b"class A { public int /* n */ size() { return 1; } }", "public int size()"),
        ("typescript", b"export const f = async (a: string): Promise<void> => { g(); };", None),
        ("typescript", b"export type Id = string | number;", "export type Id = string | number"),
        ("rust", b"pub fn f<T: A>(x: T) -> T where T: B { x }", "pub fn f<T: A>(x: T) -> T where T: B"),
        ("c", b"static const int limit = 3;", "static const int limit"),
        ("markdown", b"# Title\n\nBody of the section.\n", "# Title"),
    ],
)
def test_a_signature_is_the_header_on_one_line_without_body_value_or_comments(
    language: str, data: bytes, expected: str | None
) -> None:
    written = facts_of(data, language).symbols[-1].signature
    if expected is None:
        assert "g()" not in written
        assert "a: string" in written
    else:
        assert written == expected


def test_each_name_of_a_shared_declaration_shows_the_head_and_its_own_piece() -> None:
    facts = facts_of(b"class A { private int first = 1, second[]; }", "java")
    assert [symbol.signature for symbol in facts.symbols[1:]] == ["private int first", "private int second[]"]


def test_a_hash_in_a_string_is_no_comment() -> None:
    assert facts_of(b"def f(a='#', b=1): pass\n", "python").symbols[0].signature == "def f(a='#', b=1)"


def test_a_header_without_end_is_cut() -> None:
    facts = facts_of(b"def f(" + b"a, " * 50_000 + b"b): pass\n", "python")
    assert len(facts.symbols[0].signature) == MAX_SIGNATURE_CHARS


def test_a_pointer_to_a_pointer_three_thousand_deep_needs_no_recursion() -> None:
    facts = facts_of(b"int " + b"*" * 3_000 + b"deep(void);\n", "c")
    assert all(len(symbol.signature) <= MAX_SIGNATURE_CHARS for symbol in facts.symbols)
