"""Return one page of the uses of a definition: the sure ones first, then imports, then places that may mean it.

Uses are grouped by their role: what is called, what is passed on, what is read, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core import limits
from cairn.core.limits import MAX_SHOWN_LINE_CHARS
from cairn.core.types import NOT_BEHIND, Behind
from cairn.graph.facts import FIELDS, Place
from cairn.graph.heirs import IMPLEMENTATION, OVERRIDE, Heir, Heirs
from cairn.graph.importers import ImportSite, name_in_list
from cairn.graph.occurrences import IMPORT
from cairn.graph.outline import Definition, definition_of
from cairn.graph.references import Graph, Site, SymbolUses
from cairn.graph.scopes import SEMANTIC, SYNTACTIC, Tier
from cairn.search.places import is_test


class UseRole(StrEnum):
    """What a use does with a definition, in the order in which uses are listed.

    Overrides and implementations are definitions themselves; they are listed only for somebody who asks for them. A
    decorator is asked for by that name too, and listed as an annotation.
    """

    CALL = "call"
    ANNOTATION = "annotation"
    DECORATOR = "decorator"
    VALUE = "value"
    READ = "read"
    WRITE = "write"
    TYPE = "type"
    BASE = "base"
    OVERRIDE = OVERRIDE
    IMPLEMENTATION = IMPLEMENTATION
    IMPORT = IMPORT
    STRING = "string"


_FURTHER_LOOKS = 1
_PLACE_OF_ROLE = {role.value: place for place, role in enumerate(UseRole)}
# Kinds that code names behind a value, where members need one.
_OF_VALUES = FIELDS | {"method"}
_SURE_ENOUGH = {
    Tier.PROVEN: (Tier.PROVEN,),
    Tier.LIKELY: (Tier.PROVEN, Tier.LIKELY),
    Tier.NAME_ONLY: (Tier.PROVEN, Tier.LIKELY, Tier.NAME_ONLY),
}


@dataclass(frozen=True, slots=True)
class Use:
    """A place that names a definition: an import, a call or another use.

    Attributes:
        path: The file, relative to the root.
        line: The line, counted from 1.
        column: The column, counted in characters from 1.
        start_byte: Where the name begins in the file, in bytes.
        kind: The role of the use, such as `import` or `call`.
        tier: How sure it is that this definition is meant: `proven`, `likely` or `name_only`.
        inside: The dotted name of the definition around the use; empty at the top of the file.
        text: The line, or the part of a very long line around the name.
        layer: Who knows what the name means: the syntax of the file (`syntactic`) or an indexer (`semantic`).
    """

    path: str
    line: int
    column: int
    start_byte: int
    kind: str
    tier: str
    inside: str
    text: str
    layer: str = SYNTACTIC

    @property
    def place(self) -> str:
        """The file and line as `path:line`."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Uses:
    """The imports and uses of one definition: one page of them, and the counts of all.

    Attributes:
        definitions: Every place that defines it; a function may be declared in one file and written in another.
        uses: This page: proven and likely uses first, those of tests last among them; then the imports; then the
            places that may mean it. Each part is grouped by role, and each group in order of path and line. Where
            very many places have the name, those in the nearest files come so ordered before all others.
        total: How many uses are sure enough to be listed, on all pages; those that were not looked at count.
        imports: How many of all uses are imports.
        proven: How many other uses are proven.
        likely: How many are likely.
        name_only: How many have the same name and may mean something else.
        elsewhere: How many have the same name and are known to mean something else.
        offset: How many uses stand on the pages before this one.
        question: Identifies the question in the token of the next page.
        not_looked_at: How many of `name_only` stand in files that were not looked at for this page.
        files_left: How many files were not looked at for this page and may hold the name.
        mentions: How many more places in comments and in texts have the name; they are never listed.
        candidates: The other definitions of the name that was asked about.
        behind: How many files are not as an indexer read them, and how many depend on these.
        roles: How many uses of each role are sure enough to be listed, whichever were asked for.
    """

    definitions: tuple[Definition, ...]
    uses: tuple[Use, ...]
    total: int
    imports: int
    proven: int
    likely: int
    name_only: int
    elsewhere: int
    offset: int = 0
    question: str = ""
    not_looked_at: int = 0
    files_left: int = 0
    mentions: int = 0
    candidates: tuple[Definition, ...] = ()
    behind: Behind = NOT_BEHIND
    roles: tuple[tuple[str, int], ...] = ()


