"""Names of Ruby: imports are unresolved, and what a method assigns is a variable of its own."""

from __future__ import annotations

import re

from cairn.syntax.resolver import Resolver

_NOT_BEFORE = re.compile(r"[.@$:&]$")
_ASSIGNED = re.compile(r"\s*(?:,\s*[\w@, *]+)?\s*(?:[-+*/%|&]|<<|\*\*|\|\||&&)?=(?![=~>])")
_RESCUED = re.compile(r"\brescue\b[^\n]*=>\s*$")


class RubyNames(Resolver):
    """The rules of Ruby for what a method binds."""

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is assigned, takes what `rescue` has caught, or is a parameter of a block."""
        if _RESCUED.search(before) or (_ASSIGNED.match(after) and not _NOT_BEFORE.search(before)):
            return True
        return super().declares(before, after)


RESOLVER = RubyNames
