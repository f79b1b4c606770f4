from __future__ import annotations

import pytest

from cairn.core.types import Symbol
from cairn.syntax.languages import traits_of
from cairn.syntax.languages.pins import PINS
from cairn.syntax.visibility import ALL, NOT_LOCAL, NOT_PRIVATE, NOT_STATIC, is_exported
from tests.syntax.fixtures import facts_of

RULES = {
    "all": ALL,
    "capital": traits_of("go").visibility,
    "csharp": traits_of("csharp").visibility,
    "elixir": traits_of("elixir").visibility,
    "export": traits_of("typescript").visibility,
    "haskell": traits_of("haskell").visibility,
    "not_local": NOT_LOCAL,
    "not_private": NOT_PRIVATE,
    "not_static": NOT_STATIC,
    "pub": traits_of("rust").visibility,
    "underscore": traits_of("python").visibility,
    "zig": traits_of("zig").visibility,
}


class Found:
    def __init__(self) -> None:
        self.exports = {"_shown", "Public"}
        self.exported = {"renamed"}


def above(kind: str, exported: bool = True, signature: str = "") -> Symbol:
    return Symbol(kind, "Outer", "", signature, "", 0, 100, 1, 9, 6, exported, -1)


def seen(rule: str, name: str = "x", before: str = "", kind: str = "function", outer: Symbol | None = None) -> bool:
    return is_exported(RULES[rule], kind, name, before, outer, "", Found())


@pytest.mark.parametrize("language", sorted(PINS))
def test_every_language_has_a_rule_that_exists(language: str) -> None:
    (rule,) = (name for name, one in RULES.items() if one is traits_of(language).visibility)
    assert seen(rule, name="Public", before="pub public export declare ") is True


@pytest.mark.parametrize("rule", sorted(RULES))
def test_nothing_inside_a_function_or_a_hidden_thing_is_seen(rule: str) -> None:
    assert not seen(rule, name="Public", before="pub public ", outer=above("function"))
    assert not seen(rule, name="Public", before="pub public ", outer=above("class", exported=False))


@pytest.mark.parametrize(
    ("rule", "before", "expected"),
    [
        ("not_private", "public final ", True),
        ("not_private", "private ", False),
        ("not_private", "fileprivate ", False),
        ("not_private", "fileprivate(set) ", True),
        ("not_private", "private[http] ", True),
        ("not_private", "@Privateer unprivate ", True),
        ("not_static", "static inline int ", False),
        ("not_static", "extern int ", True),
        ("not_local", "local ", False),
        ("elixir", "defp ", False),
        ("elixir", "def ", True),
        ("pub", "pub(crate) async ", True),
        ("pub", "public_in_name ", False),
        ("zig", "export ", True),
        ("zig", "inline ", False),
        ("export", "declare ", True),
        ("export", "async ", False),
        ("csharp", "", True),
        ("csharp", "file ", False),
    ],
)
def test_a_modifier_counts_only_as_a_word(rule: str, before: str, expected: bool) -> None:
    assert seen(rule, before=before) is expected


@pytest.mark.parametrize(
    ("rule", "name", "expected"),
    [
        ("underscore", "open", True),
        ("underscore", "_hidden", False),
        ("underscore", "__init__", True),
        ("underscore", "_shown", True),
        ("capital", "Open", True),
        ("capital", "open", False),
        ("export", "renamed", True),
        ("haskell", "_shown", True),
        ("haskell", "other", False),
    ],
)
def test_a_name_decides_where_the_language_says_so(rule: str, name: str, expected: bool) -> None:
    assert seen(rule, name=name) is expected


def test_members_follow_the_rule_of_what_they_stand_in() -> None:
    assert seen("pub", outer=above("trait"))
    assert seen("pub", outer=above("impl", signature="impl A for B"))
    assert not seen("pub", outer=above("impl", signature="impl B"))
    assert seen("csharp", outer=above("interface"))
    assert not seen("csharp", outer=above("class", signature="class B"))
    assert seen("csharp", outer=above("class", signature="public record Point(int X)"))


def test_a_rule_that_looks_at_modifiers_is_given_them() -> None:
    modifiers = {name for name, one in RULES.items() if not one.by_name}
    assert modifiers == {"csharp", "elixir", "export", "not_local", "not_private", "not_static", "pub", "zig"}
    facts = facts_of(b"class A { private int a; public int b; }", "java")
    assert [symbol.exported for symbol in facts.symbols] == [True, False, True]
