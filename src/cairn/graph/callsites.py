"""The calls of a snapshot as edges between definitions; callers and callees give the same edges.

An edge starts at the definition around the call: the innermost function, class, property or macro. A call outside of
all of them belongs to the variable whose value it computes, or to the file. All declarations of a definition are one
node: overloads, the `impl` blocks of a type, a prototype and its body. A constructor and its class are one node too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from cairn.core import limits
from cairn.core.types import Reference
from cairn.graph.facts import CALLABLES, CLASSES, Facts, Place
from cairn.graph.references import Graph, Site, SymbolUses
from cairn.graph.scopes import Bound, Tier, is_literal
from cairn.graph.shadows import binds

_CALLED = frozenset({"call", "annotation"})
_AROUND = CALLABLES | CLASSES | {"property", "macro"}
_NAMELESS = frozenset({"module", "namespace"})
_WORD = re.compile(r"[^\s\x00-\x1f]{1,200}")
# The most calls that are bound for one question: a hostile file has 200,000.
_MOST_CALLS = 20_000
# The most definitions that a call leads to when its name is all that is known of it.
_MOST_CANDIDATES = 20


class EdgeKind(StrEnum):
    """How one definition leads to another. `DYNAMIC` is a call of a method on a value whose class is not proven."""

    CALL = "call"
    IMPORT = "import"
    DYNAMIC = "dynamic"


class Call(NamedTuple):
    """One call, or an import by a file that has no known call of the definition.

    `semantic` says that an indexer knows what the call leads to.
    """

    src: Place
    dst: Place
    kind: EdgeKind
    tier: Tier
    path: str
    start_byte: int
    line: int
    semantic: bool = False


class Callees(NamedTuple):
    """The calls inside a definition.

    `unknown` are calls without a known target, each with the number of definitions that have its name. `not_looked_at`
    calls were over the limit.
    """

    uses: list[Call]
    unknown: list[tuple[Reference, int]]
    not_looked_at: int


class Callers(NamedTuple):
    """The calls of a definition.

    `name_only` more uses have its name and may mean something else. `not_looked_at` others stand too far away.
    `spent` is what the look at the uses has cost.
    """

    uses: list[Call]
    name_only: int
    not_looked_at: int
    spent: float = 0.0


class CallSites:
    """The calls of one graph; with `by_name` also the calls that share only a name with a definition.

    Without `counts_unknown` nobody asks how many definitions have the name of a call that leads nowhere.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        by_name: bool = False,
        looked_at: int = limits.CALLS_LOOKED_AT,
        counts_unknown: bool = True,
    ) -> None:
        self._counts_unknown = counts_unknown or by_name
        self._graph = graph
        self._names = graph.names
        self._by_name = by_name
        self._looked_at = looked_at
        self._calls_left = _MOST_CALLS
        self.node = cache(self._node)
        self.owner = cache(self._owner)
        self.callees = cache(self._callees)
        self._calls_in = cache(self._calls_of_file)
        self._bound_alike: dict[tuple[str, int, str, str, str], Bound] = {}
        self._candidates = cache(self._with_name)

    def facts(self, place: Place) -> Facts:
        """Return the facts of the file that a node is in."""
        return self._names.facts(place.path)

    def _callees(self, node: Place) -> Callees:
        """Return the calls in a definition, without the calls in definitions inside it."""
        facts = self.facts(node)
        uses, unknown = [], []
        own = self._calls_in(node.path).get(node, [])
        looked_at = own[: self._calls_left]
        self._calls_left -= len(looked_at)
        for call in looked_at:
            bound = self._bound(facts, call)
            leads_to = {self.node(place) for place in bound.places if place.number >= 0}
            if not leads_to and not bound.elsewhere and call.kind == "call":
                candidates = self._candidates(call.name, facts.family) if self._counts_unknown else ()
                unknown.append((call, len(candidates)))
                leads_to = set(candidates[:_MOST_CANDIDATES]) if self._by_name else set()
            uses += [self._use(node, dst, bound, facts.path, call) for dst in leads_to if self._is_call(call.kind, dst)]
        return Callees(uses, unknown, len(own) - len(looked_at))

    def callers(self, node: Place) -> Callers:
        """Return the calls of a definition, and the imports by files that have no known call of it."""
        if node.number < 0:
            return Callers([], 0, 0)
        found = self._graph.nearest(node, self._looked_at, list_name_only=self._by_name)
        uses = [*self._uses(node, found)]
        left, spent = found.not_looked_at, found.spent
        for number in self._makers(node):
            made = self._graph.nearest(Place(node.path, number), self._looked_at)
            uses += self._uses(node, made)
            left += made.not_looked_at
            spent += made.spent
        calling = {use.path for use in uses} | {node.path}
        for path, line, imported in found.imports:
            if path not in calling:
                calling.add(path)
                led = self._graph.binder.scopes.sure(self._names.leads_to(path, imported).places)
                tier = led.tier if led else Tier.LIKELY
                uses.append(Call(Place(path, -1), node, EdgeKind.IMPORT, tier, path, imported.start_byte, line))
        name_only = 0 if self._by_name else found.name_only_count - found.not_looked_at
        return Callers(list(dict.fromkeys(uses)), name_only, left, spent)

    def inside(self, node: Place) -> list[Place]:
        """Return the definitions inside a node that contain calls, in order."""
        facts = self.facts(node)
        if node.number < 0:
            return []
        spans = [(facts.symbols[number].start_byte, facts.symbols[number].end_byte) for number in self.written(node)]
        found = {
            self.node(Place(node.path, number)): None
            for number, symbol in enumerate(facts.symbols)
            if symbol.kind in _AROUND and any(start <= symbol.start_byte < end for start, end in spans)
        }
        calls = self._calls_in(node.path)
        return [place for place in found if place != node and place in calls]

    # --- the names of nodes -----------------------------------------------------------------------------------------

    def id(self, node: Place) -> str:
        """Return the id of a node: `path#name`, or `path` for a file.

        A name that is not one word, or that a module shares with another definition, is written as `path#@byte`.
        """
        path = node.path.replace("%", "%25").replace("#", "%23")
        if node.number < 0:
            return path
        facts = self.facts(node)
        name, symbol = facts.qualified(node.number), facts.symbols[node.number]
        # `package main` of Go has the same name as its function `main`.
        is_one = symbol.kind not in _NAMELESS or len(facts.written_as[name]) == 1
        return f"{path}#{name if is_one and _WORD.fullmatch(name) else f'@{symbol.start_byte}'}"

    def of_id(self, said: str) -> Place | None:
        """Return the definition that an id names; None when there is none."""
        path, mark, _ = said.partition("#")
        path = path.replace("%23", "#").replace("%25", "%")
        if not mark or path not in self._names.modules.files:
            return None
        numbered = (self.node(Place(path, number)) for number in range(len(self._names.facts(path).symbols)))
        return next((node for node in numbered if self.id(node) == said), None)

    # --- which node a call belongs to -----------------------------------------------------------------------------

    def _owner(self, path: str, scope: int) -> Place:
        """Return the node that a use in this scope belongs to; number -1 is the file."""
        facts = self._names.facts(path)
        number, outermost = scope, -1
        while number >= 0:
            symbol = facts.symbols[number]
            if symbol.kind in _AROUND:
                return self.node(Place(path, number))
            outermost = number if symbol.kind not in _NAMELESS else outermost
            number = symbol.parent
        return self.node(Place(path, outermost)) if outermost >= 0 else Place(path, -1)

    def _node(self, place: Place) -> Place:
        facts = self.facts(place)
        number = place.number
        if number < 0:
            return place
        symbol = facts.symbols[number]
        if symbol.kind == "constructor" and symbol.parent >= 0 and facts.symbols[symbol.parent].kind in CLASSES:
            number = symbol.parent
        written = [Place(place.path, each) for each in self.written(Place(place.path, number))]
        if facts.traits.includes:
            bodies = (each for each in written if self._has_body(each))
            return next(bodies, None) or self._body(written[0]) or written[0]
        return next((each for each in written if self._kind(each) != "impl"), written[0])

    def _body(self, prototype: Place) -> Place | None:
        """Find the definition with a body for a prototype of C or C++; None when there is none.

        One of the two files must include the other.
        """
        facts = self.facts(prototype)
        qualified = facts.qualified(prototype.number)
        named = self._graph.view.symbols_named(facts.symbols[prototype.number].name)
        for path in sorted({path for path, _ in named}):
            for number in self._names.facts(path).written_as.get(qualified, ()):
                place = Place(path, number)
                if self._has_body(place) and self._graph.importers.same(prototype, place):
                    return place
        return None

    def _has_body(self, place: Place) -> bool:
        facts = self.facts(place)
        end = facts.symbols[place.number].end_byte
        return facts.text[end - 1 : end] == b"}"

    def written(self, place: Place) -> list[int]:
        """Return the numbers of all declarations of a definition in its file; Go's `package main` is not its `main`."""
        facts = self.facts(place)
        is_around = facts.symbols[place.number].kind in _NAMELESS
        numbers = facts.written_as[facts.qualified(place.number)]
        return [each for each in numbers if (facts.symbols[each].kind in _NAMELESS) is is_around]

    def _makers(self, node: Place) -> list[int]:
        """Return the numbers of the constructors of a class."""
        facts = self.facts(node)
        own = set(self.written(node))
        return [n for n, symbol in enumerate(facts.symbols) if symbol.kind == "constructor" and symbol.parent in own]

    def _bound(self, facts: Facts, call: Reference) -> Bound:
        """Bind a call. Equal calls in one scope are bound once, except calls on `this`.

        With an indexer every call is bound by itself, because an indexer knows each place separately.
        """
        if call.receiver == "this" or call.kind != "call" or self._graph.is_informed:
            return self._graph.bind(facts.path, call)
        alike = facts.path, call.scope, call.kind, call.receiver, call.name
        if alike not in self._bound_alike:
            self._bound_alike[alike] = self._graph.bind(facts.path, call)
        return self._bound_alike[alike]

    # --- one call ---------------------------------------------------------------------------------------------------

    def _calls_of_file(self, path: str) -> dict[Place, list[Reference]]:
        """Return the calls of a file by the node that each belongs to."""
        found: dict[Place, list[Reference]] = {}
        for use in self._names.facts(path).references:
            if use.kind in _CALLED:
                found.setdefault(self.owner(path, use.scope), []).append(use)
        return found

    def _uses(self, node: Place, found: SymbolUses) -> Iterator[Call]:
        for tier, sites in zip(Tier, (found.proven, found.likely, found.name_only), strict=True):
            for site in sites:
                if self._is_call(site.kind, node) and (tier is not Tier.NAME_ONLY or self._could_be(site, node)):
                    bound = Bound(tier, semantic=(site.path, site.start_byte) in found.semantic)
                    yield self._use(self.owner(site.path, site.scope), node, bound, site.path, site)

    def _use(self, src: Place, dst: Place, bound: Bound, path: str, call: Reference | Site) -> Call:
        kind = EdgeKind.DYNAMIC if call.receiver and bound.tier is not Tier.PROVEN else EdgeKind.CALL
        return Call(src, dst, kind, bound.tier, path, call.start_byte, call.line, bound.semantic)

    def _is_call(self, kind: str, dst: Place) -> bool:
        """Whether a use is a call; a decorator calls the function that it names, a Java annotation calls nothing."""
        return kind == "call" or (kind == "annotation" and self._kind(dst) in CALLABLES)

    def _kind(self, place: Place) -> str:
        return self.facts(place).symbols[place.number].kind

    # --- what shares no more than a name ----------------------------------------------------------------------------

    def _with_name(self, name: str, family: str) -> tuple[Place, ...]:
        """Return the definitions of this name that a call in a language of this family could mean."""
        found = {
            self.node(Place(path, number))
            for path in {path for path, symbol in self._graph.view.symbols_named(name) if symbol.kind in _AROUND}
            for number, symbol in enumerate(self._names.facts(path).symbols)
            if symbol.name == name and symbol.kind in _AROUND and self._names.facts(path).family == family
        }
        return tuple(sorted(found))

    def _could_be(self, site: Site, node: Place) -> bool:
        facts = self._names.facts(site.path)
        return site.kind == "call" and node in self._candidates(site.name, facts.family)[:_MOST_CANDIDATES]


