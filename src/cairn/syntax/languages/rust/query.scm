; Definitions. Attributes stand before them as nodes of their own.
(mod_item name: (identifier) @name) @def.module
(struct_item name: (type_identifier) @name body: (ordered_field_declaration_list) ";" @value) @def.struct
(struct_item name: (type_identifier) @name) @def.struct
(union_item name: (type_identifier) @name) @def.union
(enum_item name: (type_identifier) @name) @def.enum
(enum_variant name: (identifier) @name @lead body: (ordered_field_declaration_list) @part) @def.enum_member
(enum_variant name: (identifier) @name) @def.enum_member
(field_declaration name: (field_identifier) @name) @def.field
(trait_item name: (type_identifier) @name) @def.trait
(impl_item type: [
  (type_identifier) @name
  (primitive_type) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
  (reference_type type: (type_identifier) @name)
  (reference_type type: (generic_type type: (type_identifier) @name))
  (dynamic_type trait: (type_identifier) @name)
  (dynamic_type trait: (generic_type type: (type_identifier) @name))
  (dynamic_type trait: (scoped_type_identifier name: (type_identifier) @name))
  (tuple_type) @name
  (array_type) @name
  (unit_type) @name
  (function_type) @name]) @def.impl
(function_item name: (identifier) @name) @def.function
(function_signature_item name: (identifier) @name) @def.function
(macro_definition name: (identifier) @name . (_) @value) @def.macro
(type_item name: (type_identifier) @name) @def.type
(associated_type name: (type_identifier) @name) @def.type
(const_item name: (identifier) @name) @def.constant
(static_item name: (identifier) @name) @def.variable
(let_declaration pattern: (identifier) @name value: (closure_expression body: (_) @value)) @def.function

(line_comment) @comment
(block_comment) @comment
(attribute_item) @attached

; Uses. Inside a macro there are only tokens: a name right before a parenthesis is taken for a call.
(call_expression function: (identifier) @ref.call)
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @ref.call))
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @ref.call))
(call_expression function: (generic_function function: [
  (identifier) @ref.call
  (scoped_identifier path: (_) @receiver name: (identifier) @ref.call)
  (field_expression value: (_) @receiver field: (field_identifier) @ref.call)]))
(macro_invocation macro: [
  (identifier) @ref.call
  (scoped_identifier path: (_) @receiver name: (identifier) @ref.call)])
(token_tree (identifier) @ref.call . (token_tree . "("))
(struct_expression name: [
  (type_identifier) @ref.call
  (generic_type type: (type_identifier) @ref.call)
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.call)] (#not-eq? @ref.call "Self"))
(impl_item trait: [
  (type_identifier) @ref.base
  (generic_type type: (type_identifier) @ref.base)
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.base)
  (generic_type type: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.base))])
(trait_item bounds: (trait_bounds [
  (type_identifier) @ref.base
  (generic_type type: (type_identifier) @ref.base)
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.base)
  (generic_type type: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.base))]))
(attribute [
  (identifier) @ref.annotation
  (scoped_identifier path: (_) @receiver name: (identifier) @ref.annotation)])
(attribute (identifier) @_derive arguments: (token_tree (identifier) @ref.annotation) (#eq? @_derive "derive"))
(scoped_type_identifier path: (_) @receiver name: (type_identifier) @ref.type)
((type_identifier) @ref.type (#not-eq? @ref.type "Self"))

; Imports, and what a `pub use` hands on.
(use_declaration) @import.rust
(extern_crate_declaration name: (identifier) @module !alias) @import
(extern_crate_declaration name: (identifier) @module alias: (identifier) @alias) @import
(use_declaration (visibility_modifier) argument: [
  (identifier) @export
  (scoped_identifier name: (identifier) @export)
  (use_as_clause alias: (identifier) @export)
  (use_wildcard "*" @export)
  (scoped_use_list list: (use_list [
    (identifier) @export
    (scoped_identifier name: (identifier) @export)
    (use_as_clause alias: (identifier) @export)
    (use_wildcard "*" @export)]))])
