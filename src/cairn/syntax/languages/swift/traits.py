"""Traits of Swift: imports of a whole module, or of one name of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.syntax.conditions import directives
from cairn.syntax.lexis import AFTER_SLASHES, IN_QUOTES, IN_THREE_QUOTES, NESTED_BLOCK, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Main, Traits, words
from cairn.syntax.visibility import NOT_PRIVATE

if TYPE_CHECKING:
    from tree_sitter import Node


def swift(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield a wildcard for `import Foo`, or the one name of `import struct Foo.Bar`."""
    path = text_of(data, next((child for child in node.named_children if child.type == "identifier"), None))
    if any(not child.is_named and child.type not in ("import", ".") for child in node.children):
        module, _, name = path.rpartition(".")
        yield module, name, ""
    else:
        yield path, "*", ""


TRAITS = Traits(
    "swift",
    lexis=Lexis((AFTER_SLASHES, NESTED_BLOCK), (IN_THREE_QUOTES, IN_QUOTES), embeds=r"\\\("),
    conditions=directives,
    visibility=NOT_PRIVATE,
    constructors=words("init"),
    import_tree=swift,
    own=words("self Self"),
    bare_members=True,
    bare_innermost=True,
    main=Main.AT_TOP,
    common=words("""
add append cancel close compactMap contains copy count dropFirst enumerated filter first firstIndex flatMap forEach
get hash index insert isEmpty joined last load lowercased map max min next open popLast prefix print read reduce
remove removeAll removeFirst removeLast replace reset resume run send set sort sorted split start stop suffix update
uppercased write
be beFalse beNil beTrue equal expect fulfill setUp should tearDown to toEventually toNot waitForExpectations
"""),
)
