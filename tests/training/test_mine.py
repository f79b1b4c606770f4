"""What people wrote about code is found beside the code, and nothing of an excluded repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.repos import commit, make_repo, run_git
from tests.support.trees import Content, Link
from training.commits import pairs_of_commit, subject_of
from training.decontaminate import line_keys, overlaps
from training.decontaminate import main as decontaminate
from training.mine import main
from training.pairs import pairs_of
from training.paths import is_mined
from training.records import Record, names_in, read, repositories, write
from training.texts import question

PYTHON = b'''"""Reads the settings of a project from its file."""

import json


def load(path):
    """Load the settings from a file.

    Args:
        path: where they are
    """
    with open(path) as file:
        data = json.load(file)

    # Older versions wrote the limit as text
    if isinstance(data["limit"], str):
        data["limit"] = int(data["limit"])
    return data


def test_load_refuses_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.json")
'''


def found(path: str, data: bytes) -> dict[str, list[Record]]:
    by_kind: dict[str, list[Record]] = {}
    for record in pairs_of("a/b", path, data):
        by_kind.setdefault(record.kind, []).append(record)
    return by_kind


def test_a_python_file_gives_each_kind_of_pair_and_no_answer_repeats_its_question() -> None:
    pairs = found("settings.py", PYTHON)
    assert [(kind, [record.text for record in pairs[kind]]) for kind in sorted(pairs)] == [
        ("doc", ["Load the settings from a file."]),
        ("inline", ["Older versions wrote the limit as text"]),
        ("module", ["Reads the settings of a project from its file."]),
        ("test", ["test_load_refuses_a_missing_file"]),
    ]
    assert pairs["doc"][0].name == "load"
    assert pairs["doc"][0].code.startswith("def load(path):\n    with open(path)")
    assert pairs["inline"][0].code.count("\n") == 2, "up to the end of its block"
    assert "import json" not in pairs["module"][0].code
    for records in pairs.values():
        assert all(record.text not in record.code for record in records)


def test_comments_above_definitions_are_docs_in_every_brace_language() -> None:
    code = b"""/// Sends every pending message to the server.
