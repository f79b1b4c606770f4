"""Parse a query as people type it: operators, phrases, words, and the kind of the query.

    lease renewal lang:python path:src/** -path:**/old must:steal not:mock kind:class scope:tests "as it stands"

Everything but these operators is text: `std::vector`, a web address, `key: value`, and whatever stands in quotes or
after `--`. A word that is one typing error away from an operator is refused, and the error names the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.filetypes import ALSO_CALLED, LANGUAGES, TEXT, language_of
from cairn.core.limits import MAX_QUERY_CHARS
from cairn.core.tokens import terms
from cairn.core.types import SymbolKind
from cairn.errors import InvalidQuery
from cairn.search.places import SearchScope

# --- The kind of a query: a name, a qualified name, a path, a phrase, a regular expression, a sentence, or a mixture.


class Kind(StrEnum):
    """The kind of a query, told by its form."""

    IDENTIFIER = "identifier"
    QUALIFIED = "qualified"
    PATH = "path"
    PHRASE = "phrase"
    REGEX = "regex"
    NATURAL = "natural"
    MIXED = "mixed"


class Identifier(NamedTuple):
    """A name in a query: `Store.open` has the container `Store` and the name `open`; containers are joined by dots.

    `sure` says that the name cannot be a word of a sentence; a capital at its start is not enough for that.
    """

    text: str
    container: str
    name: str
    sure: bool


class QueryShape(NamedTuple):
    """The words of a query by their form; each list is in the order of the query, without repetitions."""

    kind: Kind
    identifiers: tuple[Identifier, ...]
    path_words: tuple[str, ...]
    natural: tuple[str, ...]


# Characters that people put around a word in a sentence. The brackets of a call are removed too, and mark a name.
_OPENING = "\"'`([{<,;"
_CLOSING = "\"'`)]}>,;:.?!"
_CALL = re.compile(r"(?<=\w)\([^()]*\)[.,;:?!]*$")
_NAME = r"[^\W\d][\w$]*"
_QUALIFIED = re.compile(rf"(?:::|\.|\\)?~?{_NAME}(?:(?:::|->|\?\.|\.|#|\\)~?{_NAME})+[!?]?")
_JOINTS = re.compile(r"::|->|\?\.|[.#\\]")
_MARKED = re.compile(rf"[@$#]{_NAME}|{_NAME}[!?]")
# camelCase, HTTPServer, snake_case, __init__, MAX_SIZE, sha256.
_HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|_|[A-Za-z][0-9]")
_CAPITAL = re.compile(r"[A-Z][a-z]+[A-Za-z0-9]*")
_ONLY_CODE = frozenset(("def", "fn", "func", "impl"))
_DECLARES = _ONLY_CODE | {"class", "struct", "enum", "trait", "interface", "type", "function", "method"}

# File endings that are as often the name of a method or a field: `list.map`, `this.props`, `self.log`.
_ENDINGS = (
    "am as bas bib cl cls cmd comp conf cr d desktop el env ex f for frag geom har in inl just log m make map mm mod"
    " org patch po pod pp prefs properties props r re res rest s sc service socket st star t targets text timer v vert"
)
_METHODS_TOO = frozenset(_ENDINGS.split())
_WORD_WITH_ENDING = re.compile(r"[\w.+-]*\w\.([A-Za-z][A-Za-z0-9+]{0,11})(?::\d+)?")
_OR_WORDS = re.compile(r"[A-Z]{1,5}/[A-Z]{1,5}|(?i:and/or|either/or|i/o|n/a|w/o|yes/no|on/off|true/false)")
_SLASH = re.compile(r"\w/|/\w")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Signs that only a regular expression has; `java.util.*` and `\data` in a path are no such signs.
_REGEX = re.compile(
    r"\.[*+]\??[^\s.,;]|(?<![\w*])\.[*+]|\\[wWdDsSbB](?![A-Za-z])|\\[.()\[\]{}+*?|^$]|\[\^|\[(?:\\?.-.)+\]|\(\?[:=!<iP]"
    r"|\{\d+,\d*\}|[\])][*+]|(?:^|\s)\^\w|\w\$$|\w\|\w+(?:\||\)|\s|$)|\(\w+\|"
)


def looks_like_regex(text: str) -> bool:
    """Whether a text has signs that only a regular expression has."""
    return _REGEX.search(text) is not None


def is_path_word(word: str) -> bool:
    """Whether a word is a path or the name of a file: it contains a slash, or has a known ending."""
    if _URL.match(word) or _OR_WORDS.fullmatch(word):
        return False
    if _SLASH.search(word):
        return True
    found = _WORD_WITH_ENDING.fullmatch(word)
    return found is not None and found[1] not in _METHODS_TOO and language_of(f"a.{found[1]}".encode()) != TEXT


def identifier_of(word: str, *, first: bool) -> Identifier | None:
    """Return the name that a word is, or None; the capital of a `first` word is no hint, as it may begin a sentence."""
    called = _CALL.search(word) is not None
    bare = (word[: word.index("(")] if called else word).lstrip(_OPENING)
    quoted = word.startswith("`") and len(word) > 2
    if _MARKED.fullmatch(bare) and bare[0] in "@$#":
        return Identifier(bare, "", bare[1:], sure=True)
    bare = bare.rstrip(_CLOSING)
    if _QUALIFIED.fullmatch(bare):
        parts = [part for part in _JOINTS.split(bare) if part]
        # `e.g.` and `i.e.` are no names.
        if max(map(len, parts)) > 1:
            return Identifier(bare, ".".join(parts[:-1]), parts[-1], sure=True)
    if not bare.isidentifier() or not bare.isascii():
        return None
    if called or quoted or _HUMPS.search(bare):
        return Identifier(bare, "", bare, sure=True)
    return Identifier(bare, "", bare, sure=False) if not first and _CAPITAL.fullmatch(bare) else None


def shape(words: Sequence[str], phrases: Sequence[str]) -> QueryShape:
    """Return the words of a query by their form, and the kind of the query."""
    identifiers: dict[str, Identifier] = {}
    paths: dict[str, None] = {}
    natural: dict[str, None] = {}
    declared = len(words) == 2 and words[0].lower() in _DECLARES
    for place, word in enumerate(words):
        bare = word.strip(_OPENING + _CLOSING)
        if is_path_word(bare):
            paths[bare] = None
        elif name := identifier_of(word, first=place == 0 and len(words) > 1):
            identifiers.setdefault(name.text, name)
        elif bare:
            natural[bare] = None
    if declared or len(words) == 1:
        _name_the_last(words[-1], words[0], identifiers, natural)
    kind = _kind(words, phrases, identifiers, paths, natural)
    return QueryShape(kind, tuple(identifiers.values()), tuple(paths), tuple(natural))


def _name_the_last(word: str, before: str, identifiers: dict[str, Identifier], natural: dict[str, None]) -> None:
    """Make the last word a name if the query is that word alone, as `lease`, or declares it, as `def lease`.

    `type inference` declares nothing: after a word such as `type` only a word that has the form of a name counts.
    """
    bare = word.strip(_OPENING + _CLOSING)
    certain = word is before or before in _ONLY_CODE or bare in identifiers
    if not (certain and bare.isidentifier() and bare.isascii()):
        return
    identifiers[bare] = Identifier(bare, "", bare, sure=True)
    natural.pop(bare, None)
    if word is not before:
        natural.pop(before, None)


def _kind(
    words: Sequence[str],
    phrases: Sequence[str],
    identifiers: dict[str, Identifier],
    paths: dict[str, None],
    natural: dict[str, None],
) -> Kind:
    if looks_like_regex(" ".join(words)):
        return Kind.REGEX
    names = [name for name in identifiers.values() if name.sure]
    plain = len(natural) + len(identifiers) - len(names)
    if phrases:
        return Kind.MIXED if words else Kind.PHRASE
    if not (names or paths):
        return Kind.NATURAL
    if plain or (names and paths):
        return Kind.MIXED
    if paths:
        return Kind.PATH
    return Kind.QUALIFIED if all(name.container for name in names) else Kind.IDENTIFIER


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OPERATORS = ("lang", "language", "path", "kind", "must", "not", "scope")
_ALSO = {"language": "lang"}
# Real words that are one typing error away from an operator: `patch:v2` is no misspelt `path:`.
_OTHER_WORDS = _set("patch paths part past pat long land lane king kid most mist mush musty scopes kinds")
_KIND_NAMES = {
    "func": "function", "fn": "function", "def": "function", "var": "variable", "const": "constant", "ctor":
    "constructor", "prop": "property", "attribute": "field", "member": "field", "mod": "module", "package": "module",
}  # fmt: skip
_SCOPE_NAMES = {"test": "tests", "doc": "docs", "code": "runtime", "settings": "config"}

_TESTS = _set("test tests testing testcase spec specs fixture fixtures mock mocks unittest conftest e2e")
_EXAMPLES = _set("example examples demo demos sample samples tutorial tutorials quickstart playground")
_DOCS = _set(
    "doc docs documentation documented readme changelog manual guide guides tutorial tutorials license licence"
    " contributing"
)
_SINGLE = re.compile(r"[A-Z]?[a-z]+[0-9]?[a-z]*|[A-Z]+")
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `text` is the query without operators, for the embedding model; `terms` are its terms as the index writes them, each
    once. A result must contain every word of `must` and none of `excluded`; `include` and `exclude` are globs of paths.
    Empty `languages` and `kinds` allow all. `wants_tests`, `wants_examples` and `wants_docs` say that the query asks
    for such files.
    """

    raw: str
    text: str
    kind: Kind
    terms: tuple[str, ...]
    words: tuple[str, ...]
    identifiers: tuple[Identifier, ...]
    path_words: tuple[str, ...]
    natural: tuple[str, ...]
    phrases: tuple[str, ...]
    must: tuple[str, ...]
    excluded: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    scope: SearchScope
    wants_tests: bool
    wants_examples: bool
    wants_docs: bool


