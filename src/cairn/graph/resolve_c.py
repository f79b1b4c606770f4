"""Includes of C and C++: beside the file, else the one file of the snapshot whose path ends like that."""

from __future__ import annotations

from cairn.core.types import Import
from cairn.graph.files import EXTERNAL, MOST_FILES, UNRESOLVED, Files, Target, above, below, inside, normal, parent


class CModules:
    """Finds the files that includes name."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> Target:
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

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """Files hold no modules."""
        return ()
