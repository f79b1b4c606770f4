"""The tool that says what may be edited; it is listed once an indexer has been set up for a codebase that is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.answer.agents import lean
from cairn.answer.edits import gate_answer
from cairn.answer.envelope import Envelope
from cairn.edits import check_edit as checked_files
from cairn.semantic.catalog import has_contexts
from cairn.semantic.database import SemanticDatabase
from cairn.serve.desk import Desk, Patience, Reading
from cairn.structure import Asked

NAME = "check_edit"


def check_edit(desk: Desk, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Freshness and certainty of files, and what may be edited; what was saved a moment before closes the gate."""
    target = desk.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    fresh, why = desk.before_search(target, patience)
    with desk.session(target, fresh, why=why) as session:
        return lean(gate_answer(checked_files(session, [Asked(file, file, root) for file in arguments["files"]])))


def is_set_up(reading: Reading) -> bool:
    """Whether an indexer has been set up for one of the codebases that may be asked about."""
    return any(has_contexts(SemanticDatabase(reading.home, root)) for root in reading.allowed.roots())
