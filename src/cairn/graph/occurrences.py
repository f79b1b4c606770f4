"""Find every place of a name in the code of a snapshot that is neither a definition nor a use that the index knows.

The index holds calls, types, bases and annotations. All other uses of a name (a function that is passed on, a value
that is read or written, a macro, a name in a string) are found in the text when somebody asks, so they cost the index
nothing. Comments are left out. A place is a `Reference` like any other, and is bound by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from cairn.core.tokens import terms_of
from cairn.core.types import Import, Reference
from cairn.engine.local import LocalEngine
from cairn.engine.scan import Texts
from cairn.graph.facts import Facts
from cairn.graph.importers import import_end
from cairn.graph.names import SnapshotNames
from cairn.graph.shadows import words
from cairn.search.pattern import Case, compiled
from cairn.store import NamedUses
from cairn.syntax.lexis import Quiet

VALUE, READ, WRITE, CALL, STRING, IMPORT = "value", "read", "write", "call", "string", "import"
"""Kinds of uses that the index does not hold: a name that is passed on, a member that is read, something that is
written, a call that the parser did not see, a string that is just the name, and a name in an import."""

_LOOK = 200
_IN_WORDS = ("{}", "{}-1", "i-{}", "some-{}", "{}-some")
_MOST_QUIET = 2_000
_MOST_PATTERNS = 32
_MEMBER = re.compile(r"(?:\.|::|\?\.|&\.)\s*$")
_RECEIVER = re.compile(r"[\w$@]+(?:(?:\.|::|\?\.|&\.)[\w$]+)*$")
_MEMBER_WITH_ARROWS = re.compile(r"(?:\.|->|::|\?\.|&\.)\s*$")
_RECEIVER_WITH_ARROWS = re.compile(r"[\w$@]+(?:(?:\.|->|::|\?\.|&\.)[\w$]+)*$")
_BEFORE_MEMBERS = tuple(".:>")
_STEP = re.compile(r"\?\.|&\.")
_CALLED = re.compile(r"!?\s{0,4}\(")
_WRITTEN = re.compile(r"\s*(?:\+\+|--|:=|(?:[-+*/%&|^.]|<<|>>>?|\*\*|//|\?\?|\|\||&&)?=(?![=>~]))")
_KEYED = re.compile(r"\s*(?::(?![:=])|=(?![=>~]))")
_NAME_IN_STRING = re.compile(rb"[\w.:/#$-]+")
_SYMBOL = re.compile(r"(?:^|[\s(,]):$")
# `goto name`, `name:` on a line of its own, and a definition that the index holds under another of its heads.
_NO_USE = re.compile(r"\b(?:goto|def|defp|defmacro|defmacrop|fun|func|function|fn)\s+$")
_LINE_BEGINS = re.compile(r"(?:^|\n)[ \t]*$")
_LABELLED = re.compile(r"[ \t]*:(?![:=])")
_LONGEST_STRING = 200


class FoundPlace(NamedTuple):
    """A place of a name in the code of a file; with `is_key` it names a field or a parameter of something unknown.

    `imported` is the import that the place is a part of.
    """

    path: str
    use: Reference
    is_key: bool = False
    imported: Import | None = None


class FoundPlaces(NamedTuple):
    """The places of a name in some files, and the number of its mentions in comments and texts."""

    places: list[FoundPlace]
    mentions: int


class Occurrences:
    """The places of names in the text of one snapshot; its table of texts is built for the first question."""

    def __init__(self, names: SnapshotNames) -> None:
        self._names = names
        self._view = names.view
        self._texts: Texts | None = None
        self._words: LocalEngine | None = None
        # The comments and strings of a file, found as far as a question needed them.
        self._quiet = lru_cache(_MOST_QUIET)(self._quiet_of)
        self._pattern = lru_cache(_MOST_PATTERNS)(lambda name: compiled(name, case=Case.SENSITIVE, word=True))

    def files(self, name: str, is_asked: Callable[[str], bool]) -> list[str]:
        """Return the files that `is_asked` accepts and that hold a name or words like it, in order."""
        self._texts = self._texts or Texts(self._view)
        self._words = self._words or LocalEngine(self._view)
        having = files_with(self._words, name)
        if having is not None:
            return sorted(path for path in self._texts.among(having) if is_asked(path))
        found = self._texts.matching(self._pattern(name), is_asked)
        return [self._texts.paths[place] for place, _ in found]

    def in_file(self, path: str, name: str, used: Iterable[Reference]) -> FoundPlaces:
        """Return the places of a name in a file that are neither definitions nor one of these uses of it."""
        facts, wanted = self._names.facts(path), name.encode()
        known = {use.start_byte for use in used}
        # Counting is much faster than telling words apart, and most files hold no more than what is known.
        written = facts.text.count(wanted)
        if written > len(known):
            known |= {symbol.name_byte for symbol in facts.symbols if symbol.name == name}
        if written <= len(known):
            return FoundPlaces([], 0)
        texts = self._texts = self._texts or Texts(self._view)
        starts = texts.starts(self._pattern(name), path)
        spots = [at for at in starts if at not in known and not self._is_part(path, at, at + len(wanted))]
        return self._in_code(path, name, spots) if spots else FoundPlaces([], 0)

    def of(self, name: str, is_asked: Callable[[str], bool]) -> FoundPlaces:
        """Return the places of a name in all files that `is_asked` accepts, without definitions and known uses."""
        uses = NamedUses(self._view, name)
        found = [self.in_file(path, name, uses.in_file(path)) for path in self.files(name, is_asked)]
        return FoundPlaces([each for one in found for each in one.places], sum(one.mentions for one in found))

    def _quiet_of(self, path: str) -> Quiet:
        facts = self._names.facts(path)
        return Quiet(facts.text, facts.traits.lexis)

    def _is_part(self, path: str, start: int, end: int) -> bool:
        """Whether a word is a part of a longer name, as `Box` of `$Box` in JavaScript."""
        facts = self._names.facts(path)
        letters = facts.traits.lexis.letters.encode()
        around = facts.text[max(0, start - 1) : start], facts.text[end : end + 1]
        return any(each and each in letters for each in around)

    def _in_code(self, path: str, name: str, spots: list[int]) -> FoundPlaces:
        facts = self._names.facts(path)
        quiet = self._quiet(path)
        imported = dict(_imported_at(facts, name))
        found, mentions, line, counted = [], 0, 1, 0
        for at in spots:
            line += facts.text.count(b"\n", counted, at)
            counted = at
            column = at - facts.text.rfind(b"\n", 0, at) - 1
            if at in imported:
                use = Reference(IMPORT, name, "", at, line, column, facts.around(at))
                found.append(FoundPlace(path, use, is_key=True, imported=imported[at]))
                continue
            if quiet.is_comment(at):
                mentions += 1
                continue
            string = quiet.string(at)
            if string is not None:
                if _is_name(facts.text[slice(*string)], facts.traits.lexis.lists):
                    use = Reference(STRING, name, "", at, line, column, facts.around(at))
                    found.append(FoundPlace(path, use, is_key=True))
                else:
                    mentions += 1
            else:
                found.append(_place(facts, name, at, line, column))
        return FoundPlaces(found, mentions)


def files_with(words: LocalEngine, name: str) -> set[str] | None:
    """Return the files that may hold a name, by the words of the index; None where these do not tell.

    Beside a hyphen, as in `a-name`, a name is a part of a word. Only terms that it has alone and in such words count.
    """
    known = set.intersection(*(set(terms_of(word.format(name))) for word in _IN_WORDS))
    if not known or not name.isascii():
        return None
    held: set[int] | None = None
    for match in words.matches(sorted(known)):
        files = {file for each in match.values() for file in words.file_of_row[each.rows].tolist()}
        held = files if held is None else held & files
    return {words.paths[file] for file in held or ()}


def _imported_at(facts: Facts, name: str) -> Iterator[tuple[int, Import]]:
    """Yield where the imports of a file write this name, as the imported name, as its alias or in a module's path."""
    for each in facts.imports:
        if name in (each.name, each.alias) or name in each.module:
            text = facts.text[each.start_byte : import_end(facts.text, each.start_byte)]
            yield from ((each.start_byte + at, each) for at in words(text, name.encode()))


