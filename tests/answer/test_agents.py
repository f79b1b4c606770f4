"""Answers for agents: less in them, and what to call next."""

from __future__ import annotations

from cairn.answer.envelope import Envelope, lean, retry_later, status_call, with_hints, with_proof, without
from cairn.ask.gate import Status

BODY = (
    ("fingerprints", {"index": "x"}),
    ("file", {"path": "a.py", "fileHash": "x"}),
    ("results", [{"path": "a.py", "fileHash": "x", "score": 1}]),
    ("timingsMs", {}),
    ("continuation", "token"),
    ("hints", {"next": "Do this."}),
)


def envelope(status: Status = Status.OK, *extra: tuple[str, object]) -> Envelope:
    return Envelope("cairn.search/1", status, "p", "/r", (*extra, *BODY))


def test_a_lean_answer_has_neither_digests_nor_timings_and_all_else_in_order() -> None:
    found = lean(envelope()).body
    assert found == (
        ("file", {"path": "a.py"}),
        ("results", [{"path": "a.py", "score": 1}]),
        ("continuation", "token"),
        ("hints", {"next": "Do this."}),
    )
    # The answer itself is as it was.
    assert envelope().body == BODY


def test_hints_are_added_and_the_sentence_stays_the_last() -> None:
    found = dict(with_hints(envelope(), retryAfterMs=7).body)["hints"]
    assert list(found.items()) == [("retryAfterMs", 7), ("next", "Do this.")]
    assert dict(without(envelope(), "continuation").body).keys() == dict(BODY).keys() - {"continuation"}


def test_only_who_is_told_to_wait_is_told_how_long() -> None:
    for status in Status:
        hints = dict(retry_later(envelope(status), 500).body)["hints"]
        assert ("retryAfterMs" in hints) == (status is Status.NOT_READY)


def test_the_proof_is_named_at_a_closed_gate_only() -> None:
    assert with_proof(envelope(), present=True) == envelope()
    closed = with_proof(envelope(Status.NOT_READY, ("reason", "indexing")), present=False)
    assert dict(closed.body)["hints"]["debugIndexing"] == {"completionProof": "marker_doc", "markerPresent": False}


def test_the_call_for_the_status_names_the_root() -> None:
    assert status_call("/r") == {"tool": "manage_index", "args": {"action": "status", "path": "/r"}}
