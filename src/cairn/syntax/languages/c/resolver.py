"""Resolve includes of C and C++: beside the file, else the one file whose path ends like the include."""

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
from cairn.syntax.traits import words

# Headers of the language and of POSIX: a file of this name means them only where it stands in a folder of headers.
_SYSTEM = frozenset(
    f"{name}.h"
    for name in words("""
    assert complex ctype dirent dlfcn endian errno fcntl fenv float getopt glob inttypes iso646 libgen limits locale
    malloc math memory netdb poll pthread pwd regex resolv sched search semaphore setjmp signal spawn stdalign stdarg
    stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings syslog termios tgmath threads time uchar
    unistd utime wchar wctype windows
    """)
)


class CModules(Resolver):
    """The includes of C and C++."""

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return the included file; unresolved when several files match equally well."""
        if imported.name:
            # `using a::b` names a definition of an included file and leads to no file by itself.
            return UNRESOLVED
        written = imported.module
        beside = normal(parent(path), written)
        if beside is not None and beside in self._files:
            return inside((beside,), "*")
        plain = normal("", written)
        if plain is None or written.startswith("/"):
            return UNRESOLVED
        named = self._files.by_name.get(plain.rpartition("/")[2], ())
        if len(named) > MOST_FILES:
            return UNRESOLVED
        fits = [each for each in named if each == plain or each.endswith(f"/{plain}")]
        if plain in _SYSTEM:
            fits = [each for each in fits if parent(each).rpartition("/")[2] in ("include", "inc", "")]
        if len(fits) > 1:
            # Of several projects in one repository, the include folders nearest to the file come first.
            around = above(parent(path))[:128]
            near = (below(folder, root) for folder in around for root in ("", "include", "src", "inc"))
            close = [place for folder in near if (place := below(folder, plain)) in self._files]
            fits = close[:1] or fits
        if len(fits) == 1:
            return inside((fits[0],), "*")
        return UNRESOLVED if fits else EXTERNAL

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter in the form `Type name`."""
        return follows_a_type(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared by a type before it, or by `auto`."""
        return is_declared_by_type(before, after) or super().declares(before, after)


RESOLVER = CModules
