"""What stands against a rename, by facts alone; that a plan holds on a codebase is shown in tests/ask/test_edits.py."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cairn.core.types import Shorthand
from cairn.errors import UsageError
from cairn.semantic.ambiguity import MOST_OF_A_KIND, SENTENCES, AmbiguitySource
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.editing import FileStateService, Verdict
from cairn.semantic.model import Family
from cairn.semantic.patch import Replacement, file_patch
from cairn.semantic.plan import RenamePlan
from cairn.semantic.rename import checked_name, plan_rename
from cairn.syntax.occurrences import places_of_name
from tests.conformance import conforms
from tests.semantic.small_indexer import Memory, refresh

# --- Patches are what git takes, whatever the file and its name look like.


def applied(tmp_path: Path, path: str, old: bytes, patch: bytes) -> bytes:
    """What git makes of the file."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    return file.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"foo()\n", b"bar()\n"),
        (b"foo()", b"bar()"),
        (b"a\r\nfoo()\r\nb\r\n", b"a\r\nbar()\r\nb\r\n"),
        (b"1\n2\n3\n4\nfoo\n6\n7\n8\n9\n10\n11\n12\n13\nfoo", b"1\n2\n3\n4\nbar\n6\n7\n8\n9\n10\n11\n12\n13\nbar"),
        (b"foo\nfoo\nx\nfoo\n", b"bar\nbar\nx\nbar\n"),
        ("é foo\n".encode(), "é bar\n".encode()),
    ],
)
@pytest.mark.parametrize("path", ["a.py", "deep/er/a b.py", "é.py", 'quo"te\\.py', "tab\there.py"])
def test_git_takes_the_patch_and_makes_of_the_file_what_was_meant(
    tmp_path: Path, path: str, old: bytes, new: bytes
) -> None:
    patch = file_patch(path, old, _each(old, b"foo", b"bar"))
    assert applied(tmp_path, path, old, patch) == new


@settings(derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from([b"", b"foo", b"x foo y foo", b"\xc3\xa9foo", b"other", b"foo\r"]), max_size=30),
    whole=st.booleans(),
    new=st.sampled_from([b"b", b"longer_name", b""]),
)
def test_patches_of_random_files_are_taken(tmp_path: Path, lines: list[bytes], whole: bool, new: bytes) -> None:
    old = b"\n".join(lines) + (b"\n" if whole and lines else b"")
    patch = file_patch("a.txt", old, _each(old, b"foo", new))
    if not patch:
        assert b"foo" not in old
        return
    assert applied(tmp_path, "a.txt", old, patch) == old.replace(b"foo", new)


def test_a_name_that_stays_makes_no_patch() -> None:
    assert file_patch("a.py", b"foo\n", [Replacement(1, 0, 3, b"foo")]) == b""


@pytest.mark.parametrize(
    "bad",
    [
        [Replacement(2, 0, 1, b"x")],
        [Replacement(0, 0, 1, b"x")],
        [Replacement(1, 2, 9, b"x")],
        [Replacement(1, 0, 1, b"x\ny")],
        [Replacement(1, 0, 2, b"x"), Replacement(1, 1, 3, b"y")],
    ],
)
def test_what_is_not_on_its_line_is_refused(bad: list[Replacement]) -> None:
    with pytest.raises(ValueError, match="replacement"):
        file_patch("a.py", b"foo\n", bad)


def _each(old: bytes, word: bytes, new: bytes) -> list[Replacement]:
    found = []
    for number, line in enumerate(old.split(b"\n"), 1):
        at = line.find(word)
        while at >= 0:
            found.append(Replacement(number, at, at + len(word), new))
            at = line.find(word, at + len(word))
    return found


TREE = {"lib.py": b"def greet():\n    greet()\n", "app.py": b"from lib import greet as hi\n\nhi()\n"}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    found = SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))
    refresh(found, Memory(TREE))
    return found


@contextmanager
def changed(database: SemanticDatabase) -> Iterator[tuple[int, int]]:
    """A transaction, with the number of the symbol that is renamed and that of its file."""
    with database.writing() as db:
        (symbol,) = db.execute("SELECT id FROM identities WHERE symbol LIKE '%greet().'").fetchone()
        (file,) = db.execute("SELECT id FROM files WHERE path = 'lib.py'").fetchone()
        db.execute("INSERT INTO identities (symbol) VALUES ('other x y . z#')")
        yield symbol, file


