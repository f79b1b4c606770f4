"""Traits of Zig: only `pub` and `export` make a name visible."""

from __future__ import annotations

from cairn.core.types import Symbol
from cairn.syntax.lexis import AFTER_SLASHES, CHARACTER, IN_QUOTES, Lexis
from cairn.syntax.traits import Traits
from cairn.syntax.visibility import OwnExports, Visibility, has_word


def _zig(kind: str, _name: str, before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return kind in ("field", "enum_member") or has_word(before, "pub", "export")


TRAITS = Traits(
    "zig",
    lexis=Lexis((AFTER_SLASHES,), (r"\\\\[^\n]*", IN_QUOTES, CHARACTER)),
    visibility=Visibility(_zig),
)
