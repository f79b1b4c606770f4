"""Small sentences that strangers found wrong: each command says what is so, and takes back what was printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Person
from tests.support.servers import HELLO, READY, Agent, Mcp


@pytest.fixture(scope="module")
def me(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("me"))
    (person.tree / "src" / "odd#name.py").write_text("def gamma():\n    return 1\n")
    (person.tree / "src" / "ta\tb.py").write_text("def delta():\n    return 1\n")
    person.commit()
    assert person.cairn("index").status == 0
    return person


def told(me: Person, *arguments: str) -> dict[str, Any]:
    done = me.cairn(*arguments, "--json")
    assert done.status == 0, done
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", ["src/odd#name.py#gamma", "src/odd%23name.py#gamma", "src/odd#name.py:1"])
def test_a_file_with_a_hash_in_its_name_is_named_like_any_other(me: Person, name: str) -> None:
    assert told(me, "refs", name)["definitions"][0]["symbol"] == "gamma"
    assert told(me, "symbol", name, "--exact")["results"][0]["path"] == "src/odd#name.py"


def test_a_name_that_was_printed_with_escapes_is_taken_back(me: Person) -> None:
    shown = me.cairn("search", "delta", "--mode", "symbol").stdout.split(":")[0]
    assert shown == "src/ta\\x09b.py"
    assert told(me, "outline", shown)["file"]["path"] == "src/ta\tb.py"
    assert told(me, "read", f"{shown}:1-2")["text"] == "def delta():\n    return 1"
    for name in (f"{shown}:1", f"{shown}#delta"):
        assert told(me, "refs", name)["definitions"][0]["path"] == "src/ta\tb.py"
        assert told(me, "symbol", name, "--exact")["results"][0]["path"] == "src/ta\tb.py"


def test_nobody_counts_changes_where_nobody_looked(me: Person) -> None:
    assert told(me, "search", "delta", "--no-sync")["freshness"]["changedFiles"] is None
    assert told(me, "search", "delta")["freshness"]["changedFiles"] == 0


def test_an_index_of_what_is_indexed_says_that_it_did_not_look(me: Person) -> None:
    assert "were not compared" in told(me, "index")["warnings"][0]
    assert "were not compared" in me.cairn("index").stderr


def test_advice_names_what_is_wrong(me: Person) -> None:
    wrong = Person.__new__(Person)
    wrong.tree, wrong.environment = me.tree, {**me.environment, "CAIRN_HOME": "relative"}
    assert "Correct CAIRN_HOME" in wrong.cairn("status").stderr
    lost = me.cairn("search", "delta", "--root", "/nonexistent")
    assert (lost.status != 0, "quotes" in lost.stderr) == (True, False)


def test_a_changed_limit_of_the_user_is_no_invalid_proof(me: Person, tmp_path: Path) -> None:
    other = Person(tmp_path)
    other.commit()
    assert other.cairn("index").status == 0
    (other.home / "config.toml").write_text("[limits]\nmax_file_bytes = 900_000\n")
    made = other.cairn("index")
    assert (made.status, made.stderr) == (0, "")


def test_a_home_is_indexed_with_a_word_about_it(me: Person, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    mine = Person.__new__(Person)
    mine.tree = tmp_path
    mine.environment = {**me.environment, "HOME": str(tmp_path), "CAIRN_HOME": str(tmp_path / ".cairn")}
    assert "is a home folder, and all of it is indexed" in mine.cairn("index").stderr


def test_roles_add_up_to_the_uses(me: Person, tmp_path: Path) -> None:
    other = Person(tmp_path)
    (other.tree / "a.py").write_text("def alpha(x):\n    return x\n")
    (other.tree / "b.py").write_text("from a import alpha\n\nuse = alpha\nprint(alpha(1), alpha(2))\n")
    counted = other.cairn("refs", "alpha").stderr.splitlines()[-1]
    assert counted == "3 uses (3 proven, 0 likely), 1 import. By role: 2 call, 1 value."


def test_a_pointer_that_is_garbage_is_told_as_such(me: Person, tmp_path: Path) -> None:
    other = Person(tmp_path)
    assert other.cairn("index").status == 0
    [pointer] = other.home.glob("data/*/ACTIVE_SNAPSHOT")
    pointer.write_bytes(b"garbage")
    found = other.cairn("search", "Lease", "--no-sync")
    assert ("pointer of the index is damaged" in found.stderr, "A newer snapshot" in found.stderr) == (True, False)


def test_a_server_says_that_its_folder_has_gone(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.index()
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        agent.tree.rename(tmp_path / "elsewhere")
        told = server.ask("find_symbol", name="Lease")
        assert told["error"]["code"] == "root_not_found"
        assert str(agent.tree) in told["error"]["message"]
    agent.close()
