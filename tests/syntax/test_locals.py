"""Def-use inside of one function: marked fixtures in each language, and what is no function."""

from __future__ import annotations

import re

import pytest

from cairn.core.filetypes import language_of
from cairn.syntax.languages import traits_of
from cairn.syntax.occurrences import MOST_PLACES, local_names
from tests.conformance import conforms

_ROLES = {"p": "parameter", "d": "definition", "w": "write", "r": "read"}
# `name@1w` is a place of the first such name, where it is written; names without a mark are not local.
_MARK = re.compile(r"([A-Za-z_]\w*)@(\d)([pdwr])")

MARKED = {
    "python": """def f(a@1p, b@1p=1, *c@1p, d@1p: int = g(), **e@1p):
    for x@1w, y@1w in a@1r: pass
    with open(x@1r) as z@1w: z@1w += 1
    if (w@1w := b@1r): x@1r.y = [k@1r + w@1r for k@1w in c@1r]
    def inner@1d(a@2p): return a@2r + y@1r
    global gone
    gone = 1
    import os.path as p@1w
    call(name=z@1r, **{'e': e@1r})
    return lambda s@1p: s@1r + d@1r, inner@1r, p@1r, free
""",
    "typescript": """function f(a@1p: number, {b@1p, c: d@1p}, ...r@1p) {
  let x@1d = a@1r, {y@1d} = b@1r;
  x@1w = y@1r; x@1w++;
  for (const k@1d of r@1r) { var v@1d = k@1r; let x@2d = d@1r; x@2w += 1; }
  try { free(); } catch (err@1d) { log(err@1r.x); }
  const g@1d = s@1p => s@1r;
  return {x@1r, z: v@1r, g: g@1r};
}
""",
    "go": """func f(a@1p, b@1p int) (err@1p error) {
	x@1d, y@1d := a@1r, b@1r
	var z@1d int = x@1r
	z@1w = y@1r
	z@1w++
	for i@1d := range b@1r { x@2d := i@1r; use(x@2r) }
	g@1d := func(s@1p int) int { return s@1r }
	return g@1r(z@1r.field)
}
""",
    "rust": """fn f(a@1p: i32, (b@1p, c@1p): (i32, i32)) -> i32 {
    let mut x@1d = a@1r;
    x@1w = b@1r; x@1w += 1;
    if let Some(y@1d) = c@1r { use_it(y@1r); }
    let g@1d = |s@1p| s@1r + x@1r;
    match g@1r(1) { None => 1, q@1d => q@1r }
}
""",
    "java": """class A { int f(int a@1p, String b@1p) {
    int x@1d = a@1r;
    x@1w = 1; x@1w++;
    for (String i@1d : b@1r) { log(i@1r); }
    try { } catch (E e@1d) { throw e@1r; }
    Fn g@1d = s@1p -> s@1r;
    return this.x + x@1r + g@1r.size();
} }
""",
}


def split(marked: str) -> tuple[str, list[tuple[str, str, int, str]]]:
    """The text without its marks, and each of them as (name, number, byte, role)."""
    found, text, end = [], "", 0
    for mark in _MARK.finditer(marked):
        text += marked[end : mark.start()]
        found.append((mark[1], mark[2], len(text.encode()), _ROLES[mark[3]]))
        text += mark[1]
        end = mark.end()
    return text + marked[end:], found


@conforms("002.LAY1")
@pytest.mark.parametrize("language", MARKED)
def test_every_local_name_is_found_with_what_is_done_with_it(language: str) -> None:
    text, marks = split(MARKED[language])
    data = text.encode()
    expected: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name, number, at, role in marks:
        expected.setdefault((name, number), []).append((at, role))
    found = local_names(data, language, 0, len(data))
    assert found is not None
    assert sorted((one.name, [tuple(place) for place in one.places]) for one in found) == sorted(
        (name, places) for (name, _), places in expected.items()
    )


def test_the_same_rules_hold_for_all_scripts() -> None:
    scripts = {language_of(name) for name in (b"a.js", b"a.jsx", b"a.ts", b"a.tsx")}
    assert scripts == {"javascript", "typescript", "tsx"}
    assert {id(traits_of(name).local_rules) for name in scripts} == {id(traits_of("javascript").local_rules)}
    assert traits_of("javascript").local_rules is not None
    data = b"const f = (a) => { let b = a; return b; };\n"
    for language in ("javascript", "tsx"):
        found = local_names(data, language, 0, len(data))
        assert found is not None
        assert [one.name for one in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("language", "text"), [("python", "x = 1\n"), ("markdown", "# a\n"), ("ruby", "def f(a)\n a\nend\n"), ("none", "")]
)
def test_what_is_no_function_of_a_known_language_has_none(language: str, text: str) -> None:
    assert local_names(text.encode(), language, 0, len(text)) is None


def test_only_the_function_that_is_meant_is_looked_at() -> None:
    data = b"def one(a):\n    return a\n\n\n@mark\ndef two(b):\n    return b\n"
    start = data.index(b"@mark")
    found = local_names(data, "python", start, len(data))
    assert found is not None
    assert [(one.name, len(one.places)) for one in found] == [("b", 2)]


def test_a_hostile_function_is_bounded() -> None:
    data = b"def f(a):\n" + b"    a + a + a + a + a\n" * MOST_PLACES
    found = local_names(data, "python", 0, len(data))
    assert found is not None
    assert sum(len(one.places) for one in found) <= MOST_PLACES
