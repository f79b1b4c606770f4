"""Traits of YAML: keys, and a grammar that fails on too many open blocks."""

from __future__ import annotations

from cairn.syntax.traits import Traits

# The YAML grammar keeps its open blocks in a buffer for about 250 blocks and writes beyond its end.
_MOST_BLOCKS = 200


def _overruns(data: bytes) -> bool:
    """Whether a line may open more blocks than the YAML grammar has room for; each block takes at least a column."""
    for line in data.split(b"\n"):
        if len(line) >= _MOST_BLOCKS:
            indent = len(line) - len(line.lstrip())
            if indent + sum(line.count(mark) for mark in (b"- ", b"? ", b": ")) >= _MOST_BLOCKS:
                return True
    return False


TRAITS = Traits(
    "yaml",
    overruns=_overruns,
)
