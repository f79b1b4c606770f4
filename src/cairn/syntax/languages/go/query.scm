; Definitions. One of a kind (`const a = 1`) is its whole declaration, one of a group is its own line.
(package_clause (package_identifier) @name) @def.module
(function_declaration name: (identifier) @name) @def.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @container
  (generic_type type: (type_identifier) @container)
  (pointer_type (type_identifier) @container)
  (pointer_type (generic_type type: (type_identifier) @container))])) name: (field_identifier) @name) @def.method
(type_declaration "(" (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @value)) @def.struct)
(type_declaration "(" (type_spec name: (type_identifier) @name type: (interface_type "{" @value)) @def.interface)
(type_declaration "(" [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)] @def.type)
(type_declaration (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @value))) @def.struct
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type "{" @value))) @def.interface
(type_declaration [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)]) @def.type
(field_declaration name: (field_identifier) @name) @def.field
(method_elem name: (field_identifier) @name) @def.method
(source_file (const_declaration "(" (const_spec (identifier) @name) @def.constant) (#not-eq? @name "_"))
(source_file (const_declaration "const" @lead (const_spec (identifier) @name) @def.constant) (#not-eq? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @def.variable)) (#not-eq? @name "_"))
(source_file (var_declaration "var" @lead (var_spec (identifier) @name) @def.variable) (#not-eq? @name "_"))
(short_var_declaration left: (expression_list . (identifier) @name .) right: (expression_list . (func_literal body: (_) @value) .)) @def.function
(comment) @comment

; Uses. What has no name of its own in a struct or an interface is embedded: a base.
(field_declaration !name type: [
  (type_identifier) @ref.base
  (generic_type type: (type_identifier) @ref.base)
  (qualified_type package: (_) @receiver name: (type_identifier) @ref.base)
  (generic_type type: (qualified_type package: (_) @receiver name: (type_identifier) @ref.base))])
(interface_type (type_elem . [
  (type_identifier) @ref.base
  (qualified_type package: (_) @receiver name: (type_identifier) @ref.base)] .))
(call_expression function: (identifier) @ref.call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @ref.call))
(call_expression function: (parenthesized_expression (_ (identifier) @ref.call)))
(type_conversion_expression type: (generic_type type: [
  (type_identifier) @ref.call
  (qualified_type package: (_) @receiver name: (type_identifier) @ref.call)]))
(composite_literal type: [
  (type_identifier) @ref.call
  (generic_type type: (type_identifier) @ref.call)
  (qualified_type package: (_) @receiver name: (type_identifier) @ref.call)])
(qualified_type package: (_) @receiver name: (type_identifier) @ref.type)
((type_identifier) @ref.type
  (#not-match? @ref.type "^(u?int(8|16|32|64|ptr)?|float(32|64)|complex(64|128)|string|bool|byte|rune|error|any|comparable)$"))

; Imports.
(import_spec) @import.go
