"""Which ambiguities of a file concern a rename: a question is about the name, not about the file that holds it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from cairn.core.types import Import
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource
from cairn.semantic.model import Family, family_of
from cairn.semantic.places import spot
from cairn.semantic.subject import Subject

_TWICE = frozenset(
    {AmbiguitySource.DUPLICATE_DEFINITION, AmbiguitySource.CONDITIONAL_DEFINITION, AmbiguitySource.OVERLOAD_SET}
)
# Sources that the planner asks about by itself, place by place.
_ASKED_APART = frozenset({AmbiguitySource.UNRESOLVED_USE, AmbiguitySource.UNRESOLVED_BASE})
_LOOKED_UP = re.compile(rb"\b(?:get|set|del)attr\(\s*([^,()]+(?:\([^()]*\))?)\s*,\s*([^,)]+)")
_LITERAL = re.compile(rb"[rbu]?([\"'])(\w*)\1\s*")
_HEAD = re.compile(rb"[fru]?([\"'])(\w+)(?:\1\s*[+%]|\{|%s)")
_TAIL = re.compile(rb"(?:\}|%s|[+]\s*[\"'])(\w+)[\"']\s*$")
_OWN = re.compile(rb"(?:self|cls|type\(self\)|self\.__class__)\s*")
_HOOKS = frozenset({"__getattr__", "__getattribute__", "method_missing"})
_OF_VALUE = re.compile(rb"\bvars\(\s*[^\s)]")
# What each way of looking a name up can find; one that is not named here can find anything.
_METHODS = frozenset({"method", "function", "constructor"})
_FIELDS = frozenset({"field", "property", "variable", "constant", "enum_member"})
_TYPES = frozenset({"class", "interface", "enum", "record", "object", "annotation", "type", "struct", "trait"})
_LOOKS_FOR = {
    "MethodByName": _METHODS,
    "FieldByName": _FIELDS | {"struct", "type", "interface"},
    "getMethod": _METHODS,
    "getDeclaredMethod": _METHODS,
    "getField": _FIELDS,
    "getDeclaredField": _FIELDS,
    "forName": _TYPES,
    "GetMethod": _METHODS,
    "GetProperty": _FIELDS,
    "GetField": _FIELDS,
    "instance_variable_get": _FIELDS,
    "instance_variable_set": _FIELDS,
    "const_get": _TYPES | {"module", "constant"},
}
_OF_MODULE = frozenset({"globals", "vars", "eval", "exec", "import_module", "__import__"})


def concerns(subject: Subject, one: Ambiguity) -> bool:
    """Whether an ambiguity of a file can be about the subject or its new name."""
    if one.source in _ASKED_APART:
        return False
    if one.source in _TWICE:
        return _is_apart(subject, one)
    if one.source is AmbiguitySource.STAR_IMPORT:
        # Of the old name it is known at every place what it means; the new one stands in no file that is edited.
        return subject.service.facts.is_defined(subject.new)
    if one.source is AmbiguitySource.DYNAMIC_ATTRIBUTE:
        return _may_look_up(subject, one)
    return True


def _is_apart(subject: Subject, one: Ambiguity) -> bool:
    """Whether only some of the definitions under one name would be renamed, or the new name is written twice."""
    name = one.name.rpartition(".")[2]
    if name != subject.old:
        return name == subject.new
    syntax = subject.service.facts.syntax(one.path)
    edited = subject.edited.get(one.path, frozenset())
    found = [each for each in syntax.symbols if each.name == name] if syntax is not None else []
    # A definition begins with its decorators, while its name may stand lines below.
    renamed = {
        any(spot(syntax.text, each.name_byte) in edited for each in found if each.start_line == candidate.line)
        for candidate in one.candidates
        if syntax is not None
    }
    # If none is renamed, they are something else under the name.
    return len(renamed) > 1


def _may_look_up(subject: Subject, one: Ambiguity) -> bool:
    """Whether a name that is looked up by a text can be the old or the new one.

    A text that the code holds as a whole is found by `texts`. Of one that is put together, the pieces must fit. Of one
    that only a run of the program shows, it counts whether it is looked up in the subject's own class or module.
    """
    if one.name in _HOOKS:
        # Uses of names that such a class answers to are not known to the indexer, and are asked about.
        return False
    if subject.is_local:
        return one.name in ("eval", "exec", "locals") and one.path in subject.edited
    if subject.family is not Family.PYTHON:
        return subject.family is not Family.TYPESCRIPT and _can_reach(subject, one)
    lines = subject.service.facts.lines(one.path)
    text = b" ".join(lines[one.line - 1 : one.line + 3])
    found = _LOOKED_UP.search(text)
    if found is None:
        is_of_value = one.name == "vars" and _OF_VALUE.search(text) is not None
        return one.name in _OF_MODULE and not is_of_value and not subject.is_member and _is_home(subject, one)
    literal = _LITERAL.fullmatch(found[2])
    if literal is not None:
        return literal[2].decode() in (subject.old, subject.new)
    pieces = _HEAD.match(found[2]), _TAIL.search(found[2])
    if pieces[0] and not any(name.startswith(pieces[0][2].decode()) for name in (subject.old, subject.new)):
        return False
    if pieces[1] and not any(name.endswith(pieces[1][1].decode()) for name in (subject.old, subject.new)):
        return False
    if _OWN.fullmatch(found[1]) is None:
        return False
    return subject.is_member and _is_in_own_class(subject, one)


def _can_reach(subject: Subject, one: Ambiguity) -> bool:
    """Whether a lookup by a text in a language other than Python can find what is renamed, by its kind and its text."""
    kinds = _LOOKS_FOR.get(one.name)
    if kinds is not None and subject.written and not any(each.symbol.kind in kinds for each in subject.written):
        return False
    if one.name == "MethodByName" and not (subject.old[:1].isupper() or subject.new[:1].isupper()):
        # Reflection of Go finds exported methods alone.
        return False
    lines = subject.service.facts.lines(one.path)
    text = b" ".join(lines[one.line - 1 : one.line + 3])
    given = re.search(
        re.escape(one.name).encode() + rb"\s*\(\s*(?:\"([^\"\\]*)\"|'([^'\\]*)'|:(\w+[?!]?))\s*[,)]", text
    )
    if given is None:
        return True
    named = (given[1] or given[2] or given[3] or b"").decode("utf-8", "replace")
    return re.split(r"[.:$/]+", named)[-1] in (subject.old, subject.new)


def _is_home(subject: Subject, one: Ambiguity) -> bool:
    return any(each.path == one.path for each in subject.written)


def _is_in_own_class(subject: Subject, one: Ambiguity) -> bool:
    owners = ((each.path, each.owner) for each in subject.written)
    return any(
        path == one.path and owner is not None and owner.start_line <= one.line <= owner.end_line
        for path, owner in owners
    )


def pieced_together(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places at which a text is put together that can be the name: `"visit_" + kind` for `visit_name`."""
    if subject.is_local or subject.family not in (Family.PYTHON, Family.TYPESCRIPT, Family.RUBY):
        return
    cuts = [at + 1 for at, letter in enumerate(subject.old[:-1]) if letter == "_" and at > 0]
    cuts += [at for at in range(2, len(subject.old)) if subject.old[at].isupper() and subject.old[at - 1].islower()]
    if not cuts:
        return
    heads = b"|".join(sorted({re.escape(subject.old[:at].encode()) for at in cuts}))
    tails = b"|".join(sorted({re.escape(subject.old[at:].encode()) for at in cuts}))
    tails += b"|" + b"|".join(sorted({re.escape(b"_" + subject.old[at:].encode()) for at in cuts}))
    built = re.compile(
        rb"[\"'`](?:%s)(?:[\"']\s*[+%%]|\$?\{|%%[sr]|#\{)|(?:\}|%%[sr]|[+]\s*[\"'])(?:%s)[\"'`]" % (heads, tails)
    )
    for path in subject.service.facts.paths_now():
        syntax = subject.service.facts.syntax(path) if family_of(path) is subject.family else None
        for number, line in enumerate(syntax.text.split(b"\n"), 1) if syntax and built.search(syntax.text) else ():
            if built.search(line):
                yield subject.ask(AmbiguitySource.DYNAMIC_ATTRIBUTE, path, number)


