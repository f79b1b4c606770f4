"""TOML in settings of a repository. What cannot be read is empty."""

from __future__ import annotations

import re
import tomllib

# Its reader takes quadratic time for `a.a.a.a...`: a quarter of a minute for 64 KiB.
_MOST_DOTS = 100
_PARTS = re.compile(r"[\n,={}\[\]]")


def loads(text: str) -> dict[str, object]:
    """The tables in a text; none where it is no TOML, is nested too deep or has keys of too many parts."""
    if any(part.count(".") > _MOST_DOTS for part in _PARTS.split(text)):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
