"""All rows of a snapshot as one table."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.engine import local
from cairn.engine.local import DefinedName, LocalEngine, Match
from cairn.store.format.postings import approximate, quantize
from tests.search.corpora import MODEL, engine_of, project
from tests.support.faults import Faults

TREE = {
    "a/base.py": b"class Base:\n    def run(self):\n        pass\n",
    "a/one.py": b"from a.base import Base\n\nclass One(Base):\n    def run(self):\n        helper()\n",
    "b/two.py": b"def helper():\n    Base()\n",
    "b/three.py": b"def third():\n    helper()\n    third()\n",
    "empty.py": b"",
}


def test_files_stand_in_order_of_their_paths_and_rows_in_order_of_their_files() -> None:
    with engine_of(project(1, 30), 8) as engine:
        assert engine.paths == sorted(engine.paths)
        assert engine.file_of_row.tolist() == sorted(engine.file_of_row.tolist())
        for place, path in enumerate(engine.paths):
            rows = range(*engine.first_row[place : place + 2].tolist())
            assert [engine.chunk(row).path_key for row in rows] == [path] * len(rows)
            assert [engine.chunk(row).ordinal for row in rows] == list(range(len(rows)))
            assert engine.find(path) == place
            assert b"".join(engine.chunk(row).text.encode() for row in rows) == bytes(engine.at(place).text())
        assert engine.find("no such file") is None
        assert engine.chunk(0).path_key == engine.paths[0]


def test_a_term_is_found_in_the_field_where_it_stands() -> None:
    with engine_of(TREE) as engine:
        helper, nowhere = engine.matches(["helper", "nowhereword"])
        files = {field: {engine.paths[engine.file_of_row[row]] for row in rows} for field, (rows, _) in helper.items()}
        assert files == {"symbol": {"b/two.py"}, "body": {"a/one.py", "b/three.py", "b/two.py"}}
        assert nowhere == {}


@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_a_term_that_is_asked_for_again_is_found_as_at_first(kept: int, faults: Faults) -> None:
    faults.limit(local, _MOST_KEPT=kept)
    with engine_of(TREE, 2) as engine, engine_of(TREE, 2) as other:
        for terms in (["helper"], ["base", "helper", "helper"], ["helper", "nowhereword"], []):
            found, fresh = engine.matches(terms), other._look(terms)
            assert [_plain(match) for match in found] == [_plain(match) for match in fresh]
            for match in found:
                # Whoever asked may do with it what they like.
                match.clear()


def _plain(match: dict[str, Match]) -> dict[str, tuple[list[int], list[int]]]:
    return {field: (rows.tolist(), counts.tolist()) for field, (rows, counts) in match.items()}


@pytest.mark.parametrize("layers", [1, 8])
def test_similarity_is_that_of_the_stored_vectors(layers: int) -> None:
    with engine_of(project(2, 30), layers) as engine:
        asked = MODEL.embed_query("lease token")
        near = engine.similarity(asked)
        wanted = approximate(*quantize(asked[None, :]))[0]
        for row in range(0, engine.rows, 7):
            chunk = engine.chunk(row)
            exact = float(np.dot(np.array(chunk.vector, np.float64) * chunk.scale, wanted.astype(np.float64)))
            assert float(near[row]) == pytest.approx(exact, abs=1e-5)


def test_in_degree_counts_other_files_that_use_a_name_and_shares_it_between_its_definitions() -> None:
    with engine_of(TREE) as engine:
        degree = dict(zip(engine.paths, engine.in_degree.tolist(), strict=True))
        # `helper` is used in two files; `Base` in two others than its own; using oneself does not count.
        assert degree == {"a/base.py": 2.0, "a/one.py": 0.0, "b/three.py": 0.0, "b/two.py": 2.0}
    two = TREE | {"c/again.py": b"def helper():\n    pass\n"}
    with engine_of(two) as engine:
        degree = dict(zip(engine.paths, engine.in_degree.tolist(), strict=True))
        assert degree["b/two.py"] == degree["c/again.py"] == 1.0


@pytest.mark.parametrize("layers", [1, 4])
def test_the_uses_of_a_name_are_shared_between_the_files_that_define_it(layers: int) -> None:
    with engine_of(TREE, layers) as engine:
        uses = engine.uses_of_names()
        assert (uses[b"helper"], uses[b"Base"]) == (2.0, 2.0)
        assert b"nobody" not in uses
    with engine_of(TREE | {"c/again.py": b"def helper():\n    pass\n"}, layers) as engine:
        assert engine.uses_of_names()[b"helper"] == 1.0


def test_in_degree_is_the_same_to_the_last_bit_in_any_number_of_segments() -> None:
    tree = project(4, 40)
    with engine_of(tree) as one, engine_of(tree, 8) as many:
        assert one.in_degree.tobytes() == many.in_degree.tobytes()
        assert one.in_degree.any()


@pytest.mark.parametrize("layers", [1, 4])
def test_definitions_are_found_by_their_very_name_with_what_they_are_inside_of(layers: int) -> None:
    with engine_of(TREE, layers) as engine:
        base, one = engine.paths.index("a/base.py"), engine.paths.index("a/one.py")
        assert engine.definitions("run", inside=2) == [
            DefinedName(base, "method", "Base"),
            DefinedName(one, "method", "One"),
        ]
        assert [found.container for found in engine.definitions("run", inside=1)] == ["", ""]
        assert engine.definitions("Run") == []


def test_an_empty_snapshot_has_no_rows_and_answers() -> None:
    with engine_of({"empty.py": b""}) as engine:
        assert (engine.rows, engine.paths, engine.mean_length("body")) == (0, [], 0.0)
        assert len(engine.similarity(MODEL.embed_query("x"))) == 0
        assert engine.matches(["x"]) == [{}]
        assert len(engine.in_degree) == 0
        assert isinstance(engine, LocalEngine)
