"""The scan finds what a plain loop over lines finds, in any number of segments, and nothing of what is hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.engine import scan
from cairn.engine.scan import Texts, Wanted
from cairn.search.pattern import Case, compiled
from tests.conformance import conforms
from tests.search.trees import texts_of
from tests.support.faults import Faults

Spans = list[tuple[str, int, int, int]]

_ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "aab",
        "é",
        " ",
        "_",
        r"\(",
        ".",
        r"\w",
        r"\W",
        r"\s",
        "[^a]",
        "[ab]",
        "[^é ]",
        "(?:a|ab)",
        "(?:ab|é)",
    ]
)
_EDGES = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\z", ""])
_COUNTS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,2}"])
_PIECES = st.tuples(_EDGES, _ATOMS, _COUNTS).map("".join)
_PATTERNS = st.lists(st.lists(_PIECES, max_size=4).map("".join), min_size=1, max_size=2).map("|".join).filter(bool)
_TEXTS = st.text("aab _é(A\n\n\r", max_size=40).map(str.encode)
_TREES = st.dictionaries(
    st.sampled_from([f"{folder}{name}" for folder in ("", "d/", "e/f/") for name in "pqr"]), _TEXTS, max_size=6
)


def line_spans(line: str, regexp: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at, behind = 0, -1
    while at <= len(line) and (match := regexp.search(line, at)):
        if match.end() > match.start():
            yield match.span()
            at = behind = match.end()
        else:
            if match.start() != behind:
                yield match.span()
            at = match.start() + 1


def model(tree: dict[str, bytes], pattern: str, flags: int) -> Spans:
    """Path, line, start and end (bytes in the line) of each match, found the slow way."""
    regexp = re.compile(pattern.replace(r"\z", r"\Z"), flags | re.ASCII)
    found = []
    for path in sorted(tree):
        lines = tree[path].decode().split("\n")
        for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
            for start, end in line_spans(line, regexp):
                found.append((path, number, len(line[:start].encode()), len(line[:end].encode())))
    return found


def scanned(texts: Texts, wanted: Wanted) -> Spans:
    """The same from the scan, whose two ways of counting must agree."""
    tally = texts.tally(wanted, np.ones(len(texts), np.bool_), lambda done: None)
    found = []
    for place, path in enumerate(texts.paths):
        lines = list(texts.lines(wanted, place))
        assert tally.lines[place] == len(lines)
        assert tally.matches[place] == sum(len(line.spans) for line in lines)
        for line in lines:
            found += [(path, line.number, start - line.start, end - line.start) for start, end in line.spans]
    return found


@settings(max_examples=100)
@given(_TREES, _PATTERNS, st.sampled_from([1, 3, 8]), st.booleans())
def test_a_scan_finds_what_a_loop_over_lines_finds(
    tree: dict[str, bytes], pattern: str, layers: int, any_case: bool
) -> None:
    wanted = compiled(pattern, regex=True, case=Case.INSENSITIVE if any_case else Case.SENSITIVE)
    with texts_of(tree, layers, b"aab ab\n\nA(b)\xc3\xa9") as texts:
        assert scanned(texts, wanted) == model(tree, pattern, re.IGNORECASE if any_case else 0)


@pytest.mark.parametrize("literal", ["a", "ab", "aa", "aba", "é", " ", "A"])
@pytest.mark.parametrize("word", [False, True])
def test_what_stands_nearly_everywhere_is_counted_as_what_is_rare(literal: str, word: bool, faults: Faults) -> None:
    tree = {"a": b"ab aab aaaa\nababa aba \xc3\xa9 A" * 3, "b": b"", "c": b"aa\n", "d": b"a", "e": b"aa a ababa aaa\n"}
    wanted = compiled(literal, case=Case.SENSITIVE, word=word)
    faults.limit(scan, SCAN_STEP_BYTES=1)
    with texts_of(tree, 3, b"a ab aa") as texts:
        rare = texts.tally(wanted, np.ones(len(texts), np.bool_), lambda done: None)
        faults.limit(scan, _MANY=-1, _DENSE=-1)
        dense = texts.tally(wanted, np.ones(len(texts), np.bool_), lambda done: None)
    assert rare.matches.sum() > 0 or (word and literal in ("aba", "A", " ", "é"))
    assert [list(each) for each in rare] == [list(each) for each in dense]


@pytest.mark.parametrize(
    "pattern", [r"\ba\b", r"\bab_a\b", r"\bB\b", r"\bA\b", r"\bask\b", r"\bkin\b", r"\ba2\b", r"\bzz\b"]
)
@pytest.mark.parametrize("any_case", [False, True])
def test_a_word_that_stands_nearly_everywhere_is_counted_in_any_case(
    pattern: str, any_case: bool, faults: Faults
) -> None:
    text = "a A ab AB aB_A ab_a _a a2 A2 b\nB bA a\n\xe9a aSk a\u017fK \u212ain Kin A R\x12 a".encode()
    wanted = compiled(pattern, regex=True, case=Case.INSENSITIVE if any_case else Case.SENSITIVE)
    faults.limit(scan, SCAN_STEP_BYTES=1, _DENSE=-1)
    with texts_of({"p": text, "q": text, "r": text + b"\n"}, 2, text) as texts:
        every = np.ones(len(texts), np.bool_)
        plain = texts.tally(Wanted(wanted.regexp), every, lambda done: None)
        assert [list(each) for each in texts.tally(wanted, every, lambda done: None)] == [list(each) for each in plain]
        assert plain.matches.sum() > 0 or pattern == r"\bzz\b" or (not any_case and pattern in (r"\bask\b", r"\bkin\b"))


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:lock|mutex)_(?:take|drop)", "(get|set)x(a|b)", "(?:loc|as)k_(?:sink|kin)", "(?:a|b)r(?:k|s)_",
        "(?:as|ak)_(?:s|k)", "(a|b)(c|d)", "(lock)_(take|drop)", "(?:a|b)_(?:Take|drop)", "(?:lock|as)_t",
    ],
)  # fmt: skip
@pytest.mark.parametrize("any_case", [False, True])
@pytest.mark.parametrize("hints", [0, 1_000])
def test_neighbours_that_a_match_needs_change_nothing_but_the_time(
    pattern: str, any_case: bool, hints: int, faults: Faults
) -> None:
    words = (
        "lock_take mutex_drop LOCK_DROP getxa setXb lock_sink loc\u212a_kin ask_\u017fink ark_ bRs_ a\u017f_k A\u212a_s"
    )
    text = "\n".join([words, *words.split(), "ac bd a_Take a_take as_t lock_x _take", ""]).encode()
    tree = {"a": text, "b": b"", "c": b"_", "d": b"k_", "e": text + b"lock_take"}
    faults.limit(scan, _TOO_MANY_HINTS=hints)
    with texts_of(tree, 2, text) as texts:
        wanted = compiled(pattern, regex=True, case=Case.INSENSITIVE if any_case else Case.SENSITIVE)
        every = np.ones(len(texts), np.bool_)
        plain = texts.tally(Wanted(wanted.regexp), every, lambda done: None)
        assert [list(each) for each in texts.tally(wanted, every, lambda done: None)] == [list(each) for each in plain]
        assert plain.matches.sum() > 0 or not any_case


@pytest.mark.parametrize(
    "pattern", [r"\w+Error", r"x.*Error\b", "^ *Error", "(?:a|b)Error$", r"\s*Errors?|x", "a?Error"]
)
@pytest.mark.parametrize("hints", [0, 1, 1_000])
def test_bytes_that_a_match_needs_change_nothing_but_the_time(pattern: str, hints: int, faults: Faults) -> None:
    tree = {"a.py": b"x = Error\nKeyError x Error\n", "b.py": b"nothing\n", "c.py": b"  Error\naError\nErrors\nx" * 3}
    faults.limit(scan, _TOO_MANY_HINTS=hints)
    with texts_of(tree, 2, b"Error aError") as texts:
        assert scanned(texts, compiled(pattern, regex=True, case=Case.SENSITIVE)) == model(tree, pattern, 0)


@conforms("003.TMB5")
def test_a_deleted_file_has_no_match_while_its_text_still_lies_in_a_segment() -> None:
    tree = {"kept.txt": b"nothing here\n", "replaced.txt": b"new\n"}
    for wanted in (
        compiled("ghost"),
        compiled(r"gh\w+t", regex=True),
        compiled(r"(?s)g.*t", regex=True, multiline=True),
    ):
        with texts_of(tree, 4, b"ghost\n") as texts:
            assert any(b"ghost" in bytes(text) for text in texts._text)
            assert scanned(texts, wanted) == []


def test_a_match_goes_over_line_ends_only_when_asked_and_never_over_the_border_of_a_file() -> None:
    tree = {"a": b"one\ntwo\n", "b": b"\none", "c": b"two"}
    with texts_of(tree) as texts:
        across = compiled(r"one\s+two", regex=True, multiline=True)
        assert scanned(texts, across) == [("a", 1, 0, 7)]
        assert scanned(texts, compiled(r"one\s+two", regex=True)) == []
        assert scanned(texts, compiled(r"\Aone", regex=True, multiline=True)) == [("a", 1, 0, 3)]
        assert scanned(texts, compiled(r"one\z", regex=True, multiline=True)) == [("b", 2, 0, 3)]


def test_an_empty_line_is_a_line_and_the_end_of_a_file_is_none() -> None:
    tree = {"empty": b"", "newline": b"\n", "ended": b"a\n", "open": b"a", "blank": b"a\n\n"}
    with texts_of(tree, 3) as texts:
        assert scanned(texts, compiled("^$", regex=True)) == [("blank", 2, 0, 0), ("newline", 1, 0, 0)]
        assert len(scanned(texts, compiled("$", regex=True))) == 5


def test_only_the_chosen_files_are_searched_and_each_step_is_announced() -> None:
    with texts_of({"a": b"x", "b": b"x", "c": b"x"}, 2) as texts:
        seen: list[int] = []
        tally = texts.tally(compiled("x"), np.array([True, False, True]), seen.append)
        assert tally.matches.tolist() == [1, 0, 1]
        assert seen == [0, 1]
        assert (len(texts), texts.sizes.tolist(), bytes(texts.text(2))) == (3, [1, 1, 1], b"x")
