"""Members that must keep one name though no indexer says so: of outside implementers, of what fits a type, of unions.

An indexer records what derives from what. Where a language asks only whether a value has the members that are wanted,
every other member of the name may be one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cairn.core.text import word_set
from cairn.core.types import ReferenceKind, Shorthand, Symbol, WordKind
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource
from cairn.semantic.facts import FileSyntax
from cairn.semantic.model import Family, Occurrence, OccurrenceRole
from cairn.semantic.places import spot
from cairn.semantic.subject import Subject, Written

_RECEIVER = re.compile(rb"([\w.\])}\"']+)\s*\??\.\s*$")
_OWN = frozenset({b"self", b"cls", b"super()"})
_TYPED = re.compile(rb"\s*(?::\s*[\"']?([\w.]+)[\"']?\s*(?:[,=)]|$)|=\s*((?:\w+\.)*[A-Z]\w*)\()")
_BUILT_IN = frozenset(
    name for kind in (dict, str, bytes, list, tuple, set, frozenset, int, float, Exception) for name in dir(kind)
)
_BUILT_IN_SCRIPT = word_set(
    """add addEventListener all apply at bind body call catch charAt clear clone close concat constructor copyWithin
    count data delete description dispatchEvent done emit end endsWith entries every exec fill filter finally find
    findIndex flags flat flatMap forEach from get getTime global has hasOwnProperty href id includes index indexOf
    input isArray item join json keys kind last lastIndex lastIndexOf length map match matchAll message method name
    next normalize now of off on once open padEnd padStart parse pipe pop postMessage push read reduce reduceRight
    reject remove removeEventListener repeat replace reset resolve return reverse round search send set shift signal
    size slice some sort source splice split stack start startsWith state status stop style subarray substring
    target test text then throw title toISOString toJSON toLowerCase toString toUpperCase trim type unshift update
    url value valueOf values write cause code errors host hostname keys path port"""
)


def fits(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places at which a type that no indexer relates to the subject may need the name."""
    if not subject.is_member:
        return
    if subject.family is Family.GO:
        yield from _implemented_outside(subject)
        yield from _promoted(subject)
        yield from _converted(subject)
    elif subject.family is Family.TYPESCRIPT:
        yield from _shaped_alike(subject)
        yield from _accessors_below_others(subject)
        yield from _below_unknown_bases(subject)
    elif subject.family is Family.PYTHON:
        yield from _in_protocols(subject)
        yield from _through_unions(subject)
        yield from _below_unknown_bases(subject)


# --- Go ---------------------------------------------------------------------------------------------------------------


def _implemented_outside(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the interfaces of Go that a type of another module may implement: with exported methods and no other."""
    if not subject.old[:1].isupper():
        return
    for one in subject.written:
        owner = one.owner
        if owner is not None and owner.kind == "interface" and not _is_closed(one):
            yield subject.ask(AmbiguitySource.OUTSIDE_IMPLEMENTER, one.path, one.symbol.start_line)


def _is_closed(one: Written) -> bool:
    """Whether the interface has a method that no other package can write."""
    return any(
        each.parent == one.symbol.parent and each.kind == "method" and each.name[:1].islower()
        for each in one.syntax.symbols
    )


def _promoted(subject: Subject) -> Iterator[Ambiguity]:
    """Yield interfaces with a method of this name that a struct may implement by holding the type of the subject."""
    holders = {each.symbol.container.rpartition(".")[2] for each in subject.written if each.symbol.kind == "method"}
    facts = subject.service.facts
    others = [one for one in facts.members_named(subject.old) - subject.related if facts.is_ours(one)]
    for place in facts.occurrences(others) if holders and _is_held(subject, holders) else ():
        owner = _owner_of(facts.syntax(place.path), place, subject.old)
        if place.role is OccurrenceRole.DEFINITION and owner is not None and owner.kind == "interface":
            yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, place.path, place.start_line)


def _converted(subject: Subject) -> Iterator[Ambiguity]:
    """Yield fields of other structs with the same names of fields: the one struct may be converted to the other."""
    facts = subject.service.facts
    own = {_fields(one.syntax, one.owner) for one in subject.written if one.symbol.kind == "field"}
    others = [one for one in facts.members_named(subject.old) - subject.related if own and facts.is_ours(one)]
    for place in facts.occurrences(others):
        syntax = facts.syntax(place.path) if place.role is OccurrenceRole.DEFINITION else None
        if syntax is not None and _fields(syntax, _owner_of(syntax, place, subject.old)) in own:
            yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, place.path, place.start_line)


def _fields(syntax: FileSyntax, owner: Symbol | None) -> tuple[str, ...]:
    """Return the names of the fields that are written between the braces of a struct, in order."""
    if owner is None:
        return ()
    inside = (one for one in syntax.symbols if owner.start_byte <= one.start_byte < owner.end_byte)
    return tuple(one.name for one in inside if one.kind == "field")


def _is_held(subject: Subject, names: set[str]) -> bool:
    """Whether a struct or an interface holds one of these types without a name of its own, as far as a line shows."""
    held = re.compile(rb"(?m)^\s*\*?(?:\w+\.)?(?:%s)\s*(?:`[^`\n]*`)?\s*(?://.*)?$" % b"|".join(_escaped(names)))
    facts = subject.service.facts
    syntaxes = (facts.syntax(path) for path in facts.paths_now() if path.endswith(".go"))
    return any(syntax is not None and held.search(syntax.text) for syntax in syntaxes)


def _escaped(names: set[str]) -> list[bytes]:
    return [re.escape(name.encode("utf-8", "surrogateescape")) for name in sorted(names)]


def _owner_of(syntax: FileSyntax | None, place: Occurrence, name: str) -> Symbol | None:
    for each in syntax.symbols if syntax is not None else ():
        if syntax is None or each.name != name or each.parent < 0:
            continue
        if spot(syntax.text, each.name_byte) == (place.start_line, place.start_column):
            return syntax.symbols[each.parent]
    return None


# --- TypeScript -------------------------------------------------------------------------------------------------------


def _shaped_alike(subject: Subject) -> Iterator[Ambiguity]:
    """Yield members of the name in other types and objects, and the subject where a built-in type has the name."""
    if subject.written and all(_is_private(one) for one in subject.written):
        return
    for path, words in subject.words.items():
        lines = {
            at[0]
            for place in words.places
            if place.kind is WordKind.MEMBER
            for at in [spot(words.text, place.start_byte)]
            if not _is_whole(subject, path, at)
        }
        for line in sorted(lines):
            yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, path, line)
    for one in subject.written if subject.old in _BUILT_IN_SCRIPT else ():
        yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, one.path, one.symbol.start_line)


def _accessors_below_others(subject: Subject) -> Iterator[Ambiguity]:
    """Yield properties with code in a class with a type of another project: what they implement is not said."""
    facts = subject.service.facts
    accessors = [one for one in subject.related if "#`<get>" in facts.symbol(one) or "#`<set>" in facts.symbol(one)]
    if any(not facts.is_ours(each) for each in facts.types_of(accessors)):
        for one in subject.written:
            yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, one.path, one.symbol.start_line)


def _is_whole(subject: Subject, path: str, at: tuple[int, int]) -> bool:
    """Whether a written member is the subject: it is edited, and of `{ name }` it is not the value alone."""
    if at not in subject.edited.get(path, ()):
        return False
    if subject.code.get(path, {}).get(at, Shorthand.NONE) is not Shorthand.OBJECT:
        return True
    facts = subject.service.facts
    return not any(facts.symbol(one).endswith(":") for one in facts.symbols_at(path, *at) - subject.related)


def _is_private(one: Written) -> bool:
    owner = one.owner
    if owner is None or owner.kind != "class":
        return False
    head = one.syntax.text[one.symbol.start_byte : one.symbol.name_byte]
    return re.search(rb"\bprivate\b|#$", head) is not None


# --- Python -----------------------------------------------------------------------------------------------------------


def _in_protocols(subject: Subject) -> Iterator[Ambiguity]:
    """Yield protocols with a member of this name, and other members of the name where the subject is one's."""
    facts = subject.service.facts
    others = [one for one in facts.members_named(subject.old) - subject.related if facts.is_ours(one)]
    is_one = any(_is_of_protocol(one.syntax, one.owner) for one in subject.written)
    for place in facts.occurrences(others):
        if place.role is OccurrenceRole.DEFINITION:
            syntax = facts.syntax(place.path)
            if is_one or _is_of_protocol(syntax, _owner_of(syntax, place, subject.old)):
                yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, place.path, place.start_line)


