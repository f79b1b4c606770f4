"""Local names of C#, which are declared as in C. Its imports lead to no files."""

from __future__ import annotations

from cairn.syntax.resolver import Resolver, follows_a_type, is_declared_by_type


class CSharpNames(Resolver):
    """Knows what binds a name."""

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """`Type name`: the name follows a type."""
        return follows_a_type(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """As its type is written before it, or by `var`."""
        return is_declared_by_type(before, after) or super().declares(before, after)


RESOLVER = CSharpNames
