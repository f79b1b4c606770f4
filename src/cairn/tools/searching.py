"""Tools that may write before they read: the files are compared or the folder is indexed, then the snapshot answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from cairn.answer.envelope import Envelope, lean, retry_later, with_hints, with_proof
from cairn.answer.exploring import explore_answer
from cairn.answer.impact import impact_answer
from cairn.answer.search import search_envelope
from cairn.answer.semantic import gate_answer
from cairn.answer.structure import call_graph_answer
from cairn.ask.edits import check_edit as checked_files
from cairn.ask.exploring import explore as around
from cairn.ask.impact import impact
from cairn.ask.prepare import AS_IT_IS, Policy
from cairn.ask.questions import SEARCH
from cairn.ask.relations import call_graph
from cairn.ask.runs import Patience, retry_after_ms
from cairn.ask.session import Session, ask_all, hold_page
from cairn.ask.structure import Asked, asked_of
from cairn.ask.workspace import SessionPool, Workspace
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import AGENT_PLACES, AGENT_RESULTS, AGENT_TOKENS, MAX_RESULTS
from cairn.core.options import Face
from cairn.errors import InvalidRequest
from cairn.search.searcher import check
from cairn.search.types import Group, Mode, SearchRequest
from cairn.semantic.database import SemanticDatabase, has_contexts
from cairn.tools.reading import tokens_of

SEARCH_TOOL = "search_codebase"
_HEAD = "HEAD"


def search_codebase(workspace: Workspace, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Return code that fits a question; an invalid question is refused before anything is indexed."""
    given = SEARCH.values(Face.MCP, arguments)
    request = SearchRequest(**_usual(arguments) | given, extracts=True)
    check(request)
    target = workspace.pool.allowed.resolve(arguments.get("path"))
    token = arguments.get("continuation")
    policy = AS_IT_IS if token is not None else Policy(seconds=patience.sync_seconds, overlay=True)
    policy = replace(policy, stale_ok=arguments["allowStale"], part_ok=arguments["allowPartial"] and token is None)
    with workspace.prepared(target, policy, patience) as session:
        if token is not None:
            hold_page([session], token)
        envelope = _answer(session, request, token)
        present = session.gate.facts.last_good is not None
    envelope = with_proof(envelope, present=present) if arguments["debug"] else lean(envelope)
    following = dict(envelope.body).get("continuation")
    if following is not None:
        call = {"tool": SEARCH_TOOL, "args": {**arguments, "continuation": following}}
        envelope = with_hints(envelope, continuation=call)
    return retry_later(envelope, retry_after_ms(workspace.runs.active(target.codebase.root.path)))


def _usual(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds where an agent says nothing: few definitions, or as many matching files as fit."""
    mode, tokens = Mode(arguments["mode"]), tokens_of(arguments, "limit")
    if mode is Mode.REGEX:
        return {"limit": MAX_RESULTS, "max_tokens": tokens}
    group = Group.FILE if mode.is_exhaustive else Group.SYMBOL
    return {"limit": AGENT_RESULTS if mode.is_exhaustive else AGENT_PLACES, "max_tokens": tokens, "group": group}


def _answer(session: Session, request: SearchRequest, token: str | None) -> Envelope:
    began = SYSTEM_CLOCK.monotonic()
    answers, page = ask_all([session], request, token)
    before, searched = session.step_seconds, SYSTEM_CLOCK.monotonic() - began
    return search_envelope(answers, page, [("sync", before), ("search", searched), ("total", before + searched)])


EXPLORE_TOOL = "explore"


class ExploreMode(StrEnum):
    """What is asked about a definition: what is around it, a way to another, its tests, or what a change reaches."""

    AROUND = "around"
    PATH = "path"
    TESTS = "tests"
    IMPACT = "impact"
    CHANGES = "changes"


def explore(workspace: Workspace, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Return in one answer what an agent would ask next about a definition, or about what has changed."""
    mode, about, tokens = ExploreMode(arguments["mode"]), arguments.get("about"), tokens_of(arguments, "")
    if about is None and mode is not ExploreMode.CHANGES:
        raise InvalidRequest(field="about", why="it is missing: a question, a name or FILE:LINE")
    if mode is ExploreMode.PATH and "to" not in arguments:
        raise InvalidRequest(field="to", why="it is missing, and a path leads to something")
    target = workspace.pool.allowed.resolve(arguments.get("path"))
    policy = Policy(seconds=patience.sync_seconds, overlay=True, part_ok=arguments["allowPartial"])
    with workspace.prepared(target, policy, patience) as session:
        envelope = lean(_explored(session, mode, about or _HEAD, arguments.get("to"), tokens or AGENT_TOKENS))
    return retry_later(envelope, retry_after_ms(workspace.runs.active(target.codebase.root.path)))


def _explored(session: Session, mode: ExploreMode, about: str, to: str | None, tokens: int) -> Envelope:
    if mode is ExploreMode.AROUND:
        return explore_answer(around(session, about), tokens=tokens)
    if mode is ExploreMode.CHANGES:
        return impact_answer(impact(session, None, diff=about), tokens=tokens)
    asked = asked_of(about, session.root)
    if mode is ExploreMode.PATH:
        assert to is not None, "it was checked"
        return call_graph_answer(call_graph(session, asked, to=asked_of(to, session.root)), note_limit=0, tokens=tokens)
    return impact_answer(impact(session, asked), tokens=tokens, tests_only=mode is ExploreMode.TESTS)


EDIT_TOOL = "check_edit"


def check_edit(workspace: Workspace, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Freshness and certainty of files, and what may be edited; what was saved a moment before closes the gate."""
    target = workspace.pool.allowed.resolve(arguments.get("path"))
    root = target.codebase.root.path
    with workspace.prepared(target, Policy(seconds=patience.sync_seconds, overlay=True), patience) as session:
        return lean(gate_answer(checked_files(session, [Asked(file, file, root) for file in arguments["files"]])))


def is_set_up(pool: SessionPool) -> bool:
    """Whether an indexer has been set up for one of the codebases that may be asked about."""
    return any(has_contexts(SemanticDatabase(pool.home, root)) for root in pool.allowed.roots())
