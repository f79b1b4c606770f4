"""What is said about the place where rows are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cairn.answer.envelope import Envelope, ok, tail
from cairn.store.standing import Proof

SCHEMA = "cairn.engine/1"


def proof_fields(proof: Proof | None) -> dict[str, str | None] | None:
    """What the marker on the server proves, in the words of every proof; None where there is nothing to prove."""
    return None if proof is None else {"outcome": proof.outcome.value, "reason": proof.reason and proof.reason.value}


def engine_report(
    *, path: str, root: str, action: str, engine: Mapping[str, object], warnings: Sequence[str] = ()
) -> Envelope:
    """Which place that is, how it stands, and what went there or came from it."""
    body = [("action", action), ("engine", dict(engine)), *tail(warnings), ("hints", {})]
    return ok(SCHEMA, path=path, root=root, body=body)
