"""Traits of PHP: paths of names with backslashes between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.syntax.lexis import AFTER_SLASHES, BLOCK, OVER_LINES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import ImportedName, Traits, words
from cairn.syntax.visibility import NOT_PRIVATE

if TYPE_CHECKING:
    from tree_sitter import Node


def php(node: Node, data: bytes) -> Iterator[ImportedName]:
    r"""Yield the names of `use A\B as C;` and `use A\{B, function c};`: the last part of each path."""
    prefix = ""
    clauses = node.named_children
    group = node.child_by_field_name("body")
    if group is not None:
        prefix = "".join(text_of(data, child) for child in clauses if child.type == "namespace_name") + "\\"
        clauses = group.named_children
    for clause in clauses:
        if clause.type != "namespace_use_clause":
            continue
        alias = clause.child_by_field_name("alias")
        path = next((child for child in clause.named_children if child != alias), None)
        module, _, name = (prefix + text_of(data, path)).lstrip("\\").rpartition("\\")
        yield module, name, text_of(data, alias)


TRAITS = Traits(
    "php",
    lexis=Lexis(
        (AFTER_SLASHES, BLOCK, r"#(?!\[)[^\n]*"),
        (OVER_LINES, r"'(?:[^'\\]|\\.)*(?:'|\Z)"),
        embeds=r"\{?\$",
        begins_text=r"<<<[ \t]*[\"']?(?P<ends>[A-Za-z_]\w*)[\"']?(?=\r?\n)",
    ),
    function="language_php",
    sigil="$",
    arrows_lead_to_members=True,
    visibility=NOT_PRIVATE,
    constructors=words("__construct"),
    import_tree=php,
    own=words("$this self static"),
    base=words("parent"),
    common=words("""
add all append call close count create current each execute exists filter find first format get getMessage getName has
insert isEmpty key keys last load map next open parse push read remove reset run save send set size start stop toArray
update valid values write
andReturn assertArrayHasKey assertContains assertCount assertEmpty assertEquals assertFalse assertGreaterThan
assertInstanceOf assertIsArray assertNotEmpty assertNotNull assertNull assertSame assertStringContainsString
assertTrue createMock expectException expectExceptionMessage expects fail getMock getMockBuilder method once setUp
shouldBe shouldReceive shouldReturn tearDown times toBe toEqual will willReturn with
"""),
)
