"""Tell what binds a name in C#, where names are declared as in C; imports of C# are not resolved."""

from __future__ import annotations

from cairn.syntax.resolver import Resolver, follows_a_type, is_declared_by_type


class CSharpNames(Resolver):
    """The bindings of C#."""

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter in the form `Type name`."""
        return follows_a_type(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared by a type before it, or by `var`."""
        return is_declared_by_type(before, after) or super().declares(before, after)


RESOLVER = CSharpNames
