"""The vocabulary is made of the words that many repositories say, and can spell the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cairn.embedding.static import WordPieces
from training.dataset import arrays, counted
from training.records import Record, write
from training.vocabulary import WordCounts, choose, count, main, parts


def record(repository: str, code: str, text: str = "says nothing here") -> Record:
    return Record("doc", repository, "src/file.py", "name", text, code)


def counts_of(**words: tuple[int, int]) -> WordCounts:
    """Words with the number of records and repositories that hold them."""
    return WordCounts(
        Counter({word: n for word, (n, _) in words.items()}), Counter({word: n for word, (_, n) in words.items()})
    )


def test_words_are_counted_once_per_record_and_once_per_repository(tmp_path: Path) -> None:
    write(tmp_path, "a/one", [record("a/one", "parseURL parse_url"), record("a/one", "HTTPServer2")])
    write(tmp_path, "b/two", [record("b/two", "parse")])
    counts = count(tmp_path)
    assert (counts.records["parse"], counts.repositories["parse"]) == (2, 2)
    assert (counts.records["url"], counts.records["http"], counts.records["server"], counts.records["2"]) == (1,) * 4
    assert counts.records["file"] == 3, "the words of the path belong to the answer"


def test_a_word_of_many_repositories_comes_before_a_frequent_word_of_one() -> None:
    counts = counts_of(everywhere=(100, 9), local=(9_000, 3), twice=(50_000, 2))
    chosen = choose(counts, 200)
    assert chosen.index("everywhere") < chosen.index("local")
    assert chosen.index("local") < chosen.index("twice"), "two repositories do not make a word: a part, like any other"


def test_what_is_not_in_the_vocabulary_can_be_spelled_from_its_pieces() -> None:
    counts = counts_of(**{f"word{letter * 3}": (5, 1) for letter in "abcdefgh"}, parse=(5, 5))
    chosen = choose(counts, 400)
    pieces = WordPieces(chosen)
    assert [chosen[piece] for piece in pieces.pieces("parse")] == ["parse"]
    for word in ("wordaaa", "wordless", "q9z"):
        spelled = "".join(chosen[piece].removeprefix("##") for piece in pieces.pieces(word))
        assert spelled == word


def test_frequent_and_long_parts_come_first() -> None:
    found = parts({"serialize": 9, "serializer": 9, "zzqq": 1})
    assert "zz" not in found, "a part that spells next to nothing takes no row"
    assert found.index("serialize") < found.index("ser")
    assert found.index("##alize") < found.index("##al")


def test_the_table_is_filled_to_its_size_with_rows_that_no_text_can_ask_for() -> None:
    chosen = choose(counts_of(parse=(5, 5)), 1_000)
    assert len(chosen) == len(set(chosen)) == 1_000
    unused = {number for number, piece in enumerate(chosen) if piece.startswith("[")}
    assert len(unused) > 800
    assert not unused & set(WordPieces(chosen).pieces("[unused7] [PAD] parse"))


def test_the_same_records_give_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    write(tmp_path / "records", "a/one", [record("a/one", f"alpha{n} beta gamma delta") for n in range(30)])
    for name in ("first", "second"):
        main(["--records", str(tmp_path / "records"), "--out", str(tmp_path / name), "--least-repositories", "1"])
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert "32768 pieces" in capsys.readouterr().out


def test_training_sees_the_pieces_that_the_package_will_count(tmp_path: Path) -> None:
    vocabulary = ["[PAD]", "parse", "url", "##s", "name"]
    starts, pieces, counts = counted(WordPieces(vocabulary), ["parse parseURL", "", "urls"])
    assert starts.tolist() == [0, 2, 2, 4]
    assert pieces.tolist() == [1, 2, 2, 3]
    assert counts.tolist() == [2, 1, 1, 1]
    write(tmp_path, "a/one", [record("a/one", "parse", "One text"), record("a/one", "url", "one TEXT")])
    found = arrays(tmp_path, vocabulary)
    assert found["text_key"][0] == found["text_key"][1], "the same question: not each other's wrong answer"
    assert found["code_key"][0] != found["code_key"][1]
    assert found["code_pieces"].tolist() == [1, 2]
