"""Includes of C and C++: beside the file, else the one file of the snapshot whose path ends like that."""

from __future__ import annotations

from cairn.core.types import Import
from cairn.syntax.resolver import (
    EXTERNAL,
    MOST_FILES,
    UNRESOLVED,
    ImportTarget,
    Resolver,
    above,
    below,
    follows_a_type,
    inside,
    is_declared_by_type,
    normal,
    parent,
)


class CModules(Resolver):
    """Finds the files that includes name."""

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """The included file; what fits several files equally well is unresolved."""
        if imported.name:
            # `using a::b` names what some include has brought; it leads to no file by itself.
            return UNRESOLVED
        words = imported.module
        beside = normal(parent(path), words)
        if beside is not None and beside in self._files:
            return inside((beside,), "*")
        plain = normal("", words)
        if plain is None or words.startswith("/"):
            return UNRESOLVED
        named = self._files.by_name.get(plain.rpartition("/")[2], ())
        if len(named) > MOST_FILES:
            return UNRESOLVED
        fits = [each for each in named if each == plain or each.endswith(f"/{plain}")]
        if len(fits) > 1:
            # An include folder of the same project is nearer than one of another.
            around = above(parent(path))[:128]
            near = (below(folder, root) for folder in around for root in ("", "include", "src", "inc"))
            close = [place for folder in near if (place := below(folder, plain)) in self._files]
            fits = close[:1] or fits
        if len(fits) == 1:
            return inside((fits[0],), "*")
        return UNRESOLVED if fits else EXTERNAL

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """`Type name`: the name follows a type."""
        return follows_a_type(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """As its type is written before it, or by `auto`."""
        return is_declared_by_type(before, after) or super().declares(before, after)


RESOLVER = CModules
