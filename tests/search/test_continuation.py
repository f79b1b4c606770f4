"""A token leads to the next page of the same answer, and to nothing else."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.fingerprint import canonical_json
from cairn.core.limits import MAX_CONTINUATION_CHARS
from cairn.errors import BadContinuation, UsageError
from cairn.search.continuation import Continuation, _seal, decode, encode, question_digest, snapshot_of

SNAPSHOT = "01M7FW0QSDWXJ6Y9NC0FTVFFDT"
QUESTION = question_digest("lease", "hybrid", [])
TOKEN = encode(Continuation(SNAPSHOT, QUESTION, 20))


def refusal(token: str, snapshot: str = SNAPSHOT, question: str = QUESTION) -> str:
    with pytest.raises(BadContinuation) as told:
        decode(token, snapshot, question)
    assert isinstance(told.value, UsageError)
    assert told.value.sentence.isprintable()
    return told.value.sentence


@given(st.integers(0, 2**31))
def test_a_token_gives_back_its_offset_and_is_short(offset: int) -> None:
    token = encode(Continuation(SNAPSHOT, QUESTION, offset))
    assert decode(token, SNAPSHOT, QUESTION) == offset
    assert snapshot_of(token) == SNAPSHOT
    assert len(token) < MAX_CONTINUATION_CHARS
    assert token == encode(Continuation(SNAPSHOT, QUESTION, offset))


def test_no_token_can_be_taken_for_an_option() -> None:
    # A page of one answer in 64 could not be asked for: its token began with a hyphen.
    assert {encode(Continuation(SNAPSHOT, QUESTION, offset))[0] for offset in range(1_000)} == {"p"}


def test_a_token_of_another_snapshot_or_another_question_is_refused() -> None:
    assert refusal(TOKEN, snapshot="01M7FW0QSDWXJ6Y9NC0FTVFFDX") == (
        "A continuation cannot be used here: the index has changed since it was given."
    )
    assert refusal(TOKEN, question=question_digest("leases", "hybrid", [])) == (
        "A continuation cannot be used here: it belongs to another query."
    )


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("AbZ09-_"))
def test_a_token_with_any_character_changed_is_refused(at: int, char: str) -> None:
    changed = TOKEN[:at] + char + TOKEN[at + 1 :]
    if changed != TOKEN:
        said = "it is damaged." if at else "it is not one that Cairn has given."
        assert refusal(changed).endswith(said)


@pytest.mark.parametrize("offset", [1, 10, 100])
def test_a_token_has_one_spelling(offset: int) -> None:
    # In two of three lengths the last character has bits that say nothing.
    token = encode(Continuation(SNAPSHOT, QUESTION, offset))
    for char in string.ascii_letters + string.digits + "-_":
        if char != token[-1]:
            assert refusal(token[:-1] + char).endswith("it is damaged.")


@given(
    st.text(max_size=40) | st.text("AbZ09-_", max_size=40) | st.binary(max_size=30).map(lambda b: b.decode("latin-1"))
)
def test_any_other_text_is_refused(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize("token", ["", TOKEN + "=", TOKEN + "A", TOKEN[:-1], " " + TOKEN, "A" * 100_000, "\ud800", "A"])
def test_what_is_no_token_is_refused(token: str) -> None:
    refusal(token)


def test_a_token_of_another_version_is_named_as_such() -> None:
    body = canonical_json([2, "something", "else"]).encode()
    token = "p" + base64.urlsafe_b64encode(_seal(body) + body).decode().rstrip("=")
    assert refusal(token).endswith("it was given by another version of Cairn.")


def test_a_question_is_named_by_all_its_parts_in_their_order() -> None:
    assert question_digest("a", "b") != question_digest("b", "a") != question_digest("ab")
    assert question_digest("a", ["b"]) == question_digest("a", ["b"])
    assert question_digest("\ud800")
