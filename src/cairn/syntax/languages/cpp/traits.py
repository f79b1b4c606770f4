"""Traits of C++: those of C, namespaces, and methods that are written outside of their class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cairn.syntax.languages.c.traits import TRAITS as C
from cairn.syntax.lexis import AFTER_SLASHES_JOINED, BLOCK, CHARACTER, IN_QUOTES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, words

if TYPE_CHECKING:
    from tree_sitter import Node


def cpp_using(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the name that `using a::b` brings; `using namespace a` and `using enum a` bring all names."""
    path = text_of(data, node.named_children[-1]) if node.named_children else ""
    if any(child.type in ("namespace", "enum") for child in node.children):
        yield path, "*", ""
    else:
        module, _, name = path.rpartition("::")
        yield module, name, ""


TRAITS = replace(
    C,
    name="cpp",
    lexis=Lexis(
        (AFTER_SLASHES_JOINED, BLOCK), (r'R"(?P<raw>[^()\\\s]{0,16})\(.*?(?:\)(?P=raw)"|\Z)', IN_QUOTES, CHARACTER)
    ),
    queries=("cpp/query.scm", "c/query.scm"),
    import_tree=cpp_using,
    namespaces=True,
    derefs=words("unique_ptr shared_ptr optional scoped_refptr intrusive_ptr scoped_ptr auto_ptr not_null"),
    bare_members=True,
    bare_outside=True,
)
