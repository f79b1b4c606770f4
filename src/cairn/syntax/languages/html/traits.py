"""Traits of HTML: elements with names, headings, and the style sheets that a page loads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Traits

if TYPE_CHECKING:
    from tree_sitter import Node


def html_link(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the style sheet of a `<link rel="stylesheet" href="...">`, whatever the order of its attributes."""
    attributes = {
        text_of(data, attribute.named_children[0]): text_of(data, attribute.named_children[1]).strip("\"'")
        for attribute in node.named_children
        if attribute.type == "attribute" and attribute.named_child_count > 1
    }
    if attributes.get("rel") == "stylesheet" and attributes.get("href"):
        yield attributes["href"], "", ""


TRAITS = Traits(
    "html",
    import_tree=html_link,
)
