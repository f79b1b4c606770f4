"""Subjects become questions when they say what in the code has changed."""

from __future__ import annotations

import pytest

from cairn.evaluation.subjects import masked, names_its_file, question


@pytest.mark.parametrize(
    ("subject", "asks"),
    [
        ("Keep the lease while a snapshot is published", "Keep the lease while a snapshot is published"),
        ("fix(parser)!: refuse an empty pattern list", "refuse an empty pattern list"),
        ("[core] PROJ-12: Retry a timed out connection (#431)", "Retry a timed out connection"),
        (":bug: Do not lose the `last` line.", "Do not lose the last line"),
    ],
)
def test_what_is_around_the_words_is_taken_off(subject: str, asks: str) -> None:
    found = question(subject)
    assert found is not None
    assert found == asks


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "Fix it",
        "docs: say how the parser works",
        "chore(deps): take the newest parser there is",
        "Bump numpy from 1 to 2 everywhere",
        "Add tests for the parser of patterns",
        "Fix typos in the parser of patterns",
        "Prepare 1.2.3 of the parser package",
        "Make the parser accept a very long line and...",
        "Lassen wir den Parser größere Dateien lesen",
        "x" * 161,
        "Add a new and better one",
    ],
)
def test_what_does_not_say_so_is_no_question(subject: str) -> None:
    assert question(subject) is None


def test_words_of_the_right_files_name_are_taken_out() -> None:
    text = "Retry when parsing a query string fails with a ParserError"
    paths = ["src/query_parser.py"]
    assert names_its_file(text, paths)
    assert masked(text, paths) == "Retry when a string fails with a"
    assert not names_its_file(text, ["src/lease.py"])
    assert masked(text, ["src/lease.py"]) == text


def test_a_name_in_one_piece_is_known_too() -> None:
    assert (
        masked("open the filesystem watcher again later today", ["FileSystem.java"])
        == "open the watcher again later today"
    )


def test_too_little_left_is_no_question() -> None:
    assert masked("Query parser fails on strings", ["query_parser.py"]) is None
