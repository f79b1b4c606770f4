"""What an indexer says is taken in whole, stamped with the bytes it is about, and only where these held still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import SemanticUnreadable
from cairn.semantic.database import Connection, SemanticDatabase, register
from cairn.semantic.importing import Imported, ImportRequest, Indexed, import_index, owns, reaches
from cairn.semantic.model import FULL, NOTHING, Context, Family
from tests.semantic.indices import document, field, index, occurrence
from tests.semantic.pinned import APP, CONTEXT, LIB, Codebase, index_of_demo, name

# --- A fresh look sees every change of a file, even one that was taken back.


def test_what_is_there_is_seen_and_what_is_not_is_left_out(tmp_path: Path) -> None:
    code = Codebase(tmp_path / "code", {"a.py": "x = 1\n"})
    (code.folder / "link.py").symlink_to("/etc/passwd")
    (code.folder / "folder.py").mkdir()
    first = code.look(["a.py", "gone.py", "link.py", "folder.py"])
    assert list(first) == ["a.py"]
    assert code.look(["a.py"]) == first


def test_a_change_that_was_taken_back_is_seen(tmp_path: Path) -> None:
    code = Codebase(tmp_path / "code", {"a.py": "x = 1\n"})
    first = code.look(["a.py"])
    code.write("a.py", "x = 2\n")
    code.write("a.py", "x = 1\n")
    again = code.look(["a.py"])
    assert again["a.py"].file_hash == first["a.py"].file_hash
    assert again != first


# --- The reach of a file is another one exactly when something that it rests on is.


NAMES = st.integers(0, 7)
LEANS = st.dictionaries(NAMES, st.frozensets(NAMES, max_size=4), max_size=8)


def beneath(start: int, leans: dict[int, frozenset[int]]) -> set[int]:
    """All that it rests on, itself included."""
    found, following = {start}, [start]
    for each in following:
        fresh = leans.get(each, frozenset()) - found
        found |= fresh
        following += fresh
    return found


@settings(derandomize=True, max_examples=150, deadline=None)
@given(leans=LEANS, changed=NAMES)
def test_a_change_reaches_those_who_rest_on_it_and_nobody_else(leans: dict[int, frozenset[int]], changed: int) -> None:
    own = {key: f"shows {key}" for key in range(8)}
    before, after = reaches(own, leans), reaches(own | {changed: "shows something else"}, leans)
    for key in own:
        assert (before[key] != after[key]) is (changed in beneath(key, leans))


def test_what_nothing_is_known_of_is_not_rested_on_and_a_long_chain_is_no_trouble() -> None:
    assert reaches({1: "a"}, {1: frozenset({2})}) == reaches({1: "a"}, {})
    own = {name: str(name) for name in range(5_000)}
    chain = {name: frozenset({name + 1}) for name in range(4_999)}
    assert len(set(reaches(own, chain).values())) == 5_000


@pytest.fixture
def code(tmp_path: Path) -> Codebase:
    return Codebase(tmp_path / "code", {"lib.py": LIB, "app.py": APP})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with SemanticDatabase(str(tmp_path / "home"), str(tmp_path)).writing() as db:
        register(db, [CONTEXT])
        yield db


def about(code: Codebase, *, full: bool = True, context: Context = CONTEXT) -> ImportRequest:
    seen = code.look(code.paths())
    return ImportRequest(context, str(code.folder), code.pinned(), seen, seen, 5.0, FULL if full else NOTHING)


def take(db: Connection, code: Codebase, data: bytes, *, full: bool = True) -> Imported:
    return import_index(db, Indexed(data, "index.scip", "1.0"), about(code, full=full))


def rows(db: Connection, sql: str) -> list[tuple[object, ...]]:
    return db.execute(sql).fetchall()


OCCURRENCES = (
    "SELECT f.path, o.start_line, o.start_col, o.end_line, o.end_col, o.role, o.anchor_before, o.anchor_after, i.symbol"
    " FROM occurrences o JOIN files f ON f.id = o.file_id JOIN identities i ON i.id = o.identity_id"
    " ORDER BY f.path, o.start_line, o.start_col"
)
EDGES = (
    "SELECT s.path, t.path, e.interface_hash_at_index FROM edges e JOIN files s ON s.id = e.source_file"
    " JOIN files t ON t.id = e.target_file ORDER BY 1, 2"
)


def test_occurrences_have_their_place_in_bytes_their_anchors_and_one_identity(db: Connection, code: Codebase) -> None:
    found = take(db, code, index_of_demo())
    greet = "scip-python python demo . lib/greet()."
    assert rows(db, OCCURRENCES) == [
        ("app.py", 1, 16, 1, 21, "reference", "from lib import ", "", greet),
        ("app.py", 3, 0, 3, 5, "reference", "", "('ä')", greet),
        ("lib.py", 1, 4, 1, 9, "definition", "def ", "(who):", greet),
        ("lib.py", 1, 10, 1, 13, "definition", "def greet(", "):", "local lib.py 0"),
    ]
    assert (found.files, found.changed, found.foreign, found.occurrences, found.dropped) == (
        ("lib.py", "app.py"),
        (),
        0,
        4,
        0,
    )


def test_facts_carry_the_hash_of_the_file_and_edges_the_interface_of_what_they_lead_to(
    db: Connection, code: Codebase
) -> None:
    take(db, code, index_of_demo())
    pinned = code.pinned()
    app, lib = pinned.file("app.py"), pinned.file("lib.py")
    assert app is not None
    assert lib is not None
    stamped = "SELECT f.path, content_hash_at_index FROM file_semantic_facts JOIN files f ON f.id = file_id ORDER BY 1"
    assert rows(db, stamped) == [("app.py", app.file_hash), ("lib.py", lib.file_hash)]
    assert lib.interface_hash
    assert rows(db, EDGES) == [("app.py", "lib.py", lib.interface_hash)]
    kept = "SELECT syntactic_interface_hash FROM files WHERE path = 'lib.py'"
    assert rows(db, kept) == [(lib.interface_hash,)]


def test_definitions_have_a_name_a_kind_a_body_and_what_others_see_of_them(db: Connection, code: Codebase) -> None:
    take(db, code, index_of_demo())
    symbols = "SELECT name, qualified_name, kind, line, column, body_start_line, body_end_line, signature FROM symbols"
    assert rows(db, symbols + " ORDER BY column") == [
        ("greet", "lib.greet", "function", 1, 4, 1, 2, "def greet(who)"),
        ("who", "who", "local", 1, 10, None, None, ""),
    ]
    assert rows(db, "SELECT name FROM exports") == [("greet",)]
    assert len(rows(db, "SELECT * FROM symbol_interface_hashes")) == 1


def test_what_others_see_decides_the_semantic_interface_and_a_body_does_not(db: Connection, code: Codebase) -> None:
    def interface() -> object:
        facts = "SELECT semantic_interface_hash FROM file_semantic_facts JOIN files f ON f.id = file_id"
        return rows(db, facts + " WHERE f.path = 'lib.py'")

    take(db, code, index_of_demo())
    first = interface()
    code.write("lib.py", LIB.replace("return who", "return 2"))
    take(db, code, index_of_demo("0.2"))
    assert interface() == first
    code.write("lib.py", LIB.replace("(who)", "(who, more)"))
    take(db, code, index_of_demo())
    assert interface() != first


def test_a_second_index_replaces_what_the_first_said(db: Connection, code: Codebase) -> None:
    take(db, code, index_of_demo())
    before = rows(db, OCCURRENCES)
    take(db, code, index_of_demo("0.9"))
    assert rows(db, OCCURRENCES) == before
    assert len(rows(db, "SELECT * FROM symbols")) == 2
    take(db, code, index(document("app.py", [occurrence([2, 0, 5], name("lib", "greet()."))])), full=False)
    assert [row[0] for row in rows(db, OCCURRENCES)] == ["app.py", "lib.py", "lib.py"]
    assert [row[:2] for row in rows(db, EDGES)] == [("app.py", "lib.py")]


def test_a_file_that_was_touched_meanwhile_keeps_what_was_known_and_nothing_is_known_of_its_interface(
    db: Connection, code: Codebase
) -> None:
    take(db, code, index_of_demo())
    old = rows(db, "SELECT content_hash FROM files WHERE path = 'lib.py'")
    before = code.look(code.paths())
    pinned = code.pinned()
    code.write("lib.py", "def greet(): ...\n")
    asked = ImportRequest(CONTEXT, str(code.folder), pinned, before, code.look(code.paths()), 6.0, FULL)
    found = import_index(db, Indexed(index_of_demo(), "index.scip", ""), asked)
    assert (found.files, found.changed) == (("app.py",), ("lib.py",))
    assert rows(db, "SELECT content_hash FROM files WHERE path = 'lib.py'") == old
    assert rows(db, EDGES) == [("app.py", "lib.py", "")]


def test_a_file_that_was_changed_and_put_back_is_not_believed(db: Connection, code: Codebase) -> None:
    before, pinned = code.look(code.paths()), code.pinned()
    code.write("lib.py", "x = 1\n")
    code.write("lib.py", LIB)
    after = code.look(code.paths())
    assert after["lib.py"].file_hash == before["lib.py"].file_hash
    asked = ImportRequest(CONTEXT, str(code.folder), pinned, before, after, 6.0, FULL)
    found = import_index(db, Indexed(index_of_demo(), "index.scip", ""), asked)
    assert found.changed == ("lib.py",)


def test_a_file_that_is_not_as_in_the_snapshot_is_not_believed(db: Connection, code: Codebase) -> None:
    pinned = code.pinned()
    code.write("lib.py", LIB + "\n")
    seen = code.look(code.paths())
    asked = ImportRequest(CONTEXT, str(code.folder), pinned, seen, seen, 6.0, FULL)
    found = import_index(db, Indexed(index_of_demo(), "index.scip", ""), asked)
    assert found.changed == ("lib.py",)


def test_what_is_gone_goes_but_who_leaned_on_it_still_does(db: Connection, code: Codebase) -> None:
    take(db, code, index_of_demo())
    (code.folder / "lib.py").unlink()
    only = index(document("app.py", [occurrence([2, 0, 5], name("app", "x."))]))
    keeps = index(document("more.py", [occurrence([0, 0, 1], name("more", "x."), 1)]))
    code.write("more.py", "x = 1\n")
    take(db, code, keeps, full=False)
    facts = "SELECT f.path FROM file_semantic_facts JOIN files f ON f.id = file_id ORDER BY 1"
    assert rows(db, facts) == [("app.py",), ("more.py",)]
    assert [row[:2] for row in rows(db, EDGES)] == [("app.py", "lib.py")]
    take(db, code, only)
    assert rows(db, "SELECT path FROM files") == [("app.py",)]
    assert rows(db, "SELECT symbol FROM identities") == [("scip-python python demo . app/x.",)]


def test_a_full_index_takes_away_what_it_no_longer_speaks_of_and_a_narrow_one_does_not(
    db: Connection, code: Codebase
) -> None:
    take(db, code, index_of_demo())
    only = index(document("lib.py", [occurrence([0, 4, 9], name("lib", "greet()."), 1)]))
    take(db, code, only, full=False)
    assert len(rows(db, "SELECT * FROM file_semantic_facts")) == 2
    take(db, code, only)
    assert len(rows(db, "SELECT * FROM file_semantic_facts")) == 1


@pytest.mark.parametrize(
    ("project", "written"),
    [
        ("file://{root}/pkg", "lib.py"),
        ("file://{root}/pkg/", "../pkg/lib.py"),
        ("file://{root}", "pkg/lib.py"),
        ("{root}/pkg", "./lib.py"),
        ("file:///elsewhere", "lib.py"),
        ("", "lib.py"),
    ],
)
def test_paths_begin_where_the_index_says_or_at_the_context(tmp_path: Path, project: str, written: str) -> None:
    context = replace(CONTEXT, id="python:pkg", root="pkg")
    code = Codebase(tmp_path / "co de", {"pkg/lib.py": LIB})
    place = project.format(root=str(code.folder).replace(" ", "%20"))
    data = field(1, field(3, place)) + field(2, document(written, [occurrence([0, 4, 9], name("lib", "greet()."), 1)]))
    with SemanticDatabase(str(tmp_path / "home"), "x").writing() as db:
        register(db, [context])
        found = import_index(db, Indexed(data, "index.scip", ""), about(code, context=context))
    assert found.files == ("pkg/lib.py",)


@pytest.mark.parametrize(
    "path", ["../out.py", "/etc/passwd", "", "../../../x.py", "missing.py", "a\0b.py", "README.md"]
)
def test_documents_that_lead_nowhere_are_left_out(db: Connection, code: Codebase, path: str) -> None:
    code.write("README.md", "x = 1\n")
    bad = document(path, [occurrence([0, 0, 1], name("x", "y."), 1)])
    good = document("lib.py", [occurrence([0, 4, 9], name("lib", "greet()."), 1)])
    found = take(db, code, index(bad, good))
    assert (found.files, found.foreign) == (("lib.py",), 1)
    with pytest.raises(SemanticUnreadable, match="nothing"):
        take(db, code, index(bad))


def test_an_empty_index_is_not_believed(db: Connection, code: Codebase) -> None:
    take(db, code, index_of_demo())
    with pytest.raises(SemanticUnreadable, match="nothing"):
        take(db, code, index())
    assert len(rows(db, "SELECT * FROM file_semantic_facts")) == 2


def test_places_that_are_not_in_the_file_are_dropped(db: Connection, code: Codebase) -> None:
    odd = [
        occurrence([7, 0, 1], name("lib", "a."), 1),
        occurrence([0, 4, 9], "", 1),
        occurrence([1, 0, 9, 0], name("lib", "b.")),
    ]
    found = take(db, code, index(document("lib.py", [*odd, occurrence([0, 4, 9], name("lib", "greet()."), 1)])))
    assert (found.occurrences, found.dropped) == (1, 2)


def test_columns_that_count_other_units_become_bytes(db: Connection, code: Codebase) -> None:
    code.write("lib.py", "x = '😀ä'; y = 1\n")
    place = occurrence([0, 11, 12], name("lib", "y."), 1)
    take(db, code, index(document("lib.py", [place], encoding=2)))
    assert [row[2:5] for row in rows(db, OCCURRENCES)] == [(14, 1, 15)]
    take(db, code, index(document("lib.py", [occurrence([0, 10, 11], name("lib", "y."), 1)], encoding=3)))
    assert [row[2:5] for row in rows(db, OCCURRENCES)] == [(14, 1, 15)]


def test_imports_and_relationships_are_kept(db: Connection, code: Codebase) -> None:
    base, child = name("lib", "Base#"), name("app", "Child#")
    related = field(1, child) + field(4, field(1, base) + field(3, 1) + field(2, 1))
    found = document("app.py", [occurrence([0, 16, 21], base, 2), occurrence([2, 0, 5], child, 1)], [related])
    take(db, code, index(found))
    assert [row[5] for row in rows(db, OCCURRENCES)] == ["import", "definition"]
    kinds = (
        "SELECT i.symbol, t.symbol, kind FROM relationships r JOIN identities i ON i.id = identity_id JOIN identities t"
    )
    assert rows(db, kinds + " ON t.id = target_id ORDER BY kind") == [
        ("scip-python python demo . app/Child#", "scip-python python demo . lib/Base#", "implementation"),
        ("scip-python python demo . app/Child#", "scip-python python demo . lib/Base#", "reference"),
    ]


def test_a_context_owns_its_files_and_not_those_of_one_nested_in_it() -> None:
    context = Context("python:a", Family.PYTHON, "a", "a", "", "", punched=("a/b",))
    assert owns(context, "a/x.py")
    assert owns(context, "a/bc/x.py")
    for path in ("a/b/x.py", "ab/x.py", "x.py", "a/x.ts"):
        assert not owns(context, path)


def test_a_file_that_an_index_should_have_spoken_of_and_did_not_is_noted_as_it_was(
    db: Connection, code: Codebase
) -> None:
    code.write("odd.py", "x = 1\n")
    take(db, code, index_of_demo(), full=False)
    assert rows(db, "SELECT * FROM silent_files") == []
    take(db, code, index_of_demo())
    odd = code.pinned().file("odd.py")
    assert odd is not None
    assert rows(db, "SELECT path, content_hash FROM silent_files") == [("odd.py", odd.file_hash)]
    (code.folder / "odd.py").unlink()
    take(db, code, index_of_demo())
    assert rows(db, "SELECT * FROM silent_files") == []


def test_a_module_that_is_named_from_where_it_is_imported_is_not_taken_for_one_at_the_top(
    db: Connection, code: Codebase
) -> None:
    code.write("pkg/use.py", "from .lib import greet\nimport lib\n")
    wrong, right = occurrence([0, 5, 9], name("lib", "__init__:")), occurrence([1, 7, 10], name("lib", "__init__:"))
    found = take(db, code, index(document("pkg/use.py", [wrong, right])))
    assert found.dropped == 1
    assert [row[1] for row in rows(db, OCCURRENCES)] == [2]


@pytest.mark.parametrize(
    ("family", "begin", "column"),
    [
        (Family.PYTHON, "\ufeff", 3),
        (Family.TYPESCRIPT, "\ufeff", 3),
        (Family.GO, "\ufeff", None),
        (Family.PYTHON, "# \r\n", 0),
        (Family.PYTHON, "# \r", None),
        (Family.PYTHON, "# \u2028\n", 0),
        (Family.TYPESCRIPT, "// \u2028\n", None),
        (Family.TYPESCRIPT, "// \u2029\n", None),
    ],
)
def test_a_file_in_which_the_indexer_may_count_otherwise_is_not_taken_in(
    tmp_path: Path, family: Family, begin: str, column: int | None
) -> None:
    path = {Family.PYTHON: "a.py", Family.TYPESCRIPT: "a.ts", Family.GO: "a.go"}[family]
    code = Codebase(tmp_path / "code", {path: begin + "xyz\n"})
    context = replace(CONTEXT, family=family)
    line = begin.count("\n")
    # What a mark is to Python is a column of its own.
    said = 1 if (family, begin) == (Family.PYTHON, "\ufeff") else 0
    data = index(document(path, [occurrence([line, said, said + 3], name("a", "xyz."), 1)]))
    with SemanticDatabase(str(tmp_path / "home"), str(tmp_path)).writing() as db:
        register(db, [context])
        found = import_index(db, Indexed(data, "index.scip", "1.0"), about(code, context=context))
        places = rows(db, "SELECT start_line, start_col, end_col FROM occurrences")
        silent = rows(db, "SELECT path FROM silent_files")
    if column is None:
        assert (found.files, places, silent) == ((), [], [(path,)])
    else:
        assert (places, silent) == ([(line + 1, column, column + 3)], [])


def test_a_module_begins_nowhere_and_is_not_what_stands_at_its_first_byte(db: Connection, code: Codebase) -> None:
    code.write("lib.py", "LIMIT = 3\n")
    code.write("app.py", "import lib\n")
    module = name("lib", "__init__:")
    lib = document("lib.py", [occurrence([0, 0, 0], module, 1), occurrence([0, 0, 5], name("lib", "LIMIT."), 1)])
    take(db, code, index(lib, document("app.py", [occurrence([0, 7, 10], module)])))
    assert [(row[0], row[2], row[8]) for row in rows(db, OCCURRENCES)] == [
        ("app.py", 7, "scip-python python demo . lib/__init__:"),
        ("lib.py", 0, "scip-python python demo . lib/LIMIT."),
    ]
    assert rows(db, "SELECT name FROM exports") == [("LIMIT",)]
    assert [row[:2] for row in rows(db, EDGES)] == [("app.py", "lib.py")]


def test_a_property_of_an_object_is_written_as_a_module_is_and_is_none(db: Connection, code: Codebase) -> None:
    take(db, code, index(document("app.py", [occurrence([2, 0, 5], name("lib", "greet0:"))])))
    assert [(row[1], row[2]) for row in rows(db, OCCURRENCES)] == [(3, 0)]


def test_what_an_indexer_writes_for_names_that_it_does_not_know_is_not_taken_in(db: Connection, code: Codebase) -> None:
    code.write("app.py", "from lib import *\n\ngreet(other.x)\ny = y\n")
    module, other, own = name("lib", "__init__:"), "local 0", "local 1"
    app = document(
        "app.py",
        [
            *(occurrence([0, 5, 8], module), occurrence([2, 0, 5], module), occurrence([2, 6, 11], other)),
            *(occurrence([3, 0, 1], own, 1), occurrence([3, 4, 5], own)),
        ],
    )
    take(db, code, index(app, document("lib.py", [occurrence([0, 4, 9], name("lib", "greet()."), 1)])))
    found = [(row[1], row[2]) for row in rows(db, OCCURRENCES) if row[0] == "app.py"]
    assert found == [(1, 5), (4, 0), (4, 4)]
    assert [row[:2] for row in rows(db, EDGES)] == [("app.py", "lib.py")]
