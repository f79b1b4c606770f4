"""A tombstone file says which paths lost their older rows, and says it in one way only."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core import limits
from cairn.errors import BadPathKey, StoreCorrupt
from cairn.source.root import path_key
from cairn.store.format import tombstones as module
from cairn.store.format.layout import snapshot_id
from cairn.store.format.tombstones import (
    Tombstone,
    TombstoneReason,
    decode_tombstones,
    encode_tombstones,
    is_path_key,
    is_tombstone_path,
    tombstone_path,
)
from tests.conformance import conforms
from tests.support.faults import Faults

DELETE, REPLACE, RENAME_FROM = TombstoneReason
PARTS = st.sampled_from(
    ["a", "b.py", ".git", "..x", "é", 'q"uote', "back\\slash", "new\nline", "\u2028", "日本", "\x7f"]
)
KEYS = (
    st.lists(PARTS, min_size=1, max_size=4).map("/".join) | st.text(min_size=1, max_size=12).filter(is_path_key)
).filter(is_path_key)
TOMBSTONES = st.builds(Tombstone, KEYS, st.sampled_from(list(TombstoneReason)))


def refusal(data: bytes) -> str:
    with pytest.raises(StoreCorrupt) as refused:
        decode_tombstones(data)
    assert refused.value.fields["artifact"] == "tombstone file"
    return str(refused.value.fields["why"])


@conforms("003.TMB1", "003.TMB6", "003.TMB8")
def test_the_file_is_one_json_object_a_line_in_order_of_the_paths() -> None:
    made = encode_tombstones(
        [Tombstone("src/sync.rs", REPLACE), Tombstone("Docs/foo.md", DELETE), Tombstone("é.py", RENAME_FROM)]
    )
    assert made.decode() == (
        '{"path_key":"Docs/foo.md","reason":"delete"}\n'
        '{"path_key":"src/sync.rs","reason":"replace"}\n'
        '{"path_key":"é.py","reason":"rename_from"}\n'
    )


@conforms("003.TMB1", "003.TMB6")
@given(st.lists(TOMBSTONES, max_size=12, unique_by=lambda tombstone: tombstone.path_key))
def test_what_was_written_is_read_back_in_byte_order(tombstones: list[Tombstone]) -> None:
    data = encode_tombstones(tombstones)
    back = decode_tombstones(data)
    assert set(back) == set(tombstones)
    assert len(back) == len(tombstones) == data.count(b"\n")
    keys = [key.encode() for key, _ in back]
    assert keys == sorted(keys)
    assert encode_tombstones(reversed(back)) == data
    assert all(type(reason) is TombstoneReason for _, reason in back)
    # Any JSON reader sees the same.
    assert [tuple(json.loads(line).values()) for line in data.split(b"\n")[:-1]] == [tuple(one) for one in back]


def test_no_tombstones_are_no_bytes() -> None:
    assert encode_tombstones([]) == b""
    assert decode_tombstones(b"") == ()


@conforms("003.TMB7")
@given(st.binary(max_size=24) | st.text(alphabet="a./\\\0é\u0301\u212a", max_size=10).map(str.encode))
def test_a_path_is_accepted_exactly_when_it_is_the_key_of_a_file(raw: bytes) -> None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    try:
        # The key is the composed spelling, or, for twins that are both kept, the one on disk.
        canonical = bool(path_key(raw))
    except BadPathKey:
        canonical = False
    assert is_path_key(text) is canonical
    line = f'{{"path_key":{json.dumps(text, ensure_ascii=False)},"reason":"delete"}}\n'.encode()
    if canonical:
        assert decode_tombstones(line) == (Tombstone(text, DELETE),)
    else:
        assert "line 1 is not a tombstone of a file" in refusal(line)
        with pytest.raises(ValueError, match="not a tombstone"):
            encode_tombstones([Tombstone(text, DELETE)])


@conforms("003.TMB7")
@pytest.mark.parametrize(
    "text",
    ["", "/", "/a", "a/", "./a", "a/.", "..", "a/../b", "a//b", "a\0b", "\ud800", "a/\ud800"],
)
def test_a_path_that_is_not_canonical_is_refused(text: str) -> None:
    assert not is_path_key(text)


def test_a_path_may_be_as_long_as_any_that_can_be_opened() -> None:
    # The longest name that composing can make: each of these is four bytes on disk and twelve in a key.
    grown = path_key(("\U0001d160" * 1_023).encode())
    assert len(grown.encode()) == 12_276
    assert is_path_key(grown)
    assert unicodedata.is_normalized("NFC", grown)
    for letter, size in (("a", 1), ("é", 2)):
        assert is_path_key(letter * (limits.MAX_PATH_KEY_BYTES // size))
        assert not is_path_key(letter * (limits.MAX_PATH_KEY_BYTES // size + 1))


A = b'{"path_key":"a","reason":"delete"}\n'
B = b'{"path_key":"b","reason":"replace"}\n'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (B + A, "line 2 is out of order"),
        (A + A, "line 2 is out of order"),
        (A + A.replace(b"delete", b"replace"), "line 2 is out of order"),
        (A[:-1], "its last line has no end"),
        (A + B[:-5], "its last line has no end"),
        (A + b"\n", "line 2 is not"),
        (b"\n", "line 1 is not"),
        (A.replace(b"\n", b"\r\n"), "line 1 is not"),
        (b"\xef\xbb\xbf" + A, "line 1 is not"),
        (b"\xff\n", "line 1 is not"),
        (b'{"path_key":"\xff","reason":"delete"}\n', "line 1 is not"),
        (A[:-1] + B, "line 1 is not"),
        (A[:-1] + b"," + B, "line 1 is not"),
        (b"[]\n", "line 1 is not"),
        (b"null\n", "line 1 is not"),
        (b"{}\n", "line 1 is not"),
        (b'{"path_key":"a"}\n', "line 1 is not"),
        (b'{"path_key":"a","reason":"erase"}\n', "line 1 is not"),
        (b'{"path_key":"a","reason":null}\n', "line 1 is not"),
        (b'{"path_key":"a","reason":["delete"]}\n', "line 1 is not"),
        (b'{"path_key":1,"reason":"delete"}\n', "line 1 is not"),
        (b'{"path_key":"a","path_key":"b","reason":"delete"}\n', "line 1 is not"),
        (b'{"path_key":"a","reason":"delete","row_id":"x"}\n', "line 1 is not"),
        (b'{"reason":"delete","path_key":"a"}\n', "line 1 is not"),
        (b'{"path_key": "a","reason":"delete"}\n', "line 1 is not"),
        (b'{"path_key":"\\u0061","reason":"delete"}\n', "line 1 is not"),
        (b'{"path_key":"a\tb","reason":"delete"}\n', "line 1 is not"),
        (b'{"path_key":"\\ud800","reason":"delete"}\n', "line 1 is not"),
        (b"[" * 30_000 + b"\n", "line 1 is not"),
        (b"[" * 200_000 + b"\n", "line 1 is not"),
    ],
)
def test_other_bytes_are_refused(data: bytes, why: str) -> None:
    assert why in refusal(data)


def test_more_tombstones_or_bytes_than_a_snapshot_may_hold_are_refused(faults: Faults) -> None:
    assert "larger" in refusal(b"\n" * (limits.MAX_TOMBSTONES_PER_SNAPSHOT + 1))
    faults.limit(module, MAX_TOMBSTONES_PER_SNAPSHOT=2)
    three = [Tombstone(name, DELETE) for name in "abc"]
    assert len(decode_tombstones(encode_tombstones(three[:2]))) == 2
    with pytest.raises(ValueError, match="larger"):
        encode_tombstones(three)
    faults.limit(module, MAX_TOMBSTONE_BYTES=len(A))
    assert decode_tombstones(A)
    assert "larger" in refusal(B)


@pytest.mark.parametrize(
    "wrong",
    [
        [Tombstone("a", DELETE), Tombstone("a", REPLACE)],
        [Tombstone("a", "erase")],  # type: ignore[arg-type]
        [Tombstone("a", 'delete"}\n{"path_key":"b","reason":"delete')],  # type: ignore[arg-type]
        [Tombstone("\ud800", DELETE)],
    ],
)
def test_what_could_not_be_read_again_is_never_written(wrong: list[Tombstone]) -> None:
    with pytest.raises(ValueError, match=r"tombstone|surrogate"):
        encode_tombstones(wrong)


def test_a_manifest_can_name_no_other_file_than_the_tombstones_of_a_snapshot() -> None:
    snapshot = snapshot_id(10**18, bytes(10))
    assert tombstone_path(snapshot) == f"snapshots/{snapshot}/tombstones.jsonl"
    assert is_tombstone_path(tombstone_path(snapshot))
    for bad in ("", "..", snapshot.lower(), snapshot + "\n", snapshot + "/.."):
        assert not is_tombstone_path(tombstone_path(bad))
    assert not is_tombstone_path(tombstone_path(snapshot) + "\n")
    assert not is_tombstone_path("/" + tombstone_path(snapshot))
