"""Look at the places of a definition's names file by file, near files first, and no further than a question needs.

A name may stand at fifty thousands of places, and each costs some microseconds to bind. What an answer shows stands
near the definition: in its file, in files that import it, in its folder, in files that name the class around it. The
files come in that order, so a page of uses needs few of them, and of the others it is known how many uses the index
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from cairn.core import limits
from cairn.core.types import Reference
from cairn.graph.facts import Place
from cairn.graph.importers import ImportSite
from cairn.graph.names import SnapshotNames
from cairn.graph.occurrences import FoundPlace, Occurrences
from cairn.graph.scopes import Tier
from cairn.search.places import is_test
from cairn.store import NamedUses

# What a look costs is counted in places that are bound. Beside them stand a file that is opened, a mention that is
# passed over, and bytes that are read to tell comments and strings from code.
_FILE, _MENTION, _BYTES = 3.0, 0.3, 1 / 6_000
_MOST_NAMES = 32


class Gathered(NamedTuple):
    """A place that has a name of the definition, and how sure it is that it means it; None for something else."""

    path: str
    use: Reference
    tier: Tier | None


class GatheredUses(NamedTuple):
    """What some files hold.

    `imports` lead to the definition, `mentions` are comments and texts with the name. `left` uses that the index counts
    stand in `files_left` files that were not looked at yet. `spent` is what the look has cost.
    """

    found: list[Gathered]
    imports: tuple[ImportSite, ...]
    files: frozenset[str]
    mentions: int
    left: int
    files_left: int
    spent: float = 0.0


class Judge(NamedTuple):
    """How a graph decides what a use and a place in the text are to the definition that is asked about."""

    use: Callable[[str, Reference], Tier | None]
    place: Callable[[FoundPlace], Tier | None]


class NamesInUse:
    """The uses of the names that were asked for last, and the files with their words, kept for the next question."""

    def __init__(self, names: SnapshotNames, occurrences: Occurrences) -> None:
        self.names, self.occurrences = names, occurrences
        self.uses = lru_cache(_MOST_NAMES)(lambda name: NamedUses(names.view, name))
        self.files = lru_cache(_MOST_NAMES)(lambda name, family: tuple(self._files(name, family)))

    def _files(self, name: str, family: str) -> list[str]:
        return self.occurrences.files(name, lambda path: self.family(path) == family)

    def family(self, path: str) -> str:
        """Return the language family of a file; a language whose imports are not resolved is its own family."""
        return self.names.modules.family(path) or self.names.modules.files.languages.get(path, "")


class Gathering:
    """The places of the names of one definition; each `look` goes on where the last one ended."""

    def __init__(
        self,
        known: NamesInUse,
        place: Place,
        leading: tuple[tuple[ImportSite, ...], set[tuple[str, str]]],
        judge: Judge,
        *,
        everywhere: bool,
        first: Collection[str] = (),
    ) -> None:
        self._known, self._names, self._judge, self._everywhere = known, known.names, judge, everywhere
        self._symbol = known.names.facts(place.path).symbols[place.number]
        sites, aliases = leading
        self._imports: dict[str, list[ImportSite]] = {}
        for site in sites:
            self._imports.setdefault(site.path, []).append(site)
        self._aliases: dict[str, list[str]] = {}
        for path, alias in sorted(aliases):
            self._aliases.setdefault(path, []).append(alias)
        self._family = known.family(place.path)
        # A name in an import that leads to the definition is listed as that import.
        self._led = {(site.path, site.imported.start_byte, site.imported.name) for site in sites}
        uses = known.uses(self._symbol.name).counts()
        with_text = set(known.files(self._symbol.name, self._family)) if everywhere else set()
        self._counts = {path: uses.get(path, 0) for path in {*uses, *with_text, *self._imports, *self._aliases, *first}}
        self._left = sum(uses.values())
        near = {*self._imports, *first}
        around = self._symbol.container.rpartition(".")[2]
        naming = set(known.files(around, self._family)) if around else set()
        folder = place.path.rpartition("/")[0]

        def order(path: str) -> tuple[int, bool, str]:
            steps = path == place.path, path in near, path.rpartition("/")[0] == folder, path in naming
            is_far = len(steps) + (known.family(path) != self._family)
            return next((step for step, is_here in enumerate(steps) if is_here), is_far), is_test(path), path

        self._files = sorted(self._counts, key=order, reverse=True)

    @property
    def is_done(self) -> bool:
        """Whether every file was looked at."""
        return not self._files

    def look(self, cost: float, most: int | None = None) -> GatheredUses:
        """Look at the next files until so much is spent, or at `most` uses that the index holds; at one file at least.

        Of a file with more uses than `most` the others count as left for good.
        """
        found: list[Gathered] = []
        imports: list[ImportSite] = []
        files: set[str] = set()
        mentions, spent, uses_left = 0, 0.0, limits.MAX_USES_LOOKED_AT if most is None else most
        while self._files and spent < cost and uses_left > 0:
            path = self._files.pop()
            files.add(path)
            imports += self._imports.get(path, ())
            used = self._used(path)
            looked_at = used[:uses_left]
            uses_left -= len(looked_at)
            self._left -= sum(use.name == self._symbol.name for use in looked_at)
            here = [Gathered(path, use, self._judge.use(path, use)) for use in looked_at]
            if self._everywhere and self._known.family(path) == self._family:
                places, passed = self._in_text(path, used)
                here += [Gathered(path, each.use, self._judge.place(each)) for each in places]
                mentions += passed
                spent += passed * _MENTION
                if places or passed:
                    spent += len(self._names.facts(path).text) * _BYTES
            found += sorted(here, key=lambda each: each.use.start_byte)
            spent += _FILE + len(here)
        return GatheredUses(found, tuple(imports), frozenset(files), mentions, self._left, len(self._files), spent)

    def _used(self, path: str) -> list[Reference]:
        """Return the uses of a file that the index holds, by any name that the definition has there."""
        found = self._known.uses(self._symbol.name).in_file(path) if self._counts[path] else []
        for alias in self._aliases.get(path, ()):
            found += [each for each in self._names.facts(path).references if each.name == alias]
        return found

    def _in_text(self, path: str, used: list[Reference]) -> tuple[list[FoundPlace], int]:
        """Return the places of the definition's names in the text of a file, and the number of its mentions."""
        name, within = self._symbol.name, self._known.occurrences.in_file
        places, mentions = within(path, name, [use for use in used if use.name == name])
        for alias in self._aliases.get(path, ()):
            more = within(path, alias, [use for use in used if use.name == alias])
            places = places + [each for each in more.places if not each.is_key]
        return [each for each in places if not self._is_listed(each)], mentions

    def _is_listed(self, found: FoundPlace) -> bool:
        each = found.imported
        return each is not None and (found.path, each.start_byte, each.name) in self._led
