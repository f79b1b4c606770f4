"""The same answers for agents, who pay for every word: less in them, and what to call next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, Status, asked

_HEAVY = frozenset({"fingerprints", "timingsMs"})
_DIGEST = "fileHash"
# One kind of proof is there, and its name is fixed.
_PROOF = "marker_doc"


def lean(envelope: Envelope) -> Envelope:
    """Without fingerprints, timings and digests of files, which only who looks for a fault reads."""
    return replace(envelope, body=tuple((name, _light(value)) for name, value in envelope.body if name not in _HEAVY))


def _light(value: Any) -> Any:
    if isinstance(value, list):
        return [_light(one) for one in value]
    return {name: part for name, part in value.items() if name != _DIGEST} if isinstance(value, dict) else value


def with_hints(envelope: Envelope, **hints: object) -> Envelope:
    """With these hints beside the ones that are there; a sentence for a person stays the last."""
    body = dict(envelope.body)
    there = dict(body.get("hints", {}))
    last = {"next": there.pop("next")} if "next" in there else {}
    body["hints"] = there | hints | last
    return replace(envelope, body=tuple(body.items()))


def without(envelope: Envelope, field: str) -> Envelope:
    """Without a field that the caller could not use."""
    return replace(envelope, body=tuple(part for part in envelope.body if part[0] != field))


def retry_later(envelope: Envelope, milliseconds: int) -> Envelope:
    """With the time after which the same call may be answered, when it may."""
    return with_hints(envelope, retryAfterMs=milliseconds) if envelope.status is Status.NOT_READY else envelope


def with_proof(envelope: Envelope, *, present: bool) -> Envelope:
    """With what would prove that the index is complete, for a closed gate that somebody looks into."""
    if "reason" not in dict(envelope.body):
        return envelope
    return with_hints(envelope, debugIndexing={"completionProof": _PROOF, "markerPresent": present})


def status_call(root: str) -> dict[str, Any]:
    """The call that says how things stand."""
    return {"tool": "manage_index", "args": {"action": "status", "path": asked(root)}}
