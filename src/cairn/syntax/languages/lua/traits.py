"""Traits of Lua: other files can see every definition that is not `local`."""

from __future__ import annotations

from cairn.syntax.lexis import AFTER_DASHES, IN_APOSTROPHES, IN_QUOTES, Lexis
from cairn.syntax.traits import Traits
from cairn.syntax.visibility import NOT_LOCAL

TRAITS = Traits(
    "lua",
    lexis=Lexis(
        (r"--\[(?P<deep>=*)\[.*?(?:\](?P=deep)\]|\Z)", AFTER_DASHES),
        (r"\[(?P<raw>=*)\[.*?(?:\](?P=raw)\]|\Z)", IN_QUOTES, IN_APOSTROPHES),
    ),
    visibility=NOT_LOCAL,
)
