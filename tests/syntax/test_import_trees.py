"""One import statement, every name it brings in."""

from __future__ import annotations

import pytest

from tests.syntax.fixtures import facts_of


def imports(text: str, language: str) -> list[tuple[str, str, str]]:
    return [(i.module, i.name, i.alias) for i in facts_of(text.encode(), language).imports]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("use A\\B;", [("A", "B", "")]),
        ("use \\A\\B as C;", [("A", "B", "C")]),
        ("use Plain;", [("", "Plain", "")]),
        ("use A\\{B, C\\D as E, function f};", [("A", "B", ""), ("A", "f", ""), ("A\\C", "D", "E")]),
        ("use function A\\f, A\\g as h;", [("A", "f", ""), ("A", "g", "h")]),
    ],
)
def test_a_php_use_gives_the_last_part_of_each_path_as_the_name(
    statement: str, found: list[tuple[str, str, str]]
) -> None:
    assert imports(f"<?php\n{statement}\n", "php") == found


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import a.b.C", [("a.b", "C", "")]),
        ("import a.*", [("a", "*", "")]),
        ("import a._", [("a", "*", "")]),
        ("import a.{B, C => D, E as F}", [("a", "B", ""), ("a", "C", "D"), ("a", "E", "F")]),
        ("import a.{B => _, _}", [("a", "*", "")]),
        ("import a.B, c.D", [("a", "B", ""), ("c", "D", "")]),
        ("import a.given", [("a", "given", "")]),
    ],
)
def test_a_scala_import_gives_its_selectors_renames_and_wildcards(
    statement: str, found: list[tuple[str, str, str]]
) -> None:
    assert imports(f"{statement}\n", "scala") == found


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import A.B", [("A.B", "*", "")]),
        ("import qualified A.B as C", [("A.B", "", "C")]),
        ("import A.B qualified", [("A.B", "", "")]),
        ("import A (b, C(..), (<+>))", [("A", "<+>", ""), ("A", "C", ""), ("A", "b", "")]),
        ("import A as B (c)", [("A", "", "B"), ("A", "c", "")]),
        ("import A hiding (b)", [("A", "*", "")]),
        ("import A (T (X, y))", [("A", "T", ""), ("A", "X", ""), ("A", "y", "")]),
    ],
)
def test_a_haskell_import_tells_names_from_everything(statement: str, found: list[tuple[str, str, str]]) -> None:
    assert imports(f"module M where\n{statement}\nx = 1\n", "haskell") == found


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("alias A.B", [("A.B", "", "")]),
        ("alias A.B, as: C", [("A.B", "", "C")]),
        ("alias A.{B, C.D}", [("A.B", "", ""), ("A.C.D", "", "")]),
        ("import A", [("A", "*", "")]),
        ("import A, only: [f: 1, g: 2]", [("A", "f", ""), ("A", "g", "")]),
        ("require Logger", [("Logger", "", "")]),
        ("use A, key: 1", [("A", "", "")]),
    ],
)
def test_the_four_words_of_elixir_that_bring_names_in(statement: str, found: list[tuple[str, str, str]]) -> None:
    assert imports(f"defmodule M do\n  {statement}\nend\n", "elixir") == found


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import Foundation", [("Foundation", "*", "")]),
        ("import UIKit.UIView", [("UIKit.UIView", "*", "")]),
        ("import struct A.B", [("A", "B", "")]),
        ("@testable import Kit", [("Kit", "*", "")]),
    ],
)
def test_a_swift_import_opens_a_module_or_takes_one_name(statement: str, found: list[tuple[str, str, str]]) -> None:
    assert imports(f"{statement}\n", "swift") == found


@pytest.mark.parametrize("language", ["php", "scala", "haskell", "elixir", "swift"])
def test_a_broken_import_gives_no_exception(language: str) -> None:
    for text in ("use {", "import a.{", "import (", "alias A.{", "import struct", "import ,", "use A\\{, as"):
        assert isinstance(imports(f"<?php {text}" if language == "php" else text, language), list)
