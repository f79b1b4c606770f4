"""Traits of Elixir: `def` and `defp`, and four words that import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.core.types import Symbol
from cairn.syntax.lexis import AFTER_HASH, IN_QUOTES, IN_THREE_APOSTROPHES, IN_THREE_QUOTES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Traits
from cairn.syntax.visibility import OwnExports, Visibility, has_word

if TYPE_CHECKING:
    from tree_sitter import Node


def _elixir(_kind: str, _name: str, before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return not has_word(before, "defp", "defmacrop", "defguardp", "typep")


def elixir(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the names of `alias A.{B, C}`, `alias A.B, as: D`, `import A, only: [f: 1]`, `require A` and `use A`."""
    how = text_of(data, node.child_by_field_name("target"))
    arguments = next((child for child in node.named_children if child.type == "arguments"), None)
    if arguments is None or not arguments.named_children:
        return
    path = arguments.named_children[0]
    options = {
        text_of(data, pair.child_by_field_name("key")).strip(": "): pair.child_by_field_name("value")
        for keywords in arguments.named_children[1:]
        for pair in keywords.named_children
        if pair.type == "pair"
    }
    names = options.get("only")
    if path.type == "dot":
        left, right = path.child_by_field_name("left"), path.child_by_field_name("right")
        if right is not None and right.type == "tuple":
            yield from ((f"{text_of(data, left)}.{text_of(data, child)}", "", "") for child in right.named_children)
    elif how == "import" and names is not None and names.type == "list":
        pairs = (pair for keywords in names.named_children for pair in keywords.named_children)
        yield from (
            (text_of(data, path), text_of(data, pair.child_by_field_name("key")).strip(": "), "") for pair in pairs
        )
    elif path.type in ("alias", "atom", "identifier"):
        yield text_of(data, path), "*" if how == "import" else "", text_of(data, options.get("as"))


TRAITS = Traits(
    "elixir",
    lexis=Lexis(
        (AFTER_HASH,),
        (r"(?<!\w)\?[\"'#]", IN_THREE_QUOTES, IN_THREE_APOSTROPHES, IN_QUOTES, r"'(?:[^'\\\n]|\\.)*'"),
        embeds=r"#\{",
    ),
    visibility=Visibility(_elixir),
    import_tree=elixir,
)
