"""Exact search: whole counts, lines that can be shown, and one sentence for what cannot be searched for."""

from __future__ import annotations

import re

import pytest

from cairn.engine.scan import Texts
from cairn.errors import InvalidPattern, QueryTimeout
from cairn.search.exact import exact
from cairn.search.pattern import Case, compiled
from cairn.search.types import ExactFound
from tests.conformance import conforms
from tests.search.trees import texts_of
from tests.support.clock import ManualClock

TREE = {
    "b.py": b"import os\nImport = import_module\n",
    "a/c.py": b"x = 1\n\nimport sys\n",
    "a/long.txt": b"\xc3\xa9" * 3_000 + b"import" + b"y" * 3_000 + b"import\n",
    "z.rs": "größe()\r\nimport größe; import\r\n".encode(),
}


def places(found: ExactFound) -> list[tuple[str, int, int, int]]:
    return [(line.path, line.line, line.column, line.matches) for file in found.files for line in file.lines]


def test_lines_come_by_file_in_order_of_the_paths_with_whole_counts() -> None:
    with texts_of(TREE, 3, b"import ghost\n") as texts:
        found = exact(texts, compiled("import", case=Case.SENSITIVE))
    assert places(found) == [
        ("a/c.py", 3, 0, 1),
        ("a/long.txt", 1, 6_000, 2),
        ("b.py", 1, 0, 1),
        ("b.py", 2, 9, 1),
        ("z.rs", 2, 0, 2),
    ]
    assert (found.matches, found.matching_lines, found.matching_files, found.more) == (7, 5, 4, False)
    assert [(file.path, file.matches, file.matching_lines) for file in found.files][1:3] == [
        ("a/long.txt", 2, 1),
        ("b.py", 2, 2),
    ]
    assert found.coverage.exhaustive
    assert (found.coverage.files, found.coverage.bytes) == (4, sum(map(len, TREE.values())))


def test_with_lines_per_file_pages_count_files_and_totals_stay_whole() -> None:
    with texts_of(TREE, 2) as texts:
        wanted = compiled("import")
        pages = [exact(texts, wanted, limit=3, offset=offset, lines_per_file=1) for offset in (0, 3)]
    assert [[file.path for file in page.files] for page in pages] == [["a/c.py", "a/long.txt", "b.py"], ["z.rs"]]
    assert [len(file.lines) for page in pages for file in page.files] == [1, 1, 1, 1]
    assert {(page.matches, page.matching_lines, page.matching_files) for page in pages} == {(8, 5, 4)}
    assert [page.more for page in pages] == [True, False]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 100])
def test_pages_of_any_size_put_together_are_the_whole(limit: int) -> None:
    with texts_of(TREE, 2) as texts:
        wanted = compiled("import")
        whole = exact(texts, wanted)
        assert not whole.more
        pages = [exact(texts, wanted, limit=limit, offset=offset) for offset in range(0, 5, max(1, limit))]
    assert [place for page in pages for place in places(page)] == (places(whole) if limit else [])
    assert {(page.matches, page.matching_lines) for page in pages} == {(8, 5)}
    assert [page.more for page in pages] == [page.offset + limit < 5 for page in pages]


def test_a_long_line_is_shown_around_its_first_match_and_marks_are_characters() -> None:
    with texts_of(TREE) as texts:
        long, last = (
            line
            for file in exact(texts, compiled("import|größe", regex=True)).files
            for line in file.lines
            if file.path in ("a/long.txt", "z.rs") and line.matches > 1
        )
    assert len(long.text) == 500
    assert [long.text[start:end] for start, end in long.marks] == ["import"]
    assert long.text.startswith("é")
    assert [last.text[start:end] for start, end in last.marks] == ["import", "größe", "import"]
    assert (last.column, last.end_column, last.line, last.end_line) == (0, 6, 2, 2)


def test_a_match_over_several_lines_says_where_it_ends() -> None:
    with texts_of({"a": "é = (\n  1,\n)\n".encode()}) as texts:
        (file,) = exact(texts, compiled(r"\([^)]*\)", regex=True, multiline=True)).files
    (line,) = file.lines
    assert (line.line, line.column, line.end_line, line.end_column, line.text) == (1, 5, 3, 1, "é = (")
    assert [line.text[start:end] for start, end in line.marks] == ["("]


def test_only_the_files_that_were_asked_for_are_searched() -> None:
    with texts_of(TREE) as texts:
        found = exact(
            texts, compiled("import"), within=lambda path, language: path.endswith(".py") and language == "text"
        )
    assert {file.path for file in found.files} == {"a/c.py", "b.py"}
    assert found.coverage.files == 2


