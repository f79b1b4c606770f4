"""`cairn upgrade-store` as a person meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from tests.conformance import conforms
from tests.schemas import check
from tests.store.raising import SNAPSHOT, raised
from tests.support.commands import Person, Typed

MANUAL = Path(__file__).parent.parent.parent / "docs" / "manual"


@pytest.fixture
def me(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    person = Person(tmp_path)
    monkeypatch.chdir(person.tree)
    monkeypatch.setenv("CAIRN_HOME", str(person.home))
    return person


def ask(*arguments: str) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    return Typed(main(arguments, Output(out, err)), out.getvalue(), err.getvalue())


@conforms("003.UPG0")
def test_there_is_an_explicit_command_in_help_and_manual(me: Person) -> None:
    assert "upgrade-store" in me.cairn("--help").stdout
    shown = me.cairn("upgrade-store", "--help")
    assert (shown.status, shown.stderr) == (0, "")
    assert "cairn upgrade-store" in shown.stdout
    page = (MANUAL / "upgrade.md").read_text("utf-8")
    assert "## `cairn upgrade-store`" in page
    assert "requires_reindex" in page
    assert "(upgrade.md)" in (MANUAL / "index.md").read_text("utf-8")


@conforms("003.UPG0")
def test_an_index_of_today_has_nothing_to_upgrade(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("upgrade-store")
    assert (found.status, found.stderr) == (0, "")
    assert found.stdout == "There is nothing to upgrade: the index has the format of this version.\n"
    answer = json.loads(me.cairn("upgrade-store", "--json").stdout)
    check(answer, "cairn.upgrade/1")
    assert (answer["published"], answer["raised"], answer["coverage"]["indexed"]) == (False, [], 3)


def test_what_was_older_is_named_with_both_versions(me: Person) -> None:
    me.cairn("index")
    with raised(*SNAPSHOT):
        said = ask("upgrade-store")
        assert said.status == 0
        assert said.stdout.startswith("Upgraded 3 files (3 chunks) in ")
        assert said.stdout.endswith(": manifest 1 to 2, chunk row schema 1 to 2, data file of a segment 1 to 2.\n")
    with raised(*SNAPSHOT, written=3):
        answer = json.loads(ask("upgrade-store", "--json").stdout)
        check(answer, "cairn.upgrade/1")
        assert (answer["published"], answer["segments"], answer["snapshot"]["generation"]) == (True, 1, 3)
        assert answer["raised"][0] == {"artifact": "manifest", "from": 2, "to": 3}


def test_where_nothing_is_indexed_the_exit_status_says_so(me: Person) -> None:
    assert me.cairn("upgrade-store").status == 10
    assert not (me.home / "data").exists()
