"""A sealed document is read back whole, or refused for the right reason."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.document import (
    Artifact,
    Fields,
    is_absolute_path,
    is_git_id,
    is_store_id,
    is_time,
    reading_newer,
    seal,
    unseal,
)

THING = Artifact("thing", oldest=1, newest=1, written=1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def opened(data: bytes) -> Fields:
    return unseal(THING, "digest", data, 10_000)


def refusal(data: bytes) -> str:
    with pytest.raises(StoreCorrupt) as refused:
        opened(data)
    assert refused.value.sentence.isprintable()
    return str(refused.value.fields["why"])


def test_the_digest_is_that_of_the_canonical_bytes_without_it() -> None:
    bare = '{"a":"é","schema_version":1}\n'
    sealed = '{"a":"é","digest":"DIGEST","schema_version":1}\n'.replace("DIGEST", sha256(bare.encode()).hexdigest())
    assert seal(THING, "digest", {"a": "é"}) == sealed.encode()


@given(st.dictionaries(st.text(max_size=8).filter(lambda name: name not in {"digest", "schema_version"}), JSON))
def test_what_was_sealed_is_what_is_opened(fields: dict[str, Any]) -> None:
    try:
        data = seal(THING, "digest", fields)
    except UnicodeEncodeError:
        return
    assert opened(data)._left == fields


@pytest.mark.parametrize("version", [0, 999])
def test_a_sound_document_of_another_version_is_incompatible_not_damaged(version: int) -> None:
    data = seal(replace(THING, written=version), "digest", {"new": [{}]})
    with pytest.raises(Incompatible, match=f"The thing of the index has format version {version};"):
        opened(data)


def test_a_flipped_version_is_damage_and_not_the_future() -> None:
    data = seal(THING, "digest", {})
    assert refusal(data.replace(b'"schema_version":1', b'"schema_version":9')) == "its digest does not match"


@pytest.mark.parametrize("version", [None, True, "1", -1, 2**40, [1]])
def test_a_version_that_is_no_number_is_damage(version: object) -> None:
    assert "schema_version" in refusal(seal(THING, "digest", {"schema_version": version}))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "parsed"),
        (b"null\n", "not an object"),
        (b"[]\n", "not an object"),
        (b"{}", "canonical"),
        (b"{}\n", "digest"),
        (b"{}\n\n", "canonical"),
        (b"{} \n", "canonical"),
        (b'{"a":1,"a":1}\n', "canonical"),
        (b'{"b":1,"a":1}\n', "canonical"),
        (b'{"a": 1}\n', "canonical"),
        (b'{"a":-0}\n', "canonical"),
        (b'{"a":"\\u0041"}\n', "canonical"),
        (b'{"a":"\\ud800"}\n', "canonical"),
        (b'{"a":1.0}\n', "parsed"),
        (b'{"a":NaN}\n', "parsed"),
        (b'{"a":Infinity}\n', "parsed"),
        (b'{"a":' + b"9" * 5_000 + b"}\n", "parsed"),
        (b"[" * 9_000, "parsed"),
        (b"[" * 4_900 + b"]" * 4_900 + b"\n", "parsed"),
        (b"\xef\xbb\xbf{}\n", "parsed"),
        (b"\xff{}\n", "parsed"),
        ("{}\n".encode("utf-16"), "parsed"),
        (b" " * 10_001, "larger than 10000 bytes"),
    ],
)
def test_other_bytes_are_refused(data: bytes, why: str) -> None:
    assert why in refusal(data)


def test_a_document_at_the_cap_is_read_and_one_byte_more_is_not() -> None:
    room = 10_000 - len(seal(THING, "digest", {"a": ""}))
    opened(seal(THING, "digest", {"a": "x" * room})).text("a", lambda text: len(text) == room)
    assert "larger" in refusal(seal(THING, "digest", {"a": "x" * (room + 1)}))


def fields(**values: object) -> Fields:
    return Fields(THING, dict(values), "inner.")


@pytest.mark.parametrize("value", [None, True, "1", 1.0, [], {}, 2, 9])
def test_a_number_is_a_whole_number_in_its_range(value: object) -> None:
    assert fields(n=5).number("n", least=3, most=8) == 5
    assert [fields(n=n).number("n", least=3, most=8) for n in (3, 8)] == [3, 8]
    with pytest.raises(StoreCorrupt, match=r"inner\.n is not a number from 3 to 8"):
        fields(n=value).number("n", least=3, most=8)


def test_fields_are_typed_and_refused_by_name() -> None:
    good = fields(flag=True, text="ab", none=None, object={"x": 1}, objects=[{"x": 1}, {"x": 2}])
    assert good.flag("flag")
    assert good.text("text", str.isalpha) == "ab"
    assert good.text_or_none("none", str.isalpha) is None
    assert good.object("object").number("x") == 1
    assert [each.number("x") for each in good.objects("objects", 2)] == [1, 2]
    good.end()
    for value in (1, "true", None):
        with pytest.raises(StoreCorrupt, match=r"inner\.flag is neither"):
            fields(flag=value).flag("flag")
    for bad in (1, "1", None):
        with pytest.raises(StoreCorrupt, match=r"inner\.text is not"):
            fields(text=bad).text("text", str.isalpha)
    for missing in (Fields.flag, Fields.number, Fields.object, Fields.object_or_none):
        with pytest.raises(StoreCorrupt, match=r"inner\.gone is missing"):
            missing(fields(), "gone")
    with pytest.raises(StoreCorrupt, match=r"inner\.gone is missing"):
        fields().text_or_none("gone", str.isalpha)
    assert fields(o=None).object_or_none("o") is None
    with pytest.raises(StoreCorrupt, match=r"inner\.o is not an object"):
        fields(o=[]).object_or_none("o")
    for many in ({}, None, [1], [{}, {}, {}]):
        with pytest.raises(StoreCorrupt, match=r"inner\.objects is not a list of at most 2 objects"):
            fields(objects=many).objects("objects", 2)
    with pytest.raises(StoreCorrupt, match=r"inner has a field that this version does not know"):
        fields(new=1).end()
    with pytest.raises(StoreCorrupt, match=r"inner\.list\[1\]\.x is missing"):
        [each.number("x") for each in fields(list=[{"x": 1}, {}]).objects("list", 2)]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-01-01T12:00:00Z", True),
        ("2024-02-29T23:59:59Z", True),
        ("2026-02-29T00:00:00Z", False),
        ("2026-01-01T24:00:00Z", False),
        ("2026-01-01T12:00:60Z", False),
        ("0000-01-01T00:00:00Z", False),
        ("2026-01-01T12:00:00+00:00", False),
        ("2026-01-01T12:00:00.5Z", False),
        ("2026-01-01T12:00:00Z\n", False),
        ("٢٠٢٦-01-01T12:00:00Z", False),
    ],
)
def test_a_time_is_a_moment_in_utc(text: str, good: bool) -> None:
    assert is_time(text) is good


def test_paths_and_ids_have_one_form() -> None:
    assert all(map(is_absolute_path, ["/", "/a", "/a b/ü", "/.a/..b"]))
    assert not any(map(is_absolute_path, ["", "a", "//", "//a", "/a/", "/./a", "/a/..", "/a\0", "/" + "a" * 20_000]))
    assert is_git_id("0a" * 20)
    assert is_git_id("0a" * 32)
    assert not any(map(is_git_id, ["", "0a" * 19, "0A" * 20, "0a" * 20 + "\n", "0g" * 20, "0a" * 24]))
    assert is_store_id("my-repo__" + "0" * 16 + "__" + "f" * 16)
    assert not any(map(is_store_id, ["", "../x", "r__0__f", "My__" + "0" * 16 + "__" + "f" * 16]))


def test_the_bytes_are_plain_json_for_every_other_reader() -> None:
    data = seal(THING, "digest", {"path": 'quote " and \\ and \x01 and \u2028', "n": 2**64})
    assert json.loads(data)["n"] == 2**64
    assert data.count(b"\n") == 1


# --- of a later version -----------------------------------------------------------------------------------------------

NEXT = replace(THING, written=THING.newest + 1)


def test_fields_that_a_later_version_has_added_are_passed_over() -> None:
    data = seal(NEXT, "digest", {"a": 1, "b": {"c": 2, "new": 3}, "d": [{"new": 4}], "new": 5})
    with reading_newer():
        fields = unseal(THING, "digest", data, 1_000)
        assert (fields.version, fields.number("a")) == (NEXT.written, 1)
        inner = fields.object("b")
        assert inner.number("c") == 2
        inner.end()
        [listed] = fields.objects("d", 1)
        listed.end()
        fields.end()


def test_a_field_that_a_later_version_has_changed_is_no_damage() -> None:
    with reading_newer():
        fields = unseal(THING, "digest", seal(NEXT, "digest", {"a": "one"}), 1_000)
        with pytest.raises(Incompatible, match=f"version {NEXT.written}"):
            fields.number("a")


def test_a_field_too_many_is_damage_in_a_version_that_is_known() -> None:
    with reading_newer():
        fields = unseal(THING, "digest", seal(THING, "digest", {"new": 1}), 1_000)
        with pytest.raises(StoreCorrupt, match="does not know"):
            fields.end()
