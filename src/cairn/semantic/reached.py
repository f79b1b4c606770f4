"""Names that a program reaches without writing them: keys of data, members of enums, hidden names, other spellings.

What asks is a place that can do it: `Mode[text]`, `Cfg(**data)`, `asdict(one)`, `JSON.stringify(one)`. Without any such
place the rename goes on.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator, Sequence

from cairn.core.text import word_set
from cairn.core.tokens import whole_name
from cairn.core.types import Reference, ReferenceKind
from cairn.semantic.ambiguity import Ambiguity, AmbiguitySource
from cairn.semantic.facts import FileSyntax
from cairn.semantic.model import Family, Occurrence, OccurrenceRole, family_of
from cairn.semantic.places import spot
from cairn.semantic.subject import Subject, Written

_MOST = 20
_MOST_ARGUMENTS = 4_000
_VALUES = frozenset({"field", "variable", "constant", "property", "enum_member"})
_ENUMS = re.compile(r"(?:^|/)enum/(?:\w*Enum|\w*Flag)#$|(?:^|[./`])(?:\w*Enum|\w*Flag)#$")
_OF_DATA = word_set(
    """dataclass define frozen mutable attrs attributes attr s pydantic_dataclass dataclass_transform"""
)
_READ_BY_NAME = word_set("""asdict fields fields_dict resolve_types get_type_hints get_annotations recursive_asdict""")
_WITH_KEYWORDS = frozenset({"replace", "evolve", "copy_with", "_replace", "assoc"})
_SPREAD = re.compile(rb"(?:^|[,(])\s*\*\*")
_ALL_OF_IT = re.compile(
    rb"(?P<made>\b[A-Z]\w*)\([^()]*\)\.__dict__\b|(?P<of>[\w\])]+)\.__dict__\b|\bvars\(\s*(?P<given>[\w.]+)"
)
# All attributes of a value become those of another one, under whatever names.
_COPIED = re.compile(rb"^\s*\w+\.__dict__\.update\(\w+\.__dict__\)\s*$")
_FIELDS_OF = re.compile(rb"\b(?:__dataclass_fields__|__attrs_attrs__|__annotations__|__members__|_member_map_)\b")
_NAME_OF_MEMBER = re.compile(rb"[\w\])]\.(?:name|_name_)\b(?!\s*[=(])")
# What may stand behind or before the name of a class that is not handed on: a member of it, a call, a type.
_NEXT = re.compile(rb"\s*(?:\.(?!__|_member)\w|\(|\|\s*\w|\[[rbu]?[\"']\w+[\"']\])")
_TYPED = re.compile(rb"(?:->\s*|[\w)]\s*:\s*|\|\s*|\w\[(?:[^\]]*,\s*)?)[\"']?(?:\w+\.)*$")
_IN_VALUE = re.compile(rb"\{[^}]*$|\blambda\b|[\w)]\[[^\]]*:\s*$")
_CHECKED = re.compile(rb"\b(?:isinstance|issubclass|cast|raises)\([^()]*(?:\([^()]*)?$")
_STATEMENT = re.compile(rb"\s*(?:class\s|from\s|import\s|except\b|raise\b|@)")
_AUTO = re.compile(rb"\bauto\(")
# A letter and the mark above it may be two, and the mark is no letter.
_OTHER_LETTERS = re.compile(r"(?:[^\W\d]|[^\x00-\x7f])(?:\w|[^\x00-\x7f])*")

_SCRIPT_KEYS = re.compile(
    rb"\bJSON\s*\.\s*(?:stringify|parse)\b|\bObject\s*\.\s*(?:keys|entries|fromEntries|assign|getOwnPropertyNames)\b"
    rb"|\bReflect\s*\.\s*ownKeys\b|\.json\(\s*[\w{)]|\bpostMessage\(|\bfor\s*\(\s*(?:const|let|var)\s+\w+\s+in\b"
)
_REFLECTION = {
    "method": re.compile(rb"\.MethodByName\(\s*[^\s\"`]"),
    "field": re.compile(rb"\.FieldByName\(\s*[^\s\"`]"),
}
_SPREAD_INTO_CALL = re.compile(rb"\(\s*\{[^{}()]*\.\.\.\s*\w")
_SCRIPT_VALUES = frozenset({"field", "property", "variable"})


def reached(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places that can reach the subject under a name that the code does not hold."""
    if subject.family is Family.PYTHON:
        yield from _hidden_elsewhere(subject)
        yield from _spelled_otherwise(subject)
        yield from _by_key(subject)
    elif subject.family is Family.TYPESCRIPT:
        yield from _as_data(subject)
    elif subject.family is Family.GO:
        yield from _reflected(subject)


