"""Which lines of a file are code, and which of them are the bodies of its functions."""

from __future__ import annotations

import pytest

from cairn.syntax.analyze import analyze
from cairn.syntax.frame import body_lines, code_lines
from cairn.syntax.languages import traits_of


def code(text: str, language: str) -> list[str]:
    return [line.decode() for line in code_lines(text.encode(), traits_of(language).lexis)]


def bodies(text: str, language: str) -> list[str]:
    """The lines of each body, joined."""
    data = text.encode()
    lines = code_lines(data, traits_of(language).lexis)
    found = body_lines(lines, analyze(data, language)[0].symbols)
    return [" ".join(line.strip().decode() for line in lines[first - 1 : last]) for first, last in found]


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("go", "// a\nx := 1 // b\n/* c\n d */\ny := `// no`\n", ["", "x := 1", "", "", "y := `// no`", ""]),
        ("go", "//go:build linux\n\npackage a\n", ["//go:build linux", "", "package a", ""]),
        ("go", '// int f(void) {}\nimport "C"\n', ["// int f(void) {}", 'import "C"', ""]),
        ("python", "# a\nx = 1  # b\ny = 2  # type: int\n", ["", "x = 1", "y = 2  # type: int", ""]),
        ("python", "x = '# no'\n", ["x = '# no'", ""]),
        ("typescript", "// a\n// @ts-nocheck\nlet x = 1;\n", ["", "// @ts-nocheck", "let x = 1;", ""]),
        ("javascript", "/** a\n * @type {X} */\nlet x;\n", ["/** a", " * @type {X} */", "let x;", ""]),
    ],
)
def test_comments_are_no_code_unless_a_tool_reads_them(language: str, text: str, left: list[str]) -> None:
    assert code(text, language) == left


GO = """package a

type Box struct {
	name string
}

// Name is what it is.
func (b *Box) Name(
	loud bool,
) string {
	if loud { // so
		return up(b.name)
	}
	return b.name
}

func one() int { return 1 }

func own() {
	type local struct{ x int }
	_ = local{}
}

var made = func() int {
	return 2
}
"""


def test_a_body_is_what_stands_between_the_head_and_the_end_of_a_function_that_defines_nothing_else() -> None:
    # What a variable is made of decides its type, so that it is no body.
    assert [text for text in bodies(GO, "go") if "local" not in text] == ["if loud { return up(b.name) } return b.name"]


def test_a_body_in_rust_and_java_is_found_where_the_brace_stands() -> None:
    rust = "fn a<T>(x: T) -> i32\nwhere\n    T: Copy,\n{\n    b(x)\n}\n"
    rust += "impl X {\n    fn c(&self) {\n        d()\n    }\n}\n"
    assert bodies(rust, "rust") == ["b(x)", "d()"]
    java = "class A {\n  int a(int x)\n  {\n    return b(x);\n  }\n  A() {\n    c();\n  }\n}\n"
    assert bodies(java, "java") == ["return b(x);", "c();"]
