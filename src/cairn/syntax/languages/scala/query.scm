; Definitions. A package clause holds what follows it; two of them in a row nest.
(compilation_unit (package_clause name: (package_identifier) @name @level !body) @def.module)
(package_clause name: (package_identifier) @name body: (_)) @def.module
(package_object name: (_) @name) @def.object
(class_definition name: (_) @name) @def.class
(object_definition name: (_) @name) @def.object
(trait_definition name: (_) @name) @def.trait
(enum_definition name: (_) @name) @def.enum
(enum_case_definitions (simple_enum_case name: (_) @name) @def.enum_member)
(enum_case_definitions (full_enum_case name: (_) @name) @def.enum_member)
(class_parameters (class_parameter ["val" "var"] name: (_) @name default_value: (_)? @value) @def.field)
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (_) @name default_value: (_)? @value) @def.field))
(enum_case_definitions (full_enum_case class_parameters: (class_parameters (class_parameter name: (_) @name) @def.field)))
(given_definition name: (_) @name body: (with_template_body)) @def.object
(given_definition name: (_) @name) @def.variable
(given_definition !name return_type: (generic_type type: (type_identifier) @name)) @def.impl
(given_definition !name return_type: (type_identifier) @name) @def.impl
(extension_definition parameters: (parameters (parameter type: (type_identifier) @name)) body: (_) @value) @def.impl
(extension_definition parameters: (parameters (parameter type: (generic_type type: (type_identifier) @name))) body: (_) @value) @def.impl
(extension_definition parameters: (parameters (parameter type: (_) @name)) body: (_) @value) @def.impl
(class_definition body: (template_body (function_definition name: (identifier) @name) @def.constructor) (#eq? @name "this"))
(function_definition name: (_) @name) @def.function
(function_declaration name: (_) @name) @def.function
(type_definition name: (type_identifier) @name) @def.type
(template_body [
  (val_definition pattern: [
    (identifier) @name (identifiers (identifier) @name) (tuple_pattern (identifier) @name)])
  (var_definition pattern: [
    (identifier) @name (identifiers (identifier) @name) (tuple_pattern (identifier) @name)])] @def.field)
(val_declaration name: (identifier) @name) @def.field
(var_declaration name: (identifier) @name) @def.field
(enum_body (val_definition pattern: (identifier) @name) @def.field)
(with_template_body (val_definition pattern: (identifier) @name) @def.field)
(compilation_unit (val_definition pattern: (identifier) @name) @def.variable)
(compilation_unit (var_definition pattern: (identifier) @name) @def.variable)

(comment) @comment
(block_comment) @comment

; Uses.
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @ref.call))
(call_expression function: (generic_function function: (identifier) @ref.call))
(call_expression function: (generic_function function: (field_expression value: (_) @receiver field: (identifier) @ref.call)))
(infix_expression left: (_) @receiver operator: (identifier) @ref.call)
(instance_expression (type_identifier) @ref.call)
(instance_expression (generic_type type: (type_identifier) @ref.call))
(instance_expression (stable_type_identifier (_) @receiver (type_identifier) @ref.call .))
(extends_clause (type_identifier) @ref.base)
(extends_clause (generic_type type: (type_identifier) @ref.base))
(extends_clause (compound_type (type_identifier) @ref.base))
(extends_clause (compound_type (generic_type type: (type_identifier) @ref.base)))
(extends_clause (stable_type_identifier (_) @receiver (type_identifier) @ref.base .))
(derives_clause type: (type_identifier) @ref.base)
(annotation name: (type_identifier) @ref.annotation)
(generic_type type: (type_identifier) @ref.type)
(type_arguments (type_identifier) @ref.type)
(parameter type: (type_identifier) @ref.type)
(class_parameter type: (type_identifier) @ref.type)
(function_definition return_type: (type_identifier) @ref.type)
(function_declaration return_type: (type_identifier) @ref.type)
(val_definition type: (type_identifier) @ref.type)
(var_definition type: (type_identifier) @ref.type)
(val_declaration type: (type_identifier) @ref.type)
(typed_pattern type: (type_identifier) @ref.type)
(case_class_pattern type: (type_identifier) @ref.type)

; Imports.
(import_declaration) @import.scala
