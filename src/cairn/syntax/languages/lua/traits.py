"""Lua: what is not `local` can be seen from other files."""

from __future__ import annotations

from cairn.syntax.traits import Traits
from cairn.syntax.visibility import NOT_LOCAL

TRAITS = Traits(
    "lua",
    visibility=NOT_LOCAL,
)
