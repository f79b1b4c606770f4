"""JSON as people write it in settings: with comments and commas too many. What cannot be read is None."""

from __future__ import annotations

import json
import re

# A string is taken whole, so that `"a//b"` holds no comment. Possessive, so that nothing is tried twice.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/', re.DOTALL)
_COMMAS = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*+[}\]])', re.DOTALL)


def loads(text: str) -> object:
    """The value in a text; None for what is no JSON even with patience, or is nested too deep."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.lstrip("\ufeff"))
    plain = _COMMAS.sub(lambda found: found[1] or "", plain)
    try:
        value: object = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return value


def mapping(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
