"""A text becomes counted word pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.embedding.pieces import WordPieces, words

VOCABULARY = ["[PAD]", "parse", "http", "server", "##r", "##ser", "url", "s", "2", "##4", "öß", "pars", "変"]
WORDS = WordPieces(VOCABULARY)


def counted(*texts: bytes) -> list[dict[str, int]]:
    """How often each piece stands in each text."""
    found: list[dict[str, int]] = [{} for _ in texts]
    for row, piece, count in zip(*WORDS.count(texts), strict=True):
        found[row][VOCABULARY[piece]] = int(count)
    return found


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("HTTPServer", {"http": 1, "server": 1}),
        ("httpServer HTTP_server", {"http": 2, "server": 2}),
        ("parseURL24", {"parse": 1, "url": 1, "2": 1, "##4": 1}),
        ("Parser parseser", {"parse": 2, "##r": 1, "##ser": 1}),
        ("parsser", {"pars": 1, "##ser": 1}),
        ("URLs", {"##r": 1}),
        ("GRÖSSE Größe—größe", {"##r": 3, "s": 1, "öß": 2}),
        ("変数", {"変": 1}),
        ("[PAD] ??? zzz", {}),
        ("", {}),
    ],
)
def test_words_are_cut_at_case_digits_and_marks_and_then_into_the_longest_pieces(text: str, pieces: dict) -> None:
    assert counted(text.encode()) == [pieces]


def test_only_the_start_of_an_endless_word_counts() -> None:
    assert counted(b"parse" + b"r" * 1_000) == [{"parse": 1, "##r": 35}]


def test_bytes_that_are_not_utf_8_part_words() -> None:
    assert counted(b"parse\xffurl \xc3server\xe2\x82") == [{"parse": 1, "url": 1, "server": 1}]


@given(st.lists(st.text("pars HTUe_24öß変\n", max_size=12).map(str.encode) | st.binary(max_size=8), max_size=6))
def test_what_else_is_in_the_batch_does_not_matter(texts: list[bytes]) -> None:
    assert counted(*texts) == [counted(text)[0] for text in texts]


def test_a_vocabulary_of_the_words_of_a_text_leaves_none_of_it_out() -> None:
    text = "HTTPServer2 parse_URLs größe—変数 " + "x" * 50
    known = list(dict.fromkeys(words(text.encode())))
    assert known == ["http", "server", "2", "parse", "ur", "ls", "gr", "öß", "e", "変数", "x" * 40]
    assert WordPieces(known).count([text.encode()]).pieces.tolist() == list(range(len(known)))