def planned(
    database: SemanticDatabase,
    new: str = "welcome",
    memory: Memory | None = None,
    shorthand: Shorthand = Shorthand.NONE,
) -> RenamePlan:
    """The plan; `shorthand`, the last place in lib.py is said to be one."""
    with database.reading() as db:
        assert db is not None
        (symbol,) = db.execute("SELECT id FROM identities WHERE symbol LIKE '%greet().'").fetchone()
        files = (memory or Memory(TREE)).files
        named = {path: places_of_name(files[path], "python", "greet") for path in sorted(files)}
        *others, last = named["lib.py"]
        named["lib.py"] = (*others, last._replace(shorthand=shorthand))
        return plan_rename(FileStateService(db, Memory(files)), frozenset([symbol]), "greet", new, named)


def share(database: SemanticDatabase) -> None:
    """Let the place on line 2 of lib.py stand for another symbol too."""
    with changed(database) as (_, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute(
            "INSERT INTO occurrences (file_id, context_id, identity_id, start_line, start_col, end_line, end_col, role,"
            " layer, anchor_before, anchor_after) SELECT file_id, context_id, ?, start_line, start_col, end_line,"
            " end_col, 'definition', layer, anchor_before, anchor_after FROM occurrences"
            " WHERE file_id = ? AND start_line = 2",
            (other, file),
        )
        db.execute(
            "INSERT INTO symbols (file_id, context_id, identity_id, name, qualified_name, kind, line, column,"
            " signature, layer) SELECT file_id, context_id, ?, name, qualified_name, kind, 2, 4, signature, layer"
            " FROM symbols WHERE file_id = ? LIMIT 1",
            (other, file),
        )


def test_an_alias_stays_and_what_it_stands_for_is_renamed(database: SemanticDatabase) -> None:
    plan = planned(database)
    assert (plan.verdict, [(one.path, one.places) for one in plan.edits]) == (
        Verdict.AUTOMATIC,
        [("app.py", 1), ("lib.py", 2)],
    )
    assert b"+from lib import welcome as hi" in plan.patch
    assert b"-hi()" not in plan.patch
    assert plan.against == ()
    hashes = {path: file.content_hash for path in TREE if (file := Memory(TREE).now(path))}
    assert {one.path: one.content_hash for one in plan.edits} == hashes


def test_what_stands_against_a_plan_is_a_list_of_places_with_reasons(database: SemanticDatabase) -> None:
    tree = TREE | {"app.py": TREE["app.py"] + b"def f(o):\n    o.greet\n"}
    refresh(database, Memory(tree))
    (one,) = planned(database, memory=Memory(tree)).against
    assert one == ("app.py", 5, SENTENCES[AmbiguitySource.UNRESOLVED_USE])


def test_comments_and_texts_with_the_name_stay_and_are_counted(database: SemanticDatabase) -> None:
    tree = TREE | {"lib.py": b"__all__ = ['greet']  # greet\n" + TREE["lib.py"]}
    refresh(database, Memory(tree))
    plan = planned(database, memory=Memory(tree))
    assert (plan.verdict, plan.left) == (Verdict.AUTOMATIC, 2)
    assert b"__all__ = ['greet']  # greet" in plan.patch


def test_other_things_of_the_name_are_no_comments_and_texts(database: SemanticDatabase) -> None:
    tree = TREE | {"lib.py": TREE["lib.py"] + b"\r\nclass Host:\r\n    def greet(self): ...  # greet\r\n"}
    refresh(database, Memory(tree))
    plan = planned(database, memory=Memory(tree))
    assert (plan.verdict, plan.left) == (Verdict.AUTOMATIC, 1)
    assert b"+    def" not in plan.patch


def test_every_question_about_a_rename_is_put_however_many_there_are(database: SemanticDatabase) -> None:
    tree = TREE | {"app.py": TREE["app.py"] + b"def f(o):\n" + b"    o.greet\n" * (MOST_OF_A_KIND + 50)}
    refresh(database, Memory(tree))
    assert len(planned(database, memory=Memory(tree)).open) == MOST_OF_A_KIND + 50


def test_what_implements_something_of_another_project_keeps_its_name(database: SemanticDatabase) -> None:
    with changed(database) as (symbol, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute("INSERT INTO relationships VALUES (?, 1, ?, ?, 'implementation')", (file, symbol, other))
    plan = planned(database)
    assert (plan.verdict, plan.outside, plan.patch) == (Verdict.BLOCKED, ("z",), b"")


def test_a_class_is_renamed_without_its_bases_and_without_those_it_is_a_base_of(database: SemanticDatabase) -> None:
    with changed(database) as (symbol, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute("INSERT INTO relationships VALUES (?, 1, ?, ?, 'implementation')", (file, other, symbol))
    with database.reading() as db:
        assert db is not None
        facts = FileStateService(db, Memory(TREE)).facts
        assert facts.related(other) == {other}
        assert facts.related(symbol) == {other, symbol}


def test_a_place_that_stands_for_two_symbols_must_be_decided(database: SemanticDatabase) -> None:
    share(database)
    plan = planned(database)
    assert (plan.verdict, plan.patch) == (Verdict.NEEDS_DECISION, b"")
    assert [(one.source, one.path, one.line) for one in plan.open] == [(AmbiguitySource.SHARED_PLACE, "lib.py", 2)]


@pytest.mark.parametrize(
    ("shorthand", "becomes"),
    [(Shorthand.OBJECT, b"greet: welcome"), (Shorthand.PATTERN, b"welcome: greet"), (Shorthand.SAME, b"welcome")],
)
def test_a_property_and_its_value_are_taken_apart_when_one_of_them_is_renamed(
    database: SemanticDatabase, shorthand: Shorthand, becomes: bytes
) -> None:
    # The place is a use of what is renamed: in an object that is the value, in a pattern the property.
    share(database)
    plan = planned(database, shorthand=shorthand)
    assert plan.verdict is Verdict.AUTOMATIC
    assert b"+    " + becomes + b"()" in plan.patch


def test_of_a_property_without_a_known_value_the_one_that_is_not_known_is_asked_about(
    database: SemanticDatabase,
) -> None:
    plan = planned(database, shorthand=Shorthand.PATTERN)
    assert [(one.source, one.path, one.line) for one in plan.open] == [(AmbiguitySource.UNRESOLVED_USE, "lib.py", 2)]


def test_the_new_name_in_a_file_to_be_changed_must_be_decided(database: SemanticDatabase) -> None:
    plan = planned(database, "hi")
    assert [(one.source, one.path, one.line) for one in plan.open] == [(AmbiguitySource.NAME_TAKEN, "app.py", 1)]


@conforms("002.DB4")
def test_places_in_a_file_whose_code_has_changed_are_not_part_of_a_plan(database: SemanticDatabase) -> None:
    changed = Memory(TREE | {"app.py": b"above = 1\n" + TREE["app.py"]})
    plan = planned(database, memory=changed)
    assert plan.verdict is Verdict.BLOCKED
    assert [one.path for one in plan.edits] == ["lib.py"]


@conforms("002.DB4")
def test_places_below_a_new_comment_are_edited_where_they_stand_now(database: SemanticDatabase) -> None:
    plan = planned(database, memory=Memory(TREE | {"lib.py": b"# above\n" + TREE["lib.py"]}))
    assert plan.verdict is Verdict.AUTOMATIC
    assert b"\n # above\n-def greet():\n-    greet()\n+def welcome():\n+    welcome()\n" in plan.patch
    assert b"-from lib import greet as hi\n+from lib import welcome as hi\n" in plan.patch


@pytest.mark.parametrize(
    ("family", "old", "new", "fits"),
    [
        (Family.PYTHON, "a", "b", True),
        (Family.PYTHON, "a", "é", True),
        (Family.PYTHON, "a", "lambda", False),
        (Family.PYTHON, "__init__", "b", False),
        (Family.PYTHON, "a", "a", False),
        (Family.TYPESCRIPT, "a", "$b", True),
        (Family.TYPESCRIPT, "a", "b c", False),
        (Family.TYPESCRIPT, "a", "", False),
        (Family.GO, "a", "1b", False),
        (Family.GO, "a", "func", False),
        (Family.TYPESCRIPT, "a", "delete", False),
        (Family.RUST, "a", "match", False),
        (Family.JVM, "a", "native", False),
    ],
)
def test_a_new_name_must_be_a_name(family: Family, old: str, new: str, fits: bool) -> None:
    if fits:
        checked_name(family, old, new)
        return
    with pytest.raises(UsageError):
        checked_name(family, old, new)


def test_a_subclass_elsewhere_that_has_the_new_name_already_must_be_decided(tmp_path: Path) -> None:
    database = SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))
    tree = {
        "lib.py": b"class Host:\n    def greet(self): ...\n",
        "inn.py": b"from lib import Host\n\nclass Inn(Host):\n    def welcome(self): ...\n",
        "far.py": b"class Far:\n    def welcome(self): ...\n",
    }
    refresh(database, Memory(tree))
    with database.writing() as db:
        classes = [f"scip-python python demo . `{one}`/{two}#" for one, two in (("inn", "Inn"), ("lib", "Host"))]
        relation = "INSERT INTO relationships SELECT 1, 1, a.id, b.id, 'implementation' FROM identities a, identities b"
        db.execute(f"{relation} WHERE a.symbol = ? AND b.symbol = ?", classes)
    plan = planned(database, memory=Memory(tree))
    assert [(one.source, one.path, one.line) for one in plan.open] == [(AmbiguitySource.NAME_TAKEN, "inn.py", 4)]
