"""Questions about structure, put to a session: which files answer, what is said of the others, and what is changed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.gate import Status
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of, file_outline, find_symbol, read_file, similar_code
from cairn.ask.values import Reply
from cairn.errors import BadPathKey, PathOutsideRoot, UsageError
from cairn.source.beneath import Tree
from tests.support.faults import Faults

LEASE = "class Lease:\n    def steal(self):\n        return 1\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with something of every sort, indexed once."""
    world = tmp_path_factory.mktemp("world").resolve()
    tree = world / "tree"
    for folder in ("src", ".github/workflows", "build", ".git"):
        (tree / folder).mkdir(parents=True)
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "src" / "lease.py").write_text(LEASE)
    (tree / "src" / "other.py").write_text(LEASE.replace("Lease", "Other"))
    (tree / ".github" / "workflows" / "tool.py").write_text("def check(): ...\n")
    (tree / ".gitignore").write_text("build/\n*.log\n")
    (tree / "build" / "made.py").write_text("def made(): ...\n")
    (tree / "run.log").write_text("nothing\n")
    (tree / ".env").write_text("TOKEN=secret\n")
    (tree / "logo.txt").write_bytes(b"\0\1")
    (tree / "notes.txt").write_text("one\ntwo\n")
    (tree / "empty.py").write_text("")
    (tree / "link.py").symlink_to("src/lease.py")
    (world / "outside.py").write_text("def outside(): ...\n")
    (tree / "away.py").symlink_to(world / "outside.py")
    environ = {"CAIRN_HOME": str(world / "home"), "HOME": str(world)}
    with Session(whole(str(tree), environ), environ) as session:
        prepare(session, Policy())
    return world


@pytest.fixture
def session(world: Path) -> Iterator[Session]:
    with opened(world) as session:
        yield session


def opened(world: Path, home: str = "home") -> Session:
    environ = {"CAIRN_HOME": str(world / home), "HOME": str(world)}
    session = Session(whole(str(world / "tree"), environ), environ)
    prepare(session, Policy(create=False, sync=False))
    return session


def said(session: Session, name: str) -> Asked:
    return asked_of(name, session.root)


def missing(reply: Reply[Any]) -> str:
    assert reply.miss is not None
    return reply.miss.error.sentence


# --- which file, which lines ------------------------------------------------------------------------------------------


def test_lines_stand_behind_a_colon_and_before_a_column_unless_a_file_has_that_very_name(tmp_path: Path) -> None:
    base = str(tmp_path)
    assert asked_of("a.py", base).lines is None
    assert [asked_of(text, base).lines for text in ("a.py:3", "a.py:3-", "a.py:3-9")] == [(3, 3), (3, None), (3, 9)]
    assert asked_of("a:1:2", base) == ("a:1:2", "a", base, (1, 1))
    (tmp_path / "a:1").write_text("x")
    assert asked_of("a:1:2", base) == ("a:1:2", "a:1", base, (2, 2))
    (tmp_path / "a.py:3").write_text("x")
    assert asked_of("a.py:3", base).lines is None
    for text in ("a.py:0", "a.py:9-3", "a.py:0-"):
        with pytest.raises(UsageError, match="counted from 1"):
            asked_of(text, base)


def test_a_file_is_named_from_where_one_stands(session: Session) -> None:
    inside = Asked("lease.py", "lease.py", os.path.join(session.root, "src"))
    told = file_outline(session, inside).value
    assert told is not None
    assert told.path == "src/lease.py"
    full = os.path.join(session.root, "src", "lease.py")
    assert file_outline(session, Asked(full, full, "/")).value == told
    dotted = file_outline(session, said(session, "src/../src/./lease.py")).value
    assert dotted == told


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "src/../../outside.py"])
def test_a_path_outside_the_root_is_refused_in_one_sentence(session: Session, name: str) -> None:
    for ask in (file_outline, read_file):
        with pytest.raises(PathOutsideRoot, match="is outside the root"):
            ask(session, said(session, name))


