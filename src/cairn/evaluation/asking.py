"""Asks a codebase all questions about it, in this process, and scores the answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cairn.ask.gate import gate_error
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, Target
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import cairn_home
from cairn.core.types import Root
from cairn.errors import InvalidQuery
from cairn.evaluation.metric import Lines, Question, Scored, ndcg, recall
from cairn.search.types import Mode, SearchRequest
from cairn.source.root import printable
from cairn.sync.codebase import Codebase, codebase_at
from cairn.sync.report import Tell
from cairn.sync.run import RunOptions, sync


@dataclass(frozen=True, slots=True)
class Way:
    """How is asked: so many results, in this mode, without these signals."""

    k: int
    mode: Mode = Mode.HYBRID
    without: frozenset[str] = frozenset()


def folder_as_codebase(folder: str, environ: Mapping[str, str]) -> Codebase:
    """The folder by itself, whatever repository it lies in: what is asked about it is about nothing else."""
    return codebase_at(Root(os.path.realpath(folder), is_git=False), environ)


def ask(
    codebase: Codebase,
    environ: Mapping[str, str],
    questions: Iterable[Question],
    way: Way,
    *,
    tell: Tell = lambda _: None,
    asked: Callable[[Question], None] = lambda _: None,
) -> list[Scored]:
    """The score of every question, in their order. The codebase is indexed first, or its index brought up to date."""
    # Somebody has asked for this folder by name, so it is not refused like one that is searched by the way.
    sync(codebase, RunOptions(cairn_home(environ)), tell)
    with Session(Target(codebase.root.path, codebase), environ) as session:
        prepare(session, Policy(create=False, sync=False))
        if not session.gate.is_open:
            raise gate_error(session.gate, printable(os.fsencode(codebase.root.path)))
        scored = []
        for question in questions:
            asked(question)
            scored.append(_scored(session, question, way))
        return scored


def _scored(session: Session, question: Question, way: Way) -> Scored:
    began = SYSTEM_CLOCK.monotonic()
    try:
        request = SearchRequest(question.text, way.mode, limit=way.k, without=way.without)
        found = session.ask(request).found
    except InvalidQuery:
        # A commit subject may look like an operator that there is not; a person would get no result either.
        return Scored(question, 0.0, 0.0, 0.0, SYSTEM_CLOCK.monotonic() - began, is_valid=False)
    seconds = SYSTEM_CLOCK.monotonic() - began
    assert found is not None, "the gate is open"
    files = [Lines(hit.path) for hit in found.hits]
    shown = [Lines(hit.path, hit.start_line, hit.end_line) for hit in found.hits]
    targets, k = question.targets, way.k
    return Scored(question, ndcg(files, targets, k), recall(files, targets, k), ndcg(shown, targets, k), seconds)
