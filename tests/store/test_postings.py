"""The postings of a segment say what a plain count of its terms says, and refuse to be read when they are damaged."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.tokens import terms
from cairn.errors import StoreCorrupt
from cairn.store.format import postings as module
from cairn.store.format.postings import FIELDS, Postings, PostingsBuilder, term_hash
from tests.support.faults import Faults

Row = tuple[str, Sequence[str], "str | bytes", "str | bytes"]

WORDS = st.sampled_from(
    [
        "getUserName",
        "get_user_name",
        "user",
        "users",
        "HTTPServer",
        "the",
        "-",
        "naïve",
        "日本語",
        "404",
        "x",
        "read-only",
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=30)
ROWS = st.lists(
    st.tuples(TEXTS, st.lists(WORDS, max_size=4), TEXTS | st.binary(max_size=20), TEXTS.map(lambda t: t.encode())),
    max_size=12,
)
SAMPLE: list[Row] = [
    (
        "src/http/server.py",
        ["HTTPServer", "serve_forever"],
        "# The server",
        b"class HTTPServer:\n    pass  # The server\n",
    ),
    ("src/naïve.py", [], b"", "größe = 日本語 + größe\n".encode()),
    ("empty", [], "", b""),
    ("src/http/client.py", ["HTTPClient"], b"\xff not text", b"class HTTPClient: get get get\n"),
]


def built(rows: Sequence[Row]) -> dict[str, memoryview]:
    builder = PostingsBuilder()
    for row in rows:
        builder.add(*row)
    assert builder.rows == len(rows)
    return {name: memoryview(data).cast("B") for name, data in builder.sections()}


def plain(row: Row) -> list[Counter[str]]:
    """What a row holds in each field, counted without any cleverness."""
    path, symbols, *texts = row
    strings = [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in texts]
    return [Counter(terms(text)) for text in (path, " ".join(symbols), *strings)]


def agrees(reader: Postings, rows: Sequence[Row]) -> None:
    counts = [plain(row) for row in rows]
    every = sorted({term for row in counts for field in row for term in field})
    assert reader.rows == len(rows)
    assert reader.terms == len(every)
    ids = reader.find([*every, "no such term"])
    assert ids.dtype == np.int64
    assert sorted(ids[:-1]) == list(range(len(every)))
    assert ids[-1] == -1
    for place, field in enumerate(FIELDS):
        assert reader.lengths(field).tolist() == [row[place].total() for row in counts]
        for term, term_id in zip(every, ids.tolist(), strict=False):
            found, tf = reader.postings(field, term_id)
            expected = {number: row[place][term] for number, row in enumerate(counts) if term in row[place]}
            assert dict(zip(found.tolist(), tf.tolist(), strict=True)) == expected
            assert found.tolist() == sorted(expected)
    assert all(reader.term(term_id) == term for term, term_id in zip(every, ids.tolist(), strict=False))
    assert list(reader.problems()) == []


@given(ROWS)
@settings(max_examples=150)
def test_the_postings_are_the_counts_of_the_terms(rows: list[Row]) -> None:
    agrees(Postings(built(rows)), rows)


@given(ROWS, st.integers(1, 3))
@settings(max_examples=80)
def test_terms_with_one_hash_are_told_apart_by_their_text(rows: list[Row], different: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "term_hash", lambda term: bytes([len(term) % different] * 8))
        module._remembered_hash.cache_clear()
        agrees(Postings(built(rows)), rows)
    module._remembered_hash.cache_clear()


@given(ROWS, st.integers(1, 6))
@settings(max_examples=80)
def test_how_many_words_are_counted_at_once_changes_no_byte(rows: list[Row], batch: int) -> None:
    whole = built(rows)
    with Faults.meanwhile() as faults:
        faults.limit(module, _BATCH_WORDS=batch)
        assert built(rows) == whole


def test_a_term_is_found_by_the_first_bytes_of_its_sha_256() -> None:
    assert term_hash("größe") == hashlib.sha256("größe".encode()).digest()[:8]
    sections = built(SAMPLE)
    hashes = np.frombuffer(sections["term.hash"], "<u8").tolist()
    assert hashes == sorted(hashes)
    assert int.from_bytes(hashlib.sha256(b"http").digest()[:8], "little") in hashes


def test_counts_and_lengths_stop_at_the_most_that_they_can_say() -> None:
    rows: list[Row] = [("p", [], "", b"word " * 255), ("p", [], "", b"word " * 256), ("p", [], "", b"word " * 70_000)]
    reader = Postings(built(rows))
    found, tf = reader.postings("body", int(reader.find(["word"])[0]))
    assert (found.tolist(), tf.tolist()) == ([0, 1, 2], [255, 255, 255])
    assert reader.lengths("body").tolist() == [255, 256, 65_535]
    assert list(reader.problems()) == []


@pytest.mark.parametrize(("narrow", "width"), [(2, 4), (3, 2)])
def test_rows_take_two_bytes_while_they_fit(faults: Faults, narrow: int, width: int) -> None:
    faults.limit(module, _MOST_NARROW_ROWS=narrow)
    rows: list[Row] = [("path", [], "", b"word")] * 3
    sections = built(rows)
    assert len(sections["body.row"]) == 3 * width
    agrees(Postings(sections), rows)


def test_the_last_narrow_row_can_be_told() -> None:
    assert module._row_type(1 << 16) == "<u2"
    assert module._row_type((1 << 16) + 1) == "<u4"
    assert np.iinfo(np.uint16).max == (1 << 16) - 1


def test_a_segment_without_rows_answers_every_question_with_nothing() -> None:
    reader = Postings(built([]))
    assert (reader.rows, reader.terms) == (0, 0)
    assert reader.find(["a", "b"]).tolist() == [-1, -1]
    assert reader.find([]).tolist() == []
    assert reader.lengths("body").tolist() == []
    assert list(reader.problems()) == []


def test_too_many_rows_or_terms_are_a_mistake(faults: Faults) -> None:
    faults.limit(module, MOST_ROWS=1)
    builder = PostingsBuilder()
    builder.add("one", [], "", b"")
    with pytest.raises(ValueError, match="so many rows"):
        builder.add("two", [], "", b"")
    faults.limit(module, MOST_TERMS=0)
    with pytest.raises(ValueError, match="so many terms"):
        builder.sections()


def test_several_terms_are_looked_up_at_once_as_one_by_one() -> None:
    reader = Postings(built(SAMPLE))
    for field in FIELDS:
        expected = [(term, *reader.postings(field, term)) for term in range(reader.terms)]
        held = [one for one in expected if len(one[1])]
        found = reader.several(field, range(reader.terms))
        assert held
        assert [(term, rows.tolist(), tf.tolist()) for term, rows, tf in found] == [
            (term, rows.tolist(), tf.tolist()) for term, rows, tf in held
        ]


def test_the_views_are_the_sections_themselves() -> None:
    sections = built(SAMPLE)
    reader = Postings(sections)
    rows, tf = reader.postings("body", int(reader.find(["class"])[0]))
    assert np.shares_memory(rows, np.frombuffer(sections["body.row"], np.uint8))
    assert np.shares_memory(tf, np.frombuffer(sections["body.tf"], np.uint8))


def test_the_hash_seed_of_python_changes_no_byte() -> None:
    code = (
        "from hashlib import sha256\nfrom tests.store.test_postings import SAMPLE, built\n"
        "found = built(SAMPLE * 20).items()\n"
        "print(sha256(b''.join(name.encode() + bytes(data) for name, data in found)).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64


# --- damage -----------------------------------------------------------------------------------------------------------


def changed(name: str, kind: str, place: int, value: int) -> dict[str, memoryview]:
    sections = built(SAMPLE)
    array = np.frombuffer(sections[name], kind).copy()
    array[place] = value
    return {**sections, name: memoryview(array.tobytes())}


def refusal(sections: Mapping[str, memoryview]) -> str:
    with pytest.raises(StoreCorrupt) as refused:
        Postings(sections)
    assert refused.value.fields["artifact"] == "postings"
    return str(refused.value.fields["why"])


@pytest.mark.parametrize("name", built([]))
def test_a_section_that_is_missing_or_of_another_size_is_refused(name: str) -> None:
    sections = built(SAMPLE)
    assert refusal({key: data for key, data in sections.items() if key != name}) == f"{name} is missing"
    for data in (sections[name][:-1], memoryview(bytes(sections[name]) + b"\0"), memoryview(b"")):
        assert refusal({**sections, name: data})


@pytest.mark.parametrize("name", ["term.at", *(f"{field}.start" for field in FIELDS)])
def test_offsets_that_do_not_fit_are_refused(name: str) -> None:
    for place, value in ((0, 1), (-1, 2**32 - 1), (1, 2**32 - 1)):
        assert refusal(changed(name, "<u4", place, value)) == f"{name} does not fit its section"


def test_hashes_out_of_order_are_refused() -> None:
    assert refusal(changed("term.hash", "<u8", 0, 2**64 - 1)) == "term.hash is out of order"


def test_a_row_beyond_the_segment_is_refused_when_it_is_asked_for() -> None:
    reader = Postings(changed("body.row", "<u2", 0, len(SAMPLE)))
    holder = next(i for i in range(reader.terms) if reader._fields["body"].starts[i + 1])
    with pytest.raises(StoreCorrupt, match="names a row that is not there"):
        reader.postings("body", holder)
    with pytest.raises(StoreCorrupt, match="names a row that is not there"):
        reader.several("body", [holder])
    assert "body.row names a row that is not there" in list(reader.problems())


def test_a_term_that_is_no_text_is_refused_when_it_is_asked_for() -> None:
    sections = built(SAMPLE)
    broken = Postings({**sections, "term.text": memoryview(b"\xff" * len(sections["term.text"]))})
    with pytest.raises(StoreCorrupt, match="term 0 is not UTF-8"):
        broken.term(0)
    assert list(broken.problems()) == ["a term is not UTF-8"]
    assert broken.find(["http"]).tolist() == [-1]


def test_the_deep_look_finds_what_opening_cannot_see() -> None:
    sections = built(SAMPLE)
    assert list(Postings(changed("term.text", "u1", 0, ord("\x7f"))).problems()) == [
        "term.hash disagrees with the terms"
    ]
    assert "comment.tf counts an occurrence that is none" in list(
        Postings(changed("comment.tf", "u1", 0, 0)).problems()
    )
    wrong = list(Postings(changed("body.length", "<u2", 2, 1)).problems())
    assert wrong == ["body.length disagrees with the postings"]
    starts = np.frombuffer(sections["path.start"], "<u4")
    twice = int(starts[np.flatnonzero(np.diff(starts.astype(int)) > 1)[0]])
    disordered = list(Postings(changed("path.row", "<u2", twice, 3)).problems())
    assert "path.row is out of order" in disordered


def test_a_length_below_a_count_that_was_cut_off_is_found() -> None:
    sections = built([("p", [], "", b"word " * 300)])
    short = {**sections, "body.length": memoryview(np.array([254], "<u2").tobytes())}
    assert list(Postings(short).problems()) == ["body.length disagrees with the postings"]


def test_a_term_that_is_there_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "term_hash", lambda term: bytes(8))
    sections = built([("aa bb", [], "", b"")])
    assert bytes(sections["term.text"]) == b"aabb"
    twice = {**sections, "term.text": memoryview(b"aaaa")}
    assert list(Postings(twice).problems()) == ["a term is there twice"]
