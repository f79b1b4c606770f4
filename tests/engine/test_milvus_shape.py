"""How a store lies on a server: names, documents, pieces and filters."""

from __future__ import annotations

import base64
import os
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import ENGINE_PIECE_BYTES
from cairn.engine.contract import Row, RowScope
from cairn.engine.milvus_rows import (
    FIELD_NAMES,
    PROPERTY,
    collection_name,
    description,
    pieces,
    problem_of,
    quoted,
    reserved,
    row_document,
    rows_in,
    unpack,
)


def test_a_name_there_holds_letters_digits_and_underscores_only() -> None:
    assert collection_name("my-project.x__00aa__11bb") == "cairn_my_project_x__00aa__11bb"


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.binary(max_size=200_000))
def test_a_file_comes_back_from_its_pieces(data: bytes) -> None:
    found = [(place, *unpack(payload)) for place, payload in pieces("data.bin", memoryview(data))]
    assert b"".join(part for _, _, part in found) == data
    assert all(name == "data.bin" for _, name, _ in found)
    assert [place for place, _, _ in found] == list(range(0, max(1, len(data)), ENGINE_PIECE_BYTES))


def test_a_piece_that_cannot_be_packed_smaller_still_fits_into_a_field() -> None:
    [(_, payload)] = pieces("rows.sqlite", os.urandom(ENGINE_PIECE_BYTES))
    assert len(payload) <= 65_535


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "data.bin",
        "data.bin !!!",
        " " + base64.b64encode(zlib.compress(b"x")).decode(),
        "data.bin " + base64.b64encode(b"not packed").decode(),
        # It would fill the memory of whoever believed it.
        "data.bin " + base64.b64encode(zlib.compress(bytes(1 << 24))).decode(),
        "data.bin " + base64.b64encode(zlib.compress(b"cut short"))[:8].decode(),
    ],
)
def test_what_is_no_piece_is_refused(payload: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(payload)


def test_a_filter_names_segments_and_numbers_and_leaves_reserved_documents_out() -> None:
    scope = RowScope(("seg_a_0", "seg_b_1"), {"seg_a_0": (3, 5), "seg_b_1": ()})
    assert rows_in(scope) == (
        'kind == 0 and segment in ["seg_a_0", "seg_b_1"] and not (segment == "seg_a_0" and file in [3, 5])'
    )
    with pytest.raises(AssertionError):
        quoted('x" or kind == 3 or segment == "')


def test_a_document_has_every_field_and_a_path_of_any_bytes_is_text_there() -> None:
    row = Row(0, 0, "a\udcffb", np.zeros(4, np.float32), {})
    document = row_document("seg_a_0", row)
    assert set(document) == FIELD_NAMES == set(reserved(3, "3:x", "x", "{}", 4))
    assert document["path"].encode() == b"a\\xffb"
    assert document["sparse"]


def test_a_collection_is_ours_when_it_says_so_and_has_our_fields() -> None:
    fields = [{"name": name, "params": {"dim": 8} if name == "dense" else {}} for name in sorted(FIELD_NAMES)]
    ours = {"properties": {PROPERTY: description("x__y")}, "fields": fields}
    assert problem_of(ours, "x__y", 8) is None
    assert problem_of(ours, "x__y", None) is None
    assert "components" in str(problem_of(ours, "x__y", 16))
    assert "another index" in str(problem_of(ours, "z", 8))
    assert "fields" in str(problem_of({**ours, "fields": fields[1:]}, "x__y", 8))
    assert "form" in str(problem_of({**ours, "properties": {PROPERTY: "cairn rows 7 of x__y"}}, "x__y", 8))
    for foreign in ({}, {"properties": {}}, {"properties": None}, {"properties": {PROPERTY: "hello"}}):
        assert problem_of({**foreign, "fields": fields}, "x__y", 8) == "somebody else made it"