pub fn flush(queue: &mut Queue) -> usize {
    // Nothing to do while the connection is closed
    if queue.closed { return 0; }
    queue.drain().count()
}
"""
    pairs = found("queue.rs", code)
    assert [(record.name, record.text) for record in pairs["doc"]] == [
        ("flush", "Sends every pending message to the server.")
    ]
    assert pairs["inline"][0].text == "Nothing to do while the connection is closed"
    block = (
        b"/*\n * Opens the connection to the server.\n */\nint open_connection(const char *host) {\n  return 42;\n}\n"
    )
    assert found("net.c", block)["doc"][0].text == "Opens the connection to the server."


def test_a_told_test_and_a_section_are_pairs() -> None:
    told = (
        b'it("sends the headers twice", () => {\n  const sent = client.send(request);\n  expect(sent).toBe(2);\n});\n'
    )
    assert found("client.test.js", told)["test"][0].text == "sends the headers twice"
    page = (
        b"# Getting started\n\nInstall the package and run the command in a folder.\n\n## Second part\n\n"
        + b"word " * 20
    )
    assert [record.text for record in found("README.md", page)["heading"]] == ["Getting started", "Second part"]
    assert "Second part" not in found("README.md", page)["heading"][0].code


def test_files_that_are_no_code_we_know_give_nothing() -> None:
    assert not found("data.csv", b"# A comment that says something\n1,2,3\n")
    assert not found("broken.py", b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("Gives the answer.\n\nAnd more on it.", "Gives the answer. And more on it."),
        ("Gives the whole answer at once.\n\nAnd more on it.", "Gives the whole answer at once."),
        ("Reads {@link Foo} and `bar`.\n@param x the x", "Reads Foo and `bar`."),
        ("See https://example.org for :class:`~a.B` and <b>bold</b> ones", "See for a.B and bold ones"),
        ("Copyright 2020 The Authors of this file", ""),
        ("TODO: make this faster some day", ""),
        ("if (x == y) { return foo(bar); }", ""),
        ("short one", ""),
        ("", ""),
    ],
)
def test_a_question_is_the_first_paragraph_of_prose(comment: str, text: str) -> None:
    assert question(comment) == text


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("fix(parser): accept empty lines (#123)", "parser accept empty lines"),
        ("Accept empty lines in headers", "Accept empty lines in headers"),
        ("Merge branch main into other", ""),
        ("Fix a typo in the docs", ""),
        ("v1.2.3", ""),
    ],
)
def test_a_subject_says_what_and_where_or_is_left_out(subject: str, text: str) -> None:
    assert subject_of(subject) == text


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("src/parse.py", True),
        ("src/vendoring.py", True),
        ("src/tool/_vendor/copied/api.py", False),
        ("web/jquery.min.js", False),
        ("api/types.pb.go", False),
        ("CHANGELOG.md", False),
        ("news/reader.py", True),
    ],
)
def test_copies_and_generated_files_are_not_mined(path: str, own: bool) -> None:
    assert is_mined(path) is own


# --- whole repositories -----------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files: dict[str, Content] = {
        "settings.py": PYTHON,
        "_vendor/copy.py": PYTHON.replace(b"Load", b"Copy"),
        "link.py": Link("settings.py"),
        "blob.py": b"# A comment that says something\n\0",
    }
    folder = make_repo(tmp_path / "source")
    commit(folder, files, message="Add the reader of settings (#7)")
    return folder


def mined(folder: Path, out: Path, excluded: Sequence[str] = ()) -> int:
    listed = out.parent / "excluded.txt"
    listed.write_text("\n".join(["# asked about by a benchmark", *excluded]))
    return main(["--exclude", str(listed), "--out", str(out), "--jobs", "1", f"a/b={folder}"])


def test_a_repository_is_mined_from_its_files_and_its_history(repository: Path, tmp_path: Path) -> None:
    assert mined(repository, tmp_path / "out") == 0
    records = list(read(tmp_path / "out", "a/b"))
    assert {record.kind for record in records} == {"doc", "inline", "module", "test", "commit"}
    assert {record.path for record in records} == {"settings.py"}
    assert next(record.text for record in records if record.kind == "commit") == "Add the reader of settings"


def test_a_bare_copy_gives_the_same_bytes(repository: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(repository), "bare")
    assert mined(repository, tmp_path / "one") == mined(tmp_path / "bare", tmp_path / "two") == 0
    one, two = ((tmp_path / name / "a+b.jsonl.gz").read_bytes() for name in ("one", "two"))
    assert one == two


def test_an_excluded_repository_is_refused_whatever_its_case(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert mined(repository, tmp_path / "out", ["A/B"]) == 2
    assert not (tmp_path / "out").exists()
    assert "excluded, not mined: a/b" in capsys.readouterr().err


def test_a_commit_gives_at_most_two_hunks_and_none_when_it_touches_everything() -> None:
    hunk = "@@ -1,2 +1,5 @@ def f\n context\n+first added line\n+second added line\n+third added line\n-gone\n"
    file = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n"
    records = list(pairs_of_commit("a/b", "Make the reader faster", file + hunk * 3))
    assert [record.code for record in records] == ["context\nfirst added line\nsecond added line\nthird added line"] * 2
    assert not list(pairs_of_commit("a/b", "Make the reader faster", (file + hunk) * 9))
    licence = hunk.replace("first added line", "Copyright (C) 2020 Some Body")
    assert len(list(pairs_of_commit("a/b", "Make the reader faster", file + licence + hunk))) == 1


# --- held-out repositories --------------------------------------------------------------------------------------------

OWN = "first_line_of_something_long = 1\nsecond_line_of_something_long = 2\nthird_line_of_something_long = 3"


def test_code_overlaps_when_half_of_its_long_lines_are_known() -> None:
    known = set(line_keys(OWN))
    assert overlaps(OWN, known)
    assert overlaps(OWN.replace("=", " = ").replace("third", "other"), known), "blanks do not hide a copy"
    assert not overlaps(OWN.replace("third", "other").replace("second", "another"), known)
    assert not overlaps("return x\n}\n", set(line_keys("return x\n}\n"))), "short lines prove nothing"
    assert overlaps("first_line_of_something_long = 1", known)


def test_copies_of_held_out_and_evaluation_code_are_dropped_from_training(tmp_path: Path) -> None:
    def record(repository: str, code: str) -> Record:
        return Record("doc", repository, "x.py", "", "says something about it", code)

    fresh = OWN.replace("something", "nothing")
    asked = OWN.replace("something", "benchmark")
    write(tmp_path / "in", "a/train", [record("a/train", code) for code in (OWN, fresh, asked)])
    write(tmp_path / "in", "b/Held", [record("b/Held", OWN)])
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "x.py").write_text(asked)
    (tmp_path / "held.txt").write_text("b/held  # the case of a name does not matter\n")
    arguments = ["--records", tmp_path / "in", "--held-out", tmp_path / "held.txt", "--out", tmp_path / "out"]
    assert decontaminate([*map(str, arguments), "--evaluation", str(tmp_path / "checkout")]) == 0
    assert [record.code for record in read(tmp_path / "out" / "train", "a/train")] == [fresh]
    assert repositories(tmp_path / "out" / "train") == ["a/train"]
    assert repositories(tmp_path / "out" / "held-out") == ["b/Held"]
    assert names_in(tmp_path / "held.txt") == {"b/held"}