def uses_of(
    graph: Graph,
    place: Place,
    *,
    min_tier: Tier,
    offset: int,
    limit: int,
    question: str = "",
    roles: Collection[str] = (),
) -> Uses:
    """Return a page of the uses of a definition whose tier is at least `min_tier`, the most telling ones first.

    With `roles` only uses of these roles are listed; all are counted.
    """
    roles = {UseRole.ANNOTATION.value if role == UseRole.DECORATOR else role for role in roles}
    pages = _UsesSoFar(graph, place, min_tier, roles)
    heirs = _heirs(graph, place, roles)
    only_heirs, further = bool(roles) and {*roles} <= {OVERRIDE, IMPLEMENTATION}, 0
    for found in graph.looks(place, limits.USES_LOOKED_AT):
        pages.add(found, heirs)
        heirs = []
        further += len(pages.listed) > offset
        # Somebody who sees some uses need not wait for those far away; with nothing to show the search goes on.
        is_enough = only_heirs or len(pages.listed) >= offset + limit or further > _FURTHER_LOOKS
        if is_enough or pages.looked_at >= limits.MAX_USES_LOOKED_AT:
            break
    shown = pages.listed[offset : offset + limit]
    # What was not looked at may be listed on a later page; without a count of it there is one more at least.
    left = max(found.not_looked_at, int(found.files_left > 0)) if pages.looked_at < limits.MAX_USES_LOOKED_AT else 0
    return Uses(
        definitions=_definitions(graph, place, found),
        uses=tuple(_use(graph, tier, site, semantic) for tier, site, semantic in shown),
        total=len(pages.listed) + left,
        imports=pages.imports,
        proven=pages.tiers[Tier.PROVEN],
        likely=pages.tiers[Tier.LIKELY],
        name_only=pages.tiers[Tier.NAME_ONLY] + found.not_looked_at,
        elsewhere=pages.elsewhere,
        offset=offset,
        question=question,
        not_looked_at=found.not_looked_at,
        files_left=found.files_left,
        mentions=pages.mentions,
        roles=tuple(sorted(pages.roles.items(), key=lambda each: _PLACE_OF_ROLE[each[0]])),
    )


class _Listed(NamedTuple):
    tier: Tier
    site: Site | ImportSite
    semantic: Set[tuple[str, int]]


class _UsesSoFar:
    """The uses that are listed, those of the nearest files first, and the counts of all that were looked at."""

    def __init__(self, graph: Graph, place: Place, min_tier: Tier, roles: Collection[str]) -> None:
        self._graph, self._roles = graph, roles
        self._sure_enough = _SURE_ENOUGH[min_tier]
        facts = graph.names.facts(place.path)
        self._is_member = facts.symbols[place.number].kind in _OF_VALUES and not facts.traits.bare_members
        self.listed: list[_Listed] = []
        self.tiers, self.roles = Counter[Tier](), Counter[str]()
        self.imports = self.elsewhere = self.mentions = self.looked_at = 0

    def add(self, found: SymbolUses, heirs: Iterable[Heir]) -> None:
        """Add the uses of some files, and heirs, behind those that are listed."""
        of_tier = {Tier.PROVEN: found.proven, Tier.LIKELY: found.likely, Tier.NAME_ONLY: found.name_only}
        for tier, sites in of_tier.items():
            imports = sum(site.kind == IMPORT for site in sites) if tier is not Tier.NAME_ONLY else 0
            self.imports += imports
            self.tiers[tier] += len(sites) - imports
        self.imports += len(found.imports)
        self.elsewhere += found.elsewhere_count
        self.mentions += found.mentions
        self.looked_at += sum(map(len, of_tier.values())) + found.elsewhere_count
        self._list(
            [
                *(_Listed(_tier_of(self._graph, site), site, found.semantic) for site in found.imports),
                *(_Listed(tier, site, found.semantic) for tier in self._sure_enough for site in of_tier[tier]),
                *(_Listed(heir.tier, heir.site, frozenset()) for heir in heirs),
            ]
        )

    def _list(self, found: list[_Listed]) -> None:
        sure = [each for each in found if each.tier in self._sure_enough]
        self.roles.update(_role(each.site) for each in sure)
        sure = [each for each in sure if not self._roles or _role(each.site) in self._roles]
        sure.sort(key=lambda each: _order(each.tier, each.site, is_member=self._is_member))
        self.listed += sure


def _role(site: Site | ImportSite) -> str:
    return IMPORT if isinstance(site, ImportSite) else site.kind


def _heirs(graph: Graph, place: Place, roles: Collection[str]) -> list[Heir]:
    """Return the overrides and implementations of a definition, as far as they are asked for."""
    if OVERRIDE not in roles and IMPLEMENTATION not in roles:
        return []
    return [each for each in Heirs(graph).of(place) if each.site.kind in roles]


