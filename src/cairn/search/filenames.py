"""What the names of files and folders say: which files have a word in their name, and in how many words it is written.

Read from the path field of the index, term by term as queries ask, and remembered: a tree of sixty thousand files is
never taken apart as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.tokens import terms_of, words
from cairn.engine.local import LocalEngine, Match

Files = NDArray[np.int64]

# Terms that are remembered at once; a long session with ever new words starts again.
_MOST_REMEMBERED = 1 << 12


class Named(NamedTuple):
    """The files with a word as a part of their name, those whose whole name it is, both, and those in such a folder."""

    part: Files
    whole: Files
    either: Files
    folder: Files


_NOBODY = Named(*(np.zeros(0, np.int64) for _ in Named._fields))


class FileNames:
    """The names of an engine's files. Make it once for an engine."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._known: dict[str, Named] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._sizes = np.zeros(len(engine.paths), np.int64)

    def named(self, term: str, match: Match | None) -> Named:
        """The files that are named by a term, which stands in these rows of the path field."""
        if match is None:
            return _NOBODY
        found = self._known.get(term)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[term] = self._look(term, match)
        return found

    def sizes(self, files: Files) -> Files:
        """How many words the names of these files have; only for files that were `named`."""
        return self._sizes[files]

    def _look(self, term: str, match: Match) -> Named:
        part, whole, folder = [], [], []
        for place in np.unique(self._engine.file_of_row[match.rows]).tolist():
            above, _, name = self._engine.paths[place].rpartition("/")
            complete, inner = _name_terms(name)
            self._sizes[place] = len(inner)
            if term in inner:
                part.append(place)
            if term == complete:
                whole.append(place)
            if above and term in self._folder_terms(above):
                folder.append(place)
        either = sorted({*part, *whole})
        return Named(*(np.array(places, np.int64) for places in (part, whole, either, folder)))

    def _folder_terms(self, folder: str) -> frozenset[str]:
        found = self._folders.get(folder)
        if found is None:
            found = self._folders[folder] = frozenset(part for word in words(folder) for part in parts_of(word))
        return found


def stem_of(name: str) -> str:
    """The name of a file without its last ending: `a.test.js` is `a.test`, `.bashrc` stays."""
    return name.rpartition(".")[0] or name


def parts_of(word: str) -> tuple[str, ...]:
    """The terms of a word's parts; the whole is none of them, unless the word has only one part."""
    found = terms_of(word)
    return found[1:] if len(found) > 2 else found


def _name_terms(name: str) -> tuple[str | None, frozenset[str]]:
    """The term of a file's whole name, if it is one word, and the terms of its parts."""
    found = words(stem_of(name))
    whole = terms_of(found[0])[:1] if len(found) == 1 else ()
    return (whole[0] if whole else None), frozenset(part for word in found for part in parts_of(word))
