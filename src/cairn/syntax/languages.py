"""Language name → grammar, query and the few facts about it that no query can say.

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
from cairn.syntax.patterns import Pattern, patterns
from cairn.syntax.pins import PINS

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query


_QUERIES = os.path.join(os.path.dirname(__file__), "queries")


class Spec(NamedTuple):
    """One row of the table.

    `visibility` names the rule that says which definitions other files can see (see `visibility.py`).
    `constructors` are the method names that make an object.
    """

    distribution: str
    module: str
    function: str = "language"
    queries: tuple[str, ...] = ()
    visibility: str = "all"
    constructors: frozenset[str] = frozenset()


def _spec(name: str, visibility: str = "all", constructors: str = "") -> Spec:
    """The common case: wheel, module and query file are all named after the language."""
    return Spec(
        f"tree-sitter-{name}",
        f"tree_sitter_{name}",
        queries=(f"{name}.scm",),
        visibility=visibility,
        constructors=frozenset(constructors.split()),
    )


SPECS: dict[str, Spec] = {
    "bash": _spec("bash"),
    "c": _spec("c", "not_static"),
    "cpp": Spec(
        "tree-sitter-cpp",
        "tree_sitter_cpp",
        queries=("cpp.scm", "c.scm"),
        visibility="not_static",
    ),
    "csharp": Spec("tree-sitter-c-sharp", "tree_sitter_c_sharp", queries=("csharp.scm",), visibility="csharp"),
    "css": _spec("css"),
    "elixir": _spec("elixir", "elixir"),
    "go": _spec("go", "capital"),
    "haskell": _spec("haskell", "haskell"),
    "html": _spec("html"),
    "java": _spec("java", "not_private"),
    "javascript": Spec(
        "tree-sitter-javascript",
        "tree_sitter_javascript",
        queries=("ecmascript.scm", "jsx.scm", "javascript.scm"),
        visibility="export",
        constructors=frozenset({"constructor"}),
    ),
    "json": _spec("json"),
    "kotlin": _spec("kotlin", "not_private"),
    "lua": _spec("lua", "not_local"),
    "markdown": _spec("markdown"),
    "php": Spec(
        "tree-sitter-php",
        "tree_sitter_php",
        "language_php",
        ("php.scm",),
        "not_private",
        frozenset({"__construct"}),
    ),
    "python": _spec("python", "underscore", "__init__ __new__"),
    "ruby": _spec("ruby", "all", "initialize"),
    "rust": _spec("rust", "pub"),
    "scala": _spec("scala", "not_private"),
    "sql": _spec("sql"),
    "swift": _spec("swift", "not_private", "init"),
    "toml": _spec("toml"),
    "tsx": Spec(
        "tree-sitter-typescript",
        "tree_sitter_typescript",
        "language_tsx",
        ("ecmascript.scm", "jsx.scm", "typescript.scm"),
        "export",
        frozenset({"constructor"}),
    ),
    "typescript": Spec(
        "tree-sitter-typescript",
        "tree_sitter_typescript",
        "language_typescript",
        ("ecmascript.scm", "typescript.scm"),
        "export",
        frozenset({"constructor"}),
    ),
    "yaml": _spec("yaml"),
    "zig": _spec("zig", "zig"),
}


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

    name: str
    spec: Spec
    parser: Parser
    query: Query
    patterns: tuple[Pattern, ...]
    top_query: Query
    top_patterns: tuple[Pattern, ...]
    fields: HeaderFields


def query_text(spec: Spec) -> str:
    """The language's own `.scm` files, joined in order; patterns that come first win."""
    return "\n".join(map(_query_file, spec.queries))


@cache
def _query_file(name: str) -> str:
    with open(os.path.join(_QUERIES, name), encoding="utf-8") as file:
        return file.read()


@cache
def load(name: str) -> Grammar | None:
    """The grammar of a language, or None when it has none and its files are cut by lines."""
    spec = SPECS.get(name)
    if spec is None:
        return None
    # Every command asks for the fingerprint, and few parse.
    from tree_sitter import Language, Parser, Query  # noqa: PLC0415

    language = Language(getattr(importlib.import_module(spec.module), spec.function)())
    if checksum_of(language) != PINS[name].checksum:
        # What this grammar sees would go into an index whose fingerprint names another one.
        raise GrammarMismatch(language=name, wanted=f"{spec.distribution} {PINS[name].version}")
    parser = Parser(language)
    root = parser.parse(b"").root_node.type
    found = patterns(query_text(spec))
    inside = tuple(pattern for pattern in found if pattern.root != root)
    top = tuple(pattern for pattern in found if pattern.root == root)
    queries = [Query(language, "\n".join(pattern.text for pattern in part)) for part in (inside, top)]
    return Grammar(name, spec, parser, queries[0], inside, queries[1], top, _header_fields(language))


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
    spec = SPECS[name]
    version, checksum = PINS[name]
    queries = hashlib.sha256(query_text(spec).encode()).hexdigest()
    return f"{spec.distribution}=={version} grammar:{checksum} query:{queries[:16]}"


@cache
def identities() -> tuple[tuple[str, str], ...]:
    """Every language with its identity, sorted: one input of the index fingerprint."""
    return tuple((name, identity(name)) for name in sorted(SPECS))


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
