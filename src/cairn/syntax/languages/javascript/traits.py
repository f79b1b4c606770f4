"""Traits of JavaScript, which TypeScript shares: exports are statements, and callbacks bind names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.syntax.lexis import AFTER_SLASHES, BLOCK, IN_APOSTROPHES, IN_BACKTICKS, IN_QUOTES, Lexis
from cairn.syntax.names import text_of, unquote
from cairn.syntax.traits import (
    DEFINITION,
    OUTSIDE,
    PARAMETER,
    SAME,
    WRITE,
    ImportedName,
    LocalRules,
    Traits,
    each,
    words,
)
from cairn.syntax.visibility import EXPORT_STATEMENT

if TYPE_CHECKING:
    from tree_sitter import Node


_LOCALS = LocalRules(
    functions=words(
        "function_declaration function_expression arrow_function method_definition generator_function_declaration"
        " generator_function"
    ),
    scopes=words(
        "function_declaration function_expression arrow_function method_definition generator_function_declaration"
        " generator_function statement_block for_statement for_in_statement catch_clause switch_body"
    ),
    fields={
        "formal_parameters": {"": PARAMETER},
        **each("required_parameter optional_parameter", {"pattern": PARAMETER}),
        "arrow_function": {"parameter": PARAMETER},
        **each("object_pattern array_pattern rest_pattern", {"": SAME}),
        **each("assignment_pattern object_assignment_pattern", {"left": SAME}),
        "pair_pattern": {"value": SAME},
        "variable_declarator": {"name": DEFINITION},
        "for_in_statement": {"left": DEFINITION},
        "catch_clause": {"parameter": DEFINITION},
        **each("assignment_expression augmented_assignment_expression", {"left": WRITE}),
        "update_expression": {"argument": WRITE},
        **each("function_declaration generator_function_declaration class_declaration", {"name": OUTSIDE}),
        "function_expression": {"name": DEFINITION},
    },
    names=words("identifier shorthand_property_identifier shorthand_property_identifier_pattern"),
)


def ecmascript(node: Node, data: bytes) -> Iterator[ImportedName]:
    """Yield the names of an `import … from` or `export … from`; `default` and `*` are names too."""
    source = node.child_by_field_name("source")
    if source is None:
        return
    module = unquote(text_of(data, source))
    clauses = [child for child in node.named_children if child.type.endswith(("_clause", "_export"))]
    if not clauses:
        # `import "module"` only runs the module; `export * from "module"` re-exports everything.
        yield module, "*" if any(child.type == "*" for child in node.children) else "", ""
    for clause in clauses:
        if clause.type == "namespace_export":
            # The last child, named or not: in `export * as default from …` it is a keyword.
            yield module, "", unquote(text_of(data, clause.children[-1]))
            continue
        for part in clause.named_children:
            yield from _clause_part(part, module, data)


def _clause_part(part: Node, module: str, data: bytes) -> Iterator[ImportedName]:
    if part.type == "identifier":
        yield module, "default", text_of(data, part)
    elif part.type == "namespace_import":
        yield module, "", text_of(data, part.children[-1])
    elif part.type == "named_imports":
        for specifier in part.named_children:
            yield from _clause_part(specifier, module, data)
    elif part.type in ("import_specifier", "export_specifier"):
        name, alias = part.child_by_field_name("name"), part.child_by_field_name("alias")
        if name is not None:
            yield module, unquote(text_of(data, name)), unquote(text_of(data, alias)) if alias is not None else ""


# A regular expression stands where a value may begin; elsewhere a slash divides.
_PATTERN = (
    r"(?:(?<=[=(,:;!&|?{}\[+\n])|(?<=[=(,:;!&|?{}\[+] )|(?<=\breturn )|(?<=\bcase )|(?<==> )|^[ \t]+)"
    r"/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
)

TRAITS = Traits(
    "javascript",
    lexis=Lexis(
        (AFTER_SLASHES, BLOCK),
        (_PATTERN, IN_BACKTICKS, IN_QUOTES, IN_APOSTROPHES),
        embeds=r"\$\{",
        letters="$",
        directives="@|<reference|<amd",
    ),
    queries=("ecmascript.scm", "jsx.scm", "javascript/query.scm"),
    visibility=EXPORT_STATEMENT,
    constructors=words("constructor"),
    import_tree=ecmascript,
    local_rules=_LOCALS,
    family="ecmascript",
    resolver="javascript",
    own=words("this"),
    own_lost_in=b"function",
    imports_all_used=True,
    exports_by=b"export",
    members_need_receiver=True,
    blocks_hide=True,
    callbacks_bind=True,
    infers_types=True,
    common=words("""
abort add addEventListener all append appendChild apply assign at bind blur call cancel catch charAt charCodeAt clear
click close concat create defineProperty delete destroy dispatchEvent emit end endsWith enqueue entries error every
exec expect fill filter finally find findIndex flat flatMap focus forEach freeze from get getAttribute getElementById
getReader has hasOwnProperty includes indexOf info isArray join json keys lastIndexOf listen load log map match
matchAll next now of off on once padEnd padStart parse pause pipe pop post preventDefault push querySelector race read
reduce reduceRight reject remove removeEventListener render repeat replace replaceAll reset resolve resume return
reverse search send set setAttribute setHeader shift slice some sort splice split start startsWith stop
stopPropagation stringify substr substring test text then throw toBe toEqual toFixed toISOString toJSON toLowerCase
toString toUpperCase trim trimEnd trimStart unshift update use valueOf values warn write
after afterAll afterEach assert before beforeAll beforeEach calledOnce calledWith deepEqual describe doesNotThrow eq
eql equal equals fail fn it mock mockClear mockImplementation mockReset mockResolvedValue mockRestore mockReturnValue
not notEqual notStrictEqual ok rejects resolves restore returns should skip spyOn strictEqual stub throws to
toBeCalled toBeCalledTimes toBeCalledWith toBeCloseTo toBeDefined toBeFalsy toBeGreaterThan toBeInstanceOf
toBeLessThan toBeNull toBeTruthy toBeUndefined toContain toContainEqual toHaveBeenCalled toHaveBeenCalledTimes
toHaveBeenCalledWith toHaveBeenLastCalledWith toHaveLength toHaveProperty toMatch toMatchInlineSnapshot toMatchObject
toMatchSnapshot toReject toResolve toStrictEqual toThrow toThrowError
"""),
)
