"""Import statements of C#'s and Haskell's kind: one statement, a small tree of names, renames and wildcards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

# (module, name, alias)
ImportedName = tuple[str, str, str]


def _text(data: bytes, node: Node | None) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""


def php(node: Node, data: bytes) -> Iterator[ImportedName]:
    r"""`use A\B as C;` and `use A\{B, function c};`: the last part of a path is the name."""
    prefix = ""
    clauses = node.named_children
    group = node.child_by_field_name("body")
    if group is not None:
        prefix = "".join(_text(data, child) for child in clauses if child.type == "namespace_name") + "\\"
        clauses = group.named_children
    for clause in clauses:
        if clause.type != "namespace_use_clause":
            continue
        alias = clause.child_by_field_name("alias")
        path = next((child for child in clause.named_children if child != alias), None)
        module, _, name = (prefix + _text(data, path)).lstrip("\\").rpartition("\\")
        yield module, name, _text(data, alias)


def swift(node: Node, data: bytes) -> Iterator[ImportedName]:
    """`import Foo` opens a whole module, `import struct Foo.Bar` takes one name of it."""
    path = _text(data, next((child for child in node.named_children if child.type == "identifier"), None))
    if any(not child.is_named and child.type not in ("import", ".") for child in node.children):
        module, _, name = path.rpartition(".")
        yield module, name, ""
    else:
        yield path, "*", ""


def scala(node: Node, data: bytes) -> Iterator[ImportedName]:
    """`import a.b, c.{D, E => F, *}`: one statement may hold several paths, each with selectors."""
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
            path.append(_text(data, child))
    if path and not ended:
        yield ".".join(path[:-1]), path[-1], ""


def _scala_selector(module: str, selector: Node, data: bytes) -> Iterator[ImportedName]:
    if selector.type == "namespace_wildcard":
        yield module, "given" if _text(data, selector).startswith("given") else "*", ""
    elif selector.type.endswith("renamed_identifier"):
        name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
        # `Name => _` takes a name away from the wildcard behind it.
        if _text(data, alias) not in ("", "_"):
            yield module, _text(data, name), _text(data, alias)
    elif "comment" not in selector.type:
        yield module, _text(data, selector), ""


def haskell(node: Node, data: bytes) -> Iterator[ImportedName]:
    """An import with its list of names, its alias, or everything; what is hidden cannot be told from what is not."""
    module = _text(data, node.child_by_field_name("module"))
    alias = _text(data, node.child_by_field_name("alias"))
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
                yield module, _text(data, part).strip("()"), ""
            elif part.type == "children":
                inner = (child for child in part.named_children if child.type in ("constructor", "variable"))
                yield from ((module, _text(data, child), "") for child in inner)


def elixir(node: Node, data: bytes) -> Iterator[ImportedName]:
    """`alias A.{B, C}`, `alias A.B, as: D`, `import A, only: [f: 1]`, `require A`, `use A`."""
    how = _text(data, node.child_by_field_name("target"))
    arguments = next((child for child in node.named_children if child.type == "arguments"), None)
    if arguments is None or not arguments.named_children:
        return
    path = arguments.named_children[0]
    options = {
        _text(data, pair.child_by_field_name("key")).strip(": "): pair.child_by_field_name("value")
        for keywords in arguments.named_children[1:]
        for pair in keywords.named_children
        if pair.type == "pair"
    }
    names = options.get("only")
    if path.type == "dot":
        left, right = path.child_by_field_name("left"), path.child_by_field_name("right")
        if right is not None and right.type == "tuple":
            yield from ((f"{_text(data, left)}.{_text(data, child)}", "", "") for child in right.named_children)
    elif how == "import" and names is not None and names.type == "list":
        pairs = (pair for keywords in names.named_children for pair in keywords.named_children)
        yield from ((_text(data, path), _text(data, pair.child_by_field_name("key")).strip(": "), "") for pair in pairs)
    elif path.type in ("alias", "atom", "identifier"):
        yield _text(data, path), "*" if how == "import" else "", _text(data, options.get("as"))


def html_link(node: Node, data: bytes) -> Iterator[ImportedName]:
    """The style sheet that a `<link rel="stylesheet" href="...">` loads, whatever the order of its attributes."""
    attributes = {
        _text(data, attribute.named_children[0]): _text(data, attribute.named_children[1]).strip("\"'")
        for attribute in node.named_children
        if attribute.type == "attribute" and attribute.named_child_count > 1
    }
    if attributes.get("rel") == "stylesheet" and attributes.get("href"):
        yield attributes["href"], "", ""


TREES: dict[str, Callable[[Node, bytes], Iterator[ImportedName]]] = {
    "elixir": elixir,
    "haskell": haskell,
    "html_link": html_link,
    "php": php,
    "scala": scala,
    "swift": swift,
}
