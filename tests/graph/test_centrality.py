"""Which files matter most."""

from __future__ import annotations

import random

import pytest

from cairn.graph.atlas import Centrality

EVEN: dict[str, float] = {}


def order(ranks: dict[str, float]) -> list[str]:
    return sorted(ranks, key=lambda path: (-ranks[path], path))


def test_a_file_that_others_import_is_worth_more_than_those_that_import_it() -> None:
    found = Centrality(["a", "b", "c", "base"], {"a": ["base"], "b": ["base"], "c": ["b"]}, EVEN)
    assert order(found.ranks()) == ["base", "b", "a", "c"]
    assert found.importers == {"a": 0, "b": 1, "base": 2, "c": 0}
    assert sum(found.ranks().values()) == pytest.approx(1)


def test_what_a_file_counts_by_itself_goes_on_to_what_it_imports() -> None:
    links = {"main": ["core"], "test": ["helper"]}
    ranks = Centrality(["main", "test", "core", "helper"], links, {"main": 1, "test": 0.1, "core": 1, "helper": 1})
    assert ranks.ranks()["core"] > ranks.ranks()["helper"]


def test_seen_from_a_file_what_it_imports_and_who_imports_it_come_before_the_rest() -> None:
    links = {"edited": ["used"], "user": ["edited"], "other": ["far"], "more": ["far"], "most": ["far"]}
    found = Centrality(["edited", "used", "user", "other", "more", "most", "far"], links, EVEN)
    assert order(found.ranks())[0] == "far"
    assert order(found.ranks({"edited": 1}))[:3] == ["edited", "used", "user"]
    assert all(rank > 0 for rank in found.ranks({"edited": 1}).values())


def test_the_heavier_of_two_files_that_are_asked_about_comes_first() -> None:
    found = Centrality(["a", "b", "c"], {}, EVEN)
    assert order(found.ranks({"b": 1, "c": 3})) == ["c", "b", "a"]


def test_files_that_are_not_there_count_for_nothing() -> None:
    assert Centrality([], {"gone": ["away"]}, {"gone": 1.0}).ranks({"gone": 1}) == {}
    found = Centrality(["a", "b"], {"a": ["away", "b"], "away": ["b"]}, {"a": -5})
    assert found.importers == {"a": 0, "b": 1}
    assert found.ranks({"away": 1}) == Centrality(["a", "b"], {"a": ["b"]}, EVEN).ranks({"gone": 2})


def test_a_ring_of_imports_shares_its_worth_evenly() -> None:
    ring = {f"f{n}": [f"f{(n + 1) % 5}"] for n in range(5)}
    assert set(Centrality(list(ring), ring, EVEN).ranks().values()) == {0.2}


def test_the_order_in_which_files_and_imports_come_changes_nothing() -> None:
    shuffler = random.Random(3)
    paths = [f"f{n}" for n in range(40)]
    links = {path: shuffler.sample(paths, 5) for path in paths}
    ranks = Centrality(paths, links, EVEN).ranks({"f3": 1, "f7": 2})
    shuffler.shuffle(paths)
    mixed = {path: shuffler.sample(links[path], 5) for path in paths}
    assert Centrality(paths, mixed, EVEN).ranks({"f7": 2, "f3": 1}) == ranks
