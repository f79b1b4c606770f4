"""What the database says is believed of a file only while that is clean: compared with the indexer's own words."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from cairn.semantic.database import SemanticDatabase
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.model import FactFreshness, Occurrence, OccurrenceRole
from cairn.semantic.symbols import Normaliser
from tests.conformance import conforms
from tests.semantic.small_indexer import CONTEXT, Memory, Spot, refresh, spots

LIB = b"def greet(who):\n    return who\n\n\nclass Host:\n    def meet(self):\n        return self.meet()\n"
APP = "from lib import greet, Host\n\ndef main():\n    é = greet('ä')\n    return greet(Host)\n".encode()
TREE = {"lib.py": LIB, "app.py": APP, "hand.py": b"from lib import greet as hello\n\nhello()\n"}


def said(memory: Memory) -> set[Spot]:
    """What the indexer itself says of these files, its symbols normalised; a module begins nowhere."""
    normal = Normaliser(CONTEXT, lambda path: path in memory.files)
    return {
        spot._replace(symbol=normal.symbol(spot.symbol, spot.path).identity)
        for found in spots(memory.files).values()
        for spot in found
        if spot.end > spot.column
    }


def believed(database: SemanticDatabase, memory: Memory) -> set[Spot]:
    """Every occurrence that is given out."""
    with database.reading() as db:
        assert db is not None
        facts = SemanticFacts(db, memory)
        by_file = {spot(one) for path in {*memory.files, "gone.py"} for _, one in facts.in_file(path)}
        identities = [row[0] for row in db.execute("SELECT id FROM identities")]
        by_symbol = {spot(one) for one in facts.occurrences(identities)}
        assert by_symbol == by_file
        return by_file


def spot(one: Occurrence) -> Spot:
    is_definition = one.role is OccurrenceRole.DEFINITION
    return Spot(one.path, one.start_line, one.start_column, one.end_column, one.symbol, is_definition)


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def test_on_clean_files_everything_that_the_indexer_says_is_given_out_and_nothing_else(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    assert believed(database, memory) == said(memory)


@conforms("002.FS1", "002.FS2", "002.FS3", "002.FS4")
def test_an_edit_takes_back_what_was_known_of_the_file_and_of_those_who_lean_on_it(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    # The same interface, another body.
    memory.files["lib.py"] = LIB.replace(b"return who", b"return who + who")
    memory.files["new.py"] = b"def x(): ...\n"
    states = {path: freshness(database, memory, path) for path in memory.files}
    assert states == {
        "lib.py": FactFreshness.DIRTY,
        "app.py": FactFreshness.PENDING_CHECK,
        "hand.py": FactFreshness.PENDING_CHECK,
        "new.py": None,
    }
    assert believed(database, memory) == set()
    # Only what has changed is indexed again; those who waited are clean by that.
    refresh(database, memory, ["lib.py", "new.py"])
    assert believed(database, memory) == said(memory)
    memory.files["lib.py"] = LIB.replace(b"greet(who)", b"greet(who, more)")
    refresh(database, memory, ["lib.py"])
    assert freshness(database, memory, "app.py") is FactFreshness.STALE
    assert {one.path for one in believed(database, memory)} == {"lib.py", "new.py"}


def freshness(database: SemanticDatabase, memory: Memory, path: str) -> FactFreshness | None:
    with database.reading() as db:
        assert db is not None
        standing = SemanticFacts(db, memory).standing(path)[1]
        return standing and standing.freshness


@conforms("002.DB4")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE occurrences SET start_line = start_line + 1, end_line = end_line + 1",
        "UPDATE occurrences SET start_col = start_col + 1, end_col = end_col + 1",
        "UPDATE occurrences SET start_col = -3, end_col = -1",
        "UPDATE occurrences SET start_line = 0",
        "UPDATE occurrences SET end_line = 1000000",
        "UPDATE occurrences SET anchor_before = anchor_before || 'x'",
        "UPDATE occurrences SET anchor_after = 'x' || anchor_after",
    ],
)
def test_a_place_whose_surroundings_are_not_those_recorded_is_never_used(
    database: SemanticDatabase, damage: str
) -> None:
    memory = Memory({"lib.py": LIB})
    refresh(database, memory)
    with database.writing() as db:
        db.execute(damage)
    assert believed(database, memory) <= said(memory)
    assert not any(one.symbol.endswith("greet().") for one in believed(database, memory))


@conforms("002.FS6")
def test_the_database_is_asked_for_states_once_in_a_request(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    with database.reading() as db:
        assert db is not None
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        facts = SemanticFacts(db, memory)
        for _ in range(3):
            for path in memory.files:
                facts.standing(path)
                facts.clean(path)
        assert len(asked) == len(set(asked))


# --- random edits -----------------------------------------------------------------------------------------------------

NAMES = ("alpha", "beta", "gamma")
MODULES = ("one", "two", "three", "four", "pack.five")


def random_file(draw: random.Random) -> bytes:
    """A module that imports some and defines some, as others do under the same names."""
    lines = []
    for _ in range(draw.randrange(3)):
        lines.append(
            draw.choice(["from {} import {}", "from {} import {} as other", "from {} import *"]).format(
                draw.choice(MODULES), draw.choice(NAMES)
            )
        )
    for _ in range(draw.randrange(3)):
        name, used = draw.choice(NAMES), draw.choice([*NAMES, "other"])
        if draw.random() < 0.5:
            lines.append(f"def {name}(x{draw.choice(['', '=1'])}):\n    return {used}(x)")
        else:
            lines.append(f"class {name}:\n    def go(self):\n        self.go({used})")
    lines += [f"{draw.choice(NAMES)}('ä')" for _ in range(draw.randrange(3))]
    return ("\n".join(lines) + "\n").encode()


def random_edit(draw: random.Random, files: dict[str, bytes]) -> None:
    """One of the things that people do to files."""
    path = draw.choice(MODULES).replace(".", "/") + ".py"
    old = files.get(path)
    kind = draw.randrange(7) if old is not None else 0
    if kind == 0:
        files[path] = random_file(draw)
    elif kind == 1:
        del files[path]
    elif kind == 2:
        files[path] = b"# a line more\n" + old
    elif kind == 3:
        files[path] = old.replace(b"return ", b"return  ")
    elif kind == 4:
        files[path] = re.sub(rb"\balpha\b", b"beta", old)
    elif kind == 5:
        files[path] = old + b"alpha()\n"
    else:
        other = draw.choice(MODULES).replace(".", "/") + ".py"
        files[path], files[other] = files.get(other, b""), old


def edits_keep_the_facts_true(database: SemanticDatabase, seed: int, steps: int) -> int:
    """How many occurrences were given out after all edits; none of them may be anything but the truth."""
    draw = random.Random(seed)
    memory = Memory({module.replace(".", "/") + ".py": random_file(draw) for module in MODULES})
    refresh(database, memory)
    given = 0
    for _ in range(steps):
        random_edit(draw, memory.files)
        if draw.random() < 0.3 and memory.files:
            only = draw.sample(sorted(memory.files), draw.randrange(1, len(memory.files) + 1))
            refresh(database, memory, None if draw.random() < 0.3 else only)
        found = believed(database, memory)
        assert found <= said(memory), found - said(memory)
        given += len(found)
    refresh(database, memory)
    assert believed(database, memory) == said(memory)
    return given


def test_after_random_edits_no_stale_occurrence_is_given_out(database: SemanticDatabase) -> None:
    assert edits_keep_the_facts_true(database, 8, 120) > 500


@pytest.mark.long
def test_after_two_thousand_random_edits_no_stale_occurrence_is_given_out(database: SemanticDatabase) -> None:
    assert edits_keep_the_facts_true(database, 2_000, 2_000) > 10_000


def test_a_file_is_stale_while_something_far_beneath_it_is_another_although_what_it_names_says_the_same(
    database: SemanticDatabase,
) -> None:
    memory = Memory(
        {
            "kinds.py": b"class A: ...\n\nclass B: ...\n",
            "pick.py": b"from kinds import A, B\n\ndef pick():\n    return A()\n",
            "wrap.py": b"from pick import pick\n\ndef wrap():\n    return pick()\n",
            "user.py": b"from wrap import wrap\n\nwrap()\n",
        }
    )
    refresh(database, memory)
    memory.files["pick.py"] = memory.files["pick.py"].replace(b"return A()", b"return B()")
    refresh(database, memory, ["pick.py"])
    assert freshness(database, memory, "user.py") is FactFreshness.STALE
    refresh(database, memory, ["wrap.py"])
    assert freshness(database, memory, "wrap.py") is FactFreshness.CLEAN
    assert freshness(database, memory, "user.py") is FactFreshness.STALE
    refresh(database, memory, ["user.py"])
    assert freshness(database, memory, "user.py") is FactFreshness.CLEAN


@pytest.mark.parametrize(
    ("classes", "member", "same"),
    [
        # An attribute that a subclass sets anew, a property that one replaces.
        ("Sub:Base", "Base#kind.", "Base#kind. Sub#kind."),
        ("Sub:Base", "Sub#kind.", "Base#kind. Sub#kind."),
        ("Sub:Base", "Base#hue().", "Base#hue(). Sub#hue."),
        # Two of one base that does not have it are strangers; with a class that is both of them they are not.
        ("A:Base B:Base", "A#kind.", "A#kind."),
        ("A:Base B:Base C:A C:B", "A#kind.", "A#kind. B#kind."),
        ("A:Base B:Base Base:Top", "A#kind.", "A#kind. Top#kind. B#kind."),
        ("Sub:Base", "Base#__own.", "Base#__own."),
        ("A:B B:A", "A#kind.", "A#kind. B#kind."),
    ],
)
def test_a_member_has_the_name_that_it_has_in_bases_and_heirs(
    database: SemanticDatabase, classes: str, member: str, same: str
) -> None:
    pairs = [pair.split(":") for pair in classes.split()]
    named = {"Base#kind.", "Base#hue().", "Sub#hue.", "Base#__own.", "Sub#__own.", "Sub#kind.", "Top#kind."}
    others = {"A#kind.", "B#kind.", member}
    strangers = {"Base#kind."} if ("A", "Base") in map(tuple, pairs) else set()
    symbols = {f"{each}#" for pair in pairs for each in pair} | (named | others) - strangers
    refresh(database, Memory(TREE))
    with database.writing() as db:
        for each in sorted(symbols):
            db.execute("INSERT INTO identities (symbol) VALUES (?)", (each,))
        number = dict(db.execute("SELECT symbol, id FROM identities").fetchall())
        for heir, base in pairs:
            ends = number[f"{heir}#"], number[f"{base}#"]
            db.execute("INSERT INTO relationships SELECT min(id), 1, ?, ?, 'implementation' FROM files", ends)
        facts = SemanticFacts(db, Memory(TREE))
        assert {facts.symbol(each) for each in facts.related(number[member])} == set(same.split())
