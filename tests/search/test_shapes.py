"""What kind of query a text is, by the shape of its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.search.query import Identifier, Kind, identifier_of, is_path_word, looks_like_regex, shape


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("lease", Kind.IDENTIFIER),
        ("readOnly", Kind.IDENTIFIER),
        ("HTTPServer", Kind.IDENTIFIER),
        ("MAX_SIZE parse_args", Kind.IDENTIFIER),
        ("__init__", Kind.IDENTIFIER),
        ("main()", Kind.IDENTIFIER),
        ("@property", Kind.IDENTIFIER),
        ("def lease", Kind.IDENTIFIER),
        ("fn steal", Kind.IDENTIFIER),
        ("class Lease", Kind.IDENTIFIER),
        ("class hierarchy", Kind.NATURAL),
        ("type inference", Kind.NATURAL),
        ("std::vector", Kind.QUALIFIED),
        ("Store.open", Kind.QUALIFIED),
        ("Foo#bar", Kind.QUALIFIED),
        ("node->next", Kind.QUALIFIED),
        ("App\\Models\\User", Kind.QUALIFIED),
        ("Store.open()", Kind.QUALIFIED),
        ("array.map", Kind.QUALIFIED),
        ("Store.open readOnly", Kind.IDENTIFIER),
        ("src/cairn/lease.py", Kind.PATH),
        ("lease.py", Kind.PATH),
        ("lease.py:42", Kind.PATH),
        ("store/", Kind.PATH),
        ("/etc/hosts", Kind.PATH),
        ("a.py b.go", Kind.PATH),
        ("foo.*bar", Kind.REGEX),
        (r"def \w+\(", Kind.REGEX),
        ("^import", Kind.REGEX),
        ("[a-z]+_test", Kind.REGEX),
        ("(foo|bar)", Kind.REGEX),
        ("how are snapshots published", Kind.NATURAL),
        ("How does Session handle cookies?", Kind.NATURAL),
        ("e.g. this one", Kind.NATURAL),
        ("HTTP I/O and/or TCP/IP", Kind.NATURAL),
        ("import java.util.*", Kind.NATURAL),
        ("http://host/path", Kind.NATURAL),
        ("where is readOnly set", Kind.MIXED),
        ("what is in lease.py", Kind.MIXED),
        ("`open` fails", Kind.MIXED),
        ("readOnly in lease.py", Kind.MIXED),
        ("Store.open lease.py", Kind.MIXED),
        ("中文查询", Kind.NATURAL),
        ("???", Kind.NATURAL),
    ],
)
def test_a_query_is_known_by_the_shape_of_its_words(text: str, kind: Kind) -> None:
    assert shape(text.split(), ()).kind is kind


def test_phrases_alone_are_a_phrase_and_with_words_a_mixture() -> None:
    assert shape((), ["as it stands"]).kind is Kind.PHRASE
    assert shape(["lease"], ["as it stands"]).kind is Kind.MIXED
    assert shape((), ()).kind is Kind.NATURAL


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Store.open", Identifier("Store.open", "Store", "open", True)),
        ("a::b::Cee", Identifier("a::b::Cee", "a.b", "Cee", True)),
        ("Foo#bar?", Identifier("Foo#bar", "Foo", "bar", True)),
        ("self?.name,", Identifier("self?.name", "self", "name", True)),
        ("`open`", Identifier("open", "", "open", True)),
        ("open(path)?", Identifier("open", "", "open", True)),
        ("$scope", Identifier("$scope", "", "scope", True)),
        ("(readOnly)", Identifier("readOnly", "", "readOnly", True)),
        ("Session", Identifier("Session", "", "Session", False)),
        ("sha256", Identifier("sha256", "", "sha256", True)),
    ],
)
def test_a_name_comes_with_its_container(word: str, name: Identifier) -> None:
    assert identifier_of(word, first=False) == name


@pytest.mark.parametrize("word", ["lease", "HTTP", "e.g.", "3.11", "größe", "", "()", "-x", "don't"])
def test_a_plain_word_is_no_name(word: str) -> None:
    assert identifier_of(word, first=False) is None


def test_a_capital_at_the_start_of_a_sentence_means_nothing() -> None:
    assert identifier_of("Where", first=True) is None


@pytest.mark.parametrize("word", ["src/a", "a.py", "Makefile.am/x", "index.d.ts", "a/b/", "lib.rs:10", "/usr", "x.c++"])
def test_a_slash_or_a_known_ending_makes_a_path(word: str) -> None:
    assert is_path_word(word)


@pytest.mark.parametrize(
    "word", ["list.map", "this.props", "self.log", "and/or", "I/O", "ftp://a/b", "a.unknown", "/", "//"]
)
def test_a_method_a_choice_of_words_and_an_address_are_no_paths(word: str) -> None:
    assert not is_path_word(word)


@pytest.mark.parametrize("text", [r"\d+", "a.+b", ".*", "x{2,3}", "(?:a)", "[^x]", "foo$", r"a\.b", "a|b", "[0-9]*"])
def test_signs_of_a_regular_expression_are_seen(text: str) -> None:
    assert looks_like_regex(text)


@pytest.mark.parametrize(
    "text", ["a.b", "java.util.*", "char **argv", "f(x)", "a || b", "$HOME", "src\\data", "a[0]", "x?"]
)
def test_code_is_no_regular_expression(text: str) -> None:
    assert not looks_like_regex(text)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc"]), min_size=1, max_size=12), max_size=5))
def test_any_words_have_a_shape_and_none_is_in_two_lists(words: list[str]) -> None:
    found = shape(words, ())
    assert set(found.path_words).isdisjoint(found.natural)
    assert len({name.text for name in found.identifiers}) == len(found.identifiers)


def test_hostile_words_take_no_time() -> None:
    for word in ("a." * 2_000, "(" * 4_000, "[a-" * 1_300, "a/" * 2_000, "\\" * 4_000, "a|" * 2_000, "(a" * 2_000):
        shape([word], ())
