"""Our reading of the query files against the engine's."""

from __future__ import annotations

import pytest
from tree_sitter import Language, Node, Query, QueryCursor

from cairn.syntax.languages import load, query_text
from cairn.syntax.languages.pins import PINS
from cairn.syntax.patterns import passes, patterns
from tests.syntax.fixtures import samples


def language_of(name: str) -> Language:
    grammar = load(name)
    assert grammar is not None
    assert grammar.parser.language is not None
    return grammar.parser.language


@pytest.mark.parametrize("name", ["python", "typescript", "ruby", "elixir", "html"])
def test_a_query_in_two_parts_finds_what_the_engine_finds_with_the_whole(name: str) -> None:
    grammar = load(name)
    assert grammar is not None
    data = next(sample for sample in samples() if sample.parent.name == name).read_bytes()
    root = grammar.parser.parse(data).root_node

    def places(captures: dict[str, list[Node]]) -> tuple[tuple[str, int, int], ...]:
        found = [(capture, node.start_byte, node.end_byte) for capture, nodes in captures.items() for node in nodes]
        return tuple(sorted(found))

    whole = Query(language_of(name), query_text(name))
    expected = {(number, places(captures)) for number, captures in QueryCursor(whole).matches(root)}
    top_cursor = QueryCursor(grammar.top_query)
    top_cursor.set_max_start_depth(0)
    ours = {
        (part[number].place, places(captures))
        for part, cursor in ((grammar.patterns, QueryCursor(grammar.query)), (grammar.top_patterns, top_cursor))
        for number, captures in cursor.matches(root)
        if passes(part[number].questions, captures, lambda node: data[node.start_byte : node.end_byte].decode())
    }
    assert len(expected) > 10
    assert ours == expected


@pytest.mark.parametrize("name", sorted(PINS))
def test_every_pattern_and_every_question_of_a_query_is_read(name: str) -> None:
    text = query_text(name)
    grammar = load(name)
    assert grammar is not None
    found = patterns(text)
    assert len(found) == grammar.query.pattern_count + grammar.top_query.pattern_count
    assert text.count("(#") == sum(len(pattern.questions) for pattern in found)
    assert [pattern.place for pattern in found] == list(range(len(found)))


def test_brackets_in_strings_and_comments_end_no_pattern() -> None:
    found = patterns('; a ( comment\n(call "(" @ref.call) ; [ another\n[(a) (b)] @comment\n')
    assert [(pattern.text, pattern.root) for pattern in found] == [
        ('(call "(" @ref.call)', "call"),
        ("[(a) (b)] @comment", ""),
    ]


def test_the_role_of_a_pattern_is_its_one_telling_capture() -> None:
    (found,) = patterns('(call name: (identifier) @name value: "@def.class" @value) @def.function')
    assert (found.family, found.capture, found.kind) == ("def", "def.function", "function")


@pytest.mark.parametrize("query", ["(call) @name", '(call) @comment (#any-eq? @comment "x")'])
def test_a_pattern_that_we_cannot_read_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="a pattern"):
        patterns(query)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ('(#eq? @comment "# a")', True),
        ('(#not-eq? @comment "# a")', False),
        ('(#any-of? @comment "x" "# a")', True),
        ('(#match? @comment "^#\\\\s+[a-z]$")', True),
        ('(#not-match? @comment "a")', False),
        ('(#eq? @absent "x")', True),
        ("(#eq? @comment @comment)", True),
    ],
)
def test_a_question_is_answered_as_the_engine_answers_it(question: str, answer: bool) -> None:
    query = f"((comment) @comment {question})"
    data = b"# a"
    root = load("python").parser.parse(data).root_node  # type: ignore[union-attr]
    captures = {"comment": [root.children[0]]}
    assert passes(patterns(query)[0].questions, captures, lambda node: data.decode()) is answer
    if "@absent" not in question:
        assert bool(QueryCursor(Query(language_of("python"), query)).matches(root)) is answer
