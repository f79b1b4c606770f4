"""What can be attached to a conversation without a call: where an index stands, and the map of a codebase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mcp_types as types
from mcp.shared.uri_template import UriTemplate

MIME_TYPE = "application/json"
_MOST_LISTED = 50


class Asked(NamedTuple):
    """The tool that answers, and the root that it is asked about."""

    tool: str
    root: str


class _Kind(NamedTuple):
    tool: str
    template: str
    title: str
    description: str


_KINDS = (
    _Kind(
        "index_status",
        "cairn://status/{root}",
        "Where an index stands",
        "How many files are indexed, when, with which model, and whether a run is at work.",
    ),
    _Kind(
        "repo_map",
        "cairn://map/{root}",
        "Map of a codebase",
        "What a codebase consists of, in few tokens.",
    ),
)


def templates() -> list[types.ResourceTemplate]:
    """The kinds of resources; `root` is the path of a codebase."""
    return [
        types.ResourceTemplate(
            name=kind.tool,
            title=kind.title,
            uri_template=kind.template,
            description=kind.description,
            mime_type=MIME_TYPE,
        )
        for kind in _KINDS
    ]


def listed(roots: Sequence[str]) -> list[types.Resource]:
    """The resources of these codebases, of a bounded number of them."""
    # What is no text can be asked for by a tool, but cannot stand in an address.
    shown = [root for root in roots if root.isprintable()][:_MOST_LISTED]
    return [
        types.Resource(
            name=f"{kind.tool} {root}",
            title=kind.title,
            uri=UriTemplate.parse(kind.template).expand({"root": root}),
            description=kind.description,
            mime_type=MIME_TYPE,
        )
        for root in shown
        for kind in _KINDS
    ]


def asked(uri: str) -> Asked | None:
    """What an address asks for; the slashes of the root may be written as they are."""
    for kind in _KINDS:
        found = UriTemplate.parse(kind.template.replace("{root}", "{+root}")).match(uri)
        root = found.get("root") if found else None
        if isinstance(root, str) and root:
            return Asked(kind.tool, root)
    return None
