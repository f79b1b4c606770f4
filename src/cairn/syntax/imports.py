"""Import statements that are trees of their own: `use a::{b, c as d}` is one statement and three imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

from cairn.syntax.import_trees import TREES

# (module, name, alias)
ImportedName = tuple[str, str, str]

_QUOTE_PAIRS = ('"', "'", "`")


def unquote(text: str) -> str:
    """A string literal's inside, an angle-bracket include's inside, anything else as it is."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in _QUOTE_PAIRS:
        return text[1:-1]
    if len(text) >= 2 and text[0] == "<" and text[-1] == ">":
        return text[1:-1]
    return text


def _text(data: bytes, node: Node) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def rust_use(node: Node, data: bytes) -> Iterator[ImportedName]:
    """The leaves of a Rust `use` tree, each with the whole path that leads to it."""
    argument = node.child_by_field_name("argument")
    pending: list[tuple[str, Node]] = [("", argument)] if argument is not None else []
    while pending:
        prefix, part = pending.pop()
        if part.type == "scoped_use_list":
            path, inner = part.child_by_field_name("path"), part.child_by_field_name("list")
            base = _joined(prefix, _text(data, path)) if path is not None else prefix
            if inner is not None:
                pending.append((base, inner))
        elif part.type == "use_list":
            pending.extend((prefix, child) for child in reversed(part.named_children) if "comment" not in child.type)
        elif part.type == "use_as_clause":
            path, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if path is not None and alias is not None:
                yield _leaf(prefix, _text(data, path), _text(data, alias))
        elif part.type == "use_wildcard":
            yield _joined(prefix, _text(data, part).removesuffix("*").removesuffix("::")), "*", ""
        else:
            yield _leaf(prefix, _text(data, part), "")


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix and path else prefix or path


def _leaf(prefix: str, path: str, alias: str) -> ImportedName:
    module, _, name = _joined(prefix, path).rpartition("::")
    return (prefix, "", alias) if name == "self" and prefix else (module, name, alias)


def ecmascript(node: Node, data: bytes) -> Iterator[ImportedName]:
    """The names of an `import … from` or an `export … from`; `default` and `*` are names like others."""
    source = node.child_by_field_name("source")
    if source is None:
        return
    module = unquote(_text(data, source))
    clauses = [child for child in node.named_children if child.type.endswith(("_clause", "_export"))]
    if not clauses:
        # `import "module"` runs it; `export * from "module"` hands on everything it has.
        yield module, "*" if any(child.type == "*" for child in node.children) else "", ""
    for clause in clauses:
        if clause.type == "namespace_export":
            # The last child, named or not: in `export * as default from …` it is a keyword.
            yield module, "", unquote(_text(data, clause.children[-1]))
            continue
        for part in clause.named_children:
            yield from _clause_part(part, module, data)


def _clause_part(part: Node, module: str, data: bytes) -> Iterator[ImportedName]:
    if part.type == "identifier":
        yield module, "default", _text(data, part)
    elif part.type == "namespace_import":
        yield module, "", _text(data, part.children[-1])
    elif part.type == "named_imports":
        for specifier in part.named_children:
            yield from _clause_part(specifier, module, data)
    elif part.type in ("import_specifier", "export_specifier"):
        name, alias = part.child_by_field_name("name"), part.child_by_field_name("alias")
        if name is not None:
            yield module, unquote(_text(data, name)), unquote(_text(data, alias)) if alias is not None else ""


def go(node: Node, data: bytes) -> Iterator[ImportedName]:
    """One import of Go; a dot before the path brings in every name of the package."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if path is not None:
        alias = _text(data, name) if name is not None else ""
        yield unquote(_text(data, path)), "*" if alias == "." else "", "" if alias == "." else alias


def cpp_using(node: Node, data: bytes) -> Iterator[ImportedName]:
    """`using a::b` brings one name; `using namespace a` and `using enum a` bring all of them."""
    path = _text(data, node.named_children[-1]) if node.named_children else ""
    if any(child.type in ("namespace", "enum") for child in node.children):
        yield path, "*", ""
    else:
        module, _, name = path.rpartition("::")
        yield module, name, ""


def kotlin(node: Node, data: bytes) -> Iterator[ImportedName]:
    """`import a.b.C as D`, or `import a.b.*` for all of a package."""
    path = alias = ""
    for child in node.named_children:
        if child.type == "qualified_identifier":
            path = _text(data, child)
        elif child.type == "identifier":
            alias = _text(data, child)
    if any(child.type == "*" for child in node.children):
        yield path, "*", ""
    else:
        module, _, name = path.rpartition(".")
        yield module, name, alias


EXPANDERS: dict[str, Callable[[Node, bytes], Iterator[ImportedName]]] = {
    "cpp_using": cpp_using,
    "ecmascript": ecmascript,
    "go": go,
    "kotlin": kotlin,
    "rust": rust_use,
    **TREES,
}
