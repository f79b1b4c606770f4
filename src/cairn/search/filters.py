"""Decide which files a query may find: by language, by globs of paths, and by scope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cairn.search.places import (
    Flags,
    PathPattern,
    PathTable,
    Places,
    SearchScope,
    glob_pattern,
    in_scope,
    place_of,
    places,
)
from cairn.search.query import Query


class FileFilter:
    """The files that one query may find, asked for one file or for all files of a view at once."""

    def __init__(self, query: Query) -> None:
        self._languages = frozenset(query.languages)
        self._include = _any_of(query.include)
        self._exclude = _any_of(query.exclude)
        self._scope = query.scope

    @property
    def takes_all(self) -> bool:
        """Whether every file may be found."""
        return not (self._languages or self._include or self._exclude) and self._scope is SearchScope.ALL

    @property
    def asks_language(self) -> bool:
        return bool(self._languages)

    def __call__(self, path: str, language: str) -> bool:
        """Whether this file may be found."""
        if self._languages and language not in self._languages:
            return False
        if self._include and not self._include.matches(path):
            return False
        if self._exclude and self._exclude.matches(path):
            return False
        return bool(in_scope(np.array([place_of(path)], np.uint8), self._scope)[0])

    def keep(self, table: PathTable, languages: Sequence[str] = (), known: Places | None = None) -> Flags:
        """Return for each path of the table whether its file may be found.

        `languages` are those of the paths, and needed only when `asks_language`. `known` are the roles of the files,
        if the caller has them.
        """
        kept = np.ones(len(table.paths), np.bool_)
        if self._languages:
            kept &= np.fromiter((language in self._languages for language in languages), np.bool_, len(table.paths))
        if self._include:
            kept &= table.matching(self._include)
        if self._exclude:
            kept &= ~table.matching(self._exclude)
        if self._scope is not SearchScope.ALL:
            kept &= in_scope(places(table) if known is None else known, self._scope)
        return kept


def file_filter(query: Query) -> FileFilter:
    """Return the filter of a query."""
    return FileFilter(query)


def _any_of(globs: Sequence[str]) -> PathPattern | None:
    return glob_pattern(*globs) if globs else None
