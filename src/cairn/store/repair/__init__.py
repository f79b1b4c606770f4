"""What is damaged in a store, and what makes it whole again: `verify` reads every byte, `salvage` plans and mends."""

from __future__ import annotations

from enum import StrEnum


class RepairScope(StrEnum):
    """How much a repair has to do: nothing, put things in order, read some files again, or all of them."""

    NONE = "none"
    TIDY = "tidy"
    FILES = "files"
    FULL = "full"
