from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.types import Root
from cairn.errors import BadPathKey
from cairn.source.root import path_key, path_key_ci, printable, relative_to_root
from tests.conformance import conforms
from tests.lengths import at_length

_PARTS = st.one_of(
    st.sampled_from(
        [b"", b".", b"..", b"...", b".git", b"a", b"\\", b"..\\", b"\0", b"\xff", b"\xc3\xa9", b"e\xcc\x81"]
    ),
    st.binary(max_size=6),
    st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
_RAWS = st.one_of(st.binary(max_size=40), st.lists(_PARTS, max_size=6).map(b"/".join))


def _reference(raw: bytes) -> str | None:
    """The rule, written the slow and obvious way."""
    try:
        text = unicodedata.normalize("NFC", raw.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    parts = text.split("/")
    return None if "\0" in text or any(part in ("", ".", "..") for part in parts) else text


def _check_key(raw: bytes) -> None:
    wanted = _reference(raw)
    if wanted is None:
        with pytest.raises(BadPathKey) as refused:
            path_key(raw)
        assert refused.value.sentence.isprintable()
        return
    key = path_key(raw)
    assert key == wanted
    # A key leads to one place below any root, and is its own key.
    assert os.path.normpath(os.path.join("/r", key)) == "/r/" + key
    assert path_key(key.encode()) == key
    assert path_key(path_key_ci(key).encode()) == path_key_ci(path_key_ci(key)) == path_key_ci(key)


def _check_shown(raw: bytes) -> None:
    shown = printable(raw)
    assert shown.isprintable()
    plain = shown.replace("\\\\", "")
    if "\\" not in plain and b"\\" not in raw:
        assert shown.encode() == raw


@conforms("003.PK1", "001.TERM2")
@settings(derandomize=True, max_examples=666, deadline=None)
@given(_RAWS)
def test_any_bytes_are_a_safe_key_or_refused(raw: bytes) -> None:
    _check_key(raw)
    _check_shown(raw)


@settings(derandomize=True, max_examples=333, deadline=None)
@given(st.binary(max_size=30), st.binary(max_size=30))
def test_no_two_names_are_shown_alike(one: bytes, two: bytes) -> None:
    assert (printable(one) == printable(two)) == (one == two)


@settings(derandomize=True, max_examples=166, deadline=None)
@given(_RAWS.filter(lambda raw: _reference(raw) is not None))
def test_a_key_typed_by_a_person_comes_back_as_its_own_path(raw: bytes) -> None:
    root = Root("/nonexistent-root", is_git=False)
    assert relative_to_root(root, os.fsdecode(raw), root.path) == raw


@pytest.mark.long
@settings(derandomize=True, max_examples=at_length(50_000), deadline=None)
@given(_RAWS)
def test_any_bytes_are_a_safe_key_or_refused_at_length(raw: bytes) -> None:
    _check_key(raw)
    _check_shown(raw)
