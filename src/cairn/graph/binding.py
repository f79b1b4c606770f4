"""Bind a use of a name to the definition that it means, with a tier.

`proven` needs a path without a guess: scopes of the same file, an import that resolves, or the own class and its bases.
The class of a value is a guess, so a method that is called on a value is at best `likely`.
"""

from __future__ import annotations

import re

from cairn.core.types import Reference
from cairn.graph.facts import CALLABLES, CLASSES, FIELDS, Facts, Place
from cairn.graph.names import Seen, SnapshotNames
from cairn.graph.scopes import FOREIGN, UNBOUND, Bound, Scopes, Tier
from cairn.graph.shadows import is_in_reach, words

# --- Guess the class of a value from how the text around it makes or declares it. A guess never proves an edge.


_MOST_BYTES = 200_000
_MOST_PLACES = 200
_LOOK = 160
# Only a name with a capital counts as a class: `x = make()` calls a function whose result is not known.
_CLASS = r"((?:[\w$]+(?:\.|::))*[A-Z][\w$]*)"
_MADE = re.compile(
    rf"\s*(?::[^=\n]{{0,80}})?:?=\s*(?:await\s+)?(?:new\s+)?&?(?:mut\s+)?{_CLASS}"
    r"(?:::)?(?:<[^()\n]{0,80}>)?(?:\(|\{|::(?:new|default|from)\b)"
)
_TYPED = re.compile(
    rf"\??\s*:\s*[\"'&]?(?:'\w+\s+)?(?:(?:mut|dyn|impl)\s+)*(?:(?:[\w]+\.)?Optional\[)?[\"']?"
    rf"{_CLASS}[\"'\]]{{0,2}}(?=[\s,)=;|<{{}}\[]|$)"
)
_TYPE_LAST = re.compile(rf"\s+\*?{_CLASS}(?=[\s,)])")
_BEFORE = re.compile(rf"(?:^|[\s(,]){_CLASS}(?:<[^<>\n]{{0,80}}>)?[\s&*]+$")
# In C and C++ any name before another one may be a type, as in `client *c`, but for these.
_QUALIFIERS = r"(?:const|struct|union|enum|class|static|register|volatile|extern|typename|mutable|inline|constexpr)"
_NO_TYPE = (
    rf"(?!(?:{_QUALIFIERS}|return|else|goto|case|sizeof|throw|new|delete|typedef|using|namespace|auto|do|void)\b)"
)
_DECLARED = re.compile(
    rf"(?:^|[(,;{{}}]|\b{_QUALIFIERS}\b)\s*(?:{_QUALIFIERS}\s+)*{_NO_TYPE}((?:\w+::)*[A-Za-z_]\w*)"
    # A sign with a blank on either side multiplies, or takes bits apart.
    r"(?:<[^<>\n]{0,80}>)?(?:\s+[*&]{1,3}|[*&]{1,3}\s+|[*&\s]*[\s*]+(?:const|restrict)\s+|\s+)$"
)
_RENAMES = re.compile(rb"typedef\s+(?:(?:const|struct|union|class)\s+)*([A-Za-z_]\w*)")
_OPENED = re.compile(rf"\bwith\s+{_CLASS}\([^\n]{{0,120}}\)\s+as\s+$")
# What a smart pointer holds, as in `Arc<T>`, `Arc::new(T::new())` and `std::make_unique<T>()`.
_HELD = re.compile(rf"(?:::\w+)?\s*[<(]\s*(?:'\w+,\s*)?(?:const\s+)?&?(?:'\w+\s+)?(?:(?:mut|dyn|impl)\s+)*{_CLASS}")
_POINTER = re.compile(rf"(?:^|[\s(,])(?:\w+::)*(\w+)<\s*(?:const\s+)?{_CLASS}[\s&*]*>[\s&*]+$")
_MOST_HELD = 4
_HANDED_OVER = re.compile(r"\s*=\s*(?:A?[Rr]c::clone\(&)?([A-Za-z_]\w*)(?:\.clone\(\))?\)?[ \t]*;?(?:\n|$)")
_OWN_FIELD = re.compile(r"(self|this)(?:\.|->)([\w$]+)")


