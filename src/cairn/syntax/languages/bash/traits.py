"""Traits of Bash and similar shells."""

from __future__ import annotations

from cairn.syntax.lexis import OVER_LINES, Lexis
from cairn.syntax.traits import Traits

TRAITS = Traits(
    "bash",
    lexis=Lexis(
        (r"(?<![^\s;|&()])#[^\n]*",),
        (OVER_LINES, r"'[^']*(?:'|\Z)"),
        embeds=r"\$[({]?|`",
        begins_text=r"(?<!<)<<-?[ \t]*[\"'\\]?(?P<ends>[A-Za-z_]\w*)[\"']?",
    ),
)