# --- Notes: what a call graph does not show, and which notes belong to an answer.


NOTES_TRUNCATED = "CALL_GRAPH_NOTES_TRUNCATED"

_MOST_SCOPES = 50
_PATH = re.compile(r"[\w$]+(?:(?:\.|::|->|\?\.)[\w$]+)*")
# Functions that call something by a name that is made while the program runs.
_REFLECTION_NAMES = """
getattr eval exec __import__ import_module attrgetter methodcaller apply Reflect Function invoke forName newInstance
getMethod getDeclaredMethod CreateInstance send public_send instance_eval class_eval const_get call_user_func
call_user_func_array MethodByName dlsym
"""
_REFLECTION = frozenset(_REFLECTION_NAMES.split())


class NoteType(StrEnum):
    """Why an edge is missing, or may be missing."""

    UNRESOLVED = "unresolved_edge"
    DYNAMIC = "dynamic_edge"
    MISSING = "missing_symbol_metadata"
    SUPPRESSED = "suppressed_edge"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark on a call graph. `detail` is a sentence of Cairn; `text` is text of the repository."""

    type: NoteType
    file: str
    symbol_id: str | None = None
    start_line: int | None = None
    detail: str | None = None
    text: str = ""


class ShownNotes(NamedTuple):
    """The notes that an answer shows, and how many notes belong to the answer."""

    notes: tuple[Note, ...]
    total: int

    @property
    def truncated(self) -> bool:
        """Whether some notes that belong to the answer are not shown."""
        return len(self.notes) < self.total


def relevant(notes: Iterable[Note], files: Collection[str], symbol_ids: Collection[str], limit: int) -> ShownNotes:
    """Return the first `limit` notes about these files and symbols, in an order that depends on the notes alone."""
    kept = [note for note in notes if note.file in files and (note.symbol_id is None or note.symbol_id in symbol_ids)]
    return ShownNotes(tuple(sorted(kept, key=_order)[:limit]), len(kept))


def _order(note: Note) -> tuple[str, str, bool, str, bool, int, str, str]:
    return (
        note.file,
        note.type.value,
        note.symbol_id is None,
        note.symbol_id or "",
        note.start_line is None,
        note.start_line or 0,
        detail_hash(note.detail),
        # Two calls on one line may have the same sentence, and the order must still be fixed.
        note.text,
    )


def detail_hash(detail: str | None) -> str:
    """Return a hash of a sentence that is the same on every machine; no sentence counts as an empty one."""
    return hashlib.sha256((detail or "").encode()).hexdigest()


def note_of_call(facts: Facts, call: Reference, symbol_id: str, candidates: int) -> Note | None:
    """Return a note on why a call has no known target; None when no definition of the snapshot could be the target."""

    def note(kind: NoteType, detail: str) -> Note:
        text = f"{call.receiver}.{call.name}" if call.receiver else call.name
        return Note(kind, facts.path, symbol_id, call.line, detail, text)

    if call.name in _REFLECTION or call.receiver in _REFLECTION:
        return note(NoteType.DYNAMIC, "What is called is chosen while the program runs.")
    if not call.receiver and not is_literal(facts, call.name, call.start_byte) and _is_local(facts, call):
        return note(NoteType.DYNAMIC, "A value is called that the function was given or has made.")
    if not candidates:
        return None
    one = "1 definition has this name" if candidates == 1 else f"{candidates} definitions have this name"
    if call.receiver and not _PATH.fullmatch(call.receiver):
        return note(NoteType.DYNAMIC, f"What it is called on is computed; {one}.")
    return note(NoteType.UNRESOLVED, f"{one}, and nothing shows whether {'it' if candidates == 1 else 'one'} is meant.")


def _is_local(facts: Facts, call: Reference) -> bool:
    """Whether a function around the call has a parameter or a local variable of the called name."""
    number = call.scope
    for _ in range(_MOST_SCOPES):
        if number < 0:
            return False
        symbol = facts.symbols[number]
        if symbol.kind in CALLABLES:
            header = symbol.name_byte - symbol.start_byte + len(symbol.name.encode())
            if binds(
                facts.rules, facts.traits.lexis, facts.text[symbol.start_byte : symbol.end_byte], call.name, header
            ):
                return True
        number = symbol.parent
    return False