def _order(tier: Tier, site: Site | ImportSite, *, is_member: bool) -> tuple[int, bool, bool, int, str, int]:
    """Return what a use is sorted by: sure uses, imports, the others; of each the tests last, then by role.

    Of what only has the name of a member, the members of any value come before bare names.
    """
    if isinstance(site, ImportSite):
        return 1, False, is_test(site.path), 0, site.path, site.imported.start_byte
    part = 2 if tier is Tier.NAME_ONLY else int(site.kind == IMPORT)
    is_bare = part > 0 and is_member and not site.receiver
    return part, is_bare, is_test(site.path), _PLACE_OF_ROLE[site.kind], site.path, site.start_byte


def _tier_of(graph: Graph, site: ImportSite) -> Tier:
    """Return the tier of an import: `likely` when the import may lead to another definition as well."""
    bound = graph.binder.scopes.sure(graph.names.leads_to(site.path, site.imported).places)
    return bound.tier if bound else Tier.LIKELY


def _definitions(graph: Graph, place: Place, found: SymbolUses) -> tuple[Definition, ...]:
    written = [(each.path, each.symbol) for each in found.definitions]
    if graph.names.facts(place.path).traits.includes:
        # A prototype in a header is a declaration of the definition too.
        name = written[0][1].name
        for path in sorted({path for path, _ in graph.view.symbols_named(name)} - {place.path}):
            places = [each for each in graph.places(path, name) if graph.importers.same(place, each)]
            written += [(path, graph.names.facts(path).symbols[each.number]) for each in places]
    return tuple(definition_of(path, graph.names.facts(path).language, symbol) for path, symbol in written)


def _use(graph: Graph, tier: Tier, site: Site | ImportSite, semantic: Set[tuple[str, int]]) -> Use:
    facts = graph.names.facts(site.path)
    if isinstance(site, Site):
        at, line, kind, inside = site.start_byte, site.line, site.kind, site.inside
    else:
        start = site.imported.start_byte
        at = _indexed(facts.text, site.path, name_in_list(facts.text, start, site.imported), semantic)
        line, kind = site.line + facts.text.count(b"\n", start, at), IMPORT
        around = facts.scopes.get(start, -1)
        inside = facts.qualified(around) if around >= 0 else ""
    layer = SEMANTIC if (site.path, at) in semantic else SYNTACTIC
    tier = Tier.PROVEN if layer is SEMANTIC else tier
    column, text = shown_line(facts.text, at)
    return Use(site.path, line, column, at, kind, tier.value, inside, text, layer)


def _indexed(text: bytes, path: str, at: int, semantic: Set[tuple[str, int]]) -> int:
    """Return the first byte from `at` to the end of its line that an indexer knows as a use, else `at`."""
    end = text.find(b"\n", at)
    known = [byte for file, byte in semantic if file == path and at <= byte < (end if end >= 0 else len(text) + 1)]
    return min(known, default=at)


def shown_line(data: bytes, at: int, most: int = MAX_SHOWN_LINE_CHARS) -> tuple[int, str]:
    """Return the column of a byte and the text of its line; of a very long line the part around the byte."""
    first = data.rfind(b"\n", 0, at) + 1
    last = data.find(b"\n", at)
    # Only UTF-8 is indexed, so nothing is replaced unless the store is damaged.
    before = data[first:at].decode("utf-8", "replace")
    text = before + data[at : last if last >= 0 else len(data)].decode("utf-8", "replace").removesuffix("\r")
    begins = max(0, len(before) - most // 2) if len(text) > most else 0
    return len(before) + 1, text[begins : begins + most]


# --- The local names of one function, each place with its line, its column and its role.


class Binding(NamedTuple):
    """A local name: the byte at which its scope begins, and its places as (byte, role)."""

    name: str
    scope: int
    places: Iterable[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class LocalUse:
    """A place of a local name; `column` counts characters from 1."""

    line: int
    column: int
    start_byte: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class LocalVariable:
    """A local name, the line on which its scope begins, and its places."""

    name: str
    scope_line: int
    places: tuple[LocalUse, ...]


@dataclass(frozen=True, slots=True)
class Locals:
    """A function and its local names, in the order of their first places."""

    definition: Definition
    names: tuple[LocalVariable, ...]


def locals_of(definition: Definition, text: bytes, found: Iterable[Binding]) -> Locals:
    """Return the local names of a function, with lines and columns from the text of its file."""
    names = []
    for name, scope, places in found:
        shown = tuple(_local_use(text, at, role) for at, role in places)
        names.append(LocalVariable(name, text.count(b"\n", 0, scope) + 1, shown))
    return Locals(definition, tuple(names))


def _local_use(text: bytes, at: int, role: str) -> LocalUse:
    column, line = shown_line(text, at)
    return LocalUse(text.count(b"\n", 0, at) + 1, column, at, role, line)
