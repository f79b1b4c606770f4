"""Prompts that a person picks in their agent: ways to work that ask Cairn first, and say what it could not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cairn.core.limits import MAX_QUERY_CHARS
from cairn.errors import InvalidRequest

__all__ = ["PROMPTS", "Prompt", "prompted"]


class Prompt(NamedTuple):
    """One prompt: how it is listed, the one thing that the person fills in, and its text with `{}` in its place.

    `otherwise` stands there when nothing is filled in; without it something must be.
    """

    name: str
    title: str
    description: str
    argument: str
    help: str
    otherwise: str | None
    text: str


_HONEST = (
    "Say of each statement where it comes from (path:line). Repeat what an answer says in warnings or limitsHit, and "
    "call nothing complete unless its answer says exhaustive."
)

PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        "explain_codebase",
        "Explain this codebase",
        "What it is for, how it is built, and where to begin reading.",
        "about",
        "a part or a question to look at most closely",
        "the whole of it",
        "Explain this codebase to a developer who has never seen it. Look most closely at: {}.\n\n"
        "1. Call repo_map once for folders, entry points and the signatures that most of it depends on.\n"
        "2. Call explore with a question for each part that matters; follow one request from its entry to its end.\n"
        "3. Read files only where an answer is not enough.\n\n"
        "Then write: what it does in three sentences; its parts and how they depend on each other; the way of one "
        "request; where to begin reading, as a list of at most seven places. " + _HONEST,
    ),
    Prompt(
        "find_place",
        "Find the place for a change",
        "Where a change belongs, what it touches, and which tests to run.",
        "change",
        "what is to change",
        None,
        "Find where this change belongs, and do not make it yet: {}\n\n"
        "1. Call explore with the change as a question, and search_codebase where that is too narrow.\n"
        "2. For each definition that would change call explore with mode impact, and with mode tests.\n"
        "3. Look for one that does the same already before you propose a new one.\n\n"
        "Then write: the places to edit, in order, each with its reason; what uses them and could break, and how sure "
        "that is; the tests to run; what you could not find out. " + _HONEST,
    ),
    Prompt(
        "review_changes",
        "Review changes",
        "What the changes since a commit reach, and what they forgot.",
        "since",
        "the commit or branch to compare with",
        "the last commit",
        "Review what has changed here since {}.\n\n"
        "1. Call explore with mode changes for the definitions that changed and what reaches them (about names the "
        "commit; leave it out for the last one).\n"
        "2. For each that others use call explore with mode impact: does every use still fit?\n"
        "3. Call explore with mode tests: which tests reach the change, and which parts does none reach?\n\n"
        "Then write findings, worst first, each with path:line, what happens and how to show it; then what you looked "
        "at and found right. Do not write about style. " + _HONEST,
    ),
)


def prompted(name: str, given: Mapping[str, str]) -> str:
    """Return the text of a prompt with what was filled in; raise `InvalidRequest` for what it does not take."""
    prompt = {one.name: one for one in PROMPTS}.get(name)
    if prompt is None:
        names = ", ".join(one.name for one in PROMPTS)
        raise InvalidRequest(field="name", why=f"there is no such prompt; there are {names}")
    for other in given.keys() - {prompt.argument}:
        raise InvalidRequest(field=other, why=f"this prompt takes only {prompt.argument}")
    said = given.get(prompt.argument, "").strip() or prompt.otherwise
    if said is None:
        raise InvalidRequest(field=prompt.argument, why=f"it is missing: {prompt.help}")
    if len(said) > MAX_QUERY_CHARS:
        raise InvalidRequest(field=prompt.argument, why=f"it has more than {MAX_QUERY_CHARS:,} characters")
    head, _, tail = prompt.text.partition("{}")
    return head + said + tail