def _is_of_protocol(syntax: FileSyntax | None, owner: Symbol | None) -> bool:
    if syntax is None or owner is None or owner.kind != "class":
        return False
    bases = (one for one in syntax.references if one.kind == ReferenceKind.BASE)
    return any(one.name == "Protocol" and owner.start_byte <= one.start_byte < owner.end_byte for one in bases)


def _through_unions(subject: Subject) -> Iterator[Ambiguity]:
    """Yield uses through a value that may be of several types: of `A | B` an indexer names the member of `A` alone."""
    facts = subject.service.facts
    is_shared = subject.old in _BUILT_IN or facts.members_named(subject.old) - subject.related
    for one in subject.found if is_shared else ():
        if one.role is not OccurrenceRole.DEFINITION and not _has_one_type(subject, one):
            yield subject.ask(AmbiguitySource.STRUCTURAL_FIT, one.path, one.start_line)


def _has_one_type(subject: Subject, use: Occurrence) -> bool:
    """Whether the text shows that what stands before the dot is of one class."""
    facts = subject.service.facts
    line = facts.lines(use.path)[use.start_line - 1]
    found = _RECEIVER.search(line[: use.start_column])
    if found is None:
        # No dot before it: a name in a class, a keyword argument, or an expression over several lines.
        return not line[: use.start_column].rstrip().endswith(b".") and use.start_column > 0
    receiver = found[1]
    if receiver in _OWN:
        return True
    last = receiver.rpartition(b".")[2]
    symbols = facts.symbols_at(use.path, use.start_line, found.end(1) - len(last))
    if symbols and all(facts.symbol(one).endswith(("#", "/", "/__init__:")) for one in symbols):
        return True
    kinds = {kind for one in symbols for place in facts.definitions(one) for kind in [_type_written(subject, place)]}
    return len(kinds) == 1 and None not in kinds


def _type_written(subject: Subject, place: Occurrence) -> bytes | None:
    """Return the class that stands behind a definition: `x: Class`, `x = Class(`; None where none does."""
    line = subject.service.facts.lines(place.path)[place.start_line - 1]
    found = _TYPED.match(line, place.end_column)
    return None if found is None else found[1] or found[2]


def _below_unknown_bases(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the unknown bases of the classes that share the member: what is inherited from them is not known."""
    facts, service = subject.service.facts, subject.service
    for kin in sorted(facts.types_of(subject.related, heirs=True)):
        for place in facts.definitions(kin):
            for one in service.ambiguous(place.path):
                if one.source is AmbiguitySource.UNRESOLVED_BASE and one.line == place.start_line:
                    yield subject.ask(one.source, one.path, one.line)
