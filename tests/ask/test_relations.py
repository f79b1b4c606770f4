"""Questions about what leads where, put to a session: which definition is meant, and what is said when none is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.answer.structure import references_answer
from cairn.ask.gate import Status
from cairn.ask.prepare import Policy, prepare
from cairn.ask.relations import references
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of
from cairn.ask.values import Reply
from cairn.core.limits import MAX_REFERENCES
from cairn.errors import BadContinuation, BadPathKey, PathOutsideRoot, UsageError
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses
from cairn.syntax.languages import has_uses
from cairn.syntax.languages.pins import PINS

LEASE = "class Lease:\n    def steal(self):\n        return self.steal()\n\n\ndef publish(): ...\n"
TREE = {
    "src/lease.py": LEASE,
    "src/other.py": LEASE.replace("Lease", "Other").replace("publish", "other"),
    "src/app.py": "from lease import publish\n\ndef main():\n    publish()\n    publish()\n",
    "src/box.rs": "struct Crate;\nimpl Crate { fn a() {} }\nimpl Crate { fn b() {} }\n",
    "src/more.rs": "impl crate::Crate { fn c() {} }\n",
    "src/prop.py": "class P:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n",
    "README.md": "# publish\n\n## Only a heading\n",
    "settings.toml": "[tool]\nmain = 1\n",
    "other.toml": "[tool]\nname = 1\n",
    "notes.txt": "one\ntwo\n",
    "lease.py": "# A file of the root that has the name of another one.\n\ndef rooted(): ...\n",
    ".gitignore": "build/\n",
    "build/made.py": "def made(): ...\n",
}


def indexed(world: Path, files: dict[str, str]) -> dict[str, str]:
    tree = world / "tree"
    for path, text in ({".git/HEAD": "ref: refs/heads/main\n"} | files).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    environ = {"CAIRN_HOME": str(world / "home"), "HOME": str(world)}
    with Session(whole(str(tree), environ), environ) as session:
        prepare(session, Policy())
    return environ


def opened(world: Path, environ: dict[str, str]) -> Session:
    session = Session(whole(str(world / "tree"), environ), environ)
    prepare(session, Policy(create=False, sync=False))
    return session


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    world = tmp_path_factory.mktemp("world").resolve()
    (world / "outside.py").write_text("def outside(): ...\n")
    return world, indexed(world, TREE)


@pytest.fixture
def session(world: tuple[Path, dict[str, str]]) -> Iterator[Session]:
    with opened(*world) as session:
        yield session


def ask(session: Session, name: str, *, base: str = "", **how: Any) -> Reply[Uses]:
    return references(session, asked_of(name, os.path.join(session.root, base)), **how)


def found(session: Session, name: str, **how: Any) -> Uses:
    told = ask(session, name, **how).value
    assert told is not None
    return told


def missed(session: Session, name: str, **how: Any) -> tuple[str, str, list[str]]:
    """The status, the sentence and the candidates of a question without an answer."""
    miss = ask(session, name, **how).miss
    assert miss is not None
    return miss.error.code, miss.error.sentence, [one.place for one in miss.candidates]


# --- which definition is meant ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Lease.steal", "Lease::steal", "src/lease.py:2", "src/lease.py:3", "src/lease#steal"])
def test_a_definition_is_named_as_an_exact_symbol_is(session: Session, name: str) -> None:
    told = found(session, name)
    assert [one.place for one in told.definitions] == ["src/lease.py:2"]
    assert [(use.path, use.line, use.tier) for use in told.uses] == [("src/lease.py", 3, "proven")]
    assert told.elsewhere == 1


def test_a_place_is_meant_from_where_one_stands_and_else_from_the_root(session: Session) -> None:
    assert found(session, "lease.py:3").definitions[0].name == "rooted"
    assert found(session, "lease.py:3", base="src").definitions[0].qualified == "Lease.steal"
    assert found(session, "src/lease.py:1", base="src").definitions[0].name == "Lease"
    full = os.path.join(session.root, "src", "lease.py")
    assert found(session, f"{full}:1", base="src").definitions[0].name == "Lease"


def test_a_file_picks_one_of_several(session: Session) -> None:
    other = Asked("other.py", "other.py", os.path.join(session.root, "src"))
    assert found(session, "steal", file=other).definitions[0].qualified == "Other.steal"
    assert missed(session, "publish", file=other)[:2] == ("not_found", "Nothing in src/other.py is called publish.")


@pytest.mark.parametrize(("name", "written"), [("Crate", 3), ("P.x", 2)])
def test_what_is_written_in_several_parts_is_one_definition(session: Session, name: str, written: int) -> None:
    assert len(found(session, name).definitions) == written


def test_one_thing_that_is_written_twice_is_one_candidate(tmp_path: Path) -> None:
    """Two programs of one repository, each with a function and its prototype."""
    files = {
        f"{part}/{name}": text
        for part in ("one", "two")
        for name, text in (("f.h", "int f(void);\n"), ("f.c", '#include "f.h"\nint f(void) { return 1; }\n'))
    }
    with opened(tmp_path, indexed(tmp_path, files)) as session:
        assert missed(session, "f", exact=True) == (
            "ambiguous",
            "2 definitions are called f.",
            ["one/f.c:2", "two/f.c:2"],
        )
        assert [one.place for one in found(session, "two/f.c:2").definitions] == ["two/f.c:2", "two/f.h:1"]


def test_a_heading_or_a_key_of_the_same_name_makes_no_name_ambiguous(session: Session) -> None:
    told = found(session, "publish")
    assert [one.path for one in told.definitions] == ["src/lease.py"]
    assert (told.imports, told.proven) == (1, 2)


# --- when there is no answer ------------------------------------------------------------------------------------------


def test_a_name_that_nothing_has_gets_the_nearest_ones(session: Session) -> None:
    status, sentence, near = missed(session, "publisch")
    assert (status, sentence) == ("not_found", "Nothing is called publisch.")
    assert "src/lease.py:6" in near


def test_a_name_of_several_is_answered_for_the_best_and_names_the_others(session: Session) -> None:
    told = found(session, "steal")
    assert told.definitions[0].place == "src/lease.py:2"
    assert [one.place for one in told.candidates] == ["src/other.py:2"]


def test_asked_for_exactly_a_name_of_several_lists_them_and_each_can_be_picked(session: Session) -> None:
    status, sentence, places = missed(session, "steal", exact=True)
    assert (status, sentence) == ("ambiguous", "2 definitions are called steal.")
    assert [found(session, place).definitions[0].place for place in places] == places


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("notes.txt:1", "unsupported", "Cairn knows no definitions of notes.txt: as text it was cut by lines"),
        (
            "Only a heading",
            "unsupported",
            "Cairn knows no uses of what markdown defines, such as the heading at README.md:3.",
        ),
        (
            "settings.toml:2",
            "unsupported",
            "Cairn knows no uses of what toml defines, such as the key at settings.toml:2.",
        ),
        ("tool", "unsupported", "Cairn knows no uses of what toml defines, such as the"),
        ("src/lease.py:5", "not_found", "No definition stands on line 5 of src/lease.py."),
        (
            "src/lease.py:999999999",
            "not_found",
            "No definition stands on line 999999999 of src/lease.py, which has 6 lines",
        ),
        ("gone.py:3", "not_found", "There is no file gone.py in the index, and none on disk."),
        ("build/made.py:1", "not_found", "build/made.py is left out of the index (ignored)."),
        ("src:1", "not_found", "src is a folder."),
    ],
)
def test_what_cannot_be_answered_is_told_with_what_can_be_done(
    session: Session, name: str, status: str, says: str
) -> None:
    code, sentence, _ = missed(session, name)
    assert (code, sentence[: len(says)]) == (status, says)
    reply = ask(session, name)
    assert reply.miss is not None
    assert reply.miss.error.advice


def test_a_file_to_pick_from_that_has_no_definitions_is_told_as_such(session: Session) -> None:
    assert missed(session, "publish", file=asked_of("notes.txt", session.root))[0] == "unsupported"
    assert missed(session, "publish", file=asked_of("gone.py", session.root))[0] == "not_found"


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "src/../../outside.py"])
def test_a_file_outside_the_root_is_refused(session: Session, name: str) -> None:
    with pytest.raises(PathOutsideRoot, match="is outside the root"):
        ask(session, f"{name}:1")
    with pytest.raises(PathOutsideRoot, match="is outside the root"):
        ask(session, "publish", file=asked_of(name, session.root))


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "x" * 10_000, "(" * 500, ".*", "::", "#", ":", "\u202e", "a\0b"])
def test_a_hostile_name_is_looked_for_and_not_found(session: Session, name: str) -> None:
    status, sentence, _ = missed(session, name)
    assert status == "not_found"
    assert len(sentence) < 1_500
    assert "\x1b" not in sentence
    assert "\n" not in sentence


def test_a_place_that_no_file_can_have_is_refused(session: Session) -> None:
    for name in ("a\0b:3", os.fsdecode(b"ab\xffcd:3")):
        with pytest.raises(BadPathKey):
            ask(session, name)


def test_a_call_that_makes_no_sense_is_refused(session: Session) -> None:
    for name, how in (("", {}), (" ", {}), ("publish", {"limit": 0}), ("publish", {"limit": MAX_REFERENCES + 1})):
        with pytest.raises(UsageError):
            ask(session, name, **how)
    with pytest.raises(UsageError, match="Say one line"):
        ask(session, "src/lease.py:1-3")


def test_in_an_empty_repository_nothing_is_called_anything(tmp_path: Path) -> None:
    with opened(tmp_path, indexed(tmp_path, {})) as session:
        assert missed(session, "publish") == ("not_found", "Nothing is called publish.", [])


def test_without_an_index_there_is_neither_a_value_nor_a_miss(
    world: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    with opened(world[0], {"CAIRN_HOME": str(tmp_path), "HOME": str(tmp_path)}) as session:
        reply = ask(session, "publish")
    assert (reply.value, reply.miss) == (None, None)
    assert references_answer(reply).status is Status.NOT_INDEXED


def test_the_languages_without_uses_are_those_whose_queries_find_none() -> None:
    assert [name for name in PINS if not has_uses(name)] == ["html", "json", "markdown", "toml", "yaml"]
    assert has_uses("a language nobody has")


# --- pages ------------------------------------------------------------------------------------------------------------


def test_pages_follow_each_other_and_a_token_fits_its_own_question_only(session: Session) -> None:
    seen, token = [], None
    for _ in range(3):
        reply = ask(session, "publish", limit=1, continuation=token)
        assert reply.value is not None
        seen += [(use.path, use.line) for use in reply.value.uses]
        page = dict(references_answer(reply).body)
        last, token = token, page.get("continuation")
    assert seen == [("src/app.py", 4), ("src/app.py", 5), ("src/app.py", 1)]
    assert token is None
    # The same definition by another name is the same question; another tier or definition is not.
    assert found(session, "src/lease.py:6", continuation=last).offset == 2
    for name, how in (("publish", {"min_tier": Tier.PROVEN}), ("Lease.steal", {})):
        with pytest.raises(BadContinuation, match="another query"):
            ask(session, name, continuation=last, **how)


def test_what_is_built_for_a_snapshot_is_built_once(session: Session) -> None:
    graph = session.kept(Graph)
    found(session, "publish")
    assert session.kept(Graph) is graph
