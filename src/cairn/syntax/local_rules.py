"""What binds a name inside of a function, language by language: the input of `locals`.

A table says for a kind of node what a name is that stands in one of its fields (`""`: in none). What is not in a table
is only read. `SAME` hands on what the node itself is: the parts of a pattern are what the pattern is.
"""

from __future__ import annotations

from typing import NamedTuple

PARAMETER, DEFINITION, WRITE, READ = "parameter", "definition", "write", "read"
SAME, OUTSIDE, NOTHING = "same", "outside", "nothing"
"""As the node around it; a definition in the scope around this node; no name of a value at all."""

Fields = dict[str, dict[str, str]]


class Rules(NamedTuple):
    """One family. `scopes` hold the names that are bound in them; of these, `functions` hold those of `var` too.

    With `writes_bind` a name that is assigned anywhere in a function belongs to it.
    """

    functions: frozenset[str]
    scopes: frozenset[str]
    fields: Fields
    writes_bind: bool = False
    names: frozenset[str] = frozenset({"identifier"})


def _each(kinds: str, fields: dict[str, str]) -> Fields:
    return dict.fromkeys(kinds.split(), fields)


def _kinds(kinds: str) -> frozenset[str]:
    return frozenset(kinds.split())


_PYTHON = Rules(
    functions=_kinds("function_definition lambda"),
    scopes=_kinds(
        "function_definition lambda list_comprehension set_comprehension dictionary_comprehension generator_expression"
    ),
    fields={
        **_each("parameters lambda_parameters", {"": PARAMETER}),
        **_each("default_parameter typed_default_parameter", {"name": SAME}),
        **_each("typed_parameter list_splat_pattern dictionary_splat_pattern splat_pattern", {"": SAME}),
        **_each("pattern_list tuple_pattern list_pattern as_pattern_target dotted_name", {"": SAME}),
        **_each("assignment augmented_assignment for_statement for_in_clause", {"left": WRITE}),
        "named_expression": {"name": WRITE},
        "as_pattern": {"alias": WRITE},
        "aliased_import": {"alias": WRITE, "name": NOTHING},
        "import_from_statement": {"name": WRITE, "module_name": NOTHING},
        "import_statement": {"name": WRITE},
        "case_pattern": {"": WRITE},
        "delete_statement": {"": WRITE},
        "attribute": {"attribute": NOTHING},
        "keyword_argument": {"name": NOTHING},
        **_each("function_definition class_definition", {"name": OUTSIDE}),
    },
    writes_bind=True,
)
_ECMASCRIPT = Rules(
    functions=_kinds(
        "function_declaration function_expression arrow_function method_definition generator_function_declaration"
        " generator_function"
    ),
    scopes=_kinds(
        "function_declaration function_expression arrow_function method_definition generator_function_declaration"
        " generator_function statement_block for_statement for_in_statement catch_clause switch_body"
    ),
    fields={
        "formal_parameters": {"": PARAMETER},
        **_each("required_parameter optional_parameter", {"pattern": PARAMETER}),
        "arrow_function": {"parameter": PARAMETER},
        **_each("object_pattern array_pattern rest_pattern", {"": SAME}),
        **_each("assignment_pattern object_assignment_pattern", {"left": SAME}),
        "pair_pattern": {"value": SAME},
        "variable_declarator": {"name": DEFINITION},
        "for_in_statement": {"left": DEFINITION},
        "catch_clause": {"parameter": DEFINITION},
        **_each("assignment_expression augmented_assignment_expression", {"left": WRITE}),
        "update_expression": {"argument": WRITE},
        **_each("function_declaration generator_function_declaration class_declaration", {"name": OUTSIDE}),
        "function_expression": {"name": DEFINITION},
    },
    names=_kinds("identifier shorthand_property_identifier shorthand_property_identifier_pattern"),
)
_GO = Rules(
    functions=_kinds("function_declaration method_declaration func_literal"),
    scopes=_kinds(
        "function_declaration method_declaration func_literal block for_statement if_statement expression_case"
        " default_case communication_case type_case"
    ),
    fields={
        **_each("parameter_declaration variadic_parameter_declaration", {"name": PARAMETER}),
        **_each("short_var_declaration range_clause receive_statement", {"left": DEFINITION}),
        **_each("var_spec const_spec", {"name": DEFINITION}),
        "expression_list": {"": SAME},
        "assignment_statement": {"left": WRITE},
        **_each("inc_statement dec_statement", {"": WRITE}),
        **_each("function_declaration method_declaration", {"name": NOTHING}),
    },
)
_RUST = Rules(
    functions=_kinds("function_item closure_expression"),
    scopes=_kinds("function_item closure_expression block match_arm for_expression if_expression while_expression"),
    fields={
        "parameter": {"pattern": PARAMETER},
        "closure_parameters": {"": PARAMETER},
        **_each("let_declaration let_condition for_expression", {"pattern": DEFINITION}),
        "match_pattern": {"": DEFINITION},
        **_each("tuple_pattern ref_pattern mut_pattern reference_pattern slice_pattern captured_pattern", {"": SAME}),
        "or_pattern": {"": SAME},
        "tuple_struct_pattern": {"": SAME, "type": NOTHING},
        "field_pattern": {"pattern": SAME, "name": SAME},
        "struct_pattern": {"": SAME, "type": NOTHING},
        **_each("assignment_expression compound_assignment_expr", {"left": WRITE}),
        "function_item": {"name": NOTHING},
    },
    names=_kinds("identifier shorthand_field_identifier"),
)
_JAVA = Rules(
    functions=_kinds("method_declaration constructor_declaration lambda_expression"),
    scopes=_kinds(
        "method_declaration constructor_declaration lambda_expression block for_statement enhanced_for_statement"
        " catch_clause try_with_resources_statement"
    ),
    fields={
        "formal_parameter": {"name": PARAMETER},
        "lambda_expression": {"parameters": PARAMETER},
        "inferred_parameters": {"": PARAMETER},
        **_each("variable_declarator enhanced_for_statement catch_formal_parameter resource", {"name": DEFINITION}),
        "assignment_expression": {"left": WRITE},
        "update_expression": {"": WRITE},
        "field_access": {"field": NOTHING},
        **_each("method_invocation method_declaration constructor_declaration", {"name": NOTHING}),
    },
)

RULES: dict[str, Rules] = {
    "python": _PYTHON,
    **dict.fromkeys(("javascript", "jsx", "typescript", "tsx"), _ECMASCRIPT),
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
}
"""The languages whose local names are known."""
