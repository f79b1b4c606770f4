"""Language name → grammar, query and the few facts about it that no query can say.

A grammar comes from its official wheel, pinned by the package; nothing is ever downloaded. Loading is lazy and once per
process: a worker that meets only Go pays only for Go.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.resources
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Parser, Query


class Spec(NamedTuple):
    """One row of the table.

    `visibility` names the rule that says which definitions other files can see (see `visibility.py`).
    `constructors` are the method names that make an object. `separator` joins a qualified name as people write it.
    """

    distribution: str
    module: str
    function: str = "language"
    queries: tuple[str, ...] = ()
    visibility: str = "all"
    constructors: frozenset[str] = frozenset()
    separator: str = "."


def _spec(name: str, visibility: str = "all", constructors: str = "", separator: str = ".") -> Spec:
    """The common case: wheel, module and query file are all named after the language."""
    return Spec(
        f"tree-sitter-{name}",
        f"tree_sitter_{name}",
        queries=(f"{name}.scm",),
        visibility=visibility,
        constructors=frozenset(constructors.split()),
        separator=separator,
    )


SPECS: dict[str, Spec] = {
    "bash": _spec("bash"),
    "c": _spec("c", "not_static"),
    "cpp": Spec(
        "tree-sitter-cpp",
        "tree_sitter_cpp",
        queries=("cpp.scm", "c.scm"),
        visibility="not_static",
        separator="::",
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
        "\\",
    ),
    "python": _spec("python", "underscore", "__init__ __new__"),
    "ruby": _spec("ruby", "all", "initialize", "::"),
    "rust": _spec("rust", "pub", "", "::"),
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


@dataclass(frozen=True, slots=True)
class Grammar:
    """A loaded language, ready to parse: one parser and one query, shared by every file of this process."""

    name: str
    spec: Spec
    parser: Parser
    query: Query


def query_text(spec: Spec) -> str:
    """The language's own `.scm` files, joined in order; patterns that come first win."""
    folder = importlib.resources.files("cairn.syntax") / "queries"
    return "\n".join((folder / name).read_text("utf-8") for name in spec.queries)


@cache
def load(name: str) -> Grammar | None:
    """The grammar of a language, or None when it has none and its files are cut by lines."""
    spec = SPECS.get(name)
    if spec is None:
        return None
    language = Language(getattr(importlib.import_module(spec.module), spec.function)())
    return Grammar(name, spec, Parser(language), Query(language, query_text(spec)))


def identity(name: str) -> str:
    """What the index fingerprint says of a grammar: the same on every machine, different when it would see otherwise.

    Wheel and version, a digest of the grammar's own tables of names (a swapped or rebuilt grammar shows here), and a
    digest of our query text. The shared library's bytes are left out: they differ from platform to platform.
    """
    grammar = load(name)
    assert grammar is not None
    language = grammar.parser.language
    assert language is not None
    tables = hashlib.sha256(f"{language.abi_version} {language.parse_state_count}".encode())
    for kind in range(language.node_kind_count):
        tables.update(b"\0" + (language.node_kind_for_id(kind) or "").encode())
    for field in range(1, language.field_count + 1):
        tables.update(b"\1" + (language.field_name_for_id(field) or "").encode())
    queries = hashlib.sha256(query_text(grammar.spec).encode()).hexdigest()
    version = importlib.metadata.version(grammar.spec.distribution)
    return f"{grammar.spec.distribution}=={version} grammar:{tables.hexdigest()[:16]} query:{queries[:16]}"


def identities() -> tuple[tuple[str, str], ...]:
    """Every language with its identity, sorted: one input of the index fingerprint."""
    return tuple((name, identity(name)) for name in sorted(SPECS))