def test_a_name_that_no_file_can_have_is_refused(session: Session) -> None:
    with pytest.raises(BadPathKey):
        read_file(session, said(session, "a\0b"))
    with pytest.raises(BadPathKey):
        read_file(session, said(session, os.fsdecode(b"\xff.py")))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing.py", "There is no file nothing.py in the index, and none on disk."),
        ("src/lease.py/x", "There is no file src/lease.py/x in the index, and none on disk."),
        ("src", "src is a folder."),
        (".", ". is a folder."),
        ("build/made.py", "build/made.py is left out of the index (ignored)."),
        ("run.log", "run.log is left out of the index (ignored)."),
        (".env", ".env is left out of the index (sensitive_name)."),
        ("logo.txt", "logo.txt is left out of the index (binary)."),
        ("link.py", "link.py is left out of the index (alias)."),
        ("away.py", "away.py is left out of the index (outside_root)."),
        (".git/HEAD", ".git/HEAD is left out of the index (vcs_internal)."),
    ],
)
def test_a_file_that_is_not_in_the_index_is_not_found_and_the_rule_is_named(
    session: Session, name: str, says: str
) -> None:
    for ask in (file_outline, read_file):
        assert missing(ask(session, said(session, name))).startswith(says)
    assert missing(similar_code(session, said(session, f"{name}:1"))).startswith(says)


def test_a_file_that_came_later_is_not_in_the_index_yet(session: Session) -> None:
    new = Path(session.root) / "new.py"
    new.write_text("def new(): ...\n")
    try:
        reply = read_file(session, said(session, "new.py"))
    finally:
        new.unlink()
    assert missing(reply) == "new.py is not in the index yet: it came after the last snapshot."
    assert reply.miss is not None
    assert "cairn sync" in reply.miss.error.advice


def test_a_file_that_may_not_be_read_is_not_said_to_have_come_later(session: Session, faults: Faults) -> None:
    locked = Path(session.root) / "locked.py"
    locked.write_text("def locked(): ...\n")
    # To the superuser, who may run this, nothing is locked.
    faults.fail(Tree, "open_file", PermissionError(errno.EACCES, "Permission denied"))
    try:
        reply = read_file(session, said(session, "locked.py"))
    finally:
        locked.unlink()
    assert missing(reply).startswith("locked.py is left out of the index (unreadable).")


# --- the questions ----------------------------------------------------------------------------------------------------


def test_an_outline_can_be_that_of_one_definition(session: Session) -> None:
    told = file_outline(session, said(session, "src/lease.py"), symbol="Lease.steal").value
    assert told is not None
    assert [(one.qualified, one.depth) for one in told.definitions] == [("Lease.steal", 1)]
    reply = file_outline(session, said(session, "src/lease.py"), symbol="steel")
    assert missing(reply) == "Nothing in src/lease.py is called steel."
    assert reply.miss is not None
    assert [one.place for one in reply.miss.candidates] == ["src/lease.py:2"], "the nearest, of this file only"


def test_a_file_that_was_not_parsed_has_no_outline_and_is_told_what_works(session: Session) -> None:
    reply = file_outline(session, said(session, "notes.txt"))
    assert reply.miss is not None
    assert reply.miss.error.code == Status.UNSUPPORTED
    assert "cairn read" in reply.miss.error.advice
    text = read_file(session, said(session, "notes.txt:2")).value
    assert text is not None
    assert text.text == "two"


def test_an_exact_name_is_one_definition_or_says_why_not(session: Session) -> None:
    told = find_symbol(session, "Other.steal", exact=True).value
    assert told is not None
    assert [one.place for one in told.definitions] == ["src/other.py:2"]
    several = find_symbol(session, "steal", exact=True).miss
    assert several is not None
    assert (several.error.code, several.total) == ("ambiguous", 2)
    assert several.error.advice.startswith("Name one of them by its place, such as src/lease.py:2,")
    none = find_symbol(session, "Leas", exact=True).miss
    assert none is not None
    assert (none.error.code, [one.name for one in none.candidates]) == ("not_found", ["Lease"])
    with pytest.raises(UsageError, match="no kind"):
        find_symbol(session, "Lease", exact=True, kinds=["class"])


