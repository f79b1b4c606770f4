"""What people type first: a folder in the place of `--root`, a command with a slip in it, `version`, wrong options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.cli.nearby import nearest, slips
from cairn.cli.verbs import COMMANDS, GROUPS
from tests.support.commands import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Somebody whose tree has no index yet."""
    return Person(tmp_path)


def test_a_folder_stands_where_the_root_would(indexed: Person) -> None:
    assert f"{indexed.tree} is indexed." in indexed.cairn("status", ".").stdout
    assert indexed.cairn("files", "src").stdout == indexed.cairn("files").stdout
    assert indexed.cairn("status", "nowhere").status == 21
    both = indexed.cairn("status", ".", "--root", "src")
    assert (both.status, both.stdout) == (2, "")
    assert "Both . and `--root` name a folder" in both.stderr
    twice = indexed.cairn("status", "--root", ".", "--root", "src")
    assert "`--root` is given twice, and `cairn status` is about one folder." in twice.stderr


def test_a_map_of_a_folder_shows_that_folder_and_of_words_what_they_find(indexed: Person) -> None:
    whole, part = indexed.cairn("map", ".").stdout, indexed.cairn("map", "src").stdout
    assert "README.md" in whole
    assert "README.md" not in part
    assert "lease.py" in part
    assert "lease.py" in indexed.cairn("map", "src/lease.py").stdout
    # With --root the same word is a question.
    assert indexed.cairn("map", "src", "--root", ".").stdout != part


def test_a_folder_inside_a_repository_is_told_which_root_is_indexed(person: Person) -> None:
    told = person.cairn("index", "--root", "src")
    assert told.status == 0
    assert f"src lies in the repository {person.tree}, all of which is indexed." in told.stderr


def test_a_mistyped_command_indexes_nothing_and_names_the_one_that_was_meant(person: Person) -> None:
    for line in (["stauts"], ["indxe", "."], ["serch", "lease"], ["sync2"], ["stauts", "--full"], ["symbl", "--json"]):
        told = person.cairn(*line)
        meant = {"stauts": "status", "indxe": "index", "serch": "search", "sync2": "sync", "symbl": "symbol"}[line[0]]
        said = json.loads(told.stdout)["error"]["message"] if "--json" in line else told.stderr
        assert told.status == 2, told
        assert f"There is no command `{line[0]}`. Did you mean `cairn {meant}`?" in said
    assert not list(person.home.glob("data/*"))


def test_a_word_near_a_command_is_still_looked_for(indexed: Person) -> None:
    (indexed.tree / "src" / "lease.py").write_text("class Lease:\n    stats = 1\n    def steal(self):\n        pass\n")
    found = indexed.cairn("stats")
    assert (found.status, "lease.py" in found.stdout) == (0, True)
    assert indexed.cairn("stauts").status == 2


def test_what_is_wrong_with_an_option_is_said_with_the_one_that_was_meant(indexed: Person) -> None:
    assert "Did you mean `--json`?" in indexed.cairn("search", "lease", "--jsn").stderr
    for line in (["search", "lease", "-k", "0"], ["search", "(", "--mode", "regex"]):
        told = indexed.cairn(*line)
        assert told.status == 2
        assert "quote" not in told.stderr
        assert "literal" not in told.stderr


def test_the_version_and_the_help_of_a_command_have_words_of_their_own(indexed: Person) -> None:
    assert indexed.cairn("version").stdout == indexed.cairn("--version").stdout
    assert indexed.cairn("help", "status").stdout == indexed.cairn("status", "--help").stdout


def test_every_command_is_in_one_group_of_the_help() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(COMMANDS)


def test_no_command_is_within_a_slip_of_another_word_that_means_itself() -> None:
    assert slips("stauts", "status") == 1
    assert slips("ab", "abcde") > 2
    assert nearest("stauts", COMMANDS) == "status"
    assert nearest("publish", COMMANDS) is None
    assert nearest("the", COMMANDS) is None
    assert nearest("lst", COMMANDS) == "list"
