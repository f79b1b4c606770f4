"""Traits of C: a prototype and its definition are one, and an include brings everything of a file."""

from __future__ import annotations

from cairn.syntax.conditions import directives
from cairn.syntax.lexis import AFTER_SLASHES_JOINED, BLOCK, CHARACTER, IN_QUOTES, Lexis
from cairn.syntax.traits import Main, Traits, words
from cairn.syntax.visibility import NOT_STATIC

TRAITS = Traits(
    "c",
    lexis=Lexis((AFTER_SLASHES_JOINED, BLOCK), (IN_QUOTES, CHARACTER)),
    visibility=NOT_STATIC,
    conditions=directives,
    family="c",
    resolver="c",
    own=words("this (*this)"),
    includes=True,
    arrows_lead_to_members=True,
    seen_through=words("namespace"),
    types_are_names=True,
    type_first=True,
    main=Main.AT_TOP,
    common=words("""
append at back begin c_str clear data empty end erase find front get insert length pop push push_back reset size str
"""),
)
