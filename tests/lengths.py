"""How long the long tests are: with `CAIRN_LONG_SHARE=4` the longest of them draw a quarter of what they would."""

from __future__ import annotations

import os

_SHARE = int(os.environ.get("CAIRN_LONG_SHARE", "1"))


def at_length(count: int) -> int:
    """So many of them, or the share of this run."""
    return max(1, count // _SHARE)