def parse(
    text: str,
    *,
    languages: Iterable[str] = (),
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    scope: str | None = None,
) -> Query:
    """Parse a query; an option counts like the operator of the same name. Raises `InvalidQuery`.

    For the scope an operator in the text wins over the option; without either the scope is `all`.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidQuery(problem=f"The query has {len(text):,} characters, and {MAX_QUERY_CHARS:,} are the most.")
    clean = _harmless(text)
    if not clean:
        raise InvalidQuery(problem="The query is empty.")
    read = _read(clean)
    given = read.operators
    words, phrases, must = tuple(read.words), tuple(read.phrases), _once(given["must"])
    pieces = [*read.pieces, *must]
    if not pieces:
        raise InvalidQuery(problem="The query has operators and nothing to look for.")
    found = shape(words, phrases)
    includes = _once((*map(_harmless, include), *given["path"]))
    chosen = _scope([scope] if scope is not None else [], given["scope"])
    asked = {single.lower() for piece in (*pieces, *includes) for single in _SINGLE.findall(piece)}
    return Query(
        raw=clean,
        text=" ".join(pieces),
        kind=found.kind,
        terms=_once(terms(" ".join(pieces))),
        words=words,
        identifiers=found.identifiers,
        path_words=found.path_words,
        natural=found.natural,
        phrases=phrases,
        must=must,
        excluded=_once(given["not"]),
        languages=_once(map(_language, _listed((*languages, *given["lang"])))),
        kinds=_once(_known("kind", kind, _KIND_NAMES, list(SymbolKind)) for kind in _listed(given["kind"])),
        include=includes,
        exclude=_once((*map(_harmless, exclude), *given["-path"])),
        scope=chosen,
        wants_tests=chosen is SearchScope.TESTS or not asked.isdisjoint(_TESTS),
        wants_examples=chosen is SearchScope.DOCS or not asked.isdisjoint(_EXAMPLES),
        wants_docs=chosen is SearchScope.DOCS or not asked.isdisjoint(_DOCS),
    )


# --- reading ----------------------------------------------------------------------------------------------------------

# An operator with a quoted value, a phrase, or a word. A quote without a closing one is part of a word.
_PIECES = re.compile(r'(-?[a-z]+):"([^"]*)"(?!\S)|"([^"]*)"|(\S+)')
_OPERATOR = re.compile(r"(-?)([A-Za-z]+):([^\s:/].*)")
_NO_OPERATOR = re.compile(r"[0-9]|.*::")


class _Read(NamedTuple):
    """The parts of a query: `pieces` are its words and phrases in order."""

    words: list[str]
    phrases: list[str]
    pieces: list[str]
    operators: dict[str, list[str]]


def _harmless(text: str) -> str:
    """Return a text on one line: unprintable characters become blanks, and bytes that are no UTF-8 are replaced."""
    if text.isprintable():
        return " ".join(text.split())
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _is_escaped(text) else text
    text = text.encode("utf-8", "replace").decode()
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _is_escaped(text: str) -> bool:
    """Whether every surrogate in a text stands for a byte that was no UTF-8, as Python passes arguments on."""
    return all(not "\ud800" <= char <= "\udfff" or "\udc80" <= char <= "\udcff" for char in text)


def _read(text: str) -> _Read:
    read = _Read([], [], [], {name: [] for name in (*_OPERATORS, "-path")})
    open_ = True
    for operator, value, phrase, word in _PIECES.findall(text):
        if open_ and word == "--":
            open_ = False
        elif operator:
            if not (open_ and _take(operator, value.strip(), read.operators)):
                _add(f"{operator}:", read.words, read.pieces)
                _add(value.strip(), read.phrases, read.pieces)
        elif word:
            found = _OPERATOR.fullmatch(word) if open_ else None
            if not (found and _take(found[1] + found[2], found[3], read.operators)):
                _add(word, read.words, read.pieces)
        else:
            _add(phrase.strip(), read.phrases, read.pieces)
    return read


def _add(piece: str, *lists: list[str]) -> None:
    if piece:
        for each in lists:
            each.append(piece)


_QUOTED = "and in double quotes it is looked for as it stands"


def _take(operator: str, value: str, operators: dict[str, list[str]]) -> bool:
    """Record the value of an operator; False when the word is text. Raises `InvalidQuery` for a misspelt operator."""
    name = _ALSO.get(operator, operator)
    if name in operators and value:
        operators[name].append(value)
        return True
    if not value or _NO_OPERATOR.match(value):
        return False
    if operator.startswith("-") and operator[1:] in _OPERATORS:
        raise InvalidQuery(problem=f"`{operator}:` is no operator; only `-path:` leaves something out, {_QUOTED}.")
    lowered = operator.lower()
    if lowered in _OTHER_WORDS or lowered in operators:
        return False
    near = [known for known in _OPERATORS if len(known) > 3 and known[0] == lowered.lstrip("-")[:1]]
    for known in near:
        if _one_slip(lowered.lstrip("-"), known):
            raise InvalidQuery(problem=f"`{_shown(operator)}:` is no operator; the nearest is `{known}:`, {_QUOTED}.")
    return False


def _one_slip(typed: str, meant: str) -> bool:
    """Whether one letter was omitted, added or replaced, or two neighbours were swapped."""
    if typed == meant or abs(len(typed) - len(meant)) > 1:
        return False
    same = next((at for at, (one, other) in enumerate(zip(typed, meant, strict=False)) if one != other), len(typed))
    rest, other = typed[same:], meant[same:]
    return other in (rest[1:], rest[1:2] + rest[:1] + rest[2:]) or rest == other[1:] or rest[1:] == other[1:]


# --- values of operators ----------------------------------------------------------------------------------------------


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _listed(values: Iterable[str]) -> list[str]:
    return [_harmless(one).lower() for value in values for one in value.split(",") if one.strip()]


def _language(value: str) -> str:
    name = ALSO_CALLED.get(value, value)
    if name not in LANGUAGES and (by_ending := language_of(f"a.{name.lstrip('.')}".encode())) != TEXT:
        return by_ending
    return _known("lang", name, {}, sorted(LANGUAGES))


def _scope(option: Sequence[str], given: Sequence[str]) -> SearchScope:
    values = [_known("scope", value, _SCOPE_NAMES, list(SearchScope)) for value in (*_listed(option), *_listed(given))]
    if len(set(values[len(option) :])) > 1:
        raise InvalidQuery(problem="The query names two scopes; `scope:all` takes them all.")
    return SearchScope(values[-1]) if values else SearchScope.ALL


def _known(operator: str, value: str, also: dict[str, str], known: Sequence[str]) -> str:
    name = also.get(value, value)
    if name in known:
        return name
    near = [one for one in known if _one_slip(name, one)]
    choice = f"the nearest is `{near[0]}`" if near else f"there are {', '.join(known)}"
    if len(known) > 40 and not near:
        choice = "write its usual name, like `python` or `cpp`"
    raise InvalidQuery(problem=f"`{_shown(value)}` is nothing that `{operator}:` knows; {choice}.")


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
