"""Read the settings files of a repository: TOML, and JSON with comments and trailing commas."""

from __future__ import annotations

import json
import re
import tomllib

# A string is matched whole, so that `"a//b"` contains no comment; possessive, so that matching never backtracks.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/', re.DOTALL)
_COMMAS = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*+[}\]])', re.DOTALL)
# The TOML reader takes quadratic time for `a.a.a.a...`: 15 s for 64 KiB.
_MOST_DOTS = 100
_TOML_PARTS = re.compile(r"[\n,={}\[\]]")


def json_of(text: str) -> object:
    """Return the value of a JSON text; None when it is no JSON or is nested too deep."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text.lstrip("\ufeff"))
    plain = _COMMAS.sub(lambda found: found[1] or "", plain)
    try:
        value: object = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return value


def toml_of(text: str) -> dict[str, object]:
    """Return the tables of a TOML text; empty when it is no TOML, is nested too deep or has keys of too many parts."""
    if any(part.count(".") > _MOST_DOTS for part in _TOML_PARTS.split(text)):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def mapping(value: object) -> dict[str, object]:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""
