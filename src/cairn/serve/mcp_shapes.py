"""The tools as MCP lists them, and the shapes of their answers for those who want structured ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types

from cairn.answer.envelope import load_schema
from cairn.serve.calls import Described

Schema = dict[str, Any]

# Which envelopes a tool gives, besides the one of an error.
ANSWERS = {
    "search_codebase": ("cairn.search/1",),
    "file_outline": ("cairn.outline/1",),
    "call_graph": ("cairn.graph/1",),
    "read_file": ("cairn.read/1",),
    "find_symbol": ("cairn.symbol/1", "cairn.refs/1"),
    "repo_map": ("cairn.map/1",),
    "manage_index": ("cairn.run/1", "cairn.repair/1", "cairn.status/1"),
    "index_status": ("cairn.status/1",),
    "list_codebases": ("cairn.list/1",),
    "check_edit": ("cairn.gate/1",),
}
_ERROR = "cairn.error/1"
_LOCAL = "#/$defs/"


def tools(listed: Sequence[Described], *, structured: bool) -> list[types.Tool]:
    """These tools."""
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema,
            output_schema=answer_schema(tool.name) if structured else None,
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=tool.read_only,
                destructive_hint=tool.destructive,
                idempotent_hint=tool.idempotent,
                open_world_hint=False,
            ),
        )
        for tool in listed
    ]


def answer_schema(tool: str) -> Schema:
    """One schema for whatever a tool may answer.

    It refers only to itself and names no `$id`: hosts keep the schemas of all tools in one place, where an id that
    comes twice is refused.
    """
    found: Schema = {}
    names = [*ANSWERS[tool], _ERROR]
    for name in names:
        schema = load_schema(name)
        kind = _kind(name)
        parts = schema.pop("$defs", {})
        found[kind] = _moved({key: value for key, value in schema.items() if key not in ("$schema", "$id")}, kind)
        found |= {f"{kind}_{part}": _moved(value, kind) for part, value in parts.items()}
    return {"type": "object", "anyOf": [{"$ref": f"{_LOCAL}{_kind(name)}"} for name in names], "$defs": found}


def _kind(name: str) -> str:
    return name.removeprefix("cairn.").partition("/")[0]


def _moved(value: Any, kind: str) -> Any:
    """The schema with what it refers to under the names that the parts of this kind have."""
    if isinstance(value, list):
        return [_moved(one, kind) for one in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(one, kind) for key, one in value.items()}
    target = value.get("$ref")
    if isinstance(target, str):
        moved["$ref"] = f"{_LOCAL}{kind}_{target.removeprefix(_LOCAL)}"
    return moved