def type_of_value(facts: Facts, receiver: str, reference: Reference) -> str:
    """Return the class name of a value; empty when the text does not say, or names more than one class."""
    field = _OWN_FIELD.fullmatch(receiver)
    name, kinds = (field[2], CLASSES) if field else (receiver, CALLABLES)
    if facts.traits.type_first:
        # In such languages a field may be used without `this`, so the class around is searched too.
        kinds = CALLABLES | CLASSES
    if not name.isidentifier() and not re.fullmatch(r"[\w$]+", name):
        return ""
    number = reference.scope
    while number >= 0:
        symbol = facts.symbols[number]
        if symbol.kind in kinds:
            found = facts.types_known.get((number, name))
            if found is None:
                found = facts.types_known[number, name] = _types_in(
                    facts, facts.text[symbol.start_byte : symbol.end_byte], name
                )
            if found:
                return next(iter(found)) if len(found) == 1 else ""
        number = symbol.parent
    return "" if field or not facts.traits.callbacks_bind else _type_in_block(facts, name, reference.start_byte)


def _type_in_block(facts: Facts, name: str, at: int) -> str:
    """Return the class name of a value that the innermost callback or block around byte `at` of a script binds."""
    reached = [spot for spot in facts.in_blocks(name) if is_in_reach(facts.text, spot, at)]
    if not reached:
        return ""
    begin = max(reached, key=lambda spot: (spot.depth, spot.at)).at + len(name.encode())
    after = facts.text[begin : begin + _LOOK].decode("utf-8", "replace")
    made = _MADE.match(after) or _TYPED.match(after)
    return _held(facts, made) if made else ""


def _held(facts: Facts, made: re.Match[str]) -> str:
    """Return the class that a match names; for a smart pointer the class that it holds, or nothing when unknown."""
    found, end, text = made[1], made.end(1), made.string
    for _ in range(_MOST_HELD):
        if found.rpartition(":")[2].rpartition(".")[2] not in facts.traits.derefs:
            return found
        inner = _HELD.match(text, end)
        if inner is None:
            return ""
        found, end = inner[1], inner.end(1)
    return ""


def _held_before(facts: Facts, line: str) -> str:
    """Return the class that a smart pointer with a small name holds, declared as in `std::unique_ptr<T> name`."""
    if not facts.traits.type_first or not facts.traits.derefs:
        return ""
    found = _POINTER.search(line)
    return found[2] if found and found[1] in facts.traits.derefs else ""


def type_of_variable(facts: Facts, number: int) -> str:
    """Return the class name of a variable at the top of a file, from its declaration; empty when unknown."""
    symbol = facts.symbols[number]
    found = facts.types_known.get((number, symbol.name))
    if found is None:
        found = _types_in(facts, facts.text[symbol.start_byte : symbol.end_byte], symbol.name)
        facts.types_known[number, symbol.name] = found
    return next(iter(found)) if len(found) == 1 else ""


def _types_in(facts: Facts, text: bytes, name: str, handed_over: bool = True) -> set[str]:
    """Return every class name that the text gives to a value; with `handed_over`, `a` in `a = b` gets those of `b`."""
    if len(text) > _MOST_BYTES:
        return set()
    others: set[str] = set()
    wanted = name.encode()
    found: set[str] = set()
    for count, at in enumerate(words(text, wanted)):
        if count >= _MOST_PLACES:
            # What declares a value stands before most of its uses.
            break
        end = at + len(wanted)
        after = text[end : end + _LOOK].decode("utf-8", "replace")
        before = text[max(0, at - _LOOK) : at].decode("utf-8", "replace")
        line = before.rpartition("\n")[2]
        # `Shape one = new Circle()` is a `Shape`: where types come first, the declared type decides.
        declared = _DECLARED if facts.traits.includes else _BEFORE
        made = declared.search(line) if facts.traits.type_first and line[-1:] in _BESIDE_TYPES else None
        made = made or _MADE.match(after) or _TYPED.match(after) or ("with" in line and _OPENED.search(line)) or None
        if made is None and facts.traits.type_last:
            made = _TYPE_LAST.match(after)
        held = _held(facts, made) if made is not None else _held_before(facts, line)
        if made is not None or held:
            if held.rpartition(".")[2] not in facts.traits.no_classes:
                found.add(held)
        elif handed_over and (other := _HANDED_OVER.match(after)) and other[1] != name:
            others.add(other[1])
    if not found and len(others) == 1:
        return _types_in(facts, text, others.pop(), handed_over=False)
    return found


