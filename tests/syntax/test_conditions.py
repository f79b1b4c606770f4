"""Which parts of a file are compiled under a condition only."""

from __future__ import annotations

import re

import pytest

from cairn.syntax.conditions import Condition, attributes, directives, platforms


def called(found: tuple[Condition, ...], text: str) -> list[str]:
    """The conditions over the first `x` of the text."""
    first = re.search(r"\bx\b", text)
    assert first is not None
    at = first.start()
    return [each.text.decode() for each in found if each.start <= at < each.end]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int x;\n", []),
        ("#if A\nint x;\n#endif\n", ["if A"]),
        ("#if A\n#endif\nint x;\n", []),
        ("#if A\n#else\nint x;\n#endif\n", ["else if A"]),
        ("#if A\n#elif B\nint x;\n#endif\n", ["elif B"]),
        ("#ifdef A\n# ifndef B /* why */\nint x;\n# endif\n#endif\n", ["ifdef A", "ifndef B"]),
        ("#if A\n#if B\n#endif\nint x;\n#endif\n", ["if A"]),
        ("#if 1\nint x;\n#endif\n", []),
        ("#if 0\nint x;\n#endif\n", ["if 0"]),
        ("#if A\nint x;\n", ["if A"]),
        ("#endif\n#else\nint x;\n", []),
        ("/* A */\n#ifndef A_H\n#define A_H\nint x;\n#endif\n", []),
        ("#ifndef A_H\n#define A_H\n#ifdef B\nint x;\n#endif\n#endif\n", ["ifdef B"]),
        ("#ifndef SIZE\n#include <a.h>\nint x;\n#endif\n", ["ifndef SIZE"]),
        ("#define A\n#ifndef SIZE\n#define SIZE x\n#endif\n", ["ifndef SIZE"]),
        ("#if \\\n A\nint x;\n#endif\n", ["if \\ A"]),
    ],
)
def test_a_branch_of_a_directive_is_conditional_and_an_include_guard_is_not(text: str, expected: list[str]) -> None:
    assert called(directives(text.encode(), "a.h"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn x() {}\n", []),
        ("#[cfg(unix)]\nfn x() {}\n", ["unix"]),
        ("#[cfg(unix)]\nfn y() { if a { b } }\nfn x() {}\n", []),
        ('#[cfg(all(unix, not(feature = "a")))]\n#[inline]\npub fn x<A, B>(a: [u8; 2]) {}\n', None),
        ("#[cfg(test)]\nmod tests {\n    fn x() {}\n}\n", ["test"]),
        ("#[cfg(test)]\nmod tests;\nfn x() {}\n", []),
        ("enum E {\n    #[cfg(unix)]\n    A,\n    x,\n}\n", []),
        ("enum E {\n    #[cfg(unix)]\n    x,\n}\n", ["unix"]),
        ("#![cfg(unix)]\nfn x() {}\n", ["unix"]),
        ('#[cfg(unix)]\nfn y() { "}" }\nfn x() {}\n', []),
    ],
)
def test_an_item_below_cfg_is_conditional_up_to_its_end(text: str, expected: list[str] | None) -> None:
    found = called(attributes(text.encode(), "a.rs"), text)
    assert found == expected if expected is not None else len(found) == 1


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.go", "package x\n", []),
        ("a_linux.go", "package x\n", ["linux"]),
        ("a_linux_amd64.go", "package x\n", ["linux_amd64"]),
        ("a_windows_test.go", "package x\n", ["windows"]),
        ("linux.go", "package x\n", []),
        ("a_test.go", "package x\n", []),
        ("a.go", "// Text.\n\n//go:build linux && !cgo\n\npackage x\n", ["linux && !cgo"]),
        ("a.go", "// +build ignore\n\npackage x\n", ["ignore"]),
        ("a.go", "package x\n//go:build linux\n", []),
    ],
)
def test_a_file_of_go_is_built_for_the_platforms_of_its_name_and_of_its_first_lines(
    path: str, text: str, expected: list[str]
) -> None:
    assert called(platforms(text.encode(), path), text) == expected


def test_a_hostile_file_of_ten_thousand_conditions_is_read_in_bounded_steps() -> None:
    text = b"#if A\nint x;\n" * 10_000
    assert directives(text, "a.c") == (Condition(0, len(text), b"many"),)
    assert len(attributes(b"#[cfg(a)] fn x() {\n" * 10_000, "a.rs")) == 10_000
