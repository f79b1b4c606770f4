"""What a file imports and what another offers, as keys: a new file may be what an import means from now on.

A new `tools/__init__.py` takes the place of `tools.py`, a new `json.py` that of a library. No bytes of those who import
them change, and nothing they were known to lean on. A key may say too much, and then a file is looked at once more; an
import that names a place is taken for that place only.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from cairn.core.types import Import
from cairn.semantic.families import family_of
from cairn.semantic.model import Family
from cairn.semantic.symbols import place_beside

_WORDS = re.compile(r"[\w$-]+")
# Files that stand for their folder.
_FOR_FOLDERS = frozenset({"__init__", "index", "mod"})
_PLACE = "="


def imported_keys(path: str, imports: Iterable[Import]) -> frozenset[str]:
    """The keys of all that a file may import: the place of what is named relative to it, else every word."""
    family, keys = family_of(path), set[str]()
    for one in imports:
        # A name that is imported from a package of Python may be a module; from one of TypeScript it never is.
        name = () if family is Family.TYPESCRIPT else (one.name,)
        if not one.module.startswith("."):
            keys.update(_WORDS.findall(" ".join((one.module, *name))))
            continue
        place = place_beside(path, one.module) if family is Family.PYTHON else _from(path, one.module)
        keys.update(_PLACE + each for each in (place, *(posixpath.join(place, each) for each in name if each)))
    return frozenset(keys)


def offered_keys(path: str) -> frozenset[str]:
    """The keys by which others may import a file. In Go they name folders, and no file takes the place of another."""
    if family_of(path) is Family.GO:
        return frozenset()
    place = _without_suffix(path)
    folder, stem = posixpath.split(place)
    places = [place, folder] if stem in _FOR_FOLDERS else [place]
    words = [_WORDS.match(posixpath.basename(each)) for each in places]
    return frozenset((*(_PLACE + each for each in places), *(word[0] for word in words if word)))


def _from(path: str, module: str) -> str:
    """The place of `./name` or `../pack/name.js` elsewhere."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    return _without_suffix(found) if family_of(found) else found


def _without_suffix(path: str) -> str:
    return posixpath.splitext(path)[0].removesuffix(".d")