_PATH = re.compile(r"[\w$]+(?:(?:\.|::|->|\?\.)[\w$]+)*")
_STEPS = re.compile(r"\.|::|->|\?\.")
_MAKES = re.compile(r"(?:new\s+)?([\w$.]+)(?:<[^()]*>)?\(.*\)")

# The whole `a::b::` before a name of C++; the index keeps only `a` as the receiver.
_QUALIFIED = re.compile(rb"(?:\w+::)+$")
_LONGEST_PATH = 200
_TWO = 2
_BESIDE_TYPES = tuple(" \t&*")
_MOST_FIELDS = 5
_VALUES = FIELDS | {"variable", "constant"}


class Binder:
    """The binding of all uses of one snapshot."""

    def __init__(self, names: SnapshotNames) -> None:
        self.names = names
        self.scopes = Scopes(names)
        names.bind_base = self._base

    def bind(self, path: str, reference: Reference) -> Bound:
        """Bind a use of a name in the file `path`."""
        facts = self.names.facts(path)
        if reference.receiver:
            bound = self._on_receiver(facts, reference)
            bound = self._value_of(facts, reference, bound) if reference.kind == "call" else bound
            return self._as_used(bound, reference.kind)
        bound = self.scopes.bare(
            facts, reference.name, self.scopes.start(facts, reference), reference.kind, reference.start_byte
        )
        if reference.kind in ("type", "base") and facts.traits.types_are_names:
            return self.scopes.as_type(bound)
        return self._as_used(self._value_of(facts, reference, bound), reference.kind)

    def _value_of(self, facts: Facts, reference: Reference, bound: Bound) -> Bound:
        """Return the binding of a value without modules of the name, where a name of a value never means a module."""
        if not facts.traits.modules_are_no_values or len(bound.places) < _TWO or reference.kind in ("type", "base"):
            return bound
        values = tuple(each for each in bound.places if not self.names.is_module(each))
        if not values or len(values) == len(bound.places):
            return bound
        return self.scopes.sure(values) or bound

    def _as_used(self, bound: Bound, kind: str) -> Bound:
        """Return the binding of a use: of a field and a method of one name the method is called, the field read."""
        kinds = {self.scopes.kind_of(place) for place in bound.places} if len(bound.places) > 1 else set()
        if not kinds & FIELDS or not kinds & CALLABLES:
            return bound
        wanted = CALLABLES if kind == "call" else FIELDS
        return bound._replace(places=tuple(each for each in bound.places if self.scopes.kind_of(each) in wanted))

    def _base(self, path: str, reference: Reference) -> tuple[Place, ...]:
        bound = self.bind(path, reference)
        return bound.places if bound.tier is Tier.PROVEN else ()

    def _on_receiver(self, facts: Facts, reference: Reference) -> Bound:
        receiver, name = reference.receiver, reference.name
        traits = facts.traits
        if receiver in traits.path_roots and facts.text.startswith(b"::", reference.start_byte - 2):
            return self._by_path(facts, [receiver, name], self.names.modules_around(facts, reference.scope))
        is_super = receiver in traits.base
        if is_super or self._is_own(facts, receiver, reference.scope):
            around = self.scopes.class_around(facts, reference.scope)
            if around is None:
                return UNBOUND
            seen: Seen = set()
            found = () if is_super else self.names.own_member(around, name)
            certain = receiver not in traits.own or not self._in_function_expression(facts, reference)
            return self.scopes.sure(found or self.names.inherited(around, name, seen), certain) or UNBOUND
        if not _PATH.fullmatch(receiver):
            made = _MAKES.fullmatch(receiver)
            return self._guess(facts, made[1], reference) if made else UNBOUND
        parts = _STEPS.split(receiver)
        if parts[0] in traits.path_roots and receiver.startswith(f"{parts[0]}::"):
            return self._by_path(facts, [*parts, name], self.names.modules_around(facts, reference.scope))
        if traits.namespaces and (path := _names_before(facts, reference)):
            there = self.scopes.in_namespace(facts, path, name)
            if there is not None or len(path) > len(parts):
                return there or UNBOUND
        value = self._value(facts, parts, reference)
        if value.elsewhere:
            return value
        if traits.includes and facts.text[reference.start_byte - 1 : reference.start_byte] in (b".", b">"):
            # In C `name.field` names a value, and a structure may have the name of the value.
            value = value._replace(places=tuple(each for each in value.places if not self._is_structure(each)))
            return self._on_fields(facts, parts, reference) or self._on_variable(value.places, reference)
        if not value.places:
            guessed = type_of_value(facts, receiver, reference)
            if guessed:
                return self._guess(facts, guessed, reference)
            return self._on_fields(facts, parts, reference) or value
        found = tuple(sorted({each for place in value.places for each in self.names.member(place, name, set())}))
        if found:
            return self.scopes.sure(found, certain=value.tier is Tier.PROVEN) or UNBOUND
        guessed = type_of_value(facts, receiver, reference)
        return self._guess(facts, guessed, reference) if guessed else self._on_variable(value.places, reference)

    def _is_structure(self, place: Place) -> bool:
        return place.number >= 0 and self.scopes.kind_of(place) in CLASSES

    def _on_fields(self, facts: Facts, parts: list[str], reference: Reference) -> Bound | None:
        """Bind a member of a field, as in `self.field` and `value.field.field`, by the classes that are declared."""
        if len(parts) > _MOST_FIELDS:
            return None
        holders = self._classes_of(facts, parts[0], reference)
        for name in parts[1:]:
            fields = {each for holder in holders for each in self.names.member(holder, name, set())}
            holders = {each for field in sorted(fields) for each in self._classes_in(field, reference)}
            if not holders:
                return None
        found = {each for holder in holders for each in self.names.member(holder, reference.name, set())}
        return self.scopes.sure(tuple(sorted(found)), certain=False)

    def _classes_of(self, facts: Facts, name: str, reference: Reference) -> set[Place]:
        """Return the classes that the value of a bare name may have."""
        if self._is_own(facts, name, reference.scope):
            around = self.scopes.class_around(facts, reference.scope)
            return set() if around is None else {around}
        if guessed := type_of_value(facts, name, reference):
            return self._classes_named(facts, guessed, reference)
        if not facts.traits.includes:
            return set()
        value = self._value(facts, [name], reference)
        values = (place for place in value.places if not self._is_structure(place))
        return {each for place in values for each in self._classes_in(place, reference)}

    def _classes_in(self, place: Place, reference: Reference) -> set[Place]:
        """Return the classes that the declaration of a field or a variable names, or that it holds itself."""
        if place.number < 0 or self.scopes.kind_of(place) not in _VALUES | CLASSES:
            return set()
        facts = self.names.facts(place.path)
        # In C a field or a variable may be a structure without a name.
        held = {place} if facts.traits.includes and _holds_some(facts, place.number) else set()
        guessed = type_of_variable(facts, place.number) if self.scopes.kind_of(place) in _VALUES else ""
        if not guessed:
            return held
        inside = self._classes_named(facts, guessed, reference._replace(scope=facts.symbols[place.number].parent))
        # In `struct client { struct user *user; }` the name of the type is the name of the field too.
        return held | (inside or self._classes_named(facts, guessed, reference._replace(scope=-1)))

    def _on_variable(self, places: tuple[Place, ...], reference: Reference) -> Bound:
        """Bind a member of a variable or a field, by the class that its declaration names."""
        holders = {holder for place in places for holder in self._classes_in(place, reference)}
        found = {each for holder in holders for each in self.names.member(holder, reference.name, set())}
        return self.scopes.sure(tuple(sorted(found)), certain=False) or UNBOUND

    def _value(self, facts: Facts, parts: list[str], reference: Reference, kind: str = "value") -> Bound:
        """Bind a dotted path of names."""
        bound = self.scopes.bare(facts, parts[0], self.scopes.start(facts, reference), kind, reference.start_byte)
        if bound.elsewhere and self.scopes.is_type_parameter(facts, parts[0], reference.scope):
            # A type parameter stands for a type that may be in the snapshot, so the meaning is unknown, not elsewhere.
            return UNBOUND
        if not bound.places and len(parts) > 1 and (there := self.scopes.in_namespace(facts, parts[:1], parts[1])):
            bound, parts = there, parts[1:]
        for name in parts[1:]:
            places = {each for place in bound.places for each in self.names.member(place, name, set())}
            if not places:
                return bound if bound.elsewhere else UNBOUND
            bound = bound._replace(places=tuple(sorted(places)))
        return bound

    def _guess(self, facts: Facts, type_name: str, reference: Reference) -> Bound:
        """Bind a member of a value by the guessed name of its class; never more than `likely`."""
        if not _PATH.fullmatch(type_name):
            return UNBOUND
        value = self._value(facts, _STEPS.split(type_name), reference, "type")
        if value.elsewhere:
            # The text around the value is no proof, and what its type holds may be in the snapshot.
            return FOREIGN
        classes = self._classes_at(value.places, reference)
        found = {each for place in classes for each in self.names.member(place, reference.name, set())}
        return self.scopes.sure(tuple(sorted(found)), certain=False) or UNBOUND

    def _classes_named(self, facts: Facts, type_name: str, reference: Reference) -> set[Place]:
        """Return the classes that a guessed name may mean at the place of a use."""
        if not _PATH.fullmatch(type_name):
            return set()
        return self._classes_at(self._value(facts, _STEPS.split(type_name), reference, "type").places, reference)

    def _classes_at(self, places: tuple[Place, ...], reference: Reference) -> set[Place]:
        """Return the classes among definitions; a `typedef` of C stands for the class that it names."""
        found = {place for place in places if place.number >= 0 and self.scopes.kind_of(place) in CLASSES}
        for place in sorted(found):
            facts = self.names.facts(place.path)
            symbol = facts.symbols[place.number]
            if symbol.kind != "type" or not facts.traits.includes:
                continue
            if symbol.start_byte == symbol.name_byte:
                # In `typedef struct { … } name` the structure stands before its name.
                found |= self._just_before(facts, place)
            renamed = _RENAMES.match(facts.text, symbol.start_byte)
            if renamed and (name := renamed[1].decode()) != symbol.name:
                value = self._value(facts, [name], reference._replace(scope=symbol.parent), "type")
                found |= {each for each in value.places if self.scopes.kind_of(each) in CLASSES}
        return found

    def _just_before(self, facts: Facts, place: Place) -> set[Place]:
        """Return the structure of C that ends just before the name of a type, with no other statement between them."""
        at = facts.symbols[place.number].start_byte
        for number in range(place.number - 1, -1, -1):
            symbol = facts.symbols[number]
            if symbol.kind in CLASSES and symbol.end_byte <= at and symbol.start_byte < symbol.name_byte:
                between = facts.text[symbol.end_byte : at]
                return {Place(facts.path, number)} if len(between) < _LOOK and b";" not in between else set()
        return set()

    def _by_path(self, facts: Facts, parts: list[str], within: tuple[str, ...]) -> Bound:
        """Bind a path of modules, such as `crate::a::b`."""
        target = self.names.modules.resolver(facts.path).find(facts.path, parts[:-1], within)
        places = {
            each
            for file in target.files
            for each in self.names.in_path(file, [*filter(None, target.name.split(".")), parts[-1]])
        }
        return self.scopes.sure(tuple(sorted(places))) or UNBOUND

    def _is_own(self, facts: Facts, receiver: str, scope: int) -> bool:
        if facts.traits.own_receiver and scope >= 0:
            named = re.match(facts.traits.own_receiver, facts.symbols[scope].signature)
            return named is not None and named[1] == receiver
        return receiver in facts.traits.own

    def _in_function_expression(self, facts: Facts, reference: Reference) -> bool:
        """Whether a `function` stands between the method and the use, so that `this` may be another object."""
        lost_in = facts.traits.own_lost_in
        if not lost_in or reference.scope < 0:
            return False
        return lost_in in facts.text[facts.symbols[reference.scope].name_byte : reference.start_byte]


def _holds_some(facts: Facts, number: int) -> bool:
    """Whether a definition has others inside."""
    return number + 1 < len(facts.symbols) and facts.symbols[number + 1].parent == number


def _names_before(facts: Facts, reference: Reference) -> list[str]:
    """Return the names before a use that are each followed by `::`."""
    found = _QUALIFIED.search(facts.text[max(0, reference.start_byte - _LONGEST_PATH) : reference.start_byte])
    return found[0].decode().split("::")[:-1] if found else []
