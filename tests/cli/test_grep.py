"""`cairn grep` prints what ripgrep prints of the indexed files, and its exit status says whether that is all."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.schemas import check
from tests.support.commands import Person, Typed

FILES = {
    "a.txt": "foo bar\nbaz foo foo\nqux\n\nFoo end\nlast",
    "a/z.c": "x foo\r\nfoo$\n",
    "b/y.py": "no\n1\n2\n3\nfoo\n5\n6\n7\nfoo\n",
    "empty.md": "",
    "mark.txt": "\ufeffbegun here\n",
}
FOUND = "a/z.c:1:x foo\r\na/z.c:2:foo$\na.txt:1:foo bar\na.txt:2:baz foo foo\nb/y.py:5:foo\nb/y.py:9:foo\n"
LINES = [
    *("foo", "-c foo", "-c -o foo", "-l foo", "-o foo", "-v foo", "-c -v foo", "-v -l foo", "-A1 foo", "-B1 foo"),
    *("-C1 -m1 foo", "-m1 foo", r"-U 'bar\nbaz'", r"-U -c 'bar\nbaz'", r"-U -o 'bar\nbaz'", r"-U 'oo\s+'"),
    *(
        r"-U -c 'o+\s+'",
        r"-U -v 'bar\nbaz'",
        r"-U -A1 'bar\nbaz'",
        "-U '(?s)foo.*qux'",
        "-w 'fo.'",
        "'^'",
        "'$'",
        "'^$'",
    ),
    *("-F 'foo$'", "-A1 -o foo", "-A1 -v qux", "-c -U foo", "-i FOO", "-S foo", "-S Foo", "-m1 -A2 foo", "-l -0 foo"),
    *("-c -0 foo", "-0 foo", "foo a.txt", "foo a b", "-c foo a.txt", "-g '*.py' foo", "-g '!*.py' foo", "-o -v foo"),
    *("'^begun'", "-o '^begun'", "begun", "-o begun", "-A1 -o '^beg'"),
    *("'o*'", r"'(foo|bar) \w'", "'[[:upper:]]oo'", "nothing", "-i nothing"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Five files that are indexed, and none that is left out."""
    person = Person(tmp_path_factory.mktemp("desk"))
    for name in person.tree.iterdir():
        if name.name != ".git":
            shutil.rmtree(name) if name.is_dir() else name.unlink()
    for path, text in FILES.items():
        (person.tree / path).parent.mkdir(exist_ok=True)
        (person.tree / path).write_text(text, newline="")
    assert person.cairn("index").status == 0
    return person


def grep(person: Person, *arguments: str) -> Typed:
    return person.cairn("grep", *arguments)


def test_lines_are_printed_with_their_paths_in_the_order_of_folders(desk: Person) -> None:
    assert grep(desk, "foo") == Typed(0, FOUND, "")
    assert grep(desk, "-o", "^begun").stdout == "mark.txt:1:begun\n", "a byte order mark is no part of a line"
    assert grep(desk, "-C1", "-m1", "foo", "b").stdout == "b/y.py-4-3\nb/y.py:5:foo\nb/y.py-6-5\n"
    assert grep(desk, "-U", r"bar\nbaz").stdout == "a.txt:1:foo bar\na.txt:2:baz foo foo\n"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("line", LINES)
def test_lines_are_those_of_ripgrep(desk: Person, line: str) -> None:
    words = shlex.split(line)
    theirs = subprocess.run(
        ["rg", "--no-config", "--no-heading", "-n", "--sort", "path", *words],
        cwd=desk.tree,
        capture_output=True,
        check=False,
    )
    ours = grep(desk, *words)
    assert (ours.stdout.encode(), ours.status) == (theirs.stdout, theirs.returncode)


def test_one_is_a_proof_and_everything_else_that_finds_nothing_is_not(desk: Person) -> None:
    assert (grep(desk, "nowhere").status, grep(desk, "nowhere").stdout) == (1, "")
    assert grep(desk, "nowhere", "--no-sync").status == 2
    assert grep(desk, "(").status == 2
    assert grep(desk).status == 2
    assert grep(desk, "foo", "nowhere").status == 28
    (desk.tree / ".git" / "note").write_text("foo\n")
    unknown = grep(desk, "foo", ".git/note")
    assert unknown.status == 2
    assert "`cairn why` says why" in unknown.stderr
    assert grep(desk, "-q", "foo") == Typed(0, "", "")


def test_a_file_that_no_index_can_hold_makes_no_proof(desk: Person) -> None:
    latin = desk.tree / "latin.txt"
    latin.write_bytes(b"caf\xe9 foo\n")
    try:
        told = grep(desk, "nowhere")
        assert told.status == 2
        assert "not utf8" in told.stderr
    finally:
        latin.unlink()


def test_a_line_that_was_just_written_is_found(desk: Person) -> None:
    new = desk.tree / "b" / "new.py"
    new.write_text("zebra = 1\n")
    try:
        assert grep(desk, "zebra").stdout == "b/new.py:1:zebra = 1\n"
    finally:
        new.unlink()
    assert grep(desk, "zebra").status == 1


def test_programs_get_lines_of_json_with_an_end_and_editors_get_columns(desk: Person) -> None:
    *rows, end = map(json.loads, grep(desk, "foo", "a.txt", "--format", "jsonl").stdout.splitlines())
    assert rows[1] == {"path": "a.txt", "line": 2, "text": "baz foo foo", "matches": [[4, 7], [8, 11]]}
    assert (end.pop("end"), end["totals"], end["coverage"]["exhaustive"]) == (True, {"files": 1, "lines": 2}, True)
    whole = json.loads(grep(desk, "foo", "a.txt", "--json").stdout)
    check(whole, "cairn.grep/1")
    assert whole["results"] == rows
    near = json.loads(grep(desk, "-A1", "qux", "--json").stdout)
    check(near, "cairn.grep/1")
    assert [row.get("near") for row in near["results"]] == [None, True]
    assert grep(desk, "foo", "a.txt", "--format", "vimgrep").stdout.splitlines()[-1] == "2:9:baz foo foo"


def test_colours_are_where_they_are_wanted(desk: Person) -> None:
    always = grep(desk, "qux", "--color", "always").stdout
    assert "\x1b[31mqux\x1b[0m" in always
    assert grep(desk, "qux", "--color=never").stdout == "a.txt:3:qux\n"
    assert "\x1b[31m" in grep(desk, "(", "--color=always").stderr


def test_options_stand_anywhere_and_a_dash_needs_two(desk: Person) -> None:
    assert grep(desk, "foo", "-c", "a.txt").stdout == grep(desk, "-c", "foo", "--", "a.txt").stdout == "2\n"
    assert grep(desk, "--", "-foo").status == 1
    below: Path = desk.tree / "b"
    assert grep(desk, "foo", "--root", str(below)).stdout == "b/y.py:5:foo\nb/y.py:9:foo\n"