# --- Python: hidden names, and other spellings ------------------------------------------------------------------------


def _hidden_elsewhere(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places outside of a class that write a hidden name of it in full: `_Vault__pin`."""
    if not any(one.symbol.kind in ("class", "enum") for one in subject.written):
        return
    names = {each.lstrip("_") for each in (subject.old, subject.new)} - {""}
    full = re.compile(rb"(?<!\w)_(?:%s)__\w" % b"|".join(re.escape(each.encode()) for each in sorted(names)))
    for path, syntax in _files(subject):
        yield from _asked(subject, AmbiguitySource.NAME_FORM, path, syntax, full)


def same_name(one: str, other: str) -> bool:
    """Whether Python takes two names for one: it compares them in the form NFKC."""
    return unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other)


def is_reserved(name: str) -> bool:
    """Whether a name is a word of Python's own once it is in the form in which Python reads it."""
    return keyword.iskeyword(unicodedata.normalize("NFKC", name))


def _spelled_otherwise(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the old or the new name in letters that Python reads as the same ones."""
    old, new = (unicodedata.normalize("NFKC", each) for each in (subject.old, subject.new))
    for path, syntax in _files(subject):
        if syntax.text.isascii() and subject.old == old and subject.new == new:
            continue
        seen: set[int] = set()
        for number, line in enumerate(syntax.text.split(b"\n"), 1):
            if line.isascii() and subject.old == old and subject.new == new:
                continue
            for found in _OTHER_LETTERS.findall(line.decode("utf-8", "replace")):
                read = unicodedata.normalize("NFKC", found)
                if found not in (subject.old, subject.new) and read in (old, new) and len(seen) < _MOST:
                    seen.add(number)
        for number in sorted(seen):
            yield subject.ask(AmbiguitySource.NAME_FORM, path, number)


# --- Python: keys of data and members of enums ------------------------------------------------------------------------


def _by_key(subject: Subject) -> Iterator[Ambiguity]:
    for one in subject.written:
        owner = one.owner
        if owner is not None and owner.kind in ("constructor", "method") and one.symbol.kind in _VALUES:
            owner = one.syntax.symbols[owner.parent] if owner.parent >= 0 else None
        if owner is None or owner.kind not in ("class", "enum") or one.symbol.kind not in _VALUES:
            continue
        names = _names_of_kin(subject) | {owner.name}
        if owner.kind == "enum" or _is_enum(subject):
            yield from _members_by_name(subject, one, names)
            continue
        is_data = _is_data(one, owner.start_byte, owner.name_byte)
        if is_data:
            yield from _fields_by_name(subject, names)
        yield from _all_by_name(subject, one, names, is_data=is_data)


def _kin(subject: Subject) -> frozenset[int]:
    return frozenset(subject.service.facts.types_of(subject.related, heirs=True))


def _names_of_kin(subject: Subject) -> set[str]:
    facts = subject.service.facts
    return {
        facts.symbol(each).rpartition("/")[2].rstrip("#").rpartition("#")[2].strip("`")
        for each in _kin(subject)
        if facts.is_ours(each)
    } - {""}


def _uses_of_kin(subject: Subject) -> list[Occurrence]:
    facts = subject.service.facts
    ours = [each for each in _kin(subject) if facts.is_ours(each)]
    return [
        one
        for one in facts.occurrences(ours)
        if one.role not in (OccurrenceRole.DEFINITION, OccurrenceRole.IMPORT) and one.start_line == one.end_line
    ]


def _is_enum(subject: Subject) -> bool:
    facts = subject.service.facts
    return any(_ENUMS.search(facts.symbol(each)) for each in _kin(subject) if not facts.is_ours(each))


def _is_data(one: Written, start: int, name: int) -> bool:
    """Whether the class of a field is made by a decorator that makes its constructor of the fields."""
    for each in one.syntax.references:
        if each.kind == ReferenceKind.ANNOTATION and start <= each.start_byte < name and each.name in _OF_DATA:
            return True
    head = one.syntax.text[start:name]
    return re.search(rb"@\s*(?:\w+\.)*(?:%s)\b" % "|".join(sorted(_OF_DATA)).encode(), head) is not None


def _members_by_name(subject: Subject, one: Written, names: set[str]) -> Iterator[Ambiguity]:
    """Yield the places that look a member of an enum up by a text, print its name, or hand the enum on."""
    if one.owner is not None and _AUTO.search(one.syntax.text, one.symbol.start_byte, one.symbol.end_byte + 20):
        # The value of `auto()` may be made of the name.
        yield subject.ask(AmbiguitySource.NAME_OF_DATA, one.path, one.symbol.start_line)
    places = _uses_of_kin(subject)
    for path, syntax in _files(subject):
        if not _mentions(syntax, names):
            continue
        yield from _asked(subject, AmbiguitySource.NAME_OF_DATA, path, syntax, _NAME_OF_MEMBER)
        yield from _asked(subject, AmbiguitySource.NAME_OF_DATA, path, syntax, _FIELDS_OF)
        yield from _handed_on(subject, path, syntax, places)


def _fields_by_name(subject: Subject, names: set[str]) -> Iterator[Ambiguity]:
    """Yield the places that make data of names and values, or names and values of data."""
    places = _uses_of_kin(subject)
    for path, syntax in _files(subject):
        lines: set[int] = set()
        for call in _calls(syntax):
            if call.name in _READ_BY_NAME:
                lines.add(call.line)
            makes = call.name in names or call.name in _WITH_KEYWORDS or call.name == "cls"
            if makes and _SPREAD.search(_arguments(syntax.text, call)):
                lines.add(call.line)
        for line in sorted(lines)[:_MOST]:
            yield subject.ask(AmbiguitySource.NAME_OF_DATA, path, line)
        yield from _asked(subject, AmbiguitySource.NAME_OF_DATA, path, syntax, _FIELDS_OF)
        if _mentions(syntax, names):
            yield from _handed_on(subject, path, syntax, places)


def _all_by_name(subject: Subject, one: Written, names: set[str], *, is_data: bool) -> Iterator[Ambiguity]:
    """Yield the places that take all attributes of a value: of `self` in the class and its kin, of others anywhere."""
    for path, syntax in _files(subject):
        lines: set[int] = set()
        for found in _ALL_OF_IT.finditer(syntax.text):
            line = spot(syntax.text, found.start())[0]
            if _is_comment(syntax.text, found.start()):
                continue
            of = found["made"] or found["of"] or found["given"]
            if _COPIED.match(_line(syntax.text, found.start())) or (found["made"] and of.decode() not in names):
                continue
            if of in (b"self", b"cls"):
                if _class_around(syntax, line) in names:
                    lines.add(line)
            elif is_data or path == one.path or _mentions(syntax, names):
                lines.add(line)
        for line in sorted(lines)[:_MOST]:
            yield subject.ask(AmbiguitySource.NAME_OF_DATA, path, line)


def _handed_on(subject: Subject, path: str, syntax: FileSyntax, places: Sequence[Occurrence]) -> Iterator[Ambiguity]:
    """Yield the places that hand a class on or look into it: `Mode[text]`, `list(Mode)`, `parse(Cfg, data)`."""
    lines = syntax.text.split(b"\n")
    found = (
        one.start_line
        for one in places
        if one.path == path and not _is_plain(lines[one.start_line - 1], one.start_column, one.end_column)
    )
    for line in sorted(set(found))[:_MOST]:
        yield subject.ask(AmbiguitySource.NAME_OF_DATA, path, line)


def _is_plain(line: bytes, start: int, end: int) -> bool:
    """Whether a class is only called, typed with, checked for or asked for a member that is written there."""
    before, behind = line[:start], line[end:]
    return any(
        (
            _NEXT.match(behind),
            _TYPED.search(before) and not _IN_VALUE.search(before),
            _CHECKED.search(before) and b")" not in before[before.rfind(b"(") :],
            _STATEMENT.match(before),
        )
    )


# --- TypeScript -------------------------------------------------------------------------------------------------------


def _as_data(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places that write objects of any type under the names of their fields, or read them so.

    Of which type such an object is, is not looked at: a field is asked about if anything in the codebase does it.
    """
    if not subject.is_member or not subject.written:
        return
    if not any(_may_be_data(one) for one in subject.written):
        return
    for path, syntax in _files(subject):
        yield from _asked(subject, AmbiguitySource.NAME_OF_DATA, path, syntax, _SCRIPT_KEYS)
        yield from _asked(subject, AmbiguitySource.NAME_OF_DATA, path, syntax, _SPREAD_INTO_CALL)


def _may_be_data(one: Written) -> bool:
    if one.symbol.kind not in _SCRIPT_VALUES or one.symbol.name.startswith("#"):
        return False
    line_end = one.syntax.text.find(b"\n", one.symbol.name_byte)
    head = one.syntax.text[one.symbol.start_byte : line_end if line_end >= 0 else None]
    # A function is not written to JSON, and a static member belongs to no object.
    return re.search(rb"\bstatic\b|^\s*(?:readonly\s+)?[\w$]+\??\s*:\s*\([^)]*\)\s*=>", head) is None


# --- Go ---------------------------------------------------------------------------------------------------------------


def _reflected(subject: Subject) -> Iterator[Ambiguity]:
    """Yield the places in other files that look exported members up by a name that only a run of the program shows."""
    kinds = {one.symbol.kind for one in subject.written}
    wanted = next((way for kind, way in _REFLECTION.items() if kind in kinds), None)
    if wanted is None or not subject.old[:1].isupper():
        return
    for path, syntax in _files(subject):
        if path not in subject.edited:
            # Those of files that change are asked about with the files.
            yield from _asked(subject, AmbiguitySource.DYNAMIC_ATTRIBUTE, path, syntax, wanted)


# --- shared -----------------------------------------------------------------------------------------------------------


def _files(subject: Subject) -> Iterator[tuple[str, FileSyntax]]:
    for path in subject.service.facts.paths_now():
        syntax = subject.service.facts.syntax(path) if family_of(path) is subject.family else None
        if syntax is not None:
            yield path, syntax


def _asked(
    subject: Subject, source: AmbiguitySource, path: str, syntax: FileSyntax, wanted: re.Pattern[bytes]
) -> Iterator[Ambiguity]:
    lines: set[int] = set()
    for found in wanted.finditer(syntax.text):
        if not _is_comment(syntax.text, found.start()) and len(lines) < _MOST:
            lines.add(spot(syntax.text, found.start())[0])
    for line in sorted(lines):
        yield subject.ask(source, path, line)


def _line(text: bytes, at: int) -> bytes:
    end = text.find(b"\n", at)
    return text[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(text)]


def _is_comment(text: bytes, at: int) -> bool:
    """Whether a byte stands on a line that begins as a comment, or behind the mark of one."""
    line = text[text.rfind(b"\n", 0, at) + 1 : at]
    return line.lstrip().startswith((b"#", b"//", b"*", b"/*")) or b" # " in line or b" // " in line


def _mentions(syntax: FileSyntax, names: set[str]) -> bool:
    wanted = ((name.encode("utf-8", "surrogateescape"), name) for name in names)
    return any(word in syntax.text and whole_name(name).search(syntax.text) for word, name in wanted)


def _calls(syntax: FileSyntax) -> Iterator[Reference]:
    return (one for one in syntax.references if one.kind == ReferenceKind.CALL)


def _arguments(text: bytes, call: Reference) -> bytes:
    """Return what stands between the parentheses of a call, without what stands in inner ones."""
    start = text.find(b"(", call.start_byte, call.start_byte + 300)
    if start < 0:
        return b""
    depth, found = 0, bytearray()
    for byte in text[start : start + _MOST_ARGUMENTS]:
        depth += (byte in b"([{") - (byte in b")]}")
        if not depth:
            break
        if depth == 1:
            found.append(byte)
    return bytes(found)


def _class_around(syntax: FileSyntax, line: int) -> str:
    inner = [one for one in syntax.symbols if one.kind in ("class", "enum") and one.start_line <= line <= one.end_line]
    return max(inner, key=lambda one: one.start_line).name if inner else ""
