"""A question as people type it, taken apart: operators, phrases, words, and what kind of question it is.

    lease renewal lang:python path:src/** -path:**/old must:steal not:mock kind:class scope:tests "as it stands"

Only these operators are operators. `std::vector`, the address of a page and `key: value` are text, and so is all that
stands in quotes or after `--`; a word that is one slip away from an operator is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.filetypes import ALSO_CALLED, LANGUAGES, TEXT, language_of
from cairn.core.limits import MAX_QUERY_CHARS
from cairn.core.tokens import terms
from cairn.core.types import SymbolKind
from cairn.errors import InvalidQuery
from cairn.search.places import Scope
from cairn.search.shapes import Identifier, Kind, shape


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OPERATORS = ("lang", "language", "path", "kind", "must", "not", "scope")
_ALSO = {"language": "lang"}
# One slip away from an operator, and words of their own: `patch:v2` is no misspelt `path:`.
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
    """What is asked. `text` is all but the operators, for a model to read; `terms` are the index's, each once.

    `must` and `excluded` are words that a result holds, or does not; `include` and `exclude` are globs of paths. Empty
    `languages` and `kinds` mean any. The three `wants` say that the question itself asks for such files.
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
    scope: Scope
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
    """Read a query; what comes as an option counts like its operator. `InvalidQuery` says what is wrong.

    An operator in the text wins over the option for the scope, which is `all` when nothing says otherwise.
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
        wants_tests=chosen is Scope.TESTS or not asked.isdisjoint(_TESTS),
        wants_examples=chosen is Scope.DOCS or not asked.isdisjoint(_EXAMPLES),
        wants_docs=chosen is Scope.DOCS or not asked.isdisjoint(_DOCS),
    )


# --- reading ----------------------------------------------------------------------------------------------------------

# An operator with a quoted value, a phrase, or a word. A quote that is never closed is part of a word.
_PIECES = re.compile(r'(-?[a-z]+):"([^"]*)"(?!\S)|"([^"]*)"|(\S+)')
_OPERATOR = re.compile(r"(-?)([A-Za-z]+):([^\s:/].*)")
_NO_OPERATOR = re.compile(r"[0-9]|.*::")


class _Read(NamedTuple):
    """What stands in the text: `pieces` are words and phrases in order."""

    words: list[str]
    phrases: list[str]
    pieces: list[str]
    operators: dict[str, list[str]]


def _harmless(text: str) -> str:
    """The text on one line: what cannot be printed becomes a blank, and a byte that was no UTF-8 a question mark."""
    if text.isprintable():
        return " ".join(text.split())
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _is_escaped(text) else text
    text = text.encode("utf-8", "replace").decode()
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _is_escaped(text: str) -> bool:
    """Whether the system's way to hand on bytes that are no UTF-8 was used, and nothing that it could not have made."""
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


def _take(operator: str, value: str, operators: dict[str, list[str]]) -> bool:
    """Note the value of an operator; False when this is text."""
    name = _ALSO.get(operator, operator)
    if name in operators and value:
        operators[name].append(value)
        return True
    if not value or _NO_OPERATOR.match(value):
        return False
    if operator.startswith("-") and operator[1:] in _OPERATORS:
        raise InvalidQuery(problem=f"`{operator}:` is no operator; only `-path:` leaves something out.")
    lowered = operator.lower()
    if lowered in _OTHER_WORDS or lowered in operators:
        return False
    near = [known for known in _OPERATORS if len(known) > 3 and known[0] == lowered.lstrip("-")[:1]]
    for known in near:
        if _one_slip(lowered.lstrip("-"), known):
            raise InvalidQuery(problem=f"`{_shown(operator)}:` is no operator; the nearest is `{known}:`.")
    return False


def _one_slip(typed: str, meant: str) -> bool:
    """Whether one letter was left out, added or mistaken, or two were swapped."""
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


def _scope(option: Sequence[str], given: Sequence[str]) -> Scope:
    values = [_known("scope", value, _SCOPE_NAMES, list(Scope)) for value in (*_listed(option), *_listed(given))]
    if len(set(values[len(option) :])) > 1:
        raise InvalidQuery(problem="The query names two scopes; `scope:all` takes them all.")
    return Scope(values[-1]) if values else Scope.ALL


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
