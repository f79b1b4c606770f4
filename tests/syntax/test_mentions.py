"""The places of a word beside the names of the code: what they are, and who holds them."""

from __future__ import annotations

import pytest

from cairn.core.types import WordKind
from cairn.syntax.mentions import word_places

Told = tuple[int, str, str, str]

PYTHON = b"""\
__all__ = ["greet", "x"]
def f(greet): 'about greet'
patch("a.greet")
{greet: f"{greet} greet"}
# greet
"""
TYPESCRIPT = b"""\
import { greet } from "./greet";
const a = { greet, greet: 1, greet() {}, "greet": 2 };
a.greet; describe("greet", run);
type T = { greet: string; greet(): void };
class K { greet = 1; greet() {} }
const { greet: q } = a;
"""
GO = b"""\
package a
type T struct { greet string `json:"greet"` }
// greet
func f() { m.On("greet"); greet() }
"""


def told(language: str, text: bytes) -> list[Told]:
    return [
        (
            text.count(b"\n", 0, one.start_byte) + 1,
            one.kind.value,
            text[one.text_start : one.text_end].decode(),
            one.holder,
        )
        for one in word_places(text, language, "greet")
    ]


def test_texts_of_python_come_with_what_holds_them() -> None:
    assert told("python", PYTHON) == [
        (1, "text", "greet", "__all__"),
        (2, "text", "about greet", "doc"),
        (3, "text", "a.greet", "patch"),
        (4, "text", "{greet} greet", ""),
        (5, "other", "", ""),
    ]


def test_members_of_typescript_are_told_from_their_uses() -> None:
    member = ("member", "", "")
    assert told("typescript", TYPESCRIPT) == [
        (1, "text", "./greet", "import"),
        *[(2, *member)] * 3,
        (2, "text", "greet", ""),
        (3, "text", "greet", "describe"),
        *[(4, *member)] * 2,
        *[(5, *member)] * 2,
        (6, *member),
    ]


def test_tags_and_arguments_of_go_are_told_apart() -> None:
    assert told("go", GO) == [(2, "text", 'json:"greet"', "tag"), (3, "other", "", ""), (4, "text", "greet", "On")]


@pytest.mark.parametrize("language", ["", "nothing"])
def test_without_a_grammar_every_place_is_given(language: str) -> None:
    assert [one.kind for one in word_places(b"greet greets .greet", language, "greet")] == [WordKind.OTHER] * 2
