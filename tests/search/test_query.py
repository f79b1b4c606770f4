"""A question is taken apart into operators, phrases and words; what cannot be meant is refused in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.limits import MAX_QUERY_CHARS
from cairn.core.tokens import terms
from cairn.errors import InvalidQuery, UsageError
from cairn.search.places import SearchScope
from cairn.search.query import Kind, parse

QUOTED = "and in double quotes it is looked for as it stands"


def refusal(text: str, **options: object) -> str:
    with pytest.raises(InvalidQuery) as told:
        parse(text, **options)  # type: ignore[arg-type]
    return told.value.sentence


# --- operators --------------------------------------------------------------------------------------------------------


def test_every_operator_is_taken_out_of_the_text() -> None:
    query = parse(
        'lease renewal lang:python path:src/** -path:**/old must:steal not:mock kind:class scope:tests "as it stands"'
    )
    assert query.text == "lease renewal as it stands steal"
    assert query.words == ("lease", "renewal")
    assert query.phrases == ("as it stands",)
    assert (query.languages, query.kinds, query.scope) == (("python",), ("class",), SearchScope.TESTS)
    assert (query.include, query.exclude) == (("src/**",), ("**/old",))
    assert (query.must, query.excluded) == (("steal",), ("mock",))
    assert query.terms == tuple(dict.fromkeys(terms("lease renewal stands steal")))


def test_operators_may_come_several_times_and_with_lists() -> None:
    query = parse("x lang:go,py language:rust lang:go kind:fn,class path:a path:b must:p must:q")
    assert query.languages == ("go", "python", "rust")
    assert query.kinds == ("function", "class")
    assert query.include == ("a", "b")
    assert query.must == ("p", "q")


def test_a_value_in_quotes_may_hold_blanks() -> None:
    query = parse('x path:"my folder/**" must:"two words" not:"a b"')
    assert query.include == ("my folder/**",)
    assert query.must == ("two words",)
    assert query.excluded == ("a b",)


@pytest.mark.parametrize(
    ("value", "language"),
    [("py", "python"), ("c++", "cpp"), ("c#", "csharp"), ("Python", "python"), (".rs", "rust"), ("golang", "go")],
)
def test_a_language_has_more_than_one_name(value: str, language: str) -> None:
    assert parse(f"x lang:{value}").languages == (language,)


@pytest.mark.parametrize("text", ['x "lang:go"', "x -- lang:go", 'x -- lang:"go"', "-- lang:go x"])
def test_what_is_quoted_or_after_two_dashes_is_no_operator(text: str) -> None:
    query = parse(text)
    assert query.languages == ()
    assert {"lang", "go", "x"} == set(query.terms)


@pytest.mark.parametrize(
    "text",
    [
        "std::vector",
        "http://host/path",
        "key: value",
        "lang: go",
        'lang:""',
        "localhost:8080",
        "path::join",
        "foo:bar",
        "ext:py",
        "note:this",
        "patch:v2",
        "long:3",
        "lnag:3",
        "Lang:go",
        "Kind:Pod",
        "paths:a::b",
        "math:sqrt",
        "a:b:c",
        ":symbol",
        "C:\\src",
    ],
)
def test_code_and_text_with_a_colon_are_searched_for(text: str) -> None:
    query = parse(text)
    assert query.terms == tuple(dict.fromkeys(terms(text)))
    assert (query.languages, query.kinds, query.include, query.must) == ((), (), (), ())


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("langauge:go", "language"),
        ("languag:go", "language"),
        ("languages:go", "language"),
        ("lanh:go", "lang"),
        ("lnag:go", "lang"),
        ("langg:go", "lang"),
        ("pth:src", "path"),
        ("-pth:src", "path"),
        ("mustt:x", "must"),
        ("kinf:class", "kind"),
        ("scpoe:tests", "scope"),
        ("PATHH:src", "path"),
        ('scop:"tests"', "scope"),
    ],
)
def test_a_word_one_slip_from_an_operator_is_asked_about(typed: str, nearest: str) -> None:
    name = typed.partition(":")[0]
    assert refusal(f"foo {typed}") == f"`{name}:` is no operator; the nearest is `{nearest}:`, {QUOTED}."


def test_a_refusal_is_a_usage_error_with_its_own_code() -> None:
    with pytest.raises(UsageError) as told:
        parse("langauge:go")
    assert (told.value.code, told.value.exit_status) == ("invalid_query", 2)
    assert told.value.advice


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x lang:pyhton", "`pyhton` is nothing that `lang:` knows; the nearest is `python`."),
        ("x lang:klingon", "`klingon` is nothing that `lang:` knows; write its usual name, like `python` or `cpp`."),
        ("x kind:clas", "`clas` is nothing that `kind:` knows; the nearest is `class`."),
        (
            "x scope:everything",
            "`everything` is nothing that `scope:` knows; there are runtime, tests, docs, config, all.",
        ),
        ("x scope:tests scope:docs", "The query names two scopes; `scope:all` takes them all."),
        ("x -lang:go", f"`-lang:` is no operator; only `-path:` leaves something out, {QUOTED}."),
        ("", "The query is empty."),
        (" \t\n\x00 ", "The query is empty."),
        ("lang:go path:src", "The query has operators and nothing to look for."),
        ('--  ""', "The query has operators and nothing to look for."),
        ("x" * 100_000, "The query has 100,000 characters, and 4,096 are the most."),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_a_query_as_long_as_allowed_is_read() -> None:
    assert parse("x" * MAX_QUERY_CHARS).text == "x" * MAX_QUERY_CHARS


def test_a_query_of_one_character_more_is_refused() -> None:
    assert "4,097 characters" in refusal("x" * (MAX_QUERY_CHARS + 1))


def test_two_dashes_after_the_first_are_text() -> None:
    assert parse("-- a -- b").words == ("a", "--", "b")


def test_a_long_wrong_value_is_shown_in_part() -> None:
    assert len(refusal("x kind:" + "z" * 3_000)) < 500


def test_options_count_like_operators_and_the_text_wins_for_the_scope() -> None:
    query = parse("x lang:go path:a scope:docs", languages=["py"], include=["b", ""], exclude=["c"], scope="tests")
    assert query.languages == ("python", "go")
    assert (query.include, query.exclude, query.scope) == (("b", "a"), ("c",), SearchScope.DOCS)
    assert parse("x", scope="test").scope is SearchScope.TESTS
    assert parse("x").scope is SearchScope.ALL
    assert "nothing that `scope:` knows" in refusal("x", scope="everywhere")


# --- harmless ---------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_utf8_become_harmless() -> None:
    assert parse("caf\udce9 ok").raw == "caf\ufffd ok"
    # Bytes of UTF-8 that came one by one, as under the C locale.
    assert parse("gr\udcc3\udcb6\udcc3\udc9fe").raw == "größe"
    assert parse("half \ud83d pair").raw == "half ? pair"


def test_control_and_bidirectional_characters_are_gone_from_query_and_message() -> None:
    assert parse("a\x1b[31mb\u202ec").raw == "a [31mb c"
    assert refusal("x kind:c\x07las\u202e").isprintable()


@given(st.text(max_size=60) | st.text('abc:"-/.*()_ langpathkindmustnotscope', max_size=60))
def test_any_text_is_a_query_or_one_printable_sentence(text: str) -> None:
    sentence = ""
    try:
        query = parse(text)
    except InvalidQuery as refused:
        sentence = refused.sentence
    if sentence:
        assert sentence.isprintable()
        assert sentence.endswith(".")
        return
    assert query.raw.isprintable()
    assert query.raw.encode()
    assert query.text
    assert len(set(query.terms)) == len(query.terms)
    # What was read is a query of the same meaning.
    assert parse(query.raw) == query


@given(st.lists(st.text("abcdefgXY_", min_size=1, max_size=8), min_size=1, max_size=6))
def test_words_without_operators_are_all_asked_for_in_their_order(words: list[str]) -> None:
    query = parse(" ".join(words))
    assert query.text == " ".join(words)
    assert query.terms == tuple(dict.fromkeys(terms(" ".join(words))))


# --- what it is about -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tests", "examples", "docs"),
    [
        ("how are leases stolen", False, False, False),
        ("tests of the lease", True, False, False),
        ("spec helper", True, False, False),
        ("test_lease_is_stolen", True, False, False),
        ("LeaseTest", True, False, False),
        ("latest contest", False, False, False),
        ("e2e login", True, False, False),
        ("example of a plugin", False, True, False),
        ("tutorial", False, True, True),
        ("documentation of the lease", False, False, True),
        ("document store", False, False, False),
        ("x path:tests/**", True, False, False),
        ("x scope:tests", True, False, False),
        ("x scope:docs", False, True, True),
    ],
)
def test_a_query_that_asks_for_tests_examples_or_documents_says_so(
    text: str, tests: bool, examples: bool, docs: bool
) -> None:
    query = parse(text)
    assert (query.wants_tests, query.wants_examples, query.wants_docs) == (tests, examples, docs)


def test_the_kind_and_the_sorted_words_come_along() -> None:
    query = parse("where does Store.open read src/a.py lang:go")
    assert query.kind is Kind.MIXED
    assert [name.text for name in query.identifiers] == ["Store.open"]
    assert query.path_words == ("src/a.py",)
    assert query.natural == ("where", "does", "read")
