"""A language is one folder here; whoever has to tell languages apart asks for traits and never for a name.

`query.scm` says what the trees of a language mean, `traits.py` what no query can say, and `resolver.py`, where there is
one, where its imports lead and what binds a name. `pins.py` lists all languages and is generated.

A grammar comes from its official wheel, pinned by the package; nothing is ever downloaded. Loading is lazy and once per
process: a worker that meets only Go pays only for Go.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from cairn.errors import GrammarMismatch
from cairn.syntax.languages.pins import PINS
from cairn.syntax.patterns import Pattern, patterns
from cairn.syntax.traits import Traits

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query

    from cairn.syntax.resolver import Resolver


_FOLDER = os.path.dirname(__file__)


class HeaderFields(NamedTuple):
    """The fields of a node that tell where a header ends, as the numbers this grammar gives them, absent ones left out.

    `ends` are what follows a header, `parameters` say that the node is one itself, `inner` is what a wrapper holds.
    """

    ends: tuple[int, ...]
    parameters: tuple[int, ...]
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded language, ready to parse: one parser and one query, shared by every file of this process.

    The query is in two parts. A pattern that begins at the root of the tree stays half-found over all of it, and the
    engine looks at every half-found match at every node: as `top_query` such patterns meet the top of a tree only.
    """

    traits: Traits
    parser: Parser
    query: Query
    patterns: tuple[Pattern, ...]
    top_query: Query
    top_patterns: tuple[Pattern, ...]
    fields: HeaderFields


@cache
def traits_of(name: str) -> Traits:
    """The traits of a language; those that fit most languages where it has no folder."""
    if name not in PINS:
        return Traits(name)
    traits: Traits = importlib.import_module(f"{__name__}.{name}.traits").TRAITS
    return traits


@cache
def resolver_of(name: str) -> type[Resolver]:
    """What says where imports of a language lead and what binds a name in it; only those who ask load it."""
    from cairn.syntax.resolver import Resolver  # noqa: PLC0415

    folder = traits_of(name).resolver
    if not folder:
        return Resolver
    kind: type[Resolver] = importlib.import_module(f"{__name__}.{folder}.resolver").RESOLVER
    return kind


def query_text(name: str) -> str:
    """The query of a language: its `.scm` files, joined in order; patterns that come first win."""
    return "\n".join(map(_query_file, PINS[name].queries))


@cache
def _query_file(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def has_uses(name: str) -> bool:
    """Whether the uses of names are known in this language: nothing names a heading of Markdown or a key of JSON."""
    return name not in PINS or "@ref." in query_text(name)


@cache
def load(name: str) -> Grammar | None:
    """The grammar of a language, or None when it has none and its files are cut by lines."""
    pin = PINS.get(name)
    if pin is None:
        return None
    # Every command asks for the fingerprint, and few parse.
    from tree_sitter import Parser, Query  # noqa: PLC0415

    traits = traits_of(name)
    language = language_of(traits)
    if checksum_of(language) != pin.checksum:
        # What this grammar sees would go into an index whose fingerprint names another one.
        raise GrammarMismatch(language=name, wanted=f"{pin.distribution} {pin.version}")
    parser = Parser(language)
    root = parser.parse(b"").root_node.type
    found = patterns(query_text(name))
    inside = tuple(pattern for pattern in found if pattern.root != root)
    top = tuple(pattern for pattern in found if pattern.root == root)
    queries = [Query(language, "\n".join(pattern.text for pattern in part)) for part in (inside, top)]
    return Grammar(traits, parser, queries[0], inside, queries[1], top, _header_fields(language))


def language_of(traits: Traits) -> Language:
    """The grammar as its wheel gives it."""
    from tree_sitter import Language  # noqa: PLC0415

    module = importlib.import_module(traits.distribution.replace("-", "_"))
    return Language(getattr(module, traits.function)())


def _header_fields(language: Language) -> HeaderFields:
    def numbers(*names: str) -> tuple[int, ...]:
        return tuple(number for name in names if (number := language.field_id_for_name(name)) is not None)

    return HeaderFields(
        # A default value or a body may change without any user of the name noticing.
        numbers("body", "value", "right", "default_value"),
        numbers("parameters"),
        numbers("definition", "declaration", "declarator"),
    )


def identity(name: str) -> str:
    """What the index fingerprint says of a grammar: the same on every machine, different when it would see otherwise.

    The pinned wheel, the pinned checksum, and a digest of our query text. Nothing is loaded for it: every command asks
    for the fingerprint, and few parse.
    """
    pin = PINS[name]
    queries = hashlib.sha256(query_text(name).encode()).hexdigest()
    return f"{pin.distribution}=={pin.version} grammar:{pin.checksum} query:{queries[:16]}"


@cache
def identities() -> tuple[tuple[str, str], ...]:
    """Every language with its identity, sorted: one input of the index fingerprint."""
    return tuple((name, identity(name)) for name in sorted(PINS))


def checksum_of(language: Language) -> str:
    """A digest of a grammar's own tables of names: a swapped or rebuilt grammar shows here, on any platform.

    The bytes of the shared library would not do; they differ from one platform to the next.
    """
    tables = hashlib.sha256(f"{language.abi_version} {language.parse_state_count}".encode())
    for kind in range(language.node_kind_count):
        tables.update(b"\0" + (language.node_kind_for_id(kind) or "").encode())
    for field in range(1, language.field_count + 1):
        tables.update(b"\1" + (language.field_name_for_id(field) or "").encode())
    return tables.hexdigest()[:16]
