"""Traits of Lua: other files can see every definition that is not `local`."""

from __future__ import annotations

from cairn.syntax.traits import Traits
from cairn.syntax.visibility import NOT_LOCAL

TRAITS = Traits(
    "lua",
    visibility=NOT_LOCAL,
)
