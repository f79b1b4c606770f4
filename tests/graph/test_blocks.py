"""What callbacks and blocks of a script bind, told by indentation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.graph.shadows import Spot, bound_in_blocks, depth_at, is_in_reach, words

_CODE = b"""\
const a = 1;
run(() => {
  const b = 2;
  use(b);
\tuse(a);

  go((c) => {
    use(b, c);
  });
});
use(b);
"""


def _at(text: bytes, what: bytes, nth: int = 0) -> int:
    at = -1
    for _ in range(nth + 1):
        at = text.index(what, at + 1)
    return at


def test_the_depth_of_a_place_is_that_of_its_line() -> None:
    assert [depth_at(_CODE, _at(_CODE, what)) for what in (b"const a", b"const b", b"b, c")] == [0, 2, 4]


def test_what_stands_at_the_top_is_seen_everywhere() -> None:
    assert is_in_reach(_CODE, Spot(0, 0), _at(_CODE, b"b, c"))


@pytest.mark.parametrize(
    ("nth", "is_seen"), [(1, True), (2, True), (3, False)], ids=["in the block", "deeper in it", "after it"]
)
def test_a_name_is_in_reach_until_a_line_leaves_its_block(nth: int, is_seen: bool) -> None:
    text = _CODE.replace(b"\tuse(a);\n", b"")
    (spot,) = bound_in_blocks(text, "b")
    assert spot.depth == 2
    uses = [_at(text, b"b = 2"), _at(text, b"use(b)"), _at(text, b"b, c"), text.rindex(b"use(b)")]
    assert is_in_reach(text, spot, uses[nth]) is is_seen


def test_a_line_that_is_indented_less_ends_a_block_even_if_only_by_its_tabs() -> None:
    (spot,) = bound_in_blocks(_CODE, "b")
    assert not is_in_reach(_CODE, spot, _at(_CODE, b"b, c"))


def test_what_is_defined_later_in_a_block_is_seen_before_but_not_from_outside() -> None:
    text = b"run(() => {\n  use(f);\n  function f() {}\n});\nuse(f);\nrun(() => {\n  g;\n});\n"
    spot = Spot(_at(text, b"function"), 2)
    assert is_in_reach(text, spot, _at(text, b"f)"))
    assert not is_in_reach(text, spot, _at(text, b"g;"))


@pytest.mark.parametrize(
    ("text", "depths"),
    [
        (b"  const n = 1", [2]),
        (b"  let { m, n } = x", [2]),
        (b"  const {\n    m,\n    n,\n  } = x", [2]),
        (b"  const { n: m } = x", []),
        (b"it('x', ({ n }) => {", [1]),
        (b"it('x', async (m, n: Port) => {", [1]),
        (b"each(n => n.x)", [1]),
        (b"each(function (m, n) {", [1]),
        (b"  } catch (n) {", [3]),
        (b"const n = 1", []),
        (b"import { n } from 'x'", []),
        (b"call(n, 1)", []),
        (b"each((m: n) => m)", []),
        (b"  const m = n", []),
        (b"  other.n = 1", []),
    ],
)
def test_declarations_and_parameters_bind_and_uses_do_not(text: bytes, depths: list[int]) -> None:
    assert [spot.depth for spot in bound_in_blocks(text, "n")] == depths


def test_on_one_line_only_what_follows_sees_a_parameter() -> None:
    text = b"n(); each((n) => n()); more"
    (spot,) = bound_in_blocks(text, "n")
    assert not is_in_reach(text, spot, 0)
    assert is_in_reach(text, spot, _at(text, b"n())"))


def test_a_hostile_file_costs_little() -> None:
    text = b"(n," * 100_000 + b"\n" + b" " * 100_000 + b"const n = 1\n"
    assert bound_in_blocks(text, "n") == ()


@given(st.text("ab.$ é", max_size=12), st.text("ab$é", min_size=1, max_size=3))
@settings(max_examples=300, derandomize=True)
def test_a_word_is_found_wherever_it_is_no_part_of_another(text: str, word: str) -> None:
    data, wanted = text.encode(), word.encode()
    whole = re.compile(rb"(?<![\w$])" + re.escape(wanted) + rb"(?![\w$])")
    assert list(words(data, wanted)) == [found.start() for found in whole.finditer(data)]
    no_member = re.compile(rb"(?<![\w$.])" + re.escape(wanted) + rb"(?![\w$])")
    before = frozenset(b"ab$.")
    assert list(words(data, wanted, before)) == [found.start() for found in no_member.finditer(data)]


def test_no_word_stands_nowhere() -> None:
    assert list(words(b"some text", b"")) == []
