"""Globs of a query against paths: one by one, all at once, and against a matcher that tries everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.search.places import PathTable, glob_pattern

PATHS = [
    "README.md",
    "a b/c.py",
    "src/a.py",
    "src/a.pyi",
    "src/deep/a.py",
    "src/deep/er/b.go",
    "src/x[1].py",
    "tests/src/a.py",
    "über/ß.py",
    "with\nnewline/a.py",
]


@pytest.mark.parametrize(
    ("glob", "wanted"),
    [
        ("*.py", [1, 2, 4, 6, 7, 8, 9]),
        ("*.py?", [3]),
        ("src", [2, 3, 4, 5, 6, 7]),
        ("/src", [2, 3, 4, 5, 6]),
        ("./src/", [2, 3, 4, 5, 6]),
        ("src/*", [2, 3, 4, 5, 6]),
        ("src/*.py", [2, 6]),
        ("src/**", [2, 3, 4, 5, 6]),
        ("src/**/a.py", [2, 4]),
        ("**/a.py", [2, 4, 7, 9]),
        ("**/src/*.py", [2, 6, 7]),
        ("src/deep", [4, 5]),
        ("src/**er/*", [5]),
        ("[ab]*", [1, 2, 3, 4, 5, 7, 9]),
        ("[a-c].go", [5]),
        ("[!a].py", [1, 8]),
        ("[^a].py", [1, 8]),
        ("?.py", [1, 2, 4, 7, 8, 9]),
        ("x[[]1].py", [6]),
        ("x[[][0-9]].py", [6]),
        ("x[z-a", []),
        ("[z-a].py", [2, 4, 7, 9]),
        ("[!].py", []),
        ("a b/*", [1]),
        ("src.a", []),
        ("(src|tests)", []),
    ],
)
def test_a_glob_takes_in_what_people_expect(glob: str, wanted: list[int]) -> None:
    pattern = glob_pattern(glob)
    assert [number for number, path in enumerate(PATHS) if pattern.matches(path)] == wanted
    assert PathTable(PATHS).matching(pattern).nonzero()[0].tolist() == wanted


def test_several_globs_are_a_choice() -> None:
    assert PathTable(PATHS).matching(glob_pattern("*.go", "README.md")).nonzero()[0].tolist() == [0, 5]


def test_no_paths_give_no_answers() -> None:
    assert PathTable([]).matching(glob_pattern("*")).tolist() == []


def slowly(glob: str, path: str) -> bool:
    """By trying everything: `*`, `**` and plain characters; the glob is tied to the root."""
    if not glob:
        return path == "" or path.startswith("/")
    if glob.startswith("**/"):
        cuts = [0, *(at + 1 for at, char in enumerate(path) if char == "/")]
        return any(slowly(glob[3:], path[cut:]) for cut in cuts)
    if glob.startswith("**"):
        return any(slowly(glob[2:], path[cut:]) for cut in range(len(path) + 1))
    if glob[0] == "*":
        end = path.find("/") if "/" in path else len(path)
        return any(slowly(glob[1:], path[cut:]) for cut in range(end + 1))
    return path[:1] == glob[0] and slowly(glob[1:], path[1:])


@given(
    st.lists(st.text("ab/", min_size=1, max_size=7).filter(lambda path: "//" not in f"/{path}/"), max_size=8),
    st.text("ab/*", min_size=1, max_size=6).map(lambda glob: glob.strip("/")).filter(bool),
)
def test_globs_agree_with_a_matcher_that_tries_everything(paths: list[str], glob: str) -> None:
    found = PathTable(paths).matching(glob_pattern("/" + glob)).tolist()
    assert found == [slowly(glob, path) for path in paths]
    assert found == [glob_pattern("/" + glob).matches(path) for path in paths]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
def test_any_text_is_a_glob_and_never_an_error(glob: str) -> None:
    assert isinstance(glob_pattern(glob).matches("src/a.py"), bool)


def test_a_hostile_glob_takes_linear_time() -> None:
    pattern = glob_pattern("a*" * 200 + "b")
    assert not pattern.matches("a" * 10_000)
