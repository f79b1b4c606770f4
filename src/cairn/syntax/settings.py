"""Settings files of a repository: JSON as people write it, with comments and commas too many, and TOML."""

from __future__ import annotations

import json
import re
import tomllib

# A string is taken whole, so that `"a//b"` holds no comment. Possessive, so that nothing is tried twice.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/', re.DOTALL)
_COMMAS = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*+[}\]])', re.DOTALL)
# Its reader takes quadratic time for `a.a.a.a...`: a quarter of a minute for 64 KiB.
_MOST_DOTS = 100
_TOML_PARTS = re.compile(r"[\n,={}\[\]]")


def json_of(text: str) -> object:
    """The value in a text; None for what is no JSON even with patience, or is nested too deep."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.lstrip("\ufeff"))
    plain = _COMMAS.sub(lambda found: found[1] or "", plain)
    try:
        value: object = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return value


def toml_of(text: str) -> dict[str, object]:
    """The tables in a text; none where it is no TOML, is nested too deep or has keys of too many parts."""
    if any(part.count(".") > _MOST_DOTS for part in _TOML_PARTS.split(text)):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def mapping(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
