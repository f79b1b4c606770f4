"""The file finder: the file that was meant comes first, and every path that fits is counted."""

from __future__ import annotations

import pytest

from cairn.errors import InvalidPattern
from cairn.search.paths import PathFinder
from tests.conformance import conforms
from tests.search.trees import texts_of

PATHS = """
README.md src/engine/local.py src/engine/local_test.py src/engine/location.py src/localengine/base.py src/Local.py
src/store/leaseSteal.py src/store/lease.py docs/größe.md x/y/zlocal.py
"""
TREE = dict.fromkeys(PATHS.split(), b"x\n") | {"src/empty/__init__.py": b""}


def found(query: str, limit: int = 50) -> list[tuple[str, str]]:
    with texts_of(TREE, 3, b"ghost") as texts:
        return [(match.path, match.way) for match in PathFinder(texts).find(query, limit=limit).paths]


def test_better_ways_to_fit_come_first_and_the_file_name_counts_more_than_its_folder() -> None:
    assert found("local") == [
        ("src/Local.py", "case"),
        ("src/engine/local.py", "case"),
        ("src/engine/local_test.py", "prefix"),
        ("x/y/zlocal.py", "part"),
        ("src/localengine/base.py", "part"),
    ]


@pytest.mark.parametrize(
    ("query", "first", "way"),
    [
        ("local.py", "src/Local.py", "exact"),
        ("src/engine/local.py", "src/engine/local.py", "exact"),
        ("engine/local.py", "src/engine/local.py", "exact"),
        ("engine/loc", "src/engine/local.py", "prefix"),
        ("englocal", "src/engine/local.py", "letters"),
        ("ls", "src/store/leaseSteal.py", "letters"),
        ("lcoal.py", "src/Local.py", "slip"),
        ("locall", "src/Local.py", "slip"),
        ("leasr", "src/store/lease.py", "slip"),
        ("store lease", "src/store/lease.py", "part"),
        ("LEASE", "src/store/lease.py", "case"),
        ("größe", "docs/größe.md", "case"),
        ("__init__", "src/empty/__init__.py", "case"),
        ("eng/base", "src/localengine/base.py", "letters"),
    ],
)
def test_the_file_that_was_meant_comes_first(query: str, first: str, way: str) -> None:
    assert found(query)[0] == (first, way)


def test_every_path_that_fits_is_counted_however_few_are_shown() -> None:
    with texts_of(TREE, 2) as texts:
        finder = PathFinder(texts)
        answer = finder.find("py", limit=2)
        assert (len(answer.paths), answer.total) == (2, 9)
        assert finder.find("py", within=lambda path, language: path.startswith("src/engine/")).total == 3
        assert finder.find("qqq").total == 0
        assert finder.find("py qqq").total == 0
        assert answer.coverage.exhaustive
        assert answer.coverage.files == len(TREE)


def test_the_order_does_not_depend_on_the_segments() -> None:
    answers = set()
    for layers in (1, 3, 8):
        with texts_of(TREE, layers) as texts:
            answers.add(PathFinder(texts).find("e"))
    assert len({answer.paths for answer in answers}) == 1


@conforms("003.TMB5")
def test_a_deleted_file_is_not_found_while_its_path_lies_in_an_old_segment() -> None:
    assert found("ghost") == []


@pytest.mark.parametrize("query", ["", "  \n", "x" * 100_000])
def test_what_cannot_be_a_path_is_refused(query: str) -> None:
    with pytest.raises(InvalidPattern):
        found(query)


def test_bytes_that_are_no_unicode_are_in_no_path() -> None:
    assert found("lo\udcff") == []