def imported_beside(subject: Subject) -> Iterator[Ambiguity]:
    """Yield imports of the name from elsewhere in a file that defines it: which of the two holds is not known."""
    for one in subject.written if subject.family is Family.PYTHON and not subject.is_member else ():
        for each in one.syntax.imports:
            if _bound(each) == subject.old and not any(
                line == each.line for line, _ in subject.edited.get(one.path, ())
            ):
                yield subject.ask(AmbiguitySource.CONDITIONAL_DEFINITION, one.path, each.line)


def imported_in_turn(subject: Subject) -> Iterator[Ambiguity]:
    """Yield imports of the name from several modules in one file, one of which may be the subject's.

    Of `try: from ._fast import escape` and `except ImportError: from ._slow import escape` an indexer may say that both
    are the first one.
    """
    if subject.family is not Family.PYTHON or subject.is_member:
        return
    homes = {part for one in subject.written for part in posixpath.splitext(one.path)[0].split("/")}
    for path in subject.code:
        syntax = subject.service.facts.syntax(path)
        found = [one for one in syntax.imports if subject.old in (one.name, _bound(one))] if syntax is not None else []
        if len({one.module for one in found}) > 1 and any(
            one.module.startswith(".") or not homes.isdisjoint(one.module.split(".")) for one in found
        ):
            for line in sorted({one.line for one in found}):
                yield subject.ask(AmbiguitySource.CONDITIONAL_DEFINITION, path, line)


def _bound(one: Import) -> str:
    return one.alias or one.name
