"""From a name to the one definition that is meant: found, not found with what is near, or one of several."""

from __future__ import annotations

import pytest

from cairn.graph.naming import MOST_CANDIDATES, NamingOutcome, Resolution, nearest, resolve
from cairn.graph.outline import Definition, definition_of
from tests.graph.code import code_view

TREE = {
    "store/lease.py": "class Lease:\n    def steal(self): ...\n\n\ndef publish(): ...\n",
    "store/other.py": "class Other:\n    def steal(self): ...\n\n\ndef publish(): ...\n",
    "lease.py": "def steal(): ...\n",
    "vec/mod.rs": "pub struct Vec {}\nimpl Vec {\n    pub fn push(&self) {}\n}\n",
    "a.ts": "export const one = 1, two = 2;\nexport class Box { open() { return 1; } }\n",
    "doc.md": "# Release v1.2\n\n## How it works\n",
    "a.css": ".card.wide { color: red }\n",
}


def named(wanted: str, path: str | None = None) -> Resolution:
    with code_view({"gone.py": "def publish(): ...\n"}, TREE) as view:
        return resolve(view, wanted, path=path)


def places(found: Resolution) -> list[str]:
    return [one.place for one in found.definitions]


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("Lease", "store/lease.py:1"),
        (" Lease ", "store/lease.py:1"),
        ("Other.steal", "store/other.py:2"),
        ("Vec::push", "vec/mod.rs:3"),
        ("vec::Vec::push", "vec/mod.rs:3"),
        ("store.other.publish", "store/other.py:5"),
        ("other#publish", "store/other.py:5"),
        ("store/other.py#publish", "store/other.py:5"),
        ("store/other.py#Other.steal", "store/other.py:2"),
        ("store/other.py:5", "store/other.py:5"),
        ("Release v1.2", "doc.md:1"),
        ("How it works", "doc.md:3"),
        ("two", "a.ts:1"),
    ],
)
def test_a_name_that_means_one_definition_gives_it(wanted: str, place: str) -> None:
    found = named(wanted)
    assert (found.outcome, places(found), found.total) == (NamingOutcome.OK, [place], 1)


def test_a_whole_qualified_name_goes_before_a_file_of_that_name() -> None:
    # `lease.py` defines a function `steal` too.
    assert places(named("Lease.steal")) == ["store/lease.py:2"]
    assert places(named("lease.steal")) == ["lease.py:1", "store/lease.py:2"]


def test_a_name_of_several_definitions_is_ambiguous_and_lists_them_by_path() -> None:
    found = named("publish")
    assert (found.outcome, places(found)) == (NamingOutcome.AMBIGUOUS, ["store/lease.py:5", "store/other.py:5"])
    assert places(named("steal")) == ["lease.py:1", "store/lease.py:2", "store/other.py:2"]
    for place in places(found):
        assert places(named(place)) == [place], "each can be picked by its place"


def test_in_one_file_only_its_own_definitions_count() -> None:
    assert places(named("publish", "store/other.py")) == ["store/other.py:5"]
    assert named("Lease", "store/other.py").outcome is NamingOutcome.NOT_FOUND
    assert named("store/lease.py:1", "store/other.py").outcome is NamingOutcome.NOT_FOUND


def test_a_line_means_the_outermost_that_begins_there_or_the_innermost_around_it() -> None:
    with code_view({"a.py": "class A:\n    def f(self):\n        x = 1\n        return x\n\n\n\ny = 1\n"}) as view:
        assert [resolve(view, f"a.py:{line}").definitions[0].name for line in (1, 2, 3, 4, 8)] == [
            "A",
            "f",
            "f",
            "f",
            "y",
        ]
        assert resolve(view, "a.py:7").outcome is NamingOutcome.NOT_FOUND
        assert resolve(view, "a.py:999999999").outcome is NamingOutcome.NOT_FOUND
    assert named("a.ts:2").definitions[0].name == "Box"


def test_a_name_is_taken_letter_by_letter() -> None:
    assert named("lease").outcome is NamingOutcome.NOT_FOUND
    assert named("").outcome is NamingOutcome.NOT_FOUND
    assert named("::").outcome is NamingOutcome.NOT_FOUND


def test_of_very_many_the_first_are_listed_and_all_are_counted() -> None:
    tree = {f"m{number:03}.py": "def run(): ...\n" for number in range(MOST_CANDIDATES + 20)}
    with code_view(tree) as view:
        found = resolve(view, "run")
    assert (len(found.definitions), found.total) == (MOST_CANDIDATES, MOST_CANDIDATES + 20)
    assert places(found) == sorted(places(found))


def test_what_is_near_is_asked_for_only_when_nothing_fits() -> None:
    asked: list[str] = []

    def near(wanted: str) -> list[Definition]:
        asked.append(wanted)
        return []

    with code_view(TREE) as view:
        assert resolve(view, "Lease", near=near).outcome is NamingOutcome.OK
        assert resolve(view, "Leese", near=near).outcome is NamingOutcome.NOT_FOUND
    assert asked == ["Leese"]


def test_ever_fewer_letters_are_looked_for_until_something_is_near() -> None:
    asked: list[str] = []
    with code_view(TREE) as view:
        [(key, symbol)] = view.symbols_named("Lease")

    def find(name: str) -> list[Definition]:
        asked.append(name)
        return [definition_of(key, "python", symbol)] if name == "pub" else []

    assert [one.name for one in nearest(find, "mod::publshig")] == ["Lease"]
    assert asked == ["publshig", "publs", "pub"]
    assert list(nearest(lambda _: [], "")) == []
