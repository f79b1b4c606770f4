"""How the glob patterns of ignore files are cut into components."""

from __future__ import annotations

import re
import time

import pytest

from cairn.source.patterns import Component, PatternPart, chains


def _only(pattern: bytes) -> Component:
    ((part,),) = chains(pattern)
    return part.component


def _matches(component: Component, name: bytes) -> bool:
    assert component.regex
    return re.compile(component.regex, re.DOTALL).match(name) is not None


def test_a_plain_name_holds_at_any_depth_and_a_path_only_where_it_says() -> None:
    assert chains(b"foo") == [(PatternPart(True, Component(names=(b"foo",))),)]
    assert chains(b"/foo") == [(PatternPart(False, Component(names=(b"foo",))),)]
    assert chains(b"**/foo") == chains(b"foo")
    assert chains(b"a/**/b") == [
        (PatternPart(False, Component(names=(b"a",))), PatternPart(True, Component(names=(b"b",))))
    ]


def test_small_classes_are_spelled_out() -> None:
    assert _only(b"[Bb]in").names == (b"Bin", b"bin")
    assert _only(b"*.py[cod]").endings == (b".pyc", b".pyd", b".pyo")
    assert _only(b"[a-z][a-z]").regex  # 676 spellings are too many


@pytest.mark.parametrize(
    "pattern", [b"", b"[", b"[a", b"[!", b"a\\", b"[[:bad:]]", b"[a\\", b"a//b", b"a/", b"//a", b"[/]x"]
)
def test_a_pattern_that_can_never_match_leaves_nothing(pattern: bytes) -> None:
    assert chains(pattern) == []


def test_a_double_star_after_half_a_name_crosses_folders_in_a_path_only() -> None:
    spelled = [[part.deep for part in chain] for chain in chains(b"x/a**/b")]
    assert spelled == [[False, False], [False, False, True]]
    assert len(chains(b"a**b")) == 1


@pytest.mark.parametrize(
    ("pattern", "name", "matched"),
    [
        (b"a*b", b"ab", True),
        (b"a*b", b"a\nb", True),
        (b"a*ab", b"ab", False),
        (b"*ab*ab*", b"xabyabz", True),
        (b"*ab*ab*", b"xabab", True),
        (b"*aab*c", b"aaabc", True),
        (b"a*?", b"a", False),
        (b"a*?", b"ab", True),
        (b"*[!a]", b"a", False),
        (b"*[!a]", b"ab", True),
        (b"*", b"", True),
        (b"a*", b"a", True),
        (b"?[!a-z]*", b"aB", True),
        (b"*~", b"~", True),
        (b"*-", b"-a", False),
    ],
)
def test_a_glob_matches_a_whole_name(pattern: bytes, name: bytes, matched: bool) -> None:
    assert _matches(_only(pattern), name) is matched


def test_a_star_for_every_byte_costs_next_to_nothing() -> None:
    component = _only(b"*a" * 500 + b"*b")
    start = time.process_time()
    assert not _matches(component, b"a" * 4_000)
    assert time.process_time() - start < 1.0
