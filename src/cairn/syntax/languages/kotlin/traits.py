"""Traits of Kotlin: those of Java, extension functions, and `main` anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cairn.syntax.languages.java.traits import TRAITS as JAVA
from cairn.syntax.lexis import AFTER_SLASHES, CHARACTER, IN_QUOTES, NESTED_BLOCK, RAW_IN_THREE_QUOTES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Main

if TYPE_CHECKING:
    from tree_sitter import Node


def kotlin(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the name of `import a.b.C as D`, or a wildcard for `import a.b.*`."""
    path = alias = ""
    for child in node.named_children:
        if child.type == "qualified_identifier":
            path = text_of(data, child)
        elif child.type == "identifier":
            alias = text_of(data, child)
    if any(child.type == "*" for child in node.children):
        yield path, "*", ""
    else:
        module, _, name = path.rpartition(".")
        yield module, name, alias


TRAITS = replace(
    JAVA,
    name="kotlin",
    lexis=Lexis((AFTER_SLASHES, NESTED_BLOCK), (RAW_IN_THREE_QUOTES, IN_QUOTES, CHARACTER), embeds=r"\$\{?"),
    import_tree=kotlin,
    local_rules=None,
    extensions=True,
    calls_are_methods=False,
    main=Main.ANYWHERE,
)
