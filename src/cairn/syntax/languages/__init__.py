"""Load languages: each is one folder here, with its grammar's query, its traits and its resolver.

`query.scm` says what the trees of a language mean, `traits.py` what no query can say. An optional `resolver.py`
resolves imports and tells what binds a name. `pins.py` lists all languages and is generated. Code that must tell
languages apart asks for a trait and never for the name of a language.

A grammar comes from its official wheel, pinned by the package; nothing is ever downloaded. A language is loaded when
first needed, once per process: a worker that gets only Go files loads only Go.
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
    """The fields of nodes that tell where a header ends, by their numbers in a grammar, as far as it has them.

    `ends` follow a header, `parameters` show that the node itself is a header, `inner` is the node inside a wrapper.
    """

    ends: tuple[int, ...]
    parameters: tuple[int, ...]
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded language: one parser and one query, shared by all files of this process.

    The query is in two parts. A pattern that begins at the root of a tree stays unfinished over the whole tree, and the
    engine checks every unfinished match at every node. So such patterns form the `top_query`, which runs only at the
    root.
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
    """Return the traits of a language; the default traits when it has no folder."""
    if name not in PINS:
        return Traits(name)
    traits: Traits = importlib.import_module(f"{__name__}.{name}.traits").TRAITS
    return traits


@cache
def resolver_of(name: str) -> type[Resolver]:
    """Return the resolver class of a language, loaded when first asked for; the default when it has none."""
    from cairn.syntax.resolver import Resolver  # noqa: PLC0415

    folder = traits_of(name).resolver
    if not folder:
        return Resolver
    kind: type[Resolver] = importlib.import_module(f"{__name__}.{folder}.resolver").RESOLVER
    return kind


def query_text(name: str) -> str:
    """Return the query of a language: its `.scm` files, joined in order; earlier patterns win."""
    return "\n".join(map(_query_file, PINS[name].queries))


@cache
def _query_file(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def has_uses(name: str) -> bool:
    """Whether the uses of names are known in a language; headings of Markdown and keys of JSON have no uses."""
    return name not in PINS or "@ref." in query_text(name)


@cache
def load(name: str) -> Grammar | None:
    """Return the grammar of a language; None when it has none and its files are cut by lines.

    Raises `GrammarMismatch` when the installed grammar is not the pinned one.
    """
    pin = PINS.get(name)
    if pin is None:
        return None
    # Imported here, because every command needs the fingerprint, and few parse.
    from tree_sitter import Parser, Query  # noqa: PLC0415

    traits = traits_of(name)
    language = language_of(traits)
    if checksum_of(language) != pin.checksum:
        # The facts that this grammar finds would go into an index whose fingerprint names another grammar.
        raise GrammarMismatch(language=name, wanted=f"{pin.distribution} {pin.version}")
    parser = Parser(language)
    root = parser.parse(b"").root_node.type
    found = patterns(query_text(name))
    inside = tuple(pattern for pattern in found if pattern.root != root)
    top = tuple(pattern for pattern in found if pattern.root == root)
    queries = [Query(language, "\n".join(pattern.text for pattern in part)) for part in (inside, top)]
    return Grammar(traits, parser, queries[0], inside, queries[1], top, _header_fields(language))


def language_of(traits: Traits) -> Language:
    """Return the grammar from its wheel."""
    from tree_sitter import Language  # noqa: PLC0415

    module = importlib.import_module(traits.distribution.replace("-", "_"))
    return Language(getattr(module, traits.function)())


def _header_fields(language: Language) -> HeaderFields:
    def numbers(*names: str) -> tuple[int, ...]:
        return tuple(number for name in names if (number := language.field_id_for_name(name)) is not None)

    return HeaderFields(
        # A change of a default value or a body is invisible to the users of a definition.
        numbers("body", "value", "right", "default_value"),
        numbers("parameters"),
        numbers("definition", "declaration", "declarator"),
    )


def identity(name: str) -> str:
    """Return what the index fingerprint contains for a language: the pinned wheel, its checksum and a query digest.

    The identity is the same on every machine and changes when the grammar or the query changes. Nothing is loaded for
    it, because every command needs the fingerprint, and few parse.
    """
    pin = PINS[name]
    queries = hashlib.sha256(query_text(name).encode()).hexdigest()
    return f"{pin.distribution}=={pin.version} grammar:{pin.checksum} query:{queries[:16]}"


@cache
def identities() -> tuple[tuple[str, str], ...]:
    """Return every language with its identity, sorted: one input of the index fingerprint."""
    return tuple((name, identity(name)) for name in sorted(PINS))


def checksum_of(language: Language) -> str:
    """Return a digest of a grammar's tables of names, which tells a swapped or rebuilt grammar on any platform.

    The bytes of the shared library are no use for this, because they differ between platforms.
    """
    tables = hashlib.sha256(f"{language.abi_version} {language.parse_state_count}".encode())
    for kind in range(language.node_kind_count):
        tables.update(b"\0" + (language.node_kind_for_id(kind) or "").encode())
    for field in range(1, language.field_count + 1):
        tables.update(b"\1" + (language.field_name_for_id(field) or "").encode())
    return tables.hexdigest()[:16]
