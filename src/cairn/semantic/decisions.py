"""Decisions that people made about ambiguities, kept with their proof and replayed only for identical inputs.

Identical are the ambiguity, the commit and the bytes of every file that it is about: a tree with edits at the same
commit has a decision of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cairn.semantic.database import Connection

ACCEPT = "accept"
"""The choice of who takes the facts as they are: nothing else is meant."""

_FIND = (
    "SELECT decision, proof_payload, created_at, file_hashes FROM decision_cache"
    " WHERE ambiguity_signature = ? AND repo_head = ? AND file_hashes_digest = ?"
)
_PUT = (
    "INSERT INTO decision_cache (ambiguity_signature, repo_head, file_hashes, file_hashes_digest, decision,"
    " proof_payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (ambiguity_signature, repo_head, file_hashes_digest) DO UPDATE SET"
    " decision = excluded.decision, proof_payload = excluded.proof_payload, created_at = excluded.created_at"
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a decision was made about: an ambiguity, a commit (empty without one), and the files by their hashes."""

    signature: str
    head: str
    file_hashes: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """One for all hashes."""
        return sha256(self.hashes_json().encode()).hexdigest()

    def hashes_json(self) -> str:
        """The hashes as they are kept: one text for the same files, in whatever order they came."""
        return _text(dict(self.file_hashes))


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen, by the ids of candidates or `ACCEPT`, and the proof: what was seen when it was."""

    signature: str
    selected: tuple[str, ...]
    proof: Mapping[str, Any]
    created_at: float


def replay(db: Connection, inputs: Inputs) -> Decision | None:
    """The decision that was made about exactly this; None when there is none, or what is kept is no decision."""
    row = db.execute(_FIND, (inputs.signature, inputs.head, inputs.digest)).fetchone()
    if row is None or row[3] != inputs.hashes_json():
        return None
    try:
        selected, proof = json.loads(row[0])["selected"], json.loads(row[1])
    except (ValueError, TypeError, KeyError):
        return None
    if not (isinstance(selected, list) and all(isinstance(one, str) for one in selected) and isinstance(proof, dict)):
        return None
    return Decision(inputs.signature, tuple(selected), proof, float(row[2]))


def record(db: Connection, inputs: Inputs, decision: Decision) -> None:
    """Keep a decision, in place of an earlier one about the same; whoever calls this holds the transaction."""
    kept = _text({"selected": list(decision.selected)})
    hashes = inputs.hashes_json()
    row = (inputs.signature, inputs.head, hashes, inputs.digest, kept, _text(decision.proof), decision.created_at)
    db.execute(_PUT, row)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
