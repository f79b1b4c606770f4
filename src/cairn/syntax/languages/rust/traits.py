"""Traits of Rust: modules as files and inside files, `impl` blocks, and `pub`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.core.types import Symbol
from cairn.syntax.conditions import attributes
from cairn.syntax.lexis import AFTER_SLASHES, CHARACTER, NESTED_BLOCK, OVER_LINES, Lexis
from cairn.syntax.names import text_of
from cairn.syntax.traits import (
    DEFINITION,
    NOTHING,
    PARAMETER,
    SAME,
    WRITE,
    ImportedName,
    LocalRules,
    Main,
    Traits,
    each,
    words,
)
from cairn.syntax.visibility import OwnExports, Visibility, has_word

if TYPE_CHECKING:
    from tree_sitter import Node


_OPEN = frozenset({"impl", "macro", "module"})


_CLOSED = frozenset({"module", "struct", "union", "impl"})


def _pub(kind: str, _name: str, before: str, above: Symbol | None, _found: OwnExports) -> bool:
    # A module without `pub` is hidden from other crates only; the files of its own crate can see it.
    if kind in _OPEN or has_word(before, "pub"):
        return True
    # Members of a trait, an enum or an `impl Trait for Type` have no `pub` of their own and are visible.
    return above is not None and (above.kind not in _CLOSED or " for " in above.signature)


_LOCALS = LocalRules(
    functions=words("function_item closure_expression"),
    scopes=words("function_item closure_expression block match_arm for_expression if_expression while_expression"),
    fields={
        "parameter": {"pattern": PARAMETER},
        "closure_parameters": {"": PARAMETER},
        **each("let_declaration let_condition for_expression", {"pattern": DEFINITION}),
        "match_pattern": {"": DEFINITION},
        **each("tuple_pattern ref_pattern mut_pattern reference_pattern slice_pattern captured_pattern", {"": SAME}),
        "or_pattern": {"": SAME},
        "tuple_struct_pattern": {"": SAME, "type": NOTHING},
        "field_pattern": {"pattern": SAME, "name": SAME},
        "struct_pattern": {"": SAME, "type": NOTHING},
        **each("assignment_expression compound_assignment_expr", {"left": WRITE}),
        "function_item": {"name": NOTHING},
    },
    names=words("identifier shorthand_field_identifier"),
)


def rust_use(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the leaves of a `use` tree, each with the whole path that leads to it."""
    argument = node.child_by_field_name("argument")
    pending: list[tuple[str, Node]] = [("", argument)] if argument is not None else []
    while pending:
        prefix, part = pending.pop()
        if part.type == "scoped_use_list":
            path, inner = part.child_by_field_name("path"), part.child_by_field_name("list")
            base = _joined(prefix, text_of(data, path)) if path is not None else prefix
            if inner is not None:
                pending.append((base, inner))
        elif part.type == "use_list":
            pending.extend((prefix, child) for child in reversed(part.named_children) if "comment" not in child.type)
        elif part.type == "use_as_clause":
            path, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if path is not None and alias is not None:
                yield _leaf(prefix, text_of(data, path), text_of(data, alias))
        elif part.type == "use_wildcard":
            yield _joined(prefix, text_of(data, part).removesuffix("*").removesuffix("::")), "*", ""
        else:
            yield _leaf(prefix, text_of(data, part), "")


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix and path else prefix or path


def _leaf(prefix: str, path: str, alias: str) -> ImportedName:
    module, _, name = _joined(prefix, path).rpartition("::")
    return (prefix, "", alias) if name == "self" and prefix else (module, name, alias)


# A lifetime or a label is no use of a definition of its name.
_LIFETIME = r"'[A-Za-z_]\w*+(?!')"

TRAITS = Traits(
    "rust",
    lexis=Lexis(
        (AFTER_SLASHES, NESTED_BLOCK),
        (r'r(?P<raw>#{0,8})".*?(?:"(?P=raw)|\Z)', OVER_LINES, CHARACTER, _LIFETIME),
        embeds=r"\{",
    ),
    conditions=attributes,
    heads_say_all=True,
    visibility=Visibility(_pub),
    import_tree=rust_use,
    local_rules=_LOCALS,
    family="rust",
    resolver="rust",
    own=words("self Self"),
    base=frozenset(),
    path_roots=words("crate self super"),
    modules_in_files=True,
    impls=True,
    types_are_names=True,
    derefs=words(
        "Arc Rc Box Ref RefMut Pin Cow MutexGuard RwLockReadGuard RwLockWriteGuard ManuallyDrop LazyLock LazyCell Lazy"
        " CachePadded"
    ),
    modules_are_no_values=True,
    main=Main.AT_TOP,
    common=words("""
as_bytes as_mut as_ref as_str borrow chars clone cloned cmp collect contains default deref drop eq err expect extend
filter first flat_map fmt fold for_each from get hash insert into into_iter is_empty is_none is_some iter iter_mut
join keys last len lock map map_err max min name new next ok ok_or or_else parse pop push read remove send set skip
split take to_owned to_string trim try_from try_into unwrap unwrap_or unwrap_or_else values with write zip
assert expect_call must_be returning returning_st returns times unwrap_none
"""),
)
