"""The tool that searches: first the files are compared or the folder is indexed, then the snapshot answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.answer.agents import lean, retry_later, with_hints, with_proof
from cairn.answer.envelope import Envelope, error
from cairn.answer.gate import closed
from cairn.answer.search import SCHEMA, search_answer
from cairn.clock import SYSTEM_CLOCK
from cairn.search.searcher import check
from cairn.search.types import Group, Mode, SearchRequest
from cairn.serve.desk import Desk, Patience
from cairn.serve.runs import retry_after_ms
from cairn.session import NOT_CHECKED, Session, ask_all, hold_page

NAME = "search_codebase"


def search_codebase(desk: Desk, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Code that fits a question. A question that nobody could answer is refused before anything is indexed."""
    request = _request(arguments)
    check(request)
    target = desk.allowed.resolve(arguments.get("path"))
    token = arguments.get("continuation")
    began = SYSTEM_CLOCK.monotonic()
    fresh, why = (NOT_CHECKED, "") if token is not None else desk.before_search(target, patience)
    stepped = SYSTEM_CLOCK.monotonic()
    with desk.session(target, fresh, stale_ok=arguments["allowStale"], why=why) as session:
        if token is not None:
            hold_page([session], token)
        envelope = _answer(session, request, token, before=stepped - began)
        present = session.gate.facts.last_good is not None
        shown = target.asked if "path" in arguments else session.root
    envelope = with_proof(envelope, present=present) if arguments["debug"] else lean(envelope)
    following = dict(envelope.body).get("continuation")
    if following is not None:
        call = {"tool": NAME, "args": {**arguments, "path": shown, "continuation": following}}
        envelope = with_hints(envelope, continuation=call)
    return retry_later(envelope, retry_after_ms(desk.runs.active(target.codebase.root.path)))


def _request(arguments: Mapping[str, Any]) -> SearchRequest:
    return SearchRequest(
        query=arguments["query"],
        mode=Mode(arguments["mode"]),
        limit=arguments["limit"],
        languages=tuple(arguments["languages"]),
        include=tuple(arguments["include"]),
        exclude=tuple(arguments["exclude"]),
        scope=arguments.get("scope"),
        max_tokens=arguments["maxTokens"],
        group=Group(arguments["groupBy"]),
        explain=arguments["debug"],
    )


def _answer(session: Session, request: SearchRequest, token: str | None, *, before: float) -> Envelope:
    began = SYSTEM_CLOCK.monotonic()
    answers, page = ask_all([session], request, token)
    [only] = answers
    if only.found is not None:
        searched = SYSTEM_CLOCK.monotonic() - began
        timings = [("sync", before), ("search", searched), ("total", before + searched)]
        return search_answer(answers, page, timings=timings)
    if only.error is not None:
        return error(only.error, path=only.path, root=only.root)
    return closed(SCHEMA, session.gate, path=only.path)
