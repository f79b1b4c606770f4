from __future__ import annotations

from pathlib import Path

import pytest

from bench import ctags, extraction
from cairn.core.limits import MAX_PARSE_BYTES


def tag(name: str, line: int, kind: str = "function") -> ctags.Tag:
    return ctags.Tag("a", name, kind, line)


def ours(name: str, line: int, last: int = 0, *, first: int = 0) -> extraction.Found:
    return extraction.Found(name, "function", line, first or line, last or line)


@pytest.mark.parametrize(
    ("theirs", "we_say"),
    [
        ("cmd_remove.command", "command"),
        ("Conn", "Plug.Conn"),
        ("GuzzleHttp\\Handler", "Handler"),
        ("operator ==", "operator=="),
        ("fmt::v12::format", "format"),
        ("~Mutex", "Mutex::~Mutex"),
        ("request=", "request"),
        ("secure", "secure?"),
        ("`a name`", "a name"),
    ],
)
def test_two_spellings_of_a_name_are_one(theirs: str, we_say: str) -> None:
    assert extraction.plain(theirs) == extraction.plain(we_say)


@pytest.mark.parametrize(
    ("one", "other"), [("operator=", "operator"), ("~Mutex", "Mutex"), ("<=", "<"), ("a.b", "a.c"), ("..", ".")]
)
def test_two_names_stay_two(one: str, other: str) -> None:
    assert extraction.plain(one) != extraction.plain(other)


def test_a_definition_is_found_on_its_line_or_a_neighbour() -> None:
    verdicts = extraction.compare(
        [tag("f", 5), tag("g", 5), tag("h", 5)], {"a": [ours("f", 5), ours("g", 6), ours("h", 7)]}
    )
    assert [found.name for found in verdicts.found] == ["f", "g"]
    assert [missed.name for missed in verdicts.missed] == ["h"]
    assert [extra.name for extra in verdicts.extra] == ["h"]


def test_a_decorated_definition_is_found_where_it_begins_or_where_its_name_stands() -> None:
    begins_at_4 = {"a": [ours("f", 9, 20, first=4)]}
    assert extraction.compare([tag("f", 4)], begins_at_4).found
    assert extraction.compare([tag("f", 9)], begins_at_4).found


def test_a_definition_that_holds_the_line_but_begins_elsewhere_is_moved() -> None:
    verdicts = extraction.compare([tag("f", 15)], {"a": [ours("f", 9, 20)]})
    assert (verdicts.found, [moved.name for moved in verdicts.moved]) == ([], ["f"])


def test_an_equation_below_its_signature_is_found() -> None:
    assert extraction.compare([tag("f", 15)], {"a": [ours("f", 9, 20)]}, clauses=True).found


def test_one_of_ours_stands_for_one_of_theirs() -> None:
    verdicts = extraction.compare([tag("f", 5), tag("f", 6)], {"a": [ours("f", 5)]})
    assert [found.line for found in verdicts.found] == [5]
    assert [missed.line for missed in verdicts.missed] == [6]


def test_neighbours_with_one_name_do_not_take_each_others_partner() -> None:
    # 5 could pair with 6, and then 6 would find nothing within reach.
    verdicts = extraction.compare([tag("f", 5), tag("f", 6)], {"a": [ours("f", 6), ours("f", 4)]})
    assert len(verdicts.found) == 2


def test_kinds_and_marks_on_one_line_are_one_definition() -> None:
    verdicts = extraction.compare([tag("size", 5, "accessor"), tag("size=", 5, "accessor")], {"a": [ours("size", 5)]})
    assert (len(verdicts.found), verdicts.missed) == (1, [])


def test_the_same_name_in_another_file_does_not_count() -> None:
    assert extraction.compare([tag("f", 5)], {"a": [], "b": [ours("f", 5)]}).missed


def test_we_look_at_the_files_of_the_language_that_the_walk_takes_in(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("skipped.py\n")
    (tmp_path / "a.py").write_text("@cached\ndef f():\n    pass\n")
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nX = 1\n")
    (tmp_path / "skipped.py").write_text("def g(): pass\n")
    (tmp_path / "b.go").write_text("package b\n")
    (tmp_path / "large.py").write_text("# " + "x" * MAX_PARSE_BYTES)
    harvest = extraction.our_definitions("python", str(tmp_path))
    assert harvest.by_path == {
        "a.py": [extraction.Found("f", "function", 2, 1, 3)],
        "tool": [extraction.Found("X", "constant", 2, 2, 2)],
    }
    assert harvest.too_large == 1


def test_without_ctags_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="apt-get install universal-ctags"):
        extraction.main([f"go={tmp_path}"])


@pytest.mark.skipif(not ctags.is_there(), reason=ctags.MISSING)
def test_the_report_says_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.go").write_text("package a\n\nfunc Serve() {}\n")
    assert extraction.main([f"go={tmp_path}", f"zig={tmp_path}"]) == 0
    report = capsys.readouterr().out
    assert "2 definitions by ctags: 2 found, 0 moved, 0 missed; recall 1.000 (at least 0.95: reached)" in report
    assert "zig: not supported by ctags" in report
