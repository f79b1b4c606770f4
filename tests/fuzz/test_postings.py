"""Whatever happens to the sections, the reader gives rows of the segment or one typed error."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import StoreCorrupt
from cairn.store.format.postings import FIELDS, Postings, PostingsBuilder
from tests.lengths import at_length

TERMS = ["http", "server", "httpserver", "größe", "日本", "no such term", ""]


def sound(repeat: int) -> dict[str, bytes]:
    builder = PostingsBuilder()
    for number in range(9):
        body = f"class HTTPServer{number}: größe = 日本語 # serve {'again ' * number * repeat}"
        builder.add(f"src/http/server{number}.py", [f"HTTPServer{number}", "serve"], "serve it all", body.encode())
    return {name: bytes(data) for name, data in builder.sections()}


SOUND = sound(60)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(sorted(SOUND)),
        st.sampled_from(["flip", "cut", "grow", "drop", "zero", "swap", "other"]),
        st.integers(0, 2**32),
        st.sampled_from(sorted(SOUND)),
    ),
    min_size=1,
    max_size=3,
)


def damaged(changes: list[tuple[str, str, int, str]]) -> dict[str, memoryview]:
    sections = dict(SOUND)
    for name, how, number, other in changes:
        data = bytearray(sections.get(name, b"\0"))
        place = number % max(len(data), 1)
        if how == "flip" and data:
            data[place] ^= 1 << number % 8
        elif how == "cut":
            del data[place:]
        elif how == "grow":
            data += bytes(number % 9 + 1)
        elif how == "zero":
            data[place:] = bytes(len(data) - place)
        elif how == "swap":
            data[place:], data[:place] = data[:place], data[place:]
        elif how == "other":
            data = bytearray(SOUND[other])
        sections[name] = bytes(data)
        if how == "drop":
            del sections[name]
    return {name: memoryview(data) for name, data in sections.items()}


def fit_to_show(error: StoreCorrupt) -> bool:
    assert error.sentence.isprintable()
    return True


def check(sections: dict[str, memoryview]) -> bool:
    """Whether they could be opened; then every question has an answer or the one error."""
    try:
        reader = Postings(sections)
    except StoreCorrupt as error:
        return not fit_to_show(error)
    ids = reader.find(TERMS)
    assert ((ids >= -1) & (ids < reader.terms)).all()
    for term_id in range(reader.terms):
        with suppress(StoreCorrupt):
            reader.term(term_id)
        for field in FIELDS:
            assert len(reader.lengths(field)) == reader.rows
            try:
                rows, tf = reader.postings(field, term_id)
            except StoreCorrupt:
                continue
            assert len(rows) == len(tf)
            assert not len(rows) or rows[-1] < reader.rows
    assert all(problem.isprintable() for problem in reader.problems())
    return True


def test_the_sections_are_sound_to_begin_with() -> None:
    sections = {name: memoryview(data) for name, data in SOUND.items()}
    assert check(sections)
    assert list(Postings(sections).problems()) == []
    assert (Postings(sections).find(TERMS[:2]) >= 0).all()


@given(CHANGES)
@settings(max_examples=66, derandomize=True, deadline=None)
def test_damaged_sections_are_refused_or_answer_within_the_segment(changes: list[tuple[str, str, int, str]]) -> None:
    check(damaged(changes))


def test_a_flipped_bit_is_seen_at_opening_or_by_the_deep_look() -> None:
    # Without counts that were cut off at the largest, which fit more than one length; and without the starts, which can
    # hand a row from one term to its neighbour: only the digest of the segment sees that.
    whole = sound(1)
    seed = random.Random(5)
    for name in sorted(name for name in whole if not name.endswith(".start")):
        for _ in range(40):
            data = bytearray(whole[name])
            place = seed.randrange(len(data))
            data[place] ^= 1 << seed.randrange(8)
            sections = {key: memoryview(one) for key, one in {**whole, name: bytes(data)}.items()}
            try:
                found = list(Postings(sections).problems())
            except StoreCorrupt:
                continue
            assert found, f"{name}, byte {place}"


@given(st.dictionaries(st.sampled_from(sorted(SOUND)), st.binary(max_size=64)))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_arbitrary_bytes_in_the_sections_end_in_one_error(junk: dict[str, bytes]) -> None:
    check({name: memoryview(data) for name, data in {**SOUND, **junk}.items()})


@pytest.mark.long
@given(CHANGES)
@settings(max_examples=at_length(50_000), derandomize=True, deadline=None)
def test_many_more_damages(changes: list[tuple[str, str, int, str]]) -> None:
    check(damaged(changes))
