"""What makes a name mean more than one thing: six detectors for one file, and the sources that `rename.py` adds.

The detectors look at what the syntax of a file shows and at which of its names the indexer could resolve. An ambiguous
name is never edited without a decision, so a detector reports a name when in doubt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from cairn.core.types import Import, Reference, Symbol
from cairn.semantic.model import Family

MOST_CANDIDATES = 50
MOST_OF_A_KIND = 200


class AmbiguitySource(StrEnum):
    """Why a name may mean more than one thing; each has one sentence in `SENTENCES`."""

    DUPLICATE_DEFINITION = "duplicate_definition"
    CONDITIONAL_DEFINITION = "conditional_definition"
    OVERLOAD_SET = "overload_set"
    DYNAMIC_ATTRIBUTE = "dynamic_attribute"
    STAR_IMPORT = "star_import"
    UNRESOLVED_BASE = "unresolved_base"
    UNRESOLVED_USE = "unresolved_use"
    SHARED_PLACE = "shared_place"
    NAME_TAKEN = "name_taken"
    NAME_IN_TEXT = "name_in_text"
    NAME_FOR_TOOL = "name_for_tool"
    NAME_OF_DATA = "name_of_data"
    NAME_FORM = "name_form"
    FIXTURE = "fixture"
    OUTSIDE_IMPLEMENTER = "outside_implementer"
    STRUCTURAL_FIT = "structural_fit"
    GENERATED_FILE = "generated_file"
    FILE_LEFT_OUT = "file_left_out"


SENTENCES = {
    AmbiguitySource.DUPLICATE_DEFINITION: "It is defined more than once, and the last one hides the others.",
    AmbiguitySource.CONDITIONAL_DEFINITION: (
        "Which of its definitions holds is decided when the program runs or is built."
    ),
    AmbiguitySource.OVERLOAD_SET: "Several definitions share the name, and a call chooses one by its arguments.",
    AmbiguitySource.DYNAMIC_ATTRIBUTE: "A name is looked up by a text, so any definition may be meant.",
    AmbiguitySource.STAR_IMPORT: "Everything is imported, so a name may come from there or from elsewhere.",
    AmbiguitySource.UNRESOLVED_BASE: "The indexer does not know this base, so what is inherited is not known.",
    AmbiguitySource.UNRESOLVED_USE: "The indexer does not know what this use of the name means.",
    AmbiguitySource.SHARED_PLACE: "The name stands for two symbols at once, and only one of them would be renamed.",
    AmbiguitySource.NAME_TAKEN: "The new name is there already, and what it means there is not looked at.",
    AmbiguitySource.NAME_IN_TEXT: "A text names it, and may be what it is looked up by.",
    AmbiguitySource.NAME_FOR_TOOL: "A tool, a framework or a decorator may find it by its name.",
    AmbiguitySource.NAME_OF_DATA: "Its name may be a key of data that the program reads or writes.",
    AmbiguitySource.NAME_FORM: "The new name, or how the old one begins, means something to the language or its tools.",
    AmbiguitySource.FIXTURE: "It is a fixture, and whoever has a parameter of its name is given it.",
    AmbiguitySource.OUTSIDE_IMPLEMENTER: "Types of other modules may implement it, and would keep the old name.",
    AmbiguitySource.STRUCTURAL_FIT: "Another type has a member of this name, and one may stand in for the other.",
    AmbiguitySource.GENERATED_FILE: "The file is generated, and whoever writes it again writes the old name.",
    AmbiguitySource.FILE_LEFT_OUT: "The file is left out of the index, and may use the name.",
}


class MeaningCandidate(NamedTuple):
    """A place that an ambiguous name may mean."""

    path: str
    line: int
    name: str

    @property
    def id(self) -> str:
        """The text by which a decision names this candidate."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """One name that may mean more than one thing, and the places it may mean."""

    source: AmbiguitySource
    path: str
    line: int
    name: str
    candidates: tuple[MeaningCandidate, ...] = ()

    @property
    def signature(self) -> str:
        """A digest that is equal for equal ambiguities and differs for all others."""
        parts = [self.source.value, self.path, self.line, self.name, [[*one] for one in self.candidates]]
        return sha256(json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


class AmbiguityEvidence(NamedTuple):
    """What is known of one file. `resolved` says whether the indexer knows the name that begins at a byte."""

    path: str
    family: Family
    text: bytes
    symbols: Sequence[Symbol]
    references: Sequence[Reference]
    imports: Sequence[Import]
    resolved: Callable[[int], bool]


Detector = Callable[[AmbiguityEvidence], Iterator[Ambiguity]]

_WRITTEN_ONCE = frozenset(
    {"function", "method", "constructor", "class", "interface", "struct", "enum", "trait", "object", "type", "union"}
)
_CALLABLES = frozenset({"function", "method", "constructor"})
# Families whose languages choose among definitions of one name by the types of the arguments.
_OVERLOADING = frozenset({Family.JVM, Family.DOTNET, Family.CLANG})
# Kinds that may be opened several times and are still one definition.
_MERGING = {Family.TYPESCRIPT: frozenset({"interface"}), Family.DOTNET: frozenset({"class", "struct", "interface"})}
_OPEN_CLASSES = frozenset({"class", "object"})
_BLOCK = re.compile(rb"\s*(?:if|elif|else|try|except|finally|for|while|with|match|case)\b")
_ACCESSOR = re.compile(rb"@\s*[\w.]+\.(?:setter|getter|deleter|register)\b|@\s*(?:\w+\.)*singledispatch")
_OVERLOAD = re.compile(rb"@\s*(?:\w+\.)*overload\b")
_CONDITION = {
    Family.CLANG: re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b", re.M),
    Family.DOTNET: re.compile(rb"^[ \t]*#[ \t]*(if|else|elif|endif)\b", re.M),
}
_CFG = re.compile(rb"#\[cfg\(")
_LOOK_BACK = 2_000

_DYNAMIC: dict[Family, frozenset[str]] = {
    Family.PYTHON: frozenset(
        [
            "getattr",
            "setattr",
            "delattr",
            "eval",
            "exec",
            "globals",
            "locals",
            "vars",
            "__import__",
            "import_module",
            "attrgetter",
            "methodcaller",
        ]
    ),
    Family.TYPESCRIPT: frozenset({"eval", "Function"}),
    Family.RUBY: frozenset(
        [
            "send",
            "public_send",
            "__send__",
            "define_method",
            "instance_variable_get",
            "instance_variable_set",
            "const_get",
            "class_eval",
            "instance_eval",
            "module_eval",
        ]
    ),
    Family.JVM: frozenset({"forName", "getMethod", "getDeclaredMethod", "getField", "getDeclaredField"}),
    Family.GO: frozenset({"MethodByName", "FieldByName"}),
    Family.DOTNET: frozenset({"GetMethod", "GetProperty", "GetField", "InvokeMember"}),
}
_HOOKS: dict[Family, frozenset[str]] = {
    Family.PYTHON: frozenset({"__getattr__", "__getattribute__"}),
    Family.RUBY: frozenset({"method_missing"}),
}
_REFLECT = frozenset({"Reflect"})


def ambiguities(evidence: AmbiguityEvidence) -> tuple[Ambiguity, ...]:
    """Return everything that is ambiguous in a file in order of line, at most `MOST_OF_A_KIND` of each source."""
    found: list[Ambiguity] = []
    for detect in DETECTORS:
        found += (one for _, one in zip(range(MOST_OF_A_KIND), detect(evidence), strict=False))
    return tuple(sorted(found, key=lambda one: (one.line, one.source, one.name)))


# --- names that are defined more than once ----------------------------------------------------------------------------


def written_twice(evidence: AmbiguityEvidence) -> Iterator[Ambiguity]:
    """Yield names that are defined more than once under one dotted path in one file.

    The definitions may be overloads, may stand in branches of a condition, or the last one hides the others.
    """
    same: dict[str, list[Symbol]] = {}
    for symbol in evidence.symbols:
        if symbol.kind in _WRITTEN_ONCE and symbol.name != "_":
            path = f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name
            same.setdefault(path, []).append(symbol)
    for name, written in same.items():
        symbols = [one for one in written if not _is_accessor(evidence, one)]
        if len(symbols) > 1 and not _merges(evidence.family, symbols):
            yield Ambiguity(
                _why_twice(evidence, symbols),
                evidence.path,
                symbols[0].start_line,
                name,
                tuple(MeaningCandidate(evidence.path, one.start_line, name) for one in symbols[:MOST_CANDIDATES]),
            )


def _why_twice(evidence: AmbiguityEvidence, symbols: Sequence[Symbol]) -> AmbiguitySource:
    if any(_is_conditional(evidence, one) for one in symbols):
        return AmbiguitySource.CONDITIONAL_DEFINITION
    if all(one.kind in _CALLABLES for one in symbols) and (
        evidence.family in _OVERLOADING
        or any(_OVERLOAD.search(_above(evidence.text, one.start_byte)) for one in symbols)
        or any(_has_no_body(evidence, one) for one in symbols)
    ):
        return AmbiguitySource.OVERLOAD_SET
    return AmbiguitySource.DUPLICATE_DEFINITION


def _merges(family: Family, symbols: Sequence[Symbol]) -> bool:
    kinds = {one.kind for one in symbols}
    if family is Family.RUBY:
        return kinds <= _OPEN_CLASSES
    return bool(kinds <= _MERGING.get(family, frozenset()))


def _has_no_body(evidence: AmbiguityEvidence, symbol: Symbol) -> bool:
    """Whether this is a TypeScript declaration without a body: one of several signatures of an overloaded function."""
    return evidence.family is Family.TYPESCRIPT and b"{" not in evidence.text[symbol.name_byte : symbol.end_byte]


def _is_accessor(evidence: AmbiguityEvidence, symbol: Symbol) -> bool:
    """Whether this is a getter, a setter or a deleter: the other definitions of a property are no duplicates."""
    if evidence.family is Family.TYPESCRIPT:
        before = evidence.text[_line_start(evidence.text, symbol.name_byte) : symbol.name_byte]
        return re.search(rb"\b[gs]et\s+$", before) is not None
    return evidence.family is Family.PYTHON and _ACCESSOR.search(_above(evidence.text, symbol.start_byte)) is not None


def _is_conditional(evidence: AmbiguityEvidence, symbol: Symbol) -> bool:
    text, at = evidence.text, symbol.start_byte
    if evidence.family is Family.PYTHON:
        return _in_block(text, symbol.name_byte)
    if evidence.family is Family.RUST:
        return _CFG.search(_above(text, at)) is not None
    condition = _CONDITION.get(evidence.family)
    if condition is None:
        return False
    depth = 0
    for mark in condition.finditer(text, 0, at):
        depth += {b"endif": -1, b"else": 0, b"elif": 0}.get(mark[1], 1)
    return depth > 0


def _in_block(text: bytes, at: int) -> bool:
    """Whether the line above that is indented less opens a branch (`if`, `try`, a loop) and no definition."""
    start = _line_start(text, at)
    indent = _indent(text, start)
    while start > 0 and indent > 0:
        start = _line_start(text, start - 1)
        line = text[start : text.find(b"\n", start)]
        if line.strip() and not line.lstrip().startswith(b"#") and _indent(text, start) < indent:
            return _BLOCK.match(line) is not None
    return False


def _line_start(text: bytes, at: int) -> int:
    return text.rfind(b"\n", 0, at) + 1


def _indent(text: bytes, start: int) -> int:
    end = start
    while text[end : end + 1] in (b" ", b"\t"):
        end += 1
    return end - start


def _above(text: bytes, at: int) -> bytes:
    """Return the decorators of a definition: the decorator lines just above it, and its own line."""
    start = _line_start(text, at)
    lines: list[bytes] = [text[start : text.find(b"\n", start) if text.find(b"\n", start) >= 0 else len(text)]]
    while start > 0 and at - start < _LOOK_BACK:
        before = _line_start(text, start - 1)
        line = text[before : start - 1].strip()
        if not line.startswith((b"@", b"#[")):
            break
        lines.append(line)
        start = before
    return b"\n".join(lines)


# --- names that are looked up while the program runs ------------------------------------------------------------------


def dynamic_attributes(evidence: AmbiguityEvidence) -> Iterator[Ambiguity]:
    """Yield calls that look a name up by a text, and classes that answer to any name."""
    names = _DYNAMIC.get(evidence.family, frozenset())
    for use in evidence.references:
        if use.kind == "call" and (
            use.name in names or (use.receiver in _REFLECT and evidence.family is Family.TYPESCRIPT)
        ):
            yield Ambiguity(AmbiguitySource.DYNAMIC_ATTRIBUTE, evidence.path, use.line, use.name)
    hooks = _HOOKS.get(evidence.family, frozenset())
    for symbol in evidence.symbols:
        if symbol.name in hooks and symbol.kind in _CALLABLES:
            yield Ambiguity(AmbiguitySource.DYNAMIC_ATTRIBUTE, evidence.path, symbol.start_line, symbol.name)


def star_imports(evidence: AmbiguityEvidence) -> Iterator[Ambiguity]:
    """Yield star imports, in languages where only a run of the program shows which names they bring."""
    if evidence.family is Family.PYTHON:
        for one in evidence.imports:
            if one.name == "*":
                yield Ambiguity(AmbiguitySource.STAR_IMPORT, evidence.path, one.line, one.module)


def unresolved_bases(evidence: AmbiguityEvidence) -> Iterator[Ambiguity]:
    """Yield base classes for which the indexer has no symbol."""
    for use in evidence.references:
        if use.kind == "base" and not evidence.resolved(use.start_byte):
            yield Ambiguity(AmbiguitySource.UNRESOLVED_BASE, evidence.path, use.line, use.name)


DETECTORS: tuple[Detector, ...] = (written_twice, dynamic_attributes, star_imports, unresolved_bases)
