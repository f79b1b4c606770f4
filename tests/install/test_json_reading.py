"""JSON as people keep it: what it means, and where its members stand."""

from __future__ import annotations

import pytest
from hypothesis import given

from cairn.install.edits import Unfit
from cairn.install.texts import Pairs, has_comments, read, top_object
from cairn.syntax.settings import json_of
from tests.install.settings import MANY, json_texts


@MANY
@given(json_texts())
def test_the_members_are_found_where_they_stand(text: str) -> None:
    expected = json_of(text)
    assert isinstance(expected, dict)
    top = top_object(text)
    assert [member.name for member in top.members] == list(expected)
    for member in top.members:
        assert json_of(text[member.value : member.end]) == expected[member.name]
        assert member.comma is None or text[member.comma] == ","
    assert (text[top.start], text[top.close]) == ("{", "}")


def test_order_and_doubles_are_kept() -> None:
    assert read('{"b": 1, "a": {}, "b": [2.50]}').tree == Pairs([("b", "1"), ("a", Pairs()), ("b", ["2.50"])])


def test_commas_too_many_are_counted() -> None:
    assert read('{"a": [1, ], "b": ",]", }').commas == 2


def test_blanks_and_comments_alone_are_nothing() -> None:
    assert read("\ufeff // a\n/* b */\n").tree is None
    assert has_comments("// a")
    assert not has_comments('{"a": "// b"}')


def test_trouble_is_told_by_its_line_and_never_by_its_text() -> None:
    with pytest.raises(Unfit) as refused:
        read('/* \n\n */ // x\n{"secret": hunter2}')
    assert str(refused.value) == "it is not valid JSON (line 4)"