@pytest.mark.parametrize(
    ("pattern", "regex", "case", "word", "matches"),
    [
        ("import", False, Case.SMART, False, 8),
        ("Import", False, Case.SMART, False, 1),
        ("import", False, Case.SENSITIVE, False, 7),
        ("IMPORT", False, Case.INSENSITIVE, False, 8),
        ("import", False, Case.SENSITIVE, True, 4),
        ("import", True, Case.SENSITIVE, True, 4),
        (r"\bimport\b", True, Case.SENSITIVE, False, 4),
        (r"\Simport", True, Case.SMART, False, 2),
        (r"[[:upper:]]mport", True, Case.SMART, False, 8),
        (r"(?P<Name>import)\x{4F}?", True, Case.SMART, False, 8),
        (r"\QImport\E", True, Case.SMART, False, 1),
        ("= ", False, Case.SMART, True, 0),
        ("()", False, Case.SMART, True, 0),
        (")", False, Case.SMART, True, 1),
        ("größe", False, Case.SMART, False, 2),
        (r"(?-m)^import", True, Case.SENSITIVE, False, 3),
        (r"(?i-m:^)import", True, Case.SENSITIVE, False, 3),
        (r"(?-ms:^)import$", True, Case.SENSITIVE, False, 0),
        (r"[^\n]mport\b", True, Case.SENSITIVE, False, 6),
    ],
)
def test_case_and_words_are_what_was_asked_for(pattern: str, regex: bool, case: Case, word: bool, matches: int) -> None:
    with texts_of(TREE) as texts:
        assert exact(texts, compiled(pattern, regex=regex, case=case, word=word)).matches == matches


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "it is empty"),
        ("a(b", "missing ) at position 2"),
        ("a)b(c", "unexpected ) at position 2"),
        ("[a](b[c", "missing ] at position 6, in `[c`"),
        ("a**b", "bad repetition operator at position 2"),
        ("(a)*(*b)", "at position 6, in `*`"),
        ("x{1001}", "invalid repetition size at position 2"),
        (r"a\q", r"invalid escape sequence at position 2, in `\q`"),
        ("a(?=b)", "look-ahead, at position 2, is not supported"),
        ("(?<!a)b", "look-behind, at position 1, is not supported"),
        (r"(a)\1", "a back-reference, at position 4, is not supported"),
        (r"(?P<n>a)(?P=n)", "not supported"),
        (r"a\Cb", r"\C at position 2 is not supported"),
        (r"a\nb", "a line end at position 2"),
        ("a\nb", "a line end at position 2"),
        ("ab\udcff", "it is not UTF-8 at position 3"),
        ("a" * 100_000, "it has 100,000 bytes"),
        (r"(\pL{30}){30}" * 900, "too large"),
        (r"\p{" + "x" * 100 + "}", "…"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_what_is_wrong_and_where(pattern: str, said: str) -> None:
    with pytest.raises(InvalidPattern) as caught:
        compiled(pattern, regex=True)
    assert said in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+b", r"(?:a?){500}a{500}", r"(.*)*x", "a.*a.*a.*b"])
def test_a_pattern_that_would_take_for_ever_elsewhere_takes_seconds_at_most(pattern: str) -> None:
    with texts_of({"a.txt": b"a" * 200_000 + b"!\n"}) as texts:
        assert exact(texts, compiled(pattern, regex=True), seconds=30).matching_files in (0, 1)


def test_a_search_that_takes_too_long_is_an_error_and_no_part_of_an_answer() -> None:
    clock = ManualClock()

    def slow(texts: Texts) -> None:
        exact(texts, compiled("x"), seconds=2, clock=clock, within=lambda path, language: not clock.advance(1.5))

    with texts_of({"a": b"x", "b": b"x"}) as texts, pytest.raises(QueryTimeout) as caught:
        slow(texts)
    assert re.search("after 2 seconds, when 0 of 2 files", caught.value.sentence)
    assert caught.value.exit_status == 14


@conforms("003.TMB5")
def test_a_deleted_file_gives_no_line_while_its_text_lies_in_old_segments() -> None:
    with texts_of({"kept": b"x\n"}, 8, b"secret\n") as texts:
        found = exact(texts, compiled("secret"))
    assert (found.files, found.matches, found.coverage.files) == ((), 0, 1)


def test_a_snapshot_without_files_has_no_match() -> None:
    with texts_of({"a": b"x"}, 1) as texts:
        assert exact(texts, compiled("x"), within=lambda path, language: False).matches == 0
