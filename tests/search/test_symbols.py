"""Definitions by name: better ways to fit come first, and every definition that fits is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cairn.engine.scan import Texts
from cairn.errors import InvalidPattern
from cairn.search.symbols import SymbolFinder
from tests.conformance import conforms
from tests.search.trees import viewed
from tests.store.code import code_store

LEASE = b"""
class LeaseSteal:
    def run(self):
        pass

    def _running(self):
        pass


class Lease:
    def run(self):
        pass


def lease():
    pass


def _lease():
    pass
"""
RUST = b"pub struct Vec {}\nimpl Vec {\n    pub fn push(&self) {}\n}\npub fn pushed() {}\n"
TREE = {"store/lease.py": LEASE, "vec/mod.rs": RUST, "other.py": b"def run():\n    pass\n"}


@contextmanager
def finder(tree: dict[str, bytes] = TREE, gone: dict[str, bytes] | None = None) -> Iterator[SymbolFinder]:
    with viewed(code_store(gone or {}, tree)) as view:
        yield SymbolFinder(Texts(view))


def found(query: str, limit: int = 50) -> list[tuple[str, str, str]]:
    with finder() as names:
        return [
            (match.path, f"{match.symbol.container}.{match.symbol.name}".lstrip("."), match.way)
            for match in names.find(query, limit=limit).symbols
        ]


def test_better_ways_to_fit_come_first() -> None:
    assert found("lease") == [
        ("store/lease.py", "lease", "exact"),
        ("store/lease.py", "Lease", "case"),
        ("store/lease.py", "LeaseSteal", "prefix"),
        ("store/lease.py", "_lease", "letters"),
    ]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("LeaseSteal", ("store/lease.py", "LeaseSteal", "exact")),
        ("leasesteal", ("store/lease.py", "LeaseSteal", "case")),
        ("lseStl", ("store/lease.py", "LeaseSteal", "letters")),
        ("LS", ("store/lease.py", "LeaseSteal", "letters")),
        ("LeaseStela", ("store/lease.py", "LeaseSteal", "slip")),
        ("LeaseStaal", ("store/lease.py", "LeaseSteal", "slip")),
        ("Lease.run", ("store/lease.py", "Lease.run", "exact")),
        ("LeaseSteal.run", ("store/lease.py", "LeaseSteal.run", "exact")),
        ("lease::LeaseSteal::run", ("store/lease.py", "LeaseSteal.run", "exact")),
        ("store/lease#LeaseSteal", ("store/lease.py", "LeaseSteal", "exact")),
        ("other.run", ("other.py", "run", "exact")),
        ("vec/mod#pushed", ("vec/mod.rs", "pushed", "exact")),
        ("vec::pushed", ("vec/mod.rs", "pushed", "exact")),
    ],
)
def test_the_definition_that_was_meant_comes_first(query: str, first: tuple[str, str, str]) -> None:
    assert found(query)[0] == first


def test_a_qualified_name_leaves_out_what_stands_elsewhere() -> None:
    assert [name for _, name, way in found("Lease.run") if way == "exact"] == ["Lease.run"]
    assert found("Nowhere.run") == []


def test_definitions_are_counted_and_chosen_by_kind_and_file() -> None:
    with finder() as names:
        assert names.find("run", limit=1).total == 4
        assert len(names.find("run", limit=1).symbols) == 1
        assert names.find("run", kinds={"function"}).total == 1
        assert names.find("run", within=lambda path, language: language == "python" and path == "other.py").total == 1
        assert names.find("zzzz").total == 0
        assert names.find("run").coverage.exhaustive


@conforms("003.TMB5")
def test_a_deleted_definition_is_not_found_while_its_row_lies_in_an_old_segment() -> None:
    with finder(gone={"gone.py": b"def vanished():\n    pass\n", "other.py": b"def replaced():\n    pass\n"}) as names:
        assert "vanished" in names._numbers
        assert names.find("vanished").total == names.find("replaced").total == 0
        assert names.find("run").total == 4


@pytest.mark.parametrize("query", ["", "  ", "x" * 100_000])
def test_what_cannot_be_a_name_is_refused(query: str) -> None:
    with pytest.raises(InvalidPattern):
        found(query)


@pytest.mark.parametrize("query", ["..", "::", "a b.c", "ru\udcff", "+"])
def test_an_odd_name_is_looked_for_as_any_other(query: str) -> None:
    assert found(query) == []
