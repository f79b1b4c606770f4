"""Traits of Scala: those of Java, and of several bases the last is searched first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cairn.syntax.languages.java.traits import TRAITS as JAVA
from cairn.syntax.lexis import AFTER_SLASHES, CHARACTER, IN_QUOTES, NESTED_BLOCK, RAW_IN_THREE_QUOTES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import Bases, ImportedName, Main

if TYPE_CHECKING:
    from tree_sitter import Node


def scala(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the names of `import a.b, c.{D, E => F, *}`: several paths, each with selectors."""
    path: list[str] = []
    ended = False
    for child in node.children:
        if child.type == ",":
            if path and not ended:
                yield ".".join(path[:-1]), path[-1], ""
            path, ended = [], False
        elif child.type == "namespace_selectors":
            ended = True
            for selector in child.named_children:
                yield from _scala_selector(".".join(path), selector, data)
        elif child.type in ("namespace_wildcard", "as_renamed_identifier", "arrow_renamed_identifier"):
            ended = True
            yield from _scala_selector(".".join(path), child, data)
        elif child.is_named and "comment" not in child.type:
            path.append(text_of(data, child))
    if path and not ended:
        yield ".".join(path[:-1]), path[-1], ""


def _scala_selector(module: str, selector: Node, data: bytes) -> Iterator[ImportedName]:
    if selector.type == "namespace_wildcard":
        yield module, "given" if text_of(data, selector).startswith("given") else "*", ""
    elif selector.type.endswith("renamed_identifier"):
        name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
        # `Name => _` excludes a name from the wildcard after it.
        if text_of(data, alias) not in ("", "_"):
            yield module, text_of(data, name), text_of(data, alias)
    elif "comment" not in selector.type:
        yield module, text_of(data, selector), ""


TRAITS = replace(
    JAVA,
    name="scala",
    lexis=Lexis((AFTER_SLASHES, NESTED_BLOCK), (RAW_IN_THREE_QUOTES, IN_QUOTES, CHARACTER), embeds=r"\$\{?"),
    import_tree=scala,
    local_rules=None,
    bases=Bases.LAST,
    calls_are_methods=False,
    main=Main.ANYWHERE,
)
