"""All languages, and the grammars this version is made for. Made by `python -m tests.syntax.pins --write`.

A grammar decides what an index means: the version of its wheel, the checksum of what that holds and the text of its
query are part of the index fingerprint.
"""

from __future__ import annotations

from typing import NamedTuple


class Pin(NamedTuple):
    """One grammar, exactly: the wheel, its version, the checksum of its tables, and the files of our query."""

    distribution: str
    version: str
    checksum: str
    queries: tuple[str, ...]


PINS: dict[str, Pin] = {
    "bash": Pin("tree-sitter-bash", "0.25.1", "a562b910c59eea38", ("bash/query.scm",)),
    "c": Pin("tree-sitter-c", "0.24.2", "848f0bed5ba3ce8c", ("c/query.scm",)),
    "cpp": Pin("tree-sitter-cpp", "0.23.4", "b3a37317b1128d3f", ("cpp/query.scm", "c/query.scm")),
    "csharp": Pin("tree-sitter-c-sharp", "0.23.5", "97e70cafd44cca08", ("csharp/query.scm",)),
    "css": Pin("tree-sitter-css", "0.25.0", "bc9fe05ef0813817", ("css/query.scm",)),
    "elixir": Pin("tree-sitter-elixir", "0.3.5", "656e04221ff32f64", ("elixir/query.scm",)),
    "go": Pin("tree-sitter-go", "0.25.0", "8b5b346f399aa4bd", ("go/query.scm",)),
    "haskell": Pin("tree-sitter-haskell", "0.24.1", "3253d6b85743f031", ("haskell/query.scm",)),
    "html": Pin("tree-sitter-html", "0.23.2", "b7bd989e773698c2", ("html/query.scm",)),
    "java": Pin("tree-sitter-java", "0.23.5", "13cb947da5cf711a", ("java/query.scm",)),
    "javascript": Pin(
        "tree-sitter-javascript", "0.25.0", "a778d99d5c2b76d7", ("ecmascript.scm", "jsx.scm", "javascript/query.scm")
    ),
    "json": Pin("tree-sitter-json", "0.24.8", "f924b98c39344da8", ("json/query.scm",)),
    "kotlin": Pin("tree-sitter-kotlin", "1.1.0", "3108d06cd902110c", ("kotlin/query.scm",)),
    "lua": Pin("tree-sitter-lua", "0.5.0", "fd8b82169fea1fd1", ("lua/query.scm",)),
    "markdown": Pin("tree-sitter-markdown", "0.5.4", "257164c136c4c9e6", ("markdown/query.scm",)),
    "php": Pin("tree-sitter-php", "0.25.1", "3aba51b18ddf1f7c", ("php/query.scm",)),
    "python": Pin("tree-sitter-python", "0.25.0", "e9ce315245dbd607", ("python/query.scm",)),
    "ruby": Pin("tree-sitter-ruby", "0.23.1", "3f245ccab595f9e9", ("ruby/query.scm",)),
    "rust": Pin("tree-sitter-rust", "0.24.2", "a320a04d6ef807ba", ("rust/query.scm",)),
    "scala": Pin("tree-sitter-scala", "0.26.3", "7137c9bc370397ca", ("scala/query.scm",)),
    "sql": Pin("tree-sitter-sql", "0.3.11", "5968394bce581fae", ("sql/query.scm",)),
    "swift": Pin("tree-sitter-swift", "0.7.4", "0daf17e1a260c882", ("swift/query.scm",)),
    "toml": Pin("tree-sitter-toml", "0.7.0", "ae0705245ee749f0", ("toml/query.scm",)),
    "tsx": Pin(
        "tree-sitter-typescript", "0.23.2", "2e18ec5b807e46f6", ("ecmascript.scm", "jsx.scm", "typescript/query.scm")
    ),
    "typescript": Pin(
        "tree-sitter-typescript", "0.23.2", "b2476a882e9f35c6", ("ecmascript.scm", "typescript/query.scm")
    ),
    "yaml": Pin("tree-sitter-yaml", "0.7.2", "c9f99949a170da6f", ("yaml/query.scm",)),
    "zig": Pin("tree-sitter-zig", "1.1.2", "43057e3aa79872de", ("zig/query.scm",)),
}
