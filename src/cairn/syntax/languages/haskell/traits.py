"""Traits of Haskell: a list of exports, and imports with lists of names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.core.types import Symbol
from cairn.syntax.lexis import CHARACTER, IN_QUOTES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Main, Traits
from cairn.syntax.visibility import OwnExports, Visibility

if TYPE_CHECKING:
    from tree_sitter import Node


def _export_list(kind: str, name: str, _before: str, above: Symbol | None, found: OwnExports) -> bool:
    """Whether the export list has a name; instances are always visible, and members are as visible as their type."""
    inside = above is not None and above.kind != "module"
    if not found.exports or inside or kind in ("impl", "module"):
        return True
    return name in found.exports or (above is not None and above.name in found.exports)


def haskell(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the names of an import: those of its list, its alias, or a wildcard.

    An import with `hiding` counts as a wildcard, because the names it brings are not known.
    """
    module = text_of(data, node.child_by_field_name("module"))
    alias = text_of(data, node.child_by_field_name("alias"))
    names = node.child_by_field_name("names")
    words = {child.type for child in node.children}
    if names is None or "hiding" in words:
        yield module, "" if "qualified" in words else "*", alias
        return
    if alias:
        yield module, "", alias
    for item in names.named_children:
        if item.type != "import_name":
            continue
        for part in item.named_children:
            if part.type in ("variable", "name", "prefix_id"):
                yield module, text_of(data, part).strip("()"), ""
            elif part.type == "children":
                inner = (child for child in part.named_children if child.type in ("constructor", "variable"))
                yield from ((module, text_of(data, child), "") for child in inner)


TRAITS = Traits(
    "haskell",
    lexis=Lexis((r"--+(?![!#$%&*+./<=>?@\\^|~:])[^\n]*", r"\{-.*?(?:-\}|\Z)"), (IN_QUOTES, rf"(?<!\w)(?:{CHARACTER})")),
    visibility=Visibility(_export_list, by_name=True),
    import_tree=haskell,
    main=Main.AT_TOP,
)
