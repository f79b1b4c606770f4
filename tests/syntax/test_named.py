"""Places of a name in code are told from those in comments, texts and longer words."""

from __future__ import annotations

import pytest

from cairn.core.limits import MAX_PARSE_BYTES
from cairn.core.types import NamePlace, Shorthand
from cairn.syntax.occurrences import places_of_name


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "thing.|go = |go  # go\n'go'; f'go {thing.|go}'; going; f(|go=1); x['go']\n"),
        ("python", "import go\nimport a.go as b\nfrom .go import |go, x as |go\nfrom a.go import y\n"),
        ("typescript", "const { |go, a: |go } = any; /* go */ 'go'; `go ${any.|go}`; $go; x['go']; #go;\n"),
        ("tsx", "const a = <|go title='go'><b |go={|go}>go</b></|go>;\n"),
        ("go", 'package a\n// Go\nfunc (r |Go) |Go() { r.|Go("Go") }\n'),
        ("ruby", "# Go\n|Go.new('Go')\n"),
    ],
)
def test_a_name_is_found_where_it_is_code(language: str, text: str) -> None:
    name = "Go" if language in ("go", "ruby") else "go"
    data = text.replace("|", "").encode()
    places = [at - number for number, at in enumerate(n for n, each in enumerate(text) if each == "|")]
    assert [one.start_byte for one in places_of_name(data, language, name)] == places


def test_a_name_that_is_a_property_and_its_value_is_told_from_others() -> None:
    found = places_of_name(b"const { go, a: go } = b, c = { go, go: go };\n", "typescript", "go")
    short = Shorthand.PATTERN, Shorthand.NONE, Shorthand.OBJECT, Shorthand.NONE, Shorthand.NONE
    assert tuple(one.shorthand for one in found) == short
    (one,) = places_of_name(b"const { go, a } = require('b');\n", "javascript", "go")
    assert one.shorthand is Shorthand.SAME


def test_a_struct_that_is_held_without_a_name_is_the_name_of_its_field_too() -> None:
    text = b"package a\ntype T struct {\n\tGo\n\t*b.Go\n\tx Go\n\ty map[string]Go\n}\n"
    assert [one.shorthand is Shorthand.SAME for one in places_of_name(text, "go", "Go")] == [True, True, False, False]


def test_what_cannot_be_parsed_may_be_code_wherever_the_name_stands() -> None:
    assert places_of_name(b"# go\ngo\n", "no such language", "go") == (NamePlace(2), NamePlace(5))
    assert len(places_of_name(b"# go\n" + b"#\n" * MAX_PARSE_BYTES, "python", "go")) == 1
