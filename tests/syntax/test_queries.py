"""The query files: each one names only kinds that exist, and no declaration is too wide for any of them."""

from __future__ import annotations

import re
import time

import pytest

from cairn.core.types import ReferenceKind, SymbolKind
from cairn.syntax.languages import load, query_text
from cairn.syntax.languages.pins import PINS
from cairn.syntax.parse import parse
from cairn.syntax.symbols import extract
from tests.syntax.fixtures import facts_of

# One declaration with thousands of names: a pattern that waits for something behind them is quadratic or worse.
WIDE = {
    "bash": b"declare -x " + b"-x " * 4_000 + b"A=1 " * 4_000,
    "csharp": b"class A { int " + b"a = 1, " * 8_000 + b"b; }",
    "css": b"a, " * 20_000 + b"b { }",
    "elixir": b"defimpl A, for: B, " + b"a: 1, " * 8_000 + b"b: 2 do end",
    "haskell": b"data A = B { " + b"a, " * 8_000 + b"b :: Int }",
    "html": b"<link " + b'rel="stylesheet" href="x" ' * 6_000 + b">",
    "lua": b"local " + b"a, " * 8_000 + b"b = 1",
    "php": b"<?php const " + b"A = 1, " * 8_000 + b"B = 2;",
    "ruby": b"attr_reader " + b":a, " * 20_000 + b":b",
    "scala": b"extension (s: String)\n" + b"  def a = 1\n" * 6_000,
    "sql": b"CREATE TABLE t (" + b"a INT, " * 8_000 + b"b INT);",
    "swift": b"let " + b"a = 1, " * 8_000 + b"b = 2",
    "zig": b"const E = error{" + b"A, " * 8_000 + b"B};",
}


@pytest.mark.parametrize("language", sorted(PINS))
def test_a_query_names_only_kinds_that_exist(language: str) -> None:
    text = query_text(language)
    assert set(re.findall(r"@def\.(\w+)", text)) <= set(SymbolKind)
    assert set(re.findall(r"@ref\.(\w+)", text)) <= {*ReferenceKind, "none"}


@pytest.mark.parametrize("language", sorted(PINS))
def test_a_query_uses_no_predicate_that_the_library_gets_wrong(language: str) -> None:
    # `not-any-of?` is true for every node in tree-sitter 0.26.0.
    assert "#not-any-of?" not in query_text(language)


# Each grammar has rules of its own; the long run tries the dearest too.
_DEAR = {"ruby", "elixir", "csharp", "css", "zig"}


@pytest.mark.parametrize(
    "language", [pytest.param(one, marks=pytest.mark.long) if one in _DEAR else one for one in sorted(WIDE)]
)
def test_a_declaration_with_thousands_of_names_is_read_in_seconds(language: str) -> None:
    grammar = load(language)
    assert grammar is not None
    tree = parse(WIDE[language], grammar)
    assert tree is not None
    started = time.process_time()
    facts = extract(WIDE[language], tree.root_node, grammar)
    assert time.process_time() - started < 4
    assert facts.symbols or facts.imports


def test_names_nested_without_end_do_not_pile_up_in_their_containers() -> None:
    facts = facts_of(
        b'<div id="' + b"a" * 150 + b'">' + (b'<div id="' + b"b" * 150 + b'">') * 1_500 + b"</div>" * 1_501, "html"
    )
    assert len(facts.symbols) > 1_000
    assert max(len(symbol.container) for symbol in facts.symbols) <= 1_000


@pytest.mark.parametrize("data", [b"- " * 5_000, b"".join(b" " * depth + b"a:\n" for depth in range(600)), b"? " * 400])
def test_yaml_deeper_than_its_grammar_can_hold_is_not_parsed(data: bytes) -> None:
    # The grammar writes behind the end of its buffer: the process would die here.
    grammar = load("yaml")
    assert grammar is not None
    assert parse(data, grammar) is None


def test_yaml_as_people_write_it_is_parsed_however_long_its_lines() -> None:
    grammar = load("yaml")
    assert grammar is not None
    assert parse(b"key: " + b"word " * 400 + b"\n" + b"  " * 40 + b"x: 1\n", grammar) is not None


@pytest.mark.parametrize(("language", "bracket"), [("json", b"["), ("elixir", b"["), ("swift", b"{"), ("zig", b"{")])
def test_a_hundred_thousand_loose_brackets_are_no_tree_to_search(language: str, bracket: bytes) -> None:
    grammar = load(language)
    assert grammar is not None
    assert parse(bracket * 100_000, grammar) is None
