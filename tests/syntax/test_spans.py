"""Definitions that are more than one node: headers with what follows them, functions with many clauses."""

from __future__ import annotations

from itertools import pairwise

from cairn.core.types import Symbol
from tests.syntax.fixtures import facts_of


def spans(text: str, language: str) -> dict[str, tuple[int, int]]:
    return {path_of(symbol): (symbol.start_line, symbol.end_line) for symbol in symbols(text, language)}


def symbols(text: str, language: str) -> tuple[Symbol, ...]:
    return facts_of(text.encode(), language).symbols


def path_of(symbol: Symbol) -> str:
    return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name


def test_a_heading_owns_everything_up_to_the_next_heading_of_its_level_in_both_notations() -> None:
    found = spans("# A\n\n## B\n\ntext\n\nC\n---\n\nmore\n\nD\n===\n", "markdown")
    assert found == {"A": (1, 10), "A.B": (3, 5), "A.C": (7, 10), "D": (12, 13)}


def test_a_heading_inside_a_quote_or_a_list_does_not_cut_the_section_around_it() -> None:
    assert spans("# A\n\n> # quoted\n\n- x\n  # listed\n\nend\n", "markdown") == {"A": (1, 8)}


def test_a_heading_below_a_skipped_level_still_hangs_below_the_last_higher_one() -> None:
    assert list(spans("# A\n\n#### Deep\n\n## B\n", "markdown")) == ["A", "A.Deep", "A.B"]


def test_two_namespaces_of_one_file_follow_one_another() -> None:
    text = "<?php\nnamespace A;\nclass X {}\nnamespace B;\nclass X {}\n"
    assert spans(text, "php") == {"A": (2, 3), "A.X": (3, 3), "B": (4, 5), "B.X": (5, 5)}


def test_two_package_clauses_of_one_file_nest() -> None:
    assert spans("package a\npackage b\n\nclass C\n", "scala") == {"a": (1, 4), "a.b": (2, 4), "a.b.C": (4, 4)}


def test_a_signature_and_the_equations_below_it_are_one_function() -> None:
    text = "f :: Int -> Int\nf 0 = 1\nf n = g n\n  where g x = x\ng :: Int\ng = 2\n"
    found = symbols(text, "haskell")
    assert [(path_of(s), s.start_line, s.end_line) for s in found] == [("f", 1, 4), ("f.g", 4, 4), ("g", 5, 6)]
    assert found[0].signature == "f :: Int -> Int"


def test_clauses_of_another_arity_are_another_function() -> None:
    text = "defmodule M do\n  def f(a), do: f(a, 1)\n  def f(a, 1), do: a\n  def f(a, b), do: a + b\nend\n"
    found = [(s.signature, s.start_line, s.end_line) for s in symbols(text, "elixir") if s.name == "f"]
    assert found == [("def f(a)", 2, 2), ("def f(a, 1)", 3, 4)]


def test_clauses_with_another_definition_between_them_stay_apart() -> None:
    found = symbols("f 0 = 1\ng = 2\nf n = n\n", "haskell")
    assert [s.name for s in found] == ["f", "g", "f"]


def test_blank_lines_below_an_indented_block_are_not_part_of_it() -> None:
    text = "given o: Ordering[Int] with\n  def compare(a: Int, b: Int) = 0\n\n\nval x = 1\n"
    assert spans(text, "scala")["o"] == (1, 2)


def test_definitions_come_in_order_with_the_outer_one_first() -> None:
    found = symbols("namespace N;\nclass A { class B { int x, y; } }\nclass C { }\n", "csharp")
    for before, after in pairwise(found):
        assert (before.start_byte, -before.end_byte) <= (after.start_byte, -after.end_byte)
    assert [path_of(s) for s in found] == ["N", "N.A", "N.A.B", "N.A.B.x", "N.A.B.y", "N.C"]