def _is_name(string: bytes, lists: str) -> bool:
    """Whether a string is just a name, or a list of names as `%w[one two]` of Ruby."""
    if lists and re.match(lists.encode(), string):
        return True
    inside = string.strip(b"\"'`")
    return len(inside) <= _LONGEST_STRING and _NAME_IN_STRING.fullmatch(inside) is not None


def _place(facts: Facts, name: str, at: int, line: int, column: int) -> FoundPlace:
    end = at + len(name.encode())
    before = facts.text[max(0, at - _LOOK) : at].decode("utf-8", "replace")
    after = facts.text[end : end + _LOOK].decode("utf-8", "replace")
    traits = facts.traits
    is_variable = bool(traits.sigil) and before.endswith(traits.sigil)
    before = before.removesuffix(traits.sigil) if is_variable else before
    receiver = _receiver(before, traits.arrows_lead_to_members)
    is_symbol = not receiver and ((before.endswith(":") and _SYMBOL.search(before) is not None) or is_variable)
    is_key = not receiver and before.rstrip()[-1:] in tuple("({,") and _KEYED.match(after) is not None
    is_label = _LABELLED.match(after) is not None and _LINE_BEGINS.search(before) is not None
    is_no_use = not receiver and (is_label or (before[-1:].isspace() and _NO_USE.search(before) is not None))
    if _CALLED.match(after):
        kind = CALL
    elif _WRITTEN.match(after) or is_key or before.endswith(("++", "--")):
        kind = WRITE
    else:
        kind = READ if receiver else VALUE
    use = Reference(kind, name, receiver, at, line, column, facts.around(at))
    return FoundPlace(facts.path, use, is_key or is_symbol or is_no_use)


def _receiver(before: str, has_arrows: bool) -> str:
    """Return the path of names before a member; `()` for a value that has no such path; empty for a bare name."""
    if before.rstrip()[-1:] not in _BEFORE_MEMBERS:
        return ""
    member = (_MEMBER_WITH_ARROWS if has_arrows else _MEMBER).search(before)
    if member is None:
        return ""
    path = (_RECEIVER_WITH_ARROWS if has_arrows else _RECEIVER).search(before[: member.start()])
    return _STEP.sub(".", path[0]) if path else "()"
