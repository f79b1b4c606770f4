"""File states against a slow reference on random graphs, and the rules one by one."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.semantic.database import SemanticDatabase, register
from cairn.semantic.model import Certainty, FactFreshness, FileState
from cairn.semantic.state import FileStanding, Known, Now, Picture, picture_of, stamp_of, standings, state_of
from tests.conformance import conforms
from tests.semantic.small_indexer import CONTEXT, Memory, refresh

# --- The picture of what is fresh: contexts that are off, files of several contexts, silent files, flags,
# stamps.


TREE = {"lib.py": b"def greet(): ...\n", "app.py": b"from lib import greet\ngreet()\n"}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def picture(database: SemanticDatabase, memory: Memory) -> Picture:
    with database.reading() as db:
        assert db is not None
        return picture_of(db, memory)


def freshness(database: SemanticDatabase, memory: Memory) -> dict[str, FactFreshness]:
    found = picture(database, memory)
    return {found.paths[key[1]]: standing.freshness for key, standing in found.standings.items()}


def change(database: SemanticDatabase, statement: str, *values: object) -> None:
    with database.writing() as db:
        db.execute(statement, values)


def test_a_context_that_is_switched_off_knows_nothing(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}
    change(database, "UPDATE contexts SET enabled = 0")
    found = picture(database, memory)
    assert (found.contexts, found.standings, found.keys) == ({}, {}, {})


def test_a_file_of_which_the_indexer_said_nothing_can_be_leaned_on_while_it_is_the_same(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    change(database, "DELETE FROM file_semantic_facts WHERE file_id = (SELECT id FROM files WHERE path = 'lib.py')")
    assert freshness(database, memory) == {"lib.py": FactFreshness.UNINDEXED, "app.py": FactFreshness.PENDING_CHECK}
    now = memory.now("lib.py")
    assert now is not None
    change(database, "INSERT INTO silent_files VALUES (1, 'lib.py', ?)", now.content_hash)
    assert freshness(database, memory)["app.py"] is FactFreshness.CLEAN
    # Asked about itself, nothing is known of it.
    assert "lib.py" not in picture(database, memory).keys
    memory.files["lib.py"] += b"\n"
    assert freshness(database, memory)["app.py"] is FactFreshness.PENDING_CHECK


@pytest.mark.parametrize(
    ("said", "expected"), [('["odd"]', ("odd",)), ("[1]", ()), ("{}", ("unknown",)), ("no json", ("unknown",))]
)
def test_flags_are_read_with_care(database: SemanticDatabase, said: str, expected: tuple[str, ...]) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    change(database, "UPDATE file_semantic_facts SET ambiguity_flags = ?", said)
    assert set(picture(database, memory).flags.values()) == {expected}


def test_the_stamp_changes_with_every_import_and_every_change_of_contexts(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    stamps = []

    def look() -> None:
        stamps.append(database.ask(stamp_of))

    refresh(database, memory)
    look()
    refresh(database, memory)
    look()
    refresh(database, memory, ["app.py"])
    look()
    change(database, "UPDATE contexts SET config_hash = 'other'")
    look()
    change(database, "DELETE FROM file_semantic_facts WHERE file_id = 1")
    look()
    assert len(set(stamps)) == len(stamps) == 5
    look()
    assert stamps[-1] == stamps[-2]


def test_a_file_that_another_context_knows_is_as_fresh_as_it_is_there(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    with database.writing() as db:
        # The one who is leaned on belongs to a context of its own.
        db.execute(
            "INSERT INTO contexts SELECT 2, 'python:lib', language, 'x', name, fence, config_hash, include, punched,"
            " why, tool_version, enabled, refreshed_at FROM contexts WHERE id = 1"
        )
        of_lib = "(SELECT id FROM files WHERE path = 'lib.py')"
        db.execute(f"UPDATE file_semantic_facts SET context_id = 2 WHERE file_id = {of_lib}")
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}
    memory.files["lib.py"] += b"\n"
    assert freshness(database, memory) == {"lib.py": FactFreshness.DIRTY, "app.py": FactFreshness.PENDING_CHECK}
    assert replace(picture(database, memory)).contexts.keys() == {1, 2}


def test_a_type_that_nobody_wrote_down_is_a_part_of_what_a_file_offers(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "lib.py": b"def greet():\n    return Cat()\n"})
    refresh(database, memory)
    memory.files["lib.py"] = b"def greet():\n    # The same.\n    return Cat()\n"
    refresh(database, memory, ["lib.py"])
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}
    memory.files["lib.py"] = b"def greet():\n    return Dog()\n"
    assert freshness(database, memory)["app.py"] is FactFreshness.PENDING_CHECK
    refresh(database, memory, ["lib.py"])
    assert freshness(database, memory)["app.py"] is FactFreshness.STALE
    refresh(database, memory, ["app.py"])
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}


# --- files that nobody has told an indexer of -------------------------------------------------------------------------


def test_who_may_import_a_new_file_waits_until_somebody_has_looked(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "other.py": b"import json\n"})
    refresh(database, memory)
    memory.files["lib/__init__.py"] = b"def greet(): ...\n"
    assert freshness(database, memory) == {
        "lib.py": FactFreshness.CLEAN,
        "app.py": FactFreshness.PENDING_CHECK,
        "other.py": FactFreshness.CLEAN,
        "lib/__init__.py": FactFreshness.UNINDEXED,
    }
    del memory.files["lib/__init__.py"]
    memory.files["json.py"] = b""
    assert freshness(database, memory)["app.py"] is FactFreshness.CLEAN
    assert freshness(database, memory)["other.py"] is FactFreshness.PENDING_CHECK
    # A run that has seen both knows what the import means.
    refresh(database, memory)
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}


def test_a_run_that_reads_a_new_file_alone_makes_stale_who_may_mean_it(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    memory.files["lib/__init__.py"] = b"def greet(): ...\n"
    refresh(database, memory, ["lib/__init__.py"])
    assert freshness(database, memory)["app.py"] is FactFreshness.STALE
    refresh(database, memory, ["app.py"])
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}


def test_a_new_file_of_which_the_indexer_had_nothing_to_say_makes_nobody_wait(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "pack/lib.py": b""})
    refresh(database, memory, ["lib.py", "app.py"])
    assert freshness(database, memory)["app.py"] is FactFreshness.PENDING_CHECK
    now = memory.now("pack/lib.py")
    assert now is not None
    change(database, "INSERT INTO silent_files VALUES (1, 'pack/lib.py', ?)", now.content_hash)
    assert freshness(database, memory)["app.py"] is FactFreshness.CLEAN
    memory.files["pack/lib.py"] = b"def greet(): ...\n"
    assert freshness(database, memory)["app.py"] is FactFreshness.PENDING_CHECK


def test_a_context_that_was_never_read_makes_nobody_wait(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "x/lib.py": b""})
    inner = replace(CONTEXT, id="python:x", root="x")
    with database.writing() as db:
        register(db, [replace(CONTEXT, punched=("x",)), inner])
    refresh(database, memory, context=replace(CONTEXT, punched=("x",)))
    assert set(freshness(database, memory).values()) == {FactFreshness.CLEAN}


@pytest.mark.parametrize(
    "now",
    [
        {"pyproject.toml": b"[project]\nname = 'other'\n"},
        {},
        {"pyproject.toml": b"[project]\n", "setup.cfg": b""},
    ],
)
def test_a_context_is_stale_while_its_project_files_are_others(
    database: SemanticDatabase, now: dict[str, bytes]
) -> None:
    then = Memory(TREE, {"pyproject.toml": b"[project]\n", "notes.toml": b""})
    refresh(database, then)
    assert set(freshness(database, then).values()) == {FactFreshness.CLEAN}
    found = freshness(database, Memory(TREE, now))
    assert {found[path] for path in TREE} <= {FactFreshness.STALE, FactFreshness.PENDING_CHECK}
    # What lies elsewhere says nothing about this one.
    below = Memory(TREE, {"pyproject.toml": b"[project]\n", "sub/pyproject.toml": b"", "package.json": b""})
    assert {freshness(database, below)[path] for path in TREE} == {FactFreshness.CLEAN}


CLEAN, DIRTY, STALE, PENDING, UNINDEXED = (
    FactFreshness.CLEAN,
    FactFreshness.DIRTY,
    FactFreshness.STALE,
    FactFreshness.PENDING_CHECK,
    FactFreshness.UNINDEXED,
)
Graph = Mapping[int, Known[int]]
Tree = Mapping[int, Now]


def slow(known: Graph, tree: Tree) -> dict[int, FactFreshness]:
    """The rules as they are written, applied again and again until nothing changes any more."""
    every = {*known, *(each for one in known.values() for each in one.depends)}
    found = dict.fromkeys(every, CLEAN)
    while True:
        before = dict(found)
        for key in every:
            found[key] = _slow_one(key, known, tree, before)
        if found == before:
            return found


def _slow_one(key: int, known: Graph, tree: Tree, found: Mapping[int, FactFreshness]) -> FactFreshness:
    if key not in known:
        return UNINDEXED
    if key not in tree or tree[key].content_hash != known[key].content_hash:
        return DIRTY
    depends = known[key].depends
    if any(each not in tree or tree[each].interface_hash != then for each, then in depends.items()):
        return STALE
    if any(found[each] is STALE for each in depends):
        return STALE
    return PENDING if any(found[each] in (DIRTY, PENDING, UNINDEXED) for each in depends) else CLEAN


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, Tree]:
    count = draw(st.integers(1, 9))
    names = st.integers(0, count - 1)
    mostly = st.sampled_from("aaaab")
    tree = {key: Now(draw(mostly), draw(mostly)) for key in draw(st.sets(names, min_size=count // 2))}
    known = {
        key: Known(draw(mostly), draw(st.dictionaries(names, mostly, max_size=4)))
        for key in draw(st.sets(names, min_size=count // 2))
    }
    return known, tree


def freshness_of(known: Graph, tree: Tree) -> dict[int, FactFreshness]:
    return {key: one.freshness for key, one in standings(known, tree.get).items()}


@conforms("002.FS3", "002.FS4", "002.FS5")
@settings(derandomize=True, max_examples=150, deadline=None)
@given(graphs())
def test_states_are_the_fixpoint_of_the_rules_on_every_graph(graph: tuple[Graph, Tree]) -> None:
    assert freshness_of(*graph) == slow(*graph)


@conforms("002.AX1", "002.FS4")
def test_every_state_is_reached_on_graphs_of_three_files() -> None:
    tree = {1: Now("a", "i"), 2: Now("a", "i"), 3: Now("a", "i")}
    leads = Known("a", {2: "i"})
    dirty = freshness_of({1: leads, 2: Known("old", {})}, tree)
    stale = freshness_of({1: Known("a", {2: "other"}), 2: Known("a", {})}, tree)
    unknown = freshness_of({1: leads}, tree)
    assert (dirty[1], dirty[2]) == (PENDING, DIRTY)
    assert (stale[1], stale[2]) == (STALE, CLEAN)
    assert (unknown[1], unknown[2]) == (PENDING, UNINDEXED)


@conforms("002.FS3")
def test_what_is_pending_travels_through_any_depth() -> None:
    known = {key: Known("a", {key + 1: "i"}) for key in range(5_000)} | {5_000: Known("old", {})}
    found = freshness_of(known, dict.fromkeys(range(5_001), Now("a", "i")))
    assert {found[key] for key in range(5_000)} == {PENDING}


@conforms("002.FS5")
def test_two_files_that_need_each_other_have_a_state() -> None:
    both = {1: Known("a", {2: "i"}), 2: Known("a", {1: "i"})}
    assert set(freshness_of(both, dict.fromkeys((1, 2), Now("a", "i"))).values()) == {CLEAN}
    assert freshness_of(both, {1: Now("a", "i"), 2: Now("b", "i")}) == {1: PENDING, 2: DIRTY}


@conforms("002.FS3")
def test_a_refresh_that_finds_an_equal_interface_clears_those_who_wait() -> None:
    tree = {1: Now("a", "i"), 2: Now("new", "i")}
    waiting = {1: Known("a", {2: "i"}), 2: Known("old", {})}
    assert freshness_of(waiting, tree)[1] is PENDING
    # Only the dependency is indexed anew; nobody touches the one that waits.
    assert freshness_of(waiting | {2: Known("new", {})}, tree)[1] is CLEAN


@conforms("002.FS4")
def test_a_dependency_that_is_gone_makes_stale() -> None:
    assert freshness_of({1: Known("a", {2: "i"}), 2: Known("a", {})}, {1: Now("a", "i")}) == {1: STALE, 2: DIRTY}


@conforms("002.FS6")
def test_each_file_is_looked_at_once() -> None:
    known = {key: Known("a", dict.fromkeys(range(20), "i")) for key in range(20)}
    asked: list[int] = []

    def now(key: int) -> Now:
        asked.append(key)
        return Now("a", "i")

    standings(known, now)
    assert sorted(asked) == list(range(20))


@conforms("002.FS5")
@pytest.mark.long
def test_ten_thousand_files_with_cycles_take_less_than_a_tenth_of_a_second() -> None:
    draw = random.Random(8)
    known = {
        key: Known("a" if draw.random() > 0.01 else "old", {draw.randrange(10_000): "i" for _ in range(10)})
        for key in range(10_000)
    }
    tree = dict.fromkeys(range(10_000), Now("a", "i"))
    began = time.process_time()
    found = standings(known, tree.get)
    took = time.process_time() - began
    assert {one.freshness for one in found.values()} == {DIRTY, PENDING}
    assert took < 0.1, took


@conforms("002.AX1", "002.AX2", "002.FS1", "002.FS2")
@pytest.mark.parametrize(
    ("standing", "flags", "expected"),
    [
        (None, (), (UNINDEXED, Certainty.UNKNOWN)),
        (FileStanding(UNINDEXED), ("x",), (UNINDEXED, Certainty.UNKNOWN)),
        (FileStanding(DIRTY), ("x",), (DIRTY, Certainty.UNKNOWN)),
        (FileStanding(CLEAN), (), (CLEAN, Certainty.CERTAIN)),
        (FileStanding(CLEAN), ("x",), (CLEAN, Certainty.AMBIGUOUS)),
        (FileStanding(STALE, 7), (), (STALE, Certainty.CERTAIN)),
        (FileStanding(STALE, 7), ("x",), (STALE, Certainty.AMBIGUOUS)),
        (FileStanding(PENDING, 7), (), (PENDING, Certainty.CERTAIN)),
        (FileStanding(PENDING, 7), ("x",), (PENDING, Certainty.AMBIGUOUS)),
    ],
)
def test_both_axes_of_a_file(
    standing: FileStanding[int] | None, flags: tuple[str, ...], expected: tuple[FactFreshness, Certainty]
) -> None:
    state = state_of(standing, flags, lambda key: f"{key}.py")
    assert isinstance(state, FileState)
    assert (state.freshness, state.certainty) == expected
    assert any("7.py" in reason for reason in state.reasons) is (standing is not None and standing.cause == 7)
