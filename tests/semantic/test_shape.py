"""Facts that outlive an edit: of comments everywhere, of other bodies where heads say all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.semantic.database import TABLES, SemanticDatabase
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.model import FactFreshness
from cairn.semantic.shape import CodeShape, moves, shape_from_json, shape_of
from tests.semantic.small_indexer import Memory, refresh
from tests.semantic.test_facts import APP, LIB, TREE, believed, freshness, random_edit, random_file, said


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


LINES = st.lists(st.sampled_from([b"", b"", b"a", b"b {", b"}"]), max_size=12)


@given(LINES, st.data())
def test_every_line_of_code_is_in_one_region_and_a_text_of_a_shape_is_read_back(
    lines: list[bytes], data: st.DataObject
) -> None:
    ends = sorted(data.draw(st.sets(st.integers(1, 12), max_size=4)))
    bodies = [(first, last) for first, last in zip(ends[::2], ends[1::2], strict=False) if last <= len(lines)]
    shape = shape_of(lines, bodies)
    held = [line for region in (shape.frame, *shape.bodies) for line in region.lines]
    assert sorted(held) == [number for number, line in enumerate(lines, 1) if line]
    assert shape_from_json(shape.to_json()) == shape


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[["a", [1]]]', "[[1, 2]]", "null"])
def test_a_text_that_is_no_shape_is_none(text: str) -> None:
    assert shape_from_json(text) is None


def shape(text: str, *bodies: tuple[int, int]) -> CodeShape:
    return shape_of(text.encode().split(b"\n"), bodies)


def test_lines_move_with_what_is_written_above_them() -> None:
    found = moves(shape("a\nb\nc"), shape("\na\n\n\nb\nc\n"))
    assert found is not None
    assert (found.now, found.then, found.is_all) == ({1: 2, 2: 5, 3: 6}, {2: 1, 5: 2, 6: 3}, True)


def test_only_the_lines_of_the_body_that_changed_are_lost() -> None:
    found = moves(shape("f {\nx\n}\ng {\ny\n}", (2, 2), (5, 5)), shape("f {\nx\nx\n}\ng {\ny\n}", (2, 3), (6, 6)))
    assert found is not None
    assert (found.now, found.is_all) == ({1: 1, 3: 4, 4: 5, 5: 6, 6: 7}, False)


def test_with_another_frame_nothing_is_known() -> None:
    assert moves(shape("f {\nx\n}", (2, 2)), shape("f2 {\nx\n}", (2, 2))) is None
    assert moves(shape("f {\nx\n}", (2, 2)), shape("f {\nx\n}")) is None


def test_an_edit_of_comments_and_blank_lines_leaves_every_fact_where_its_line_has_gone(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    memory.files["lib.py"] = b"# About this.\n\n" + LIB.replace(
        b"    return who\n", b"    # It is.\n    return who  # Yes.\n"
    )
    memory.files["app.py"] = APP.replace(b"\n\ndef main", b"\n\n\n# Main.\ndef main")
    assert {freshness(database, memory, path) for path in memory.files} == {FactFreshness.CLEAN}
    assert believed(database, memory) == said(memory)


def test_a_comment_that_a_tool_reads_is_an_edit_of_code(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    memory.files["lib.py"] = b"# pyright: basic\n" + LIB
    assert freshness(database, memory, "lib.py") is FactFreshness.DIRTY
    assert not believed(database, memory)


def test_what_moved_is_doubted_with_what_it_depends_on(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    memory.files["app.py"] = b"# More.\n" + APP
    memory.files["lib.py"] = LIB.replace(b"greet(who)", b"greet(who, more)")
    assert freshness(database, memory, "app.py") is FactFreshness.STALE
    assert not believed(database, memory)


class Heads(Memory):
    """The same files, in a language whose heads say all: a body is what is indented below a `def`."""

    def shape(self, path: str) -> CodeShape | None:
        plain = super().shape(path)
        if plain is None:
            return None
        lines = self.files[path].split(b"\n")
        bodies = []
        for number, line in enumerate(lines, 1):
            if line.startswith(b"def ") and number < len(lines) and lines[number].startswith(b"    "):
                last = number + 1
                while last < len(lines) and lines[last].startswith(b"    "):
                    last += 1
                bodies.append((number + 1, last))
        return shape_of([line.split(b"#")[0].rstrip() for line in lines], bodies)


def test_where_heads_say_all_an_edit_of_one_body_takes_back_the_facts_of_that_body_alone(
    database: SemanticDatabase,
) -> None:
    memory = Heads(TREE)
    refresh(database, memory)
    memory.files["lib.py"] = LIB.replace(b"    return who\n", b"    who = who\n    return who\n")
    assert freshness(database, memory, "lib.py") is FactFreshness.DIRTY
    assert freshness(database, memory, "app.py") is FactFreshness.CLEAN
    found, true = believed(database, memory), said(memory)
    assert found <= true
    assert {spot for spot in true if spot.path != "lib.py"} <= found
    # Definitions stand in heads, which are as they were.
    assert {spot for spot in true if spot.path == "lib.py" and spot.is_definition} <= found


def kept(database: SemanticDatabase, kind: type[Memory], seed: int, rounds: int) -> tuple[int, int]:
    """How many facts were given out after an edit, and how many are true then; none given out is untrue."""
    draw, given_out, true = random.Random(seed), 0, 0
    for _ in range(rounds):
        memory = kind({f"{name}.py": random_file(draw) for name in ("one", "two", "three", "pack/five")})
        refresh(database, memory)
        random_edit(draw, memory.files)
        found, now = believed(database, memory), said(memory)
        if kind is Memory:
            assert found <= now, found - now
        given_out, true = given_out + len(found), true + len(now)
    return given_out, true


def test_after_an_edit_only_what_is_true_is_given_out_and_much_of_it(database: SemanticDatabase) -> None:
    given_out, true = kept(database, Memory, 18, 60)
    assert given_out > true // 4


@pytest.mark.long
def test_after_five_hundred_edits_only_what_is_true_is_given_out(database: SemanticDatabase) -> None:
    given_out, true = kept(database, Memory, 500, 500)
    print(f"kept {given_out:,} of {true:,} facts that were true after an edit")
    assert given_out > true // 4


def test_a_database_of_an_older_version_is_read_and_gets_what_it_lacks_from_the_next_writer(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    with database.writing() as db:
        db.execute("DROP TABLE shapes")
        db.execute("PRAGMA user_version = 1")
    assert believed(database, memory) == said(memory)
    memory.files["lib.py"] = b"# More.\n" + LIB
    assert freshness(database, memory, "lib.py") is FactFreshness.DIRTY
    refresh(database, memory)
    with database.reading() as db:
        assert db is not None
        assert [sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
        assert len(db.execute("SELECT * FROM shapes").fetchall()) == len(TREE)
        assert SemanticFacts(db, memory).standing("lib.py")[1] is not None
    assert len({statement for statement in TABLES if "shapes" in statement}) == 1
