"""`cairn stores` as a person meets it, on real indexes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def answer_of(me: Person, *arguments: str) -> dict[str, Any]:
    found = me.cairn("stores", "--json", *arguments)
    assert (found.status, found.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(found.stdout)
    check(answer, "cairn.stores/1")
    return answer


def test_without_any_index_there_is_a_sentence_and_no_home_is_made(me: Person) -> None:
    found = me.cairn("stores")
    assert (found.status, found.stdout, found.stderr) == (0, f"There are no indexes in {me.home}.\n", "")
    assert answer_of(me)["results"] == []
    assert me.cairn("stores", "--purge", "--yes").stdout == f"Removed 0 stores from {me.home}: 0 bytes.\n"
    assert not me.home.exists()


@conforms("003.SL1")
def test_every_index_is_listed_and_the_one_of_this_folder_is_marked(me: Person, tmp_path: Path) -> None:
    me.cairn("index")
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.py").write_text("b = 2\n")
    me.cairn("index", "--root", str(other))
    lines = me.cairn("stores").stdout.splitlines()
    assert [line[0] for line in lines] == [" ", "*"]
    assert lines[0].endswith(f"  {other}")
    assert lines[1].endswith(f"  {me.tree}")
    assert " kB  used 20" in lines[1]
    answer = answer_of(me)
    assert [(row["root"], row["current"], row["rootExists"]) for row in answer["results"]] == [
        (str(other), False, True),
        (str(me.tree), True, True),
    ]
    assert answer["totalBytes"] == sum(row["bytes"] for row in answer["results"]) > 0
    status = json.loads(me.cairn("status", "--json").stdout)
    assert answer["results"][1]["activeSnapshot"] == status["snapshot"]["id"]
    assert answer["results"][1]["bytes"] == status["store"]["bytes"]
    assert answer["results"][1]["indexFingerprint"] == status["fingerprints"]["index"]


def test_a_root_that_is_gone_is_named_with_what_to_do(me: Person, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.py").write_text("b = 2\n")
    me.cairn("index", "--root", str(other))
    (other / "b.py").unlink()
    other.rmdir()
    found = me.cairn("stores")
    assert found.stdout.endswith(f"{other} (no longer there)\n")
    assert "1 store belongs to a folder that is no longer there; `cairn gc --stores` removes" in found.stderr
    assert "gc --stores" in answer_of(me)["hints"]["next"]


def test_from_a_folder_whose_settings_are_broken_the_stores_are_listed_all_the_same(me: Person) -> None:
    me.cairn("index")
    (me.tree / ".cairn.toml").write_text("[[[")
    assert me.cairn("stores").status == 0
    assert answer_of(me, "--root", str(me.tree / "missing"))["codebaseRoot"] is None


def test_a_hostile_name_beside_the_stores_cannot_steer_the_terminal(me: Person) -> None:
    me.cairn("index")
    (me.home / "data" / "\x1b[2Jboo").mkdir()
    found = me.cairn("stores")
    assert "Not Cairn's, and left alone: \\x1b[2Jboo.\n" in found.stderr
    assert answer_of(me)["unknown"] == ["\\x1b[2Jboo"]


def test_trouble_with_a_store_is_told_below_it(me: Person) -> None:
    me.cairn("index")
    (store,) = (me.home / "data").iterdir()
    store.chmod(0o777)
    found = me.cairn("stores")
    assert found.status == 0
    assert "others may write in it" in found.stdout.splitlines()[1]
    assert answer_of(me)["results"][0]["trouble"]["code"] == "store_not_ours"
    store.chmod(0o700)


# --- purge ------------------------------------------------------------------------------------------------------------


@conforms("003.SL1")
def test_a_purge_removes_every_index_and_says_how_much_it_freed(me: Person) -> None:
    me.cairn("index")
    (me.home / "config.toml").write_text("")
    size = answer_of(me)["totalBytes"] + sum((me.home / name).stat().st_size for name in ("registry.db", "reserve"))
    dry = me.cairn("stores", "--purge", "--dry-run")
    assert dry.stdout.startswith(f"Would remove 1 store, registry.db, reserve from {me.home}: ")
    assert me.cairn("status").status == 0
    answer = answer_of(me, "--purge", "--yes")
    assert answer["purge"]["freedBytes"] == size
    assert answer["purge"]["dryRun"] is False
    assert [name.partition("/")[0] for name in answer["purge"]["removed"]] == ["data", "registry.db", "reserve"]
    assert os.listdir(me.home) == ["config.toml"]
    assert me.cairn("status").status == 10


def test_where_nobody_can_be_asked_a_purge_needs_yes(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("stores", "--purge")
    assert found.status == 2
    assert found.stderr.startswith("cairn: --purge removes every index; say --yes where nobody can be asked.\n")
    assert me.cairn("stores", "--purge", "--json").status == 2
    assert me.cairn("stores", "--yes").status == 2
    assert me.cairn("stores", "--dry-run").status == 2
    assert me.cairn("status").status == 0


@pytest.mark.parametrize(("typed", "there"), [("\n", True), ("y\n", False)])
def test_at_a_terminal_it_asks_first(me: Person, typed: str, there: bool) -> None:
    me.cairn("index")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        command = [sys.executable, "-m", "cairn", "stores", "--purge"]
        found = subprocess.run(
            command,
            cwd=me.tree,
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=me.environment,
        )
        asked = os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "Remove 1 store, registry.db, reserve from" in asked
    assert "[y/N]" in asked
    assert found.stdout.startswith("Nothing was removed." if there else "Removed 1 store")
    assert me.cairn("status").status == (0 if there else 10)


def test_what_stays_is_named(me: Person) -> None:
    me.cairn("index")
    (me.home / "data" / "notes").mkdir()
    found = me.cairn("stores", "--purge", "--yes")
    assert found.stdout.startswith("Removed 1 store")
    assert found.stderr == "Left: data/notes. It is not Cairn's.\n"