def test_symbols_are_found_by_any_part_and_those_of_other_kinds_or_languages_left_out(session: Session) -> None:
    told = find_symbol(session, "leas").value
    assert told is not None
    assert [(one.name, one.way) for one in told.definitions] == [("Lease", "prefix")]
    assert (told.total, told.files) == (1, 6)
    methods = find_symbol(session, "steal", kinds=["class"]).value
    assert methods is not None
    assert methods.definitions == ()
    rust = find_symbol(session, "steal", languages=["rust"]).value
    assert rust is not None
    assert (rust.definitions, rust.files) == ((), 0)
    with pytest.raises(UsageError, match="from 1 to 100"):
        find_symbol(session, "x", limit=101)


def test_similar_code_is_found_elsewhere(session: Session) -> None:
    told = similar_code(session, said(session, "src/lease.py:2")).value
    assert told is not None
    assert (told.chunk.path, told.chunk.start_line, told.chunk.end_line) == ("src/lease.py", 1, 3)
    assert told.found.hits[0].path == "src/other.py"
    assert "src/lease.py" not in {hit.path for hit in told.found.hits}
    assert missing(similar_code(session, said(session, "src/lease.py:4"))).startswith("src/lease.py has 3 lines")
    assert missing(similar_code(session, said(session, "empty.py:1"))).startswith("empty.py has 0 lines")
    with pytest.raises(UsageError, match="which line"):
        similar_code(session, said(session, "src/lease.py"))


def test_a_read_says_whether_the_file_has_moved_on_and_shows_what_was_indexed(world: Path, session: Session) -> None:
    file = Path(session.root) / "src" / "lease.py"

    def disk() -> tuple[str, str]:
        told = read_file(session, said(session, "src/lease.py:1-1")).value
        assert told is not None
        return told.disk, told.text

    assert disk() == ("same", "class Lease:")
    try:
        file.write_text(LEASE.replace("Lease", "Leese"))
        assert disk() == ("changed", "class Lease:")
        file.unlink()
        assert disk() == ("missing", "class Lease:")
    finally:
        file.write_text(LEASE)
    assert disk() == ("same", "class Lease:")
    assert missing(read_file(session, said(session, "src/lease.py:4-9"))).startswith("src/lease.py has 3 lines")


# --- the gate, and what is changed ------------------------------------------------------------------------------------


def test_a_closed_gate_answers_every_question_alike(world: Path) -> None:
    with opened(world, "nobody") as session:
        replies = (
            file_outline(session, said(session, "src/lease.py")),
            read_file(session, said(session, "src/lease.py")),
            find_symbol(session, "Lease"),
            similar_code(session, said(session, "src/lease.py:1")),
        )
        assert {reply.gate.status for reply in replies} == {Status.NOT_INDEXED}
        assert all(reply.value is None and reply.miss is None for reply in replies)
    assert not (world / "nobody").exists()


def test_no_question_changes_the_index(world: Path, tmp_path: Path) -> None:
    shutil.copytree(world / "home", tmp_path / "before")
    with opened(world) as session:
        assert file_outline(session, said(session, "src/lease.py")).source is not None
        source = read_file(session, said(session, "src/lease.py")).source
        find_symbol(session, "Lease")
        similar_code(session, said(session, "src/lease.py:1"))
    assert source is not None
    assert source.freshness.mode == "not_checked"
    was, now = (
        {file.relative_to(home): file.read_bytes() for file in home.rglob("*") if file.is_file()}
        for home in (tmp_path / "before", world / "home")
    )
    assert was == now
